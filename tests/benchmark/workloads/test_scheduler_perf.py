"""Import of upstream's scheduler_perf cases, and refusals by name. The files here are our own, in upstream's format."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schedproof.benchmark.workloads.operations import (
    Barrier,
    Churn,
    CreateNamespaces,
    CreateNodes,
    CreateObjects,
    CreatePods,
)
from schedproof.benchmark.workloads.scheduler_perf import SchedulerPerf, import_case
from schedproof.documents.problems import DescriptorError
from schedproof.foundation.errors import UsageError

CONFIG = """\
- name: Plain
  defaultPodTemplatePath: templates/pod.yaml
  labels: [performance]
  workloadTemplate:
  - opcode: createNodes
    countParam: $initNodes
  - opcode: createPods
    countParam: $initPods
  - opcode: createPods
    countParam: $measurePods
    collectMetrics: true
  workloads:
  - name: 5Nodes
    labels: [short]
    threshold: 270
    params: {initNodes: 5, initPods: 2, measurePods: 10}
  - name: 5Nodes_Hints
    featureGates: {SchedulerQueueingHints: true, SchedulerAsyncAPICalls: true, OpportunisticBatching: true}
    params: {initNodes: 5, initPods: 2, measurePods: 10}
  - name: 5Nodes_NoHints
    featureGates: {SchedulerQueueingHints: false}
    params: {initNodes: 5, initPods: 2, measurePods: 10}
  - name: 5Nodes_Unused
    params: {initNodes: 5, initPods: 2, measurePods: 10, declaredFeatures: 20}
  - name: 5Nodes_Missing
    params: {initNodes: 5, initPods: 2}
- name: Rich
  workloadTemplate:
  - opcode: createNodes
    count: 1
    nodeTemplatePath: templates/named-node.yaml
  - opcode: createNodes
    count: 4
    labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]}
  - opcode: createNamespaces
    prefix: init
    count: 2
    namespaceTemplatePath: templates/namespace.yaml
  - opcode: createAny
    namespace: services
    templatePath: templates/service.yaml
  - opcode: createPodSets
    count: 2
    namespacePrefix: init
    createPodsOp:
      opcode: createPods
      count: 3
      skipWaitToCompletion: true
  - opcode: barrier
  - opcode: churn
    mode: recreate
    number: 1
    intervalMilliseconds: 200
    templatePaths: [templates/high-priority.yaml, templates/service.yaml]
  - opcode: createPods
    count: 7
    podTemplatePath: templates/high-priority.yaml
    collectMetrics: true
  workloads:
  - name: only/one
"""
TEMPLATES = {
    "pod": """\
apiVersion: v1
kind: Pod
metadata: {generateName: pod-, labels: {Color: blue}}
spec:
  containers: [{name: pause, image: pause, resources: {requests: {cpu: 100m}}}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, NodeAffinityPolicy: Honor}]
""",
    "high-priority": """\
apiVersion: v1
kind: Pod
metadata: {generateName: high-}
spec:
  priority: 10
  containers: [{name: pause, image: pause, resources: {requests: {cpu: "3"}}}]
""",
    "named-node": """\
