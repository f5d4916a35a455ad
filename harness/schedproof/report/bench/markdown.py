"""Writes summary.md, the summary for a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from schedproof.benchmark.results import BenchDocument, Comparison, GateResult
from schedproof.report.bench.document import (
    BenchTrial,
    Metric,
    candidates,
    confidence,
    doubts,
    trials,
    troubles,
    typical,
)
from schedproof.report.bench.findings import WORDS, findings
from schedproof.report.bench.interval import interval
from schedproof.report.bench.units import duration, times

_ROWS, _LINES = 20, 8
"""The most rows of the table, and the most lines of each list: with the text around them at most 60 lines."""
_SYMBOLS = {"faster": "\N{BLACK UP-POINTING TRIANGLE}", "slower": "\N{BLACK DOWN-POINTING TRIANGLE}"}


def summary(document: BenchDocument) -> str:
    """Return at most 60 lines of Markdown: trials, what is wrong or in doubt, gates; bench.html has the rest."""
    found = trials(document)
    parts = [
        [f"### schedproof bench: {_text(', '.join(candidates(document)) or 'nothing')}"],
        _listed("Incomplete measurements", [_text(said) for said in troubles(document)]),
        _table(document, found),
        _listed("Wrong or doubtful", _worries(found)),
        _listed("Conformance", _broken(document)),
        _listed("Gates", [_gate(gate) for gate in document.gates]),
        [_method(document)],
        [f"`{document.run.command}`"] if document.run.command else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _table(document: BenchDocument, found: Sequence[BenchTrial]) -> list[str]:
    names = candidates(document)
    first = document.run.baseline
    rows = []
    for trial in found[:_ROWS]:
        metric = trial.lead
        cells = [f"{_text(trial.workload)}, {_text(trial.title)}: {metric.name}"]
        for name in names:
            measured = trial.of(name)
            parts = [metric.show(typical(measured, metric))] if measured is not None else []
            if name != first and (comparison := trial.deciding(name)) is not None:
                parts.append(_compared(comparison, metric))
            parts += [f"**{words}**" for _, words in doubts(measured).words]
            cells.append("<br>".join(parts))
        rows.append(f"| {' | '.join(cells)} |")
    if not rows:
        return ["Nothing was measured."]
    head = ["workload, mode", *(f"{_text(name)}{' (baseline)' if name == first else ''}" for name in names)]
    more = [f"\n... and {len(found) - _ROWS} more in bench.html"] if len(found) > _ROWS else []
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows, *more]


def _compared(comparison: Comparison, lead: Metric) -> str:
    if (value := comparison.shown_ratio) is None:
        return f"**{comparison.verdict}**: {_text(comparison.reason)}"
    word = f"{_SYMBOLS.get(comparison.verdict, '')} {comparison.verdict}".strip()
    by = "" if comparison.metric == lead.name else f" by {comparison.metric}"
    return f"**{word}**{by} {times(value)} ({interval(comparison)})"


def _worries(found: Sequence[BenchTrial]) -> list[str]:
    worries = [(trial, finding) for trial in found for finding in findings(trial)]
    worries.sort(key=lambda pair: list(WORDS).index(pair[1].kind))
    return [
        f"**{finding.word}**: "
        + _text(f"{trial.workload}, {trial.title}, {finding.where}: {finding.text} {finding.more}")
        for trial, finding in worries
    ]


def _broken(document: BenchDocument) -> list[str]:
    return [
        f"**{clause.outcome}**: {_text(candidate.name)}, `{clause.clause}`: {_text(clause.summary)}"
        for candidate in document.conformance or ()
        for clause in candidate.clauses
        if clause.outcome in ("failed", "invalid")
    ]


def _gate(gate: GateResult) -> str:
    outcome = gate.outcome if gate.outcome == "passed" else f"**{gate.outcome.upper()}**"
    return f"{outcome}: `{gate.gate}`: {_text(gate.detail)}"


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    more = [f"- ... and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
    return [f"**{title}**", "", *(f"- {line}" for line in lines[:_LINES]), *more]


def _method(document: BenchDocument) -> str:
    run, host = document.run, document.run.environment
    facts = [
        f"ratio to {document.run.baseline} with its {confidence(document)} interval",
        f"the smallest difference that counts is {100 * run.minimum_effect:g} %" if run.minimum_effect else "",
        f"cluster {run.cluster}" if run.cluster else "",
        f"{host.cores} cores" if host.cores else "",
        f"{duration(run.seconds)} in all" if run.seconds else "",
        f"seed {run.seed}" if run.seed is not None else "",
    ]
    return f"<sub>{_text('; '.join(fact for fact in facts if fact))}</sub>"


def _text(value: object) -> str:
    """Escape text of other programs: put it on one line, without markup."""
    line = " ".join(str(value).split())
    for mark in "\\`*_|[]~#":
        line = line.replace(mark, f"\\{mark}")
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
