"""The page's section on trials: a tab for each workload, with a tab for each mode."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument, WorkloadSummary
from schedproof.report import templating
from schedproof.report.bench.charts import cdf_chart, histogram_chart, rounds_chart
from schedproof.report.bench.document import METRICS, BenchTrial, confidence, doubts, trials, typical
from schedproof.report.bench.findings import findings
from schedproof.report.bench.interval import RatioAxis, interval
from schedproof.report.bench.markup import (
    Cell,
    ChartGroup,
    TableRow,
    badge,
    chart_groups,
    details,
    key,
    number,
    small,
    table,
    verdict,
)
from schedproof.report.bench.plot import ChartSeries
from schedproof.report.bench.units import duration, figures, times
from schedproof.report.bench.usage import usage_chart

_KINDS = {"wrong": "wrong", "lost": "wrong", "invalid": "invalid", "own": "own", "unlike": "own", "unjudged": "own"}
_RATIO = Markup('{} <span class="dim">({})</span>')
_MOST = 20
"""The most findings of a trial that are shown."""


@dataclasses.dataclass(frozen=True)
class _Panel:
    """One trial; missing parts are empty."""

    trial: BenchTrial
    warm_up: Markup
    comparisons: Markup
    findings: Markup
    charts: Markup
    rounds: Markup


def panels(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    """Show a section for each workload, with a section for each mode."""
    described = {workload.name: workload for workload in document.workloads}
    groups = itertools.groupby(trials(document), key=lambda trial: trial.workload)
    shown = [
        {
            "name": name,
            "workload": _workload(described.get(name)),
            "panels": [_panel(document, trial, series) for trial in group],
        }
        for name, group in groups
    ]
    return templating.render("bench/trials.html", groups=shown) if shown else Markup()


def _workload(workload: WorkloadSummary | None) -> dict[str, str] | None:
    if workload is None:
        return None
    counts = [
        f"{count:,} {words}"
        for count, words in (
            (workload.nodes, "nodes"),
            (workload.initial_pods, "initial pods"),
            (workload.pods, "pods measured"),
        )
        if count is not None
    ]
    return {"description": workload.description, "counts": ", ".join(counts), "source": workload.source}


def _panel(document: BenchDocument, trial: BenchTrial, series: Mapping[str, ChartSeries]) -> _Panel:
    used = {measured.candidate: series[measured.candidate] for measured in trial.measurements}
    charts = [*(chart(trial, used) for chart in (rounds_chart, cdf_chart, histogram_chart)), usage_chart(trial)]
    shown = [chart for chart in charts if chart is not None]
    return _Panel(
        trial,
        _warm_up(trial),
        _comparisons(document, trial),
        _findings(trial),
        chart_groups([ChartGroup(shown, key=key(used))] if shown else []),
        _rounds(trial),
    )


def _warm_up(trial: BenchTrial) -> Markup:
    rounds = [round_ for measured in trial.measurements for round_ in measured.rounds]
    if not rounds:
        return Markup()
    drain = trial.mode == "drain"
    return templating.render(
        "bench/warm_up.html",
        rounds=len(rounds),
        pods=_span([round_.pods for round_ in rounds]),
        warm_up=_span([round_.warm_up for round_ in rounds]),
        start="the start of the round" if drain else "the intended creation time of a pod",
        lost=sum(round_.unaccounted for round_ in rounds),
    )


def _span(numbers: list[int]) -> str:
    return " to ".join(f"{number:,}" for number in dict.fromkeys((min(numbers), max(numbers))))


def _comparisons(document: BenchDocument, trial: BenchTrial) -> Markup:
    axis = RatioAxis.over(trial.comparisons)
    names = list(METRICS)
    # Sorted by metric, so that candidates can be compared.
    ordered = sorted(
        trial.comparisons,
        key=lambda comparison: names.index(comparison.metric) if comparison.metric in names else len(names),
    )
    rows: list[TableRow] = []
    for comparison in ordered:
        metric, name = METRICS.get(comparison.metric), comparison.candidate
        value = typical(trial.of(name), metric) if metric else None
        base = typical(trial.of(comparison.baseline), metric) if metric else None
        worries = doubts(trial.of(name))
        tooltip = "; ".join(words for _, words in worries.words)
        # The verdict already names this kind of doubt.
        badges = [badge(*words, tooltip=tooltip) for words in worries.short if words[0] != comparison.verdict]
        known = comparison.shown_ratio
        ratios = _RATIO.format(times(known), interval(comparison)) if known is not None else ""
        rows.append(
            [
                name,
                comparison.metric,
                Markup(" ").join([verdict(comparison.verdict), *badges]) + small(comparison.reason),
                Cell(ratios, key=known, kind="number") if known is not None else "",
                axis.bar(comparison) if known is not None else "",
                number(value, metric.show(value) if metric else ""),
                number(base, metric.show(base) if metric else ""),
                number(comparison.blocks, str(comparison.blocks)),
            ]
        )
    if not rows:
        return Markup()
    first = document.run.baseline
    heads = [
        "candidate",
        "metric",
        "verdict",
        f"ratio to {first}",
        axis.head(),
        "measured",
        first,
        "blocks",
    ]
    caption = (
        f"compared with {first}, {confidence(document)} intervals; higher is better for throughput, lower for all else"
    )
    if any(comparison.metric == "cpu per pod" for comparison in ordered):
        caption += "; CPU of a candidate's own processes"
    return table(caption, heads, rows, sortable=True)


def _findings(trial: BenchTrial) -> Markup:
    found = findings(trial)
    if not found:
        return Markup()
    return templating.render("bench/findings.html", found=found, kinds=_KINDS, most=_MOST)


def _rounds(trial: BenchTrial) -> Markup:
    rows: list[TableRow] = []
    for measured in trial.measurements:
        for round_ in measured.rounds:
            latency = (round_.latency.mean, round_.latency.p50, round_.latency.p90, round_.latency.p99)
            doubt = [badge("wrong", f"{len(round_.wrong)} wrong")] if round_.wrong else []
            doubt += [badge("invalid", "invalid") + small("; ".join(round_.invalid))] if round_.invalid else []
            own = round_.own_metrics
            agrees = Markup()
            if own is not None:
                agrees += ("agree" if own.agrees else "differ") + small(own.explanation)
            rows.append(
                [
                    measured.candidate,
                    number(round_.block, str(round_.block)),
                    number(round_.order, "" if round_.order is None else str(round_.order)),
                    number(round_.seconds, duration(round_.seconds)),
                    number(round_.bound, f"{round_.bound:,} of {round_.pods:,}"),
                    number(round_.throughput, figures(round_.throughput)),
                    number(round_.time_to_drain, duration(round_.time_to_drain)),
                    *(number(value, duration(value)) for value in latency),
                    agrees,
                    Cell(Markup(" ").join(doubt) or "valid"),
                ]
            )
    if not rows:
        return Markup()
    heads = [
        "candidate",
        "block",
        "order",
        "took",
        "bound",
        "pods/s",
        "to drain",
        "mean",
        "p50",
        "p90",
        "p99",
        "own metrics",
        "valid",
    ]
    return details(f"all {len(rows)} rounds", table("every round", heads, rows, sortable=True))
