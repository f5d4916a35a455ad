"""The durations in `spec.claims.timing`, and the deadlines that they set."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from schedproof.documents.model import Duration, Mapped
from schedproof.foundation.deadlines import BIND, FRESHNESS, REACTION, REQUEUE, TAKEOVER, Deadline

RECOVERY = "claimed recovery"
"""The name of the deadline that `claims.network.recovers-within` sets."""


MILLISECOND = 0.001
"""Seconds: the resolution of Prometheus' timestamps, and the shortest duration that can be claimed."""

_Seconds = Annotated[float, Duration("45s", minimum=MILLISECOND)]


@dataclasses.dataclass(frozen=True)
class Timing(Mapped):
    """Seconds. The defaults leave room for client-go's default lease and kube-scheduler's default back-off."""

    bind: _Seconds = BIND.seconds
    """from a pod's creation, where it fits, until it is bound"""
    requeue: _Seconds = REQUEUE.seconds
    """from the change that makes a pod fit until it is bound, back-off included"""
    takeover: _Seconds = TAKEOVER.seconds
    """from a start until it binds pods, where a predecessor's lease must run out first"""
    freshness: _Seconds = FRESHNESS.seconds
    """how old its view of nodes and pods may be when it decides"""
    reaction: _Seconds = REACTION.seconds
    """from a decision until the condition or event that reports it"""

    def is_default(self, name: str) -> bool:
        """Whether a field has its default value."""
        return bool(getattr(self, name) == getattr(_DEFAULTS, name))


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
