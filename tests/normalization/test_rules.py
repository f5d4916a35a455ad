"""Each rule on handwritten answers: what it complains about, with which text, and what passes."""

from __future__ import annotations

import dataclasses
import math

import pytest

from schedproof.candidate.claims import Claims, NetworkClaims
from schedproof.normalization.answer import Answer, readings_from_json, readings_to_json
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES, rules_for

ALL = frozenset({"strict", "full-scale", "scale-free"})
PROMISES = Promises(100, 0.1, ALL, "neutral", on_outage="schedule")


def named(*values: float | None):
    return tuple(zip("abcdefgh", values, strict=False))


def complaint(clause: str, *asked, promises: Promises = PROMISES) -> str:
    """Return the complaint of a rule about pairs of readings and scores (or an Answer); "" if it holds."""
    case = tuple(named(*readings) for readings, _ in asked)
    answers = [a if isinstance(a, Answer) else Answer(tuple(zip("abcdefgh", a, strict=False))) for _, a in asked]
    return RULES[f"normalize/{clause}"].wrong(case, answers, promises)


TWICE, ONE = Answer((("a", 1), ("b", 0), ("a", 1))), Answer((("a", 1),), filtered=("b",))
CRASHED, REFUSED = Answer(crash="panic: integer divide by zero"), Answer(refusal="no sample for b")
BLAMED = {
    "a score beyond the scale": ("range", [([1, 2], [101, 0])], "node a scores 101, which is outside 0 to 100"),
    "a negative score": ("range", [([1, 2], [5, -1])], "node b scores -1"),
    "a float": ("range", [([1, 2], [99.5, 0])], "not an integer"),
    "a whole float": ("range", [([1, 2], [99.0, 0])], "not an integer"),
    "order": ("order", [([1, 2, 3], [50, 60, 0])], "than b (1 B/s and 2 B/s), but scores lower (50 and 60)"),
    "order far apart": ("order", [([1, 2, 3], [50, 40, 60])], "node b has less traffic than c"),
    "resolution": ("strict", [([1e6, 1.2e6], [7, 7])], "differ by more than the claimed 10%"),
    "the quietest is not on top": ("best-is-top", [([1, 2], [5, 6])], "is the quietest (1 B/s), but b scores higher"),
    "the best is not the most": ("best-is-max", [([1, 2], [99, 0])], "scores 99, not 100"),
    "the loudest has some": ("worst-is-min", [([1, 2], [100, 1])], "is the busiest (2 B/s), but scores 1, not 0"),
    "equals": ("equal", [([3, 1, 3], [4, 100, 5])], "nodes a and c both carry 3 B/s, but score 4 and 5"),
    "order of nodes": ("permutation", [([1, 2], [100, 0]), ([1, 2], [100, 1])], "the order of the nodes has changed"),
    "unit": ("scale", [([1, 2], [100, 0]), ([2, 4], [90, 0])], "only the unit of the readings has changed"),
    "memory": ("repeat", [([1, 2], [9, 0]), ([2, 1], [0, 9]), ([1, 2], [8, 0])], "asked as question 3"),
    "a lost node": ("same-nodes", [([1, 2], [9])], "node b is in the question, but has no score"),
    "a node twice": ("same-nodes", [([1, 2], TWICE)], "a is in the question, but has 2 scores"),
    "an unknown node": ("same-nodes", [([1], [1]), ([1, 2], [9, 8, 7])], "node c is not in the question"),
    "a crash": ("same-nodes", [([1, 2], CRASHED)], "crashed: panic: integer divide by zero"),
    "a refusal": ("same-nodes", [([1, 2], REFUSED)], "refused: no sample for b"),
    "a filtered node": ("same-nodes", [([1, 2], ONE)], "b is in the question, but is excluded"),
    "a crash without traffic": ("zero", [([0, 0], CRASHED)], "crashed"),
    "a preference without traffic": ("zero", [([0, 0], [1, 0])], "both carry 0 B/s"),
    "a crash of one": ("single", [([5], CRASHED)], "crashed"),
    "overflow": ("huge", [([1e17, 2e17], [-84, 0])], "outside 0 to 100"),
    "overflow within the range": ("huge", [([5e16, 1e17], [3, 40])], "less traffic"),
    "a missing reading refuses all": ("nonfinite", [([1, None], REFUSED)], "refused"),
    "NaN before all": ("nonfinite", [([1, math.nan, 3], [0, 100, 50])], "less traffic"),
    "missing is the quietest": ("nonfinite", [([5, None, 9], [50, 100, 0])], "should compete as the median"),
    "missing is the mean": ("nonfinite", [([1, None, 2, 1e9], [100, 66, 100, 0])], "should compete as the median"),
    "missing is avoided": ("nonfinite", [([1, None, 2, 4], [100, 0, 66, 0])], "should compete as the median"),
    "missing is as good as the best": ("nonfinite", [([1, None, 2, 4], [100, 100, 66, 0])], "like the quietest"),
    "nothing is known, and it crashes": ("nonfinite", [([None, None], CRASHED)], "crashed"),
    "nothing is known, and it waits": ("nonfinite", [([None, None], REFUSED)], "refused"),
    "the quietest is not on top of many": ("best-is-max", [([1e6, 1e6, 2e6], [99, 99, 0])], "scores 99, not 100"),
}  # fmt: skip


