from __future__ import annotations

import itertools
from statistics import fmean, stdev

import pytest

from schedproof.benchmark.arrivals import poisson


def test_the_same_seed_gives_the_same_arrivals_in_order() -> None:
    arrivals = poisson(100.0, 1000, seed=1)
    assert arrivals == poisson(100.0, 1000, seed=1) == sorted(arrivals)
    assert arrivals != poisson(100.0, 1000, seed=2)


def test_gaps_between_arrivals_are_those_of_a_poisson_process() -> None:
    gaps = [after - before for before, after in itertools.pairwise(poisson(100.0, 10_000, seed=3))]
    assert fmean(gaps) == pytest.approx(0.01, rel=0.05)
    assert stdev(gaps) == pytest.approx(fmean(gaps), rel=0.05)


def test_bursts_arrive_together_at_the_same_rate_of_pods() -> None:
    arrivals = poisson(100.0, 10_000, seed=3, burst=50)
    assert all(len(set(arrivals[n : n + 50])) == 1 for n in range(0, 10_000, 50))
    assert arrivals[-1] == pytest.approx(100.0, rel=0.25)
