from __future__ import annotations

from typing import Any

import pytest

from schedproof.benchmark.replay import CLOCK, Replay

from .rounds import drain, singles


class Pedantic:
    """A stand-in for pytest-benchmark's fixture that uses the timer of the suite."""

    def __init__(self) -> None:
        self.group = ""
        self.extra_info: dict[str, Any] = {}
        self.durations: list[float] = []

    def pedantic(self, target, *, rounds: int, iterations: int) -> None:
        assert iterations == 1
        for _ in range(rounds):
            begin = CLOCK.read()
            target()
            self.durations.append(CLOCK.read() - begin)


def test_each_drain_is_one_benchmark_round() -> None:
    benchmark = Pedantic()
    Replay([drain("x", n, seconds=1.0 + n) for n in range(3)]).into(benchmark)
    assert benchmark.durations == pytest.approx([1.0, 2.0, 3.0])
    assert benchmark.group == "basic, drain"
    assert (benchmark.extra_info["pods"], benchmark.extra_info["bound"]) == (300, 300)


def test_each_pod_of_one_at_a_time_is_one_benchmark_round() -> None:
    benchmark = Pedantic()
    Replay([singles("x", n, [0.1] * 10) for n in range(2)]).into(benchmark)
    assert benchmark.durations == pytest.approx([0.1] * 18)
    assert benchmark.extra_info["latency"]["p99"] == pytest.approx(0.1)


def test_invalid_rounds_do_not_count_but_their_wrong_placements_are_reported() -> None:
    replay = Replay([drain("x", 0, seconds=1.0), drain("x", 1, seconds=9.0, invalid=("noise",), wrong=("pod-1",))])
    assert replay.durations == pytest.approx([1.0])
    assert replay.doubt == "pods were bound to nodes where they must not run: pod-1"


def test_rounds_without_a_valid_one_are_shown_with_a_doubt() -> None:
    replay = Replay([drain("x", n, seconds=1.0, invalid=("noise",)) for n in range(2)])
    assert len(replay.durations) == 2
    assert replay.doubt == "no round is valid: noise"


def test_one_valid_round_raises_no_doubt() -> None:
    assert Replay([drain("x", 0, seconds=1.0), drain("x", 1, seconds=9.0, invalid=("noise",))]).doubt == ""
