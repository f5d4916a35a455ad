"""Where a pod's time goes, from the call that creates it until it is seen bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedproof.report.bench.chart_groups import ChartGroup, chart_groups
from schedproof.report.bench.markup import TableRow, figure, number, table
from schedproof.report.bench.stacked import stacked_bars
from schedproof.report.bench.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

__all__ = ["phases"]


def phases(document: Any) -> Markup:
    """Means of a separate pass with taps, of which the timed rounds have none."""
    groups: dict[str, list[Any]] = {}
    for one in document.get("phases") or ():
        if one.get("phases"):
            groups.setdefault(one["workload"], []).append(one)
    charts = [_figure(f"phases{place}", *group) for place, group in enumerate(groups.items())]
    return chart_groups([ChartGroup(charts)] if charts else [], tapped=True)


def _figure(name: str, workload: str, ones: Sequence[Any]) -> Markup:
    title = f"{workload}: mean time of a pod by phase"
    bars = {one["candidate"]: {phase["name"]: phase["mean"] for phase in one["phases"]} for one in ones}
    rows: list[TableRow] = [
        [one["candidate"], phase["name"],
         *(number(phase.get(what), duration(phase.get(what))) for what in ("mean", "p50", "p99")),
         number(one["pods"], f"{one['pods']:,}")]
        for one in ones for phase in one["phases"]
    ]  # fmt: skip
    numbers = table(title, ["candidate", "phase", "mean", "p50", "p99", "pods"], rows)
    return figure(title, stacked_bars(name, title, "mean time of a pod", bars), numbers, _cost(ones))


def _cost(ones: Sequence[Any]) -> str:
    """What it costs to look so closely, of those where it was measured."""
    costs = [
        f"{one['candidate']} {duration(latency['tapped'])}, {duration(latency['untapped'])} without"
        for one in ones
        if (latency := one.get("latency")) and all(latency.values())
    ]
    return f"Mean latency of a pod with taps, one round each: {'; '.join(costs)}." if costs else ""
