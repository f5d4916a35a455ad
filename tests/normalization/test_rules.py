"""Each rule on answers by hand: what it blames, in which words, and what it lets pass."""

from __future__ import annotations

import math

import pytest

from schedproof.candidates.claims import Claims, NetworkClaims
from schedproof.normalization.answer import Answer, readings_from_json, readings_to_json
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES, rules_for

ALL = frozenset({"strict", "full-scale", "scale-free"})
PROMISES = Promises(100, 0.1, ALL, "neutral")


def named(*values: float | None):
    return tuple(zip("abcdefgh", values, strict=False))


def said(clause: str, *asked, promises: Promises = PROMISES) -> str:
    """What a rule says of (readings, scores or Answer) pairs."""
    case = tuple(named(*readings) for readings, _ in asked)
    answers = [a if isinstance(a, Answer) else Answer(tuple(zip("abcdefgh", a, strict=False))) for _, a in asked]
    return RULES[f"normalize/{clause}"].wrong(case, answers, promises)


TWICE, ONE = Answer((("a", 1), ("b", 0), ("a", 1))), Answer((("a", 1),), filtered=("b",))
CRASHED, REFUSED = Answer(crash="panic: integer divide by zero"), Answer(refusal="no sample for b")
BLAMED = {
    "a score beyond the scale": ("range", [([1, 2], [101, 0])], "node a scores 101, which is outside 0 to 100"),
    "a negative score": ("range", [([1, 2], [5, -1])], "node b scores -1"),
    "a float": ("range", [([1, 2], [99.5, 0])], "no integer"),
    "a whole float": ("range", [([1, 2], [99.0, 0])], "no integer"),
    "order": ("order", [([1, 2, 3], [50, 60, 0])], "than b (1 B/s to 2 B/s), and scores lower (50 to 60)"),
    "order far apart": ("order", [([1, 2, 3], [50, 40, 60])], "node b carries less traffic than c"),
    "resolution": ("strict", [([1e6, 1.2e6], [7, 7])], "differ by more than the claimed 10%"),
    "the quietest is not on top": ("best-is-top", [([1, 2], [5, 6])], "is the quietest (1 B/s), and b scores higher"),
    "the best is not the most": ("best-is-max", [([1, 2], [99, 0])], "scores 99, not 100"),
    "the loudest has some": ("worst-is-min", [([1, 2], [100, 1])], "is the loudest (2 B/s), and scores 1, not 0"),
    "equals": ("equal", [([3, 1, 3], [4, 100, 5])], "nodes a and c both carry 3 B/s, and score 4 and 5"),
    "order of nodes": ("permutation", [([1, 2], [100, 0]), ([1, 2], [100, 1])], "the order of the nodes has changed"),
    "unit": ("scale", [([1, 2], [100, 0]), ([2, 4], [90, 0])], "only the unit of the readings has changed"),
    "memory": ("repeat", [([1, 2], [9, 0]), ([2, 1], [0, 9]), ([1, 2], [8, 0])], "asked as number 3"),
    "a lost node": ("same-nodes", [([1, 2], [9])], "node b was asked about, and has no score"),
    "a node twice": ("same-nodes", [([1, 2], TWICE)], "a was asked about, and has 2 scores"),
    "a stranger": ("same-nodes", [([1], [1]), ([1, 2], [9, 8, 7])], "node c was not asked about"),
    "a crash": ("same-nodes", [([1, 2], CRASHED)], "crashed: panic: integer divide by zero"),
    "a refusal": ("same-nodes", [([1, 2], REFUSED)], "refused: no sample for b"),
    "a filtered node": ("same-nodes", [([1, 2], ONE)], "b was asked about, and is not considered"),
    "a crash without traffic": ("zero", [([0, 0], CRASHED)], "crashed"),
    "a preference without traffic": ("zero", [([0, 0], [1, 0])], "both carry 0 B/s"),
    "a crash of one": ("single", [([5], CRASHED)], "crashed"),
    "overflow": ("huge", [([1e17, 2e17], [-84, 0])], "outside 0 to 100"),
    "overflow within the range": ("huge", [([1e17, 2e17], [3, 40])], "less traffic"),
    "a missing reading refuses all": ("nonfinite", [([1, None], REFUSED)], "refused"),
    "NaN before all": ("nonfinite", [([1, math.nan, 3], [0, 100, 50])], "less traffic"),
    "missing is the quietest": ("nonfinite", [([5, None, 9], [50, 100, 0])], "should compete as the median"),
}  # fmt: skip


@pytest.mark.parametrize("what", BLAMED)
def test_a_rule_blames(what):
    clause, asked, expected = BLAMED[what]
    assert expected in said(clause, *asked)


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
}


@pytest.mark.parametrize("what", PASSED)
def test_a_rule_lets_pass(what):
    clause, asked = PASSED[what]
    assert said(clause, *asked) == ""


def test_nodes_without_a_sample_may_be_rejected_where_that_is_claimed():
    asked = ([1, None], Answer((("a", 100),), filtered=("b",)))
    assert "not considered" in said("nonfinite", asked)
    assert said("nonfinite", asked, promises=Promises(on_missing="reject")) == ""


def test_nodes_to_be_avoided_score_no_higher_than_any():
    asked = ([1, None, 3], [100, 50, 0])
    assert "is to be avoided" in said("nonfinite", asked, promises=Promises(on_missing="avoid"))


def test_an_extender_has_eleven_scores():
    assert "outside 0 to 10" in said("range", ([1, 2], [11, 0]), promises=Promises.of("extender", Claims()))


def test_rules_depend_on_what_is_promised():
    everything = [rule.clause for rule in rules_for(PROMISES)]
    assert everything == list(RULES)
    plain = {rule.clause for rule in rules_for(Promises())}
    assert set(everything) - plain == {f"normalize/{one}" for one in ("strict", "best-is-max", "worst-is-min", "scale")}
    values = {rule.clause.removeprefix("normalize/") for rule in rules_for(Promises(about="values"))}
    assert values == {"range", "permutation", "equal", "same-nodes", "zero", "huge", "single", "repeat"}
    nothing = {rule.clause.removeprefix("normalize/") for rule in rules_for(Promises.of("extender", Claims()))}
    assert nothing == {"range", "same-nodes", "single"}


def test_promises_are_the_candidates_claims():
    network = NetworkClaims("bytes", "receive", window=2, resolution=0.2, on_missing="avoid")
    promises = Promises.of("plugin", Claims(features=("strict",), network=network))
    assert promises == Promises(100, 0.2, frozenset({"strict"}), "avoid", "traffic")


def test_answers_survive_json():
    answer = Answer((("a", 1), ("b", math.inf)), "", "", ("c",), (("a", 5),))
    assert Answer.from_dict(answer.as_dict()) == answer
    readings = (("a", None), ("b", -math.inf), ("c", 2.5))
    assert readings_from_json(readings_to_json(readings)) == readings
