"""Workload files: valid ones are read, and problems are reported with their place and a fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedproof.benchmark.workloads.operations import (
    Barrier,
    Churn,
    CreateNodes,
    CreateObjects,
    CreatePods,
    ReadingsPattern,
)
from schedproof.benchmark.workloads.reader import load_workload, shipped_workloads
from schedproof.documents.problems import DescriptorError
from schedproof.foundation.errors import UsageError

PAGE = Path(__file__).parents[3] / "docs" / "workloads.md"

NODES = """\
    - createNodes:
        count: "{nodes}"
        template: {apiVersion: v1, kind: Node, status: {capacity: {cpu: "4", pods: "110"}}}
"""
POD = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: main, image: pause}]}}"
MEASURED = f"""\
    - createPods: {{count: "{{pods}}", measured: true, template: {POD}}}
"""


def written(folder: Path, operations: str, parameters: str = "{nodes: 5, pods: 10}") -> Path:
    file = folder / "own.yaml"
    file.write_text(
        f"""\
apiVersion: schedproof/v1
kind: Workload
metadata: {{name: own}}
spec:
  description: >-
    two
    lines
  parameters: {parameters}
  operations:
{operations}"""
    )
    return file


def complaints(file: Path) -> str:
    with pytest.raises(DescriptorError) as caught:
        load_workload(file)
    return str(caught.value)


def test_counts_are_parameters_that_can_be_overridden(tmp_path: Path) -> None:
    file = written(tmp_path, NODES + MEASURED)
    assert (load_workload(file).nodes, load_workload(file).pods) == (5, 10)
    other = load_workload(file, parameters={"nodes": 7})
    assert (other.nodes, other.pods) == (7, 10)
    assert (other.name, other.description, other.source) == ("own", "two lines", str(file))


def test_every_operation_is_read(tmp_path: Path) -> None:
    operations = f"""\
{NODES}    - createObjects: {{manifests: [{{apiVersion: v1, kind: Service, metadata: {{name: s, namespace: n}}}}]}}
    - createNamespaces: {{prefix: team, count: 2, labels: {{tier: x}}}}
    - createPods: {{count: 1, wait: false, namespace: team-0, template: {POD}}}
    - barrier: {{}}
    - deletePods: {{namespace: team-0}}
    - churn: {{mode: recreate, number: 2, interval: 50ms, template: {POD}}}
    - readings: {{distinct: 2000}}
    - createPods: {{count: 4, measured: true, burst: 2, templates: [{POD}, {POD}]}}
