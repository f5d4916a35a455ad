"""Guarantees of `compare`, checked with simulated runs of known truth.

As a program it prints the tables of docs/statistics.md (takes minutes):
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
"""Factors around 1 by which a block's throughput is off, for the candidate and the baseline."""


def lognormal(scatter: float) -> Callable[[random.Random, float], Side]:
    """Independent noise of rounds; `scatter`: standard deviation of a round's logarithm."""
    return lambda chance, _: (math.exp(chance.gauss(0, scatter)), math.exp(chance.gauss(0, scatter)))


def heavy(chance: random.Random, moment: float) -> Side:
    """5 % of noise; in one block of ten, one of the two rounds is twice as slow."""
    ours, theirs = lognormal(0.05)(chance, moment)
    if chance.random() < 0.1:
        return (ours / 2, theirs) if chance.random() < 0.5 else (ours, theirs / 2)
    return ours, theirs


def drift(chance: random.Random, moment: float) -> Side:
    """5 % of noise on a machine that slows down to half its speed from the first to the last block."""
    ours, theirs = lognormal(0.05)(chance, moment)
    return ours * 0.5**moment, theirs * 0.5**moment


def skewed(chance: random.Random, moment: float) -> Side:
    """Only the candidate's rounds are slower than they should be: exponential, 10 % on average."""
    return math.exp(0.1 - chance.expovariate(10)), lognormal(0.01)(chance, moment)[1]


def hiccups(chance: random.Random, moment: float) -> Side:
    """5 % of noise; in one block of ten the candidate takes twice as long, with an unchanged geometric mean."""
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
    """Comparisons of throughput with a true ratio of `ratio`, reproducible."""
    chance = random.Random(f"{noise} {ratio} {blocks}")
    for run in range(runs):
        sides = [NOISE[noise](chance, block / (blocks - 1)) for block in range(blocks)]
        candidate, baseline = [300 * ratio * ours for ours, _ in sides], [300 * theirs for _, theirs in sides]
        yield compare(candidate, baseline, metric="throughput", seed=8 * run // runs)


def wrong_and_missed(noise: str, blocks: int, runs: int) -> tuple[float, float]:
    """Without a difference: rates of shown differences and of intervals that miss the truth."""
    results = list(simulate(noise, 1.0, blocks, runs))
    missed = sum(not difference.low <= 1 <= difference.high for difference in results)
    return sum(difference.verdict != "no difference shown" for difference in results) / runs, missed / runs


def power(noise: str, ratio: float, blocks: int, runs: int) -> float:
    """Rate at which a true difference is shown with the right sign."""
    right = "slower" if ratio < 1 else "faster"
    return sum(difference.verdict == right for difference in simulate(noise, ratio, blocks, runs)) / runs


@pytest.mark.parametrize(
    ("noise", "blocks"), [*((noise, 8) for noise in PROMISED), ("log-normal 10 %", 5), ("heavy tail", 5)]
)
def test_no_difference_is_shown_without_a_difference(noise, blocks):
    """Both rates are at most alpha, 0.01.

    With a true rate of 0.01, more than 5 of 150 tries miss once in 200 times; docs/statistics.md has thousands of
    tries.
    """
    wrong, missed = wrong_and_missed(noise, blocks, 150)
    assert max(wrong, missed) <= 5 / 150


@pytest.mark.parametrize("ratio", [0.7, 1 / 0.7])
def test_difference_of_30_percent_is_found(ratio):
    assert power("log-normal 5 %", ratio, 8, 50) == 1


def test_difference_of_20_percent_is_found_with_the_recommended_blocks():
    assert power("log-normal 5 %", 0.8, RECOMMENDED_BLOCKS, 50) >= 0.98


def test_certain_difference_below_the_minimum_effect_is_not_shown():
    results = list(simulate("log-normal 3 %", 0.985, 40, 20))
    assert {difference.verdict for difference in results} == {"no difference shown"}
    assert any(difference.reason == "the difference is below the minimum effect of 5%" for difference in results)


def main(runs: int) -> None:
    """Print the tables of docs/statistics.md."""
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
