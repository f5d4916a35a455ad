"""The slope of a series of measurements, with an interval that a few odd values do not move."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import statistics
from collections.abc import Sequence

LEVEL = 0.95
"""The confidence level of the interval."""


@dataclasses.dataclass(frozen=True)
class Slope:
    """A slope, in units of y per unit of x, and the bounds of its interval; infinite with too few points."""

    median: float
    low: float
    high: float


def slope(xs: Sequence[float], ys: Sequence[float], level: float = LEVEL) -> Slope:
    """Return the Theil-Sen slope of points: the median of the slopes between all pairs with different x.

    The interval is Sen's (P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, Journal of the
    American Statistical Association 63, 1968), by the formula in R. O. Gilbert, Statistical Methods for Environmental
    Pollution Monitoring, 1987, 16.4.2. For n points, of which t have the same y in each group of ties:
    V = (n(n-1)(2n+5) - sum of t(t-1)(2t+5)) / 18, and C = z * sqrt(V). The bounds are, of the N slopes in order, those
    number (N - C)/2 and (N + C)/2 + 1. It assumes errors that do not depend on each other; samples of a process that
    follow each other closely do, so give it summaries of periods instead.

    Raises:
        ValueError: there are fewer than two different x.
    """
    pairs = itertools.combinations(zip(xs, ys, strict=True), 2)
    slopes = sorted((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in pairs if x1 != x2)
    if not slopes:
        raise ValueError("a slope needs two points with different x")
    n = len(ys)
    ties = sum(t * (t - 1) * (2 * t + 5) for t in collections.Counter(ys).values())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    half = statistics.NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    low, high = math.floor((len(slopes) - half) / 2) - 1, math.ceil((len(slopes) + half) / 2)
    return Slope(
        statistics.median(slopes),
        slopes[low] if low >= 0 else -math.inf,
        slopes[high] if high < len(slopes) else math.inf,
    )
