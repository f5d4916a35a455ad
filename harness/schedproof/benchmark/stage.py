"""Sets up a workload's cluster: its nodes, and the pods that exist before anything is measured."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from schedproof.benchmark.driver import Driver, Pods, PodTimes
from schedproof.benchmark.workloads.operations import Barrier, CreateObjects, CreatePods, DeletePods, Manifest
from schedproof.benchmark.workloads.workload import Workload
from schedproof.candidate.scheduler_config import scheduler_configuration
from schedproof.clusters import bootstrap
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.minimal import MinimalCluster
from schedproof.clusters.nodes import is_ready
from schedproof.daemons.scheduler import start_scheduler
from schedproof.foundation.deadlines import CANDIDATE_STOP
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.waiting import Watched
from schedproof.oracle.final_state.pod_kinds import Placed
from schedproof.traffic.readings import made_up_address, node_labels

NO_SCHEDULER = "schedproof-none"
"""The schedulerName of pods that the driver binds itself."""

_SET_UP = "schedproof-set-up"
"""The schedulerName of initial pods. The stock scheduler always places them, whichever candidate is measured."""

_SLICE = 0.5
"""Seconds that the driver waits between two checks that all processes are alive."""

_STUCK = 30.0
"""Seconds without a binding after which waiting ends: longer than kube-scheduler's longest back-off of 10 s, and than
the default timeouts of extenders and queries."""

_CEILING_PODS = 1_000


class Stage:
    """A cluster that is set up for a workload, on which rounds are measured; `close` ends everything.

    Args:
        workload: the workload.
        cluster: for this stage alone; it is closed with the stage, also if the set-up fails.
        driver: the path of the driver program.
        folder: for the driver's files and its log.
        seed: for the order of the nodes' readings.

    Raises:
        SchedproofError: the set-up failed; nothing is left behind.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: MinimalCluster,
        driver: Path,
        folder: Path,
        *,
        seed: int,
    ) -> None:
        self.workload = workload
        self.cluster = cluster
        self._folder = folder
        workload_nodes = [dict(manifest) for group in workload.node_groups() for manifest in group.manifests()]
        self.node_names = [node["metadata"]["name"] for node in workload_nodes]
        """The names of the workload's nodes."""
        self.nodes = [*workload_nodes, *cluster.own_nodes]
        """All nodes of the cluster, as manifests."""
        self._random = random.Random(seed)  # noqa: S311 - an order, not a secret
        gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in workload.feature_gates.items())
        self.scheduler_flags = {"feature-gates": gates} if gates else {}
        """Additional flags of every kube-scheduler on this stage."""
        self.initial: list[Placed] = []
        """The initial pods, and the node of each."""
        self.ceiling = math.inf
        """Bindings per second that the apiserver accepts; infinite until `measure_ceiling`."""
        self.readings: dict[str, float] = {}
        """Bytes per second by node; empty if the workload has no readings."""
        if workload.readings is not None:
            self.readings = workload.readings.of(self.node_names, seed=seed)
        self._labels = {name: node_labels(name, made_up_address(n)) for n, name in enumerate(self.node_names)}
        self._closing = contextlib.ExitStack()
        self._closing.callback(cluster.close)
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self.driver = Driver(driver, folder)
            self._closing.callback(self.driver.close)
            self.driver.connect(self.cluster.admin_kubeconfig)
            self._set_up()
            undo.pop_all()

    def _set_up(self) -> None:
        for namespace, labels in self.workload.namespaces.items():
            bootstrap.namespace(self.cluster.api, namespace)
            if labels:
                self.cluster.api.merge("namespaces", namespace, {"metadata": {"labels": dict(labels)}})
        groups = self.workload.node_groups()
        for group in groups:
            self.driver.create_nodes(group.template, group.names, group.labels)
        self.cluster.settle([name for group in groups if is_ready(group.template) for name in group.names])
        for operation in self.workload.set_up:
            if isinstance(operation, CreateObjects):
                for manifest in operation.manifests:
                    self._create(manifest)
        self._place_pods()

    def _create(self, manifest: Manifest) -> None:
        kind, metadata = manifest["kind"], manifest["metadata"]
        resource = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
        try:
            self.cluster.api.create_or_keep(resource, dict(manifest), metadata.get("namespace", ""))
        except KeyError:
            raise UsageError(
                f"workload {self.workload.name}: objects of kind {kind} are not supported",
                remedy="remove them from the workload, or use another workload",
            ) from None

    def _place_pods(self) -> None:
        steps = [step for step in self.workload.set_up if isinstance(step, (CreatePods, DeletePods, Barrier))]
        if not steps:
            return
        placed: list[Pods] = []
        with self._stock() as scheduler:
            for number, step in enumerate(steps):
                if isinstance(step, DeletePods):
                    self.driver.delete_all(step.namespace)
                    placed = [pods for pods in placed if pods.namespace != step.namespace]
                elif isinstance(step, Barrier):
                    self._await_placed(placed, scheduler)
                else:
                    placed.append(self.pods(f"initial-{number}", step, _SET_UP))
                    self.driver.create(placed[-1], watching=self.cluster.daemons)
                    if step.wait:
                        self._await_placed(placed[-1:], scheduler)
        for pods in placed:
            self.initial += [(self.manifest(pods, n), row.node or None) for n, row in enumerate(self.rows(pods.group))]

    def _await_placed(self, placed: Sequence[Pods], scheduler: Watched) -> None:
        for pods in placed:
            if not self.await_bound(pods.group, (scheduler, *self.cluster.daemons)):
                raise HostError(
                    f"workload {self.workload.name}: the stock scheduler did not place all of its initial pods",
                    remedy="check that the pods' requests fit into the nodes' allocatable resources",
                )

    @contextlib.contextmanager
    def _stock(self) -> Iterator[Watched]:
        identity = self.cluster.identity(_SET_UP, SCHEDULER_RBAC)
        # 0 is Kubernetes' adaptive default. The set-up is not measured, and this is ten times as fast on 5,000 nodes.
        configuration = scheduler_configuration([_SET_UP], identity.kubeconfig) | {"percentageOfNodesToScore": 0}
        scheduler = start_scheduler(
            self.cluster.host, "set-up", configuration, identity.kubeconfig, more=self.scheduler_flags
        )
        try:
            scheduler.wait_ready()
            yield scheduler.process
        finally:
            scheduler.process.stop(CANDIDATE_STOP.seconds)

    def restore(self) -> None:
        """Create the initial pods again if a round may have preempted some of them."""
        if self.workload.spends_set_up:
            for namespace in self.workload.namespaces:
                self.driver.delete_all(namespace)
            self.initial.clear()
            self._place_pods()

    def await_bound(self, group: str, watching: Sequence[Watched]) -> bool:
        """Wait until all pods of a group are bound. Returns False if none is bound for 30 s before that.

        Raises:
            SchedproofError: a process in `watching` has exited.
        """
        before, idle = -1, 0.0
        while idle < _STUCK:
            answer = self.driver.wait(group, _SLICE)
            if answer.bound == answer.pods:
                return True
            for process in watching:
                if (error := process.exit_error()) is not None:
                    raise error
            idle = idle + _SLICE if answer.bound == before else 0.0
            before = answer.bound
        return False

    def pods(self, group: str, step: CreatePods, scheduler_name: str, count: int | None = None) -> Pods:
        """Return the pods of an operation, or the first `count` of them, with a schedulerName."""
        templates = [scheduled_by(template, scheduler_name) for template in step.templates]
        return Pods(group, step.namespace, f"{group}-", step.count if count is None else count, templates)

    def manifest(self, pods: Pods, number: int) -> dict[str, Any]:
        """Return the manifest of pod `number` of a group, counted from 0, as it was created."""
        template = pods.templates[number % len(pods.templates)]
        name = {"name": f"{pods.prefix}{number}", "namespace": pods.namespace}
        return {**template, "metadata": {**template["metadata"], **name}}

    def rows(self, group: str) -> tuple[PodTimes, ...]:
        """Return the times of a group's pods."""
        return self.driver.rows(group, self._folder / "rows.csv")

    def bystanders(self, pods: Pods) -> list[Placed]:
        """Return the pods outside this group, and the node of each: initial pods that are left, and pods of churn."""
        if not self.workload.spends_set_up and not self.workload.churns:
            return self.initial
        return [
            (pod, pod["spec"].get("nodeName"))
            for pod in self.cluster.api.list("pods")["items"]
            if pod["metadata"]["namespace"] != pods.namespace or not pod["metadata"]["name"].startswith(pods.prefix)
        ]

    def put_readings(self, metric: str, device: str, window: float) -> None:
        """Publish the workload's readings in Prometheus, under the metric and device that a candidate queries.

        Scrapes go on from here, so that a candidate that checks the age of samples, or computes rates of its own polls,
        sees what it would see beside a real Prometheus.
        """
        if self.readings:
            self.cluster.readings.put(metric, device, window, self._labels, list(self.readings.items()), running=True)

    def measure_ceiling(self) -> None:
        """Measure how many bindings per second the apiserver accepts from a client that makes no decisions."""
        pods = self.pods("ceiling", self.workload.measured, NO_SCHEDULER, min(_CEILING_PODS, 2 * self.workload.pods))
        self.driver.create(pods)
        bound = self.driver.bind(pods.group, self.node_names)
        self.driver.delete(pods.group)
        self.ceiling = bound.pods / bound.seconds

    def close(self) -> None:
        """End everything. Safe to call twice."""
        self._closing.close()


def scheduled_by(template: Manifest, scheduler_name: str) -> dict[str, Any]:
    """Return a pod's template with a schedulerName; other manifests unchanged."""
    if template["kind"] != "Pod":
        return dict(template)
    return {**template, "spec": {**template["spec"], "schedulerName": scheduler_name}}
