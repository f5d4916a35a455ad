"""The report for people at a terminal: a matrix of clauses by candidates, each failure with its evidence, the end."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

from schedproof.foundation.console import open_console
from schedproof.judge.catalogue import CATALOGUE
from schedproof.report.counted import counted
from schedproof.report.run.asking import asking
from schedproof.report.run.decisions import scorers
from schedproof.report.run.gaps import gaps

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.table import Table

    from schedproof.judge.verdict import Verdict
    from schedproof.report.run.conclusion import Conclusion
    from schedproof.report.run.result import RunResult

__all__ = ["PASSES_ALONE", "SYMBOLS", "explain", "print_conclusion", "print_report"]

SYMBOLS = {
    "passed": ("pass", "green"),
    "failed": ("FAIL", "bold red"),
    "excluded": ("excluded", "yellow"),
    "not-claimed": ("-", "dim"),
    "skipped": ("skip", "yellow"),
    "invalid": ("INVALID", "bold magenta"),
}


PASSES_ALONE = "if it passes alone, what was tried before it matters"
"""Said of the command that tries a clause among the others of a run."""
_CONCLUSIONS = {
    "PASSED": "bold green", "FAILED": "bold red", "UNPROVED": "bold magenta", "ERROR": "bold red",
    "INTERRUPTED": "bold yellow",
}  # fmt: skip
_WIDTHS = {"node": 40, "feasible": 100}
"""Columns of a node's name, and of the reasons why a pod does not fit, at most: more are on further lines."""
_HEADING = 100
"""Columns of the line that a failure begins with, at most."""


def print_report(result: RunResult, console: Console, *, evidence: bool = True, verbosity: int = 0) -> None:
    """The matrix, then the evidence of each failure, then where everything is kept.

    Args:
        result: of the run.
        console: where to print it.
        evidence: whether to show that of failures.
        verbosity: below 0, only a line for each failure; above, also clauses that are not claimed, and all decisions.
    """
    if verbosity < 0:
        _print_findings(result, console)
        return
    matrix = _matrix(result, everything=verbosity > 0)
    if matrix.row_count:
        console.print(matrix)
    if (unclaimed := _unclaimed(result)) and verbosity == 0:
        console.print(
            f"left out: {counted(unclaimed, 'clause')} that no candidate claims (-v shows them)", highlight=False
        )
    for name, one in result.candidates.items():
        if one.not_asked_for and one.selected:
            left = counted(len(one.not_asked_for), "clause")
            console.print(f"not asked for: {left} that {name} claims as well", highlight=False, markup=False)
    if evidence:
        _print_failures(result, console, verbose=verbosity > 0)
    summary = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.timings.items() if "/" not in name)
    line = f"seed {result.seed}; {summary}" if summary else f"seed {result.seed}"
    console.print(line, highlight=False, soft_wrap=True)
    for name, one in result.candidates.items():
        for asked in asking(one.verdicts):
            console.print(f"{name} on surface {asked}", soft_wrap=True, highlight=False, markup=False)
    console.print(f"evidence: {result.folder}", soft_wrap=True, highlight=False, markup=False)
    for text in gaps(result):
        console.print(text, soft_wrap=True, highlight=False, markup=False)


def _print_failures(result: RunResult, console: Console, *, verbose: bool) -> None:
    for one in result.candidates.values():
        for verdict in one.verdicts:
            if verdict.fails_run or verdict.unproved:
                style = "red" if verdict.fails_run else "magenta"
                _print_heading(f"{one.candidate.name}  {verdict.clause}", console, style)
                _print_verdict(verdict, console, verbose=verbose)
                command = result.reproduce(one.candidate, verdict.clause)
                among = result.reproduce_among(one.candidate, verdict.clause)
                console.print(_again(command, among), end="", soft_wrap=True, highlight=False, markup=False)
        if one.error is not None:
            _print_heading(f"{one.candidate.name}  could not be brought up", console, "red")
            console.print(str(one.error), markup=False, highlight=False, soft_wrap=True)


def print_conclusion(conclusion: Conclusion, console: Console) -> None:
    """The last line."""
    from rich.text import Text

    line = Text.assemble((conclusion.word, _CONCLUSIONS[conclusion.word]), str(conclusion)[len(conclusion.word) :])
    console.print(line, soft_wrap=True, highlight=False)


def _print_findings(result: RunResult, console: Console) -> None:
    for name, one in result.candidates.items():
        for verdict in one.verdicts:
            if verdict.fails_run or verdict.unproved:
                word = "STALE" if verdict.stale else SYMBOLS[verdict.outcome][0]
                line = f"{word} {name} {verdict.clause}: {verdict.summary}"
                console.print(line, soft_wrap=True, highlight=False, markup=False)
        if one.error is not None:
            console.print(str(one.error), soft_wrap=True, highlight=False, markup=False)


def _print_heading(title: str, console: Console, style: str) -> None:
    from rich.rule import Rule

    console.print(Rule(title, style=style), width=min(console.width, _HEADING))


def _again(alone: str, among: str) -> str:
    return f"reproduce: {alone}\n" + (f"{PASSES_ALONE}: {among}\n" if among else "")


