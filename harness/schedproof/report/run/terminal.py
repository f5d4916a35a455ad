"""Prints the report on a terminal: the page at the end of a run, and with `-v` all verdicts in full before it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.foundation.console import open_console
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.evidence import Scoring
from schedproof.judge.verdict import Verdict
from schedproof.report.run.conclusion import Conclusion, symbol
from schedproof.report.run.decision_rows import decision_table
from schedproof.report.run.page import print_page
from schedproof.report.run.soaked import leak_texts
from schedproof.run.result import RunResult

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PASSES_ALONE = "if it passes alone, its outcome depends on the clauses that were tried before it"
"""Introduces the command that tries a clause after the others of a run."""
_CONCLUSIONS = {
    "PASSED": "bold green", "FAILED": "bold red", "UNPROVED": "bold magenta", "ERROR": "bold red",
    "INTERRUPTED": "bold yellow",
}  # fmt: skip
_HEADING = 100
"""The most columns of the heading of a failure."""


def print_report(result: RunResult, console: Console, *, evidence: bool = True, verbosity: int = 0) -> None:
    """Print the report: a page (`page.print_page`), with more or less detail by `verbosity`.

    Args:
        result: of the run.
        console: where to print.
        evidence: whether to show the evidence of failures.
        verbosity: below 0, only a line for each failure; above, before the page, the matrix of all clauses, and the
            evidence of each failure with all decisions.
    """
    if verbosity < 0:
        _print_findings(result, console)
        return
    if verbosity > 0:
        matrix = _matrix(result)
        if matrix.row_count:
            console.print(matrix)
        if evidence:
            _print_failures(result, console)
    print_page(result, console)


def _print_failures(result: RunResult, console: Console) -> None:
    for tested in result.candidates.values():
        for verdict in tested.verdicts:
            if verdict.did_not_pass:
                style = "red" if verdict.fails_run else "magenta"
                _print_heading(f"{tested.candidate.name}  {verdict.clause}", console, style)
                _print_verdict(verdict, console, verbose=True)
                again = _again(result, tested.candidate, verdict.clause)
                console.print(again, end="", soft_wrap=True, highlight=False, markup=False)
        if tested.error is not None:
            _print_heading(f"{tested.candidate.name}  did not start", console, "red")
            console.print(str(tested.error), markup=False, highlight=False, soft_wrap=True)


def print_conclusion(conclusion: Conclusion, console: Console) -> None:
    """Print the conclusion, as the last line."""
    from rich.text import Text

    line = Text.assemble((conclusion.word, _CONCLUSIONS[conclusion.word]), str(conclusion)[len(conclusion.word) :])
    console.print(line, soft_wrap=True, highlight=False)


def _print_findings(result: RunResult, console: Console) -> None:
    for name, tested in result.candidates.items():
        for verdict in tested.verdicts:
            if verdict.did_not_pass:
                line = f"{symbol(verdict)[0]} {name} {verdict.clause}: {verdict.summary}"
                console.print(line, soft_wrap=True, highlight=False, markup=False)
        if tested.error is not None:
            console.print(str(tested.error), soft_wrap=True, highlight=False, markup=False)
        for text in leak_texts(tested.soaked) if tested.soaked is not None else ():
            console.print(f"LEAK {name}: {text}", soft_wrap=True, highlight=False, markup=False)


def _print_heading(title: str, console: Console, style: str) -> None:
    from rich.rule import Rule

    console.print(Rule(title, style=style), width=min(console.width, _HEADING))


def _again(result: RunResult, candidate: Candidate, clause: str) -> str:
    among = result.reproduce_among(candidate, clause)
    return f"reproduce: {result.reproduce(candidate, clause)}\n" + (f"{PASSES_ALONE}: {among}\n" if among else "")


def explain(result: RunResult, candidate: Candidate, verdict: Verdict) -> str:
    """Return a verdict as plain text, with the commands that repeat its clause: alone, and after others."""
    text = io.StringIO()
    _print_verdict(verdict, open_console(text))
    return text.getvalue() + _again(result, candidate, verdict.clause)


def _matrix(result: RunResult) -> Table:
    """Build the table of the outcomes of all selected clauses."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="clauses by candidates", title_justify="left")
    table.add_column("clause", no_wrap=True)
    for name in result.candidates:
        table.add_column(name)
    verdicts = {(name, v.clause): v for name, tested in result.candidates.items() for v in tested.verdicts}
    for clause in CATALOGUE:
        row = [verdicts.get((name, clause)) for name in result.candidates]
        if any(row):
            cells = [Text(*symbol(verdict)) if verdict else Text("") for verdict in row]
            table.add_row(clause, *cells)
    return table


def _print_verdict(verdict: Verdict, console: Console, *, verbose: bool = False) -> None:  # noqa: C901 - part after part
    def line(text: str) -> None:
        console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)

    line(f"{verdict.clause}: {verdict.outcome}" + (f" ({verdict.code})" if verdict.code else ""))
    line(f"guarantee: {CATALOGUE[verdict.clause].guarantee}")
    line(f"finding:   {verdict.summary}")
    decisions = verdict.evidence.decisions
    shown = decisions if verbose else decisions[:1]
    for decision in shown:
        console.print(decision_table(decision))
        if decision.query:
            line(f"  traffic: {decision.query} at the decision")
    if len(decisions) > len(shown):
        line(f"  ({len(decisions) - len(shown)} more decisions are in the report)")
    for scoring in verdict.evidence.scorings:
        _print_scoring(scoring, line)
    if measured := verdict.evidence.measured:
        line("measured:  " + ", ".join(f"{name} {value:g}" for name, value in measured.items()))
    if events := verdict.evidence.timeline:
        line("timeline:")
        for event in events:
            line(f"  {event}")
    for name, tail in verdict.evidence.logs.items():
        line(f"last log lines of {name}:")
        for text in tail:
            line(f"  {text}")


def _print_scoring(scoring: Scoring, line: Callable[[str], None]) -> None:
    replay = f"; repeat it: schedproof replay {scoring.id}" if scoring.id else ""
    holds = ", where the clause holds" if scoring.holds else ""
    line(f"surface {scoring.surface}{holds}: one of {scoring.cases} cases{replay}")
    for question in scoring.questions:
        line(f"  {question.unanswered or 'asked and answered:'}")
        for row in question.nodes[:12]:
            unit = " B/s" if scoring.of == "traffic B/s" and row.reading != "no sample" else ""
            carries = f"{row.reading}{unit}"
            line(f"    {row.node:<24} {carries:>18}   score {', '.join(map(str, row.scores)) or 'none'}")
        if (more := question.more + max(0, len(question.nodes) - 12)) > 0:
            line(f"    ... and {more} more nodes")
