"""Summaries of many durations: a mean, percentiles, a cumulative distribution, a histogram.

A quantile is the smallest value that at least that part of all values does not exceed: the inverse of the empirical
distribution function (Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, type 1; "nearest rank"). It is
always a duration of a real pod, it can be read off the curve of `cdf`, and it is what upstream's scheduler_perf reports
(test/integration/scheduler_perf/util.go), so that the numbers can be compared. Definitions that interpolate differ from
it by less than the distance of two neighbouring values.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Mapping, Sequence

_QUANTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

_ROUNDING = 1e-9
"""Tolerance for floating-point error: 0.07 * 100 is slightly above 7, and must not select the eighth value."""

_RESOLUTION = 1e-6
"""Seconds: moments are recorded in microseconds. A logarithm needs a value above zero."""


def quantile(values: Sequence[float], q: float) -> float:
    """Return the smallest value that at least the fraction `q` of all values does not exceed; `q` from 0 to 1.

    For fewer than 1 / (1 - q) values that is the largest value: the p99 of 50 pods is their maximum.

    Raises:
        ValueError: there are no values.
    """
    return _ranked(sorted(values), q)


def summary(values: Sequence[float]) -> dict[str, float]:
    """Return mean, p50, p90, p95, p99 and max, in the unit of the values; empty if there are no values."""
    if not values:
        return {}
    ordered = sorted(values)
    quantiles = {name: _ranked(ordered, q) for name, q in _QUANTILES.items()}
    return {"mean": math.fsum(ordered) / len(ordered), **quantiles, "max": ordered[-1]}


def cdf(values: Sequence[float], points: int = 200) -> list[tuple[float, float]]:
    """Return the empirical distribution function: (value, fraction of values that do not exceed it), ascending.

    At most `points` points (two or more), evenly spaced by rank, including the smallest and the largest value.
    """
    ordered = sorted(values)
    count = len(ordered)
    kept = min(points, count)
    ranks = (round(step * (count - 1) / max(1, kept - 1)) for step in range(kept))
    # Equal values form a single step of the function, as high as the last of them.
    curve = {ordered[rank]: bisect.bisect_right(ordered, ordered[rank]) / count for rank in ranks}
    return list(curve.items())


def log_histogram(values: Sequence[float], bins: int = 40) -> tuple[list[float], list[int]]:
    """Return edges and counts of `bins` bins of equal width on a logarithmic axis, from the least to the largest value.

    A bin includes its lower edge, and the last bin its upper edge too. Values are seconds; values below a microsecond
    count as a microsecond. Without values there are no bins; if all values are equal, they are in the first bin, and
    the last bin ends at twice the value.
    """
    if not values:
        return [], []
    # In sorted values, a bin is the slice between two edges.
    ordered = sorted(max(value, _RESOLUTION) for value in values)
    low, high = ordered[0], ordered[-1] if ordered[-1] > ordered[0] else 2 * ordered[0]
    inner = [low * (high / low) ** (step / bins) for step in range(1, bins)]
    below = [0, *(bisect.bisect_left(ordered, edge) for edge in inner), len(ordered)]
    counts = [after - before for before, after in itertools.pairwise(below)]
    return [low, *inner, high], counts


def _ranked(ordered: Sequence[float], q: float) -> float:
    if not ordered:
        raise ValueError("expected at least one value for a quantile")
    rank = math.ceil(q * len(ordered) - _ROUNDING)
    return ordered[max(rank, 1) - 1]
