"""Benchmarks as users run them: what is measured, what is wrong or invalid, and what is left behind.

No assertion depends on how fast the machine is: a busy machine may make any round invalid, so that exit code 3 is as
good as 0 wherever a test is not about that.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.benchmark.contestant import Contestant
from schedproof.benchmark.driver import BINARY
from schedproof.benchmark.measure.phases import PHASES
from schedproof.benchmark.results import MODES
from schedproof.benchmark.rounds import Order, measure
from schedproof.benchmark.stage import Stage
from schedproof.benchmark.workloads.reader import load_workload
from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.binaries.resolve import resolve
from schedproof.candidate.shipped import find_candidate
from schedproof.clusters.embedded.minimal import MinimalEmbeddedCluster
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.foundation.content import content
from schedproof.foundation.progress import ConsoleProgress

if TYPE_CHECKING:
    from conftest import Ended, Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

SUITE = Path(__file__).parents[2] / "suites" / "benchmark"
RIGHT = ("stock", "stock-again", "least-traffic-extender")
MEASURED = (0, 3)
"""Exit codes where nothing is wrong: a busy machine may leave it unproved."""

PODS = 60
BLOCKS = 5

ROOM = """\
apiVersion: schedproof/v1
kind: Workload
metadata: {name: room}
spec:
  description: Most nodes take one pod, two take all that are left.
  parameters: {pods: 30}
  operations:
    - createNodes:
        count: 8
        template: {apiVersion: v1, kind: Node, status: {capacity: {cpu: "4", memory: 8Gi, pods: "1"}}}
    - createNodes:
        count: 2
        template: {apiVersion: v1, kind: Node, status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}}
    - createPods:
        count: "{pods}"
        measured: true
        template:
          apiVersion: v1
          kind: Pod
          spec:
            containers:
              - {name: main, image: pause, resources: {requests: {cpu: 10m, memory: 10Mi}}}
"""
"""All pods fit, for a scheduler that counts them."""

QUITTER = """\
import sys

from kubernetes import client, config, watch

kubeconfig, scheduler_name = sys.argv[1:]
config.load_kube_config(kubeconfig)
api = client.CoreV1Api()
node = next(node.metadata.name for node in api.list_node().items if node.status.allocatable["pods"] != "1")
bound = 0
for event in watch.Watch().stream(api.list_pod_for_all_namespaces):
    pod = event["object"]
    if event["type"] != "ADDED" or pod.spec.scheduler_name != scheduler_name or pod.spec.node_name:
        continue
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = {"metadata": {"name": pod.metadata.name}, "target": target}
    api.create_namespaced_pod_binding(pod.metadata.name, pod.metadata.namespace, body, _preload_content=False)
    bound += 1
    if bound == 5:
        sys.exit("five are enough")
"""
QUITS: dict[str, Any] = {
    "apiVersion": "schedproof/v1",
    "kind": "Candidate",
    "metadata": {"name": "quitter"},
    "spec": {
        "schedulerName": "quitter",
        "controller": {"command": ["{python}", "{here}/quitter.py", "{kubeconfig}", "{schedulerName}"]},
        "rbac": {
            "rules": [
                {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list", "watch"]},
                {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
            ]
        },
        "claims": {"profiles": ["core"]},
    },
}

PERFORMANCE_CONFIG = """\
- name: SchedulingFew
  defaultPodTemplatePath: pod.yaml
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
    params: {initNodes: 5, initPods: 2, measurePods: 30}
"""
PERFORMANCE_POD = """\
apiVersion: v1
kind: Pod
metadata: {generateName: pod-}
spec:
  containers:
    - {name: main, image: pause, resources: {requests: {cpu: 10m, memory: 10Mi}}}
