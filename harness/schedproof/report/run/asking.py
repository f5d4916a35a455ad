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
    found: dict[str, list[Scoring]] = {}
    for scoring in (scoring for verdict in verdicts for scoring in verdict.evidence.scorings if scoring.seconds):
        found.setdefault(scoring.surface, []).append(scoring)
    return [
        SearchSpeed(
            surface, sum(s.asked for s in searches), sum(s.seconds for s in searches), sum(s.waited for s in searches)
        )
        for surface, searches in found.items()
    ]
