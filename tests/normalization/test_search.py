"""Searches for wrong scores, with functions of a few lines."""

from __future__ import annotations

import itertools

import pytest
from hypothesis.internal.conjecture import providers

from schedproof.foundation.errors import UsageError
from schedproof.foundation.saved_cases import SavedCase, SavedCases
from schedproof.normalization import hold_function
from schedproof.normalization.answer import Answer, case_from_json, case_to_json
from schedproof.normalization.cases import corners
from schedproof.normalization.effort import Effort
from schedproof.normalization.function import FunctionSurface
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES, rules_for
from schedproof.normalization.search import Searches, search


def ranked(readings):
    """A function that is right by every rule without a special promise."""
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
def test_right_function_passes(clause):
    assert found(ranked, clause).failing is None


def test_smallest_failing_case_is_reported():
    failing = found(quietest_last, "order", cases=200).failing
    assert failing is not None
    assert sorted(value for _, value in failing.case[0]) == [0.0, 1.0]
    assert failing.text.endswith(" (0 B/s and 1 B/s), but scores lower (0 and 1)")


def counted(score, asked):
    """Return a surface of the function that records its questions."""
    return FunctionSurface(lambda readings: asked.append(tuple(readings.items())) or score(readings))


ANY = [rule for rule in rules_for(Promises()) if rule.shape == "any"]


def test_rules_with_the_same_cases_share_their_questions():
    asked, searches = [], Searches()
    surface = counted(ranked, asked)
    results = [searches.search(rule, surface, Promises(), cases=50, seed=1) for rule in ANY]
    alone = search(ANY[0], FunctionSurface(ranked), Promises(), cases=50, seed=1)
    assert [found.failing for found in results] == [None] * len(ANY)
    assert [found.cases for found in results] == [alone.cases] * len(ANY)
    assert [found.questions for found in results] == [len(asked)] + [0] * (len(ANY) - 1)
    assert results[1].shown == results[0].shown


def test_shared_searches_give_the_same_result_as_separate_searches():
    """The function breaks range, order and best-is-top, and keeps the other rules."""
    searches = Searches()
    surface = FunctionSurface(
        lambda readings: {node: int((value or 0) > 1e6) * 200 for node, value in readings.items()}
    )
    for rule in ANY:
        together = searches.search(rule, surface, Promises(), cases=50, seed=1)
        alone = search(rule, surface, Promises(), cases=50, seed=1)
        assert (together.failing, together.cases) == (alone.failing, alone.cases)
    assert search(ANY[0], surface, Promises(), cases=50, seed=1).failing is not None


def test_other_promises_seeds_and_nodes_need_new_questions():
    asked, searches = [], Searches()
    surface = counted(ranked, asked)
    for promises, seed in ((Promises(), 1), (Promises(resolution=0.2), 1), (Promises(), 2)):
        assert searches.search(ANY[0], surface, promises, cases=20, seed=seed).questions
    surface.nodes = ("a", "b", "c")
    assert searches.search(ANY[1], surface, Promises(), cases=20, seed=1).questions


def test_known_cases_are_asked_even_if_all_others_are_shared():
    searches = Searches()
    wrong = []
    surface = FunctionSurface(lambda readings: quietest_last(readings) if wrong else ranked(readings))
    searches.search(RULES["normalize/range"], surface, Promises(), cases=20, seed=1)
    wrong.append(True)
    known = ((("x", 7.0), ("y", 8.0)),)
    found = searches.search(RULES["normalize/order"], surface, Promises(), cases=20, seed=1, known=[known])
    assert found.failing is not None


def test_search_counts_its_questions_and_its_waiting_time():
    found = search(RULES["normalize/permutation"], FunctionSurface(ranked), Promises(), cases=20, seed=1)
    assert found.questions == 2 * found.cases
    assert 0 < found.waited < found.seconds


def test_cases_without_traffic_differ_only_in_the_number_of_nodes():
    asked = []
    search(RULES["normalize/zero"], counted(ranked, asked), Promises(), cases=1000, seed=1)
    sizes = [len(question) for question in asked]
    assert {1, 2, 30, 5000} <= set(sizes)
    assert len(sizes) < 2 * len(set(sizes))


