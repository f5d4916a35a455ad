from __future__ import annotations

import math
import random
from typing import Any

import pytest

from schedproof.benchmark.compare.comparing import comparisons, knee_of, measurements
from schedproof.benchmark.measure.usage import Usage
from schedproof.benchmark.results import Comparison, Knee

from .rounds import a_round, drain, row, singles

BLOCKS = 6
WOBBLE = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0)


def _found(rounds: list[Any], metric: str) -> Comparison:
    (found,) = [found for found in comparisons(rounds, "stock", seed=1) if found.metric == metric]
    return found


def test_half_the_throughput_is_slower() -> None:
    rounds = [drain("stock", n, seconds=2.0 * WOBBLE[n]) for n in range(BLOCKS)]
    rounds += [drain("x", n, seconds=4.0 * WOBBLE[-n]) for n in range(BLOCKS)]
    difference = _found(rounds, "throughput")
    assert difference.verdict == "slower"
    assert difference.ratio == pytest.approx(0.5, rel=0.02)
    assert (difference.candidate, difference.baseline, difference.blocks) == ("x", "stock", BLOCKS)


def test_rounds_are_paired_by_block_not_by_order() -> None:
    drift = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    rounds = [drain("stock", n, seconds=drift[n]) for n in range(BLOCKS)]
    rounds += [drain("x", n, seconds=2 * drift[n]) for n in reversed(range(BLOCKS))]
    difference = _found(rounds, "throughput")
    assert difference.ratio == pytest.approx(0.5)
    assert difference.verdict == "slower"


def test_invalid_round_excludes_its_block() -> None:
    rounds = [drain("stock", n, seconds=2.0 * WOBBLE[n]) for n in range(BLOCKS)]
    rounds += [drain("x", n, seconds=2.0, invalid=("noise",) if n < 2 else ()) for n in range(BLOCKS)]
    difference = _found(rounds, "throughput")
    assert (difference.verdict, difference.blocks) == ("invalid", 4)


def test_block_without_both_sides_is_left_out() -> None:
    rounds = [drain("stock", n, seconds=2.0 * WOBBLE[n]) for n in range(BLOCKS)]
    rounds += [drain("x", n, seconds=4.0 * WOBBLE[-n]) for n in range(1, BLOCKS + 1)]
    difference = _found(rounds, "throughput")
    assert (difference.verdict, difference.blocks) == ("slower", BLOCKS - 1)


def test_latencies_are_compared_if_pods_arrive_over_time_and_cpu_always() -> None:
    usage = {"kube-scheduler": Usage(1.0, 1)}
    more = {"usage": usage, "own_processes": ("kube-scheduler",)}
    rounds = [singles(name, n, [0.01, 0.02, 0.03] * 10, **more) for n in range(BLOCKS) for name in ("stock", "x")]
    metrics = [comparison.metric for comparison in comparisons(rounds, "stock", seed=1)]
    assert metrics == ["mean", "p50", "p90", "p99", "cpu per pod"]
    rounds = [drain(name, n, seconds=1.0, **more) for n in range(BLOCKS) for name in ("stock", "x")]
    metrics = [comparison.metric for comparison in comparisons(rounds, "stock", seed=1)]
    assert metrics == ["throughput", "time to drain", "cpu per pod"]


def _planner(block: int, *, plans: float, seconds: float, **more: Any) -> Any:
    """A round of a scheduler that plans before it binds all pods at equal intervals, `seconds` in total."""
    rows = [row(n, seen=100 + plans + (n + 1) * seconds / 100) for n in range(100)]
    return a_round("x", "drain", rows, block=block, **more)


def test_scheduler_that_plans_before_it_binds_is_not_faster() -> None:
    rounds = [drain("stock", n, seconds=2.0 * WOBBLE[n]) for n in range(BLOCKS)]
    rounds += [_planner(n, plans=20.0, seconds=1.5 * WOBBLE[-n]) for n in range(BLOCKS)]
    throughput, to_drain = _found(rounds, "throughput"), _found(rounds, "time to drain")
    assert throughput.ratio == pytest.approx(1.33, abs=0.01)
    assert (throughput.verdict, to_drain.verdict) == ("no difference shown", "slower")
    assert "10.7" in throughput.reason
    assert to_drain.ratio == pytest.approx(21.5 / 2, rel=0.02)


