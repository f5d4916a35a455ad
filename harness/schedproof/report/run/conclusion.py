"""What a run comes to, in one line: the last that a user sees of it."""

from __future__ import annotations

import collections
import dataclasses
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED, EXIT_UNPROVED
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.judge import why_unclaimed
from schedproof.judge.symptoms import KINDS
from schedproof.judge.verdict import Verdict
from schedproof.run.causes import Cause
from schedproof.run.result import RunResult

Word = Literal["PASSED", "FAILED", "UNPROVED", "ERROR", "INTERRUPTED"]
_WORDS: Mapping[int, Word] = {
    EXIT_PASSED: "PASSED", EXIT_FAILED: "FAILED", EXIT_UNPROVED: "UNPROVED", EXIT_ERROR: "ERROR",
    EXIT_INTERRUPTED: "INTERRUPTED",
}  # fmt: skip

_KINDS = (
    "passed", "failed", "stale exclusion", "invalid", "skipped", "not tried", "excluded", "recommended failed",
    "not applicable",
)  # fmt: skip
_LONGEST = 100
"""Characters of the first finding: the report has the whole of it."""


@dataclasses.dataclass(frozen=True)
class Conclusion:
    """`word` says what the exit code says, `text` the rest of the line. `report`: the file to open, if there is one."""

    word: Word
    text: str
    report: Path | None = None

    def __str__(self) -> str:
        return f"{self.word}: {self.text}" + (f"; open {self.report}" if self.report is not None else "")


def counts(result: RunResult) -> dict[str, int]:
    """How many claimed clauses there are of each kind of end, of all candidates; kinds without any are left out.

    Together they are as many as were to be judged: one that turned out not to apply, such as a clause about rights of a
    candidate that sends no request, is counted as well.
    """
    found: collections.Counter[str] = collections.Counter()
    for one in result.candidates.values():
        found["not tried"] += len(one.untried)
        claims = one.candidate.claims
        found.update(_kind(v) for v in one.verdicts if not why_unclaimed(CATALOGUE[v.clause], claims))
    return {kind: found[kind] for kind in _KINDS if found[kind]}


def conclude(result: RunResult, *, report: Path | None = None, interrupted: bool = False) -> Conclusion:
    """What the verdicts of a run come to.

    Args:
        result: of the run, as far as it came.
        report: report.html, where it was written.
        interrupted: whether the user ended the run.
    """
    word = word_for(EXIT_INTERRUPTED if interrupted else result.exit_code)
    found = counts(result)
    claimed, passed = sum(found.values()), found.pop("passed", 0)
    clauses = f"{claimed} claimed clauses"
    if len(result.candidates) > 1:
        clauses += f" of {len(result.candidates)} candidates"
    if not claimed or (word == "ERROR" and result.is_empty):
        parts, found = ["nothing was judged"], {}
    elif word == "FAILED":
        parts = [f"{found.pop('failed', 0) + found.get('stale exclusion', 0)} of {clauses}"]
    elif word == "PASSED":
        parts = [f"{'all' if passed == claimed > 1 else f'{passed} of'} {clauses}"]
    else:
        parts = [f"{passed} of {clauses} passed"]
    if found:
        parts[0] += f" ({', '.join(f'{number} {kind}' for kind, number in found.items())})"
    if word == "ERROR":
        parts.insert(0, _trouble(result))
    if first := next(_deciding(result, word), ""):
        parts.append(f"first: {first}")
    return Conclusion(word, "; ".join(parts), report)


def word_for(exit_code: int) -> Word:
    """What an exit code means."""
    return _WORDS[exit_code]


def _kind(verdict: Verdict) -> str:
    if verdict.stale:
        return "stale exclusion"
    if verdict.outcome == "not-claimed":
        return "not applicable"
    if verdict.outcome == "failed" and verdict.level == "recommended":
        return "recommended failed"
    return verdict.outcome


def _trouble(result: RunResult) -> str:
    if result.error is not None:
        return _shortened(result.error.message)
    names = [name for name, one in result.candidates.items() if one.error is not None]
    return f"{', '.join(names)} could not be brought up"


def _deciding(result: RunResult, word: str) -> Iterator[str]:
    """What made the run end so, the first first."""
    for name, one in result.candidates.items():
        of = f" of {name}" if len(result.candidates) > 1 else ""
        if word != "UNPROVED":
            causes = (cause for cause in one.causes if cause.shown_by.fails_run)
            yield from (f"{cause.shown_by.clause}{of}: {_shortened(_headline(cause))}" for cause in causes)
            continue
        yield from (f"{v.clause}{of}: {_shortened(v.summary)}" for v in one.verdicts if _unproved(v))
        yield from (f"{clause}{of}: not tried" for clause in one.untried)


def _headline(cause: Cause) -> str:
    """What a cause is, where the record shows it; else what was found."""
    return cause.title if cause.kind in KINDS else cause.shown_by.summary


def _unproved(verdict: Verdict) -> bool:
    return verdict.unproved or (verdict.outcome == "skipped" and verdict.level == "required")


def _shortened(text: str) -> str:
    """Its first statement: findings have more behind semicolons."""
    return textwrap.shorten(text.partition("; ")[0], _LONGEST, placeholder=" ...")
