from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean, stdev

import pytest

from schedproof.benchmark.arrivals import pauses, poisson


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


def _latencies(interval: float, shares: Sequence[float]) -> list[float]:
    """Return the latencies of pods that arrive one at a time, for a scheduler that looks for pods at intervals.

    Each pod arrives after a pause of this share of the longest latency so far, as in the driver.
    """
    decides = interval / 200
    now, found = 0.3 * interval, []
    for share in shares:
        now += share * max(found, default=0.0)
        looked = math.ceil(now / interval) * interval
        found.append(looked + decides - now)
        now = looked + decides
    return found[len(found) // 10 :]


def test_without_pauses_a_poller_is_measured_at_one_phase() -> None:
    """Each pod arrives just after the scheduler has looked: its latency is the whole interval."""
    assert _latencies(1.0, [0.0] * 100) == pytest.approx([1.0] * 90, abs=0.01)


@pytest.mark.parametrize("interval", [0.02, 1.0, 30.0])
def test_pauses_sample_a_pollers_phase_evenly(interval: float) -> None:
    found = sorted(_latencies(interval, pauses(1000, seed=7)))
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        within = sum(latency <= share * interval for latency in found) / len(found)
        assert within == pytest.approx(share, abs=0.05)


def test_pauses_are_seeded() -> None:
    assert pauses(10, seed=1) == pauses(10, seed=1) != pauses(10, seed=2)
    assert all(0 <= share < 1 for share in pauses(100, seed=1))
