"""A cluster that others run. The harness only changes its own objects and, if allowed, nodes, and undoes it all."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters import bootstrap
from schedproof.clusters.api import Api, ApiError, Manifest
from schedproof.clusters.cluster import Identity, Rbac, SecondApiServer
from schedproof.clusters.existing.access import Access, read_access
from schedproof.clusters.existing.sweep import RUN, sweep
from schedproof.clusters.node_backup import NotingApi
from schedproof.clusters.nodes import is_ready
from schedproof.clusters.run_lease import RunLease
from schedproof.clusters.scripted import ScriptedPrometheus, ScriptedServers
from schedproof.clusters.simulated_nodes import SimulatedNodes
from schedproof.clusters.spec import SIMULATED_RUNTIME, NodeSpec, minor_version
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import Host
from schedproof.foundation.errors import HostError, SchedproofError, UsageError
from schedproof.foundation.private import make_private
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.processes.sandbox import Sandbox
from schedproof.traffic.discovery import discover

DEFAULT_PREFIX = "schedproof-run"
_LOOPBACK = "127.0.0.1"
_PAUSE = "registry.k8s.io/pause:3.10"
_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")


@dataclasses.dataclass(frozen=True)
class ExistingOptions:
    """The user's description of the cluster.

    `callback_address` is this machine's as the apiserver reaches it, or "" if it does not; `audit_log` is the
    apiserver's audit log, read while it grows.
    """

    kubeconfig: Path
    prometheus: str
    context: str = ""
    namespace_prefix: str = DEFAULT_PREFIX
    allow_node_changes: bool = False
    audit_log: Path | None = None
    callback_address: str = ""


def binaries_for(options: ExistingOptions) -> tuple[str, ...]:
    """Return the binaries that run on this machine beside the cluster."""
    return ("kube-scheduler", "prometheus", *(("kwok",) if options.allow_node_changes else ()))


class ExistingCluster:
    """See `schedproof.clusters.cluster.Cluster`. The constructor returns when everything is ready.

    Args:
        options: the user's description of it.
        binaries: returns name to path of `binaries_for`, for a minor version of Kubernetes.
        logs: the folder for logs of processes on this machine.

    Raises:
        SchedproofError: it cannot be reached or used, or another run uses it. Nothing is left behind.
    """

    name = "existing"
    hosting = None
    scrape_interval = 15.0
    """Unknown; it is only needed to send load."""

    def __init__(self, options: ExistingOptions, binaries: Callable[[str], Mapping[str, Path]], logs: Path) -> None:
        self._options = options
        self._run = secrets.token_hex(4)
        self.namespace = self.namespace_prefix = options.namespace_prefix
        self.callback_address = options.callback_address or _LOOPBACK
        self.prometheus_url = options.prometheus.rstrip("/")
        self.audit_log = options.audit_log
        self.targets_servers: dict[str, TargetsServer] = {}
        self.timings: dict[str, float] = {}
        self._closing = contextlib.ExitStack()
        begin = time.monotonic()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._start(binaries, logs)
            undo.pop_all()
        self.timings["total"] = time.monotonic() - begin

    def _start(self, binaries: Callable[[str], Mapping[str, Path]], logs: Path) -> None:
        sandbox = Sandbox()
        self._closing.callback(sandbox.close)
        self._access = read_access(self._options.kubeconfig, self._options.context, sandbox.scratch)
        self._user = self._access.api({RUN: self._run})
        self.feature_gates: Mapping[str, bool] = {}
        with _explaining_refusals(self._access):
            self.kubernetes = minor_version(self._user.version())
            usable = _usable(self._user.list("nodes")["items"])
        self._inspect(usable)
        known = discover(self.prometheus_url, self.nodes)
        self.device, self.node_template = known.device, _template(usable[0], known.device)
        ports = Ports()
        self._closing.callback(ports.close)
        self.host = Host(sandbox, ports, binaries(self.kubernetes), logs)
        self._known, self._labels = known.labels, dict(known.labels)
        self._scripted = ScriptedServers(self.host, self._labels, self.targets_servers)
        with _explaining_refusals(self._access):
            self._closing.callback(RunLease(self._user, self._run).close)
            # Remove what an interrupted run has left.
            sweep(self._user)
            _require_free(self._user, self.namespace)
            self._closing.callback(sweep, self._user)
            bootstrap.namespace(self._user, self.namespace)
            token = bootstrap.harness_token(self._user, home=self.namespace)
        self.api = NotingApi(
            self._access.url, self._access.ca, token=token, line=self._access.line, marks={RUN: self._run}
        )
        self.api.nodes = self._options.allow_node_changes
        self._joined = SimulatedNodes(self.host, self.api, self._kwok_kubeconfig, self._run)

    def _inspect(self, usable: Sequence[Manifest]) -> None:
        self.nodes = [node["metadata"]["name"] for node in usable]
        # Simulated kubelets report no container runtime, or kwok.
        runtimes = [node["status"].get("nodeInfo", {}).get("containerRuntimeVersion", "") for node in usable]
        real = any(runtime and not runtime.startswith(f"{SIMULATED_RUNTIME}:") for runtime in runtimes)
        self.workload_image = _common_pause(usable)
        self.capabilities = frozenset(
            {"default-scheduler", "foreign-objects", "scripted-metrics", "real-pods" if real else "ending-pods"}
            | ({"audit"} if self.audit_log is not None else set())
            | ({"change-nodes", "idle-nodes"} if self._options.allow_node_changes else set())
            | ({"hold-bindings"} if self._options.callback_address else set())
            | ({"several-nodes"} if len(self.nodes) > 1 else set())
        )

    def _kwok_kubeconfig(self) -> Path:
        # For the kubelets of nodes that join.
        return self.identity("schedproof-kwok", Rbac(cluster_roles=("cluster-admin",))).kubeconfig

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return bootstrap.identity(
            self.api, name, rbac, directory=self.host.sandbox.scratch, server=self._access.url,
            ca=self._access.ca, line=self._access.line, home=self.namespace,
        )  # fmt: skip

    def servers(self) -> Mapping[str, int]:
        """Return no pids: the control plane is not known to run on this machine."""
        return {}

    def add_node(self, name: str, *, like: NodeSpec | None = None) -> None:
        self._joined.add([dataclasses.replace(like or self.node_template, name=name)], idle=True)
        self._relabel()

    def add_idle_nodes(self, addresses: Mapping[str, str], *, like: NodeSpec | None = None) -> None:
        nodes = [dataclasses.replace(like or self.node_template, name=name) for name in addresses]
        self._joined.add(nodes, idle=True, addresses=addresses)

    def remove_node(self, name: str) -> None:
        self._joined.remove(name)
        self._relabel()

    def _relabel(self) -> None:
        """Give nodes that join the labels that all nodes of the cluster have in common, and those that name them."""
        alike = dict(set.intersection(*(set(labels.items()) for labels in self._known.values())))
        self._labels.clear()
        self._labels.update(self._known)
        self._labels.update({node: {**alike, **own} for node, own in self._joined.labels.items()})

    def second_apiserver(self) -> SecondApiServer:
        raise HostError("a second apiserver can only be started in the embedded cluster")

    def advance_versions(self, version: int) -> int:  # noqa: ARG002 - the protocol's
        raise HostError("resourceVersions can only be advanced in the embedded cluster")

    def set_load(self, rates: Mapping[str, float], direction: str = "receive") -> None:  # noqa: ARG002 - the protocol's
        raise HostError("traffic generation is not supported with --cluster existing")

    def scripted_metrics(self) -> ScriptedPrometheus:
        return self._scripted.take()

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        self._scripted.rules = rules

    def versions(self) -> Mapping[str, str]:
        return {"kubernetes": self.api.version(), "cluster": self.name}

    def export_logs(self, folder: Path) -> None:
        with contextlib.suppress(SchedproofError, OSError):
            make_private(folder)
            events = [
                event
                for namespace in self.api.list("namespaces", labelSelector=RUN)["items"]
                for event in self.api.list("events", namespace["metadata"]["name"])["items"]
            ]
            (folder / "events.json").write_text(json.dumps(events, indent=1))
            (folder / "nodes.json").write_text(json.dumps(self.api.list("nodes")["items"], indent=1))

    def close(self) -> None:
        """Remove everything that was created. Safe to call twice."""
        self._closing.close()


def clean_existing(kubeconfig: Path, context: str) -> list[str]:
    """Remove what interrupted runs have left in a cluster; return what it was.

    Raises:
        SchedproofError: the cluster cannot be reached, or a live run uses it.
    """
    with contextlib.closing(Sandbox()) as sandbox:
        access = read_access(kubeconfig, context, sandbox.scratch)
        user = access.api()
        with _explaining_refusals(access), contextlib.closing(RunLease(user, "schedproof clean")):
            return sweep(user)


@contextlib.contextmanager
def _explaining_refusals(access: Access) -> Iterator[None]:
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


def _require_free(api: Api, prefix: str) -> None:
    """Refuse existing namespaces with the prefix: the harness did not create them."""
    names = [item["metadata"]["name"] for item in api.list("namespaces")["items"]]
    if taken := [name for name in names if name == prefix or name.startswith(f"{prefix}-")]:
        raise UsageError(
            f"namespaces with this prefix exist already: {', '.join(taken)}",
            remedy="choose another --namespace-prefix",
        )


def _usable(nodes: Sequence[Manifest]) -> list[Manifest]:
    """Return the nodes that any pod can use."""
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


def _template(node: Manifest, device: str) -> NodeSpec:
    labels = node["metadata"].get("labels") or {}
    capacity = node["status"]["allocatable"]
    return NodeSpec(
        "node-{n}",
        {resource: str(capacity[resource]) for resource in _RESOURCES if resource in capacity},
        {key: value for key, value in labels.items() if key.startswith("topology.kubernetes.io/")},
        device=device,
    )


def _common_pause(nodes: Sequence[Manifest]) -> str:
    """Return a pause image that every node has, or else one that nodes can pull."""
    images = [
        {name for image in node["status"].get("images") or () for name in image.get("names") or ()} for node in nodes
    ]
    found = sorted(name for name in set.intersection(*images) if "/pause:" in name)
    return found[0] if found else _PAUSE
