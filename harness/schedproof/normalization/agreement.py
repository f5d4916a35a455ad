"""Compares answers: those of two surfaces with each other, and those to worked examples with the documented scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schedproof.candidate.claims import Example
from schedproof.normalization.answer import Answer, Case, Readings
from schedproof.normalization.properties import unanswered

_ROUNDING = 1
"""Points by which the same readings may score differently on two surfaces: two servers deliver the same rate except for
its last bit, and a score that is truncated to an integer then differs by one.
"""


def disagreement(asked: Iterable[tuple[str, Case, Sequence[Answer]]]) -> tuple[int, str]:
    """How many answers were compared up to the first difference, and the difference; "" if there is none.

    Nodes have other names on each surface and are matched by their order.

    Args:
            asked: the name of each surface, the questions there, and the answers.
    """
    by_readings: dict[tuple[float | None, ...], list[tuple[str, Answer, tuple[float | None, ...]]]] = {}
    for surface, case, answers in asked:
        for readings, answer in zip(case, answers, strict=True):
            scores = dict(answer.scores)
            one = (surface, answer, tuple(scores.get(node) for node, _ in readings))
            by_readings.setdefault(tuple(reading for _, reading in readings), []).append(one)
    compared = 0
    for (surface, answer, given), *others in by_readings.values():
        for other, its_answer, its_scores in others:
            compared += 1
            if wrong := _disagree(answer, given, its_answer, its_scores):
                return compared, f"on the surfaces {surface} and {other}, {wrong}"
    return compared, ""


def _disagree(one: Answer, scores: Sequence[float | None], other: Answer, its_scores: Sequence[float | None]) -> str:
    for answer, opposite in ((one, other), (other, one)):
        if unanswered(answer) and not unanswered(opposite):
            return f"only one has scores: {unanswered(answer)}"
    for number, (score, its) in enumerate(zip(scores, its_scores, strict=True), start=1):
        if (score is None) != (its is None) or abs((score or 0) - (its or 0)) > _ROUNDING:
            return f"node number {number} scores {score} and {its} for the same readings"
    return ""


def undocumented(examples: Iterable[Example], case: Case, answers: Sequence[Answer]) -> str:
    """Where the answers to worked examples differ from the documented ones; "" if none does. One question for each."""
    for example, readings, answer in zip(examples, case, answers, strict=False):
        if wrong := unanswered(answer) or _differs(example, readings, answer):
            return wrong
    return ""


def _differs(example: Example, readings: Readings, answer: Answer) -> str:
    scores = dict(answer.scores)
    for (node, reading), documented in zip(readings, example.readings, strict=True):
        expected = example.scores[documented]
        if scores.get(node) != expected:
            cut = "" if expected == int(expected) else ", because scores are integers"
            return f"{documented}, of {reading:,.0f} B/s, should score {expected:g}, but scores {scores.get(node)}{cut}"
    return ""
