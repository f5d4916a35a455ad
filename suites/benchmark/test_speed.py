"""How fast the candidate schedules, compared with the stock scheduler in the same minutes.

A round of pytest-benchmark is one drain, or one pod. All schedulers are measured interleaved, in the first of these
tests that runs; each test then reports the durations of its own scheduler.
"""

from typing import Any

import pytest

from schedproof.benchmark.replay import CLOCK, Replay

pytestmark = pytest.mark.benchmark(timer=CLOCK.read, warmup=False)


@pytest.mark.bench("drain")
def test_drain(benchmark: Any, replay: Replay) -> None:
    """Seconds from the start of the candidate, before a full queue, to the last binding."""
    replay.into(benchmark)
    assert not replay.doubt, replay.doubt


@pytest.mark.bench("open-loop")
def test_open_loop(benchmark: Any, replay: Replay) -> None:
    """Seconds from a pod's intended creation to its binding; pods are created at given times."""
    replay.into(benchmark)
    assert not replay.doubt, replay.doubt


@pytest.mark.bench("one-at-a-time")
def test_one_at_a_time(benchmark: Any, replay: Replay) -> None:
    """Seconds from a pod's creation to its binding, with nothing else going on."""
    replay.into(benchmark)
    assert not replay.doubt, replay.doubt
