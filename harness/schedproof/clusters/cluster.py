"""The protocols of clusters of all kinds. Suites use no more than these."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from schedproof.clusters.api import Api
from schedproof.clusters.spec import NodeSpec
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import Host
from schedproof.traffic.script import Script

NAMESPACE = "schedproof-system"
"""The namespace of all ServiceAccounts that the harness creates."""


class NamespacedRules(NamedTuple):
    """Rules that count in one namespace."""

    namespace: str
    rules: tuple[Mapping[str, Any], ...]


@dataclasses.dataclass(frozen=True)
class Rbac:
    """The rights of an identity: names of ClusterRoles, its own rules, names of Roles in kube-system, and its own rules
    for single namespaces.
    """

    cluster_roles: tuple[str, ...] = ()
    rules: tuple[Mapping[str, Any], ...] = ()
    system_roles: tuple[str, ...] = ()
    roles: tuple[NamespacedRules, ...] = ()


@dataclasses.dataclass(frozen=True)
class Identity:
    """A ServiceAccount with its kubeconfig. `user` is its name in the audit log."""

    name: str
    kubeconfig: Path
    namespace: str = NAMESPACE

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"


class ScriptedMetrics(Protocol):
    """A separate Prometheus, all of whose samples the harness chooses."""

    url: str

    @property
    def failure(self) -> str:
        """Why samples that were due have not been pushed; "" if none are missing."""

    def wait_ready(self) -> None: ...

    def script(self, script: Script) -> None:
        """Push all samples that scrapes of the nodes would yield, until `close`. Call it once for each server.

        For a node of the cluster that the script omits, scrapes fail: it has only the series `up`, which is 0.
        """

    def close(self) -> None: ...


class StaticPods(Protocol):
    """The static pods of a control plane's kubelet: their manifests, and files beside them."""

    def read(self, name: str) -> str:
        """Return the manifest `name`.yaml; empty if it does not exist."""

    def write(self, name: str, manifest: str) -> None:
        """Add or replace a manifest; the kubelet sees it within seconds."""

    def remove(self, name: str) -> None: ...

    def put(self, path: str, text: str) -> None:
        """Write a file on the control plane's node, which a static pod can mount."""

    def delete(self, path: str) -> None: ...


class Hosting(Protocol):
    """The means to run a candidate as pods in a cluster."""

    @property
    def namespace(self) -> str:
        """The namespace of the candidate's objects, and of its identity's ServiceAccount."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of all objects that a run creates, by which they are found again."""

    @property
    def apiserver(self) -> Mapping[str, Any]:
        """How pods reach the apiserver: the fields of a kubeconfig's cluster."""

    @property
    def service_address(self) -> str:
        """The address of NodePorts, as this machine reaches it; "" if pods and this machine do not reach each other."""

    @property
    def prometheus_url(self) -> str:
        """The URL of the cluster's Prometheus, as pods reach it without a tap."""

    @property
    def pulls(self) -> bool:
        """Whether nodes pull images by their references, so that images of others need not be loaded."""

    @property
    def builds(self) -> bool:
        """Whether images that are built on this machine can be loaded."""

    @property
    def python_image(self) -> str:
        """The base image for candidates' images, with Python 3 and a C library; Docker has it, or can pull it."""

    @property
    def scheduler_image(self) -> str:
        """The image of the cluster's own kube-scheduler; "": one is built of the binary on this machine."""

    @property
    def static_pods(self) -> StaticPods | None:
        """The control plane's static pods; None if they cannot be changed."""

    def load_image(self, ref: str) -> str:
        """Load an image from this machine's Docker onto every node, or where nodes pull it; return its name there."""

    def pids_of(self, uid: str) -> Sequence[int]:
        """Return the pids of a pod on this machine; empty if they are not visible."""


class Site(Protocol):
    """A place to which candidates can be attached."""

    @property
    def name(self) -> str: ...

    @property
    def kubernetes(self) -> str:
        """The minor version, for example `1.36`."""

    @property
    def capabilities(self) -> frozenset[str]:
        """See `Cluster`."""

    @property
    def api(self) -> Api:
        """The connection with the harness's own identity."""

    @property
    def device(self) -> str:
        """The nodes' traffic interface."""

    @property
    def prometheus_url(self) -> str:
        """The URL of the Prometheus with the readings of the nodes' traffic; empty if no candidate of the run needs
        them.
        """

    @property
    def targets_servers(self) -> Mapping[str, TargetsServer]:
        """Answers about targets and metadata in place of Prometheus servers that have scraped nothing, by their URL."""

    @property
    def audit_log(self) -> Path | None:
        """The apiserver's audit log; None if it cannot be read."""

    @property
    def host(self) -> Host:
        """The environment in which candidates and their schedulers run as processes of this machine."""

    @property
    def hosting(self) -> Hosting | None:
        """The means to run candidates as pods; None if they only run as processes."""

    @property
    def callback_address(self) -> str:
        """This machine's address, as the apiserver and pods reach it; servers that they call bind to it."""

    @property
    def namespace(self) -> str:
        """The namespace of all ServiceAccounts that the harness creates."""

    @property
    def timings(self) -> Mapping[str, float]:
        """The duration of each part of the start, and `total`, in seconds."""

    def identity(self, name: str, rbac: Rbac) -> Identity: ...

    def versions(self) -> Mapping[str, str]: ...

    def close(self) -> None: ...


