"""Properties of a workload derived from its operations."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.benchmark.workloads.operations import (
    Barrier,
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
    DeletePods,
    Operation,
    ReadingsPattern,
)
from schedproof.benchmark.workloads.workload import Workload, disorder

HIGH: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 10,
}


def node(cpu: str = "4", **metadata: Any) -> dict[str, Any]:
    room = {"cpu": cpu, "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {"allocatable": room}}


def pod(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": [container], **spec}}


def workload(*operations: Operation) -> Workload:
    assert disorder(operations) == ""
    return Workload("w", "what it stresses", "w.yaml", operations)


MEASURED = CreatePods(3, (pod(),), "measured", measured=True)


def test_measured_operation_is_separated_from_the_set_up() -> None:
    initial, churn = CreatePods(2, (pod(),), "initial"), Churn("create", (pod(),), "churn")
    sample = workload(CreateNodes(5, node()), initial, churn, ReadingsPattern(all=0), Barrier(), MEASURED)
    assert sample.measured is MEASURED
    assert sample.set_up == (CreateNodes(5, node()), initial, Barrier())
    assert (sample.churns, sample.readings) == ((churn,), ReadingsPattern(all=0))
    assert sample.summary().model_dump() == {
        "name": "w", "description": "what it stresses", "source": "w.yaml", "nodes": 5, "initial_pods": 2, "pods": 3,
    }  # fmt: skip


def test_pods_deleted_by_the_set_up_are_not_initial_pods() -> None:
    steps = (CreateNodes(1, node()), CreatePods(2, (pod(),), "a"), CreatePods(4, (pod(),), "b"), DeletePods("a"))
    assert workload(*steps, MEASURED).initial_pods == 4


def test_nodes_are_numbered_across_groups_and_keep_given_names() -> None:
    zones = {"zone": ("a", "b")}
    sample = workload(
        CreateNodes(3, node(), zones), CreateNodes(1, node(name="special")), CreateNodes(1, node()), MEASURED
    )
    groups = sample.node_groups()
    assert [group.names for group in groups] == [("node-1", "node-2", "node-3"), ("special",), ("node-5",)]
    assert [node["metadata"] for node in groups[0].manifests()] == [
        {"name": name, "labels": {"zone": zone, "kubernetes.io/hostname": name}}
        for name, zone in (("node-1", "a"), ("node-2", "b"), ("node-3", "a"))
    ]


def test_namespaces_are_those_of_all_operations() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "services"}}
    sample = workload(
        CreateNodes(1, node()),
        CreateNamespaces("team", 2, {"tier": "x"}),
        CreateObjects((HIGH, service)),
        CreatePods(1, (pod(),), "team-1"),
        MEASURED,
    )
    assert sample.namespaces == {"team-0": {"tier": "x"}, "team-1": {"tier": "x"}, "services": {}, "measured": {}}


@pytest.mark.parametrize(
    ("measured", "churned", "spent"),
    [
        (pod("3", priorityClassName="high"), None, True),
        (pod("3"), None, False),
        (pod("9", priorityClassName="high"), None, False),  # it fits on no node, so preemption does not help
        (pod("1"), pod("3", priorityClassName="high"), True),
    ],
)
def test_set_up_is_spent_if_a_pod_can_preempt_it(
    measured: dict[str, Any], churned: dict[str, Any] | None, *, spent: bool
) -> None:
    steps: list[Operation] = [CreateObjects((HIGH,)), CreateNodes(1, node()), CreatePods(4, (pod(),), "initial")]
    if churned is not None:
        steps.append(Churn("create", (churned,), "churn"))
    assert workload(*steps, CreatePods(1, (measured,), "measured", measured=True)).spends_set_up is spent


def test_readings_differ_between_nodes_and_are_the_same_for_the_same_seed() -> None:
    nodes = [f"node-{n}" for n in range(50)]
    readings = ReadingsPattern(distinct=1e6).of(nodes, seed=7)
    assert sorted(readings.values()) == [n * 1e6 for n in range(1, 51)]
    assert list(readings.values()) != sorted(readings.values())
    assert readings == ReadingsPattern(distinct=1e6).of(nodes, seed=7)
    assert readings != ReadingsPattern(distinct=1e6).of(nodes, seed=8)
    assert set(ReadingsPattern(all=0).of(nodes).values()) == {0}


@pytest.mark.parametrize(
    ("operations", "problem"),
    [
        ([CreateNodes(1, node())], "found none"),
        ([CreateNodes(1, node()), MEASURED, MEASURED], "found 2"),
        ([MEASURED], "expected nodes"),
        ([CreateNodes(0, node()), MEASURED], "expected nodes"),
        ([CreateNodes(1, node()), CreatePods(0, (pod(),), "m", measured=True)], "expected pods to measure"),
        ([CreateNodes(1, node()), MEASURED, DeletePods("a")], "deletePods comes after the measured pods"),
        (
            [CreateNodes(1, node()), ReadingsPattern(all=0), ReadingsPattern(all=1), MEASURED],
            "expected readings at most once",
        ),
        ([CreateNodes(2, node(name="special")), MEASURED], "the template has a fixed name"),
    ],
)
def test_invalid_operations_of_a_workload_are_described(operations: list[Operation], problem: str) -> None:
    assert problem in disorder(operations)
