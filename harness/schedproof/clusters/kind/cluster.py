"""The kind cluster: real kubelets, containers and images, and real packets through its workers' own interfaces."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.clusters import bootstrap
from schedproof.clusters.api import Api
from schedproof.clusters.cluster import NAMESPACE, Identity, Rbac, SecondApiServer
from schedproof.clusters.existing.sweep import RUN, sweep
from schedproof.clusters.kind.cli import require_callback
from schedproof.clusters.kind.docker import require_docker
from schedproof.clusters.kind.hosting import KindHosting
from schedproof.clusters.kind.node_traffic import NodeTraffic
from schedproof.clusters.kind.nodes import KindNodes
from schedproof.clusters.kind.prometheus import PrometheusContainer
from schedproof.clusters.monitoring import EXPORTER_PORT, deploy_node_exporter, keep_workers_alike, wait_alike
from schedproof.clusters.node_backup import NotingApi
from schedproof.clusters.node_image.images import Images, our_images
from schedproof.clusters.nodes import wait_ready
from schedproof.clusters.run_lease import RunLease
from schedproof.clusters.scripted import ScriptedPrometheus, ScriptedServers
from schedproof.clusters.simulated_nodes import SimulatedNodes
from schedproof.clusters.spec import KindSpec, NodeSpec, machine_of
from schedproof.clusters.targets import TargetsServer
from schedproof.daemons.daemon import opened_host
from schedproof.daemons.kubeconfig import cluster_of
from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.private import make_private
from schedproof.foundation.progress import Progress
from schedproof.traffic.readings import Reader, node_labels, wait_scraped

KEPT_NAME = "schedproof"
"""The default name of a cluster that is kept."""


class KindCluster:
    """See `schedproof.clusters.cluster.Cluster`. The constructor returns when everything is ready.

    Args:
        spec: the workers.
        binaries: name to path, for all of `KIND.binaries` (registration).
        logs: the folder for the audit log, and for the logs of kind and of processes on this machine.
        progress: shows every part of the start.
        images: references in this machine's Docker.
        cluster_name: "" for `KEPT_NAME` or a generated name. A cluster kept under this name is used, and stays.
        keep: whether the cluster outlives the harness.

    Raises:
        SchedproofError: has the last log lines of the failed process; nothing is left running.
    """

    name = "kind"
    device = "eth0"
    namespace = NAMESPACE
    harness_user = bootstrap.harness_user()
    namespace_prefix = "sp"
    largest_load = math.inf

    def __init__(
        self,
        spec: KindSpec,
        binaries: Mapping[str, Path],
        logs: Path,
        progress: Progress,
        images: Images,
        *,
        cluster_name: str = "",
        keep: bool = False,
    ) -> None:
        self.kubernetes = spec.kubernetes
        self.feature_gates: Mapping[str, bool] = {}
        self.scrape_interval = spec.scrape_interval
        self.capabilities = frozenset(
            {
                "audit",
                "change-nodes",
                "default-scheduler",
                "ending-pods",
                "hold-bindings",
                "idle-nodes",
                "load",
                "real-pods",
                "scripted-metrics",
            }
            | ({"several-nodes"} if spec.count > 1 else set())
        )
        self.cluster_name = cluster_name or (KEPT_NAME if keep else f"schedproof-{secrets.token_hex(3)}")
        self._images = images
        self.workload_image = images.workload
        self.timings: dict[str, float] = {}
        self.targets_servers: dict[str, TargetsServer] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        """The labels of each node's series."""
        self._docker = require_docker()
        self._progress = progress
        self._closing = contextlib.ExitStack()
        begin = time.monotonic()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._start_host(binaries, logs)
            with self._timed("kind nodes", f"{spec.count} workers and a control plane as containers"):
                self._nodes = KindNodes(self.host, spec, name=self.cluster_name, image=images.node, keep=keep)
                self._closing.callback(self._nodes.close)
            undo.push(lambda _, error, __: self._export_logs_on_error(error, logs / "exported"))
            self.nodes = self._nodes.workers
            self.audit_log = self._nodes.audit_log
            self._traffic = NodeTraffic(
                self.host, self.cluster_name, self._addresses, image=images.python, lock=self._nodes.claim.path
            )
            self._closing.callback(self._traffic.close)
            if images.node != our_images(spec.kubernetes).node:  # which contains them
                with self._timed("images onto the nodes"):
                    self._nodes.kind.load([images.node_exporter, images.workload])
            with self._timed("prometheus"):
                self._start_prometheus(images.prometheus, logs)
            with self._timed("nodes ready"):
                self._introduce(images.node_exporter)
            self._joined = SimulatedNodes(
                self.host, self.api, self._kwok_kubeconfig, self.cluster_name, address=self.callback_address
            )
            self._closing.callback(self._joined.close)
            with self._timed("first scrape"), contextlib.closing(Reader(self.prometheus_url)) as reader:
                self._prometheus.wait_ready()
                wait_scraped(reader, self.nodes, watching=(self._prometheus,))
            self._describe(spec)
            self._nodes.complete()
            undo.pop_all()
        self.timings["total"] = time.monotonic() - begin

    def _export_logs_on_error(self, error: BaseException | None, folder: Path) -> None:
        if isinstance(error, SchedproofError):
            self.export_logs(folder)

    @contextlib.contextmanager
    def _timed(self, part: str, why: str = "") -> Iterator[None]:
        begin = time.monotonic()
        with self._progress.step(part, why=why):
            yield
        self.timings[part] = time.monotonic() - begin

    def _start_host(self, binaries: Mapping[str, Path], logs: Path) -> None:
        self.host = self._closing.enter_context(opened_host(binaries, logs))

    @property
    def _addresses(self) -> Mapping[str, str]:
        return {worker: self._nodes.addresses[worker] for worker in self.nodes}

    def _introduce(self, exporter_image: str) -> None:
        """Create the harness's own identity, and make the workers equal."""
        marks = {RUN: self.cluster_name} if self._nodes.keep else {}
        self._admin, self._ca = self._nodes.admin(marks)
        if self._nodes.keep:
            # The lock excludes other runs on kind; the Lease excludes runs that use the cluster by its kubeconfig.
            self._closing.callback(RunLease(self._admin, self.cluster_name).close)
            sweep(self._admin)  # leftovers of a killed run
            self._closing.callback(sweep, self._admin)
        bootstrap.system_namespace(self._admin)
        token = bootstrap.harness_token(self._admin)
        if self._nodes.keep:
            noting = NotingApi(self._admin.url, self._ca, token=token, marks=marks)
            noting.nodes = True
            self.api: Api = noting
        else:
            self.api = Api(self._admin.url, self._ca, token=token)
        wait_ready(self.api, [self._nodes.control_plane, *self.nodes])
        deploy_node_exporter(self.api, exporter_image)
        keep_workers_alike(self.api)
        self.callback_address = require_callback(self._nodes.control_plane)
        wait_alike(self.api, self.nodes)

    def _start_prometheus(self, image: str, logs: Path) -> None:
        self._labels.update({node: node_labels(node, address) for node, address in self._addresses.items()})
        self._prometheus = PrometheusContainer(
            self._nodes.prometheus, image, home=self.host.sandbox.scratch / "prometheus", logs=logs.resolve(),
            lock=self._nodes.claim.path, scrape_interval=self.scrape_interval, targets=self._targets,
        )  # fmt: skip
        self._closing.callback(self._prometheus.close)
        self.prometheus_url = self._prometheus.url

    @property
    def _targets(self) -> Mapping[str, Mapping[str, str]]:
        return {f"{address}:{EXPORTER_PORT}": self._labels[node] for node, address in self._addresses.items()}

    def _describe(self, spec: KindSpec) -> None:
        worker = self.api.get("nodes", self.nodes[0])
        self.node_template = NodeSpec("node-{n}", worker["status"]["allocatable"], dict(spec.labels))
        self._scripted = ScriptedServers(
            self.host, self._labels, self.targets_servers, machine_of(worker["status"]["capacity"])
        )
        service = self.api.get("services", "kubernetes", "default")
        self.hosting = KindHosting(
            self._nodes.kind, self._nodes.control_plane, self._nodes.workers,
            service_address=self._addresses[self.nodes[0]],
            apiserver=cluster_of(f"https://{service['spec']['clusterIP']}:443", self._ca.read_bytes()),
            prometheus_url=self.prometheus_url, python_image=self._images.python,
        )  # fmt: skip

    def identity(self, name: str, rbac: Rbac) -> Identity:
        return bootstrap.identity(
            self._admin, name, rbac, directory=self.host.sandbox.scratch, server=self._admin.url, ca=self._ca
        )

    def servers(self) -> Mapping[str, int]:
        return self.hosting.servers()

    def _kwok_kubeconfig(self) -> Path:
        # For the kubelets of nodes that join.
        return self.identity("schedproof-kwok", Rbac(cluster_roles=("cluster-admin",))).kubeconfig

    def add_node(self, name: str, *, like: NodeSpec | None = None) -> None:
        self._joined.add([dataclasses.replace(like or self.node_template, name=name)])
        self._rewire()

    def add_idle_nodes(self, addresses: Mapping[str, str], *, like: NodeSpec | None = None) -> None:
        nodes = [dataclasses.replace(like or self.node_template, name=name) for name in addresses]
        self._joined.add(nodes, idle=True, addresses=addresses)

    def remove_node(self, name: str) -> None:
        self._joined.remove(name)
        self._rewire()

    def _rewire(self) -> None:
        for name in self._labels.keys() - {*self.nodes, *self._joined.labels}:
            del self._labels[name]
        self._labels.update(self._joined.labels)
        self._prometheus.set_targets({**self._targets, **self._joined.targets})

    def second_apiserver(self) -> SecondApiServer:
        raise HostError("a second apiserver can only be started in the embedded cluster")

    def advance_versions(self, version: int) -> int:  # noqa: ARG002 - the protocol's
        raise HostError("resourceVersions can only be advanced in the embedded cluster")

    def set_load(self, rates: Mapping[str, float], direction: str = "receive") -> None:
        self._traffic.set_rates({node: rate for node, rate in rates.items() if node in self.nodes}, direction)
        self._joined.set_rates({node: rate for node, rate in rates.items() if node not in self.nodes}, direction)

    def load_rules(self, rules: Sequence[Mapping[str, Any]]) -> None:
        self._prometheus.load_rules(rules)
        self._scripted.rules = rules

    def versions(self) -> Mapping[str, str]:
        return {"kubernetes": self.api.version(), "cluster": self.name, "docker": self._docker.version}

    def scripted_metrics(self) -> ScriptedPrometheus:
        return self._scripted.take()

    def export_logs(self, folder: Path) -> None:
        failed = []
        try:
            make_private(folder)
            (folder / "events.json").write_text(json.dumps(self.api.list("events")["items"], indent=1))
        except Exception as error:
            failed.append(f"events: {error}")
        try:
            self._nodes.kind.export_logs(folder / "kind")
        except Exception as error:
            failed.append(str(error))
        if failed:
            with contextlib.suppress(OSError):
                (folder / "not-exported.txt").write_text("\n".join(failed))

    def close(self) -> None:
        """Delete everything that is not kept. Safe to call twice."""
        self._closing.close()