class SecondApiServer(Protocol):
    """A second apiserver of a cluster, as behind a load balancer. It listens at `port` of loopback."""

    @property
    def port(self) -> int: ...

    def wait_ready(self) -> None: ...

    def forget_before(self, revision: int) -> None:
        """Compact the storage up to a revision: this apiserver then refuses watches that start before it."""

    def end(self) -> None:
        """Stop the server gracefully: it first ends all its watches without an error."""


class Cluster(Site, Protocol):
    """A running cluster.

    A clause may require these `capabilities`:

    - `advance-versions`: resourceVersions can be advanced
    - `audit`: the audit log can be read
    - `change-nodes`: nodes can be changed
    - `claimed-devices`: resource.k8s.io/v1 is served, and pods that claim devices of the harness may be bound
    - `cut-apiserver`: candidates are processes of this machine, and the apiserver listens on its loopback, so that
      the connection between them can be cut
    - `default-scheduler`: a default scheduler may run beside the candidate
    - `empty-cluster`: all nodes can be removed
    - `ending-pods`: pods can be made to end or linger
    - `foreign-objects`: others have objects in it, of which none is replaced
    - `hold-bindings`: the apiserver can call a webhook of the harness
    - `idle-daemon-sets`: no controller acts on DaemonSets
    - `idle-nodes`: a Node object needs no machine
    - `load`: traffic can be sent, see `set_load`; it is measured by the Prometheus of `prometheus_url`
    - `real-pods`: kubelets run bound pods
    - `restart-attached`: the pods of a scheduler that runs there already may be deleted
    - `scripted-metrics`: see `scripted_metrics`
    - `second-apiserver`: a second apiserver can be started, and candidates directed to it
    - `several-nodes`: it starts with more than one node
    """

    @property
    def nodes(self) -> Sequence[str]:
        """The names of the nodes that it started with."""

    @property
    def harness_user(self) -> str:
        """The user of the harness in the audit log."""

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """The feature gates of Kubernetes' programs that are known to differ from the defaults."""

    @property
    def node_template(self) -> NodeSpec:
        """The specification of nodes that join."""

    @property
    def scrape_interval(self) -> float:
        """Prometheus' scrape interval in seconds."""

    @property
    def largest_load(self) -> float:
        """The most bytes per second that `set_load` may be asked for."""

    @property
    def workload_image(self) -> str:
        """An image that every node has; its container runs until it is stopped."""

    @property
    def namespace_prefix(self) -> str:
        """The prefix of the namespaces that hold pods to be scheduled."""

    def add_node(self, name: str, *, like: NodeSpec | None = None) -> None:
        """Add a node, and wait until it is Ready. Prometheus discovers its exporter within seconds."""

    def add_idle_nodes(self, addresses: Mapping[str, str], *, like: NodeSpec | None = None) -> None:
        """Add nodes that only exist in the API, without a device or exporter, and wait until all are Ready.

        Args:
            addresses: names of the nodes, and the InternalIP of each.
            like: their specification; default: `node_template`.
        """

    def remove_node(self, name: str) -> None:
        """Remove a node that joined, and wait until it is gone."""

    def second_apiserver(self) -> SecondApiServer:
        """Start a second apiserver; returns at once. Needs the capability `second-apiserver`."""

    def advance_versions(self, version: int) -> int:
        """Advance the resourceVersion to at least `version`, and return the newest one.

        Takes a second for a few thousand. Needs the capability `advance-versions`.
        """

    def set_load(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        """Set the bytes per second at each node's device, headers included; other nodes keep theirs.

        `direction`: "receive" or "transmit", as seen from the node.
        """

    def scripted_metrics(self) -> ScriptedMetrics: ...

    def servers(self) -> Mapping[str, int]:
        """Return the pids of the control plane's processes that handle a Binding, by name, if visible here."""

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        """Let every Prometheus of the harness evaluate exactly these recording rules (`record`, `expr`, `labels`)."""

    def export_logs(self, folder: Path) -> None:
        """Write files that explain a failure into `folder`. Never raises, because it is called after failures."""
