"""Compares two runs of a candidate: failures that are fixed, new, or unchanged."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import pydantic

from schedproof.documents.part import first_wrong
from schedproof.foundation.counted import counted
from schedproof.foundation.errors import UsageError
from schedproof.run.document import CandidateReport, CauseReport, Report

_LISTED = 12
"""The most clauses that a line names."""


@dataclasses.dataclass(frozen=True)
class Changes:
    """The changes of a candidate between two runs. Clauses that the later run did not try are in none of the fields."""

    name: str
    mended: tuple[str, ...]
    """Clauses that pass now and did not pass before."""
    new: tuple[str, ...]
    """Clauses that do not pass now, and passed or were not tried before."""
    still: tuple[str, ...]
    """Clauses that did not pass in either run."""
    gone: tuple[str, ...]
    """Titles of causes of the earlier run only."""
    causes: tuple[str, ...]
    """Titles of causes of the later run only."""


def load_report(path: Path) -> Report:
    """Read a report.json, given by its path or a run's folder.

    Raises:
        UsageError: the file cannot be read, or is not a report.json.
    """
    file = path / "report.json" if path.is_dir() else path
    try:
        return Report.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}", remedy="name the folder of a run, or its report.json; a killed run has none"
        ) from error
    except pydantic.ValidationError as error:
        raise UsageError(
            f"{file}: expected a report.json of a run: {first_wrong(error)}",
            remedy="name the folder of a run; `schedproof judge DIR --report DIR` writes a new one",
        ) from error


def changes(before: Report, after: Report) -> list[Changes]:
    """Compare each candidate that both runs have; if each run has a single candidate, their names may differ."""
    earlier = {candidate.name: candidate for candidate in before.candidates}
    if len(before.candidates) == len(after.candidates) == 1:
        earlier = {after.candidates[0].name: before.candidates[0]}
    return [_changes(earlier[candidate.name], candidate) for candidate in after.candidates if candidate.name in earlier]


def _changes(before: CandidateReport, after: CandidateReport) -> Changes:
    earlier = {clause.clause: clause for clause in before.clauses}
    tried = [clause for clause in after.clauses if clause.outcome not in ("skipped", "not-claimed")]
    failing = {clause.clause for clause in tried if clause.did_not_pass}
    failed = {clause.clause for clause in before.clauses if clause.did_not_pass}
    causes, were = _titles(after.causes), _titles(before.causes)
    whole = {clause.clause for clause in tried} >= failed
    return Changes(
        after.name,
        mended=tuple(c.clause for c in tried if c.clause in failed and c.clause not in failing),
        new=tuple(c.clause for c in tried if c.clause in failing and c.clause not in failed and c.clause in earlier),
        still=tuple(c.clause for c in tried if c.clause in failing and c.clause in failed),
        gone=tuple(title for key, title in were.items() if key not in causes) if whole else (),
        causes=tuple(title for key, title in causes.items() if key not in were),
    )


def _titles(causes: Sequence[CauseReport]) -> dict[tuple[str, str], str]:
    return {(cause.kind, cause.about): cause.title for cause in causes}


def describe_changes(changed: Changes) -> Iterator[str]:
    """Yield a line for each kind of change."""
    if changed.mended:
        yield f"{changed.name}: fixed: {_listed(changed.mended)}"
    if changed.new:
        yield f"{changed.name}: new: {_listed(changed.new)}"
    if changed.still:
        yield f"{changed.name}: still failing: {_listed(changed.still)}"
    yield from (f"{changed.name}: fixed cause: {title}" for title in changed.gone)
    yield from (f"{changed.name}: new cause: {title}" for title in changed.causes)
    if not (changed.mended or changed.new):
        yield f"{changed.name}: no clause has a different outcome"


def _listed(clauses: Sequence[str]) -> str:
    more = f", and {len(clauses) - _LISTED} more" if len(clauses) > _LISTED else ""
    return f"{counted(len(clauses), 'clause')}: {', '.join(clauses[:_LISTED])}{more}"
