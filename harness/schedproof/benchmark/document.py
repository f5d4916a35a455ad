"""Builds bench.json, the document with all results of a benchmark."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from schedproof import __version__
from schedproof.benchmark.bench import Bench
from schedproof.benchmark.compare.comparing import ALPHA, MINIMUM_EFFECT, comparisons, measurements
from schedproof.benchmark.compare.gate import Gate, evaluate
from schedproof.benchmark.compare.quantiles import summary
from schedproof.benchmark.results import (
    SCHEMA,
    BenchDocument,
    BenchRun,
    CandidateSummary,
    Ceiling,
    Comparison,
    Conformance,
    GateResult,
    MachineSummary,
    Scaling,
    ScalingPoint,
)
from schedproof.benchmark.round import Round
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED, EXIT_PASSED, EXIT_UNPROVED
from schedproof.foundation.processes import machine


def bench_document(
    bench: Bench,
    *,
    command: str,
    gates: Sequence[Gate] = (),
    conformance: Sequence[Conformance] | None = None,
    error: str = "",
) -> BenchDocument:
    """Build bench.json.

    Args:
        bench: the measurements, possibly incomplete.
        command: the command line that repeats the benchmark.
        gates: limits on ratios; a gate fails if its condition is shown to hold.
        conformance: the candidates of a report.json, shown beside the measurements.
        error: why the benchmark ended early; "" if it did not.
    """
    plan = bench.plan
    compared = comparisons(bench.rounds, plan.baseline, seed=plan.seed)
    results = [evaluate(gate, compared, alpha=ALPHA) for gate in gates]
    swept = [round_ for sweep in bench.sweeps for round_ in sweep.rounds]
    wrong = any(round_.wrong for round_ in (*bench.rounds, *swept))
    return BenchDocument(
        schema=SCHEMA,
        run=BenchRun(
            seed=plan.seed, cluster=plan.cluster, command=command, baseline=plan.baseline, alpha=ALPHA,
            minimum_effect=MINIMUM_EFFECT, seconds=bench.seconds,
            versions={"schedproof": __version__, **bench.versions}, environment=_environment(),
            client_limits={name: dict(limits) for name, limits in bench.client_limits.items()},
            nodes_to_score=dict(bench.nodes_to_score),
            ceiling=Ceiling(binds_per_second=statistics.median(bench.ceilings)) if bench.ceilings else None,
            broken=list(bench.broken), **({"error": error} if error else {}),
            exit_code=exit_code(compared, results, wrong=wrong, error=bool(error or bench.broken)),
        ),
        candidates=[CandidateSummary(name=name, kind=candidate.kind) for name, candidate in plan.contestants.items()],
        conformance=None if conformance is None else list(conformance),
        workloads=[workload.summary() for workload in plan.workloads],
        measurements=measurements(bench.rounds, list(plan.contestants)),
        comparisons=compared,
        knees=[sweep.result() for sweep in bench.sweeps],
        scaling=_scaling(bench),
        phases=[trace.phases_result() for trace in bench.traces],
        queries=[trace.queries_result() for trace in bench.traces if trace.prometheus or trace.extender],
        gates=results,
    )  # fmt: skip


def exit_code(compared: Sequence[Comparison], gates: Sequence[GateResult], *, wrong: bool, error: bool) -> int:
    """Return the exit code. 0: everything was measured, and no gate failed. 1: a gate failed, or pods were bound to
    nodes where they must not run (`wrong`). 2: the benchmark ended early, or a candidate did not start (`error`). 3: a
    comparison is invalid, or a gate is unproved.
    """
    if error:
        return EXIT_ERROR
    if wrong or any(gate.outcome == "failed" for gate in gates):
        return EXIT_FAILED
    unproved = any(comparison.verdict == "invalid" for comparison in compared)
    return EXIT_UNPROVED if unproved or any(gate.outcome == "unproved" for gate in gates) else EXIT_PASSED


def _scaling(bench: Bench) -> list[Scaling]:
    """Return the mean results of each workload that was measured with several node counts."""
    found: dict[tuple[str, str], dict[int, list[Round]]] = {}
    nodes = {workload.name: workload.nodes for workload in bench.plan.workloads}
    for round_ in bench.rounds:
        if not round_.invalid:
            by_nodes = found.setdefault((bench.plan.families[round_.workload], round_.candidate), {})
            by_nodes.setdefault(nodes[round_.workload], []).append(round_)
    return [
        Scaling(workload=workload, candidate=candidate, points=[_point(*item) for item in sorted(by_nodes.items())])
        for (workload, candidate), by_nodes in found.items()
        if len(by_nodes) > 1
    ]


def _point(nodes: int, rounds: Sequence[Round]) -> ScalingPoint:
    drains = [round_.throughput for round_ in rounds if round_.mode == "drain"]
    latency = summary([value for round_ in rounds if round_.mode == "one-at-a-time" for value in round_.latencies])
    return ScalingPoint(
        nodes=nodes, throughput=statistics.fmean(drains) if drains else None,
        p50=latency.get("p50"), p99=latency.get("p99"),
    )  # fmt: skip


def pod_rows(rounds: Sequence[Round]) -> Iterator[list[Any]]:
    """Yield a row of pods.csv for each pod of each round; times are seconds from the round's beginning."""
    for round_ in rounds:
        for row in round_.rows:
            moments = (row.intended, row.sent, row.answered, row.shown, row.seen)
            yield [
                round_.candidate, round_.workload, round_.mode, round_.rate, round_.block, row.pod,
                *(None if moment is None else round(moment - round_.began, 6) for moment in moments), row.node,
            ]  # fmt: skip


def _environment() -> MachineSummary:
    return MachineSummary(
        cpu=_cpu(), cores=machine.cores(), memory=machine.memory(), kernel=platform.release(),
        python=platform.python_version(),
    )  # fmt: skip


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
