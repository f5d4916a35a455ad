"""The profiles that a candidate can claim, and the clauses and features by which it can be judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

PROFILES = ("core", "network-aware", "normalization", "extender", "plugin", "controller")

CLAUSE_PROFILES: Mapping[str, str] = MappingProxyType(
    {
        "core": "core",
        "network": "network-aware",
        "normalize": "normalization",
        "extender": "extender",
        "plugin": "plugin",
        "controller": "controller",
    }
)
"""The first part of a clause's id, and the profile that it belongs to."""

OWN = "own"
"""The profile of the user's own tests, which apply to every candidate."""

BOUND_TO_KIND: Mapping[str, str] = MappingProxyType(
    {"extender": "extender", "plugin": "plugin", "controller": "controller"}
)
"""Profiles that only one kind of candidate can claim (an attached one may be of any kind)."""


@dataclasses.dataclass(frozen=True)
class Claimable:
    """The clauses and features by which a candidate can be judged.

    Attributes:
        clauses: the ids of all clauses.
        features: each feature that can be claimed, and the ids of the clauses that judge it.
    """

    clauses: tuple[str, ...]
    features: Mapping[str, tuple[str, ...]]

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that have clauses, in the order of `PROFILES`."""
        judged = {profile_of(clause) for clause in self.clauses}
        return tuple(profile for profile in PROFILES if profile in judged)


def profile_of(clause: str) -> str:
    """The profile that a clause belongs to, by its id."""
    group = clause.partition("/")[0]
    return OWN if group == OWN else CLAUSE_PROFILES[group]