def test_scheduler_whose_drain_is_hardly_longer_is_not_faster_either() -> None:
    """The interval of its time to drain includes 1, but the ratio is above 1."""
    rounds = [drain("stock", n, seconds=2.0 * WOBBLE[n]) for n in range(BLOCKS)]
    rounds += [_planner(n, plans=0.52, seconds=1.5 * WOBBLE[-n]) for n in range(BLOCKS)]
    assert _found(rounds, "time to drain").verdict == "no difference shown"
    assert _found(rounds, "throughput").verdict == "no difference shown"
    rounds = [round_ for round_ in rounds if round_.candidate == "stock"]
    rounds += [_planner(n, plans=0.1, seconds=1.5 * WOBBLE[-n]) for n in range(BLOCKS)]
    assert [_found(rounds, metric).verdict for metric in ("throughput", "time to drain")] == ["faster", "faster"]


@pytest.mark.parametrize("baseline", ["", "faster"])
def test_planner_that_comes_to_the_apiserver_limit_is_slower_all_the_same(baseline: str) -> None:
    """However fast it might bind, no pod was bound before its plan was made."""
    rounds = _limited("stock", BLOCKS, 2.0, {0: baseline} if baseline else {})
    rounds += [_planner(n, plans=20.0, seconds=0.5, limit="faster", invalid=LIMITED) for n in range(BLOCKS)]
    to_drain = _found(rounds, "time to drain")
    assert (to_drain.verdict, to_drain.bound, to_drain.high) == ("slower", "at least", None)
    assert to_drain.low is not None
    assert 9 < to_drain.low <= 10.1
    assert _found(rounds, "throughput").verdict != "faster"


def test_longer_drain_at_the_apiserver_limit_is_not_faster() -> None:
    """Without the limit it might be done sooner; that is not shown."""
    rounds = _limited("stock", BLOCKS, 2.0, {})
    rounds += [_planner(n, plans=1.5, seconds=1.0, limit="faster", invalid=LIMITED) for n in range(BLOCKS)]
    assert (_found(rounds, "time to drain").bound, _found(rounds, "time to drain").verdict) == ("at most", "invalid")
    assert _found(rounds, "throughput").verdict == "no difference shown"


def test_fast_scheduler_at_the_apiserver_limit_is_faster_by_both() -> None:
    rounds = _limited("stock", BLOCKS, 4.0, {})
    rounds += [_planner(n, plans=0.1, seconds=1.0, limit="faster", invalid=LIMITED) for n in range(BLOCKS)]
    assert (_found(rounds, "throughput").bound, _found(rounds, "throughput").verdict) == ("at least", "faster")
    assert (_found(rounds, "time to drain").bound, _found(rounds, "time to drain").verdict) == ("at most", "faster")


def test_measurements_keep_every_round_and_use_valid_rounds_for_curves() -> None:
    rounds = [singles("x", 1, [0.5] * 20), singles("x", 0, [9.0] * 20, invalid=("noise",))]
    (measurement,) = measurements(rounds, ["stock", "x"])
    assert [found.block for found in measurement.rounds] == [0, 1]
    assert measurement.rounds[0].invalid == ["noise"]
    assert max(latency for latency, _ in measurement.cdf) == pytest.approx(0.5)
    assert sum(measurement.histogram.counts) == 18


def _sweep(latencies: dict[float, float]) -> list[Any]:
    return [singles("x", 0, [latency] * 20, mode="open-loop", rate=rate) for rate, latency in latencies.items()]


def test_knee_is_the_last_rate_with_a_tail_below_ten_times_the_calm_median() -> None:
    found = knee_of("basic", "x", _sweep({200.0: 5.0, 50.0: 0.01, 100.0: 0.02, 150.0: 0.09}))
    assert found.knee == 150.0
    assert [point.rate for point in found.points] == [50.0, 100.0, 150.0, 200.0]


def test_no_rate_beyond_the_first_slow_rate_is_the_knee() -> None:
    assert knee_of("basic", "x", _sweep({50.0: 0.01, 100.0: 5.0, 150.0: 0.01})).knee == 50.0


def test_rate_with_unbound_pods_is_beyond_the_knee() -> None:
    rounds = _sweep({50.0: 0.01})
    lost = [*(row(n, intended=100 + n, seen=100.01 + n) for n in range(20)), row(20, intended=121)]
    rounds.append(a_round("x", "open-loop", lost, rate=100.0))
    assert knee_of("basic", "x", rounds).knee == 50.0


def test_no_rounds_have_no_knee() -> None:
    assert knee_of("basic", "x", []) == Knee(workload="basic", candidate="x")


LIMITED = ("the apiserver was the limit",)


def _limited(name: str, blocks: int, seconds: float, limits: dict[int, str]) -> list[Any]:
    return [
        drain(
            name, n, seconds=seconds * WOBBLE[n], limit=limits.get(n, ""), invalid=LIMITED if n in limits else ()
        )
        for n in range(blocks)
    ]  # fmt: skip


