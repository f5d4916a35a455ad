"""What every cluster gives, wherever it runs. Suites see no more than this."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from schedproof.clusters.api import Api
from schedproof.clusters.spec import NodeSpec
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import Host
from schedproof.traffic.script import Script

NAMESPACE = "schedproof-system"
"""The namespace of all ServiceAccounts that the harness makes."""


@dataclasses.dataclass(frozen=True)
class Rbac:
    """What an identity may do: names of ClusterRoles, rules of its own, and names of Roles in kube-system."""

    cluster_roles: tuple[str, ...] = ()
    rules: tuple[Mapping[str, Any], ...] = ()
    system_roles: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Identity:
    """A ServiceAccount with its kubeconfig. `user` is how the audit log names it."""

    name: str
    kubeconfig: Path
    namespace: str = NAMESPACE

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"


class ScriptedMetrics(Protocol):
    """A Prometheus of its own whose every sample the harness chose."""

    url: str

    def wait_ready(self) -> None: ...

    def script(self, script: Script) -> None:
        """Have all that scrapes of the nodes would have brought, and will bring until closed. Once for each server.

        Of a node of the cluster that the script leaves out scrapes fail: `up` is 0, and there is nothing else.
        """

    def close(self) -> None: ...


class StaticPods(Protocol):
    """The manifests from which a control plane's kubelet runs pods by itself, and files beside them."""

    def read(self, name: str) -> str:
        """The manifest `name`.yaml; empty where there is none."""

    def write(self, name: str, manifest: str) -> None:
        """Replace or add one; the kubelet sees it within seconds."""

    def remove(self, name: str) -> None: ...

    def put(self, path: str, text: str) -> None:
        """Write a file on the control plane's node, which a static pod can mount."""

    def delete(self, path: str) -> None: ...


class Hosting(Protocol):
    """How a candidate runs as pods in a cluster."""

    @property
    def namespace(self) -> str:
        """Where its objects live, and its identity's ServiceAccount."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of every object that a run creates, so that it is found again."""

    @property
    def apiserver_url(self) -> str:
        """As pods reach it."""

    @property
    def service_address(self) -> str:
        """Where NodePorts answer, as this machine reaches them."""

    @property
    def python_image(self) -> str:
        """With Python 3 and a C library, in this machine's Docker: what images of candidates are built on."""

    @property
    def static_pods(self) -> StaticPods | None:
        """The control plane's, where they can be exchanged."""

    def load_image(self, ref: str) -> None:
        """Give every node an image that this machine's Docker has."""

    def pids_of(self, uid: str) -> Sequence[int]:
        """The processes of a pod as this machine sees them; empty where it does not."""


class Site(Protocol):
    """Where candidates can be attached."""

    @property
    def name(self) -> str: ...

    @property
    def kubernetes(self) -> str:
        """The minor version, such as `1.36`."""

    @property
    def capabilities(self) -> frozenset[str]:
        """See `Cluster`."""

    @property
    def api(self) -> Api:
        """As the harness's own identity."""

    @property
    def device(self) -> str:
        """The nodes' traffic interface."""

    @property
    def prometheus_url(self) -> str:
        """Where the readings of the nodes' traffic are; empty where no candidate of the run needs any."""

    @property
    def targets_servers(self) -> Mapping[str, TargetsServer]:
        """What answers about targets and metadata for each Prometheus of ours that has scraped nothing, by its URL."""

    @property
    def audit_log(self) -> Path | None:
        """The apiserver's, where there is one to read."""

    @property
    def host(self) -> Host:
        """Where candidates and their schedulers run as processes of this machine."""

    @property
    def hosting(self) -> Hosting | None:
        """How candidates run as pods; None where they only run as processes."""

    @property
    def callback_address(self) -> str:
        """This machine's address as the apiserver and pods reach it; what listens for them binds to it."""

    @property
    def namespace(self) -> str:
        """The namespace of all ServiceAccounts that the harness makes."""

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds that the parts of the start took, and `total`."""

    def identity(self, name: str, rbac: Rbac) -> Identity: ...

    def versions(self) -> Mapping[str, str]: ...

    def close(self) -> None: ...


class SecondApiServer(Protocol):
    """Another apiserver of a cluster, as one of several behind a load balancer. It listens at `port` of loopback."""

    @property
    def port(self) -> int: ...

    def wait_ready(self) -> None: ...

    def forget_before(self, revision: int) -> None:
        """Have the storage forget what objects were before a revision: here no watch can begin there any more."""

    def end(self) -> None:
        """Have it end all its watches without an error, as servers do now and then, and then end it."""


class Cluster(Site, Protocol):
    """A running cluster.

    `capabilities` are what a clause may ask for: `advance-versions` (resourceVersions can be used up), `audit`,
    `change-nodes`, `cut-apiserver` (candidates are processes of this machine, and the apiserver listens on its
    loopback, so that the line between them can be cut),
    `claimed-devices` (resource.k8s.io/v1 is served, and pods that claim devices of ours may be bound),
    `default-scheduler` (there may be one beside ours), `empty-cluster` (all nodes may be taken away), `ending-pods`
    (pods can be let end, or linger), `hold-bindings` (the apiserver can call a webhook of ours), `idle-daemon-sets` (no
    controller acts on DaemonSets), `idle-nodes` (a Node object needs no machine), `load`, `real-pods` (kubelets run
    what is bound), `scripted-metrics`, `second-apiserver` (there can be another one, to which candidates can be led),
    `several-nodes`.
    """

    @property
    def nodes(self) -> Sequence[str]:
        """The names of the nodes that it started with."""

    @property
    def node_template(self) -> NodeSpec:
        """What a node that joins looks like."""

    @property
    def scrape_interval(self) -> float:
        """Seconds."""

    @property
    def workload_image(self) -> str:
        """An image that every node has, whose container runs until it is told to end."""

    @property
    def namespace_prefix(self) -> str:
        """Of the namespaces that hold pods to be scheduled."""

    def add_node(self, name: str, *, like: NodeSpec | None = None) -> None:
        """Let a node join; returns when it is Ready. Prometheus finds its exporter within seconds."""

    def add_idle_nodes(self, addresses: Mapping[str, str], *, like: NodeSpec | None = None) -> None:
        """Let nodes join that exist in the API only: no device, no exporter; returns when all are Ready.

        Args:
            addresses: names of the nodes, and the InternalIP of each.
            like: what they are like; default: `node_template`.
        """

    def remove_node(self, name: str) -> None:
        """Remove a node that joined; returns when it is gone."""

    def second_apiserver(self) -> SecondApiServer:
        """Start another apiserver; returns at once. Needs the capability `second-apiserver`."""

    def advance_versions(self, version: int) -> int:
        """Have what changes from here on get at least this resourceVersion; the newest one that there is.

        Takes a second for some thousands. Needs the capability `advance-versions`.
        """

    def set_load(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        """Bytes per second at each node's device, headers included; nodes not named keep theirs.

        `direction`: "receive" or "transmit", as the node sees it.
        """

    def scripted_metrics(self) -> ScriptedMetrics: ...

    def servers(self) -> Mapping[str, int]:
        """The pids of the control plane's processes that a Binding passes, by name, where this machine sees them."""

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        """Have every Prometheus of ours evaluate these recording rules (`record`, `expr`, `labels`), and no others."""

    def export_logs(self, folder: Path) -> None:
        """Keep there what explains a failure. Never raises: it is called where something has failed already."""
