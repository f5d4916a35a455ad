"""Estimates by which ratio a candidate differs from the baseline, with a confidence interval.

The estimate is the geometric mean over blocks of candidate / baseline, that is exp(mean of the log-ratios). Both sides
of a block run one after the other, so that slow drift of the machine cancels in their ratio.

The interval is a bootstrap over blocks, studentized (bootstrap-t: Efron and Tibshirani, An Introduction to the
Bootstrap, 1993, chapter 12.5; Davison and Hinkley, Bootstrap Methods and their Application, 1997, chapter 5.2.1),
smoothed (Davison and Hinkley, chapter 3.4), and never narrower than Student's t interval. The simulation in
docs/statistics.md gives the reasons:

- The plain percentile bootstrap, at a level of 99 %, misses the truth in 4 to 5 of 100 comparisons of ten blocks, and
  in 10 of 100 of five.
- If two schedulers behave alike, they are exchangeable, so that their log-ratios are symmetric around 0. Student's
  interval then keeps its level, also with heavy tails (Efron, Student's t-test under symmetry conditions, JASA 64,
  1969); bootstrap-t alone falls slightly short of it.
- If only one side scatters, in one direction, Student's interval misses four to five times too often; bootstrap-t
  follows the skew, so that the wider of both misses two to three times too often.
- Smoothing is for few blocks: without it, resamples that draw a single value, or nearly, make the interval of five
  blocks unbounded.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import random
from collections.abc import Mapping, Sequence
from typing import Literal, TypeGuard

from schedproof.benchmark.compare.student import critical

Verdict = Literal["faster", "slower", "less", "more", "no difference shown", "invalid"]

METRICS: Mapping[str, tuple[Verdict, Verdict]] = {
    "throughput": ("slower", "faster"),
    "time to drain": ("faster", "slower"),
    "mean": ("faster", "slower"),
    "p50": ("faster", "slower"),
    "p90": ("faster", "slower"),
    "p99": ("faster", "slower"),
    "cpu per pod": ("less", "more"),
}
"""The verdicts for a ratio of candidate / baseline below 1 and above 1, by metric as bench.json names it."""

FEWEST_BLOCKS = 5
"""With fewer, a 99 % interval is too wide to be useful: with three blocks, Student's t is 10 standard errors wide."""

RECOMMENDED_BLOCKS = 10
"""Detects in at least 98 of 100 runs a true difference of 10 % if rounds scatter by 3 %, of 20 % if they scatter by
5 %, and of 30 % if they scatter by 10 % (docs/statistics.md)."""

_RESAMPLES = 1999
"""Makes (resamples + 1) * alpha whole, as Davison and Hinkley advise (chapter 2.4): both ends of a 99 % interval are
order statistics, the 10th."""

_DRAWS = 50_000
"""The largest number of values drawn in a call, so that it takes less than 0.1 s for any number of blocks. With 26
blocks or more there are fewer resamples; the mean of so many blocks is nearly normal, as Student's interval assumes."""

