"""Probes of a candidate that may count what it has just placed, until readings can show it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from schedproof.foundation.waiting import until
from schedproof.stimulus.case import Case

if TYPE_CHECKING:
    from schedproof.candidates.claims import NetworkClaims
    from schedproof.stimulus.pods import Pod

__all__ = ["ApartCase"]

_AFRESH = 2
"""Probes more where a phase is begun anew: a chooser at random has one more chance in each phase."""


class ApartCase(Case):
    """A case that keeps its probes apart, where the candidate says or shows that it counts its own placements.

    To wait for the claimed window before each probe would take minutes, for schedulers most of which do not count. So
    probes follow each other at once, until one goes elsewhere that earlier placements may have sent there. From then
    on each probe waits until nothing before it can count any more; until one goes elsewhere even so, which settles its
    case.
    """

    claims: NetworkClaims
    _settled = False
    """Whether a probe that nothing excuses was wrong: to wait for more would change no verdict."""

    def keep_apart(self) -> bool:
        """Wait where probes are to be apart; whether the next one is."""
        due = self._recorder.placed_at + self.claims.counting - self._recorder.now()
        if due > 0 and self.trial.probes_apart and not self._settled:
            until(time.monotonic() + due)
            return True
        return due <= 0

    def ask(self, role: str, phase: int, **spec: Any) -> Pod:
        """Create one pod, and give the candidate its time to bind it.

        Delete it before the next is created: then nodes stay identical but for their traffic.
        """
        pod = self.pod(role, role=role, phase=phase, cpu="100m", **spec)
        self.expect_bound([pod])
        return pod

    def seek(self, phase: int, count: int, *right: str, role: str = "probe", **spec: Any) -> None:
        """Ask the candidate `count` times where to put a pod that belongs on a node of `right`, one after the other."""
        left = count
        while left:
            apart = self.keep_apart()
            begin = time.time()
            pod = self.ask(role, phase, **spec)
            self.note_readings(pod, begin)
            chosen = self.node_of(pod)
            self.delete([pod])
            left -= 1
            if chosen not in right and self._begins_anew(apart=apart):
                left = count + _AFRESH

    def note_readings(self, pod: Pod, begin: float) -> None:
        """Record what the candidate may have read from `begin` (seconds since the epoch) until now."""

    def _begins_anew(self, *, apart: bool) -> bool:
        """Whether a probe that went elsewhere may have been decided by earlier ones, so that all are asked again."""
        if apart:
            # It was not for placements that it went elsewhere: in the next case that is an open question again.
            self._settled, self.trial.probes_apart = True, self.claims.own_placements == "counted"
        if self._settled or self.trial.probes_apart or self.claims.own_placements == "ignored":
            return False
        self.trial.probes_apart = True
        return True
