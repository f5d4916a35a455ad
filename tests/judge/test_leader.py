"""core/leader: of two instances one schedules."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

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
            h.add("election", case="core/leader", event=step[0], user=SECOND)
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
    told(elected(*USUAL).verdict(), "passed", "5 pods bound where they fit")


@pytest.mark.parametrize(
    ("at", "step", "words"),
    [
        (
            3,
            (SECOND, 2),
            "the second instance tried to bind sp-tested/pod-2 to node-1 (409), although the first one led",
        ),
        (3, THEN, "the second instance bound"),
        (5, FIRST, "the first instance bound sp-tested/pod-5 to node-1 (201), although the second one had taken over"),
        (6, FIRST, "the first instance bound"),
        (8, (CANDIDATE_USER, 7), "the first instance tried to bind"),
    ],
)
def test_who_does_not_lead_and_binds_fails(at: int, step: tuple[Any, ...], words: str) -> None:
    told(elected(*USUAL[:at], step, *USUAL[at:]).verdict(), "failed", words)


@pytest.mark.parametrize("at", [5, 6], ids=["while it is frozen", "when it is just thawed"])
def test_an_attempt_that_was_in_hand_and_is_refused_is_forgiven(at: int) -> None:
    assert elected(*USUAL[:at], (CANDIDATE_USER, 4), *USUAL[at:]).verdict().outcome == "passed"


def test_a_second_one_that_never_took_over_shows_nothing() -> None:
    told(elected(FIRST, STARTED, FIRST).verdict(), "invalid", "was not seen to take over")


@pytest.mark.parametrize("kind", ["extender", "plugin"])
def test_where_kube_scheduler_elects_nothing_is_tried(kind: str) -> None:
    assert elected(*USUAL, kind=kind).verdict().outcome == "not-claimed"
