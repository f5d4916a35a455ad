"""The last steps of a run, before the candidate is stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import time

from schedproof.foundation.deadlines import AGAIN, Deadline
from schedproof.stimulus.case import Case
from schedproof.stimulus.context import CaseOver
from schedproof.stimulus.standing import LONG_WAITING


def last_round(case: Case) -> None:
    """Have two pods bound, in case no clause created any, and wait for the conditions of all pods pending since start.

    Then the patient pods get a feasible node, and have to be bound.
    """
    with contextlib.suppress(CaseOver):
        case.expect_bound([case.pod("last", cpu="100m", plain=True) for _ in range(2)])
    long_waiting = case.trial.long_waiting
    waiting = [*case.trial.waiters.values(), *long_waiting]
    # Where the last pods are bound, the pod before them may have been decided on as late as they were.
    due = case.deadlines.reaction if case.is_over else case.deadlines.bind.then(case.deadlines.reaction)
    case.status.await_condition(waiting, "PodScheduled", _rest_of(due, case.trial.newest_waits_since))
    if "change-nodes" in case.trial.cluster.capabilities and not case.is_over:
        case.nodes.change(case.trial.cluster.nodes[0], labels=LONG_WAITING["nodeSelector"])
        with contextlib.suppress(CaseOver):
            case.expect_bound(long_waiting, case.deadlines.requeue)


def _rest_of(deadline: Deadline, since: float) -> Deadline:
    """Return the rest of a deadline that began at `since` on the monotonic clock, at least `AGAIN` (or itself)."""
    left = deadline.seconds - (time.monotonic() - since)
    return dataclasses.replace(deadline, seconds=max(min(AGAIN.seconds, deadline.seconds), left))
