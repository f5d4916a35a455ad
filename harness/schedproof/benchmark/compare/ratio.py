"""Whether a candidate differs from the baseline, by how much, and how sure that is.

What is estimated: the geometric mean over blocks of candidate / baseline, that is exp(mean of the log-ratios). Both
sides of a block ran one after the other, so whatever drifts slowly on the machine cancels in their ratio.

The interval is a bootstrap over blocks, studentized (bootstrap-t: Efron and Tibshirani, An Introduction to the
Bootstrap, 1993, chapter 12.5; Davison and Hinkley, Bootstrap Methods and their Application, 1997, chapter 5.2.1),
smoothed (Davison and Hinkley, chapter 3.4), and never narrower than Student's t interval. The simulation in
docs/statistics.md says why:

- The plain percentile bootstrap, at a level of 99 %, misses the truth in 4 to 5 of 100 comparisons of ten blocks, and
  in 10 of 100 of five.
- Two schedulers that behave alike could change places, so that their log-ratios are symmetric around 0. Student's
  interval holds its level there, with heavy tails as well (Efron, Student's t-test under symmetry conditions, JASA 64,
  1969), which bootstrap-t alone does not quite.
- Where only one of both scatters, and to one side, Student's interval misses four to five times too often; bootstrap-t
  follows the skew, so that the wider of both misses two to three times too often.
- Smoothing is for few blocks: without it, resamples that drew one value only, or nearly, make the interval of five
  blocks endless.
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
    "mean": ("faster", "slower"),
    "p50": ("faster", "slower"),
    "p90": ("faster", "slower"),
    "p99": ("faster", "slower"),
    "cpu per pod": ("less", "more"),
}
"""What a ratio of candidate / baseline below 1 means, and one above; by metric, as bench.json names them."""

FEWEST_BLOCKS = 5
"""Below this, an interval of 99 % says next to nothing: with three blocks Student's t is 10 standard errors wide."""

RECOMMENDED_BLOCKS = 10
"""Finds a true difference of 20 % where rounds scatter by 5 %, one of 30 % where they scatter by 10 %, and one of 10 %
where they scatter by 3 %, in at least 98 of 100 runs (docs/statistics.md)."""

_RESAMPLES = 1999
"""So that both ends of a 99 % interval are order statistics, the 10th: (resamples + 1) * alpha is whole, which is
Davison and Hinkley's advice (chapter 2.4)."""

_DRAWS = 50_000
"""Most values that one call draws: it takes less than 0.1 s, however many blocks there are. From 26 blocks on that
means fewer resamples; the mean of so many is nearly normal, as Student's interval takes it to be."""

_FARTHEST = math.log(1000)
"""An interval that ends a factor of 1000 away says nothing; it ends there, for the sake of finite numbers."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """One comparison.

    Attributes:
        ratio: candidate / baseline, the geometric mean over blocks; None where the verdict is `invalid`.
        low: the interval's lower end, at the level 1 - alpha; None likewise, and where the ratio is "at most".
        high: its upper end; None likewise, and where the ratio is "at least".
        verdict: a difference only where the interval excludes 1 and the ratio is at least the minimum effect off 1.
        blocks: how many were compared.
        reason: why no difference is shown, or why nothing could be; "" where one is.
        ratios: of each of these blocks.
        bound: "at least" or "at most" where something other than the two schedulers limited some rounds of one of them.
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
        """The same where the true ratio is `bound` what was measured: only the other end of the interval stands.

        A difference to that side stays shown; everything else is `invalid`, for the `reason`.
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
        candidate: one value for each block, in any unit; None where its round was invalid.
        baseline: likewise, of the same blocks. What is not positive and finite on both sides has no ratio: such a
            block is left out, as an invalid one.
        metric: one of METRICS: says which direction is faster.
        steps: by how much each value of either side may be off, because it was counted in whole steps of a clock: the
            interval is never narrower than that allows, however alike the blocks are.
        alpha: how often, at most, a difference may be shown where there is none.
        minimum_effect: the smallest difference worth a word, as a part of the baseline: 0.05 is 5 %.
        seed: of the resampling; the same seed and values give the same answer.
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
    """Both ends of the interval for the geometric mean of ratios, at the level 1 - alpha."""
    logs = list(map(math.log, ratios))
    centre, (below, above) = math.fsum(logs) / len(logs), _reach(logs, alpha, seed)
    return math.exp(centre - below), math.exp(centre + above)


def _exact(values: Sequence[object]) -> tuple[Sequence[float], Sequence[float]]:
    return [0.0] * len(values), [0.0] * len(values)


def _stepped(pairs: Sequence[tuple[float, float, float, float]]) -> float:
    """By which factor the geometric mean may be off where each value may be off by its step, all to one side.

    Where blocks are alike, what the clock cut off is alike in all of them, so that it does not average out.
    """
    off = math.fsum(
        _FARTHEST if step >= ours or other >= theirs else math.log((1 + step / ours) / (1 - other / theirs))
        for ours, theirs, step, other in pairs
    )
    return math.exp(min(_FARTHEST, off / len(pairs)))


def _comparable(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value) and value > 0


def _reach(logs: Sequence[float], alpha: float, seed: int) -> tuple[float, float]:
    """How far the interval reaches below and above the mean of the log-ratios."""
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
    """(mean of a resample - mean) / standard error of the resample, for every resample of values whose mean is 0.

    Every value drawn is moved by normal noise as wide as the standard error of the mean, which makes up for what a
    resample's variance lacks on average, (n - 1) / n: together they vary as the values do.
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
    """For every resample: which values it draws, and by how many standard errors each is moved."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not a secret
    places = range(count)
    return [
        (chance.choices(places, k=count), [chance.gauss(0, 1) for _ in places])
        for _ in range(max(1, min(_RESAMPLES, _DRAWS // count)))
    ]
