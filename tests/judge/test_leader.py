"""core/leader: of two instances one schedules."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from schedproof.history.acts import Election

from .histories import CANDIDATE_USER, CLAIMS, HistoryBuilder, told

CLAIMED = dataclasses.replace(CLAIMS, features=("leader-election",))
SECOND = f"{CANDIDATE_USER}-second"
EVENTS = ("second-started", "first-frozen", "first-thawed", "first-awake", "second-ends")


def elected(*steps: tuple[Any, ...], kind: str = "controller") -> HistoryBuilder:
    """What happens: events of the instances by name, and who binds, or with a code tries to; in this order."""
    h = HistoryBuilder("core/leader", claims=CLAIMED)
    h.records[0]["candidate"]["kind"] = kind
    h.records[0]["users"]["candidate"].append(SECOND)
    for number, step in enumerate(steps):
        if step[0] in EVENTS:
            h.add(Election(case="core/leader", event=step[0], user=SECOND))
        elif len(step) == 1:
            h.pod(f"pod-{number}", cpu="50m")
            h.bind(f"pod-{number}", "node-1", by=step[0])
            h.expect(f"pod-{number}", "bound")
        else:
            h.attempt(f"pod-{step[1]}", "node-1", by=step[0], code=409)
    return h


FIRST, THEN = (CANDIDATE_USER,), (SECOND,)
STARTED, FROZEN, THAWED, AWAKE, ENDS = ((event,) for event in EVENTS)
USUAL = (FIRST, STARTED, FIRST, FROZEN, THEN, THAWED, AWAKE, THEN, ENDS, FIRST)


def test_one_after_the_other_passes() -> None:
    told(elected(*USUAL).verdict(), "passed", "", "5")


@pytest.mark.parametrize(
    ("at", "step", "facts"),
    [
        (3, (SECOND, 2), ("the second instance", "sp-tested/pod-2", "node-1", "409")),
        (3, THEN, ("the second instance", "201")),
        (5, FIRST, ("the first instance", "sp-tested/pod-5", "node-1", "201")),
        (6, FIRST, ("the first instance", "201")),
        (8, (CANDIDATE_USER, 7), ("the first instance", "409")),
    ],
)
def test_an_instance_that_does_not_lead_and_binds_fails(at: int, step: tuple[Any, ...], facts: Any) -> None:
    told(elected(*USUAL[:at], step, *USUAL[at:]).verdict(), "failed", "bound-by-non-leader", *facts)


@pytest.mark.parametrize("at", [5, 6], ids=["while it is frozen", "when it is just thawed"])
def test_an_attempt_that_was_in_hand_and_is_refused_is_forgiven(at: int) -> None:
    assert elected(*USUAL[:at], (CANDIDATE_USER, 4), *USUAL[at:]).verdict().outcome == "passed"


def test_a_second_one_that_never_took_over_shows_nothing() -> None:
    told(elected(FIRST, STARTED, FIRST).verdict(), "invalid", "no-takeover")


@pytest.mark.parametrize("kind", ["extender", "plugin"])
def test_where_kube_scheduler_elects_nothing_is_tried(kind: str) -> None:
    assert elected(*USUAL, kind=kind).verdict().outcome == "not-claimed"
