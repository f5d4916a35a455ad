"""Prints the page at the end of a run on a terminal.

It shows how many clauses of each profile passed; the first causes of failures, in the order in which to fix them; a
line for each clause that did not pass; gaps of the run; and the folder with the evidence.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from schedproof.foundation.counted import counted
from schedproof.judge.causes import Cause
from schedproof.judge.verdict import Verdict
from schedproof.report.run.asking import search_speeds
from schedproof.report.run.conclusion import symbol
from schedproof.report.run.decision_rows import decision_table, decision_title
from schedproof.report.run.gaps import gaps
from schedproof.report.run.soaked import COLUMNS, heading, note, rows
from schedproof.run.leaks import SoakReport
from schedproof.run.result import CandidateResult, RunResult

if TYPE_CHECKING:
    from rich.console import Console

_Failing = Sequence[tuple[CandidateResult, Sequence[Cause]]]
"""Candidates with clauses that did not pass, each with its causes."""


LINES = 98
"""The most lines of the page; the conclusion below it takes one or two more."""
_WIDTH = 120
"""The most columns, also without a terminal."""
_CAUSES = 5
_ROWS = 4
"""The most nodes of a decision that are shown: the chosen node, the expected nodes, and others."""
_TEXT = 3
"""The most lines of a cause's text."""
_ERROR = 40
"""The most lines of the error of a candidate that did not start, such as a compiler's output."""
_GAPS = 12


def print_page(result: RunResult, console: Console) -> None:
    """Print the page, in the console's colours and width."""
    console.width = min(console.width, _WIDTH)
    failing = [
        (tested, tested.causes)
        for tested in result.candidates.values()
        if tested.error is not None or any(verdict.did_not_pass for verdict in tested.verdicts)
    ]
    head = _captured(console, lambda: _print_profiles(result, console))
    foot = _captured(console, lambda: _print_foot(result, console))
    clauses = _captured(console, lambda: _print_clauses(failing, console))
    room = LINES - len(head) - len(foot)
    causes = _causes(result, failing, console, tables=True)
    if len(causes) + len(clauses) > room:
        causes = _causes(result, failing, console, tables=False)[:room]
    if len(clauses) > (left := room - len(causes)):
        shown = max(0, left - 1)
        hidden = counted(len(clauses) - shown, "clause")
        clauses = [*clauses[:shown], f"... and {hidden} more: -v, or the report, shows them"][:left]
    for line in [*head, *causes, *clauses, *foot]:
        console.out(line.rstrip(), highlight=False)


def _causes(result: RunResult, failing: _Failing, console: Console, *, tables: bool) -> list[str]:
    """Return the lines of each candidate's first causes; `tables`: show all decisions, not only the first."""
    most = max(1, _CAUSES // max(1, len(failing)))

    def print_all() -> None:
        for tested, causes in failing:
            _print_candidate(result, tested, causes, console, most, tables=tables)

    return _captured(console, print_all)


def _captured(console: Console, print_it: Callable[[], object]) -> list[str]:
    with console.capture() as capture:
        print_it()
    return capture.get().splitlines()


def _say(console: Console, text: str, *, indent: int = 0, most: int = 0, style: str = "") -> None:
    """Print a paragraph, wrapped to the console's width."""
    for line in _wrapped(console, text, indent=indent, most=most):
        console.print(line, style=style or None, highlight=False, markup=False, emoji=False)


def _wrapped(console: Console, text: str, *, indent: int = 0, most: int = 0) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), console.width - 1, initial_indent=" " * indent, subsequent_indent=" " * indent,
        break_on_hyphens=False, max_lines=most or None, placeholder=" ...",
    )  # fmt: skip


