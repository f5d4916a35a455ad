"""Prints the summary of `schedproof bench`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.benchmark.results import BenchDocument
from schedproof.report.bench.document import BenchTrial, confidence, doubts, trials, troubles, typical
from schedproof.report.bench.environment import ceiling
from schedproof.report.bench.findings import findings
from schedproof.report.bench.interval import interval
from schedproof.report.bench.units import times

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLES = {"faster": "green", "less": "green", "slower": "bold red", "more": "red", "invalid": "bold magenta"}
_KINDS = {"wrong": "bold red", "lost": "bold red", "invalid": "bold magenta", "own": "yellow", "unlike": "yellow",
          "unjudged": "yellow"}  # fmt: skip
_MOST = 8
"""The most findings of a trial that are printed."""


def print_bench(document: BenchDocument, console: Console, folder: Path | None = None) -> None:
    """Print the comparisons, what is wrong or in doubt, the gates, and the path of the report."""
    found = trials(document)
    if found:
        console.print(_table(document, found))
    for text, style in [*_findings(found), *_closing(document)]:
        console.print(text, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True)
    if folder is not None:
        console.print(f"report: {folder / 'bench.html'}", markup=False, highlight=False, soft_wrap=True)


def _findings(found: list[BenchTrial]) -> Iterator[tuple[str, str]]:
    """Yield lines and their styles."""
    for trial in found:
        in_trial = findings(trial)
        for finding in in_trial[:_MOST]:
            where = f"{trial.workload}, {trial.title}, {finding.where}"
            yield f"{finding.word}: {where}: {finding.text} {finding.more}".rstrip(), _KINDS[finding.kind]
        if len(in_trial) > _MOST:
            yield f"... and {len(in_trial) - _MOST} more in bench.html", ""


def _closing(document: BenchDocument) -> Iterator[tuple[str, str]]:
    for gate in document.gates:
        style = {"failed": "bold red", "unproved": "bold magenta"}.get(gate.outcome, "")
        yield f"gate {gate.outcome}: {gate.gate}: {gate.detail}", style
    for error in troubles(document):
        yield error, "bold red"
    if (limit := ceiling(document)) is not None:
        yield limit, ""
    if document.run.seed is not None:
        yield f"seed {document.run.seed}", ""


def _table(document: BenchDocument, found: list[BenchTrial]) -> Table:
    """Return a group of rows for each trial, headed by its name and the baseline's numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    first = document.run.baseline
    title = f"compared with {first}; {confidence(document)} intervals"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    # Long cells continue on the next line: nothing is cut off.
    table.add_column("candidate", overflow="fold", no_wrap=True)
    table.add_column("metric", overflow="fold")
    table.add_column("verdict", overflow="fold")
    table.add_column(Text(f"ratio to {first}"), overflow="fold", justify="right")
    table.add_column("measured", overflow="fold", justify="right")
    for trial in found:
        table.add_row(Text(f"{trial.workload}, {trial.title}", "bold"))
        for metric in trial.shown:
            if (base := typical(trial.of(first), metric)) is not None:
                table.add_row(Text(f"  {first}"), Text(metric.name), "", "", Text(metric.show(base)))
            for comparison in (comparison for comparison in trial.comparisons if comparison.metric == metric.name):
                measured = trial.of(comparison.candidate)
                verdict = Text(comparison.verdict, _STYLES.get(comparison.verdict, ""))
                for kind, words in doubts(measured).short:
                    if kind != comparison.verdict:
                        verdict.append(f" {words}", "bold red" if kind == "wrong" else "magenta")
                value = comparison.shown_ratio
                overruled = metric is trial.lead and trial.deciding(comparison.candidate) is not comparison
                if ((value is None and metric is trial.lead) or overruled) and comparison.reason:
                    verdict.append(f" ({comparison.reason})")
                ratios = f"{times(value)} ({interval(comparison)})" if value is not None else ""
                table.add_row(
                    Text(f"  {comparison.candidate}"), Text(metric.name), verdict, Text(ratios),
                    Text(metric.show(typical(measured, metric))),
                )  # fmt: skip
        table.add_section()
    return table
