"""Scores: the questions and answers on each surface that a candidate offers, held to the rules.

A record `surfaces` names the surfaces that can be asked. A record `scoring` is a search on one surface: how many cases
were asked, and the most informative case: the smallest that failed, or else the last. That case is judged, from its
questions and answers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from schedproof.candidate.claims import Claims
from schedproof.history.acts import ScoringSearch, Surfaces
from schedproof.history.history import History
from schedproof.judge.clause import Clause
from schedproof.judge.evidence import Evidence, Question, ScoredNode, Scoring
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed
from schedproof.normalization.agreement import disagreement, undocumented
from schedproof.normalization.answer import Answer, Readings, readings_from_json
from schedproof.normalization.promises import NORMALIZE_SCORE, Promises
from schedproof.normalization.properties import unanswered
from schedproof.normalization.rules import RULES, Rule

_SHOWN = 40
"""Nodes of a question that evidence shows."""


@gives("no-scores", "not-applicable", "not-tried", "wrong-scores")
def judge_scores(history: History, case: str) -> Finding:
    """One rule, on all surfaces."""
    if (finding := _untried(history, case)) is not None:
        return finding
    searches = list(history.of(ScoringSearch, case))
    rule, kind = RULES[case], history.run.candidate.kind
    wrong, unproved, told_of = [], [], set()
    for search in searches:
        questions, answers = _asked(search)
        promises = Promises.of(kind, history.claims, search.surface)
        if text := rule.wrong(questions, answers, promises):
            now_and_then = "" if search.steady else " (not each time it is asked)"
            wrong.append(f"{search.surface}: {text}{now_and_then}")
            told_of.add(search.surface)
        elif not rule.answers and (why := next(filter(None, map(unanswered, answers)), "")):
            unproved.append(f"{search.surface}: no case got an answer; {why}")
    if wrong:
        return failed("wrong-scores", "; ".join(wrong), _shown(history, case, told_of))
    if unproved:
        return invalid("no-scores", "; ".join(unproved), _shown(history, case))
    counts = ", ".join(f"{search.surface} {search.cases}" for search in searches)
    return passed(f"holds in all cases ({counts})", _shown(history, case))


@gives("not-applicable", "not-tried", "surfaces-differ")
def judge_surfaces_agree(history: History, case: str) -> Finding:
    """The same questions got the same answers on every surface."""
    if (finding := _untried(history, case)) is not None:
        return finding
    searches = list(history.of(ScoringSearch, case))
    if len(searches) < 2:
        return not_claimed("it offers its scores on fewer than two surfaces")
    compared, wrong = disagreement((search.surface, *_asked(search)) for search in searches)
    if wrong:
        return failed("surfaces-differ", wrong, _shown(history, case))
    if not compared:
        return invalid("not-tried", "no question was asked on two surfaces", _shown(history, case))
    return passed(f"{compared} answers are the same on two surfaces", _shown(history, case))


@gives("example-differs", "not-applicable", "not-tried")
def judge_documented(history: History, case: str) -> Finding:
    """The worked examples of the candidate's claims hold."""
    if (finding := _untried(history, case)) is not None:
        return finding
    searches = list(history.of(ScoringSearch, case))
    for search in searches:
        if wrong := undocumented(history.claims.examples, *_asked(search)):
            return failed("example-differs", f"{search.surface}: {wrong}", _shown(history, case, {search.surface}))
    surfaces = ", ".join(search.surface for search in searches)
    return passed(f"{len(history.claims.examples)} worked examples hold ({surfaces})", _shown(history, case))


def no_examples(claims: Claims) -> str:
    """Why there is nothing documented; "" if there is."""
    return "" if claims.examples else "no worked examples are claimed"


def no_readings(claims: Claims) -> str:
    """Why its scores depend on no readings; "" if they do."""
    return "" if claims.network else "claims.network is missing, which states the readings that scores depend on"


