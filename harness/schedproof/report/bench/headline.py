"""Who is faster, by how much, and whether the difference is real: the top of the page."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from schedproof.report.bench.document import baseline, candidates, confidence, doubts, trials, typical
from schedproof.report.bench.interval import has_ratio, interval
from schedproof.report.bench.markup import Cell, Row, badge, cards, table, text, verdict
from schedproof.report.bench.units import ratio, times

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedproof.report.bench.document import Trial

__all__ = ["gates", "headline", "sentences"]


def headline(document: Any) -> str:
    """A sentence for each candidate, then trials by candidates."""
    found = trials(document)
    if not found:
        return "<p>Nothing was measured.</p>"
    said = "".join(f"<li>{markup}</li>" for markup in sentences(document).values())
    return f'<ul class="sentences">{said}</ul>{_grid(document, found)}{_how_to_read(document)}'


def sentences(document: Any) -> dict[str, str]:
    """For each candidate, as markup: in how many trials it was faster and slower, and what is doubted."""
    found, first, said = trials(document), baseline(document), {}
    for name in candidates(document):
        badges = _badges(document, name, found)
        if name != first or badges:
            compared = _compared_in_all(name, first, found) or ("was not compared" if name != first else "")
            said[name] = f"<strong>{text(name)}</strong>: {' '.join([compared, *badges])}"
    return said


def _compared_in_all(name: str, first: str, found: list[Trial]) -> str:
    grouped = collections.defaultdict(list)
    for trial in found:
        if (one := trial.compared(name, trial.lead.name)) is not None:
            grouped[one["verdict"]].append(one)
    total = sum(map(len, grouped.values()))
    parts = []
    for word, ones in grouped.items():
        shown = word in ("faster", "slower")
        than, ratios = (f" than {text(first)}", f" ({_ratios(ones)})") if shown else ("", "")
        parts.append(f"{verdict(word)}{than} in {len(ones)} of {total}{ratios}")
    return "; ".join(parts)


def _badges(document: Any, name: str, found: list[Trial]) -> list[str]:
    """What is wrong with a candidate, however fast it is."""
    worries = [doubts(trial.of(name)) for trial in found]
    badges = []
    if wrong := sum(one.wrong for one in worries):
        badges.append(badge("wrong", f"WRONG: {wrong:,} violation{'s' if wrong > 1 else ''}"))
    if lost := sum(one.unaccounted for one in worries):
        badges.append(badge("wrong", f"{lost:,} pod{'s' if lost > 1 else ''} unaccounted for"))
    if broken := _broken(document, name):
        badges.append(f'<a href="#conformance">{badge("wrong", broken)}</a>')
    return badges


def gates(document: Any) -> str:
    """What CI was asked to fail on."""
    symbols = {"passed": "passed", "failed": "FAILED", "unproved": "UNPROVED"}
    kinds = {"unproved": "invalid"}
    rows: list[Row] = [
        [
            f"<code>{text(one['gate'])}</code>",
            Cell(symbols.get(one["outcome"], text(one["outcome"])), kind=kinds.get(one["outcome"], one["outcome"])),
            text(one.get("detail", "")),
        ]
        for one in document.get("gates") or ()
    ]
    return table("gates: the run fails where one does", ["gate", "outcome", "detail"], rows) if rows else ""


def _broken(document: Any, name: str) -> str:
    """How many required clauses do not hold."""
    for one in document.get("conformance") or ():
        failed = [c for c in one["clauses"] if c["outcome"] == "failed" and c.get("level", "required") == "required"]
        if one["name"] == name and failed:
            return f"FAILS {len(failed)} of {len(one['clauses'])} clauses"
    return ""


def _grid(document: Any, found: list[Trial]) -> str:
    first = baseline(document)
    names = candidates(document)
    rows: list[list[str]] = []
    for trial in found:
        metric = trial.lead
        link = f'<a href="#{trial.anchor}">{text(trial.workload)}</a>'
        row = [f'{link}<br><span class="dim">{text(trial.title)}: {text(metric.name)}</span>']
        for name in names:
            measured = trial.of(name)
            parts = [f"<b>{text(metric.show(typical(measured, metric)))}</b>"] if measured is not None else []
            if name != first and (one := trial.compared(name, metric.name)) is not None:
                parts.append(_compared(one))
            worries = doubts(measured).words
            parts += [badge(kind, words) for kind, words in worries]
            row.append("<br>".join(parts))
        rows.append(row)
    heads = ["workload, mode", *(f"{text(name)}{' (baseline)' if name == first else ''}" for name in names)]
    return cards("each trial's main metric, and its ratio to the baseline", heads, rows)


def _compared(one: Any) -> str:
    if not has_ratio(one):
        return f"{verdict(one['verdict'])}<br><span class='dim'>{text(one.get('reason', ''))}</span>"
    ratios = f'<span class="number">{times(one["ratio"])} <span class="dim">({interval(one)})</span></span>'
    return f"{verdict(one['verdict'])} {ratios}"


def _how_to_read(document: Any) -> str:
    run = document.get("run") or {}
    least = run.get("minimum_effect")
    effect = f", and differs from 1 by {100 * least:g} % or more" if least is not None else ""
    return (
        f'<p class="note">In each cell: the median of the valid rounds; the verdict; candidate divided by '
        f"{text(baseline(document))}, with the {confidence(document)} interval. Rounds are compared block by block. A "
        f"difference is shown only where the interval excludes 1{effect}. A ratio of throughputs above 1 is faster; of "
        "latencies, below 1.</p>"
    )


def _ratios(ones: Iterable[Any]) -> str:
    """By metric: a ratio of throughputs says another thing than one of latencies."""
    grouped = collections.defaultdict(list)
    for one in ones:
        if has_ratio(one):
            grouped[one["metric"]].append(one["ratio"])
    return "; ".join(f"{text(metric)} {_span(ratios)}" for metric, ratios in grouped.items())


def _span(ratios: list[float]) -> str:
    low, high = min(ratios), max(ratios)
    return times(low) if ratio(low) == ratio(high) else f"{times(low)} to {times(high)}"
