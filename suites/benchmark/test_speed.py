"""How fast the candidate schedules, beside the stock scheduler in the same minutes.

A round of pytest-benchmark is one drain, or one pod. All schedulers are measured interleaved, at the first of these
tests that runs; each then carries what its own has taken.
"""

from typing import Any

import pytest

from schedproof.benchmark.replay import CLOCK, Replay

pytestmark = pytest.mark.benchmark(timer=CLOCK.read, warmup=False)


@pytest.mark.bench("drain")
def test_drain(benchmark: Any, replay: Replay) -> None:
    """Seconds in which a full queue is bound, after its first tenth."""
    replay.into(benchmark)
    assert not replay.doubt, replay.doubt


@pytest.mark.bench("open-loop")
def test_open_loop(benchmark: Any, replay: Replay) -> None:
    """Seconds from when a pod was to be created until it was bound, where pods arrive by a clock."""
    replay.into(benchmark)
    assert not replay.doubt, replay.doubt


@pytest.mark.bench("one-at-a-time")
def test_one_at_a_time(benchmark: Any, replay: Replay) -> None:
    """Seconds from a pod's creation until it was bound, where nothing else is going on."""
    replay.into(benchmark)
    assert not replay.doubt, replay.doubt
