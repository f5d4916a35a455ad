"""The report for people at a terminal: a matrix of clauses by candidates, and each failure with its evidence."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from schedproof.judge.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.table import Table

    from schedproof.judge.verdict import Verdict
    from schedproof.report.result import RunResult

__all__ = ["SYMBOLS", "explain", "print_report"]

SYMBOLS = {
    "passed": ("pass", "green"),
    "failed": ("FAIL", "bold red"),
    "excluded": ("excluded", "yellow"),
    "not-claimed": ("-", "dim"),
    "skipped": ("skip", "yellow"),
    "invalid": ("INVALID", "bold magenta"),
}


def print_report(result: RunResult, console: Console, *, evidence: bool = True) -> None:
    """The evidence of each failure, then the matrix, then where everything is kept."""
    for one in result.candidates.values() if evidence else ():
        for verdict in one.verdicts:
            if verdict.fails_run or verdict.unproved:
                console.rule(f"{one.candidate.name}  {verdict.clause}", style="red" if verdict.fails_run else "magenta")
                _print_verdict(verdict, console)
                command = result.reproduce(one.candidate, verdict.clause)
                console.print(f"reproduce: {command}", soft_wrap=True, highlight=False, markup=False)
        if one.error is not None:
            console.rule(f"{one.candidate.name}  could not be brought up", style="red")
            console.print(str(one.error), markup=False, highlight=False, soft_wrap=True)
    console.print(_matrix(result))
    summary = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.timings.items() if "/" not in name)
    line = f"seed {result.seed}; {summary}" if summary else f"seed {result.seed}"
    console.print(line, highlight=False, soft_wrap=True)
    console.print(f"evidence: {result.folder}", soft_wrap=True, highlight=False, markup=False)


def explain(verdict: Verdict) -> str:
    """A verdict as plain text."""
    from rich.console import Console

    text = io.StringIO()
    _print_verdict(verdict, Console(file=text, width=140, color_system=None))
    return text.getvalue()


def _matrix(result: RunResult) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="clauses by candidates", title_justify="left")
    table.add_column("clause", no_wrap=True)
    for name in result.candidates:
        table.add_column(name)
    verdicts = {(name, v.clause): v for name, one in result.candidates.items() for v in one.verdicts}
    for clause in CATALOGUE:
        row = [verdicts.get((name, clause)) for name in result.candidates]
        if any(row):
            cells = [Text(*SYMBOLS[verdict.outcome]) if verdict else Text("") for verdict in row]
            table.add_row(
                clause,
                *(Text("STALE", "bold red") if v and v.stale else c for v, c in zip(row, cells, strict=True)),
            )
    return table


def _print_verdict(verdict: Verdict, console: Console) -> None:  # noqa: C901 - one part of the evidence after the other
    def line(text: str) -> None:
        console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)

    line(f"{verdict.clause}: {verdict.outcome}")
    line(f"guarantee: {CATALOGUE[verdict.clause].guarantee}")
    line(f"finding:   {verdict.summary}")
    decisions = verdict.evidence.get("decisions", ())
    for decision in decisions[:1]:
        console.print(_decision(decision))
        if decision["query"]:
            line(f"  traffic: {decision['query']} at the decision")
    if len(decisions) > 1:
        line(f"  ({len(decisions) - 1} more decisions are in report.json)")
    for scoring in verdict.evidence.get("scorings", ()):
        _print_scoring(scoring, line)
    if measured := verdict.evidence.get("measured"):
        line("measured:  " + ", ".join(f"{name} {value:g}" for name, value in measured.items()))
    if events := verdict.evidence.get("timeline"):
        line("timeline:")
        for event in events:
            line(f"  {event}")
    for name, tail in verdict.evidence.get("logs", {}).items():
        line(f"last words of {name}:")
        for text in tail:
            line(f"  {text}")


def _print_scoring(scoring: dict[str, Any], line: Callable[[str], None]) -> None:
    replay = f"; again: schedproof replay {scoring['id']}" if scoring["id"] else ""
    line(f"surface {scoring['surface']}: one of {scoring['cases']} cases{replay}")
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
    scorers = sorted({scorer for row in rows for scorer in row["scores"]}, key=lambda s: (s == "total", s))
    # What scored every node alike decided nothing.
    scorers = [s for s in scorers if s == "total" or len({row["scores"].get(s) for row in rows if row["scores"]}) > 1]
    # Text, not str: what is in brackets ("zone In [a, b]") would be taken for markup.
    title = Text(f"{decision['pod']} -> {decision['chosen'] or 'nowhere'}", style="table.title")
    table = Table(title=title, title_justify="left")
    for column in ("node", "feasible", "traffic B/s", *(f"score {s}" for s in scorers), "expected", "chosen"):
        table.add_column(Text(column), justify="right" if column.startswith(("traffic", "score")) else "left")
    for row in rows:
        cells = (
            row["node"], "yes" if row["feasible"] else "no: " + "; ".join(row["reasons"]),
            f"{row['traffic']:,.0f}" if row["traffic"] is not None else "",
            *(f"{row['scores'].get(scorer, '')}" for scorer in scorers),
            "<--" if row["expected"] else "", "<--" if row["chosen"] else "",
        )  # fmt: skip
        table.add_row(*map(Text, cells))
    return table
