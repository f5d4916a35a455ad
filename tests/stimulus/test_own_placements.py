"""Questions about scores, to a candidate that takes each for a placement, which counts as load for a while."""

from __future__ import annotations

import dataclasses
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.claims import Example
from schedproof.candidate.shipped import find_candidate
from schedproof.history.acts import ScoringSearch
from schedproof.history.observations import PrometheusQuery
from schedproof.normalization.answer import Answer, Readings, readings_from_json
from schedproof.normalization.effort import Effort
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES
from schedproof.normalization.search import Searches
from schedproof.stimulus.scoring import searches as module
from schedproof.stimulus.scoring.searches import ScoreSearches
from schedproof.stimulus.traffic import own_placements
from schedproof.stimulus.traffic.own_placements import OwnPlacements

CLAIMED = find_candidate("least-traffic-extender")
COUNTING = 3.0
"""Seconds, by the reference's window of 2 s."""


class Clock:
    """A run's time, which passes only where something waits for it, and a little at each question."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited = 0.0

    def until(self, moment: float) -> None:
        self.waited += max(0.0, moment - self.now)
        self.now = max(self.now, moment)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Clock:
    made = Clock()
    monkeypatch.setattr(own_placements, "until", made.until)
    monkeypatch.setattr(module, "until", made.until)
    monkeypatch.setattr(own_placements.time, "monotonic", lambda: made.now)
    monkeypatch.setenv("SCHEDPROOF_CACHE", str(tmp_path))
    return made


class Counting:
    """Ranks nodes by their traffic, of which the one that it named last gets as much again as the loudest has.

    `seconds`: for how long.
    """

    name, fewest, most, waited = "extender", 1, 30, 0.0
    nodes = tuple(f"node-{number}" for number in range(1, 31))

    def __init__(self, clock: Clock, seconds: float, wrong: Any = None) -> None:
        self._clock, self._seconds, self._wrong = clock, seconds, wrong
        self._placed: list[tuple[float, str]] = []
        self.asked = 0

    def ask(self, readings: Readings) -> Answer:
        self._clock.now += 0.01
        self.asked += 1
        known = {node: value for node, value in readings if value is not None and 0 <= value < float("inf")}
        loudest = max(known.values(), default=0.0)
        for at, node in self._placed:
            if node in known and self._clock.now - at < self._seconds:
                known[node] += loudest or 1.0
        places = sorted({*known.values()})
        scores = {node: max(0, 10 - places.index(known[node])) if node in known else 5 for node, _ in readings}
        self._placed.append((self._clock.now, max(scores, key=scores.__getitem__)))
        if self._wrong:
            scores = self._wrong(scores)
        return Answer(tuple(scores.items()))

    def close(self) -> None:
        """Nothing is held."""


def searches(surface: Counting, clock: Clock, clause: str, own: Any, *others: Any) -> tuple[ScoreSearches, Any]:
    network = dataclasses.replace(CLAIMED.claims.network, own_placements=own)  # type: ignore[type-var]
    examples = (Example({"a": 1e6, "b": 1e6}, {"a": 10, "b": 10}),) * 2
    claims = dataclasses.replace(CLAIMED.claims, network=network, examples=examples)
    records: list[Any] = []
    recorder: Any = SimpleNamespace(
        now=lambda: clock.now, add=records.append, placed_at=-1e9, nodes={}, records=records, changed=threading.Lock()
    )
    trial: Any = SimpleNamespace(
        candidate=dataclasses.replace(CLAIMED, claims=claims), recorder=recorder, asked_at=-1e9, asked_apart=set(),
        effort=Effort(), seed=1, cluster=SimpleNamespace(capabilities=frozenset()),
        scorers=SimpleNamespace(surfaces=list(others), searches=Searches(), answers={}),
    )  # fmt: skip
    live: Any = SimpleNamespace(
        asked_nodes=("node-1",) * 12, surfaces=[surface], news_takes_time=False, script_readings=None
    )
    load: Any = SimpleNamespace(claims=network)
    context: Any = SimpleNamespace(clause=clause, trial=trial, recorder=recorder)
    made: Any = None
    trial.noted = lambda: {one.surface: one for one in records if isinstance(one, ScoringSearch)}
    return ScoreSearches(context, live, load, made, made), trial


def outcome(trial: Any, clause: str) -> str:
    """What is wrong with what was noted of the extender."""
    (noted,) = [one for name, one in trial.noted().items() if name == "extender"]
    rule = RULES[clause]
    case = tuple(readings_from_json(one) for one in noted.questions)
    answers = tuple(Answer.from_dict(one) for one in noted.answers)
    return rule.wrong(case, answers, Promises.of("extender", trial.candidate.claims, "extender"))


CLAUSES = ["normalize/equal", "normalize/order", "normalize/repeat", "normalize/scale", "normalize/zero"]


@pytest.mark.parametrize("own", ["counted", None])
@pytest.mark.parametrize("clause", CLAUSES)
def test_what_questions_before_may_explain_is_asked_again_apart(clock: Clock, clause: str, own: Any) -> None:
    made, trial = searches(Counting(clock, COUNTING - 1), clock, clause, own)
    made.search()
    assert not outcome(trial, clause)
    assert trial.asked_apart == {"extender"}


@pytest.mark.parametrize("clause", CLAUSES)
def test_what_counts_beyond_its_time_is_wrong(clock: Clock, clause: str) -> None:
    made, trial = searches(Counting(clock, 1e9), clock, clause, "counted")
    made.search()
    assert outcome(trial, clause)


def test_who_claims_to_count_none_is_not_asked_again(clock: Clock) -> None:
    made, trial = searches(Counting(clock, COUNTING - 1), clock, "normalize/equal", "ignored")
    made.search()
    assert outcome(trial, "normalize/equal")
    assert not clock.waited


@pytest.mark.parametrize("own", ["counted", None])
def test_where_nothing_is_wrong_nothing_is_waited_for(clock: Clock, own: Any) -> None:
    made, trial = searches(Counting(clock, 0.0), clock, "normalize/order", own)
    made.search()
    assert not outcome(trial, "normalize/order")
    assert (clock.waited, trial.asked_apart) == (0.0, set())


def test_scores_that_are_wrong_when_asked_apart_are_wrong(clock: Clock) -> None:
    inverted = Counting(clock, COUNTING - 1, lambda scores: {node: 10 - score for node, score in scores.items()})
    made, trial = searches(inverted, clock, "normalize/order", "counted")
    made.search()
    assert outcome(trial, "normalize/order")
    assert clock.waited <= COUNTING, "one case was asked again"


def test_two_surfaces_are_compared_apart_where_they_differ_otherwise(clock: Clock) -> None:
    bare = Counting(clock, 0.0)
    bare.name = "python"
    made, trial = searches(Counting(clock, COUNTING - 1), clock, "normalize/surfaces-agree", None, bare)
    made.compare()
    noted = trial.noted()
    scores = [[[score for _, score in one["scores"]] for one in noted[name].answers] for name in ("python", "extender")]
    assert scores[0] == scores[1]
    assert trial.asked_apart == {"extender"}


def test_worked_examples_are_asked_apart_where_they_do_not_hold_otherwise(clock: Clock) -> None:
    made, trial = searches(Counting(clock, COUNTING - 1), clock, "normalize/documented", None)
    made.ask_examples()
    answers = trial.noted()["extender"].answers
    assert [[score for _, score in one["scores"]] for one in answers] == [[10, 10], [10, 10]]


def test_what_follows_waits_for_questions_where_they_were_seen_to_count(clock: Clock) -> None:
    made, trial = searches(Counting(clock, COUNTING - 1), clock, "normalize/equal", None)
    made.search()
    before = clock.waited
    OwnPlacements(trial).wait_for_questions()
    assert clock.waited - before == pytest.approx(COUNTING)
    trial.asked_apart.clear()
    trial.asked_at = clock.now
    OwnPlacements(trial).wait_for_questions()
    assert clock.waited - before == pytest.approx(COUNTING)


class LateAtFirst(Counting):
    """Answers its first questions without readings, because Prometheus took its time over one of them."""

    trial: Any = None

    def ask(self, readings: Readings) -> Answer:
        answer = super().ask(readings)
        if self.asked > 40:
            return answer
        self.trial.recorder.add(
            PrometheusQuery(at=self._clock.now, request="up", path="/", status=200, answer="", seconds=2.5)
        )
        return Answer(tuple((node, 0) for node, _ in readings))


def test_what_was_answered_late_is_asked_again(clock: Clock) -> None:
    surface = LateAtFirst(clock, 0.0)
    made, surface.trial = searches(surface, clock, "normalize/repeat", "ignored")
    made.search()
    assert not outcome(surface.trial, "normalize/repeat")
