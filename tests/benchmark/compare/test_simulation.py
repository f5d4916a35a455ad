"""What `compare` promises, tried on simulated runs of known truth.

Run as a program it prints the tables of docs/statistics.md (minutes):
`python tests/benchmark/compare/test_simulation.py 2000`.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator

import pytest

from schedproof.benchmark.compare.ratio import RECOMMENDED_BLOCKS, Difference, compare

Side = tuple[float, float]
"""By how much a block's throughput is off on the candidate's side, and on the baseline's: factors around 1."""


def lognormal(scatter: float) -> Callable[[random.Random, float], Side]:
    """Independent noise of the rounds; `scatter` is the standard deviation of a round's logarithm."""
    return lambda chance, _: (math.exp(chance.gauss(0, scatter)), math.exp(chance.gauss(0, scatter)))


def heavy(chance: random.Random, moment: float) -> Side:
    """5 %, and in one block of ten something makes one of the two rounds, whichever, twice as slow."""
    ours, theirs = lognormal(0.05)(chance, moment)
    if chance.random() < 0.1:
        return (ours / 2, theirs) if chance.random() < 0.5 else (ours, theirs / 2)
    return ours, theirs


def drift(chance: random.Random, moment: float) -> Side:
    """5 %, on a machine that becomes half as fast from the first block to the last."""
    ours, theirs = lognormal(0.05)(chance, moment)
    return ours * 0.5**moment, theirs * 0.5**moment


def skewed(chance: random.Random, moment: float) -> Side:
    """Rounds are only ever slower than they should be, and only the candidate's: exponential, 10 % on average."""
    return math.exp(0.1 - chance.expovariate(10)), lognormal(0.01)(chance, moment)[1]


def hiccups(chance: random.Random, moment: float) -> Side:
    """5 %, and the candidate alone, in one block of ten, takes twice as long; its geometric mean is what it is."""
    ours, theirs = lognormal(0.05)(chance, moment)
    return ours * 2**0.1 / (2 if chance.random() < 0.1 else 1), theirs


NOISE = {
    "log-normal 3 %": lognormal(0.03),
    "log-normal 5 %": lognormal(0.05),
    "log-normal 10 %": lognormal(0.10),
    "heavy tail": heavy,
    "drift": drift,
    "skewed": skewed,
    "hiccups": hiccups,
}
PROMISED = ("log-normal 3 %", "log-normal 10 %", "heavy tail", "drift")


def simulate(noise: str, ratio: float, blocks: int, runs: int) -> Iterator[Difference]:
    """Comparisons of throughput where the candidate's is truly `ratio` times the baseline's; the same every time."""
    chance = random.Random(f"{noise} {ratio} {blocks}")
    for run in range(runs):
        sides = [NOISE[noise](chance, block / (blocks - 1)) for block in range(blocks)]
        candidate, baseline = [300 * ratio * ours for ours, _ in sides], [300 * theirs for _, theirs in sides]
        yield compare(candidate, baseline, metric="throughput", seed=8 * run // runs)


def wrong_and_missed(noise: str, blocks: int, runs: int) -> tuple[float, float]:
    """Without any difference: how often one is shown, and how often the interval misses the truth."""
    results = list(simulate(noise, 1.0, blocks, runs))
    missed = sum(not difference.low <= 1 <= difference.high for difference in results)
    return sum(difference.verdict != "no difference shown" for difference in results) / runs, missed / runs


def power(noise: str, ratio: float, blocks: int, runs: int) -> float:
    """How often a true difference is shown, with the right sign."""
    right = "slower" if ratio < 1 else "faster"
    return sum(difference.verdict == right for difference in simulate(noise, ratio, blocks, runs)) / runs


@pytest.mark.parametrize(
    ("noise", "blocks"), [*((noise, 8) for noise in PROMISED), ("log-normal 10 %", 5), ("heavy tail", 5)]
)
def test_where_there_is_no_difference_none_is_shown(noise, blocks):
    """At most alpha, 0.01; and the interval holds the truth as often as it claims.

    Of 150 tries at a true 0.01, more than 5 miss once in 200 times; docs/statistics.md has thousands.
    """
    wrong, missed = wrong_and_missed(noise, blocks, 150)
    assert max(wrong, missed) <= 5 / 150


@pytest.mark.parametrize("ratio", [0.7, 1 / 0.7])
def test_a_difference_of_30_percent_is_found(ratio):
    assert power("log-normal 5 %", ratio, 8, 50) == 1


def test_with_as_many_blocks_as_recommended_a_difference_of_20_percent_is_found():
    assert power("log-normal 5 %", 0.8, RECOMMENDED_BLOCKS, 50) >= 0.98


def test_a_difference_below_the_minimum_effect_is_not_shown_however_sure_it_is():
    results = list(simulate("log-normal 3 %", 0.985, 40, 20))
    assert {difference.verdict for difference in results} == {"no difference shown"}
    assert any(difference.reason == "the difference is below the minimum effect of 5%" for difference in results)


def main(runs: int) -> None:
    """The tables of docs/statistics.md."""
    out = sys.stdout.write
    out(f"{runs} comparisons each\n\n| noise | blocks | wrong verdicts | interval misses the truth |\n")
    out("|---|---|---|---|\n")
    for noise in NOISE:
        for blocks in (5, 8, 10):
            wrong, missed = wrong_and_missed(noise, blocks, runs)
            out(f"| {noise} | {blocks} | {wrong:.2%} | {missed:.2%} |\n")
            sys.stdout.flush()
    ratios, many = (0.9, 0.8, 0.7), (5, 8, 10, 15)
    out("\n| noise | true ratio | " + " | ".join(f"{blocks} blocks" for blocks in many) + " |\n")
    out("|---|---|" + "---|" * len(many) + "\n")
    for noise in ("log-normal 3 %", "log-normal 5 %", "log-normal 10 %", "heavy tail"):
        for ratio in ratios:
            row = [f"{power(noise, ratio, blocks, runs // 10):.1%}" for blocks in many]
            out(f"| {noise} | {ratio} | {' | '.join(row)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
