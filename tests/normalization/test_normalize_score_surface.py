"""NormalizeScore alone: with values that Score can return, and only if it depends on raw scores alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from schedproof.normalization.answer import Answer, Readings
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import OF_NORMALIZE_SCORE, RULES
from schedproof.normalization.search import search
from schedproof.normalization.surfaces.normalize_score import NormalizeScoreSurface
from schedproof.normalization.surfaces.plugin import PluginSurface, RawScores

ABOUT_VALUES = Promises(about="values")


class FakePlugin:
    """A plugin made of Score and NormalizeScore functions; `ZeroDivisionError` is a crash."""

    def __init__(self, score: Callable[[float], int], normalize: Callable[[list[int]], list[int]]) -> None:
        self._score, self._normalize = score, normalize
        self.waited = 0.0

    def ask(self, readings: Readings) -> Answer:
        return self.normalize(tuple((node, self._score(value or 0.0)) for node, value in readings))

    def normalize(self, raw: RawScores) -> Answer:
        try:
            scores = self._normalize([score for _, score in raw])
        except ZeroDivisionError as error:
            return Answer(crash=str(error))
        return Answer(scores=tuple(zip((node for node, _ in raw), scores, strict=True)), raw=raw)


def alone(score: Callable[[float], int], normalize: Callable[[list[int]], list[int]]) -> NormalizeScoreSurface:
    return NormalizeScoreSurface(cast("PluginSurface", FakePlugin(score, normalize)))


def upside_down(raw: list[int]) -> list[int]:
    """Upstream's DefaultNormalizeScore, reversed, with its overflow from 2^63/100 on."""
    most = max(raw)
    return [100 - _int64(100 * score) // most if most else 100 for score in raw]


def _int64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def bounded(reading: float) -> int:
    return min(int(reading), 10**12)


def test_values_are_within_the_range_of_score() -> None:
    surface = alone(bounded, lambda raw: raw)
    assert surface.ask((("a", 0.5), ("b", 2.0**1000))).raw == (("a", 0), ("b", 10**12))


@pytest.mark.parametrize("clause", sorted(OF_NORMALIZE_SCORE))
def test_function_that_is_right_for_the_range_of_score_passes(clause: str) -> None:
    for surface in (alone(bounded, upside_down), alone(lambda reading: int(reading > 1e9), upside_down)):
        assert surface.is_offered
        assert search(RULES[clause], surface, ABOUT_VALUES, cases=100, seed=1).failing is None


@pytest.mark.parametrize(
    ("clause", "score", "normalize"),
    [
        ("normalize/zero", bounded, lambda raw: [100 * score_ // max(raw) for score_ in raw]),
        ("normalize/huge", lambda reading: min(int(reading), 2**63 - 1), upside_down),
        ("normalize/range", bounded, lambda raw: [min(score_, 101) for score_ in raw]),
        ("normalize/equal", bounded, lambda raw: [100 - place * 100 // len(raw) for place in range(len(raw))]),
        ("normalize/permutation", bounded, lambda raw: [100 if score_ == raw[0] else 0 for score_ in raw]),
    ],
)
def test_wrong_function_is_found(
    clause: str, score: Callable[[float], int], normalize: Callable[[list[int]], list[int]]
) -> None:
    found = search(RULES[clause], alone(score, normalize), ABOUT_VALUES, cases=100, seed=1)
    assert found.failing is not None


def test_function_that_depends_on_more_than_raw_scores_is_not_offered() -> None:
    """For example, a PreScore writes the highest reading to the cycle state, which is missing then."""

    class Stateful(FakePlugin):
        def ask(self, readings: Readings) -> Answer:
            return Answer(
                scores=tuple((node, 50) for node, _ in readings), raw=tuple((node, 1) for node, _ in readings)
            )

    assert not NormalizeScoreSurface(cast("PluginSurface", Stateful(bounded, lambda raw: raw))).is_offered


def test_plugin_that_always_crashes_is_not_offered() -> None:
    surface = alone(bounded, lambda _raw: [1 // 0])
    assert not surface.is_offered
    assert surface.ask((("a", 1.0),)).crash