def _print_profiles(result: RunResult, console: Console) -> None:
    """Print how many of each candidate's claimed clauses passed, by profile."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in result.candidates:
        table.add_column(name, justify="right", overflow="fold")
    found = {name: _by_profile(tested.verdicts) for name, tested in result.candidates.items()}
    for profile in dict.fromkeys(profile for counts in found.values() for profile in counts):
        cells = []
        for counts in found.values():
            passed, claimed = counts.get(profile, (0, 0))
            style = "" if not claimed else "green" if passed == claimed else "yellow"
            cells.append(Text(f"{passed} of {claimed}" if claimed else "-", style))
        table.add_row(profile, *cells)
    if table.row_count:
        console.print("clauses that passed, of those that are claimed:")
        console.print(table)
    for name, tested in result.candidates.items():
        if tested.not_asked_for and tested.selected:
            _say(console, f"not selected: {counted(len(tested.not_asked_for), 'clause')} that {name} also claims")


def _by_profile(verdicts: Iterable[Verdict]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for verdict in verdicts:
        if verdict.outcome != "not-claimed":
            passed, claimed = counts.get(verdict.profile, (0, 0))
            counts[verdict.profile] = passed + (verdict.outcome == "passed"), claimed + 1
    return counts


def _print_candidate(
    result: RunResult, tested: CandidateResult, causes: Sequence[Cause], console: Console, most: int, *, tables: bool
) -> None:
    from rich.rule import Rule

    what = counted(len(causes), "cause") + (
        f", the first {most} in the order in which to fix them" if len(causes) > most else ""
    )
    console.print(Rule(f"{tested.candidate.name}: {'did not start' if tested.error else what}", style="red"))
    if tested.error is not None:
        for line in str(tested.error).splitlines()[:_ERROR]:  # unwrapped, so that paths can be copied
            console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)
    for number, cause in enumerate(causes[:most], 1):
        _print_cause(result, tested, cause, console, number=number, table=tables or number == 1)


def _print_cause(
    result: RunResult, tested: CandidateResult, cause: Cause, console: Console, *, number: int, table: bool
) -> None:
    from rich.padding import Padding

    shown = cause.shown_by
    _say(console, f"{number}. {cause.title}", style="bold")
    _say(console, cause.text, indent=3, most=_TEXT)
    if table and (decision := cause.decision) is not None:
        _say(console, decision_title(decision), indent=3)
        console.print(Padding(decision_table(decision, rows=_ROWS), (0, 0, 0, 3)))
    for scoring in [search for search in shown.evidence.scorings if search.id and not search.holds][:1]:
        _say(console, f"surface {scoring.surface}; repeat this case: schedproof replay {scoring.id}", indent=3)
    if world := shown.evidence.world:
        _say(console, f"smallest world: {world.words}", indent=3, most=_TEXT)
        _say(console, f"repeat this world: schedproof replay {world.id}; for kubectl: {world.file}", indent=3)
    _say(console, f"guarantee: {cause.guarantee}", indent=3)
    _say(console, f"fix: {cause.remedy}", indent=3)
    for line in _command(result.reproduce(tested.candidate, shown.clause), console.width - 4):
        console.print(f"   {line}", highlight=False, markup=False, emoji=False)
    if len(cause.verdicts) > 1:
        _say(console, f"{counted(len(cause.verdicts), 'clause')}: {', '.join(cause.clauses)}", indent=3, most=2)


def _command(command: str, width: int) -> Iterator[str]:
    """Split a command into lines that end in backslashes, between words."""
    line = ""
    for word in map(shlex.quote, shlex.split(command)):
        if line and len(line) + len(word) > width - 2:
            yield f"{line} \\"
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield line


def _print_clauses(failing: _Failing, console: Console) -> None:
    """Print a line for each clause that did not pass: its code, and the numbers of its first causes."""
    for tested, causes in failing:
        numbers: dict[str, list[str]] = {}
        for number, cause in enumerate(causes, 1):
            for clause in cause.clauses:
                numbers.setdefault(clause, []).append(str(number))
        of = f" {tested.candidate.name}" if len(failing) > 1 else ""
        for verdict in (verdict for verdict in tested.verdicts if verdict.did_not_pass):
            word, style = symbol(verdict)
            because = f"  cause {', '.join(numbers[verdict.clause][:3])}" if len(causes) > 1 else ""
            line = f"[{style}]{word:>8}[/]{of}  {verdict.clause}  [dim]{verdict.code}{because}[/]"
            console.print(line, highlight=False, emoji=False, no_wrap=True, overflow="ellipsis")


def _print_foot(result: RunResult, console: Console) -> None:
    summary = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.timings.items() if "/" not in name)
    _say(console, f"seed {result.seed}; {summary}" if summary else f"seed {result.seed}", most=2)
    for name, tested in result.candidates.items():
        for speed in search_speeds(tested.verdicts):
            _say(console, f"{name} on surface {speed}")
        if (soaked := tested.soaked) is not None:
            _print_soak(result, tested, soaked, console)
    console.print(f"evidence: {result.folder}", soft_wrap=True, highlight=False, markup=False)
    lines = [line for text in gaps(result) for line in _wrapped(console, text, indent=len(text) - len(text.lstrip()))]
    for line in lines if len(lines) <= _GAPS else [*lines[: _GAPS - 1], "  ... -v shows them all"]:
        console.print(line, highlight=False, markup=False, emoji=False)


def _print_soak(result: RunResult, tested: CandidateResult, soaked: SoakReport, console: Console) -> None:
    from rich.table import Table

    style = "red" if soaked.leaks else ""
    _say(console, heading(tested.candidate.name, soaked), style=style)
    for process in dict.fromkeys(growth.process for growth in soaked.growths):
        table = Table(box=None, pad_edge=False, title=process, title_justify="left", title_style="")
        for number, column in enumerate(COLUMNS[1:]):
            table.add_column(column, justify="right" if 0 < number < len(COLUMNS) - 2 else "left", overflow="fold")
        for growth, row in zip(soaked.growths, rows(soaked), strict=True):
            if growth.process == process:
                table.add_row(*row[1:], style="red" if growth.leaks else None)
        console.print(table)
    if soaked.growths:
        _say(console, note(soaked))
    if soaked.leaks:
        for line in _command(result.soak_again(tested.candidate), console.width - 4):
            console.print(f"   {line}", highlight=False, markup=False, emoji=False)