@pytest.mark.parametrize("what", BLAMED)
def test_rule_complains_about_wrong_scores(what):
    clause, asked, expected = BLAMED[what]
    assert expected in complaint(clause, *asked)


PASSED = {
    "integers": ("range", [([1, 2], [100, 0])]),
    "no order within rounding": ("order", [([1.0, 1.0 + 1e-15], [0, 100])]),
    "two quietest within rounding": ("best-is-top", [([1.0, 1.0 + 1e-15], [0, 100])]),
    "ties are in order": ("order", [([1, 2, 3], [50, 50, 0])]),
    "unknown nodes have no order": ("order", [([1, None, math.nan, -5], [50, 100, 100, 0])]),
    "below the resolution": ("strict", [([1e6, 1.05e6], [7, 7])]),
    "below a byte": ("strict", [([0.1, 0.9], [7, 7])]),
    "two quietest": ("best-is-top", [([1, 1, 2], [9, 9, 3])]),
    "all alike have no loudest": ("worst-is-min", [([2, 2], [100, 100])]),
    "the loudest is known": ("worst-is-min", [([1, 2, None], [100, 50, 0])]),
    "a crash says nothing of order": ("order", [([1, 2], CRASHED)]),
    "without traffic, that is for another": ("same-nodes", [([0, 0], CRASHED)]),
    "not huge": ("huge", [([1, 2], CRASHED)]),
    "nothing is unusual": ("nonfinite", [([1, 2], CRASHED)]),
    "missing as the median": ("nonfinite", [([1, None, 3], [100, 50, 0])]),
    "all missing": ("nonfinite", [([None, None], [100, 100])]),
    "missing between the two": ("nonfinite", [([1, None, 2, 4], [100, 50, 66, 0])]),
    "the median is as bad as the loudest": ("nonfinite", [([1, None, 900, 1000], [100, 0, 0, 0])]),
    "the median is as good as the quietest": ("nonfinite", [([1, None, 2, 1e9], [100, 100, 100, 0])]),
    "ranks, the median next to its like": ("nonfinite", [([1, None, 2, 1e9], [100, 33, 66, 0])]),
    "beyond any device there is no order": ("huge", [([1e19, 3e19, 1e6], [3, 40, 100])]),
    "beyond any device there is no quietest": ("best-is-max", [([1e18, 3e19], [3, 40])]),
    "equals have no quietest": ("best-is-max", [([2e6, 2e6], [0, 0]), ([2e6], [50])]),
    "within the resolution there is no quietest": ("best-is-max", [([2e6, 2.1e6], [0, 0])]),
}


@pytest.mark.parametrize("what", PASSED)
def test_rule_accepts_right_scores(what):
    clause, asked = PASSED[what]
    assert complaint(clause, *asked) == ""


