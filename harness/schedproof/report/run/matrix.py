"""The conformance matrix of the HTML reports: clauses by candidates. `templates/run/matrix.html` shows it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from schedproof.candidates.claims import profile_of
from schedproof.judge.catalogue import CATALOGUE
from schedproof.report.counted import counted
from schedproof.report.run.symbols import symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from schedproof.judge.clause import Clause
    from schedproof.judge.verdict import Verdict

__all__ = ["Matrix", "MatrixCell", "MatrixRow", "anchor", "matrix", "told"]


@dataclasses.dataclass(frozen=True)
class MatrixCell:
    """One verdict. `link` is the `anchor` of its section, or "" where there is none."""

    word: str
    kind: str
    summary: str
    link: str

    @property
    def sign(self) -> str:
        """What is seen of it where there is room for one character."""
        return _SIGNS[self.kind]


_SIGNS = {
    "passed": "\N{CHECK MARK}", "failed": "\N{BALLOT X}", "stale": "\N{BALLOT X}", "invalid": "?",
    "skipped": "\N{EN DASH}", "excluded": "!", "not-claimed": "\N{MIDDLE DOT}",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class MatrixRow:
    """A cell for each candidate, in order; None where the candidate has no verdict on the clause."""

    clause: Clause
    cells: tuple[MatrixCell | None, ...]


@dataclasses.dataclass(frozen=True)
class Matrix:
    """The clauses that a candidate claims, and the others."""

    names: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    unclaimed: tuple[Clause, ...]

    @property
    def profiles(self) -> dict[str, list[MatrixRow]]:
        """The rows by profile, in order."""
        found: dict[str, list[MatrixRow]] = {}
        for row in self.rows:
            found.setdefault(profile_of(row.clause.id), []).append(row)
        return found

    @property
    def unclaimed_count(self) -> str:
        return counted(len(self.unclaimed), "clause")


def matrix(candidates: Mapping[str, Iterable[Verdict]], *, linked: bool) -> Matrix:
    """`linked`: a cell leads to the section `anchor` of what `told` says."""
    verdicts = {(name, v.clause): v for name, judged in candidates.items() for v in judged}
    rows, unclaimed = [], []
    for clause in CATALOGUE.values():
        row = {name: verdicts.get((name, clause.id)) for name in candidates}
        if any(verdict is not None and verdict.outcome != "not-claimed" for verdict in row.values()):
            rows.append(MatrixRow(clause, tuple(_cell(name, verdict, linked) for name, verdict in row.items())))
        elif any(row.values()):
            unclaimed.append(clause)
    return Matrix(tuple(candidates), tuple(rows), tuple(unclaimed))


def told(verdict: Verdict) -> bool:
    """Whether a report says more of it than a word."""
    return verdict.outcome in ("failed", "invalid", "excluded") or verdict.stale


def anchor(name: str, verdict: Verdict) -> str:
    """The id of the section that tells of it."""
    return f"{name}-{verdict.clause}".replace("/", "-")


def _cell(name: str, verdict: Verdict | None, linked: bool) -> MatrixCell | None:
    if verdict is None:
        return None
    word, _ = symbol(verdict)
    kind = "stale" if verdict.stale else verdict.outcome
    return MatrixCell(word, kind, verdict.summary, anchor(name, verdict) if linked and told(verdict) else "")
