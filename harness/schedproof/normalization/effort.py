"""On which surfaces scores are tried, and with how many cases."""

from __future__ import annotations

import dataclasses
import re

from schedproof.foundation.errors import UsageError
from schedproof.normalization.promises import NORMALIZE_SCORE

SURFACES = ("python", "extender", "plugin", NORMALIZE_SCORE, "scheduler")
"""A bare function; prioritize over HTTP; the plugin, linked into a probe; its NormalizeScore alone; the record of the
running scheduler."""

PROFILES = {"quick": (100, 0), "ci": (500, 50), "thorough": (5000, 500)}
"""Generated cases for each clause, by name: on surfaces that answer in milliseconds, and where each question is a pod.
The corner cases come besides."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """What to search, and how long. `surfaces`: only these, where any are named. `replay`: the id of a saved case."""

    profile: str = "quick"
    surfaces: tuple[str, ...] = ()
    replay: str = ""
    worlds: int | None = None
    """How many to generate for core/random-worlds; None: as many as its time allows, up to its usual number."""
    soak: float | None = None
    """For how many seconds to generate worlds for core/random-worlds, on one instance, which is measured meanwhile."""

    def __post_init__(self) -> None:
        if self.profile not in PROFILES and not re.fullmatch("[0-9]{1,7}", self.profile):
            raise UsageError(
                f"--cases {self.profile}: expected a number of cases, or the name of one",
                remedy=f"such as --cases 500, or one of {', '.join(PROFILES)}",
            )
        for surface in self.surfaces:
            if surface not in SURFACES:
                raise UsageError(f"--surface {surface}: unknown surface", remedy=f"one of {', '.join(SURFACES)}")

    def cases(self, surface: str) -> int:
        """How many cases to generate for each clause."""
        quick, slow = PROFILES.get(self.profile) or (int(self.profile), int(self.profile))
        return slow if surface == "scheduler" else quick
