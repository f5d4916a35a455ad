"""Speed of the searches for scoring defects, and the share of their time that the harness itself takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from schedproof.judge.evidence import Scoring
from schedproof.judge.verdict import Verdict


@dataclasses.dataclass(frozen=True)
class SearchSpeed:
    """All searches on a surface: number of `questions`, total `seconds`, and seconds `waited` for answers."""

    surface: str
    questions: int
    seconds: float
    waited: float

    @property
    def per_second(self) -> float:
        return self.questions / self.seconds

    @property
    def own_share(self) -> float:
        """The fraction (0 to 1) of the time in the harness: making cases, scripting readings, I/O and judging."""
        return max(0.0, 1 - self.waited / self.seconds)

    def __str__(self) -> str:
        speed = f"{self.questions:,} questions in {self.seconds:.1f} s ({self.per_second:,.0f} per second)"
        return f"{self.surface}: {speed}, {self.own_share:.0%} of the time in the harness"


def search_speeds(verdicts: Iterable[Verdict]) -> list[SearchSpeed]:
    """Return the speed on each surface that was searched, in order of first use; ignores verdicts without a search."""
    found: dict[str, SearchSpeed] = {}
    for verdict in verdicts:
        for scoring in verdict.evidence.scorings:
            if scoring.seconds:
                found[scoring.surface] = _added(found.get(scoring.surface), scoring)
    return list(found.values())


def _added(before: SearchSpeed | None, scoring: Scoring) -> SearchSpeed:
    latest = SearchSpeed(scoring.surface, scoring.asked, scoring.seconds, scoring.waited)
    if before is None:
        return latest
    return SearchSpeed(
        latest.surface,
        before.questions + latest.questions,
        before.seconds + latest.seconds,
        before.waited + latest.waited,
    )