def explain(verdict: Verdict, reproduce: str, among: str = "") -> str:
    """A verdict as plain text, with the commands that try its clause again: alone, and after others (`among`)."""
    text = io.StringIO()
    _print_verdict(verdict, open_console(text))
    return text.getvalue() + _again(reproduce, among)


def _unclaimed(result: RunResult) -> int:
    """How many clauses were selected that no candidate claims."""
    claims: dict[str, bool] = {}
    for one in result.candidates.values():
        for verdict in one.verdicts:
            claims[verdict.clause] = claims.get(verdict.clause, False) or verdict.outcome != "not-claimed"
    return sum(not claimed for claimed in claims.values())


def _matrix(result: RunResult, *, everything: bool) -> Table:
    """Of the clauses that some candidate claims, or of `everything` that was selected."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="clauses by candidates", title_justify="left")
    table.add_column("clause", no_wrap=True)
    for name in result.candidates:
        table.add_column(name)
    verdicts = {(name, v.clause): v for name, one in result.candidates.items() for v in one.verdicts}
    for clause in CATALOGUE:
        row = [verdicts.get((name, clause)) for name in result.candidates]
        if any(verdict and (everything or verdict.outcome != "not-claimed") for verdict in row):
            cells = [Text(*SYMBOLS[verdict.outcome]) if verdict else Text("") for verdict in row]
            table.add_row(
                clause,
                *(Text("STALE", "bold red") if v and v.stale else c for v, c in zip(row, cells, strict=True)),
            )
    return table


def _print_verdict(verdict: Verdict, console: Console, *, verbose: bool = False) -> None:  # noqa: C901 - part after part
    def line(text: str) -> None:
        console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)

    line(f"{verdict.clause}: {verdict.outcome}" + (f" ({verdict.code})" if verdict.code else ""))
    line(f"guarantee: {CATALOGUE[verdict.clause].guarantee}")
    line(f"finding:   {verdict.summary}")
    decisions = verdict.evidence.get("decisions", ())
    shown = decisions if verbose else decisions[:1]
    for decision in shown:
        console.print(_decision(decision))
        if decision["query"]:
            line(f"  traffic: {decision['query']} at the decision")
    if len(decisions) > len(shown):
        line(f"  ({len(decisions) - len(shown)} more decisions are in the report)")
    for scoring in verdict.evidence.get("scorings", ()):
        _print_scoring(scoring, line)
    if measured := verdict.evidence.get("measured"):
        line("measured:  " + ", ".join(f"{name} {value:g}" for name, value in measured.items()))
    if events := verdict.evidence.get("timeline"):
        line("timeline:")
        for event in events:
            line(f"  {event}")
    for name, tail in verdict.evidence.get("logs", {}).items():
        line(f"last log lines of {name}:")
        for text in tail:
            line(f"  {text}")


def _print_scoring(scoring: dict[str, Any], line: Callable[[str], None]) -> None:
    replay = f"; again: schedproof replay {scoring['id']}" if scoring["id"] else ""
    holds = ", where the clause holds" if scoring.get("holds") else ""  # in no report of earlier versions
    line(f"surface {scoring['surface']}{holds}: one of {scoring['cases']} cases{replay}")
    for question in scoring["questions"]:
        line(f"  {question['unanswered'] or 'asked and answered:'}")
        for row in question["nodes"][:12]:
            unit = " B/s" if scoring["of"] == "traffic B/s" and row["reading"] != "no sample" else ""
            carries = f"{row['reading']}{unit}"
            line(f"    {row['node']:<24} {carries:>18}   score {', '.join(map(str, row['scores'])) or 'none'}")
        if (more := question["more"] + max(0, len(question["nodes"]) - 12)) > 0:
            line(f"    ... and {more} more nodes")


def _decision(decision: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    rows = decision["nodes"]
    shown = scorers(decision).shown
    # Text, not str: what is in brackets ("zone In [a, b]") would be taken for markup.
    asks = ", ".join(f"{name} {amount}" for requests in decision["requests"] for name, amount in requests.items())
    asked = f" (requests {asks})" if asks else ""
    title = Text(f"{decision['pod']}{asked} -> {decision['chosen'] or 'nowhere'}", style="table.title")
    table = Table(title=title, title_justify="left")
    columns = {
        "node": [row["node"] for row in rows],
        "feasible": ["yes" if row["feasible"] else "no: " + "; ".join(row["reasons"]) for row in rows],
        "traffic B/s": [f"{row['traffic']:,.0f}" if row["traffic"] is not None else "" for row in rows],
        **{f"score {scorer}": [f"{row['scores'].get(scorer, '')}" for row in rows] for scorer in shown},
        "expected": ["<--" if row["expected"] else "" for row in rows],
        "chosen": ["<--" if row["chosen"] else "" for row in rows],
    }
    known = {column: cells for column, cells in columns.items() if any(cells)}
    for column in known:
        justify: Literal["left", "right"] = "right" if column.startswith(("traffic", "score")) else "left"
        table.add_column(Text(column), justify=justify, max_width=_WIDTHS.get(column), overflow="fold")
    for cells in zip(*known.values(), strict=True):
        table.add_row(*map(Text, cells))
    return table
