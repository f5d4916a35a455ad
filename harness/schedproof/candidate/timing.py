"""The durations in `spec.claims.timing`, and the deadlines that they set."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from schedproof.foundation.deadlines import BIND, FRESHNESS, REACTION, REQUEUE, TAKEOVER, Deadline

RECOVERY = "claimed recovery"
"""The name of the deadline that `claims.network.recovers-within` sets."""


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds. The defaults leave room for client-go's default lease and kube-scheduler's default back-off.

    Attributes:
        bind: from the creation of a pod that fits until it is bound.
        requeue: from the change that makes a pod fit until the pod is bound, back-off included.
        takeover: from a start until pods are bound again, including the expiry of a predecessor's lease.
        freshness: the maximum age of the candidate's view of nodes and pods when it decides.
        reaction: from a decision until the condition or event that reports it.
    """

    bind: float = BIND.seconds
    requeue: float = REQUEUE.seconds
    takeover: float = TAKEOVER.seconds
    freshness: float = FRESHNESS.seconds
    reaction: float = REACTION.seconds

    def is_default(self, name: str) -> bool:
        """Whether a field has its default value."""
        return bool(getattr(self, name) == getattr(_DEFAULTS, name))

    def as_dict(self) -> dict[str, float]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, float]) -> Timing:
        return cls(**data)


_DEFAULTS = Timing()
TIMING_CLAIMS: tuple[str, ...] = tuple(field.name for field in dataclasses.fields(Timing))


@dataclasses.dataclass(frozen=True)
class ClaimedDeadlines:
    """The deadlines that suites wait for, with the durations that a candidate claims.

    `freshness` is not among them: judges compare it with what is on record.
    """

    bind: Deadline
    requeue: Deadline
    takeover: Deadline
    reaction: Deadline

    @classmethod
    def of(cls, timing: Timing) -> ClaimedDeadlines:
        return cls(
            bind=dataclasses.replace(BIND, seconds=timing.bind),
            requeue=dataclasses.replace(REQUEUE, seconds=timing.requeue),
            takeover=dataclasses.replace(TAKEOVER, seconds=timing.takeover),
            reaction=dataclasses.replace(REACTION, seconds=timing.reaction),
        )