"""


def bench_json(shell: Shell, folder: str = "report") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((shell.work / folder / "bench.json").read_text())
    return document


def rounds_of(document: dict[str, Any], **fields: str) -> list[dict[str, Any]]:
    """The rounds of all measurements that have these fields."""
    return [
        round_
        for measurement in document["measurements"]
        if all(measurement[name] == value for name, value in fields.items())
        for round_ in measurement["rounds"]
    ]


def flaws_of(rounds: list[dict[str, Any]], kind: str) -> str:
    """All reasons why rounds are `wrong` or `invalid`."""
    return "\n".join(sentence for round_ in rounds for sentence in round_[kind])


# -- a run of everything


@pytest.fixture(scope="module")
def benched(shells: Any) -> tuple[Shell, Ended]:
    """A benchmark in all modes, with phases, of the baseline, the baseline again, and an extender."""
    shell = shells()
    options = ("--nodes=20", f"--pods={PODS}", f"--rounds={BLOCKS}", "--phases", "--report=report")
    return shell, shell.schedproof("bench", "stock", "least-traffic-extender", *options)


def test_a_benchmark_of_correct_schedulers_passes_and_leaves_nothing(benched: tuple[Shell, Ended]) -> None:
    shell, ended = benched
    assert ended.code in MEASURED, ended.printed
    assert "report: " in ended.out
    shell.expect_nothing_left()
    document = bench_json(shell)
    assert document["schema"] == "schedproof.bench/v1"
    assert document["run"]["exit_code"] == ended.code
    assert "error" not in document["run"]
    assert [candidate["name"] for candidate in document["candidates"]] == list(RIGHT)
    assert document["run"]["client_limits"]["stock"]["qps"] > 0


def test_every_pod_of_every_round_is_accounted_for(benched: tuple[Shell, Ended]) -> None:
    shell, ended = benched
    document = bench_json(shell)
    assert {(entry["mode"], entry["candidate"]) for entry in document["measurements"]} == {
        (mode, name) for mode in MODES for name in RIGHT
    }
    with (shell.work / "report" / "pods.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert all(row["seen"] and row["node"] for row in rows)
    for measurement in document["measurements"]:
        mode, name = measurement["mode"], measurement["candidate"]
        assert [round_["block"] for round_ in measurement["rounds"]] == list(range(BLOCKS))
        for round_ in measurement["rounds"]:
            assert round_["pods"] == round_["bound"] == PODS, ended.printed
            assert round_["unaccounted"] == 0
            assert round_["wrong"] == []
            assert round_["warm_up"] == PODS // 10
        ours = [row["pod"] for row in rows if row["mode"] == mode and row["candidate"] == name]
        assert len(ours) == len(set(ours)) == PODS * BLOCKS


def test_rounds_are_interleaved_in_random_order(benched: tuple[Shell, Ended]) -> None:
    document = bench_json(benched[0])
    orders = set()
    for mode in MODES:
        for block in range(BLOCKS):
            places = {
                measurement["candidate"]: next(r["order"] for r in measurement["rounds"] if r["block"] == block)
                for measurement in document["measurements"]
                if measurement["mode"] == mode
            }
            assert sorted(places.values()) == [0, 1, 2]
            orders.add(tuple(sorted(places, key=lambda name: places[name])))
    # That 15 draws of one of six orders are all the same happens once in 6^14.
    assert len(orders) > 1


def test_all_are_compared_with_the_baseline(benched: tuple[Shell, Ended]) -> None:
    document = bench_json(benched[0])
    compared = {
        (comparison["mode"], comparison["metric"], comparison["candidate"]) for comparison in document["comparisons"]
    }
    for name in RIGHT[1:]:
        assert {
            ("drain", "throughput", name),
            ("drain", "time to drain", name),
            ("open-loop", "p99", name),
            ("one-at-a-time", "p50", name),
        } <= compared
    assert {comparison["baseline"] for comparison in document["comparisons"]} == {"stock"}
    rates = {measurement["rate"] for measurement in document["measurements"] if measurement["mode"] == "open-loop"}
    assert len(rates) == 1


def test_phases_and_queries_of_prometheus_are_reported(benched: tuple[Shell, Ended]) -> None:
    document = bench_json(benched[0])
    assert [entry["candidate"] for entry in document["phases"]] == list(RIGHT)
    for traced in document["phases"]:
        assert [phase["name"] for phase in traced["phases"]] == list(PHASES)
        assert traced["pods"] == PODS
        assert min(traced["latency"].values()) > 0
    (queries,) = document["queries"]
    assert queries["candidate"] == "least-traffic-extender"
    # As its descriptor and README say: one query per decision, and kube-scheduler asks it to filter and to prioritize.
    assert queries["prometheus"]["queries"] == 1
    assert queries["extender"]["round_trips"] == 2
    assert queries["extender"]["bytes"] > 0


def test_the_html_report_is_a_single_file_without_external_resources(benched: tuple[Shell, Ended]) -> None:
    folder = benched[0].work / "report"
    page = (folder / "bench.html").read_text()
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//[^"'\s>]*|@import|url\(\s*["']?http""", page)
    assert not re.search(r"\bfetch\(|XMLHttpRequest", page)
    summary = (folder / "summary.md").read_text()
    for name in RIGHT:
        assert name in page
        assert name in summary
    assert (folder / "benchstat.txt").is_file()


