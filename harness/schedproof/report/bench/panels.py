"""The trials one by one: a tab for each workload, and in it one for each mode."""

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

_KINDS = {"wrong": "wrong", "lost": "wrong", "invalid": "invalid", "own": "own", "unjudged": "own"}
_RATIO = Markup('{} <span class="dim">({})</span>')
_MOST = 20
"""Findings of a trial that are shown."""


@dataclasses.dataclass(frozen=True)
class _Panel:
    """One trial; what it has not is empty."""

    trial: BenchTrial
    warm_up: Markup
    comparisons: Markup
    findings: Markup
    charts: Markup
    rounds: Markup


def panels(document: BenchDocument, series: Mapping[str, ChartSeries]) -> Markup:
    """A section for each workload, and in it one for each mode."""
    described = {one.name: one for one in document.workloads}
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
    used = {one.candidate: series[one.candidate] for one in trial.measurements}
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
    rounds = [one for measured in trial.measurements for one in measured.rounds]
    if not rounds:
        return Markup()
    drain = trial.mode == "drain"
    return templating.render(
        "bench/warm_up.html",
        rounds=len(rounds),
        pods=_span([one.pods for one in rounds]),
        warm_up=_span([one.warm_up for one in rounds]),
        start="the start of the round" if drain else "the moment at which a pod was meant to be created",
        lost=sum(one.unaccounted for one in rounds),
    )


def _span(numbers: list[int]) -> str:
    return " to ".join(f"{number:,}" for number in dict.fromkeys((min(numbers), max(numbers))))


def _comparisons(document: BenchDocument, trial: BenchTrial) -> Markup:
    axis = RatioAxis.over(trial.comparisons)
    names = list(METRICS)
    # Candidates beside each other for each metric: the question is which is faster.
    ordered = sorted(trial.comparisons, key=lambda one: names.index(one.metric) if one.metric in names else len(names))
    rows: list[TableRow] = []
    for one in ordered:
        metric, name = METRICS.get(one.metric), one.candidate
        value = typical(trial.of(name), metric) if metric else None
        base = typical(trial.of(one.baseline), metric) if metric else None
        worries = doubts(trial.of(name))
        says = "; ".join(words for _, words in worries.words)
        # What is invalid as a whole says so itself.
        badges = [badge(*words, says=says) for words in worries.short if words[0] != one.verdict]
        known = one.shown_ratio
        ratios = _RATIO.format(times(known), interval(one)) if known is not None else ""
        rows.append(
            [
                name,
                one.metric,
                Markup(" ").join([verdict(one.verdict), *badges]) + small(one.reason),
                Cell(ratios, key=known, kind="number") if known is not None else "",
                axis.bar(one) if known is not None else "",
                number(value, metric.show(value) if metric else ""),
                number(base, metric.show(base) if metric else ""),
                number(one.blocks, str(one.blocks)),
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
    if any(one.metric == "cpu per pod" for one in ordered):
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
        for one in measured.rounds:
            latency = (one.latency.mean, one.latency.p50, one.latency.p90, one.latency.p99)
            doubt = [badge("wrong", f"{len(one.wrong)} wrong")] if one.wrong else []
            doubt += [badge("invalid", "invalid") + small("; ".join(one.invalid))] if one.invalid else []
            own = one.own_metrics
            agrees = Markup()
            if own is not None:
                agrees += ("agree" if own.agrees else "differ") + small(own.explanation)
            rows.append(
                [
                    measured.candidate,
                    number(one.block, str(one.block)),
                    number(one.order, "" if one.order is None else str(one.order)),
                    number(one.seconds, duration(one.seconds)),
                    number(one.bound, f"{one.bound:,} of {one.pods:,}"),
                    number(one.throughput, figures(one.throughput)),
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
        "mean",
        "p50",
        "p90",
        "p99",
        "own metrics",
        "valid",
    ]
    return details(f"all {len(rows)} rounds", table("every round", heads, rows, sortable=True))
