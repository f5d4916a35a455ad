"""What an existing cluster shows before anything is changed in it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from schedproof.clusters.api import Api, ApiError, Manifest
from schedproof.clusters.existing.access import Access
from schedproof.clusters.existing.hosting import PYTHON
from schedproof.clusters.existing.pod_traffic import LOAD_SECONDS
from schedproof.clusters.existing.relay import find_prometheus
from schedproof.clusters.existing.sweep import RUN
from schedproof.clusters.nodes import is_ready
from schedproof.clusters.spec import SIMULATED_RUNTIME, minor_version
from schedproof.foundation.errors import UsageError

DEFAULT_PREFIX = "schedproof-run"
_PAUSE = "registry.k8s.io/pause:3.10"

ADDED_BY: Mapping[str, str] = {
    "audit": "--audit-log FILE",
    "change-nodes": "--allow-node-changes",
    "hold-bindings": "--callback-address ADDRESS",
    "idle-nodes": "--allow-node-changes",
    "load": "--allow-load RATE, and a Prometheus",
    "restart-attached": "--allow-restart",
    "scripted-metrics": "--prometheus URL",
}
"""The options that add capabilities."""


@dataclasses.dataclass(frozen=True)
class ExistingOptions:
    """The user's description of the cluster.

    `kubeconfig` is None for the cluster of the pod that this process runs in.
    `prometheus` is "" if it is looked for in the cluster, or if no candidate of the run needs readings.
    `callback_address` is this machine's as the apiserver and pods reach it, or "" if they do not; `audit_log` is the
    apiserver's audit log, read while it grows. `allow_load`: bytes per second that a node may get; None: no load.
    `registry`: where images are pushed to; "": nowhere. `own_scheduler`: whether the user names a kube-scheduler.
    """

    kubeconfig: Path | None
    prometheus: str = ""
    context: str = ""
    namespace_prefix: str = DEFAULT_PREFIX
    allow_node_changes: bool = False
    audit_log: Path | None = None
    callback_address: str = ""
    allow_restart: bool = False
    allow_load: float | None = None
    registry: str = ""
    python_image: str = PYTHON
    own_scheduler: bool = False


@dataclasses.dataclass(frozen=True)
class Survey:
    """`usable`: the nodes that any pod can use. `prometheus`: Services, if the user names no URL (see `relay`)."""

    kubernetes: str
    usable: Sequence[Manifest]
    capabilities: frozenset[str]
    prometheus: Sequence[str]

    @property
    def nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.usable]


def survey(user: Api, options: ExistingOptions) -> Survey:
    """Look at a cluster with the user's credentials.

    Raises:
        UsageError: no node is usable.
        SchedproofError: it does not respond.
    """
    kubernetes = minor_version(user.version())
    usable = usable_nodes(user.list("nodes")["items"])
    # Simulated kubelets report no container runtime, or kwok.
    runtimes = [node["status"].get("nodeInfo", {}).get("containerRuntimeVersion", "") for node in usable]
    real = any(runtime and not runtime.startswith(f"{SIMULATED_RUNTIME}:") for runtime in runtimes)
    if options.allow_load is not None and not real:
        raise UsageError(
            "--allow-load: the kubelets of this cluster are simulated, so that no pod can send load",
            remedy="leave it out",
        )
    services = [] if options.prometheus else find_prometheus(user)
    measured = bool(options.prometheus) or len(services) == 1
    given = {
        "audit": options.audit_log is not None,
        "change-nodes": options.allow_node_changes,
        "default-scheduler": True,
        "ending-pods": not real,
        "foreign-objects": True,
        "hold-bindings": bool(options.callback_address),
        "idle-nodes": options.allow_node_changes,
        "load": options.allow_load is not None and measured and len(usable) > 1,
        "real-pods": real,
        "restart-attached": options.allow_restart,
        "scripted-metrics": measured,
        "several-nodes": len(usable) > 1,
    }
    return Survey(kubernetes, usable, frozenset(name for name, is_given in given.items() if is_given), services)


def require_prometheus(options: ExistingOptions, services: Sequence[str]) -> None:
    """Check that it is known where readings come from.

    Raises:
        UsageError: the user names no Prometheus, and not exactly one is found.
    """
    if options.prometheus or len(services) == 1:
        return
    found = (
        f"several Services of Prometheus are there: {', '.join(services)}" if services else "no Service of it is found"
    )
    raise UsageError(
        f"--cluster existing needs a Prometheus for a candidate that queries it, or claims network: {found}",
        remedy="--prometheus URL: of a Prometheus server that scrapes node_exporter on every node",
    )


def touched(options: ExistingOptions, access: Access) -> list[str]:
    """Return what a run may create, change and delete in the cluster, a sentence each."""
    prefix = options.namespace_prefix
    given = f"{options.kubeconfig} --context {access.context}" if options.kubeconfig else "FILE"
    clean = f"schedproof clean --kubeconfig {given}"
    nodes = "it labels, taints and cordons nodes, adds Node objects without a machine, and undoes all of it"
    return [
        f"it creates the namespaces {prefix} and {prefix}-*, and objects in them",
        "it creates objects without a namespace, such as StorageClasses, PriorityClasses and ClusterRoleBindings",
        f"it removes all of these at the end, by the label {RUN}; if it is killed, `{clean}` does",
        "it holds the Lease kube-system/schedproof, so that no other run uses the cluster",
        nodes if options.allow_node_changes else "it changes no node",
        *_load(options),
    ]


def _load(options: ExistingOptions) -> Iterator[str]:
    if options.allow_load is None:
        return
    yield (
        f"for clauses about real traffic it creates a Job {options.namespace_prefix}/load, with a pod of the image "
        f"{options.python_image} on each node"
    )
    yield (
        f"these pods send each other up to {options.allow_load / 1e6:g} MB/s per node, for {LOAD_SECONDS // 60} min "
        "at most, and end with the run"
    )


@contextlib.contextmanager
def explaining_refusals(access: Access) -> Iterator[None]:
    """Explain the apiserver's refusals: these requests use the user's own credentials."""
    try:
        yield
    except ApiError as error:
        if error.status not in (401, 403):
            raise
        what = "rejects these credentials" if error.status == 401 else "refuses a request"
        raise UsageError(
            f"the apiserver at {access.url} (context {access.context}) {what}: {error.message}",
            remedy=(
                "use credentials with cluster-admin: schedproof creates namespaces, ServiceAccounts, and the rights "
                "that a candidate declares"
            ),
        ) from error


def usable_nodes(nodes: Sequence[Manifest]) -> list[Manifest]:
    """Return the nodes that any pod can use, by name.

    Raises:
        UsageError: there is none.
    """
    usable = [
        node for node in nodes
        if is_ready(node) and not node["spec"].get("unschedulable") and not node["spec"].get("taints")
    ]  # fmt: skip
    if not usable:
        raise UsageError(
            f"none of the cluster's {len(nodes)} nodes is Ready, schedulable and without taints",
            remedy="run `kubectl get nodes` to see their state",
        )
    return sorted(usable, key=lambda node: str(node["metadata"]["name"]))


def common_pause(nodes: Sequence[Manifest]) -> str:
    """Return a pause image that every node has, or else one that nodes can pull."""
    images = [
        {name for image in node["status"].get("images") or () for name in image.get("names") or ()} for node in nodes
    ]
    found = sorted(name for name in set.intersection(*images) if "/pause:" in name)
    return found[0] if found else _PAUSE
