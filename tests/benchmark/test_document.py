from __future__ import annotations

import pytest

from schedproof.benchmark.bench import Bench, BenchPlan, contestants
from schedproof.benchmark.compare.gate import Gate
from schedproof.benchmark.document import bench_document, exit_code, pod_rows
from schedproof.benchmark.results import BrokenCandidate, Comparison, GateResult
from schedproof.benchmark.workloads.reader import load_workload
from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.progress import SilentProgress

from .rounds import a_round, drain, row, singles

BROKEN = BrokenCandidate(workload="basic", candidate="mine", said="mine did not get ready")


@pytest.fixture
def bench(tmp_path) -> Bench:
    stock = find_candidate("stock")
    workloads = [load_workload("basic")]
    plan = BenchPlan(
        contestants(stock, [stock]), workloads, {"basic": "basic"}, ["drain"], 6, 1, tmp_path, "1.36", {}
    )  # fmt: skip
    found = Bench(plan, SilentProgress())
    found.rounds = [drain("stock", n, seconds=1 + n / 100) for n in range(6)]
    found.rounds += [drain("stock-again", n, seconds=2 + n / 100) for n in range(6)]
    return found


def test_document_has_all_parts(bench) -> None:
    document = bench_document(
        bench, command="schedproof bench stock", gates=[Gate.parse("throughput ratio < 0.8 vs stock")]
    )
    assert document.format == "schedproof.bench/v1"
    assert [candidate.name for candidate in document.candidates] == ["stock", "stock-again"]
    assert [measurement.candidate for measurement in document.measurements] == ["stock", "stock-again"]
    throughput = document.comparisons[0]
    assert throughput.verdict == "slower"
    assert [gate.outcome for gate in document.gates] == ["failed"]
    assert document.run.exit_code == 1


def test_wrong_placements_fail_however_fast_they_are(bench) -> None:
    bench.rounds.append(drain("stock-again", 6, seconds=0.1, wrong=("pod-1: node-1 has no room",)))
    assert bench_document(bench, command="x").run.exit_code == 1


def test_interrupted_benchmark_has_an_error(bench) -> None:
    document = bench_document(bench, command="x", error="interrupted")
    assert (document.run.error, document.run.exit_code) == ("interrupted", 2)
    complete = bench_document(bench, command="x").model_dump(exclude_unset=True)
    assert "error" not in complete["run"]


def test_candidate_that_could_not_be_brought_up_is_named(bench) -> None:
    bench.broken.append(BROKEN)
    run = bench_document(bench, command="x").run
    assert run.broken == [BROKEN]
    assert run.exit_code == 2


@pytest.mark.parametrize(
    ("verdicts", "gates", "code"),
    [
        (["faster", "slower", "no difference shown"], ["passed"], 0),
        (["faster"], ["failed", "unproved"], 1),
        (["invalid"], [], 3),
        ([], ["unproved"], 3),
    ],
)
def test_exit_code_depends_on_verdicts_and_gates(verdicts, gates, code) -> None:
    compared = [Comparison.model_construct(verdict=verdict) for verdict in verdicts]
    results = [GateResult.model_construct(outcome=outcome) for outcome in gates]
    assert exit_code(compared, results, wrong=False, error=False) == code


def test_every_pod_is_a_row_with_times_from_the_start_of_its_round() -> None:
    round_ = a_round("x", "drain", [row(0, intended=99.0, seen=101.5), row(1, intended=99.0)])
    assert list(pod_rows([round_])) == [
        ["x", "basic", "drain", None, 0, "pod-0", -1.0, -1.0, -0.999, None, 1.5, "node-1"],
        ["x", "basic", "drain", None, 0, "pod-1", -1.0, -1.0, -0.999, None, None, ""],
    ]


def test_workloads_of_a_family_are_points_of_one_scaling_line(bench) -> None:
    small = load_workload("basic", parameters={"nodes": 10})
    large = load_workload("basic", parameters={"nodes": 100})
    import dataclasses

    workloads = [dataclasses.replace(workload, name=f"basic-{workload.nodes}") for workload in (small, large)]
    families = dict.fromkeys(("basic-10", "basic-100"), "basic")
    bench.plan = dataclasses.replace(bench.plan, workloads=workloads, families=families)
    bench.rounds = [
        drain("stock", 0, seconds=1.0, workload="basic-10"), drain("stock", 0, seconds=2.0, workload="basic-100"),
        singles("stock", 0, [0.02] * 20, workload="basic-10"),
        drain("stock", 1, seconds=9.0, workload="basic-100", invalid=("noise",)),
    ]  # fmt: skip
    (line,) = bench_document(bench, command="x").scaling
    assert (line.workload, line.candidate) == ("basic", "stock")
    ten, hundred = line.points
    assert (ten.nodes, ten.throughput, ten.p50) == (10, pytest.approx(100.0), pytest.approx(0.02))
    assert (hundred.nodes, hundred.throughput, hundred.p50) == (100, pytest.approx(50.0), None)
