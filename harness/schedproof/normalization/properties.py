"""The properties of scores: pure functions of questions and answers that return what is wrong, "" if they hold.

Readings are bytes per second. The right score of a reading is not defined: properties compare the scores of one answer,
or of two that must be the same. `rules.py` assigns them to clauses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from schedproof.normalization.answer import Answer, Case, Readings
from schedproof.normalization.policies import is_reading, may_refuse, may_skip, unlike_avoided, unlike_median
from schedproof.normalization.promises import Promises

_ROUNDING = 1e-12
"""Relative difference below which the order of two readings is undefined: a rate is a quotient of differences."""

_HUGE = 2.0**31
"""Bytes per second from which readings are huge: 17 Gbit/s, where int32 ends."""

_LEAST = 1.0
"""Bytes per second below which a difference is noise of the clock."""


def unanswered(answer: Answer) -> str:
    """Why there are no scores; "" if there are."""
    if answer.crash:
        return f"the scorer crashed: {answer.crash}"
    return f"the scorer refused: {answer.refusal}" if answer.refusal else ""


# Ways to look at one question and its answer.


def _scores(answer: Answer) -> Mapping[str, float]:
    """The scores as kube-scheduler counts them: several scores of one node add up."""
    scores: dict[str, float] = {}
    for node, score in answer.scores:
        scores[node] = scores.get(node, 0) + score
    return scores


def _known(readings: Readings, answer: Answer) -> list[tuple[float, str, float]]:
    """(reading, node, score) of the nodes whose traffic is known and whose score is a number; the quietest first."""
    scores = _scores(answer)
    return sorted(
        (reading, node, scores[node])
        for node, reading in readings
        if reading is not None and is_reading(reading) and math.isfinite(scores.get(node, math.nan))
    )


def _differ(less: float, more: float, resolution: float) -> bool:
    """Whether the claimed resolution distinguishes these two readings; slightly more, for the rounding of either."""
    return more > less * (1 + resolution) * (1 + 1e-9) and more - less >= _LEAST


def _pairs(case: Case, answers: Sequence[Answer]) -> Iterator[tuple[Readings, Answer]]:
    return zip(case, answers, strict=True)


def inversion(readings: Readings, answer: Answer) -> tuple[float, str]:
    """The worst ordering error: by how many points a node with more traffic is ahead (0: of none), and both nodes."""
    worst, text, best = 0.0, "", (-math.inf, "", 0.0)
    louder = known = list(reversed(_known(readings, answer)))
    # From the loudest on: the best score of all that carry more than the present node, by more than rounding.
    passed = 0
    for reading, node, score in known:
        while louder[passed][0] * (1 - _ROUNDING) > reading:
            traffic, other, its = louder[passed]
            best = max(best, (its, other, traffic))
            passed += 1
        ahead, other, traffic = best
        if ahead - score > worst:
            worst = ahead - score
            text = (
                f"node {node} has less traffic than {other} ({_rate(reading)} and {_rate(traffic)}), but scores lower "
                f"({_number(score)} and {_number(ahead)})"
            )
    return worst, text


# The rules.


def in_range(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    for _, answer in _pairs(case, answers):
        for node, score in answer.scores:
            if not isinstance(score, int):
                return f"node {node} scores {score}, which is not an integer"
            if not 0 <= score <= promises.highest:
                return f"node {node} scores {score}, which is outside 0 to {promises.highest}"
    return ""


def order(case: Case, answers: Sequence[Answer], _promises: Promises) -> str:
    return _first(inversion(readings, answer)[1] for readings, answer in _pairs(case, answers))


def strict(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    for readings, answer in _pairs(case, answers):
        by_score: dict[float, tuple[float, str]] = {}
        for reading, node, score in _known(readings, answer):
            less, other = by_score.setdefault(score, (reading, node))
            if _differ(less, reading, promises.resolution):
                return (
                    f"nodes {other} and {node} differ by more than the claimed {promises.resolution:.0%} "
                    f"({_rate(less)} and {_rate(reading)}), but both score {_number(score)}"
                )
    return ""


def best_is_top(case: Case, answers: Sequence[Answer], _promises: Promises) -> str:
    for readings, answer in _pairs(case, answers):
        if known := _known(readings, answer):
            least, node, score = known[0]
            score, node = max((one[2], one[1]) for one in known if one[0] * (1 - _ROUNDING) <= least)
            top, best = max((one[2], one[1]) for one in known)
            if top > score:
                return f"node {node} is the quietest ({_rate(least)}), but {best} scores higher: {_shown(score, top)}"
    return ""


def best_is_max(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    for readings, answer in _pairs(case, answers):
        # Where nothing tells the nodes apart there is no quietest: a scale from least to most has no ends then.
        if _all_known(readings) and (known := _known(readings, answer)):
            (reading, node, score), (loudest, *_) = known[0], known[-1]
            if _differ(reading, loudest, promises.resolution) and score != promises.highest:
                return f"node {node} is the quietest ({_rate(reading)}), but scores {score}, not {promises.highest}"
    return ""


def worst_is_min(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    for readings, answer in _pairs(case, answers):
        if _all_known(readings) and (known := _known(readings, answer)):
            (least, *_), (reading, node, score) = known[0], known[-1]
            if _differ(least, reading, promises.resolution) and score != 0:
                return f"node {node} is the busiest ({_rate(reading)}), but scores {_number(score)}, not 0"
    return ""


def equal(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    for readings, answer in _pairs(case, answers):
        for reading, group in itertools.groupby(_known(readings, answer), key=lambda one: one[0]):
            (_, node, score), *others = group
            for _, other, its_score in others:
                if its_score != score:
                    both = "have one raw score" if promises.about == "values" else f"both carry {_rate(reading)}"
                    return f"nodes {node} and {other} {both}, but score {_shown(score, its_score)}"
    return ""


def same_scores(what: str) -> Callable[[Case, Sequence[Answer], Promises], str]:
    """A judge that requires the same answer to a question as to an earlier one whose readings differ only by `what`."""

    def judge(_case: Case, answers: Sequence[Answer], _promises: Promises) -> str:
        first = _scores(answers[0])
        for answer in answers[1:]:
            for node, score in _scores(answer).items():
                if node in first and first[node] != score:
                    return f"node {node} scores {_shown(first[node], score)}, although only {what} has changed"
        return ""

    return judge


def repeat(case: Case, answers: Sequence[Answer], _promises: Promises) -> str:
    asked: dict[Readings, Mapping[str, float]] = {}
    for number, (readings, answer) in enumerate(_pairs(case, answers), start=1):
        scores = _scores(answer)
        before = asked.setdefault(readings, scores)
        for node, score in scores.items():
            if before.get(node, score) != score:
                return (
                    f"node {node} scores {_shown(before[node], score)} for the same readings, asked as question "
                    f"{number}"
                )
    return ""


def same_nodes(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    """For several nodes, some of which have traffic: other clauses are about the others."""
    return _first(
        _answered(readings, answer, promises)
        for readings, answer in _pairs(case, answers)
        if len(readings) > 1 and _all_known(readings) and any(reading for _, reading in readings)
    )


def _answered(readings: Readings, answer: Answer, promises: Promises) -> str:
    """Every node of the question has one score, and no other node has any."""
    if why := unanswered(answer):
        return "" if not answer.crash and may_refuse(readings, promises) else why
    may_be_filtered = may_skip(readings, promises)
    for node in answer.filtered:
        if node not in may_be_filtered:
            return f"node {node} is in the question, but is excluded"
    asked = {node: 0 for node, _ in readings if node not in answer.filtered}
    for node, _ in answer.scores:
        if node not in asked:
            return f"node {node} is not in the question, but has a score"
        asked[node] += 1
    for node, times in asked.items():
        if times != 1:
            return f"node {node} is in the question, but has {f'{times} scores, which add up' if times else 'no score'}"
    return ""


def zero(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    return sound(case, answers, promises) or equal(case, answers, promises)


def sound(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    """All nodes have scores, within the range."""
    wrong = _first(_answered(readings, answer, promises) for readings, answer in _pairs(case, answers))
    return wrong or in_range(case, answers, promises)


def huge(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    if not any((reading or 0) >= _HUGE for readings in case for _, reading in readings):
        return ""
    wrong = sound(case, answers, promises)
    return wrong or (order(case, answers, promises) if promises.about == "traffic" else "")


def nonfinite(case: Case, answers: Sequence[Answer], promises: Promises) -> str:
    if all(map(_all_known, case)):
        return ""
    wrong = sound(case, answers, promises) or order(case, answers, promises)
    return wrong or _first(_missing(readings, answer, promises) for readings, answer in _pairs(case, answers))


def _missing(readings: Readings, answer: Answer, promises: Promises) -> str:
    """The claimed policy holds if some nodes have a sample and others have none, and no reading is abnormal."""
    scores = _scores(answer)
    if not all(reading is None or is_reading(reading) for _, reading in readings):
        return ""
    known = [(reading, scores[node]) for node, reading in readings if reading is not None and node in scores]
    judged = {"avoid": unlike_avoided, "neutral": unlike_median}.get(promises.on_missing or "")
    for node, reading in readings:
        if judged and known and reading is None and node in scores and (wrong := judged(scores[node], known)):
            lowest, highest = min(its for _, its in known), max(its for _, its in known)
            return (
                f"node {node} has no sample, {wrong} ({_number(scores[node])}; nodes with samples score "
                f"{_number(lowest)} to {_number(highest)})"
            )
    return ""


def _all_known(readings: Readings) -> bool:
    return all(is_reading(reading) for _, reading in readings)


def _first(texts: Iterator[str]) -> str:
    return next(filter(None, texts), "")


def _rate(reading: float) -> str:
    return f"{_number(reading)} B/s"


def _number(value: float) -> str:
    return f"{value:g}" if value == float(f"{value:g}") else repr(value)


def _shown(one: float, other: float) -> str:
    return f"{_number(one)} and {_number(other)}"
