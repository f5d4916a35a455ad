"""Where a pod's time goes, from the call that creates it until it is seen bound."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument, Phases
from schedproof.report.bench.markup import ChartGroup, TableRow, chart_groups, figure, number, table
from schedproof.report.bench.stacked import stacked_bars
from schedproof.report.bench.units import duration


def phases(document: BenchDocument) -> Markup:
    """Means of a separate pass with taps, of which the timed rounds have none."""
    groups: dict[str, list[Phases]] = {}
    for one in document.phases:
        if one.phases:
            groups.setdefault(one.workload, []).append(one)
    charts = [_figure(f"phases{place}", *group) for place, group in enumerate(groups.items())]
    return chart_groups([ChartGroup(charts)] if charts else [], tapped=True)


def _figure(name: str, workload: str, ones: Sequence[Phases]) -> Markup:
    title = f"{workload}: mean time of a pod by phase"
    bars = {one.candidate: {phase.name: phase.mean for phase in one.phases} for one in ones}
    rows: list[TableRow] = [
        [one.candidate, phase.name,
         *(number(value, duration(value)) for value in (phase.mean, phase.p50, phase.p99)),
         number(one.pods, f"{one.pods:,}")]
        for one in ones for phase in one.phases
    ]  # fmt: skip
    numbers = table(title, ["candidate", "phase", "mean", "p50", "p99", "pods"], rows)
    return figure(title, stacked_bars(name, title, "mean time of a pod", bars), numbers, _cost(ones))


def _cost(ones: Sequence[Phases]) -> str:
    """What it costs to look so closely, of those where it was measured."""
    costs = [
        f"{one.candidate} {duration(one.latency.tapped)}, {duration(one.latency.untapped)} without"
        for one in ones
        if one.latency.tapped and one.latency.untapped
    ]
    return f"Mean latency of a pod with taps, one round each: {'; '.join(costs)}." if costs else ""
