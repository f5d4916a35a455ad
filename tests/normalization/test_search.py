"""Searching, on functions of a few lines."""

from __future__ import annotations

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.normalization import hold_function
from schedproof.normalization.cases import corners
from schedproof.normalization.effort import Effort
from schedproof.normalization.function import FunctionSurface
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES, rules_for
from schedproof.normalization.saved import SavedCase, SavedCases
from schedproof.normalization.search import search


def ranked(readings):
    """Right in everything but that it promises nothing special."""
    known = sorted({value for value in readings.values() if value is not None and 0 <= value < float("inf")})
    middle = known[(len(known) - 1) // 2] if known else 0.0
    places = {node: value if value in known else middle for node, value in readings.items()}
    last = max(1, len(known) - 1)
    return {node: 100 - known.index(value) * 100 // last if known else 100 for node, value in places.items()}


def quietest_last(readings):
    return {node: min(100, int(value or 0)) for node, value in readings.items()}


def found(score, clause, **options):
    rule = RULES[f"normalize/{clause}"]
    return search(rule, FunctionSurface(score), Promises(), **{"cases": 100, "seed": 1, **options})


@pytest.mark.parametrize("clause", [rule.clause.removeprefix("normalize/") for rule in rules_for(Promises())])
def test_a_right_function_is_not_blamed(clause):
    assert found(ranked, clause).failing is None


def test_the_smallest_case_is_told():
    failing = found(quietest_last, "order", cases=200).failing
    assert failing is not None
    assert [value for _, value in failing.case[0]] == [0.0, 1.0]
    assert failing.text == "node node-1 carries less traffic than node-2 (0 B/s to 1 B/s), and scores lower (0 to 1)"


def test_the_same_seed_asks_the_same():
    def asked(seed):
        questions = []
        found(lambda readings: questions.append(tuple(readings.items())) or ranked(readings), "order", seed=seed)
        return questions

    assert asked(1) == asked(1) != asked(2)


def test_known_cases_and_corners_come_first():
    known = ((("x", 7.0), ("y", 8.0)),)
    questions = []
    found(lambda readings: questions.append(readings) or ranked(readings), "order", cases=0, known=[known])
    rule = RULES["normalize/order"]
    assert questions == [dict(known[0]), *(dict(c[0]) for c in corners(rule, FunctionSurface(ranked), Promises()))]


def test_who_answers_otherwise_the_next_time_is_found():
    calls = []

    def only_once(readings):
        calls.append(readings)
        return quietest_last(readings) if len(calls) == 40 else ranked(readings)

    failing = found(only_once, "order", cases=300).failing
    assert failing is not None
    assert not failing.steady


def test_a_function_is_held_and_the_failing_case_is_kept(tmp_path):
    with pytest.raises(AssertionError) as raised:
        hold_function(quietest_last, kept=tmp_path)
    assert "normalize/order: A node with less traffic never scores lower" in str(raised.value)
    assert "score 1" in str(raised.value)
    scorer = f"{__name__}:quietest_last"
    (kept,) = SavedCases(tmp_path).of(scorer, "normalize/order", "python")
    assert SavedCases(tmp_path).get(kept.id) == kept
    broken = {file.stem for file in tmp_path.iterdir()}

    def mended(readings):
        return ranked(readings)

    mended.__qualname__ = "quietest_last"
    hold_function(mended, kept=tmp_path)
    assert broken
    assert not list(tmp_path.iterdir())


def test_clauses_that_a_function_is_known_to_break_are_left_out(tmp_path):
    clauses = ["normalize/order", "normalize/best-is-top", "normalize/huge", "normalize/nonfinite"]
    hold_function(quietest_last_or_none, without=clauses, kept=tmp_path)


def quietest_last_or_none(readings):
    return {node: int(max(0.0, min(100.0, value or 0.0))) for node, value in readings.items()}


@pytest.mark.parametrize(
    ("options", "remedy"),
    [({"profile": "long"}, "quick, ci"), ({"features": ["stict"]}, "strict"), ({"without": ["order"]}, "/order")],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(options, remedy):
    with pytest.raises(UsageError, match=remedy):
        hold_function(ranked, **options)


def test_effort_is_a_name_or_a_number():
    assert Effort("ci").cases("plugin") == 500
    assert Effort("ci").cases("scheduler") == 50
    assert Effort("7").cases("scheduler") == 7
    with pytest.raises(UsageError, match="thorough"):
        Effort("many")
    with pytest.raises(UsageError, match="scheduler"):
        Effort(surfaces=("http",))


def test_a_saved_case_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="no such case"):
        SavedCases(tmp_path).get("abc")
    (tmp_path / "half.json").write_text("{")
    case = SavedCase("candidate.yaml", "normalize/order", "plugin", ((("a", None), ("b", float("inf"))),), "wrong")
    assert SavedCases(tmp_path).get(SavedCases(tmp_path).keep(case)[:4]) == case


def test_an_integer_that_no_float_holds_is_no_score():
    answer = FunctionSurface(lambda readings: dict.fromkeys(readings, 10**400)).ask((("a", 1.0),))
    assert answer.refusal == "a score is too large for a float64"
