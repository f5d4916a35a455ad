"""A workload: the objects that a benchmark creates, and the pods among them that are measured."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schedproof.benchmark.results import WorkloadSummary
from schedproof.benchmark.workloads.operations import (
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Manifest,
    Operation,
    ReadingsPattern,
)
from schedproof.oracle.resources import allocatable, needed, shortages

_HOSTNAME = "kubernetes.io/hostname"


@dataclasses.dataclass(frozen=True)
class NodeGroup:
    """Nodes created from a template: node n has the label `values[n % len(values)]` for each key of `labels`.

    The labels include kubernetes.io/hostname with the node's name, as a kubelet sets it.
    """

    names: tuple[str, ...]
    template: Manifest
    labels: Mapping[str, tuple[str, ...]]

    def manifests(self) -> Iterator[dict[str, Any]]:
        """Yield the complete manifest of each node."""
        metadata = self.template.get("metadata") or {}
        for n, name in enumerate(self.names):
            labels = {key: values[n % len(values)] for key, values in self.labels.items()}
            own = {**(metadata.get("labels") or {}), **labels}
            yield {**self.template, "metadata": {**metadata, "name": name, "labels": own}}


@dataclasses.dataclass(frozen=True)
class Workload:
    """The operations of a round.

    The operations before the measured pods are the set-up: the stock scheduler places its pods once, and they are kept
    between rounds unless `spends_set_up`. A Churn among the operations runs only while pods are measured.

    `feature_gates`: gates that upstream sets differently from Kubernetes' defaults; every kube-scheduler gets them.
    `threshold`: throughput in pods per second below which upstream's CI fails on its own machines; None if there is
    none. `labels`: upstream's labels of the case. Both say what a result may be compared with.
    """

    name: str
    description: str
    source: str
    operations: tuple[Operation, ...]
    feature_gates: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    threshold: float | None = None
    labels: tuple[str, ...] = ()

    @property
    def measured(self) -> CreatePods:
        """The operation that creates the measured pods."""
        return next(step for step in self._pods() if step.measured)

    @property
    def set_up(self) -> tuple[Operation, ...]:
        """The operations before the measured pods, in order, without readings and churn."""
        return tuple(
            step
            for step in self.operations
            if not isinstance(step, (Churn, ReadingsPattern)) and not (isinstance(step, CreatePods) and step.measured)
        )

    @property
    def churns(self) -> tuple[Churn, ...]:
        return tuple(step for step in self.operations if isinstance(step, Churn))

    @property
    def readings(self) -> ReadingsPattern | None:
        return next((step for step in self.operations if isinstance(step, ReadingsPattern)), None)

    @property
    def nodes(self) -> int:
        """How many nodes it has, without those of churn."""
        return sum(step.count for step in self.operations if isinstance(step, CreateNodes))

    @property
    def initial_pods(self) -> int:
        """How many pods exist when measuring begins."""
        pods: dict[str, int] = {}
        for step in self.set_up:
            if isinstance(step, CreatePods):
                pods[step.namespace] = pods.get(step.namespace, 0) + step.count
            elif isinstance(step, DeletePods):
                pods.pop(step.namespace, None)
        return sum(pods.values())

    @property
    def pods(self) -> int:
        """How many pods are measured."""
        return self.measured.count

    @property
    def namespaces(self) -> dict[str, Mapping[str, str]]:
        """All namespaces that the operations need, with their labels."""
        found: dict[str, Mapping[str, str]] = {}
        for step in self.operations:
            match step:
                case CreateNamespaces():
                    found |= dict.fromkeys(step.names, step.labels)
                case CreatePods() | Churn() | DeletePods():
                    found.setdefault(step.namespace, {})
                case CreateObjects():
                    for manifest in step.manifests:
                        if namespace := manifest["metadata"].get("namespace"):
                            found.setdefault(namespace, {})
        return found

    def node_groups(self) -> list[NodeGroup]:
        """Return the nodes of each CreateNodes, named `node-1` and so on unless the template has a name."""
        groups = []
        number = 0
        for step in self.operations:
            if isinstance(step, CreateNodes):
                fixed = (step.template.get("metadata") or {}).get("name")
                names = (fixed,) if fixed else tuple(f"node-{number + n}" for n in range(1, step.count + 1))
                number += step.count
                groups.append(NodeGroup(names, step.template, {**step.labels, _HOSTNAME: names}))
        return groups

    @property
    def spends_set_up(self) -> bool:
        """Whether measured pods may preempt initial pods, which must then be created again for each round.

        That is the case if a measured or churned pod has a higher priority than an initial pod and fits on an empty
        node. A pod that fits on no node preempts nothing.
        """
        classes = {
            manifest["metadata"]["name"]: int(manifest["value"])
            for step in self.operations
            if isinstance(step, CreateObjects)
            for manifest in step.manifests
            if manifest["kind"] == "PriorityClass"
        }

        def priority(pod: Manifest) -> int:
            return classes.get(pod["spec"].get("priorityClassName") or "", 0)

        placed = [priority(pod) for step in self._pods() if not step.measured for pod in step.templates]
        churned = [pod for churn in self.churns for pod in churn.templates if pod["kind"] == "Pod"]
        groups = self.node_groups()
        return any(
            priority(pod) > min(placed, default=priority(pod))
            and any(not shortages(needed(pod), group.template, ()) for group in groups)
            for pod in (*self.measured.templates, *churned)
        )

    def shortage(self) -> tuple[str, float] | None:
        """Return the scarcest resource, and the pods' requests divided by the nodes' allocatable amount.

        None if the nodes have enough of every resource, or if pods are preempted or deleted to make room.
        """
        if self.spends_set_up or any(isinstance(step, DeletePods) for step in self.operations):
            return None
        wanted, offered = collections.Counter[str](), collections.Counter[str]()
        for step in self._pods():
            for index, template in enumerate(step.templates if step.wait or step.measured else ()):
                count = len(range(index, step.count, len(step.templates)))
                for name, amount in {**needed(template), "pods": 1}.items():
                    wanted[name] += count * amount
        for group in self.node_groups():
            for name, amount in allocatable(group.template).items():
                offered[name] += len(group.names) * amount
        times = {
            name: amount / offered[name] if offered[name] else math.inf for name, amount in wanted.items() if amount
        }
        scarcest = max(times, key=lambda name: times[name])
        return (scarcest, times[scarcest]) if times[scarcest] > 1 else None

    def summary(self) -> WorkloadSummary:
        """Return the workload as bench.json has it."""
        return WorkloadSummary(
            name=self.name, description=self.description, source=self.source, nodes=self.nodes,
            initial_pods=self.initial_pods, pods=self.pods,
        )  # fmt: skip

    def _pods(self) -> Iterator[CreatePods]:
        return (step for step in self.operations if isinstance(step, CreatePods))


def disorder(operations: Sequence[Operation]) -> str:
    """Say why these operations do not form a workload; "" if they do."""
    measured = [n for n, step in enumerate(operations) if isinstance(step, CreatePods) and step.measured]
    if len(measured) != 1:
        return f"expected exactly one operation that creates pods with `measured`, found {len(measured) or 'none'}"
    if not any(isinstance(step, CreateNodes) and step.count for step in operations):
        return "expected nodes, but no operation creates any"
    if any(isinstance(step, CreatePods) and step.measured and not step.count for step in operations):
        return "expected pods to measure, but their count is 0"
    if measured[0] != len(operations) - 1:
        kind = type(operations[measured[0] + 1]).__name__
        return f"{kind[:1].lower()}{kind[1:]} comes after the measured pods, which must come last"
    if sum(isinstance(step, ReadingsPattern) for step in operations) > 1:
        return "expected readings at most once"
    if any(isinstance(step, CreateNodes) and step.count != 1 and _named(step.template) for step in operations):
        return "the template has a fixed name, but several nodes are created from it"
    return ""


def _named(template: Manifest) -> bool:
    return bool((template.get("metadata") or {}).get("name"))