# -- what is wrong, and what proves nothing


def test_incorrect_rounds_are_wrong_and_a_scheduler_that_ends_is_reported(shell: Shell) -> None:
    """A candidate that ignores how many pods a node takes, and a candidate that ends during a round; the others are
    measured.
    """
    (shell.work / "room.yaml").write_text(ROOM)
    (shell.work / "candidate.yaml").write_text(json.dumps(QUITS))
    (shell.work / "quitter.py").write_text(QUITTER)
    wrong = "described/d6-random-controller/ignores-resources"
    options = ("--workload=room.yaml", "--rounds=5", "--mode=drain", "--report=report")
    ended = shell.schedproof("bench", wrong, "candidate.yaml", *options)
    assert ended.code == 1, ended.printed
    document = bench_json(shell)
    placed = rounds_of(document, candidate="d6-ignores-resources")
    assert [entry["bound"] for entry in placed] == [30] * 5
    assert re.search(r"drain-\d+-\d+-\d+.*node-\d+|node-\d+.*drain-\d+-\d+-\d+", flaws_of(placed, "wrong")), (
        ended.printed
    )
    quit_ = rounds_of(document, candidate="quitter")
    assert [entry["bound"] for entry in quit_] == [5] * 5
    assert all("ended" in "\n".join(entry["wrong"]) for entry in quit_), flaws_of(quit_, "wrong")
    stock = rounds_of(document, candidate="stock")
    assert [(entry["bound"], entry["wrong"]) for entry in stock] == [(30, [])] * 5
    for name in ("d6-ignores-resources", "quitter"):
        assert any(name in line and "WRONG" in line for line in ended.out.splitlines()), ended.printed


def test_a_gate_on_a_throttled_scheduler_is_unproved_for_an_imported_case(shell: Shell) -> None:
    """An imported case keeps upstream's name; a gate on it is unproved, and does not pass."""
    (shell.work / "performance-config.yaml").write_text(PERFORMANCE_CONFIG)
    (shell.work / "pod.yaml").write_text(PERFORMANCE_POD)
    gate = "throughput ratio < 0.01 vs stock"
    options = ("--scheduler-perf=performance-config.yaml", "--workload=SchedulingFew/5Nodes", "--mode=drain")
    ended = shell.schedproof(
        "bench", "benchmark/throttled", *options, "--rounds=5", f"--fail-if={gate}", "--report=report"
    )
    assert ended.code == 3, ended.printed
    document = bench_json(shell)
    (workload,) = document["workloads"]
    assert (workload["name"], workload["nodes"], workload["pods"]) == ("SchedulingFew/5Nodes", 5, 30)
    throttled = rounds_of(document, candidate="throttled")
    assert [entry["bound"] for entry in throttled] == [30] * 5
    assert all("was throttled" in "\n".join(entry["invalid"]) for entry in throttled), ended.printed
    assert "was throttled" not in flaws_of(rounds_of(document, candidate="stock"), "invalid")
    assert {comparison["verdict"] for comparison in document["comparisons"]} == {"invalid"}
    assert [entry["outcome"] for entry in document["gates"]] == ["unproved"]
    assert gate in ended.out
    assert document["run"]["client_limits"]["throttled"] == {"qps": 10, "burst": 10}