_FARTHEST = math.log(1000)
"""The farthest end of an interval, a factor of 1000: wider intervals say nothing, and numbers stay finite."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """The result of comparing a candidate with the baseline.

    Attributes:
        ratio: candidate / baseline, the geometric mean over blocks; None if the verdict is `invalid`.
        low: the interval's lower end, at the level 1 - alpha; None if invalid, or if the ratio is "at most".
        high: its upper end; None if invalid, or if the ratio is "at least".
        verdict: a difference only if the interval excludes 1 and the ratio is at least the minimum effect off 1.
        blocks: how many were compared.
        reason: why no difference is shown, or why the comparison is invalid; "" if a difference is shown.
        ratios: of each of these blocks.
        bound: "at least" or "at most" if something other than the schedulers limited some rounds on one side.
    """

    ratio: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    blocks: int
    reason: str = ""
    ratios: Sequence[float] = ()
    bound: Literal["", "at least", "at most"] = ""

    def bounded(self, bound: Literal["at least", "at most"], reason: str, metric: str) -> Difference:
        """Return the difference if the true ratio is only known to be `bound` ("at least", ...) the measured ratio.

        The end of the interval on the open side is dropped. A difference to that side stays shown; any other verdict
        becomes `invalid`, for the `reason`.
        """
        if self.ratio is None:
            return self
        below_1, above_1 = METRICS[metric]
        stands = self.verdict == (above_1 if bound == "at least" else below_1)
        return dataclasses.replace(
            self, bound=bound, verdict=self.verdict if stands else "invalid", reason=reason,
            low=self.low if bound == "at least" else None, high=self.high if bound == "at most" else None,
        )  # fmt: skip


def compare(
    candidate: Sequence[float | None],
    baseline: Sequence[float | None],
    *,
    metric: str,
    steps: tuple[Sequence[float], Sequence[float]] | None = None,
    alpha: float = 0.01,
    minimum_effect: float = 0.05,
    seed: int = 0,
) -> Difference:
    """Compare a candidate with the baseline.

    Args:
        candidate: a value for each block, in any unit; None if its round was invalid.
        baseline: likewise, of the same blocks. A block whose values are not both positive and finite has no ratio, and
            is left out like an invalid block.
        metric: a key of METRICS; decides which direction is faster.
        steps: the error of each value of either side, if it was counted in whole steps of a clock: the interval is
            never narrower than these errors, however alike the blocks are.
        alpha: the largest probability that a difference is shown although there is none.
        minimum_effect: the smallest difference that is reported, as a fraction of the baseline: 0.05 is 5 %.
        seed: of the resampling; the same seed and values give the same result.
    """
    below_1, above_1 = METRICS[metric]
    pairs = list(zip(candidate, baseline, *(steps or _exact(candidate)), strict=True))
    valid = [
        (ours, theirs, step, other) for ours, theirs, step, other in pairs if _comparable(ours) and _comparable(theirs)
    ]
    ratios = [ours / theirs for ours, theirs, _, _ in valid]
    if len(ratios) < FEWEST_BLOCKS:
        return Difference(
            None, None, None, "invalid", len(ratios),
            f"only {len(ratios)} of {len(candidate)} blocks are valid on both sides; {FEWEST_BLOCKS} are needed",
            ratios,
        )  # fmt: skip
    ratio = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    low, high = interval(ratios, alpha, seed=seed)
    if steps is not None:
        low, high = min(low, ratio / _stepped(valid)), max(high, ratio * _stepped(valid))
    if low <= 1 <= high:
        return Difference(ratio, low, high, "no difference shown", len(ratios), "the interval includes 1", ratios)
    if abs(ratio - 1) < minimum_effect:
        reason = f"the difference is below the minimum effect of {100 * minimum_effect:g}%"
        return Difference(ratio, low, high, "no difference shown", len(ratios), reason, ratios)
    return Difference(ratio, low, high, above_1 if ratio > 1 else below_1, len(ratios), "", ratios)


def interval(ratios: Sequence[float], alpha: float, *, seed: int = 0) -> tuple[float, float]:
    """Return both ends of the interval for the geometric mean of ratios, at the level 1 - alpha."""
    logs = list(map(math.log, ratios))
    centre, (below, above) = math.fsum(logs) / len(logs), _reach(logs, alpha, seed)
    return math.exp(centre - below), math.exp(centre + above)


def _exact(values: Sequence[object]) -> tuple[Sequence[float], Sequence[float]]:
    return [0.0] * len(values), [0.0] * len(values)


def _stepped(pairs: Sequence[tuple[float, float, float, float]]) -> float:
    """Return the factor by which the geometric mean is off if every value is off by its step in the same direction.

    If blocks are alike, the clock truncates all of them alike, so that the error does not average out.
    """
    off = math.fsum(
        _FARTHEST if step >= ours or other >= theirs else math.log((1 + step / ours) / (1 - other / theirs))
        for ours, theirs, step, other in pairs
    )
    return math.exp(min(_FARTHEST, off / len(pairs)))


def _comparable(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value) and value > 0


def _reach(logs: Sequence[float], alpha: float, seed: int) -> tuple[float, float]:
    """Return how far the interval reaches below and above the mean of the log-ratios."""
    count = len(logs)
    centre = math.fsum(logs) / count
    rest = [value - centre for value in logs]
    error = math.sqrt(math.fsum(value * value for value in rest) / (count - 1) / count)
    if error == 0:
        return 0.0, 0.0  # all blocks have the same ratio: there is no spread to resample
    student = critical(1 - alpha, count - 1)
    ordered = sorted(_studentized(rest, error, seed))
    outside = max(1, round((len(ordered) + 1) * alpha / 2))
    low, high = max(student, ordered[-outside]), max(student, -ordered[outside - 1])
    return min(_FARTHEST, low * error), min(_FARTHEST, high * error)


def _studentized(rest: Sequence[float], error: float, seed: int) -> list[float]:
    """Return (mean of a resample - mean) / standard error of the resample, for each resample of values with mean 0.

    Normal noise as wide as the standard error of the mean is added to every drawn value. A resample's variance is too
    small by a factor of (n - 1) / n on average; with the noise, it matches the variance of the values.
    """
    count = len(rest)
    scaled = [value / error for value in rest]  # the quotient does not change, and the noise has width 1
    result = []
    for places, moves in _draws(count, seed):
        drawn = list(map(operator.add, map(scaled.__getitem__, places), moves))
        mean = sum(drawn) / count
        variance = (sum(map(operator.mul, drawn, drawn)) - count * mean * mean) / (count - 1)
        result.append(mean / math.sqrt(variance / count))
    return result


@functools.lru_cache(maxsize=8)  # a run compares the same number of blocks dozens of times
def _draws(count: int, seed: int) -> list[tuple[list[int], list[float]]]:
    """Return for each resample the indices of its values, and the noise of each in standard errors."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not a secret
    places = range(count)
    return [
        (chance.choices(places, k=count), [chance.gauss(0, 1) for _ in places])
        for _ in range(max(1, min(_RESAMPLES, _DRAWS // count)))
    ]
