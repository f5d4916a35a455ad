"""What a candidate promises: plain data without the YAML reader, so that the offline judge can rebuild it."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BOUND_TO_KIND", "CLAUSE_PROFILES", "DIRECTIONS", "FEATURES", "ON_MISSING", "ON_OUTAGE", "PROFILES",
    "Claims", "Direction", "Example", "Exclusion", "NetworkClaims", "OnMissing", "OnOutage",
    "claims_from_dict",
]  # fmt: skip

Direction = Literal["receive", "transmit"]
OnMissing = Literal["neutral", "avoid", "reject"]
OnOutage = Literal["schedule", "wait"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
ON_MISSING: tuple[OnMissing, ...] = get_args(OnMissing)
ON_OUTAGE: tuple[OnOutage, ...] = get_args(OnOutage)

PROFILES = ("core", "network-aware", "normalization", "extender", "plugin", "controller")

CLAUSE_PROFILES: Mapping[str, str] = MappingProxyType(
    {
        "core": "core",
        "network": "network-aware",
        "normalize": "normalization",
        "extender": "extender",
        "plugin": "plugin",
        "controller": "controller",
        "resilience": "resilience",
    }
)
"""The first part of a clause's id, and the profile that it belongs to."""

FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "pod-level-resources": "core/fit-pod-level",
        "in-place-resize": "core/fit-resize",
        "volumes": "core/volume-node-affinity",
        "dra": "core/dra",
        "events": "core/unschedulable-condition, with an event that names why",
        "priority": "core/priority-order",
        "preemption": "core/preemption-*",
        "scoring": "core/prefer-*",
        "leader-election": "core/leader",
        "tie-spread": "network/tie",
        "strict": "normalize/strict",
        "full-scale": "normalize/best-is-max, normalize/worst-is-min",
        "scale-free": "normalize/scale",
        "both-cache-modes": "extender/both-cache-modes",
        "ignorable": "extender/ignorable-down",
        "managed-resources": "extender/managed-resources",
        "preempt": "extender/preempt",
        "tls": "extender/tls",
        "signs-pods": "plugin/batching-safe",
    }
)
"""What a candidate may additionally claim, and the clauses that then hold it to that."""

BOUND_TO_KIND: Mapping[str, str] = MappingProxyType(
    {
        "extender": "extender",
        "plugin": "plugin",
        "controller": "controller",
        "both-cache-modes": "extender",
        "ignorable": "extender",
        "managed-resources": "extender",
        "preempt": "extender",
        "tls": "extender",
        "signs-pods": "plugin",
    }
)
"""Profiles and features that only one kind of candidate can claim (an attached one may be of any kind)."""


@dataclasses.dataclass(frozen=True)
class NetworkClaims:
    """Which traffic counts, how fine it is told apart, and what happens without readings.

    `window`, `refresh` and `recovers_within` are seconds; `resolution` is the smallest relative difference in
    load that it promises to see. A policy that is None is not promised: its clauses are `not-claimed`.
    """

    metric: str
    direction: Direction
    window: float
    resolution: float
    device: str = "{device}"
    refresh: float = 0.0
    on_missing: OnMissing | None = None
    on_outage: OnOutage | None = None
    recovers_within: float | None = None

    @property
    def staleness(self) -> float:
        """Seconds after which its readings are news, by its claim.

        Whoever polls promises a period, and no clock keeps one exactly on a busy machine. Nobody is judged by how close
        he comes to it.
        """
        return 1.5 * self.refresh + 0.5 if self.refresh else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {name.replace("_", "-"): value for name, value in dataclasses.asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NetworkClaims:
        return cls(**{name.replace("-", "_"): value for name, value in data.items()})


@dataclasses.dataclass(frozen=True)
class Example:
    """A worked example of the candidate's documentation: these readings are said to give these scores."""

    readings: Mapping[str, float]
    scores: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Claims:
    """What the candidate is held to."""

    profiles: tuple[str, ...] = ("core",)
    features: tuple[str, ...] = ()
    network: NetworkClaims | None = None
    examples: tuple[Example, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; `from_dict` is its inverse."""
        return {
            "profiles": list(self.profiles),
            "features": list(self.features),
            "network": self.network.as_dict() if self.network else None,
            "examples": [{"readings": dict(e.readings), "scores": dict(e.scores)} for e in self.examples],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Claims:
        """The claims that a saved history's header carries."""
        return cls(
            profiles=tuple(data["profiles"]),
            features=tuple(data["features"]),
            network=NetworkClaims.from_dict(data["network"]) if data["network"] else None,
            examples=tuple(Example(e["readings"], e["scores"]) for e in data["examples"]),
        )


@dataclasses.dataclass(frozen=True)
class Exclusion:
    """A clause that is known to fail. One that passes all the same is stale, and fails the run."""

    clause: str
    reason: str
    link: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Exclusion:
        return cls(**data)


def claims_from_dict(data: Mapping[str, Any]) -> tuple[Claims, tuple[Exclusion, ...]]:
    """Both halves that the judge needs, from `Candidate.as_dict()` as a history's header has it."""
    return Claims.from_dict(data["claims"]), tuple(Exclusion.from_dict(item) for item in data["exclusions"])
