"""By how much a deadline was missed, and how a candidate claims a longer one."""

from __future__ import annotations

from collections.abc import Mapping

from schedproof.candidate.timing import RECOVERY, TIMING_CLAIMS
from schedproof.foundation.processes.cpu_waits import most_kept
from schedproof.history.acts import Expect, Missed
from schedproof.history.history import History

_BIND = "bind"
"""Roles of pods that fit from their creation on: a pod that was found unschedulable did not wait for a change."""


def how_late(history: History, expectation: Expect) -> str:
    """When a pod was bound after its deadline, if the harness saw that, and where the deadline comes from."""
    binding = history.bindings.get(expectation.uid)
    later = "nor in the seconds after that"
    if binding is not None:
        later = f"it was bound {binding.at - expectation.at:.1f} s later"
    elif expectation.deadline == _BIND and _was_unschedulable(history, expectation.uid):
        return f"{later}; it was decided on in time, so a longer deadline would not help"
    return f"{later}; {whose_deadline(history, expectation.deadline)}"


def _was_unschedulable(history: History, uid: str) -> bool:
    """Whether its condition says that the scheduler has looked for a node, and found none."""
    conditions = history.manifests.get(uid, {}).get("status", {}).get("conditions") or ()
    return any(
        (condition["type"], condition["status"], condition.get("reason")) == ("PodScheduled", "False", "Unschedulable")
        for condition in conditions
    )


def kept_waiting(kept: Mapping[str, float]) -> str:
    """How long processes waited for a processor, as the end of a sentence about a wait; "" if they did not."""
    if not kept:
        return ""
    each = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in sorted(kept.items(), key=lambda item: -item[1]))
    return f", and {sum(kept.values()):.1f} s more, in which processes waited for a processor ({each})"


def too_busy(kept: Mapping[str, float], within: float) -> str:
    """Why a wait in vain says nothing about the candidate: it was kept from running although the wait was extended.

    "" if it had all of the time that it claims to take. `within`: seconds.
    """
    if not kept or sum(kept.values()) < most_kept(within):
        return ""
    return f"the machine was too busy: waited {within:g} s{kept_waiting(kept)}"


def is_overdue(history: History, begin: float, end: float, within: float) -> bool:
    """Whether the candidate had more than `within` seconds to use between two times of the run."""
    elapsed = end - begin
    return elapsed > within and elapsed - sum(history.kept(begin, end).values()) > within


def busy_between(history: History, begin: float, end: float, within: float) -> str:
    """Why nothing shows that what came at `end` came too late; "" if it did, or if it was in time."""
    return "" if end - begin <= within else too_busy(history.kept(begin, end), within)


def missed_deadline(history: History, case: str) -> str:
    """The first deadline that the candidate missed in a case, except for bindings; "" if it missed none."""
    missed = next(history.of(Missed, case), None)
    if missed is None:
        return ""
    waited = f"waited {missed.within:g} s ({missed.deadline}){kept_waiting(missed.kept)} for {missed.what}"
    return f"{waited}; {whose_deadline(history, missed.deadline)}"


def whose_deadline(history: History, name: str) -> str:
    """Whether a deadline of this name is the candidate's claim or a default, and where to claim another."""
    if name == RECOVERY:
        return "that deadline is claimed, in spec.claims.network.recovers-within"
    if name not in TIMING_CLAIMS:
        return f"the deadline {name!r} is the harness's own"
    field = f"spec.claims.timing.{name}"
    if history.claims.timing.is_default(name):
        return f"that deadline is the default: if the design needs more time, claim it in {field}"
    return f"that deadline is claimed, in {field}"
