"""How fast a candidate was asked for its scores, and how much of that time was the harness's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from schedproof.judge.verdict import Verdict


@dataclasses.dataclass(frozen=True)
class Asking:
    """All searches on one surface: `questions`, the `seconds` that they took, and for how many answers were awaited."""

    surface: str
    questions: int
    seconds: float
    waited: float

    @property
    def per_second(self) -> float:
        return self.questions / self.seconds

    @property
    def own_share(self) -> float:
        """From 0 to 1: the time of the harness, which makes cases, scripts readings, writes, reads and judges."""
        return max(0.0, 1 - self.waited / self.seconds)

    def __str__(self) -> str:
        speed = f"{self.questions:,} questions in {self.seconds:.1f} s ({self.per_second:,.0f} per second)"
        return f"{self.surface}: {speed}, {self.own_share:.0%} of the time in the harness"


def asking(verdicts: Iterable[Verdict]) -> list[Asking]:
    """One for each surface that was searched, in the order in which they were first. Other verdicts are passed over."""
    found: dict[str, Asking] = {}
    for verdict in verdicts:
        for scoring in verdict.evidence.get("scorings", ()):
            if scoring.get("seconds"):
                found[scoring["surface"]] = _added(found.get(scoring["surface"]), scoring)
    return list(found.values())


def _added(before: Asking | None, scoring: Mapping[str, Any]) -> Asking:
    one = Asking(scoring["surface"], scoring["asked"], scoring["seconds"], scoring["waited"])
    if before is None:
        return one
    return Asking(
        one.surface, before.questions + one.questions, before.seconds + one.seconds, before.waited + one.waited
    )
