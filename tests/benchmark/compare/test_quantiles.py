"""Percentiles, curves and histograms of durations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedproof.benchmark.compare.quantiles import cdf, log_histogram, quantile, summary

durations = st.lists(st.floats(1e-7, 1e4), min_size=1, max_size=500)


@pytest.mark.parametrize(
    ("q", "expected"), [(0, 1), (0.01, 1), (0.5, 50), (0.501, 51), (0.9, 90), (0.99, 99), (1, 100)]
)
def test_quantile_is_the_value_that_a_share_does_not_exceed(q, expected):
    assert quantile(range(100, 0, -1), q) == expected


def test_rounding_does_not_select_the_next_value():
    assert 0.07 * 100 > 7
    assert quantile(range(1, 101), 0.07) == 7


@given(durations, st.floats(0, 1))
def test_quantile_is_a_measured_value_that_a_share_does_not_exceed(values, q):
    value = quantile(values, q)
    assert value in values
    assert sum(other <= value for other in values) >= q * len(values) - 1e-6


def test_p99_of_few_values_is_their_maximum():
    assert quantile([3.0, 1.0, 2.0], 0.99) == 3.0


def test_no_values_have_no_quantile():
    with pytest.raises(ValueError, match="at least one value"):
        quantile([], 0.5)


def test_summary_has_the_mean_and_percentiles():
    assert summary(range(1, 201)) == {"mean": 100.5, "p50": 100, "p90": 180, "p95": 190, "p99": 198, "max": 200}
    assert summary([]) == {}


def test_curve_of_few_values_has_all_of_them():
    assert cdf([3.0, 1.0, 2.0, 2.0]) == [(1.0, 0.25), (2.0, 0.75), (3.0, 1.0)]
    assert cdf([]) == []
    assert cdf([7.0]) == [(7.0, 1.0)]


@given(durations, st.integers(2, 200))
def test_a_curve_rises_from_the_smallest_to_the_largest_value(values, points):
    curve = cdf(values, points)
    assert len(curve) <= points
    assert curve[-1] == (max(values), 1.0)
    assert curve[0][0] == min(values)
    assert curve == sorted(curve)
    for value, part in curve:
        assert part == sum(other <= value for other in values) / len(values)


@given(durations, st.integers(1, 60))
def test_a_histogram_counts_every_value_once(values, bins):
    edges, counts = log_histogram(values, bins)
    assert (len(edges), len(counts), sum(counts)) == (bins + 1, bins, len(values))
    assert edges == sorted(edges)
    assert edges[0] == max(min(values), 1e-6)


def test_bins_are_of_equal_width_on_a_logarithmic_axis():
    edges, counts = log_histogram([0.001, 0.002, 0.01, 0.05, 1.0], 3)
    assert edges == pytest.approx([0.001, 0.01, 0.1, 1.0])
    assert counts == [2, 2, 1]


def test_histograms_of_no_values_and_of_equal_values():
    assert log_histogram([]) == ([], [])
    assert log_histogram([0.5, 0.5], 2)[1] == [2, 0]
    assert log_histogram([0.0, 0.0], 2)[0] == pytest.approx([1e-6, 2**0.5 * 1e-6, 2e-6])
