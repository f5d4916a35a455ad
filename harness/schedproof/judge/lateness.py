"""By how much a deadline was missed, and how a candidate claims another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.candidates.timing import RECOVERY, TIMING_CLAIMS

if TYPE_CHECKING:
    from schedproof.history.history import History
    from schedproof.history.record import Record

__all__ = ["how_late", "missed_deadline", "whose_deadline"]


def how_late(history: History, expectation: Record) -> str:
    """When a pod was bound after its deadline, as far as the harness went on to look; and whose deadline that is."""
    binding = history.bindings.get(expectation["uid"])
    later = "nor in the seconds after that"
    if binding is not None:
        later = f"it was bound {binding.at - expectation['at']:.1f} s later"
    return f"{later}; {whose_deadline(history, expectation['deadline'])}"


def missed_deadline(history: History, case: str) -> str:
    """What the candidate was first waited for in vain in a case, besides bindings; "" if it missed nothing."""
    missed = next(history.of("missed", case), None)
    if missed is None:
        return ""
    waited = f"waited {missed['within']:g} s ({missed['deadline']}) for {missed['what']}"
    return f"{waited}; {whose_deadline(history, missed['deadline'])}"


def whose_deadline(history: History, name: str) -> str:
    """Whether a deadline of this name is the candidate's claim or a default, and where another is claimed."""
    if name == RECOVERY:
        return "that deadline is claimed, in spec.claims.network.recovers-within"
    if name not in TIMING_CLAIMS:
        return f"the deadline {name!r} is the harness's own"
    field = f"spec.claims.timing.{name}"
    if history.claims.timing.is_default(name):
        return f"that deadline is the default: where more time is due by design, claim it in {field}"
    return f"that deadline is claimed, in {field}"