class Silent(FunctionSurface):
    """Each question but the first `answered` ones takes 5 s, and has no response."""

    def __init__(self, answered=0):
        super().__init__(ranked)
        self.answered, self.asked = answered, 0

    def ask(self, readings):
        self.asked += 1
        if self.asked <= self.answered:
            return super().ask(readings)
        self.waited += 5.0
        return Answer(refusal="no response")


@pytest.mark.parametrize("clause", ["range", "order", "zero"])
def test_search_gives_up_waiting_for_a_scorer_that_answers_nothing(clause):
    surface = Silent()
    assert search(RULES[f"normalize/{clause}"], surface, Promises(), cases=100, seed=1).shown is not None
    assert surface.asked <= 6


def test_search_goes_on_with_a_scorer_that_has_answered():
    surface = Silent(answered=1)
    assert search(RULES["normalize/range"], surface, Promises(), cases=100, seed=1).cases > 20


def test_same_seed_asks_the_same_questions():
    def asked(seed):
        questions = []
        found(lambda readings: questions.append(tuple(readings.items())) or ranked(readings), "order", seed=seed)
        return questions

    assert asked(1) == asked(1) != asked(2)


def test_loaded_modules_do_not_change_the_cases(monkeypatch):
    def read_sources():
        raise AssertionError("hypothesis draws constants that it finds in the modules that happen to be loaded")

    monkeypatch.setattr(providers, "_get_local_constants", read_sources)
    found(ranked, "order")
    assert providers._get_local_constants is read_sources


def test_known_cases_and_corners_come_first():
    known = ((("x", 7.0), ("y", 8.0)),)
    questions = []
    found(lambda readings: questions.append(readings) or ranked(readings), "order", cases=0, known=[known])
    rule = RULES["normalize/order"]
    assert questions == [dict(known[0]), *(dict(c[0]) for c in corners(rule, FunctionSurface(ranked), Promises()))]


def test_intermittent_failure_is_found_and_not_steady():
    calls, wrong = itertools.count(), []

    def only_once(readings):
        """Wrong scores once, when they are observable."""
        scores = quietest_last(readings)
        if next(calls) < 40 or wrong or len(set(scores.values())) == 1:
            return ranked(readings)
        wrong.append(readings)
        return scores

    failing = found(only_once, "order", cases=300).failing
    assert failing is not None
    assert not failing.steady


def test_failing_case_is_saved_and_removed_once_it_passes(tmp_path):
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


def test_excluded_clauses_are_not_checked(tmp_path):
    clauses = ["normalize/order", "normalize/best-is-top", "normalize/huge", "normalize/nonfinite"]
    hold_function(quietest_last_or_none, without=clauses, kept=tmp_path)


def quietest_last_or_none(readings):
    return {node: int(max(0.0, min(100.0, value or 0.0))) for node, value in readings.items()}


@pytest.mark.parametrize(
    ("options", "remedy"),
    [({"profile": "long"}, "quick, ci"), ({"features": ["stict"]}, "strict"), ({"without": ["order"]}, "/order")],
)  # fmt: skip
def test_invalid_options_are_refused(options, remedy):
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


def test_saved_case_is_found_by_the_start_of_its_id(tmp_path):
    with pytest.raises(UsageError, match="no saved case has this id"):
        SavedCases(tmp_path).get("abc")
    (tmp_path / "half.json").write_text("{")
    asked = ((("a", None), ("b", float("inf"))),)
    case = SavedCase("candidate.yaml", "normalize/order", "plugin", case_to_json(asked), "wrong")
    kept = SavedCases(tmp_path).get(SavedCases(tmp_path).keep(case)[:4])
    assert kept == case
    assert case_from_json(kept.case) == asked


def test_integer_beyond_float64_is_not_a_score():
    answer = FunctionSurface(lambda readings: dict.fromkeys(readings, 10**400)).ask((("a", 1.0),))
    assert answer.refusal == "a score is too large for a float64"
