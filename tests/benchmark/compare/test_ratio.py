"""Comparisons of handwritten values: verdicts, reasons, and when no difference is shown."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from schedproof.benchmark.compare import ratio
from schedproof.benchmark.compare.ratio import METRICS, compare
from schedproof.benchmark.compare.student import critical

STEADY = [300.0, 310.0, 295.0, 305.0, 290.0, 300.0, 312.0, 303.0]


def times(factor: float) -> list[float]:
    """Values of a candidate that are `factor` times the baseline, with 2 % of noise."""
    chance = random.Random(1)
    return [value * factor * math.exp(chance.gauss(0, 0.02)) for value in STEADY]


@pytest.mark.parametrize(
    ("metric", "lower", "higher"),
    [
        ("throughput", "slower", "faster"),
        ("mean", "faster", "slower"),
        ("p50", "faster", "slower"),
        ("p90", "faster", "slower"),
        ("p99", "faster", "slower"),
        ("cpu per pod", "less", "more"),
    ],
)
def test_direction_of_a_metric_decides_the_verdict(metric, lower, higher):
    assert METRICS[metric] == (lower, higher)
    assert compare(times(0.6), STEADY, metric=metric).verdict == lower
    assert compare(times(1.6), STEADY, metric=metric).verdict == higher


def test_the_ratio_is_the_geometric_mean_over_blocks():
    difference = compare([2.0, 8.0, 2.0, 8.0, 4.0], [1.0, 2.0, 1.0, 2.0, 1.0], metric="p50")
    assert difference.ratio == pytest.approx((2 * 4 * 2 * 4 * 4) ** (1 / 5))
    assert difference.low < difference.ratio < difference.high
    assert difference.blocks == 5


def test_interval_is_never_narrower_than_students_t():
    values = times(0.9)
    logs = [math.log(ours / theirs) for ours, theirs in zip(values, STEADY, strict=True)]
    mean = sum(logs) / 8
    error = math.sqrt(sum((value - mean) ** 2 for value in logs) / 7 / 8)
    difference = compare(values, STEADY, metric="p50")
    assert difference.low <= math.exp(mean - critical(0.99, 7) * error) * (1 + 1e-9)
    assert difference.high >= math.exp(mean + critical(0.99, 7) * error) * (1 - 1e-9)


def test_resample_is_divided_by_its_own_standard_error(monkeypatch):
    """As in Student's t, the variance has n - 1."""
    monkeypatch.setattr(ratio, "_draws", lambda _count, _seed: [([0, 0, 1], [0.0, 0.5, 0.0])])
    rest, error = [0.1, -0.3, 0.2], 0.05
    drawn = [0.1, 0.1 + 0.5 * error, -0.3]
    expected = statistics.mean(drawn) / (statistics.stdev(drawn) / math.sqrt(3))
    assert ratio._studentized(rest, error, seed=1) == [pytest.approx(expected)]


def test_drift_of_both_sides_cancels():
    slowing = [0.5**block for block in range(8)]
    values = [ours * drift for ours, drift in zip(times(0.7), slowing, strict=True)]
    assert compare(values, [v * d for v, d in zip(STEADY, slowing, strict=True)], metric="throughput").ratio == (
        pytest.approx(compare(times(0.7), STEADY, metric="throughput").ratio)
    )


def test_same_seed_gives_the_same_interval_and_another_a_similar_one():
    first, again = (compare(times(0.7), STEADY, metric="mean", seed=7) for _ in range(2))
    assert first == again
    other = compare(times(0.7), STEADY, metric="mean", seed=8)
    assert other != first
    assert other.high == pytest.approx(first.high, rel=0.05)


def test_a_stricter_alpha_has_a_wider_interval():
    strict, loose = (compare(times(0.7), STEADY, metric="mean", alpha=alpha) for alpha in (0.001, 0.1))
    assert strict.low < loose.low < loose.high < strict.high


def test_difference_below_the_minimum_effect_is_not_shown():
    difference = compare(times(0.9), STEADY, metric="mean", minimum_effect=0.2)
    assert difference.high < 1
    assert difference.verdict == "no difference shown"
    assert difference.reason == "the difference is below the minimum effect of 20%"


def test_difference_is_not_shown_if_the_interval_includes_1():
    difference = compare([100, 900, 200, 500, 300], [300] * 5, metric="throughput")
    assert (difference.verdict, difference.reason) == ("no difference shown", "the interval includes 1")


@pytest.mark.parametrize("bad", [None, 0.0, -1.0, math.nan, math.inf])
def test_invalid_blocks_are_left_out_and_fewer_than_five_are_invalid(bad):
    values = [*STEADY[:5], bad, bad, bad]
    assert compare(values, STEADY, metric="mean").blocks == 5
    difference = compare(values, [None, *STEADY[1:]], metric="mean")
    assert (difference.ratio, difference.low, difference.high) == (None, None, None)
    assert (difference.verdict, difference.blocks) == ("invalid", 4)
    assert difference.reason == "only 4 of 8 blocks are valid on both sides; 5 are needed"


def test_sides_of_different_length_are_an_error():
    with pytest.raises(ValueError, match="zip"):
        compare(STEADY, STEADY[1:], metric="mean")


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "no difference shown"), (2.0, "slower"), (0.5, "faster")])
def test_blocks_without_spread_have_an_interval_of_one_value(factor, verdict):
    """For example, the CPU time of a small round is a whole number of ticks."""
    difference = compare([value * factor for value in STEADY], STEADY, metric="p99")
    assert difference.verdict == verdict
    assert (difference.low, difference.high) == (pytest.approx(factor), pytest.approx(factor))


def test_all_blocks_equal_but_one_have_a_finite_interval():
    difference = compare([1, 1, 1, 1, 2], [1] * 5, metric="p99")
    assert difference.verdict == "no difference shown"
    assert 0 < difference.low < 1 < difference.high < 100


def test_extreme_values_have_a_finite_interval():
    difference = compare([1e300, 1e-300, 1e300, 1e-300, 1.0], [1.0] * 5, metric="p99")
    assert difference.low == pytest.approx(difference.ratio / 1000)
    assert difference.high == pytest.approx(difference.ratio * 1000)


@pytest.mark.parametrize(
    ("degrees", "level", "expected"),
    [
        (1, 0.99, 63.657), (2, 0.99, 9.925), (3, 0.95, 3.182), (4, 0.99, 4.604), (7, 0.99, 3.499), (9, 0.99, 3.250),
        (19, 0.95, 2.093), (100, 0.99, 2.626),
    ],
)  # fmt: skip
def test_students_t_matches_published_tables(degrees, level, expected):
    assert critical(level, degrees) == pytest.approx(expected, abs=6e-4)
