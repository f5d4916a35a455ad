"""The words for outcomes, and the conclusion of a run: the last line of its output."""

from __future__ import annotations

import collections
import dataclasses
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_PASSED, EXIT_UNPROVED
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.causes import Cause
from schedproof.judge.judge import why_unclaimed
from schedproof.judge.symptoms import KINDS
from schedproof.judge.verdict import ClauseOutcome, Verdict
from schedproof.report.run.soaked import finding, leak_texts
from schedproof.run.result import RunResult

Word = Literal["PASSED", "FAILED", "UNPROVED", "ERROR", "INTERRUPTED"]
_WORDS: Mapping[int, Word] = {
    EXIT_PASSED: "PASSED", EXIT_FAILED: "FAILED", EXIT_UNPROVED: "UNPROVED", EXIT_ERROR: "ERROR",
    EXIT_INTERRUPTED: "INTERRUPTED",
}  # fmt: skip

_SYMBOLS = {
    "passed": ("pass", "green"),
    "failed": ("FAIL", "bold red"),
    "excluded": ("excluded", "yellow"),
    "not-claimed": ("-", "dim"),
    "skipped": ("skip", "yellow"),
    "invalid": ("INVALID", "bold magenta"),
}
"""By outcome: the word, and its style on a terminal."""
_KINDS = (
    "passed", "failed", "stale exclusion", "invalid", "skipped", "not tried", "excluded", "recommended failed",
    "not applicable",
)  # fmt: skip
_LONGEST = 100
"""The most characters of the first finding; the report has all of it."""


@dataclasses.dataclass(frozen=True)
class Conclusion:
    """A conclusion. `word` stands for the exit code, `text` is the rest of the line, `report` the file to open."""

    word: Word
    text: str
    report: Path | None = None

    def __str__(self) -> str:
        return f"{self.word}: {self.text}" + (f"; open {self.report}" if self.report is not None else "")


def symbol(verdict: ClauseOutcome) -> tuple[str, str]:
    """Return the word and the style of a verdict."""
    return ("STALE", "bold red") if verdict.stale else _SYMBOLS[verdict.outcome]


def counts(result: RunResult) -> dict[str, int]:
    """Count the claimed clauses of all candidates by kind of outcome, without kinds that do not occur.

    The counts add up to the number of clauses that were to be judged. Clauses that turned out not to apply count too,
    such as a clause about the rights of a candidate that sends no requests.
    """
    found: collections.Counter[str] = collections.Counter()
    for tested in result.candidates.values():
        found["not tried"] += len(tested.untried)
        claims = tested.candidate.claims
        found.update(_kind(v) for v in tested.verdicts if not why_unclaimed(CATALOGUE[v.clause], claims))
    return {kind: found[kind] for kind in _KINDS if found[kind]}


def conclude(result: RunResult, *, report: Path | None = None, interrupted: bool = False) -> Conclusion:
    """Sum up the verdicts of a run.

    Args:
        result: the results, possibly incomplete.
        report: the path of report.html; None if it was not written.
        interrupted: whether the user interrupted the run.
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
    parts += _soaks(result)
    if word == "ERROR":
        parts.insert(0, _trouble(result))
    if first := next(_deciding(result, word), ""):
        parts.append(f"first: {first}")
    return Conclusion(word, "; ".join(parts), report)


def word_for(exit_code: int) -> Word:
    """Return the word for an exit code."""
    return _WORDS[exit_code]


def _soaks(result: RunResult) -> Iterator[str]:
    """Yield what a soak shows about leaks."""
    for tested in result.candidates.values():
        if (soaked := tested.soaked) is not None:
            found = f"{finding(soaked)} in {soaked.seconds / 60:.1f} min"
            yield found if soaked.leaks else soaked.unproved or found


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
    names = [name for name, tested in result.candidates.items() if tested.error is not None]
    return f"{', '.join(names)} did not start"


def _deciding(result: RunResult, word: str) -> Iterator[str]:
    """Yield the findings that decided the run's exit code, in order."""
    for name, tested in result.candidates.items():
        of = f" of {name}" if len(result.candidates) > 1 else ""
        if word != "UNPROVED":
            causes = (cause for cause in tested.causes if cause.shown_by.fails_run)
            yield from (f"{cause.shown_by.clause}{of}: {_shortened(_headline(cause))}" for cause in causes)
            yield from leak_texts(tested.soaked) if tested.soaked is not None else ()
            continue
        # What was tried comes before what depends on it.
        unproved = sorted(filter(_unproved, tested.verdicts), key=lambda verdict: verdict.outcome == "skipped")
        yield from (f"{verdict.clause}{of}: {_shortened(verdict.summary)}" for verdict in unproved)
        yield from (f"{clause}{of}: not tried" for clause in tested.untried)


def _headline(cause: Cause) -> str:
    """Return a cause's title if the record shows the cause, and otherwise the summary of the finding."""
    return cause.title if cause.kind in KINDS else cause.shown_by.summary


def _unproved(verdict: Verdict) -> bool:
    return verdict.unproved or (verdict.outcome == "skipped" and verdict.level == "required")


def _shortened(text: str) -> str:
    """Shorten a finding to its first statement; statements are separated by semicolons."""
    return textwrap.shorten(text.partition("; ")[0], _LONGEST, placeholder=" ...")
