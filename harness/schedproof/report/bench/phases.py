"""Shows the phases of a pod's latency, from the create request until the watch shows the binding."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument, Phases
from schedproof.report.bench.markup import ChartGroup, TableRow, chart_groups, figure, number, table
from schedproof.report.bench.stacked import stacked_bars
from schedproof.report.bench.units import duration


def phases(document: BenchDocument) -> Markup:
    """Draw the mean phases of the separate pass with taps; other rounds have no taps."""
    groups: dict[str, list[Phases]] = {}
    for measured in document.phases:
        if measured.phases:
            groups.setdefault(measured.workload, []).append(measured)
    charts = [_figure(f"phases{place}", *group) for place, group in enumerate(groups.items())]
    return chart_groups([ChartGroup(charts)] if charts else [], tapped=True)


def _figure(name: str, workload: str, group: Sequence[Phases]) -> Markup:
    title = f"{workload}: mean time of a pod by phase"
    bars = {measured.candidate: {phase.name: phase.mean for phase in measured.phases} for measured in group}
    rows: list[TableRow] = [
        [measured.candidate, phase.name,
         *(number(value, duration(value)) for value in (phase.mean, phase.p50, phase.p99)),
         number(measured.pods, f"{measured.pods:,}")]
        for measured in group for phase in measured.phases
    ]  # fmt: skip
    numbers = table(title, ["candidate", "phase", "mean", "p50", "p99", "pods"], rows)
    return figure(title, stacked_bars(name, title, "mean time of a pod", bars), numbers, _cost(group))


def _cost(group: Sequence[Phases]) -> str:
    """Return the latency with and without taps of each candidate, if both were measured."""
    costs = [
        f"{measured.candidate} {duration(measured.latency.tapped)}, {duration(measured.latency.untapped)} without"
        for measured in group
        if measured.latency.tapped and measured.latency.untapped
    ]
    return f"Mean latency of a pod with taps, one round each: {'; '.join(costs)}." if costs else ""
