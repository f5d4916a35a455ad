"""Scores: what was asked on each surface that a candidate offers, and what was answered, held to the rules.

A record `surfaces` names those where it can be asked. A record `scoring` is a search on one of them: how many cases
were asked, and the one that shows most: the smallest that failed, or else the last. What is judged is that one, from
its questions and answers alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from schedproof.judge.clause import Clause
from schedproof.judge.evidence import log_tails
from schedproof.judge.verdict import Finding, failed, invalid, not_claimed, passed
from schedproof.normalization.answer import Answer, readings_from_json
from schedproof.normalization.promises import NORMALIZE_SCORE, Promises
from schedproof.normalization.properties import unanswered
from schedproof.normalization.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schedproof.candidates.claims import Claims, Example
    from schedproof.history.history import History
    from schedproof.history.record import Record
    from schedproof.normalization.answer import Readings
    from schedproof.normalization.rules import Rule

__all__ = [
    "CLAUSES",
    "judge_documented",
    "judge_scores",
    "judge_surfaces_agree",
    "no_examples",
    "no_readings",
    "no_readings_for",
]

_ROUNDING = 1
"""Points by which the same readings may score differently on two surfaces: two servers deliver a rate that is the same
but for its last bit, and a score that is cut to an integer then differs by one."""

_SHOWN = 40
"""Nodes of a question that evidence shows."""


def judge_scores(history: History, case: str) -> Finding:
    """One rule, on all surfaces."""
    if (finding := _untried(history, case)) is not None:
        return finding
    searches = list(history.of("scoring", case))
    rule, kind = RULES[case], history.run["candidate"]["kind"]
    wrong, unproved = [], []
    for search in searches:
        questions, answers = _asked(search)
        promises = Promises.of(kind, history.claims, search["surface"])
        if text := rule.wrong(questions, answers, promises):
            now_and_then = "" if search["steady"] else " (not every time that this is asked)"
            wrong.append(f"{search['surface']}: {text}{now_and_then}")
        elif not rule.answers and (why := next(filter(None, map(unanswered, answers)), "")):
            unproved.append(f"{search['surface']}: no case was answered; {why}")
    if wrong:
        return failed("; ".join(wrong), **_shown(history, case))
    if unproved:
        return invalid("; ".join(unproved), **_shown(history, case))
    counts = ", ".join(f"{search['surface']} {search['cases']}" for search in searches)
    return passed(f"holds in all cases that were asked ({counts})", **_shown(history, case))


def judge_surfaces_agree(history: History, case: str) -> Finding:
    """The same questions, asked on every surface. Nodes have other names there: their order tells which is which."""
    if (finding := _untried(history, case)) is not None:
        return finding
    searches = list(history.of("scoring", case))
    if len(searches) < 2:
        return not_claimed("it offers its scores on fewer than two surfaces")
    by_readings: dict[tuple[float | None, ...], list[tuple[str, Answer, tuple[float | None, ...]]]] = {}
    for search in searches:
        for readings, answer in zip(*_asked(search), strict=True):
            scores = dict(answer.scores)
            one = (search["surface"], answer, tuple(scores.get(node) for node, _ in readings))
            by_readings.setdefault(tuple(reading for _, reading in readings), []).append(one)
    compared = 0
    for (surface, answer, given), *others in by_readings.values():
        for other, its_answer, its_scores in others:
            compared += 1
            if wrong := _disagree(answer, given, its_answer, its_scores):
                return failed(f"on the surfaces {surface} and {other}, {wrong}", **_shown(history, case))
    if not compared:
        return invalid("no question was asked on two surfaces", **_shown(history, case))
    return passed(f"{compared} answers are the same on two surfaces", **_shown(history, case))


def _disagree(one: Answer, scores: Sequence[float | None], other: Answer, its_scores: Sequence[float | None]) -> str:
    for answer, opposite in ((one, other), (other, one)):
        if unanswered(answer) and not unanswered(opposite):
            return f"only one answers: {unanswered(answer)}"
    for number, (score, its) in enumerate(zip(scores, its_scores, strict=True), start=1):
        if (score is None) != (its is None) or abs((score or 0) - (its or 0)) > _ROUNDING:
            return f"node number {number} scores {score} and {its} for the same readings"
    return ""


def judge_documented(history: History, case: str) -> Finding:
    """The worked examples that are claimed."""
    if (finding := _untried(history, case)) is not None:
        return finding
    searches = list(history.of("scoring", case))
    for search in searches:
        for example, readings, answer in zip(history.claims.examples, *_asked(search), strict=False):
            if wrong := unanswered(answer) or _undocumented(example, readings, answer):
                return failed(f"{search['surface']}: {wrong}", **_shown(history, case))
    surfaces = ", ".join(search["surface"] for search in searches)
    return passed(f"{len(history.claims.examples)} worked examples hold ({surfaces})", **_shown(history, case))


def _undocumented(example: Example, readings: Readings, answer: Answer) -> str:
    scores = dict(answer.scores)
    for (node, reading), documented in zip(readings, example.readings, strict=True):
        expected = example.scores[documented]
        if scores.get(node) != expected:
            cut = "" if expected == int(expected) else ", for scores are integers"
            return f"{documented}, of {reading:,.0f} B/s, should score {expected:g}, and scores {scores.get(node)}{cut}"
    return ""


def no_examples(claims: Claims) -> str:
    """Why there is nothing documented; "" where there is."""
    return "" if claims.examples else "no worked examples are claimed"


def no_readings(claims: Claims) -> str:
    """Why its scores are of no readings; "" where they are."""
    return "" if claims.network else "claims.network does not say which readings its scores are of"


def no_readings_for(rule: Rule) -> Callable[[Claims], str]:
    """The same, for a rule that may be about scores alone."""
    return no_readings if rule.about != "nothing" else lambda _claims: ""


def _untried(history: History, case: str) -> Finding | None:
    """Where it cannot be asked, or was not."""
    surfaces = next((record["names"] for record in history.of("surfaces", case)), None)
    if surfaces is None:
        return invalid("nobody looked for surfaces where it could be asked")
    if not surfaces:
        return not_claimed("there is no surface where it could be asked: no function, no prioritize verb, no plugin")
    missing = set(surfaces) - {search["surface"] for search in history.of("scoring", case)}
    return invalid(f"it was not asked on the surface {', '.join(sorted(missing))}") if missing else None


def _asked(search: Record) -> tuple[tuple[Readings, ...], tuple[Answer, ...]]:
    questions = tuple(readings_from_json(readings) for readings in search["questions"])
    return questions, tuple(Answer.from_dict(answer) for answer in search["answers"])


def _shown(history: History, case: str) -> dict[str, Any]:
    """`scorings`: on each surface the questions of one case, the readings and scores of their first nodes.

    Also how many questions were `asked`, the `seconds` that this took, and for how many of them answers were awaited
    (`waited`); all 0 where the answers were those of another clause's search.
    """
    scorings = [
        {
            "surface": search["surface"],
            "cases": search["cases"],
            "id": search["id"],
            # Older histories do not have these.
            **{name: search.get(name, 0) for name in ("asked", "seconds", "waited")},
            "of": "raw score" if search["surface"] == NORMALIZE_SCORE else "traffic B/s",
            "questions": [
                _question(_given(search, readings, answer), answer)
                for readings, answer in zip(*_asked(search), strict=True)
            ],
        }
        for search in history.of("scoring", case)
    ]
    return {"scorings": scorings, "logs": log_tails(history, case)}


def _given(search: Record, readings: Readings, answer: Answer) -> Readings:
    """What the scorer was given: NormalizeScore no values that Score does not give."""
    return answer.raw or readings if search["surface"] == NORMALIZE_SCORE else readings


def _question(readings: Readings, answer: Answer) -> dict[str, Any]:
    scores: dict[str, list[float]] = {}
    for node, score in answer.scores:
        scores.setdefault(node, []).append(score)
    carried = dict(readings)
    nodes = list(dict.fromkeys((*carried, *scores)))
    return {
        "unanswered": unanswered(answer),
        "more": max(0, len(nodes) - _SHOWN),
        "nodes": [
            # As text: JSON has no NaN.
            {
                "node": node,
                "reading": "no sample" if carried.get(node) is None else f"{carried[node]:g}",
                "scores": [score if math.isfinite(score) else str(score) for score in scores.get(node, ())],
            }
            for node in nodes[:_SHOWN]
        ],
    }


_SCORES = "scheduler framework: ScorePlugin, NormalizeScore; extender API: HostPriorityList"


CLAUSES = (
    *(
        Clause(
            rule.clause, rule.guarantee, _SCORES, judge_scores,
            features=frozenset({rule.feature} - {""}), unclaimed=no_readings_for(rule),
        )
        for rule in RULES.values()
    ),
    Clause(
        "normalize/surfaces-agree", "The same readings have the same scores on every surface.",
        _SCORES, judge_surfaces_agree, unclaimed=no_readings,
    ),
    Clause(
        "normalize/documented", "The worked examples of its documentation hold.",
        "the candidate's own claim", judge_documented, unclaimed=no_examples,
    ),
)  # fmt: skip
