from __future__ import annotations

import pytest

from schedproof.benchmark.measure.usage import Usage
from schedproof.benchmark.results import LatencySummary

from .rounds import a_round, drain, row, singles


def test_throughput_counts_pods_after_the_warm_up() -> None:
    round_ = drain("stock", 0, seconds=2.0, pods=100)
    assert round_.warm_up == 10
    assert round_.throughput == pytest.approx(50.0)
    assert round_.seconds == pytest.approx(1.8)


def test_slow_start_does_not_count_but_a_slow_end_does() -> None:
    steady = [row(n, seen=110 + n * 0.01) for n in range(100)]
    slow_start = [row(n, seen=100 + n) if n < 10 else row(n, seen=109 + (n - 9) * 0.01) for n in range(100)]
    assert a_round("x", "drain", slow_start).throughput == pytest.approx(a_round("x", "drain", steady).throughput)
    straggler = [*steady[:-1], row(99, seen=150)]
    assert a_round("x", "drain", straggler).throughput < a_round("x", "drain", steady).throughput / 10


def test_time_to_drain_counts_from_the_start_and_throughput_from_the_warm_up() -> None:
    planned = [row(n, seen=120 + n * 0.01) for n in range(100)]
    round_ = a_round("x", "drain", planned)
    assert (round_.first_binding, round_.time_to_drain) == (pytest.approx(20.0), pytest.approx(20.99))
    assert round_.result().time_to_drain == round_.time_to_drain
    assert singles("x", 0, [0.2] * 10).result().time_to_drain is None


def test_latency_counts_from_the_intended_time_of_sending() -> None:
    late = [row(n, intended=100 + n, late=0.5, seen=100 + n + 0.7) for n in range(20)]
    assert a_round("x", "open-loop", late).latencies == pytest.approx([0.7] * 18)


def test_unbound_pods_are_counted_as_unaccounted() -> None:
    rows = [*(row(n, seen=101 + n) for n in range(10)), row(10)]
    found = a_round("x", "drain", rows, pods=15).result()  # four were not even sent
    assert (found.pods, found.bound, found.unaccounted) == (15, 10, 5)


def test_round_without_bindings_has_no_throughput_and_no_latency() -> None:
    round_ = a_round("x", "drain", [row(0), row(1)])
    assert (round_.throughput, round_.latencies, round_.result().latency) == (0.0, [], LatencySummary())


def test_cpu_per_pod_counts_pods_bound_during_its_measurement() -> None:
    round_ = drain("x", 0, seconds=10.0, pods=100, counted_from=105.0, usage={"kube-scheduler": Usage(5.1, 1 << 20)})
    assert round_.cpu_per_pod("kube-scheduler") == pytest.approx(0.1)
    assert round_.cpu_per_pod("controller") == 0.0


def test_latency_of_one_at_a_time_is_from_creation_to_binding() -> None:
    assert singles("x", 0, [0.2] * 10).latencies == pytest.approx([0.2] * 9)
