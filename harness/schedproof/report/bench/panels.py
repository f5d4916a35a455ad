"""The trials one by one: a tab for each workload, and in it one for each mode."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from schedproof.report.bench.charts import cdf_chart, histogram_chart, rounds_chart
from schedproof.report.bench.document import METRICS, baseline, confidence, doubts, trials, typical
from schedproof.report.bench.findings import findings
from schedproof.report.bench.interval import RatioAxis, has_ratio, interval
from schedproof.report.bench.markup import Cell, Row, badge, details, number, table, text, verdict
from schedproof.report.bench.plot import Series, swatch
from schedproof.report.bench.units import duration, figures, times
from schedproof.report.bench.usage import usage_chart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.report.bench.document import Trial

__all__ = ["key", "panels"]

_KINDS = {"wrong": "wrong", "lost": "wrong", "invalid": "invalid", "own": "own", "unjudged": "own"}
_MOST = 20
"""Findings of a trial that are shown."""


def panels(document: Any, series: Mapping[str, Series]) -> str:
    """Sections that page.js makes tabs of: without it, and in print, all are shown."""
    described = {one["name"]: one for one in document.get("workloads") or ()}
    groups = itertools.groupby(trials(document), key=lambda trial: trial.workload)
    shown = []
    for name, group in groups:
        inner = "".join(
            f'<section class="panel" id="{trial.anchor}" data-tab="{text(trial.title)}"><h4>{text(trial.title)}</h4>'
            f"{_trial(document, trial, series)}</section>"
            for trial in group
        )
        shown.append(
            f'<section class="panel" data-tab="{text(name)}"><h3>{text(name)}</h3>{_workload(described.get(name))}'
            f'<div class="tabs" data-label="modes of {text(name)}">{inner}</div></section>'
        )
    return f'<div class="tabs" data-label="workloads">{"".join(shown)}</div>' if shown else ""


def key(series: Mapping[str, Series]) -> str:
    """What each colour, dash and mark stands for; page.js makes buttons of it that show and hide a series."""
    items = "".join(
        f'<li data-series="{one.number}">{swatch(one)} <span>{text(one.name)}</span></li>' for one in series.values()
    )
    return f'<ul class="key" aria-label="key">{items}</ul>'


def _workload(one: Any) -> str:
    if not one:
        return ""
    counts = [
        f"{one[name]:,} {words}"
        for name, words in (("nodes", "nodes"), ("initial_pods", "initial pods"), ("pods", "pods measured"))
        if one.get(name) is not None
    ]
    source = f" (<code>{text(one['source'])}</code>)" if one.get("source") else ""
    return f"<p>{text(one.get('description', ''))} {text(', '.join(counts))}{source}.</p>"


def _trial(document: Any, trial: Trial, series: Mapping[str, Series]) -> str:
    used = {one["candidate"]: series[one["candidate"]] for one in trial.measurements}
    charts = "".join(chart(trial, used) for chart in (rounds_chart, cdf_chart, histogram_chart)) + usage_chart(trial)
    return "".join(
        (
            _warm_up(trial),
            _comparisons(document, trial),
            _findings(trial),
            f'{key(used)}<div class="charts">{charts}</div>' if charts else "",
            _rounds(trial),
        )
    )


def _warm_up(trial: Trial) -> str:
    rounds = [one for measured in trial.measurements for one in measured.get("rounds") or ()]
    if not rounds:
        return ""
    warm = sorted({one.get("warm_up") or 0 for one in rounds})
    pods = sorted({one["pods"] for one in rounds})
    said = " to ".join(f"{number:,}" for number in dict.fromkeys((warm[0], warm[-1])))
    total = " to ".join(f"{number:,}" for number in dict.fromkeys((pods[0], pods[-1])))
    lost = sum(one.get("unaccounted") or 0 for one in rounds)
    accounted = "Every pod is accounted for." if not lost else badge("wrong", f"{lost:,} pods are unaccounted for.")
    start = "the start of the round" if trial.mode == "drain" else "the moment at which a pod was meant to be created"
    return (
        f"<p>{len(rounds)} rounds of {total} pods. Warm-up: the first {said} pods bound in a round are in no "
        f"throughput and no latency. Latency counts from {start}. {accounted}</p>"
    )


def _comparisons(document: Any, trial: Trial) -> str:
    axis = RatioAxis.over(trial.comparisons)
    names = list(METRICS)
    # Candidates beside each other for each metric: the question is who is faster.
    ordered = sorted(
        trial.comparisons, key=lambda one: names.index(one["metric"]) if one["metric"] in names else len(names)
    )
    rows: list[Row] = []
    for one in ordered:
        metric, name = METRICS.get(one["metric"]), one["candidate"]
        value = typical(trial.of(name), metric) if metric else None
        base = typical(trial.of(one["baseline"]), metric) if metric else None
        worries = doubts(trial.of(name))
        says = "; ".join(words for _, words in worries.words)
        # What is invalid as a whole says so itself.
        badges = "".join(f" {badge(*words, says=says)}" for words in worries.short if words[0] != one["verdict"])
        known = has_ratio(one)
        ratios = f'{times(one["ratio"])} <span class="dim">({interval(one)})</span>' if known else ""
        rows.append(
            [
                text(name),
                text(one["metric"]),
                Cell(f"{verdict(one['verdict'])}{badges}{_small(one.get('reason'))}"),
                Cell(ratios, key=one["ratio"], kind="number") if known else "",
                axis.bar(one) if known else "",
                number(value, metric.show(value) if metric else ""),
                number(base, metric.show(base) if metric else ""),
                number(one.get("blocks"), str(one.get("blocks", ""))),
            ]
        )
    if not rows:
        return ""
    first = baseline(document)
    heads = [
        "candidate",
        "metric",
        "verdict",
        f"ratio to {text(first)}",
        axis.head(),
        "measured",
        text(first),
        "blocks",
    ]
    caption = f"compared with {first}, {confidence(document)} intervals; of throughput more is better, of all else less"
    if any(one["metric"] == "cpu per pod" for one in ordered):
        caption += "; CPU of a candidate's own processes"
    return table(caption, heads, rows, sortable=True)


def _findings(trial: Trial) -> str:
    found = findings(trial)
    shown = "".join(
        f'<li><span class="{_KINDS[one.kind]}">{one.word}</span>: <b>{text(one.where)}</b>: {text(one.said)} '
        f'<span class="dim">{text(one.more)}</span></li>'
        for one in found[:_MOST]
    )
    more = f"<li>... and {len(found) - _MOST} more in bench.json</li>" if len(found) > _MOST else ""
    return f'<div class="findings"><p>Wrong or in doubt:</p><ul>{shown}{more}</ul></div>' if found else ""


def _rounds(trial: Trial) -> str:
    rows: list[Row] = []
    for measured in trial.measurements:
        for one in measured.get("rounds") or ():
            latency = one.get("latency") or {}
            doubt = [badge("wrong", f"{len(one['wrong'])} wrong")] if one.get("wrong") else []
            doubt += [badge("invalid", "invalid") + _small("; ".join(one["invalid"]))] if one.get("invalid") else []
            own = one.get("own_metrics")
            agrees = (
                "" if own is None else f"{'agree' if own.get('agrees') else 'differ'}{_small(own.get('explanation'))}"
            )
            rows.append(
                [
                    text(measured["candidate"]),
                    number(one["block"], str(one["block"])),
                    number(one.get("order"), str(one.get("order", ""))),
                    number(one.get("seconds"), duration(one.get("seconds"))),
                    number(one["bound"], f"{one['bound']:,} of {one['pods']:,}"),
                    number(one.get("throughput"), figures(one.get("throughput"))),
                    *(number(latency.get(name), duration(latency.get(name))) for name in ("mean", "p50", "p90", "p99")),
                    agrees,
                    Cell(" ".join(doubt) or "valid"),
                ]
            )
    if not rows:
        return ""
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


def _small(words: str | None) -> str:
    return f'<br><span class="dim small">{text(words)}</span>' if words else ""
