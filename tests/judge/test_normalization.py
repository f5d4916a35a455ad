"""normalize/* clauses, judged from recorded scoring searches."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.candidate.claims import Claims, Example
from schedproof.history.acts import Surfaces
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.evidence import ScoredNode
from schedproof.normalization.answer import Answer
from schedproof.normalization.rules import RULES

from .histories import CLAIMS, HistoryBuilder, told
from .verdicts import explained

READINGS = (("n1", 1e6), ("n2", 2e6))
RIGHT, WRONG = Answer((("n1", 10), ("n2", 0))), Answer((("n1", 3), ("n2", 4)))
CRASHED = Answer(crash="panic: integer divide by zero")


def tried(clause: str, *surfaces: str, **fields) -> HistoryBuilder:
    history = HistoryBuilder(clause, **fields)
    history.add(Surfaces(case=clause, names=list(surfaces)))
    return history


def test_every_normalization_rule_is_a_clause():
    assert set(RULES) <= set(CATALOGUE)
    assert all(CATALOGUE[clause].guarantee == rule.guarantee for clause, rule in RULES.items())


def test_clause_that_holds_on_all_surfaces_passes_with_the_number_of_cases():
    history = tried("normalize/order", "extender", "scheduler")
    history.scoring("extender", (READINGS, RIGHT), cases=103)
    history.scoring("scheduler", (READINGS, RIGHT), cases=5)
    told(history.verdict(), "passed", "", "extender 103", "scheduler 5")


def test_evidence_has_the_duration_of_the_search():
    history = tried("normalize/order", "extender", "scheduler")
    history.scoring("extender", (READINGS, RIGHT), asked=103, seconds=2.5, waited=1.5)
    history.scoring("scheduler", (READINGS, RIGHT))
    first, second = history.verdict().evidence.scorings
    assert (first.asked, first.seconds, first.waited) == (103, 2.5, 1.5)
    assert (second.asked, second.seconds, second.waited) == (0, 0, 0)


def test_failure_on_one_surface_has_its_questions():
    history = tried("normalize/order", "extender")
    history.scoring("extender", (READINGS, RIGHT))
    history.scoring("scheduler", (READINGS, WRONG), id="0a1b2c3d")
    verdict = history.verdict()
    told(verdict, "failed", "wrong-scores", "n1", "n2")
    shown = verdict.evidence.scorings[0]
    assert shown.id == "0a1b2c3d"
    assert shown.questions[0].nodes[1] == ScoredNode(node="n2", reading="2e+06", scores=[4])


def test_failure_of_normalize_score_shows_raw_scores():
    history = tried("normalize/equal", "normalize-score")
    answer = dataclasses.replace(WRONG, raw=(("n1", 7), ("n2", 7)))
    history.scoring("normalize-score", ((("n1", 5), ("n2", 5)), answer))
    verdict = history.verdict()
    told(verdict, "failed", "wrong-scores", "n1", "n2", "3", "4")
    (shown,) = verdict.evidence.scorings
    assert (shown.of, shown.questions[0].nodes[0].reading) == ("raw score", "7")


def test_summary_states_that_a_failure_is_intermittent():
    history = tried("normalize/order", "extender")
    history.scoring("extender", (READINGS, WRONG), steady=False)
    told(history.verdict(), "failed", "wrong-scores", "not each time")


def test_order_of_a_crashing_scorer_is_invalid():
    history = tried("normalize/order", "extender")
    history.scoring("extender", (READINGS, CRASHED))
    told(history.verdict(), "invalid", "no-scores", "the scorer crashed: panic")


def test_crash_fails_a_clause_about_answers():
    history = tried("normalize/zero", "extender")
    history.scoring("extender", ((("n1", 0.0), ("n2", 0.0)), CRASHED))
    told(history.verdict(), "failed", "wrong-scores", "integer divide by zero")


@pytest.mark.parametrize("clause", ["normalize/order", "normalize/documented"])
def test_candidate_without_a_surface_is_not_claimed(clause):
    claims = dataclasses.replace(CLAIMS, examples=(Example({"a": 1}, {"a": 10}),))
    told(tried(clause, claims=claims).verdict(), "not-claimed", "not-applicable")


def test_surface_that_was_not_searched_is_invalid():
    history = tried("normalize/order", "extender", "scheduler")
    history.scoring("extender", (READINGS, RIGHT))
    told(history.verdict(), "invalid", "not-tried")


def test_order_is_not_claimed_without_network_claims():
    told(
        tried("normalize/order", claims=Claims(("normalization",))).verdict(),
        "not-claimed",
        "not-claimed",
        "claims.network",
    )


def test_surfaces_agree_by_the_order_of_the_nodes():
    history = tried("normalize/surfaces-agree", "extender")
    history.scoring("extender", (READINGS, RIGHT))
    history.scoring("scheduler", ((("x", 1e6), ("y", 2e6)), Answer((("y", 0), ("x", 10)))))
    told(history.verdict(), "passed", "", "1")


def test_surfaces_may_differ_by_one_point_for_rounding():
    for score, outcome, code in ((9, "passed", ""), (8, "failed", "surfaces-differ")):
        history = tried("normalize/surfaces-agree", "extender")
        history.scoring("extender", (READINGS, RIGHT))
        history.scoring("scheduler", (READINGS, Answer((("n1", score), ("n2", 0)))))
        told(history.verdict(), outcome, code)


def test_crashing_surface_disagrees():
    history = tried("normalize/surfaces-agree", "extender")
    history.scoring("extender", (READINGS, RIGHT))
    history.scoring("scheduler", (READINGS, CRASHED))
    told(history.verdict(), "failed", "surfaces-differ")


def test_agreement_needs_two_surfaces_with_the_same_cases():
    history = tried("normalize/surfaces-agree", "extender")
    history.scoring("extender", (READINGS, RIGHT))
    told(history.verdict(), "not-claimed", "not-applicable")
    history.scoring("scheduler", ((("x", 5.0), ("y", 6.0)), RIGHT))
    told(history.verdict(), "invalid", "not-tried")


def test_examples_are_compared_by_the_order_of_their_nodes():
    example = Example({"quiet": 1e6, "loud": 2e6}, {"loud": 0, "quiet": 10})
    history = tried("normalize/documented", "extender", claims=dataclasses.replace(CLAIMS, examples=(example,)))
    history.scoring("extender", (READINGS, RIGHT))
    told(history.verdict(), "passed", "", "1")
    history.scoring("scheduler", (READINGS, WRONG))
    told(history.verdict(), "failed", "example-differs", "1,000,000 B/s", "10", "3")


def test_documented_scores_that_are_not_integers_fail():
    example = Example({"quiet": 1e6, "loud": 2e6}, {"quiet": 9.5, "loud": 0})
    history = tried("normalize/documented", "extender", claims=dataclasses.replace(CLAIMS, examples=(example,)))
    history.scoring("extender", (READINGS, RIGHT))
    told(history.verdict(), "failed", "example-differs")


def test_surfaces_on_which_the_clause_fails_are_shown_first():
    history = tried("normalize/order", "extender", "scheduler")
    history.scoring("extender", (READINGS, RIGHT))
    history.scoring("scheduler", (READINGS, WRONG))
    verdict = history.verdict()
    told(verdict, "failed", "wrong-scores", "scheduler")
    assert [(scoring.surface, scoring.holds) for scoring in verdict.evidence.scorings] == [
        ("scheduler", False), ("extender", True)
    ]  # fmt: skip
    assert "surface extender, where the clause holds: one of" in explained(verdict)
