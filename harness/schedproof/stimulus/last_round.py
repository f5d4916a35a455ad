"""What is left to see before a run is over."""

from __future__ import annotations

import contextlib
import dataclasses
import time

from schedproof.foundation.deadlines import AGAIN, Deadline
from schedproof.stimulus.case import Case
from schedproof.stimulus.expectations import CaseOver
from schedproof.stimulus.standing import PATIENT


def last_round(case: Case) -> None:
    """Two pods to bind, in case that nothing else was tried; why those pend that have been there since the start.

    And those of these for which there is a place at last.
    """
    with contextlib.suppress(CaseOver):
        case.expect_bound([case.pod("last", cpu="100m", plain=True) for _ in range(2)])
    patients = case.trial.patients
    waiting = [*case.trial.waiters.values(), *patients]
    case.status.await_condition(
        waiting, "PodScheduled", _rest_of(case.deadlines.reaction, case.trial.newest_waits_since)
    )
    if "change-nodes" in case.trial.cluster.capabilities and not case.is_over:
        case.nodes.change(case.trial.cluster.nodes[0], labels=PATIENT["nodeSelector"])
        with contextlib.suppress(CaseOver):
            case.expect_bound(patients, case.deadlines.requeue)


def _rest_of(deadline: Deadline, since: float) -> Deadline:
    """What is left of a deadline that began at a moment of the monotonic clock; the harness's least, if it is over."""
    left = deadline.seconds - (time.monotonic() - since)
    return dataclasses.replace(deadline, seconds=max(min(AGAIN.seconds, deadline.seconds), left))
