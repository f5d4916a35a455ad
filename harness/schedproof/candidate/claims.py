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
"""The claim of a scheduler that ranks the nodes on which it can preempt by rules of its own."""
PRIORITIES: tuple[Priority, ...] = get_args(Priority)

LEADER_ELECTION = "leader-election"
"""The feature of a scheduler that runs with a standby replica."""

GANG = "gang"
"""The feature of a scheduler that binds all pods of a group, or none."""

PREEMPTION = "preemption"
"""The feature of a scheduler that evicts pods in favor of a pod with a higher priority."""

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


RULE_INTERVAL = 0.5
"""Seconds between two evaluations of a candidate's recording rules; the `interval` of their groups is ignored."""


@dataclasses.dataclass(frozen=True)
class NetworkClaims:
    """Which traffic counts, at which resolution, and what happens without readings.

    `window`, `refresh` and `recovers_within` are seconds; `resolution` is the smallest relative difference in
    load that affects placement. A policy that is None is not claimed, and neither are its clauses.

    `own_placements`: whether pods that the candidate has just placed count as load of their nodes until readings can
    show them. None: not claimed, both behaviors are correct.

    `priority`: whether traffic outweighs all other preferences (`first`), or decides only among nodes that are
    otherwise equal (`tie-breaker`).
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
    """Recording rules whose results the candidate queries: each with `record`, `expr` (with placeholders), `labels`."""
    own_placements: OwnPlacements | None = None
    priority: Priority = "first"

    @property
    def without_readings(self) -> OnOutage | None:
        """The claimed policy while Prometheus answers, but has no reading of any node, which is an outage as well.

        None: no policy is claimed, or the two claims conflict: `on_outage: schedule` allows every node,
        `on_missing: reject` none.
        """
        return None if (self.on_outage, self.on_missing) == ("schedule", "reject") else self.on_outage

    @property
    def look_back(self) -> float:
        """Seconds after a change of the load from which only the new load counts: window plus refresh."""
        return self.window + self.staleness

    @property
    def counting(self) -> float:
        """Seconds after which a placement no longer counts as load, for a candidate that counts its own placements.

        The time starts when the candidate sees the pod bound; a second is added for a slow watch.
        """
        return self.look_back + 1.0

    @property
    def staleness(self) -> float:
        """The greatest age in seconds of the readings that the candidate uses, derived from the claimed `refresh`.

        Half a period and 0.5 s are added, because polling is late on a busy machine: how closely a candidate keeps
        its period is not judged.
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
    """A worked example from the candidate's documentation: node to reading, and node to the score that it must get."""

    readings: Mapping[str, float]
    scores: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class GangClaims:
    """What makes pods a group, in texts with the placeholders {group} and {size}.

    `pods` is merged into each member: labels and annotations of its metadata, and its spec; `objects` are created
    before the first member. `timeout`: seconds for which a member of an incomplete group may be bound, or reserve
    resources that another group needs.
    """

    pods: Mapping[str, Any]
    timeout: float
    objects: tuple[Mapping[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "pods": dict(self.pods),
            "timeout": self.timeout,
            "objects": [dict(manifest) for manifest in self.objects],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GangClaims:
        return cls(data["pods"], data["timeout"], tuple(data["objects"]))


@dataclasses.dataclass(frozen=True)
class Claims:
    """The claims by which a candidate is judged."""

    profiles: tuple[str, ...] = ("core",)
    features: tuple[str, ...] = ()
    network: NetworkClaims | None = None
    examples: tuple[Example, ...] = ()
    timing: Timing = dataclasses.field(default_factory=Timing)
    points: PointClaims = dataclasses.field(default_factory=PointClaims)
    gang: GangClaims | None = None
    preemption_choice: PreemptionChoice = "upstream"
    """How it chooses among nodes on which it can preempt: `upstream` is kube-scheduler's documented order."""

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
        """The inverse of `as_dict`: the claims in the header of a saved history."""
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
    """A clause that is known to fail. If the clause passes, the exclusion is stale, and the run fails."""

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
