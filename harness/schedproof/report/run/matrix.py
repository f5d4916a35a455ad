"""Builds the conformance matrix of the HTML reports: clauses by candidates. `templates/run/matrix.html` shows it."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping

from schedproof.candidate.profiles import profile_of
from schedproof.foundation.counted import counted
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import Clause
from schedproof.judge.verdict import ClauseOutcome
from schedproof.report.run.conclusion import symbol


@dataclasses.dataclass(frozen=True)
class MatrixCell:
    """The cell of a verdict. `link` is the `anchor` of its section, or "" if it has none."""

    word: str
    kind: str
    summary: str
    link: str

    @property
    def sign(self) -> str:
        """The cell as a single character, for narrow layouts."""
        return _SIGNS[self.kind]


_SIGNS = {
    "failed": "\N{BALLOT X}", "stale": "\N{BALLOT X}", "invalid": "?", "excluded": "!", "skipped": "\N{EN DASH}",
    "passed": "\N{CHECK MARK}", "not-claimed": "\N{MIDDLE DOT}",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class MatrixRow:
    """The row of a clause: a cell for each candidate, in order; None if the candidate has no verdict on the clause."""

    clause: Clause
    cells: tuple[MatrixCell | None, ...]

    @property
    def anchor(self) -> str:
        """The id of the row. The slash keeps it apart from ids of sections, which begin with a candidate's name."""
        return f"/{self.clause.id}"

    @property
    def profile(self) -> str:
        return profile_of(self.clause.id)

    @property
    def outcomes(self) -> str:
        """The kinds of its cells, separated by blanks, for filters."""
        return " ".join(dict.fromkeys(cell.kind for cell in self.cells if cell is not None))


@dataclasses.dataclass(frozen=True)
class Matrix:
    """The rows of the clauses that any candidate claims, and the clauses that none claims."""

    names: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    unclaimed: tuple[Clause, ...]

    @property
    def profiles(self) -> dict[str, list[MatrixRow]]:
        """The rows by profile, in order."""
        found: dict[str, list[MatrixRow]] = {}
        for row in self.rows:
            found.setdefault(row.profile, []).append(row)
        return found

    @property
    def outcomes(self) -> dict[str, int]:
        """The number of cells of each kind that occurs, the worst first."""
        kinds = collections.Counter(cell.kind for row in self.rows for cell in row.cells if cell is not None)
        return {kind: kinds[kind] for kind in _SIGNS if kinds[kind]}

    @property
    def signs(self) -> dict[str, str]:
        """The signs of the kinds of cells that occur, for the legend."""
        return {kind: _SIGNS[kind] for kind in self.outcomes}

    def claims(self, profile: str, place: int) -> list[MatrixCell]:
        """Return the cells of the clauses of a profile that a candidate claims; `place`: the candidate's column."""
        cells = (row.cells[place] for row in self.profiles[profile])
        return [cell for cell in cells if cell is not None and cell.kind != "not-claimed"]

    def passed(self, profile: str, place: int) -> str:
        """Return how many of the claimed clauses of a profile a candidate passed, such as "3 of 4"."""
        if claimed := self.claims(profile, place):
            return f"{sum(cell.kind == 'passed' for cell in claimed)} of {len(claimed)}"
        return "not claimed" if any(row.cells[place] for row in self.profiles[profile]) else "not tried"

    @property
    def unclaimed_count(self) -> str:
        return counted(len(self.unclaimed), "clause")


def matrix(candidates: Mapping[str, Iterable[ClauseOutcome]], *, linked: bool) -> Matrix:
    """Build the matrix. `linked`: cells link to the `anchor` of their section, if the verdict has one."""
    verdicts = {(name, v.clause): v for name, judged in candidates.items() for v in judged}
    rows, unclaimed = [], []
    for clause in CATALOGUE.values():
        row = {name: verdicts.get((name, clause.id)) for name in candidates}
        if any(verdict is not None and verdict.outcome != "not-claimed" for verdict in row.values()):
            rows.append(MatrixRow(clause, tuple(_cell(name, verdict, linked) for name, verdict in row.items())))
        elif any(row.values()):
            unclaimed.append(clause)
    return Matrix(tuple(candidates), tuple(rows), tuple(unclaimed))


def has_section(verdict: ClauseOutcome) -> bool:
    """Whether a report has a section about the verdict."""
    return verdict.outcome in ("failed", "invalid", "excluded") or verdict.stale


def kind_of(verdict: ClauseOutcome) -> str:
    """Return the CSS class of a verdict's cell, which filters use too."""
    return "stale" if verdict.stale else verdict.outcome


def anchor(name: str, verdict: ClauseOutcome) -> str:
    """Return the id of a verdict's section."""
    return f"{name}-{verdict.clause}".replace("/", "-")


def _cell(name: str, verdict: ClauseOutcome | None, linked: bool) -> MatrixCell | None:
    if verdict is None:
        return None
    word, _ = symbol(verdict)
    return MatrixCell(
        word, kind_of(verdict), verdict.summary, anchor(name, verdict) if linked and has_section(verdict) else ""
    )
