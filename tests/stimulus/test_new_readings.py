"""When a candidate decides by new readings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.claims import NetworkClaims
from schedproof.candidate.recording_rules import RecordingRule
from schedproof.stimulus.traffic.new_readings import await_new_readings, takes_samples

WINDOW = 6.0


def trial_of(look_back: float | None, **claimed: Any) -> tuple[Any, list[float]]:
    """A candidate whose queries look back so many seconds (None: it has sent none), and what it is waited for."""
    claims = NetworkClaims("m", "receive", window=WINDOW, resolution=0.1, **claimed)
    passed: list[float] = []
    trial = SimpleNamespace(
        candidate=SimpleNamespace(claims=SimpleNamespace(network=claims)),
        queries=SimpleNamespace(look_back=lambda _: look_back),
        usable_time=SimpleNamespace(let_pass=passed.append),
    )
    return trial, passed


def waited(look_back: float | None, **claimed: Any) -> list[float]:
    trial, passed = trial_of(look_back, **claimed)
    await_new_readings(trial)
    return passed


@pytest.mark.parametrize("look_back", [None, WINDOW])
def test_what_queries_a_window_for_each_decision_is_not_waited_for(look_back: float | None) -> None:
    assert waited(look_back) == []


@pytest.mark.parametrize("look_back", [None, WINDOW])
def test_what_claims_a_time_has_it_whether_it_was_seen_to_ask_or_not(look_back: float | None) -> None:
    """Another process, or the same one a moment later, may be what decides."""
    (seconds,) = waited(look_back, refresh=3.0)
    assert seconds >= 3.0


def test_recording_rules_have_their_interval() -> None:
    (with_rules,) = waited(None, refresh=3.0, rules=(RecordingRule("a", "b"),))
    (without,) = waited(None, refresh=3.0)
    assert with_rules > without


@pytest.mark.parametrize("look_back", [0.0, 2.0, WINDOW])
def test_what_looks_back_for_less_than_its_window_has_the_rest_to_forget_other_readings(look_back: float) -> None:
    (plain,) = waited(None, refresh=3.0)
    assert waited(look_back, refresh=3.0) == [plain + WINDOW - look_back]


def test_what_keeps_the_results_of_its_decisions_has_it_as_well() -> None:
    assert waited(2.0) == [WINDOW - 2.0]


@pytest.mark.parametrize(("look_back", "samples"), [(None, False), (0.0, True), (2.0, False)])
def test_what_asks_for_no_past_takes_samples(look_back: float | None, *, samples: bool) -> None:
    assert takes_samples(trial_of(look_back)[0]) is samples