def test_nodes_without_a_sample_may_be_excluded_if_that_is_claimed():
    asked = ([1, None], Answer((("a", 100),), filtered=("b",)))
    assert "is excluded" in complaint("nonfinite", asked)
    assert complaint("nonfinite", asked, promises=Promises(on_missing="reject")) == ""


NOTHING = ([None, math.nan, -1.0, math.inf, 1e300], [None], [None, None])
"""Readings without any known value."""
GONE = [Answer(refusal="no reading of any node"), Answer(filtered=tuple("abcde"))]


@pytest.mark.parametrize("readings", NOTHING, ids=["odd", "one", "none"])
@pytest.mark.parametrize("answer", GONE, ids=["refused", "filtered"])
@pytest.mark.parametrize(
    ("policy", "may"),
    [
        ({"on_outage": "wait"}, True), ({"on_outage": "wait", "on_missing": "avoid"}, True),
        ({"on_missing": "reject", "on_outage": "schedule"}, True), ({"on_missing": "reject"}, True),
        ({}, True), ({"on_outage": "schedule"}, False), ({"on_outage": "schedule", "on_missing": "avoid"}, False),
    ],
    ids=str,
)  # fmt: skip
def test_pods_may_wait_without_readings_if_that_is_claimed(policy, may, answer, readings):
    filtered = tuple(node for node in answer.filtered if node in dict(named(*readings)))
    wrong = complaint(
        "nonfinite", (readings, dataclasses.replace(answer, filtered=filtered)), promises=Promises(**policy)
    )
    assert bool(wrong) is not may


@pytest.mark.parametrize("policy", [{"on_outage": "wait"}, {"on_missing": "reject"}], ids=str)
def test_no_pod_may_wait_if_a_reading_is_known(policy):
    for clause, readings in (
        ("nonfinite", [1, None]), ("zero", [0, 0]), ("single", [0]), ("same-nodes", [1, 2]), ("huge", [1e10, 1]),
    ):  # fmt: skip
        assert "refused" in complaint(clause, (readings, REFUSED), promises=Promises(**policy))


def test_avoided_nodes_score_no_higher_than_any_other():
    asked = ([1, None, 3], [100, 50, 0])
    assert "is to be avoided" in complaint("nonfinite", asked, promises=Promises(on_missing="avoid"))


def test_scores_of_an_extender_are_within_0_to_10():
    assert "outside 0 to 10" in complaint("range", ([1, 2], [11, 0]), promises=Promises.of("extender", Claims()))


def test_rules_depend_on_the_promises():
    everything = [rule.clause for rule in rules_for(PROMISES)]
    assert everything == list(RULES)
    plain = {rule.clause for rule in rules_for(Promises())}
    assert set(everything) - plain == {
        f"normalize/{name}" for name in ("strict", "best-is-max", "worst-is-min", "scale")
    }
    values = {rule.clause.removeprefix("normalize/") for rule in rules_for(Promises(about="values"))}
    assert values == {"range", "permutation", "equal", "same-nodes", "zero", "huge", "single", "repeat"}
    nothing = {rule.clause.removeprefix("normalize/") for rule in rules_for(Promises.of("extender", Claims()))}
    assert nothing == {"range", "same-nodes", "single"}


def test_promises_are_derived_from_the_claims():
    network = NetworkClaims("bytes", "receive", window=2, resolution=0.2, on_missing="avoid")
    promises = Promises.of("plugin", Claims(features=("strict",), network=network))
    assert promises == Promises(100, 0.2, frozenset({"strict"}), "avoid", "traffic", None)
    waiting = Claims(network=dataclasses.replace(network, on_outage="wait"))
    assert Promises.of("plugin", waiting).on_outage == "wait"


def test_answers_and_readings_survive_json():
    answer = Answer((("a", 1), ("b", math.inf)), "", "", ("c",), (("a", 5),))
    assert Answer.from_dict(answer.as_dict()) == answer
    readings = (("a", None), ("b", -math.inf), ("c", 2.5))
    assert readings_from_json(readings_to_json(readings)) == readings
