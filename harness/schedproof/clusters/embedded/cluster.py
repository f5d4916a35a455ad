"""The embedded cluster: real daemons as child processes, without Docker; all of them end with the harness."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import importlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.binaries import lock as locked
from schedproof.binaries.versions import version_of
from schedproof.clusters import bootstrap
from schedproof.clusters.cluster import NAMESPACE, Identity, Rbac
from schedproof.clusters.embedded.control_plane import ControlPlane, EmbeddedSecondApiServer
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.clusters.nodes import wait_gone, wait_ready
from schedproof.clusters.scripted import ScriptedPrometheus, ScriptedServers
from schedproof.clusters.simulated_nodes import Exporters
from schedproof.clusters.spec import REAL_EXPORTERS, ClusterSpec, NodeSpec
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.controller_manager import PATIENCE, start_controller_manager
from schedproof.daemons.daemon import opened_host
from schedproof.daemons.kwok import start_kwok
from schedproof.daemons.prometheus import Prometheus, start_prometheus
from schedproof.traffic.pushed import IdleReadings
from schedproof.traffic.readings import made_up_address, node_labels


def required_binaries(spec: ClusterSpec, *, readings: bool) -> tuple[str, ...]:
    """Return the binaries that `EmbeddedCluster` starts: Prometheus for readings, exporters only if they are real."""
    unneeded = {"prometheus"} if not readings else set()
    if not _has_exporters(spec, readings=readings):
        unneeded.add("node_exporter")
    return tuple(name for name in EMBEDDED.binaries if name not in unneeded)


def _has_exporters(spec: ClusterSpec, *, readings: bool) -> bool:
    return readings and len(spec.nodes) <= REAL_EXPORTERS


class EmbeddedCluster:
    """See `schedproof.clusters.cluster.Cluster`. The constructor returns when everything is ready.

    Args:
        spec: the cluster definition.
        binaries: name to path, for all of `required_binaries`.
        logs: the folder for the daemons' logs and the audit log; None: they are removed with the cluster.
        readings: whether a Prometheus has readings of the nodes' traffic. Without them `prometheus_url` is
            empty, and the capabilities `load` and `scripted-metrics` are missing.

    Raises:
        SchedproofError: has the last log lines of the failed process; nothing is left running.
    """

    name = "embedded"
    hosting = None
    callback_address = "127.0.0.1"
    namespace = NAMESPACE
    harness_user = bootstrap.harness_user()
    namespace_prefix = "sp"
    largest_load = math.inf
    workload_image = "registry.k8s.io/pause:3.10"
    """Only a name: kwok simulates the containers."""

    def __init__(
        self, spec: ClusterSpec, binaries: Mapping[str, Path], logs: Path | None, *, readings: bool = True
    ) -> None:
        self.spec = spec
        self.kubernetes = spec.kubernetes
        self.feature_gates = spec.feature_gates
        self._readings = readings
        self._real = _has_exporters(spec, readings=readings)
        self._prometheus: Prometheus | None = None
        self.prometheus_url = ""
        self.targets_servers: dict[str, TargetsServer] = {}
        self.capabilities = frozenset(
            {
                "advance-versions",
                "audit",
                "change-nodes",
                "claimed-devices",
                "cut-apiserver",
                "empty-cluster",
                "ending-pods",
                "hold-bindings",
                "idle-daemon-sets",
                "idle-nodes",
                "second-apiserver",
            }
            | ({"scripted-metrics"} if readings else set())
            | ({"load"} if self._real else set())
            | ({"several-nodes"} if len(spec.nodes) > 1 else set())
        )
        self.device = spec.device
        self.node_template = spec.template
        self.scrape_interval = spec.scrape_interval
        self.nodes = [node.name for node in spec.nodes]
        self.timings: dict[str, float] = {}
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._start(binaries, logs)
            undo.pop_all()

    def _start(self, binaries: Mapping[str, Path], logs: Path | None) -> None:
        begin = time.monotonic()
        with self._timed("sandbox"):
            host = self._closing.enter_context(opened_host(binaries, logs))
        self.host = dataclasses.replace(host, feature_gates=self.spec.feature_gates, apis=self.spec.apis)
        self._exporters = Exporters(self.host)
        self._closing.callback(self._exporters.close)
        self._labels = self._exporters.labels
        self._scripted = ScriptedServers(self.host, self._labels, self.targets_servers, self.spec.template.machine)
        # Looking up a host name imports this codec in the first thread that needs it. If another thread imports
        # `requests`, which uses it too, both may wait for each other forever (seen with CPython 3.11.7).
        importlib.import_module("encodings.idna")
        with concurrent.futures.ThreadPoolExecutor(3, "cluster-start") as pool:
            imported = pool.submit(_import_clients)
            network = pool.submit(self._start_network, imported)
            self._start_control_plane()
            imported.result()
            with self._timed("identities"):
                self._plane.introduce()
                self.api = self._plane.api
            network.result()
            self._wait_nodes()
        self.timings["total"] = time.monotonic() - begin

    @contextlib.contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.timings[part] = time.monotonic() - begin

    def _start_control_plane(self) -> None:
        with self._timed("etcd and kube-apiserver"):
            self._plane = ControlPlane(self.host)
            self.audit_log = self._plane.audit_log
            kubeconfig = self._plane.component("system:kube-controller-manager")
            manager, began = start_controller_manager(self.host, kubeconfig), time.monotonic()
            self._plane.wait_ready()
            if time.monotonic() - began > PATIENCE:
                # On such a busy machine it has given up, or is about to.
                manager.stop(grace=0)
                manager = start_controller_manager(self.host, kubeconfig)
        # kwok simulates all kubelets.
        kwok = start_kwok(self.host, self._plane.component("schedproof:kwok"))
        self.daemons = [*self._plane.processes, manager, kwok]

    def admin_kubeconfig(self) -> Path:
        """Write a kubeconfig for users, with all rights; it is removed with the cluster."""
        return self._plane.component("admin")

    def _start_network(self, imported: concurrent.futures.Future[None]) -> None:
        with self._timed("network namespaces"):
            for node in self.spec.nodes:
                self._connect(node.name, node.device)
        if self._readings:
            with self._timed("prometheus"):
                self._start_prometheus(imported)

    def _start_prometheus(self, imported: concurrent.futures.Future[None]) -> None:
        prometheus = start_prometheus(self.host, "prometheus", scrape_interval=self.scrape_interval)
        self._prometheus, self.prometheus_url = prometheus, prometheus.url
        prometheus.wait_ready()
        imported.result()
        # Scrapes of idle nodes yield the same, and take a sixth of a run's processor time.
        self._idle = IdleReadings(
            prometheus.url, self._labels, self.device, self.scrape_interval, self.spec.template.machine
        )
        self._closing.callback(self._idle.close)
        targets_server = TargetsServer(self.host.logs, self._labels, self.scrape_interval, up=self._labels)
        self._closing.callback(targets_server.close)
        self.targets_servers[prometheus.url] = targets_server

    def scrape(self) -> None:
        """Scrape the nodes' real exporters from now on; returns when each has been scraped."""
        if not self._real or self._prometheus is None or self._exporters.started:
            return
        self._idle.leave_scraped()
        self._exporters.start()
        self._update_targets()
        self._prometheus.wait_scraped(self._exporters.targets)
        del self.targets_servers[self.prometheus_url]

    def _update_targets(self) -> None:
        if self._exporters.started and self._prometheus is not None:
            self._prometheus.set_targets(self._exporters.targets)

    def _connect(self, node: str, device: str) -> None:
        """Give a node its labels and address, and a network if exporters are real."""
        if self._real:
            self._exporters.add(node, device)
        else:
            self._labels[node] = node_labels(node, made_up_address(len(self._labels)))

    def _wait_nodes(self) -> None:
        self._version = self._plane.admin.version()
        for node in self.spec.nodes:
            self._plane.admin.create("nodes", node.manifest(self._address(node.name), self._version))
        with self._timed("nodes ready"):
            wait_ready(self._plane.admin, self.nodes, watching=self.daemons)

    def _address(self, node: str) -> str:
        return self._labels[node]["instance"].rpartition(":")[0]

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return self._plane.identity(name, rbac)

    def servers(self) -> Mapping[str, int]:
        return self._plane.servers()

    def add_node(self, name: str, *, like: NodeSpec | None = None) -> None:
        spec = dataclasses.replace(like or self.node_template, name=name)
        self._connect(name, spec.device)
        self._update_targets()
        self.api.create("nodes", spec.manifest(self._address(name), self._version))
        wait_ready(self.api, [name], watching=self.daemons)

    def add_idle_nodes(self, addresses: Mapping[str, str], *, like: NodeSpec | None = None) -> None:
        for name, address in addresses.items():
            spec = dataclasses.replace(like or self.node_template, name=name)
            self.api.create("nodes", spec.manifest(address, self._version))
        wait_ready(self.api, list(addresses), watching=self.daemons)

    def remove_node(self, name: str) -> None:
        self.api.delete_if_there("nodes", name)
        if not self._real:
            self._labels.pop(name, None)
        elif name in self._labels:
            self._exporters.remove(name)
            self._update_targets()
        wait_gone(self.api, name)

    def second_apiserver(self) -> EmbeddedSecondApiServer:
        return self._plane.second_apiserver()

    def advance_versions(self, version: int) -> int:
        return self._plane.advance_versions(version)

    def set_load(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        self.scrape()
        self._exporters.fabric.set_rates(rates, direction)

    def scripted_metrics(self) -> ScriptedPrometheus:
        return self._scripted.take()

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        if self._prometheus is not None:
            self._prometheus.load_rules(rules)
            self._scripted.rules = rules

    def versions(self) -> Mapping[str, str]:
        lock = locked.load()
        builds = lock.builds(self.kubernetes)
        tools = {
            name: version_of(path, builds[name].question(name)) or "no version"
            for name, path in self.host.binaries.items()
            if name in lock.tools
        }
        return {"kubernetes": self.api.version(), "cluster": self.name, **tools}

    def export_logs(self, folder: Path) -> None:
        """Do nothing: the daemons write their logs into the report's folder."""

    def close(self) -> None:
        """End all processes of this cluster. Safe to call twice."""
        self._closing.close()


def _import_clients() -> None:
    """Import modules while the apiserver starts, which takes a third of a second.

    In a single thread: another thread could see partially initialized modules of an import cycle.
    """
    import prometheus_api_client  # noqa: F401
    import requests  # noqa: F401
    from kubernetes.client import ApiClient, Configuration  # noqa: F401
