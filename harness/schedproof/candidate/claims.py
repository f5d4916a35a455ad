"""What a candidate promises: plain data without the YAML reader, so that the offline judge can rebuild it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

from schedproof.candidate.points import PointClaims
from schedproof.candidate.timing import Timing

Direction = Literal["receive", "transmit"]
OnMissing = Literal["neutral", "avoid", "reject"]
OnOutage = Literal["schedule", "wait"]
OwnPlacements = Literal["ignored", "counted"]
PreemptionChoice = Literal["upstream", "any"]
Priority = Literal["first", "tie-breaker"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
ON_MISSING: tuple[OnMissing, ...] = get_args(OnMissing)
ON_OUTAGE: tuple[OnOutage, ...] = get_args(OnOutage)
OWN_PLACEMENTS: tuple[OwnPlacements, ...] = get_args(OwnPlacements)
PREEMPTION_CHOICES: tuple[PreemptionChoice, ...] = get_args(PreemptionChoice)
ANY_CHOICE: PreemptionChoice = "any"
"""The claim of a scheduler that has an order of its own between nodes on which pods can be evicted."""
PRIORITIES: tuple[Priority, ...] = get_args(Priority)

LEADER_ELECTION = "leader-election"
"""The feature of a scheduler of which a second instance stands by."""

GANG = "gang"
"""The feature of a scheduler that binds groups of pods whole or not at all."""

PREEMPTION = "preemption"
"""The feature of a scheduler that evicts pods for one of a higher priority."""

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
"""The profile of tests of the user's own, which applies to every candidate."""

BOUND_TO_KIND: Mapping[str, str] = MappingProxyType(
    {"extender": "extender", "plugin": "plugin", "controller": "controller"}
)
"""Profiles that only one kind of candidate can claim (an attached one may be of any kind)."""


@dataclasses.dataclass(frozen=True)
class Claimable:
    """What there is to judge a candidate by.

    Attributes:
        clauses: the ids of all that exist.
        features: what may be claimed beyond profiles, and the clauses that then hold the candidate to that.
    """

    clauses: tuple[str, ...]
    features: Mapping[str, tuple[str, ...]]

    @property
    def profiles(self) -> tuple[str, ...]:
        """Those of which there are clauses, in the order of `PROFILES`."""
        judged = {profile_of(clause) for clause in self.clauses}
        return tuple(profile for profile in PROFILES if profile in judged)


def profile_of(clause: str) -> str:
    """The profile that a clause belongs to, by its id."""
    group = clause.partition("/")[0]
    return OWN if group == OWN else CLAUSE_PROFILES[group]


RULE_INTERVAL = 0.5
"""Seconds between two evaluations of a candidate's recording rules, whatever their groups say."""


@dataclasses.dataclass(frozen=True)
class NetworkClaims:
    """Which traffic counts, at which resolution, and what happens without readings.

    `window`, `refresh` and `recovers_within` are seconds; `resolution` is the smallest relative difference in
    load that it promises to see. A policy that is None is not promised: its clauses are `not-claimed`.

    `own_placements`: whether pods that it has just placed count as load of their nodes until readings can show them.
    None: that is not said, and either is right.

    `priority`: whether traffic decides also against what else tells nodes apart (`first`), or only among nodes that
    are alike otherwise (`tie-breaker`).
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
    rules: tuple[Mapping[str, Any], ...] = ()
    """Recording rules that it asks the results of: `record`, `expr` (with placeholders) and `labels` of each."""
    own_placements: OwnPlacements | None = None
    priority: Priority = "first"

    @property
    def without_readings(self) -> OnOutage | None:
        """What becomes of pods while Prometheus answers, but has no reading of any node: that is an outage as well.

        None: nothing is promised, or two things: by `schedule` a pod goes to any node, by `reject` to none.
        """
        return None if (self.on_outage, self.on_missing) == ("schedule", "reject") else self.on_outage

    @property
    def look_back(self) -> float:
        """Seconds after which a change of the load is the only thing that counts: window plus refresh."""
        return self.window + self.staleness

    @property
    def counting(self) -> float:
        """Seconds after which a placement counts no longer as load, where the candidate counts its own.

        It counts from when it sees a pod bound, and a watch may be slow: a second is added.
        """
        return self.look_back + 1.0

    @property
    def staleness(self) -> float:
        """Seconds after which its readings are news, by its claim.

        A candidate that polls claims a period, which no clock keeps exactly on a busy machine: how close it comes to
        that period is not judged.
        """
        polled = 1.5 * self.refresh + 0.5 if self.refresh else 0.0
        return polled + (2 * RULE_INTERVAL if self.rules else 0.0)

    def as_dict(self) -> dict[str, Any]:
        named = {name.replace("_", "-"): value for name, value in dataclasses.asdict(self).items()}
        return named | {"rules": [dict(rule) for rule in self.rules]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NetworkClaims:
        named = {name.replace("-", "_"): value for name, value in data.items()}
        return cls(**named | {"rules": tuple(data.get("rules", ()))})


@dataclasses.dataclass(frozen=True)
class Example:
    """A worked example of the candidate's documentation: these readings are said to give these scores."""

    readings: Mapping[str, float]
    scores: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class GangClaims:
    """What makes pods a group, in texts with the placeholders {group} and {size}.

    `pods` is merged into each member: labels and annotations of its metadata, and its spec; `objects` are there before
    the first member. `timeout`: seconds for which a member may be bound, or hold room that another group
    lacks, while its group is not.
    """

    pods: Mapping[str, Any]
    timeout: float
    objects: tuple[Mapping[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"pods": dict(self.pods), "timeout": self.timeout, "objects": [dict(one) for one in self.objects]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GangClaims:
        return cls(data["pods"], data["timeout"], tuple(data["objects"]))


@dataclasses.dataclass(frozen=True)
class Claims:
    """What the candidate claims, and is judged by."""

    profiles: tuple[str, ...] = ("core",)
    features: tuple[str, ...] = ()
    network: NetworkClaims | None = None
    examples: tuple[Example, ...] = ()
    timing: Timing = dataclasses.field(default_factory=Timing)
    points: PointClaims = dataclasses.field(default_factory=PointClaims)
    gang: GangClaims | None = None
    preemption_choice: PreemptionChoice = "upstream"
    """By whose order it takes one of several nodes on which pods can be evicted: kube-scheduler's documented one."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; `from_dict` is its inverse."""
        return {
            "profiles": list(self.profiles),
            "features": list(self.features),
            "network": self.network.as_dict() if self.network else None,
            "examples": [{"readings": dict(e.readings), "scores": dict(e.scores)} for e in self.examples],
            "timing": self.timing.as_dict(),
            "points": self.points.as_dict(),
            "gang": self.gang.as_dict() if self.gang else None,
            "preemption": {"choice": self.preemption_choice},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Claims:
        """The claims that a saved history's header carries."""
        return cls(
            profiles=tuple(data["profiles"]),
            features=tuple(data["features"]),
            network=NetworkClaims.from_dict(data["network"]) if data["network"] else None,
            examples=tuple(Example(e["readings"], e["scores"]) for e in data["examples"]),
            timing=Timing.from_dict(data.get("timing", {})),
            points=PointClaims.from_dict(data.get("points", {})),
            gang=GangClaims.from_dict(data["gang"]) if data.get("gang") else None,
            preemption_choice=data.get("preemption", {}).get("choice", cls.preemption_choice),
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
