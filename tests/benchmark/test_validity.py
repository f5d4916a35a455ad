from __future__ import annotations

import math

from schedproof.benchmark.measure.gauges import GaugeReadings
from schedproof.benchmark.measure.scheduler_metrics import NONE
from schedproof.benchmark.validity import Doubt, doubts, limit_of

from .rounds import a_round, drain, row, singles

QUIET = GaugeReadings({}, NONE, "", "")


def _doubts(round_, readings: GaugeReadings = QUIET, ceiling: float = math.inf, capped: int = 0) -> list[str]:
    return [doubt.text for doubt in doubts(round_, readings, ceiling=ceiling, capped=capped)]


def test_round_far_from_every_limit_is_valid() -> None:
    assert _doubts(drain("x", 0, seconds=1.0), ceiling=1000.0) == []
    assert _doubts(singles("x", 0, [0.01] * 20)) == []


def test_drain_close_to_the_apiserver_limit_is_invalid() -> None:
    (reason,) = _doubts(drain("x", 0, seconds=1.0), ceiling=120.0)
    assert reason.startswith("the apiserver was the limit: 100 pods/s were bound; it accepts 120")


def test_implausibly_fast_drain_is_too_short_to_be_measured() -> None:
    """Thirty pods that the watch reported in one batch."""
    (reason,) = _doubts(drain("x", 0, seconds=0.0002, pods=30), ceiling=1200.0)
    assert reason == (
        "the round was too short to be measured: after the warm-up, 27 pods were seen bound within 0.18 ms; "
        "send more pods"
    )


def test_round_without_a_binding_is_invalid() -> None:
    assert _doubts(a_round("x", "drain", [row(0)])) == ["no pod was bound"]


def test_pods_sent_late_are_attributed_to_the_client() -> None:
    late = [row(n, intended=100 + n, late=0.02, seen=100.1 + n) for n in range(20)]
    (reason,) = _doubts(a_round("x", "open-loop", late, rate=1.0))
    assert (
        reason == "the client was the limit: pods were sent 20.00 ms late on average, with a mean latency of 100.00 ms"
    )
    in_time = [row(n, intended=100 + n, late=0.001, seen=100.1 + n) for n in range(20)]
    assert _doubts(a_round("x", "open-loop", in_time, rate=1.0)) == []


def test_pods_held_back_by_unanswered_requests_are_attributed_to_the_client() -> None:
    (reason,) = _doubts(singles("x", 0, [0.01] * 20, mode="open-loop", rate=1.0), capped=3)
    assert reason == "the client was the limit: 3 pods were sent late because too many requests were unanswered"


def test_reasons_of_the_gauges_make_a_round_invalid() -> None:
    readings = GaugeReadings({}, NONE, "its client was throttled", "others used the machine")
    assert _doubts(drain("x", 0, seconds=1.0), readings) == ["its client was throttled", "others used the machine"]


def test_round_with_unbound_pods_is_invalid() -> None:
    rows = [*(row(n, seen=101 + n) for n in range(9)), row(9)]
    assert _doubts(a_round("x", "drain", rows)) == [
        "1 of 10 pods were not bound: the numbers of the others would be biased in its favor"
    ]


def test_each_reason_states_how_the_true_speed_differs() -> None:
    def limits(round_, **more) -> list[str]:
        return [doubt.limit for doubt in doubts(round_, QUIET, **{"ceiling": math.inf, "capped": 0, **more})]

    assert limits(drain("x", 0, seconds=1.0), ceiling=120.0) == ["faster"]
    assert limits(drain("x", 0, seconds=0.0002, pods=30), ceiling=1200.0) == ["unknown"]
    assert limits(singles("x", 0, [0.01] * 20, mode="open-loop", rate=1.0), capped=3) == ["slower"]


def test_limit_of_a_round_with_an_unrelated_doubt_is_empty() -> None:
    faster, slower, noise = Doubt("the apiserver was the limit", "faster"), Doubt("late", "slower"), Doubt("noise")
    assert limit_of([]) == ""
    assert limit_of([faster]) == "faster"
    assert limit_of([faster, slower]) == "unknown"
    assert limit_of([faster, noise]) == ""