def no_readings_for(rule: Rule) -> Callable[[Claims], str]:
    """As `_no_readings`, for a rule that may be about scores alone."""
    return no_readings if rule.about != "nothing" else lambda _claims: ""


def _untried(history: History, case: str) -> Finding | None:
    """The finding if a surface cannot be asked, or was not."""
    surfaces = next((record.names for record in history.of(Surfaces, case)), None)
    if surfaces is None:
        return invalid("not-tried", "the trial did not look for scoring surfaces")
    if not surfaces:
        return not_claimed("it offers no scoring surface: no function, no prioritize verb, no plugin")
    missing = set(surfaces) - {search.surface for search in history.of(ScoringSearch, case)}
    return (
        invalid("not-tried", f"no question was asked on the surface {', '.join(sorted(missing))}") if missing else None
    )


def _asked(search: ScoringSearch) -> tuple[tuple[Readings, ...], tuple[Answer, ...]]:
    questions = tuple(readings_from_json(readings) for readings in search.questions)
    return questions, tuple(Answer.from_dict(answer) for answer in search.answers)


def _shown(history: History, case: str, wrong: Collection[str] = ()) -> Evidence:
    """On each surface the questions of one case, with the readings and scores of their first nodes.

    Surfaces with something `wrong` come first; on the others the clause holds.
    """
    searches = sorted(history.of(ScoringSearch, case), key=lambda search: search.surface not in wrong)
    scorings = [
        Scoring(
            surface=search.surface, holds=bool(wrong) and search.surface not in wrong, cases=search.cases,
            id=search.id, asked=search.asked, seconds=search.seconds, waited=search.waited,
            of="raw score" if search.surface == NORMALIZE_SCORE else "traffic B/s",
            questions=[
                _question(_given(search, readings, answer), answer)
                for readings, answer in zip(*_asked(search), strict=True)
            ],
        )
        for search in searches
    ]  # fmt: skip
    return Evidence(scorings=scorings)


def _given(search: ScoringSearch, readings: Readings, answer: Answer) -> Readings:
    """The input of the scorer; of NormalizeScore, only values that Score gives."""
    return answer.raw or readings if search.surface == NORMALIZE_SCORE else readings


def _question(readings: Readings, answer: Answer) -> Question:
    scores: dict[str, list[float]] = {}
    for node, score in answer.scores:
        scores.setdefault(node, []).append(score)
    carried = dict(readings)
    nodes = list(dict.fromkeys((*carried, *scores)))
    return Question(
        unanswered=unanswered(answer),
        more=max(0, len(nodes) - _SHOWN),
        nodes=[
            ScoredNode(
                node=node,
                reading="no sample" if carried.get(node) is None else f"{carried[node]:g}",
                scores=[score if math.isfinite(score) else str(score) for score in scores.get(node, ())],
            )
            for node in nodes[:_SHOWN]
        ],
    )


_SCORES = "scheduler framework: ScorePlugin, NormalizeScore; extender API: HostPriorityList"


CLAUSES = (
    *(
        Clause(
            rule.clause, rule.guarantee, _SCORES, judge_scores,
            features=frozenset({rule.feature} - {""}), unclaimed=no_readings_for(rule),
            hint="The report has the smallest case that fails; repeat it with `schedproof replay ID`. See "
            "docs/scoring.md.",
        )
        for rule in RULES.values()
    ),
    Clause(
        "normalize/surfaces-agree", "The same readings get the same scores on every surface.",
        _SCORES, judge_surfaces_agree, unclaimed=no_readings,
        hint="Use the same function on every surface; look for rounding on one of them.",
    ),
    Clause(
        "normalize/documented", "The worked examples of the candidate's documentation hold.",
        "the candidate's own claim", judge_documented, unclaimed=no_examples,
        hint="Calculate the examples of claims.examples by hand, in integers as the code does.",
    ),
)  # fmt: skip
