"""The workloads in fixtures/workloads: all pods fit if placed by counting resources."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.benchmark.workloads.operations import CreatePods, Manifest
from schedproof.benchmark.workloads.reader import load_workload, shipped_workloads
from schedproof.benchmark.workloads.workload import Workload
from schedproof.oracle.final_state.placement import judge_placement
from schedproof.oracle.resources import allocatable, needed
from schedproof.oracle.taints import repulsions

SHIPPED = [
    "affinity", "anti-affinity", "basic", "bursts", "mixed-sizes", "network-aware", "node-churn", "preemption",
    "taints", "topology-spread", "unschedulable-churn",
]  # fmt: skip


class Counting:
    """A scheduler that counts resources: each pod goes to the next node with room, after the node used last."""

    def __init__(self, workload: Workload) -> None:
        self.nodes = [manifest for group in workload.node_groups() for manifest in group.manifests()]
        self._free = [allocatable(node) for node in self.nodes]
        self._next = 0

    def place(self, step: CreatePods, prefix: str) -> list[tuple[Manifest, str | None]]:
        needs = [{**needed(template), "pods": 1} for template in step.templates]
        placed: list[tuple[Manifest, str | None]] = []
        for n in range(step.count):
            template = step.templates[n % len(step.templates)]
            name = {"name": f"{prefix}-{n}", "namespace": step.namespace}
            pod: dict[str, Any] = {**template, "metadata": {**template["metadata"], **name}}
            placed.append((pod, self._first(pod, needs[n % len(needs)])))
        return placed

    def _first(self, pod: Manifest, need: dict[str, int]) -> str | None:
        for n in range(len(self.nodes)):
            at = (self._next + n) % len(self.nodes)
            free = self._free[at]
            if all(free[resource] >= amount for resource, amount in need.items()) and not repulsions(
                pod, self.nodes[at]
            ):
                for resource, amount in need.items():
                    free[resource] -= amount
                self._next = at + 1
                return str(self.nodes[at]["metadata"]["name"])
        return None


def test_shipped_workloads_are_listed() -> None:
    assert shipped_workloads() == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_each_workload_has_a_description_and_its_file_name(name: str) -> None:
    workload = load_workload(name)
    assert (workload.name, workload.source) == (name, f"fixtures/workloads/{name}.yaml")
    assert 40 < len(workload.description) < 150


@pytest.mark.parametrize("name", SHIPPED)
def test_all_pods_of_each_workload_fit(name: str) -> None:
    workload = load_workload(name)
    counting = Counting(workload)
    initial = []
    if not workload.spends_set_up:  # else the measured pods take the room of those before
        for number, step in enumerate(workload.set_up):
            if isinstance(step, CreatePods):
                initial += counting.place(step, f"initial-{number}")
    pods = counting.place(workload.measured, "pod")
    assert all(node for _, node in [*initial, *pods])
    findings = judge_placement(counting.nodes, pods, initial=initial, namespaces=workload.namespaces)
    assert (findings.wrong, findings.not_judged) == ((), ())


def test_only_preemption_replaces_its_initial_pods() -> None:
    assert [name for name in SHIPPED if load_workload(name).spends_set_up] == ["preemption"]


@pytest.mark.parametrize("nodes", [10, 100, 1000, 5000])
def test_network_aware_has_room_and_distinct_readings_at_each_size(nodes: int) -> None:
    workload = load_workload("network-aware", parameters={"nodes": nodes})
    counting = Counting(workload)
    assert all(node for _, node in counting.place(workload.measured, "pod"))
    assert workload.readings is not None
    readings = workload.readings.of([node["metadata"]["name"] for node in counting.nodes])
    assert len(set(readings.values())) == nodes
