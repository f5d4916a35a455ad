"""kube-scheduler's own metrics: parsed from real text and compared with measured values."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import http.server
import threading
from collections.abc import Iterator

import pytest

from schedproof.benchmark.measure import scheduler_metrics
from schedproof.benchmark.measure.scheduler_metrics import (
    NONE,
    SchedulerMetrics,
    Total,
    cross_check,
    fetch,
    parse,
    throttled,
)
from schedproof.foundation.errors import HostError
from schedproof.foundation.http import connect

# As kube-scheduler v1.36.3 served it after 100 pods; without most series and buckets, and with a failed attempt added.
SERVED = """\
# HELP rest_client_rate_limiter_duration_seconds [ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.
# TYPE rest_client_rate_limiter_duration_seconds histogram
rest_client_rate_limiter_duration_seconds_bucket{host="127.0.0.1:20099",verb="GET",le="+Inf"} 3
rest_client_rate_limiter_duration_seconds_sum{host="127.0.0.1:20099",verb="GET"} 8.862000000000001e-06
rest_client_rate_limiter_duration_seconds_count{host="127.0.0.1:20099",verb="GET"} 3
rest_client_rate_limiter_duration_seconds_bucket{host="127.0.0.1:20099",verb="POST",le="+Inf"} 203
rest_client_rate_limiter_duration_seconds_sum{host="127.0.0.1:20099",verb="POST"} 2.6380575129999992
rest_client_rate_limiter_duration_seconds_count{host="127.0.0.1:20099",verb="POST"} 203
# HELP scheduler_pending_pods [STABLE] Number of pending pods, by the queue type.
# TYPE scheduler_pending_pods gauge
scheduler_pending_pods{queue="active"} 0
# HELP scheduler_pod_scheduling_sli_duration_seconds [BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.
# TYPE scheduler_pod_scheduling_sli_duration_seconds histogram
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="1",le="0.04"} 61
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="1",le="+Inf"} 99
scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="1"} 3.3
scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 99
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="2",le="+Inf"} 1
scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"} 0.1
scheduler_pod_scheduling_sli_duration_seconds_count{attempts="2"} 1
# HELP scheduler_schedule_attempts_total [STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.
# TYPE scheduler_schedule_attempts_total counter
scheduler_schedule_attempts_total{profile="sched-x",result="scheduled"} 100
scheduler_schedule_attempts_total{profile="sched-x",result="unschedulable"} 1
# HELP scheduler_scheduling_algorithm_duration_seconds [ALPHA] Scheduling algorithm latency in seconds
# TYPE scheduler_scheduling_algorithm_duration_seconds histogram
scheduler_scheduling_algorithm_duration_seconds_bucket{le="+Inf"} 101
scheduler_scheduling_algorithm_duration_seconds_sum 0.0707
scheduler_scheduling_algorithm_duration_seconds_count 101
# HELP scheduler_scheduling_attempt_duration_seconds [STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)
# TYPE scheduler_scheduling_attempt_duration_seconds histogram
scheduler_scheduling_attempt_duration_seconds_bucket{profile="sched-x",result="scheduled",le="+Inf"} 100
scheduler_scheduling_attempt_duration_seconds_sum{profile="sched-x",result="scheduled"} 3.30704241
scheduler_scheduling_attempt_duration_seconds_count{profile="sched-x",result="scheduled"} 100
scheduler_scheduling_attempt_duration_seconds_sum{profile="sched-x",result="unschedulable"} 0.001
scheduler_scheduling_attempt_duration_seconds_count{profile="sched-x",result="unschedulable"} 1
"""  # noqa: E501 - as it is served


def sli(mean: float, count: int = 100) -> SchedulerMetrics:
    return SchedulerMetrics(sli=Total(mean * count, count))


def test_series_are_summed_over_all_labels_but_the_result():
    metrics = parse(SERVED)
    assert metrics.attempts == {"scheduled": 100, "unschedulable": 1}
    assert metrics.attempt == {"scheduled": Total(3.30704241, 100), "unschedulable": Total(0.001, 1)}
    assert metrics.sli == Total(pytest.approx(3.4), 100)
    assert metrics.algorithm == Total(0.0707, 101)
    assert metrics.rate_limiter == Total(pytest.approx(2.638066375), 206)


def test_missing_series_are_zero():
    assert parse("# TYPE scheduler_pending_pods gauge\nscheduler_pending_pods 0\n") == NONE
    assert Total().mean is None


def test_a_round_is_the_difference_of_two_readings():
    before = parse(SERVED)
    assert before.since(NONE) == before
    nothing = before.since(before)
    assert nothing.attempts == {"scheduled": 0, "unschedulable": 0}
    assert nothing.sli == nothing.rate_limiter == Total(0, 0)
    after = parse(
        SERVED.replace('{attempts="1"} 3.3', '{attempts="1"} 4.3').replace('{attempts="1"} 99', '{attempts="1"} 119')
    )
    assert after.since(before).sli.mean == pytest.approx(1 / 20)


def test_checked_metrics_have_the_fields_of_bench_json():
    metrics = parse(SERVED)
    assert metrics.checked(cross_check(metrics, 0.0345)).model_dump() == {
        "attempts": 101, "attempt_mean": pytest.approx(0.0330704241), "algorithm_mean": pytest.approx(0.0007),
        "sli_mean": pytest.approx(0.034), "rate_limited": pytest.approx(2.638066375), "measured_mean": 0.0345,
        "agrees": True, "explanation": "",
    }  # fmt: skip
    assert NONE.checked(cross_check(NONE, 0.1)).sli_mean is None


@pytest.mark.parametrize("measured", [0.0951, 0.1, 0.1049])
def test_means_within_5_percent_agree(measured):
    check = cross_check(sli(0.1), measured, pods=100)
    assert (check.agrees, check.explanation) == (True, "")


def test_difference_due_to_the_create_call_is_explained():
    """Measured on a busy machine, one pod at a time: the create call took 16.8 of 23.2 ms."""
    check = cross_check(sli(0.0108), 0.0232, pods=100, leeway=0.0168, within="the create call")
    assert check.agrees
    assert check.explanation == (
        "measured 23.2 ms, the scheduler reports 10.8 ms, from when the pod enters its queue: "
        "explained by the create call, 16.8 ms"
    )


_STARTS_LATER = (
    "measured 90 ms, the scheduler reports 100 ms, although its measurement starts later: one of the two is wrong"
)


@pytest.mark.parametrize(
    ("own", "measured", "expected"),
    [
        (sli(0.1), 0.2, "measured 200 ms, the scheduler reports 100 ms: 100 ms per pod are unexplained"),
        (sli(0.1), 0.09, _STARTS_LATER),
        (sli(0.1, 99), 0.1, "the scheduler reports that it bound 99 pods, but 100 were seen bound"),
        (NONE, 0.1, "the scheduler reports that it bound no pod"),
    ],
)
def test_means_that_disagree_are_explained(own, measured, expected):
    check = cross_check(own, measured, pods=100, leeway=0.05)
    assert (check.agrees, check.explanation) == (False, expected)


STOCK = {"qps": 5000, "burst": 10000}


def limited(count: float, waited: float) -> SchedulerMetrics:
    return dataclasses.replace(NONE, rate_limiter=Total(waited, count))


def test_waits_above_5_percent_of_a_round_are_throttling():
    metrics = parse(SERVED)
    assert throttled(metrics, 53, {}) == ""
    assert throttled(metrics, 4.8, {}) == (
        "the scheduler's client was throttled: 206 requests waited 2.6 s in total for its QPS limit, in a round of "
        "4.8 s; raise clientConnection.qps and clientConnection.burst"
    )
    assert throttled(NONE, 0, {}) == ""


@pytest.mark.parametrize(
    ("count", "waited", "seconds", "limits", "expected"),
    [
        pytest.param(65, 0.03, 0.1, STOCK, False, id="preempted in the limiter, in a short round on a busy machine"),
        pytest.param(65, 0.02, 0.02, STOCK, False, id="the same, in a round that is over at once"),
        pytest.param(49, 30.0, 1.5, {"qps": 20, "burst": 20}, True, id="the burst is used up"),
        pytest.param(30, 1.4, 1.5, {"qps": 20, "burst": 100}, True, id="one at a time, as many as it lets through"),
        pytest.param(65, 4.0, 1.0, STOCK, True, id="a plugin's own client waits long"),
    ],
)
def test_client_below_its_qps_limit_is_not_throttled(count, waited, seconds, limits, expected):
    assert bool(throttled(limited(count, waited), seconds, limits)) is expected


@contextlib.contextmanager
def serving(status: int, text: str) -> Iterator[tuple[int, list[str]]]:
    """A server of /metrics without TLS, with its requests."""
    requests: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(f"{self.path} {self.headers['Authorization']}")
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port, requests
        server.shutdown()
        thread.join()


@pytest.fixture
def without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(url: str, seconds: float) -> http.client.HTTPConnection:
        return connect(url.replace("https://", "http://"), seconds)

    monkeypatch.setattr(scheduler_metrics, "connect", plain)


@pytest.mark.usefixtures("without_tls")
def test_metrics_are_fetched_with_the_token():
    with serving(200, SERVED) as (port, requests):
        assert fetch(port, "secret") == parse(SERVED)
    assert requests == ["/metrics Bearer secret"]


@pytest.mark.usefixtures("without_tls")
def test_refused_metrics_name_the_role_to_grant():
    with serving(403, "forbidden") as (port, _), pytest.raises(HostError) as caught:
        fetch(port, "secret")
    assert caught.value.message == "kube-scheduler's /metrics: 403 forbidden"
    assert "system:monitoring" in caught.value.remedy


@pytest.mark.usefixtures("without_tls")
def test_unreachable_metrics_are_an_error_of_the_host():
    with serving(200, "") as (port, _):
        pass
    with pytest.raises(HostError, match="no response from kube-scheduler's /metrics: ConnectionRefusedError"):
        fetch(port, "secret")