def test_rounds_at_the_apiserver_limit_give_a_bound_of_the_ratio() -> None:
    stock = _limited("stock", BLOCKS, 4.0, {})
    difference = _found([*stock, *_limited("x", BLOCKS, 2.0, {1: "faster", 3: "faster"})], "throughput")
    assert (difference.verdict, difference.bound, difference.high, difference.blocks) == (
        "faster",
        "at least",
        None,
        BLOCKS,
    )
    assert 1 < difference.low <= 2
    # The candidate may be even faster: no difference is shown unless it looks faster.
    difference = _found([*stock, *_limited("x", BLOCKS, 4.0, {1: "faster"})], "throughput")
    assert (difference.verdict, difference.bound) == ("invalid", "at least")
    # Where the baseline was limited, the ratio is at most the measured one.
    difference = _found([*_limited("stock", BLOCKS, 2.0, {0: "faster"}), *_limited("x", BLOCKS, 4.0, {})], "throughput")
    assert (difference.verdict, difference.bound, difference.low) == ("slower", "at most", None)


@pytest.mark.parametrize("limits", [{"x": "unknown"}, {"x": "faster", "stock": "faster"}])
def test_comparison_without_a_bound_of_the_ratio_is_invalid(limits: dict[str, str]) -> None:
    rounds = [
        difference
        for name in ("stock", "x")
        for difference in _limited(name, BLOCKS, 2.0, {0: limits[name]} if name in limits else {})
    ]
    difference = _found(rounds, "throughput")
    assert (difference.verdict, difference.low, difference.high) == ("invalid", None, None)
    assert difference.reason


def test_limit_of_a_round_does_not_affect_its_processor_time() -> None:
    more = {"own_processes": ("kube-scheduler",), "limit": "faster", "invalid": LIMITED}
    rounds = [
        drain(name, n, seconds=2.0, usage={"kube-scheduler": Usage(cpu * WOBBLE[n], 1)}, **more)
        for n in range(BLOCKS)
        for name, cpu in (("stock", 1.0), ("x", 2.0))
    ]
    difference = _found(rounds, "cpu per pod")
    assert (difference.verdict, difference.bound) == ("more", "")


@pytest.mark.parametrize(
    ("more", "cpu"),
    [({"limit": "unknown", "invalid": LIMITED}, 1.0), ({}, 0.0)],
    ids=["pods were lost", "below a tick"],
)
def test_inconclusive_processor_time_is_not_compared(more: dict[str, Any], cpu: float) -> None:
    rounds = [
        drain(
            name, n, seconds=2.0, own_processes=("s",), usage={"s": Usage(cpu if n == 0 else WOBBLE[n], 1)},
            **(more if n == 0 else {}),
        )
        for n in range(BLOCKS)
        for name in ("stock", "x")
    ]  # fmt: skip
    difference = _found(rounds, "cpu per pod")
    assert (difference.verdict, difference.low, difference.high) == ("invalid", None, None)
    assert difference.reason


def test_processor_time_is_compared_with_the_precision_of_clock_ticks() -> None:
    """Ten and eleven ticks in every block have no spread, yet each count may be off by one."""
    rounds = [
        drain(name, n, seconds=2.0, usage={"s": Usage(ticks * 0.01, 1)}, own_processes=("s",))
        for n in range(BLOCKS)
        for name, ticks in (("stock", 10), ("x", 11))
    ]
    difference = _found(rounds, "cpu per pod")
    assert difference.verdict == "no difference shown"
    assert difference.low == pytest.approx(1.1 / (12 / 11 / 0.9))
    assert difference.high == pytest.approx(1.1 * (12 / 11 / 0.9))


def test_lower_bound_holds_where_leaving_out_the_fastest_rounds_is_biased() -> None:
    """A true ratio of 1.28; part of the candidate's rounds end at the apiserver's limit."""
    chance, missed, biased = random.Random(7), 0, []
    for _ in range(60):
        rounds = []
        for block in range(10):
            for name, speed in (("stock", 100.0), ("x", 128.0)):
                true = speed * math.exp(chance.gauss(0, 0.08))
                limited = true > 135
                rounds.append(
                    drain(
                        name,
                        block,
                        seconds=100 / min(true, 160.0),
                        limit="faster" if limited else "",
                        invalid=LIMITED if limited else (),
                    )
                )
        difference = _found(rounds, "throughput")
        missed += difference.low is not None and difference.low > 1.28
        pairs = [(a, b) for a, b in zip(rounds[::2], rounds[1::2], strict=True) if not (a.limit or b.limit)]
        biased += [math.log(b.throughput / a.throughput) for a, b in pairs]
    assert missed <= 2
    assert math.exp(sum(biased) / len(biased)) < 1.24
