"""What `schedproof bench` shows at its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.benchmark.results import BenchDocument
from schedproof.report.bench.document import METRICS, BenchTrial, confidence, doubts, trials, troubles, typical
from schedproof.report.bench.environment import ceiling
from schedproof.report.bench.findings import findings
from schedproof.report.bench.interval import interval
from schedproof.report.bench.units import times

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLES = {"faster": "green", "less": "green", "slower": "bold red", "more": "red", "invalid": "bold magenta"}
_BESIDE = "cpu per pod"
"""Shown beside each mode's main metric; the others are in the files."""
_KINDS = {"wrong": "bold red", "lost": "bold red", "invalid": "bold magenta", "own": "yellow", "unjudged": "yellow"}
_MOST = 8
"""Findings of a trial."""


def print_bench(document: BenchDocument, console: Console, folder: Path | None = None) -> None:
    """The comparisons, what is wrong or in doubt, the gates, and where the report is."""
    found = trials(document)
    if found:
        console.print(_table(document, found))
    for text, style in [*_findings(found), *_closing(document)]:
        console.print(text, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True)
    if folder is not None:
        console.print(f"report: {folder / 'bench.html'}", markup=False, highlight=False, soft_wrap=True)


def _findings(found: list[BenchTrial]) -> Iterator[tuple[str, str]]:
    """Lines, and their style."""
    for trial in found:
        ones = findings(trial)
        for one in ones[:_MOST]:
            said = f"{one.word}: {trial.workload}, {trial.title}, {one.where}: {one.said} {one.more}".rstrip()
            yield said, _KINDS[one.kind]
        if len(ones) > _MOST:
            yield f"... and {len(ones) - _MOST} more in bench.html", ""


def _closing(document: BenchDocument) -> Iterator[tuple[str, str]]:
    for one in document.gates:
        style = {"failed": "bold red", "unproved": "bold magenta"}.get(one.outcome, "")
        yield f"gate {one.outcome}: {one.gate}: {one.detail}", style
    for said in troubles(document):
        yield said, "bold red"
    if (limit := ceiling(document)) is not None:
        yield limit, ""
    if document.run.seed is not None:
        yield f"seed {document.run.seed}", ""


def _table(document: BenchDocument, found: list[BenchTrial]) -> Table:
    """A group of rows for each trial, headed by its name and the baseline's numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    first = document.run.baseline
    title = f"compared with {first}; {confidence(document)} intervals"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    # What does not fit goes on in the next line: nothing is cut off.
    table.add_column("candidate", overflow="fold", no_wrap=True)
    table.add_column("metric", overflow="fold")
    table.add_column("verdict", overflow="fold")
    table.add_column(Text(f"ratio to {first}"), overflow="fold", justify="right")
    table.add_column("measured", overflow="fold", justify="right")
    for trial in found:
        table.add_row(Text(f"{trial.workload}, {trial.title}", "bold"))
        for metric in (trial.lead, METRICS[_BESIDE]):
            if (base := typical(trial.of(first), metric)) is not None:
                table.add_row(Text(f"  {first}"), Text(metric.name), "", "", Text(metric.show(base)))
            for one in (one for one in trial.comparisons if one.metric == metric.name):
                measured = trial.of(one.candidate)
                verdict = Text(one.verdict, _STYLES.get(one.verdict, ""))
                for kind, words in doubts(measured).short:
                    if kind != one.verdict:
                        verdict.append(f" {words}", "bold red" if kind == "wrong" else "magenta")
                value = one.shown_ratio
                if value is None and metric is trial.lead and one.reason:
                    verdict.append(f" ({one.reason})")
                ratios = f"{times(value)} ({interval(one)})" if value is not None else ""
                table.add_row(
                    Text(f"  {one.candidate}"), Text(metric.name), verdict, Text(ratios),
                    Text(metric.show(typical(measured, metric))),
                )  # fmt: skip
        table.add_section()
    return table
