from __future__ import annotations

import datetime

import pytest

from schedproof.benchmark.driver import PodTimes
from schedproof.benchmark.measure.phases import PHASES, attempts, phases_of
from schedproof.history.observations import ApiRequest

BINDING = ApiRequest(
    user="it",
    verb="create",
    resource="pods/binding",
    namespace="a",
    name="pod-1",
    code=201,
    received=10.7,
    completed=10.8,
)


LOG = """\
I1122 10:31:37.250000   12345 schedule_one.go:123] "Attempting to schedule pod" pod="default/pod-1"
I1122 10:31:37.260000   12345 schedule_one.go:321] "Successfully bound pod to node" pod="default/pod-1" node="node-1"
I1122 10:31:38.000001   12345 schedule_one.go:123] "Attempting to schedule pod" pod="default/pod-2"
I1122 10:31:39.000000   12345 schedule_one.go:123] "Attempting to schedule pod" pod="default/pod-1"
no line of klog
"""
MOMENT = datetime.datetime(2026, 11, 22, 10, 31, 37).timestamp()


def test_first_attempt_of_each_pod_is_found_on_the_harness_clock() -> None:
    found = attempts(LOG.splitlines(keepends=True), 2026, MOMENT - 100)
    assert found == pytest.approx({"default/pod-1": 100.25, "default/pod-2": 101.000001})


def test_phases_follow_each_other_from_the_request_to_the_watch() -> None:
    rows = [PodTimes("pod-1", "u", 10.0, 10.0, 10.2, 11.0, "node-1")]
    found = phases_of(rows, {"pod-1": BINDING}, {"pod-1": 10.3})
    assert [found[name] for name in PHASES] == [pytest.approx([seconds]) for seconds in (0.2, 0.1, 0.4, 0.1, 0.2)]


def test_scheduler_without_logged_attempts_has_no_queue_phase() -> None:
    rows = [PodTimes("pod-1", "u", 10.0, 10.0, 10.2, 11.0, "node-1")]
    found = phases_of(rows, {"pod-1": BINDING}, {})
    assert found["queue"] == []
    assert found["decision"] == pytest.approx([0.5])


def test_attempt_before_the_answer_to_the_creation_has_a_queue_of_zero() -> None:
    rows = [PodTimes("pod-1", "u", 10.0, 10.0, 10.2, 11.0, "node-1")]
    found = phases_of(rows, {"pod-1": BINDING}, {"pod-1": 10.1})
    assert found["queue"] == [0.0]
    assert found["decision"] == pytest.approx([0.5])


def test_unbound_pod_has_no_phases() -> None:
    rows = [PodTimes("pod-1", "u", 10.0, 10.0, 10.2, None, "")]
    assert not any(phases_of(rows, {}, {}).values())
