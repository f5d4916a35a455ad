"""The slope of a series, and its interval."""

from __future__ import annotations

import math
import random

import pytest

from schedproof.run.trend import slope


def test_the_slope_and_its_bounds_are_those_of_the_formula() -> None:
    """6 points have 15 slopes; V = 6*5*17/18 = 28.3 and C = 1.96*5.32 = 10.4: numbers 2 and 14, rounded outwards."""
    found = slope(range(6), [float(x * x) for x in range(6)])
    slopes = sorted(float(x + y) for x in range(6) for y in range(x))
    assert (found.low, found.median, found.high) == (slopes[1], slopes[7], slopes[13])


def test_a_line_has_an_interval_of_its_slope_alone() -> None:
    found = slope(range(10), [3.0 + 2 * x for x in range(10)])
    assert (found.low, found.median, found.high) == (2, 2, 2)


def test_a_constant_has_no_slope_and_a_single_odd_value_changes_nothing() -> None:
    flat = [7.0] * 16
    assert slope(range(16), flat).high == 0
    flat[11] = 1e9
    found = slope(range(16), flat)
    assert (found.low, found.median, found.high) == (0, 0, 0)


def test_too_few_points_have_no_bounds() -> None:
    found = slope([0, 1, 2], [1.0, 2.0, 3.0])
    assert (found.low, found.median, found.high) == (-math.inf, 1, math.inf)
    with pytest.raises(ValueError, match="two points"):
        slope([1, 1], [1.0, 2.0])


def test_the_interval_has_the_true_slope_as_often_as_it_says() -> None:
    source = random.Random(5)
    samples = 400

    def is_missed() -> bool:
        found = slope(range(16), [3 * x + source.gauss(0, 5) for x in range(16)])
        return not found.low <= 3 <= found.high

    missed = sum(is_missed() for _ in range(samples)) / samples
    assert 0.02 < missed < 0.08
