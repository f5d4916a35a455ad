"""The top of the page: which candidate is faster, by how much, and whether the difference is real."""

from __future__ import annotations

import collections
from collections.abc import Iterable

from markupsafe import Markup

from schedproof.benchmark.results import BenchDocument, Comparison
from schedproof.report import templating
from schedproof.report.bench.document import BenchTrial, Metric, candidates, confidence, doubts, trials, typical
from schedproof.report.bench.interval import interval
from schedproof.report.bench.markup import Cell, TableRow, badge, cards, table, verdict
from schedproof.report.bench.units import ratio, times

_LINK = Markup('<a href="#{}">{}</a>')
_DIM = Markup('<span class="dim">{}</span>')
_BREAK = Markup("<br>")


def headline(document: BenchDocument) -> Markup:
    """Show a sentence for each candidate, then a table of trials by candidates."""
    found = trials(document)
    return templating.render(
        "bench/headline.html",
        sentences=_sentences(document, found),
        grid=_grid(document, found) if found else "",
        baseline=document.run.baseline,
        confidence=confidence(document),
        minimum_effect=document.run.minimum_effect,
    )


def _sentences(document: BenchDocument, found: list[BenchTrial]) -> dict[str, Markup]:
    """Return for each candidate in how many trials it was faster or slower, and badges for what is wrong."""
    first, sentences = document.run.baseline, {}
    for name in candidates(document):
        badges = _badges(document, name, found)
        if name != first or badges:
            compared = _compared_in_all(name, first, found) or ("was not compared" if name != first else "")
            sentences[name] = Markup(" ").join([compared, *badges])
    return sentences


def _compared_in_all(name: str, first: str, found: list[BenchTrial]) -> Markup:
    grouped = collections.defaultdict(list)
    for trial in found:
        if (comparison := trial.deciding(name)) is not None:
            grouped[comparison.verdict].append(comparison)
    total = sum(map(len, grouped.values()))
    parts = []
    for word, comparisons in grouped.items():
        shown = word in ("faster", "slower")
        than, ratios = (f" than {first}", f" ({_ratios(comparisons)})") if shown else ("", "")
        parts.append(verdict(word) + f"{than} in {len(comparisons)} of {total}{ratios}")
    return Markup("; ").join(parts)


def _badges(document: BenchDocument, name: str, found: list[BenchTrial]) -> list[Markup]:
    """Return badges for what is wrong with a candidate, regardless of its speed."""
    worries = [doubts(trial.of(name)) for trial in found]
    badges = []
    if wrong := sum(doubt.wrong for doubt in worries):
        badges.append(badge("wrong", f"WRONG: {wrong:,} violation{'s' if wrong > 1 else ''}"))
    if lost := sum(doubt.unaccounted for doubt in worries):
        badges.append(badge("wrong", f"{lost:,} pod{'s' if lost > 1 else ''} unaccounted for"))
    if broken := _broken(document, name):
        badges.append(_LINK.format("conformance", badge("wrong", broken)))
    return badges


def gates(document: BenchDocument) -> Markup:
    """Show the outcomes of the gates."""
    symbols = {"passed": "passed", "failed": "FAILED", "unproved": "UNPROVED"}
    kinds = {"unproved": "invalid"}
    rows: list[TableRow] = [
        [
            Markup("<code>{}</code>").format(gate.gate),
            Cell(symbols[gate.outcome], kind=kinds.get(gate.outcome, gate.outcome)),
            gate.detail,
        ]
        for gate in document.gates
    ]
    return table("gates: the run fails if any gate fails", ["gate", "outcome", "detail"], rows) if rows else Markup()


def _broken(document: BenchDocument, name: str) -> str:
    """Describe how many required clauses failed; "" if none did."""
    for candidate in document.conformance or ():
        required = [clause for clause in candidate.clauses if clause.level == "required"]
        failed = sum(clause.outcome == "failed" for clause in required)
        if candidate.name == name and failed:
            return f"FAILS {failed} of {len(required)} required clauses"
    return ""


def _grid(document: BenchDocument, found: list[BenchTrial]) -> Markup:
    first = document.run.baseline
    names = candidates(document)
    rows: list[list[Markup]] = []
    for trial in found:
        metric = trial.lead
        link = _LINK.format(trial.anchor, trial.workload)
        row = [link + _BREAK + _DIM.format(f"{trial.title}: {metric.name}")]
        for name in names:
            measured = trial.of(name)
            parts = [Markup("<b>{}</b>").format(metric.show(typical(measured, metric)))] if measured is not None else []
            if name != first and (comparison := trial.deciding(name)) is not None:
                parts.append(_compared(comparison, metric))
            worries = doubts(measured).words
            parts += [badge(kind, words) for kind, words in worries]
            row.append(_BREAK.join(parts))
        rows.append(row)
    heads = ["workload, mode", *(f"{name}{' (baseline)' if name == first else ''}" for name in names)]
    return cards("each trial's main metric, and its ratio to the baseline", heads, rows)


def _compared(comparison: Comparison, lead: Metric) -> Markup:
    if (value := comparison.shown_ratio) is None:
        return verdict(comparison.verdict) + _BREAK + _DIM.format(comparison.reason)
    by = "" if comparison.metric == lead.name else f" by {comparison.metric}"
    ratios = Markup('<span class="number">{} {}</span>').format(times(value), _DIM.format(f"({interval(comparison)})"))
    return verdict(comparison.verdict) + by + " " + ratios


def _ratios(comparisons: Iterable[Comparison]) -> str:
    """Format the range of ratios by metric, because ratios of throughputs and of latencies cannot be mixed."""
    grouped = collections.defaultdict(list)
    for comparison in comparisons:
        if (value := comparison.shown_ratio) is not None:
            grouped[comparison.metric].append(value)
    return "; ".join(f"{metric} {_span(ratios)}" for metric, ratios in grouped.items())


def _span(ratios: list[float]) -> str:
    low, high = min(ratios), max(ratios)
    return times(low) if ratio(low) == ratio(high) else f"{times(low)} to {times(high)}"