apiVersion: v1
kind: Node
metadata: {name: the-node}
status: {capacity: {cpu: "4", pods: "90000"}}
""",
    "namespace": "{apiVersion: v1, kind: Namespace, metadata: {labels: {team: devops}}}\n",
    "service": "{apiVersion: v1, kind: Service, metadata: {generateName: service-}, spec: {ports: [{port: 80}]}}\n",
    "indexed": "{apiVersion: v1, kind: Pod, metadata: {name: 'pod-{{.Index}}'}, spec: {containers: [{name: a}]}}\n",
    "device-class": "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}\n",
}


def config(folder: Path, text: str = CONFIG) -> Path:
    (folder / "templates").mkdir(exist_ok=True)
    for name, template in TEMPLATES.items():
        (folder / "templates" / f"{name}.yaml").write_text(template)
    file = folder / "performance-config.yaml"
    file.write_text(text)
    return file


def case_of(*operations: str) -> str:
    listed = "".join(f"  - {{{operation}}}\n" for operation in operations)
    return f"- name: Own\n  workloadTemplate:\n{listed}  workloads:\n  - {{name: one, params: {{n: 3}}}}\n"


def refusal(file: Path, name: str) -> DescriptorError:
    with pytest.raises(DescriptorError) as caught:
        import_case(file, name)
    return caught.value


def test_all_cases_are_listed_including_refused_ones(tmp_path: Path) -> None:
    config(tmp_path)
    suffixes = ("", "_Hints", "_NoHints", "_Unused", "_Missing")
    assert SchedulerPerf(tmp_path).names == [*(f"Plain/5Nodes{suffix}" for suffix in suffixes), "Rich/only/one"]


def test_case_has_upstreams_name_counts_threshold_and_labels(tmp_path: Path) -> None:
    workload = import_case(config(tmp_path), "Plain/5Nodes")
    assert workload.summary().model_dump() == {
        "name": "Plain/5Nodes",
        "description": "Plain/5Nodes of upstream's scheduler_perf",
        "source": str(tmp_path / "performance-config.yaml"),
        "nodes": 5,
        "initial_pods": 2,
        "pods": 10,
    }
    assert (workload.threshold, workload.labels) == (270, ("performance", "short"))
    assert [step.namespace for step in workload.operations if isinstance(step, CreatePods)] == [
        "namespace-1",
        "namespace-2",
    ]


def test_templates_are_read_as_in_go_and_lose_their_names(tmp_path: Path) -> None:
    (template,) = import_case(config(tmp_path), "Plain/5Nodes").measured.templates
    assert template["metadata"] == {"labels": {"Color": "blue"}}
    assert template["spec"]["topologySpreadConstraints"] == [
        {"maxSkew": 1, "topologyKey": "zone", "nodeAffinityPolicy": "Honor"}
    ]


def test_feature_gates_that_differ_from_the_defaults_are_kept(tmp_path: Path) -> None:
    file = config(tmp_path)
    assert import_case(file, "Plain/5Nodes").feature_gates == {"OpportunisticBatching": False}
    assert import_case(file, "Plain/5Nodes_Hints").feature_gates == {"SchedulerAsyncAPICalls": True}


def test_every_supported_operation_is_imported(tmp_path: Path) -> None:
    workload = import_case(config(tmp_path), "Rich/only/one")
    classes, named, nodes, namespaces, objects, first, second, barrier, churn, measured = workload.operations
    assert isinstance(classes, CreateObjects)
    (priority_class,) = classes.manifests
    assert (priority_class["metadata"], priority_class["value"]) == ({"name": "workload-10"}, 10)
    assert isinstance(named, CreateNodes)
    assert isinstance(nodes, CreateNodes)
    assert nodes.labels == {"zone": ("a", "b")}
    assert workload.node_groups()[0].names == ("the-node",)
    assert namespaces == CreateNamespaces("init", 2, {"team": "devops"})
    assert isinstance(objects, CreateObjects)
    assert objects.manifests[0]["metadata"] == {"name": "service-0", "namespace": "services"}
    assert isinstance(first, CreatePods)
    assert isinstance(second, CreatePods)
    assert [(step.count, step.namespace, step.wait) for step in (first, second)] == [
        (3, "init-0", False),
        (3, "init-1", False),
    ]
    assert barrier == Barrier()
    assert isinstance(churn, Churn)
    assert (churn.mode, churn.number, churn.interval, churn.namespace) == ("recreate", 1, 0.2, "namespace-6")
    assert isinstance(measured, CreatePods)
    assert measured.templates[0]["spec"]["priorityClassName"] == "workload-10"
    assert "priority" not in measured.templates[0]["spec"]
    assert workload.spends_set_up


NODES = "opcode: createNodes, countParam: $n"
MEASURED = "opcode: createPods, countParam: $n, collectMetrics: true"


@pytest.mark.parametrize(
    ("operations", "problem"),
    [
        ([NODES, "opcode: createResourceDriver, driverName: x", MEASURED], "Own/one: createResourceDriver: dynamic"),
        ([NODES, "opcode: updateAny", MEASURED], "Own/one: updateAny: updating objects"),
        ([NODES, "opcode: sleep", MEASURED], "Own/one: sleep: a pause does not prove"),
        ([NODES, "opcode: createPod, count: 1", MEASURED], "did you mean createPods?"),
        ([NODES, MEASURED.replace("count", "cuont")], "did you mean countParam?"),
        ([NODES, f"{MEASURED}, persistentVolumeTemplatePath: a"], "TemplatePath: creating volumes"),
        ([NODES, f"{MEASURED}, steadyState: true, duration: 10s"], "steadyState: deleting and recreating"),
        ([NODES, f"{MEASURED}, podTemplatePath: templates/indexed.yaml"], "differ between objects"),
        ([NODES, f"{MEASURED}, podTemplatePath: templates/none.yaml"], "cannot be read"),
        ([NODES, f"{MEASURED}, podTemplatePath: templates/service.yaml"], "expected one Pod in"),
        ([NODES, "opcode: createAny, templatePath: templates/device-class.yaml", MEASURED], "found a DeviceClass"),
        ([NODES, "opcode: createPods, count: 1, skipWaitToCompletion: true", MEASURED], "pods that stay pending"),
        ([NODES, "opcode: barrier, stageRequirement: Attempted", MEASURED], "barrier.stageRequirement: initial pods"),
        ([NODES, "opcode: deletePods, namespace: a, deletePodsPerSecond: 5", MEASURED], "deleting pods while"),
        ([f"{NODES}, uniqueNodeLabelStrategy: {{labelKey: x}}", MEASURED], "only labels can be added"),
        ([NODES, MEASURED, MEASURED], "pods with `measured`, found 2"),
        ([NODES], "found none"),
    ],
)  # fmt: skip
def test_unsupported_operation_is_refused_by_name(tmp_path: Path, operations: Sequence[str], problem: str) -> None:
    file = config(tmp_path, case_of(*operations))
    text = str(refusal(file, "Own/one"))
    assert problem in text
    assert text.startswith((str(file), "2 problems in ", "3 problems in "))


def test_all_unsupported_operations_are_reported_together(tmp_path: Path) -> None:
    file = config(tmp_path, case_of(NODES, "opcode: sleep", "opcode: updateAny", MEASURED))
    assert [problem.path for problem in refusal(file, "Own/one").problems] == ["Own/one: sleep", "Own/one: updateAny"]


def test_feature_gate_locked_to_another_value_is_refused(tmp_path: Path) -> None:
    assert "SchedulerQueueingHints: false is not possible" in str(refusal(config(tmp_path), "Plain/5Nodes_NoHints"))


def test_parameter_without_an_operation_is_refused(tmp_path: Path) -> None:
    assert "params.declaredFeatures: no operation uses this parameter" in str(
        refusal(config(tmp_path), "Plain/5Nodes_Unused")
    )


def test_missing_parameter_is_refused(tmp_path: Path) -> None:
    assert "the workload has no parameter measurePods" in str(refusal(config(tmp_path), "Plain/5Nodes_Missing"))


def test_misspelled_case_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean Plain/5Nodes"):
        import_case(config(tmp_path), "Plain/5Node")


def upstream() -> Path | None:
    """Upstream's folder in Go's module cache of Kubernetes 1.36; it is not downloaded for tests (50 MB)."""
    cache = Path(os.environ.get("GOMODCACHE") or Path(os.environ.get("GOPATH") or Path.home() / "go") / "pkg" / "mod")
    found = sorted(cache.glob("k8s.io/kubernetes@v1.36.*/test/integration/scheduler_perf"))
    return found[-1] if found else None


needs_upstream = pytest.mark.skipif(upstream() is None, reason="Kubernetes 1.36 is not in Go's module cache")

IMPORTED = {
    "affinity": (43, 69), "dra": (0, 25), "dra/consumablecapacity": (0, 3), "dra/devicetaints": (0, 2),
    "dra/extendedresource": (0, 7), "dra/extendedresource/scoring": (0, 3), "dra/partitionabledevices": (0, 5),
    "dra/prioritizedlist": (0, 2), "event_handling": (0, 10), "misc": (32, 61), "nodedeclaredfeatures": (0, 4),
    "topology_spreading": (15, 23), "volumes": (4, 28),
}  # fmt: skip
"""Numbers of imported and of all cases of Kubernetes 1.36.3, by folder; docs/workloads.md states the reasons."""


def test_docs_have_the_numbers_of_imported_cases() -> None:
    page = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text()
    rows = re.findall(r"^\| (\S+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    documented = {
        folder: (int(imported), int(listed)) for folder, imported, listed in rows if folder in {*IMPORTED, "all"}
    }
    total = tuple(map(sum, zip(*IMPORTED.values(), strict=True)))
    assert documented == {**IMPORTED, "all": total}


@needs_upstream
def test_upstreams_cases_are_imported_or_refused_by_name() -> None:
    root = upstream()
    assert root is not None
    found: dict[str, tuple[int, int]] = {}
    for file in sorted(root.rglob("performance-config.yaml")):
        upstreams = SchedulerPerf(file)
        names = upstreams.names
        imported = 0
        for name in names:
            try:
                upstreams.workload(name)
                imported += 1
            except DescriptorError as error:
                assert all(problem.path.startswith(f"{name}: ") for problem in error.problems)  # noqa: PT017
        found[str(file.parent.relative_to(root))] = (imported, len(names))
    assert found == IMPORTED


@needs_upstream
@pytest.mark.parametrize(("case", "counts"), [("500Nodes", (500, 500, 1000)), ("5000Nodes", (5000, 1000, 1000))])
def test_scheduling_basic_cases_have_upstreams_counts(case: str, counts: tuple[int, int, int]) -> None:
    root = upstream()
    assert root is not None
    workload = import_case(root / "misc", f"SchedulingBasic/{case}")
    assert (workload.nodes, workload.initial_pods, workload.pods) == counts
    assert workload.source.startswith("kubernetes@v1.36.")
    requests: Any = workload.measured.templates[0]["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "100m", "memory": "500Mi"}
