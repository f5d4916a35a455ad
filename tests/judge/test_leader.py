"""core/leader: only one of two instances schedules at a time."""

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
    """Apply steps in order: an event, a successful Binding by a user, or a refused one for an earlier step's pod."""
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


def test_instances_that_lead_in_turn_pass() -> None:
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
def test_instance_that_binds_without_leading_fails(at: int, step: tuple[Any, ...], facts: Any) -> None:
    told(elected(*USUAL[:at], step, *USUAL[at:]).verdict(), "failed", "bound-by-non-leader", *facts)


@pytest.mark.parametrize("at", [5, 6], ids=["while it is frozen", "when it is just thawed"])
def test_refused_attempt_in_progress_at_the_takeover_is_tolerated(at: int) -> None:
    assert elected(*USUAL[:at], (CANDIDATE_USER, 4), *USUAL[at:]).verdict().outcome == "passed"


def test_history_without_a_takeover_is_invalid() -> None:
    told(elected(FIRST, STARTED, FIRST).verdict(), "invalid", "no-takeover")


@pytest.mark.parametrize("kind", ["extender", "plugin"])
def test_leader_election_is_not_claimed_for_extenders_and_plugins(kind: str) -> None:
    assert elected(*USUAL, kind=kind).verdict().outcome == "not-claimed"