def test_a_candidate_that_does_not_start_is_reported_with_its_own_output(shell: Shell) -> None:
    """Also if none of the round's pods have been created yet."""
    (shell.work / "candidate.yaml").write_text(json.dumps(QUITS))
    (shell.work / "quitter.py").write_text('import sys; sys.exit("not today")')
    (shell.work / "room.yaml").write_text(ROOM)
    options = ("--workload=room.yaml", "--mode=one-at-a-time", "--rounds=5", "--report=report")
    ended = shell.schedproof("bench", "candidate.yaml", *options)
    error = bench_json(shell)["run"]["error"]
    assert ended.code == 2, ended.printed
    assert "quitter" in error
    assert "there is no group" not in error


def test_a_scheduler_that_does_not_start_is_left_out_and_the_others_are_measured(shell: Shell) -> None:
    (shell.work / "candidate.yaml").write_text(json.dumps(QUITS))
    (shell.work / "quitter.py").write_text('import sys; sys.exit("not today")')
    (shell.work / "room.yaml").write_text(ROOM)
    options = ("--workload=room.yaml", "--mode=one-at-a-time", "--rounds=5", "--report=report")
    ended = shell.schedproof("bench", "stock", "candidate.yaml", *options)
    assert ended.code == 2, ended.printed
    run = bench_json(shell)["run"]
    assert [(failure["workload"], failure["candidate"]) for failure in run["broken"]] == [("room", "quitter")]
    assert "error" not in run
    for name in ("stock", "stock-again"):
        assert [entry["bound"] for entry in rounds_of(bench_json(shell), candidate=name)] == [30] * 5
    assert "room, quitter: " in ended.out
    shell.expect_nothing_left()


def test_ctrl_c_ends_everything_and_keeps_what_was_measured(shell: Shell) -> None:
    command = shell.start(
        "schedproof", "bench", "stock", "--nodes=20", "--pods=60", "--mode=drain", "--rounds=1000", "--report=report"
    )
    command.says("basic, drain: 1000 rounds of 2 schedulers")
    shell.watch()
    command.interrupt()
    ended = command.ends()
    assert ended.code == 130, ended.printed
    assert "Traceback" not in ended.err
    assert "interrupted" in ended.out + ended.err
    assert "interrupted" in bench_json(shell)["run"]["error"]
    assert (shell.work / "report" / "bench.html").is_file()
    shell.expect_nothing_left()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--workload=bsic",), "basic"),
        (("--mode=drian",), "drain"),
        (("--rounds=3",), "fewer rounds cannot tell a difference from noise"),
        (("--fail-if=p98 ratio > 1.2 vs stock",), "no metric 'p98'"),
        (("--fail-if=p99 > 20ms",), "p99 ratio"),
        (("--baseline=stok",), "stock"),
        (("--scheduler-perf=missing.yaml", "--workload=A/B"), "missing.yaml"),
        (("--conformance=missing.json",), "schedproof run"),
        (("--nodes=0",), "nodes"),
        (("--workload=anti-affinity", "--nodes=-1"), "nodes"),
    ],
)
def test_invalid_options_of_a_benchmark_are_refused_before_anything_starts(
    shell: Shell, options: tuple[str, ...], says: str
) -> None:
    ended = shell.schedproof("bench", "stock", *options, "--report=report")
    assert ended.code == 2, ended.printed
    assert says in ended.err
    assert "Traceback" not in ended.err
    assert "setting up" not in ended.err
    assert list(shell.work.iterdir()) == []


# -- under pytest


