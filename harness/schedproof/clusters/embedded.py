"""The embedded cluster: real daemons as child processes, no Docker, nothing that outlives us."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import time
from typing import TYPE_CHECKING

from schedproof.clusters import bootstrap
from schedproof.clusters.api import Api, NotFound
from schedproof.clusters.spec import REAL_EXPORTERS
from schedproof.daemons import certificates
from schedproof.daemons.apiserver import start_apiserver
from schedproof.daemons.controller_manager import PATIENCE, start_controller_manager
from schedproof.daemons.daemon import Host
from schedproof.daemons.etcd import start_etcd
from schedproof.daemons.kubeconfig import write_kubeconfig
from schedproof.daemons.kwok import start_kwok
from schedproof.daemons.node_exporter import start_node_exporter
from schedproof.daemons.prometheus import Prometheus, start_prometheus
from schedproof.foundation.deadlines import FIRST_SCRAPE, NODE_READY, OBJECT_GONE
from schedproof.foundation.ports import Ports
from schedproof.foundation.sandbox import Process, Sandbox
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.metrics.fabric import Fabric
from schedproof.metrics.pushed import IdleReadings
from schedproof.metrics.readings import NODE_LABEL, Reader
from schedproof.metrics.series import Series, push

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from schedproof.clusters.cluster import Identity, Rbac
    from schedproof.clusters.spec import ClusterSpec, NodeSpec
    from schedproof.metrics.series import Counter

__all__ = ["BINARIES", "EmbeddedCluster"]

BINARIES = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "prometheus", "node_exporter",
)  # fmt: skip


class EmbeddedCluster:
    """See `schedproof.clusters.cluster.Cluster`. The constructor returns when everything is ready.

    Args:
        spec: its nodes.
        binaries: name to path, for all of `BINARIES`.
        logs: where the daemons' logs and the audit log stay as evidence.

    Raises:
        SchedproofError: with the last words of what failed; nothing is left running.
    """

    name = "embedded"
    hosting = None
    callback_address = "127.0.0.1"
    namespace_prefix = "sp"
    workload_image = "registry.k8s.io/pause:3.10"
    """A name alone: kwok plays what it would run."""

    def __init__(self, spec: ClusterSpec, binaries: Mapping[str, Path], logs: Path) -> None:
        self.spec = spec
        self.kubernetes = spec.kubernetes
        self._real = len(spec.nodes) <= REAL_EXPORTERS
        self.capabilities = frozenset(
            {"audit", "change-nodes", "empty-cluster", "hold-bindings", "idle-nodes", "scripted-metrics"}
            | ({"load"} if self._real else set())
            | ({"several-nodes"} if len(spec.nodes) > 1 else set())
        )
        self.device = spec.device
        self.node_template = spec.template
        self.scrape_interval = spec.scrape_interval
        self.nodes = [node.name for node in spec.nodes]
        self.timings: dict[str, float] = {}
        self._targets: dict[str, Mapping[str, str]] = {}
        self._exporters: dict[str, Process] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        """How the series of each node are labelled."""
        self._scripted = 0
        self._spare: list[Prometheus] = []
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._start(binaries, logs)
            undo.pop_all()

    def _start(self, binaries: Mapping[str, Path], logs: Path) -> None:
        begin = time.monotonic()
        with self._timed("sandbox"):
            sandbox = Sandbox()
        self._closing.callback(sandbox.close)
        ports = Ports()
        self._closing.callback(ports.close)
        self.host = Host(sandbox, ports, binaries, logs)
        with concurrent.futures.ThreadPoolExecutor(3, "cluster-start") as pool:
            imported = pool.submit(_import_clients)
            network = pool.submit(self._start_network, imported)
            self._start_control_plane()
            imported.result()
            self._introduce()
            network.result()
            nodes = pool.submit(self._wait_nodes)
            if self._real:
                self._wait_scraped(self.nodes)
            nodes.result()
        self.timings["total"] = time.monotonic() - begin

    @contextlib.contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.timings[part] = time.monotonic() - begin

    def _start_control_plane(self) -> None:
        with self._timed("etcd and kube-apiserver"):
            authority = certificates.Authority(self.host.sandbox.scratch / "pki")
            self._etcd, etcd_url = start_etcd(self.host)
            self.apiserver = start_apiserver(self.host, authority, etcd_url)
            self.audit_log = self.apiserver.audit_log
            kubeconfig = self._component("system:kube-controller-manager")
            manager, began = start_controller_manager(self.host, kubeconfig), time.monotonic()
            self.apiserver.wait_ready()
            if time.monotonic() - began > PATIENCE:
                # On a machine this busy it has given up, or is about to.
                manager.stop(grace=0)
                manager = start_controller_manager(self.host, kubeconfig)
        self._kwok = start_kwok(self.host, self._component("schedproof:kwok"))
        self._daemons = [self._etcd, self.apiserver.process, manager, self._kwok]

    def _introduce(self) -> None:
        """Make the harness's own identity."""
        with self._timed("identities"):
            authority, admin = self.apiserver.authority, self.apiserver.admin
            self._admin = Api(self.apiserver.url, authority.certificate, certificate=admin.certificate, key=admin.key)
            bootstrap.system_namespace(self._admin)
            token = bootstrap.harness_token(self._admin)
            self.api = Api(self.apiserver.url, authority.certificate, token=token)

    def _component(self, user: str) -> Path:
        # Kubernetes' own controllers, and kwok as all kubelets at once, act for the whole cluster.
        authority = self.apiserver.authority
        return write_kubeconfig(
            self.host.sandbox.scratch / f"{user.replace(':', '-')}.kubeconfig", server=self.apiserver.url,
            ca=authority.certificate, user=user, pair=authority.client(user, "system:masters"),
        )  # fmt: skip

    def _start_network(self, imported: concurrent.futures.Future[None]) -> None:
        with self._timed("network namespaces and exporters"):
            self.fabric = Fabric(self.host)
            self._closing.callback(self.fabric.close)
            for node in self.spec.nodes:
                self._connect(node.name, node.device)
        with self._timed("prometheus"):
            self._prometheus = start_prometheus(
                self.host, "prometheus", scrape_interval=self.scrape_interval, targets=self._targets
            )
            self.prometheus_url = self._prometheus.url
            self._prometheus.wait_ready()
            if not self._real:
                idle = IdleReadings(self._prometheus.port, self._labels, self.device, self.scrape_interval)
                self._closing.callback(idle.close)
            imported.result()
            self._reader = Reader(self._prometheus.url)
            self._closing.callback(self._reader.close)

    def _connect(self, node: str, device: str) -> None:
        """See to it that Prometheus has readings of a node."""
        if not self._real:
            self._labels[node] = _labels(node, f"198.19.{len(self._labels) >> 8}.{len(self._labels) & 255}")
            return
        exporter = start_node_exporter(self.host, node, self.fabric.add_node(node, device))
        self._exporters[node] = exporter.process
        self._labels[node] = _labels(node, self.fabric.address(node))
        self._targets[f"127.0.0.1:{exporter.port}"] = self._labels[node]

    def _wait_scraped(self, nodes: Sequence[str]) -> None:
        def probe() -> None:
            up = self._reader.traffic(f"sum by ({NODE_LABEL}) (up)")
            if missing := [node for node in nodes if up.get(node) != 1]:
                raise NotYet(f"not scraped: {', '.join(missing)}")

        with self._timed("first scrape"):
            wait_for(
                probe,
                FIRST_SCRAPE,
                what="Prometheus to scrape every node",
                watching=(self._prometheus.process,),
            )

    def _wait_nodes(self) -> None:
        for node in self.spec.nodes:
            self._admin.create("nodes", node.manifest(self._address(node.name)))
        with self._timed("nodes ready"):
            self._wait_ready(self.nodes)

    def _wait_ready(self, nodes: Sequence[str]) -> None:
        def probe() -> None:
            ready = {node["metadata"]["name"] for node in self._admin.list("nodes")["items"] if _is_ready(node)}
            if missing := set(nodes) - ready:
                raise NotYet(f"not Ready, or still tainted: {', '.join(sorted(missing))}")

        wait_for(probe, NODE_READY, what="nodes to be Ready", watching=self._daemons)

    def _address(self, node: str) -> str:
        return self._labels[node]["instance"].rpartition(":")[0]

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return bootstrap.identity(
            self._admin, name, rbac, directory=self.host.sandbox.scratch, server=self.apiserver.url,
            ca=self.apiserver.authority.certificate,
        )  # fmt: skip

    def add_node(self, name: str, *, like: NodeSpec | None = None) -> None:
        spec = dataclasses.replace(like or self.node_template, name=name)
        self._connect(name, spec.device)
        if self._real:
            self._prometheus.set_targets(self._targets)
        self.api.create("nodes", spec.manifest(self._address(name)))
        self._wait_ready([name])

    def remove_node(self, name: str) -> None:
        self.api.delete("nodes", name)
        del self._labels[name]
        if self._real:
            self._targets = {target: labels for target, labels in self._targets.items() if labels[NODE_LABEL] != name}
            self._prometheus.set_targets(self._targets)
            self._exporters.pop(name).stop(grace=0)
            self.fabric.remove_node(name)

        def gone() -> None:
            with contextlib.suppress(NotFound):
                self.api.get("nodes", name)
                raise NotYet(f"node {name} is still there")

        wait_for(gone, OBJECT_GONE, what=f"node {name} to go")

    def set_load(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        self.fabric.set_rates(rates, direction)

    def scripted_metrics(self) -> _ScriptedPrometheus:
        # The next one gets ready while this one is in use.
        while len(self._spare) < 2:
            self._scripted += 1
            name = f"prometheus-scripted-{self._scripted}"
            self._spare.append(start_prometheus(self.host, name, scrape_interval=60))
        return _ScriptedPrometheus(self._spare.pop(0), self._labels)

    def versions(self) -> Mapping[str, str]:
        return {"kubernetes": self.api.version(), "cluster": self.name}

    def export_logs(self, folder: Path) -> None:
        """Nothing to do: its daemons write their logs into the report's folder as they run."""

    def close(self) -> None:
        """End every process of this cluster. Safe to call twice."""
        self._closing.close()


class _ScriptedPrometheus:
    def __init__(self, server: Prometheus, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._server = server
        self._labels = labels
        self.url = server.url

    def wait_ready(self) -> None:
        self._server.wait_ready()

    def script(self, device: str, metric: str, step: float, counters: Mapping[str, Counter]) -> None:
        self.wait_ready()
        end = time.time() + 590  # Prometheus refuses samples more than ten minutes ahead
        common = {"__name__": metric, "device": device, "job": "node-exporter"}
        series = [
            # A node that exists in the API only has no address.
            Series({**common, **(self._labels.get(node) or _labels(node, node))}, counter.samples(end=end, step=step))
            for node, counter in counters.items()
        ]
        push(self._server.port, series)

    def close(self) -> None:
        self._server.process.stop(grace=0)


def _import_clients() -> None:
    """Import what takes a third of a second, and what nobody needs before the apiserver is up.

    By one thread: modules that import each other in a circle show half of themselves to a second one.
    """
    import prometheus_api_client  # noqa: F401
    import requests  # noqa: F401
    from kubernetes.client import ApiClient, Configuration  # noqa: F401


def _labels(node: str, address: str) -> Mapping[str, str]:
    """What Kubernetes service discovery would give: the node's address, and its name as people relabel it."""
    return {"instance": f"{address}:9100", NODE_LABEL: node, "kubernetes_node": node}


def _is_ready(node: Mapping[str, object]) -> bool:
    status, spec = node["status"], node["spec"]
    assert isinstance(status, dict)
    assert isinstance(spec, dict)
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", ()))
    # The taint that admission puts on every new node; the node lifecycle controller lifts it.
    return ready and not any(t["key"].startswith("node.kubernetes.io/not-ready") for t in spec.get("taints", ()))
