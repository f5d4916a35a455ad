from __future__ import annotations

from typing import Any

import pytest

from schedproof.benchmark.comparing import comparisons, knee_of, measurements
from schedproof.benchmark.usage import Usage

from .rounds import a_round, drain, row, singles

BLOCKS = 6
WOBBLE = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0)


def _found(rounds: list[Any], metric: str) -> dict[str, Any]:
    (one,) = [one for one in comparisons(rounds, "stock", seed=1) if one["metric"] == metric]
    return one


def test_half_the_throughput_is_slower() -> None:
    rounds = [drain("stock", n, seconds=2.0 * WOBBLE[n]) for n in range(BLOCKS)]
    rounds += [drain("x", n, seconds=4.0 * WOBBLE[-n]) for n in range(BLOCKS)]
    one = _found(rounds, "throughput")
    assert one["verdict"] == "slower"
    assert one["ratio"] == pytest.approx(0.5, rel=0.02)
    assert (one["candidate"], one["baseline"], one["blocks"]) == ("x", "stock", BLOCKS)


def test_rounds_are_paired_by_block_not_by_the_order_in_which_they_were_measured() -> None:
    drift = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    rounds = [drain("stock", n, seconds=drift[n]) for n in range(BLOCKS)]
    rounds += [drain("x", n, seconds=2 * drift[n]) for n in reversed(range(BLOCKS))]
    one = _found(rounds, "throughput")
    assert one["ratio"] == pytest.approx(0.5)
    assert one["verdict"] == "slower"


def test_an_invalid_round_takes_its_block_out() -> None:
    rounds = [drain("stock", n, seconds=2.0 * WOBBLE[n]) for n in range(BLOCKS)]
    rounds += [drain("x", n, seconds=2.0, invalid=("noise",) if n < 2 else ()) for n in range(BLOCKS)]
    one = _found(rounds, "throughput")
    assert (one["verdict"], one["blocks"]) == ("invalid", 4)


def test_latencies_are_compared_where_pods_arrive_and_cpu_everywhere() -> None:
    usage = {"kube-scheduler": Usage(1.0, 1)}
    more = {"usage": usage, "own_processes": ("kube-scheduler",)}
    rounds = [singles(name, n, [0.01, 0.02, 0.03] * 10, **more) for n in range(BLOCKS) for name in ("stock", "x")]
    metrics = [one["metric"] for one in comparisons(rounds, "stock", seed=1)]
    assert metrics == ["mean", "p50", "p90", "p99", "cpu per pod"]
    rounds = [drain(name, n, seconds=1.0, **more) for n in range(BLOCKS) for name in ("stock", "x")]
    assert [one["metric"] for one in comparisons(rounds, "stock", seed=1)] == ["throughput", "cpu per pod"]


def test_measurements_keep_every_round_and_draw_from_the_valid_ones() -> None:
    rounds = [singles("x", 1, [0.5] * 20), singles("x", 0, [9.0] * 20, invalid=("noise",))]
    (one,) = measurements(rounds, ["stock", "x"])
    assert [found["block"] for found in one["rounds"]] == [0, 1]
    assert one["rounds"][0]["invalid"] == ["noise"]
    assert max(latency for latency, _ in one["cdf"]) == pytest.approx(0.5)
    assert sum(one["histogram"]["counts"]) == 18


def _sweep(latencies: dict[float, float]) -> list[Any]:
    return [singles("x", 0, [latency] * 20, mode="open-loop", rate=rate) for rate, latency in latencies.items()]


def test_the_knee_is_where_the_tail_grows_beyond_ten_times_the_calm_median() -> None:
    found = knee_of(_sweep({200.0: 5.0, 50.0: 0.01, 100.0: 0.02, 150.0: 0.09}))
    assert found["knee"] == 150.0
    assert [point["rate"] for point in found["points"]] == [50.0, 100.0, 150.0, 200.0]


def test_beyond_a_bend_no_rate_is_the_knee_however_calm_it_was() -> None:
    assert knee_of(_sweep({50.0: 0.01, 100.0: 5.0, 150.0: 0.01}))["knee"] == 50.0


def test_a_rate_at_which_pods_were_lost_is_beyond_the_knee() -> None:
    rounds = _sweep({50.0: 0.01})
    lost = [*(row(n, intended=100 + n, seen=100.01 + n) for n in range(20)), row(20, intended=121)]
    rounds.append(a_round("x", "open-loop", lost, rate=100.0))
    assert knee_of(rounds)["knee"] == 50.0


def test_of_no_rounds_there_is_no_knee() -> None:
    assert knee_of([]) == {"knee": None, "points": []}