"""
    workload = load_workload(written(tmp_path, operations))
    nodes, objects, _, pods, barrier, _, churn, readings, measured = workload.operations
    assert isinstance(nodes, CreateNodes)
    assert nodes.template["status"]["allocatable"] == {"cpu": "4", "pods": "110"}
    assert isinstance(objects, CreateObjects)
    assert isinstance(pods, CreatePods)
    assert (pods.wait, pods.namespace, barrier) == (False, "team-0", Barrier())
    assert isinstance(churn, Churn)
    assert (churn.mode, churn.number, churn.interval, churn.namespace) == ("recreate", 2, 0.05, "churn")
    assert readings == ReadingsPattern(distinct=2000)
    assert isinstance(measured, CreatePods)
    assert (len(measured.templates), measured.burst, measured.namespace) == (2, 2, "measured")
    assert workload.namespaces == {
        "n": {},
        "team-0": {"tier": "x"},
        "team-1": {"tier": "x"},
        "churn": {},
        "measured": {},
    }


NODE, PODS = "[0].createNodes.template", "[1].createPods.template"


@pytest.mark.parametrize(
    ("operations", "path", "code"),
    [
        ("    - createNode: {}\n", "[0].createNode", "unknown-field"),
        (f"{NODES}    - createPods: {{count: 1, mesured: true, template: {POD}}}\n",
         "[1].createPods.mesured", "unknown-field"),
        (NODES.replace("{nodes}", "{node}") + MEASURED, "[0].createNodes.count", "unknown-parameter"),
        (NODES.replace('"{nodes}"', "{nodes}") + MEASURED, "[0].createNodes.count", "wrong-type"),
        (NODES + MEASURED.replace("kind: Pod", "kind: Job"), PODS, "invalid-manifest"),
        (NODES + MEASURED.replace("spec: {", "spec: {schedulerName: x, "), PODS, "invalid-manifest"),
        (NODES + MEASURED.replace("spec: {", "spec: {priority: 10, "), PODS, "invalid-manifest"),
        (NODES + MEASURED.replace("kind: Pod", "kind: Pod, metadata: {name: x}"), PODS, "invalid-manifest"),
        (NODES.replace('pods: "110"', "memory: 1Gi") + MEASURED, NODE, "invalid-manifest"),
        (NODES.replace('cpu: "4"', 'cpu: "four"') + MEASURED, NODE, "invalid-manifest"),
        (NODES.replace('{cpu: "4", pods: "110"}', "4") + MEASURED, NODE, "invalid-manifest"),
        ("    - createNodes: {count: 1, template: {}}\n" + MEASURED, NODE, "invalid-manifest"),
        (NODES + MEASURED + "    - barrier: {}\n", "", "contradiction"),
        (NODES, "", "contradiction"),
        (f"{NODES}    - createPods: {{count: 1, burst: 2, template: {POD}}}\n{MEASURED}",
         "[1].createPods.burst", "contradiction"),
        (f"{NODES}    - churn: {{mode: recreate, template: {POD}}}\n{MEASURED}", "[1].churn.number", "missing-field"),
        (f"{NODES}    - readings: {{all: 0, distinct: 1}}\n{MEASURED}", "[1].readings", "wrong-number"),
        (f"{NODES}    - readings: {{distinct: 0}}\n{MEASURED}", "[1].readings.distinct", "contradiction"),
        (f"{NODES}    - barrier: {{}}\n      deletePods: {{namespace: a}}\n{MEASURED}", "[1]", "wrong-number"),
        (f"{NODES}    - {{}}\n{MEASURED}", "[1]", "wrong-number"),
        (f"{NODES}    - barrier: {{pods: 1}}\n{MEASURED}", "[1].barrier.pods", "unknown-field"),
        (f"{NODES}    - createPods: {{count: 1, measured: true}}\n", PODS, "missing-field"),
        (f"{NODES}    - createPods: {{count: 1, measured: true, template: {POD}, templates: [{POD}]}}\n",
         "[1].createPods.templates", "contradiction"),
        (f"{NODES}    - createPods: {{count: 1, measured: true, wait: false, template: {POD}}}\n",
         "[1].createPods.wait", "contradiction"),
        (f"{NODES}    - createPods: {{count: 1, measured: true, burst: \"{{none}}\", template: {POD}}}\n",
         "[1].createPods.burst", "out-of-range"),
    ],
)  # fmt: skip
def test_problem_is_reported_with_its_place_and_a_fix(tmp_path: Path, operations: str, path: str, code: str) -> None:
    file = written(tmp_path, operations, "{nodes: 5, pods: 10, none: 0}")
    with pytest.raises(DescriptorError) as caught:
        load_workload(file)
    found = {(problem.path, problem.code) for problem in caught.value.problems}
    assert (f"spec.operations{path}", code) in found
    assert all(problem.place.line and problem.fix for problem in caught.value.problems)


def test_an_operation_without_fields_needs_no_braces(tmp_path: Path) -> None:
    assert load_workload(written(tmp_path, f"{NODES}    - barrier:\n{MEASURED}")).operations[1] == Barrier()


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    operations = NODES.replace("kind: Node", "kind: Nod") + MEASURED.replace("{pods}", "{pod}")
    assert complaints(written(tmp_path, operations)).startswith("2 problems in ")


def test_docs_have_a_valid_example(tmp_path: Path) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(PAGE.read_text().split("```yaml\n")[1].split("```")[0])
    assert load_workload(file, parameters={"pods": 3}).summary().pods == 3


def test_docs_have_the_sizes_of_shipped_workloads() -> None:
    rows = re.findall(r"^\| (\S+) \| (\S+|250 \+ 250) \| (\d+) \| (\d+) \| \S", PAGE.read_text(), re.MULTILINE)
    documented = {
        name: (sum(map(int, nodes.split(" + "))), int(initial), int(pods)) for name, nodes, initial, pods in rows
    }
    shipped = {name: load_workload(name) for name in shipped_workloads()}
    assert documented == {name: (sample.nodes, sample.initial_pods, sample.pods) for name, sample in shipped.items()}


def test_unknown_parameter_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    file = written(tmp_path, NODES + MEASURED)
    with pytest.raises(UsageError, match="did you mean nodes") as caught:
        load_workload(file, parameters={"node": 1})
    assert "no parameter 'node'" in str(caught.value)
    with pytest.raises(UsageError, match="expected 0 to"):
        load_workload(file, parameters={"nodes": -1})


def test_misspelled_workload_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean network-aware"):
        load_workload("network-awre")
