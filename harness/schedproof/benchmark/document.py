"""bench.json: all that a benchmark has found, as one document."""

from __future__ import annotations

import os
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


def bench_document(
    bench: Bench,
    *,
    command: str,
    gates: Sequence[Gate] = (),
    conformance: Sequence[Conformance] | None = None,
    error: str = "",
) -> BenchDocument:
    """Build it.

    Args:
        bench: what was measured, also where that was cut short.
        command: what to type to have it measured again.
        gates: what must not be shown.
        conformance: the candidates of a report.json, to be shown beside.
        error: why it was cut short.
    """
    plan = bench.plan
    compared = comparisons(bench.rounds, plan.baseline, seed=plan.seed)
    results = [evaluate(gate, compared, alpha=ALPHA) for gate in gates]
    swept = [one for sweep in bench.sweeps for one in sweep.rounds]
    wrong = any(one.wrong for one in (*bench.rounds, *swept))
    return BenchDocument(
        schema=SCHEMA,
        run=BenchRun(
            seed=plan.seed, cluster=plan.cluster, command=command, baseline=plan.baseline, alpha=ALPHA,
            minimum_effect=MINIMUM_EFFECT, seconds=bench.seconds,
            versions={"schedproof": __version__, **bench.versions}, environment=_environment(),
            client_limits={name: dict(limits) for name, limits in bench.client_limits.items()},
            ceiling=Ceiling(binds_per_second=statistics.median(bench.ceilings)) if bench.ceilings else None,
            broken=list(bench.broken), **({"error": error} if error else {}),
            exit_code=exit_code(compared, results, wrong=wrong, error=bool(error or bench.broken)),
        ),
        candidates=[CandidateSummary(name=name, kind=one.kind) for name, one in plan.contestants.items()],
        conformance=None if conformance is None else list(conformance),
        workloads=[workload.summary() for workload in plan.workloads],
        measurements=measurements(bench.rounds, list(plan.contestants)),
        comparisons=compared,
        knees=[sweep.result() for sweep in bench.sweeps],
        scaling=_scaling(bench),
        phases=[one.phases_result() for one in bench.traces],
        queries=[one.queries_result() for one in bench.traces if one.prometheus or one.extender],
        gates=results,
    )  # fmt: skip


def exit_code(compared: Sequence[Comparison], gates: Sequence[GateResult], *, wrong: bool, error: bool) -> int:
    """0: all that was asked for was measured, and no gate has failed. 1: a gate has failed, or pods are where they must
    not be. 2: it was cut short, or a candidate could not be brought up. 3: a comparison is invalid, or a gate could not
    be decided.
    """
    if error:
        return EXIT_ERROR
    if wrong or any(gate.outcome == "failed" for gate in gates):
        return EXIT_FAILED
    unproved = any(one.verdict == "invalid" for one in compared)
    return EXIT_UNPROVED if unproved or any(gate.outcome == "unproved" for gate in gates) else EXIT_PASSED


def _scaling(bench: Bench) -> list[Scaling]:
    """Where one workload was measured with different numbers of nodes: medians would hide how few; these are means."""
    found: dict[tuple[str, str], dict[int, list[Round]]] = {}
    nodes = {workload.name: workload.nodes for workload in bench.plan.workloads}
    for one in bench.rounds:
        if not one.invalid:
            by_nodes = found.setdefault((bench.plan.families[one.workload], one.candidate), {})
            by_nodes.setdefault(nodes[one.workload], []).append(one)
    return [
        Scaling(workload=workload, candidate=candidate, points=[_point(*one) for one in sorted(by_nodes.items())])
        for (workload, candidate), by_nodes in found.items()
        if len(by_nodes) > 1
    ]


def _point(nodes: int, rounds: Sequence[Round]) -> ScalingPoint:
    drains = [one.throughput for one in rounds if one.mode == "drain"]
    latency = summary([value for one in rounds if one.mode == "one-at-a-time" for value in one.latencies])
    return ScalingPoint(
        nodes=nodes, throughput=statistics.fmean(drains) if drains else None,
        p50=latency.get("p50"), p99=latency.get("p99"),
    )  # fmt: skip


def pod_rows(rounds: Sequence[Round]) -> Iterator[list[Any]]:
    """Every pod of every round, for pods.csv; seconds from the round's beginning."""
    for one in rounds:
        for row in one.rows:
            moments = (row.intended, row.sent, row.answered, row.shown, row.seen)
            yield [
                one.candidate, one.workload, one.mode, one.rate, one.block, row.pod,
                *(None if moment is None else round(moment - one.began, 6) for moment in moments), row.node,
            ]  # fmt: skip


def _environment() -> MachineSummary:
    return MachineSummary(
        cpu=_cpu(), cores=len(os.sched_getaffinity(0)), memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(), python=platform.python_version(),
    )  # fmt: skip


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