def test_pytest_benchmark_has_the_same_rounds_as_the_report(shell: Shell) -> None:
    options = ("--sched-candidate=stock", "--sched-nodes=20", "--sched-pods=60", "--sched-rounds=5")
    ended = shell.start(
        "pytest", str(SUITE), "-k", "drain", *options, "--sched-report=report", "--benchmark-json=b.json"
    ).ends()
    # Where all rounds of a noisy minute are invalid, the test of that scheduler fails.
    assert ended.code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), ended.printed
    benchmarks = json.loads((shell.work / "b.json").read_text())["benchmarks"]
    assert [benchmark["extra_info"]["candidate"] for benchmark in benchmarks] == ["stock", "stock-again"]
    rounds = {
        measurement["candidate"]: [r for r in measurement["rounds"] if not r["invalid"]] or measurement["rounds"]
        for measurement in bench_json(shell)["measurements"]
    }
    for benchmark in benchmarks:
        info, counted = benchmark["extra_info"], rounds[benchmark["extra_info"]["candidate"]]
        assert (info["mode"], info["pods"], info["bound"], info["wrong"]) == ("drain", 300, 300, [])
        assert {"mean", "p50", "p90", "p99"} <= set(info["latency"])
        assert benchmark["stats"]["rounds"] == len(counted) <= 5
        assert sorted(benchmark["stats"]["data"]) == pytest.approx(sorted(r["time_to_drain"] for r in counted))


def test_pytest_refuses_xdist(shell: Shell) -> None:
    # xdist's workers have a temporary folder, which pytest keeps as it keeps its own.
    ended = shell.start("pytest", str(SUITE), "--sched-candidate=stock", "-n", "2", "--basetemp=kept").ends()
    assert ended.code == pytest.ExitCode.USAGE_ERROR, ended.printed
    assert "xdist" in ended.err


def test_benchmarks_are_not_collected_with_the_suites(shell: Shell) -> None:
    collected = {}
    for folder in (SUITE.parent, SUITE):
        command = shell.start("pytest", str(folder), "--collect-only", "-q", "--sched-candidate=stock")
        ended = command.ends()
        assert ended.code == pytest.ExitCode.OK, ended.printed
        collected[folder] = ended.out.count("test_speed.py::")
    assert collected == {SUITE.parent: 0, SUITE: 6}


# -- every shipped workload

TINY: dict[str, dict[str, int]] = {
    "affinity": {"nodes": 10, "initialPods": 10, "pods": 20},
    "anti-affinity": {"nodes": 30, "initialPods": 5, "pods": 20},
    "basic": {"nodes": 10, "initialPods": 10, "pods": 20},
    "bursts": {"nodes": 10, "initialPods": 10, "pods": 20, "burst": 5},
    "mixed-sizes": {"nodes": 10, "initialPods": 5, "pods": 12},
    "network-aware": {"nodes": 10, "pods": 10},
    "node-churn": {"nodes": 10, "initialPods": 10, "pods": 20, "churningNodes": 2},
    "preemption": {"nodes": 5, "initialPods": 20, "pods": 5},
    "taints": {"nodes": 10, "taintedNodes": 10, "initialPods": 10, "pods": 20},
    "topology-spread": {"nodes": 9, "initialPods": 9, "pods": 18},
    "unschedulable-churn": {"nodes": 10, "initialPods": 5, "pods": 20},
}
"""docs/workloads.md says what must fit what."""


def test_each_shipped_workload_can_be_drained(tmp_path: Path) -> None:
    shipped = {file.stem for file in content("fixtures", "workloads").glob("*.yaml")}
    assert set(TINY) == shipped
    resolved = resolve((*EMBEDDED.minimal.binaries, BINARY), kubernetes=DEFAULT_KUBERNETES, progress=ConsoleProgress())
    binaries = {name: entry.path for name, entry in resolved.items()}
    stock = find_candidate("stock")
    for name, parameters in TINY.items():
        folder = tmp_path / name
        cluster = MinimalEmbeddedCluster(DEFAULT_KUBERNETES, binaries, folder)
        stage = Stage(load_workload(name, parameters=parameters), cluster, binaries[BINARY], folder, seed=1)
        try:
            contestant = Contestant(stage, "stock", stock, folder / "stock")
            stage.measure_ceiling()
            measured = measure(stage, contestant, Order("drain", 0, 0, seed=1))
            contestant.close()
        finally:
            stage.close()
        assert (name, len(measured.bound), measured.wrong) == (name, parameters["pods"], ())
        shutil.rmtree(folder)
