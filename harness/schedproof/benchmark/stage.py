"""A workload's cluster, set up: nodes, and pods that are there before anything is measured."""

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
from schedproof.clusters.embedded.minimal import Lean
from schedproof.clusters.nodes import is_ready
from schedproof.daemons.scheduler import start_scheduler
from schedproof.foundation.deadlines import CANDIDATE_STOP
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.waiting import Watched
from schedproof.oracle.final_state.pod_kinds import Placed
from schedproof.traffic.readings import made_up_address, node_labels

NO_SCHEDULER = "schedproof-none"
"""The schedulerName of pods that the driver binds by itself."""

_SET_UP = "schedproof-set-up"
"""That of pods that are there before anything is measured. The stock scheduler places them, whatever is measured."""

_SLICE = 0.5
"""Seconds for which the driver waits between two looks at whether all processes are alive."""

_STUCK = 30.0
"""Seconds without a single binding after which no more is to be expected: longer than kube-scheduler's longest back-off
of 10 s, and than an extender's or a query's default timeouts."""

_CEILING_PODS = 1_000


class Stage:
    """Rounds come and go on it; `close` ends everything.

    Args:
        workload: what it is set up for.
        cluster: for this stage alone; it is closed with the stage, also where the stage cannot be had.
        driver: the program.
        folder: for what the driver writes, and its log.
        seed: of the order of the nodes' traffic.

    Raises:
        SchedproofError: it cannot be had; nothing is left behind.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Lean,
        driver: Path,
        folder: Path,
        *,
        seed: int,
    ) -> None:
        self.workload = workload
        self.cluster = cluster
        self._folder = folder
        given = [dict(manifest) for group in workload.node_groups() for manifest in group.manifests()]
        self.node_names = [node["metadata"]["name"] for node in given]
        """Of the workload's nodes."""
        self.nodes = [*given, *cluster.own_nodes]
        """All that there are."""
        self._random = random.Random(seed)  # noqa: S311 - order, no secrets
        gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in workload.feature_gates.items())
        self.scheduler_flags = {"feature-gates": gates} if gates else {}
        """Of every kube-scheduler here."""
        self.initial: list[Placed] = []
        """The pods of the set-up, and where each is."""
        self.ceiling = math.inf
        """Bindings per second that the apiserver can take, once that was measured."""
        self.readings: dict[str, float] = {}
        """Bytes per second by node; empty where the workload has none."""
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
                f"workload {self.workload.name}: objects of kind {kind} cannot be created here",
                remedy="leave them out, or use another workload",
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
                    remedy="check that they fit on its nodes: requests of pods, and what nodes offer",
                )

    @contextlib.contextmanager
    def _stock(self) -> Iterator[Watched]:
        identity = self.cluster.identity(_SET_UP, SCHEDULER_RBAC)
        # As many nodes as by Kubernetes' default: it is not measured, and of 5,000 nodes it is ten times as fast.
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
        """Make the set-up anew where a round may have used it up."""
        if self.workload.spends_set_up:
            for namespace in self.workload.namespaces:
                self.driver.delete_all(namespace)
            self.initial.clear()
            self._place_pods()

    def await_bound(self, group: str, watching: Sequence[Watched]) -> bool:
        """Until all pods of a group are bound: true; or none has been for so long that no more is to be expected.

        Raises:
            SchedproofError: one of those `watching` has ended.
        """
        before, idle = -1, 0.0
        while idle < _STUCK:
            answer = self.driver.wait(group, _SLICE)
            if answer.bound == answer.pods:
                return True
            for one in watching:
                if (error := one.exit_error()) is not None:
                    raise error
            idle = idle + _SLICE if answer.bound == before else 0.0
            before = answer.bound
        return False

    def pods(self, group: str, step: CreatePods, scheduler_name: str, count: int | None = None) -> Pods:
        """The pods of an operation, or the first `count` of them, for a scheduler."""
        templates = [scheduled_by(template, scheduler_name) for template in step.templates]
        return Pods(group, step.namespace, f"{group}-", step.count if count is None else count, templates)

    def manifest(self, pods: Pods, number: int) -> dict[str, Any]:
        """Pod `number` of a group, counted from 0, as it was created."""
        template = pods.templates[number % len(pods.templates)]
        name = {"name": f"{pods.prefix}{number}", "namespace": pods.namespace}
        return {**template, "metadata": {**template["metadata"], **name}}

    def rows(self, group: str) -> tuple[PodTimes, ...]:
        """What became of a group's pods."""
        return self.driver.rows(group, self._folder / "rows.csv")

    def bystanders(self, pods: Pods) -> list[Placed]:
        """Pods that are not of this group, and where each is: what is there still of the set-up, and churn."""
        if not self.workload.spends_set_up and not self.workload.churns:
            return self.initial
        return [
            (pod, pod["spec"].get("nodeName"))
            for pod in self.cluster.api.list("pods")["items"]
            if pod["metadata"]["namespace"] != pods.namespace or not pod["metadata"]["name"].startswith(pods.prefix)
        ]

    def put_readings(self, metric: str, device: str, window: float) -> None:
        """Have Prometheus tell the workload's readings, as a candidate looks for them."""
        if self.readings:
            self.cluster.readings.put(metric, device, window, self._labels, list(self.readings.items()))

    def measure_ceiling(self) -> None:
        """Learn how many bindings a second this machine's apiserver takes from a client that decides nothing."""
        pods = self.pods("ceiling", self.workload.measured, NO_SCHEDULER, min(_CEILING_PODS, 2 * self.workload.pods))
        self.driver.create(pods)
        bound = self.driver.bind(pods.group, self.node_names)
        self.driver.delete(pods.group)
        self.ceiling = bound.pods / bound.seconds

    def close(self) -> None:
        """End everything. Safe to call twice."""
        self._closing.close()


def scheduled_by(template: Manifest, scheduler_name: str) -> dict[str, Any]:
    """A pod's template with a schedulerName; anything else as it is."""
    if template["kind"] != "Pod":
        return dict(template)
    return {**template, "spec": {**template["spec"], "schedulerName": scheduler_name}}
