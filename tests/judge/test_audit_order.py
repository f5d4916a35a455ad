"""Requests stay before or after what the harness did, however the apiserver's wall clock changes."""

from __future__ import annotations

import pytest

from schedproof.history.acts import Calm, CalmOver, Halted, Resumed
from schedproof.history.audit_order import AuditOrder
from schedproof.history.observations import ApiRequest, AuditMark

from .histories import HARNESS_USER, HistoryBuilder, told

STEPS = (0.0, 0.7, -0.7)


def step(h: HistoryBuilder, seconds: float) -> None:
    """Set the wall clock: the timestamps of the audit log jump."""
    h.mark()
    h.clock_ahead += seconds


@pytest.mark.parametrize("seconds", STEPS)
@pytest.mark.parametrize(("early", "outcome"), [(False, "passed"), (True, "failed")])
def test_attempt_before_the_gates_are_removed_fails(seconds: float, early: bool, outcome: str) -> None:
    h = HistoryBuilder("core/scheduling-gates")
    h.pod("gated-1", schedulingGates=[{"name": "a"}])
    if early:
        step(h, seconds)
        h.attempt("gated-1", "node-1", code=409)
    h.fence()
    h.lift("gated-1", mark=h.mark())
    if not early:
        step(h, seconds)
    h.change("gated-1", schedulingGates=[])
    h.bind("gated-1", "node-1")
    h.expect("gated-1", "bound")
    assert h.verdict().outcome == outcome, h.verdict().summary


@pytest.mark.parametrize("seconds", STEPS)
@pytest.mark.parametrize(("code", "outcome"), [(409, "passed"), (201, "failed")])
def test_held_binding_is_recognized_by_the_webhooks_record(seconds: float, code: int, outcome: str) -> None:
    h = HistoryBuilder("core/bind-uid")
    h.pod("twice")
    began, old = h.now, h.uid("twice")
    h.delete("twice")
    h.pod("twice", role="recreated", nodeSelector={"no": "such"})
    step(h, seconds)
    h.admission("twice", "7", held=True)
    h.attempt("twice", "node-1", code=code, uid=old if code == 409 else "", call="7", received=began + h.clock_ahead)
    if code == 201:
        h.place("twice", "node-1")
    h.fence()
    h.expect("twice", "pending")
    assert h.verdict().outcome == outcome, h.verdict().summary


def test_binding_posted_to_the_legacy_resource_fails_and_its_ignored_uid_is_named() -> None:
    h = HistoryBuilder("core/bind-uid")
    h.pod("twice")
    old = h.uid("twice")
    h.delete("twice")
    h.pod("twice", role="recreated", nodeSelector={"no": "such"})
    h.admission("twice", "7", held=True)
    h.attempt("twice", "node-1", uid=old, call="7", resource="bindings")
    h.place("twice", "node-1")
    h.expect("twice", "pending")
    told(h.verdict(), "failed", "outdated-binding", "metadata.uid")


@pytest.mark.parametrize("seconds", STEPS)
@pytest.mark.parametrize("again", [False, True])
def test_attempts_before_and_after_a_restart_are_distinguished(seconds: float, again: bool) -> None:
    h = HistoryBuilder("core/restart")
    h.pod("before")
    h.bind("before", "node-1")
    if not again:
        h.attempt("before", "node-2", code=409)  # for another clause
    h.expect("before", "bound")
    h.add(Halted(case=h.case))
    step(h, seconds)
    h.pod("meanwhile")
    mark = h.mark()
    if again:
        h.attempt("before", "node-2", code=409)  # at once, before it says that it is ready
    h.bind("meanwhile", "node-2")
    h.add(Resumed(case=h.case, mark=mark))
    h.expect("meanwhile", "bound")
    assert h.verdict().outcome == ("failed" if again else "passed"), h.verdict().summary


@pytest.mark.parametrize("seconds", STEPS)
@pytest.mark.parametrize("within", [False, True])
def test_only_requests_during_the_calm_count(seconds: float, within: bool) -> None:
    h = HistoryBuilder("controller/steady")
    h.pod("too-large", cpu="100")
    h.fence()
    h.expect("too-large", "pending")
    step(h, seconds)

    def loop() -> None:
        for _ in range(50):
            h.request("get", "pods", "too-large")

    if not within:
        loop()
    h.add(Calm(case=h.case, seconds=4.0, mark=h.mark()))
    if within:
        step(h, -seconds)
        loop()
    h.add(CalmOver(case=h.case, seconds=4.0, mark=h.mark()))
    if not within:
        loop()
    assert h.verdict().outcome == ("failed" if within else "passed"), h.verdict().summary


@pytest.mark.parametrize("seconds", STEPS)
def test_lost_race_and_second_attempt_are_distinguished_when_the_clock_is_set(seconds: float) -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("race-1")
    step(h, seconds)
    began = h.now
    h.bind("race-1", "node-1")
    h.attempt("race-1", "node-2", code=409, received=began + h.clock_ahead)
    h.mark()
    assert h.verdict("core/all-accounted").outcome == "passed"
    h.pod("late-1")
    h.bind("late-1", "node-1")
    h.wait(3)
    h.attempt("late-1", "node-2", code=409)
    assert h.verdict("core/all-accounted").outcome == "failed"


@pytest.mark.parametrize("seconds", [0.7, -0.7])
def test_times_are_converted_to_the_runs_clock_from_the_line_where_they_jump(seconds: float) -> None:
    h = HistoryBuilder()
    h.mark()
    moments = {}
    for number in range(6):
        if number == 3:
            h.clock_ahead += seconds
        h.request("get", "pods", f"pod-{number}", by=HARNESS_USER)
        moments[f"pod-{number}"] = h.now
    h.mark()
    history = h.history()
    for request in history.of(ApiRequest):
        assert history.order.times(request)[1] == pytest.approx(moments[request.name], abs=0.02)


def test_history_without_marks_is_ordered_by_timestamps() -> None:
    h = HistoryBuilder("core/scheduling-gates")
    h.pod("gated-1", schedulingGates=[{"name": "a"}])
    h.attempt("gated-1", "node-1", code=409)
    h.lift("gated-1")
    told(h.verdict(), "failed", "gated-pod-tried", "sp-tested/gated-1")


def a_mark(line: int, at: float, ahead: float) -> AuditMark:
    """A mark that is sent, received and answered at one time of the run's clock."""
    return AuditMark(mark=line, line=line, at=at, answered=at, received=at + ahead, completed=at + ahead)


def a_request(line: int, at: float, ahead: float) -> ApiRequest:
    return ApiRequest(
        user=HARNESS_USER, verb="get", resource="pods", namespace="", name="a", code=200, line=line,
        received=at + ahead, completed=at + ahead,
    )  # fmt: skip


@pytest.mark.parametrize("ahead", [0.05, -0.05])
def test_slewed_clock_is_not_corrected(ahead: float) -> None:
    request = a_request(3, 20.0, ahead)
    order = AuditOrder([a_mark(1, 10.0, 0.0), a_mark(4, 30.0, ahead)], [request])
    assert order.times(request) == (20.0 + ahead, 20.0 + ahead)


@pytest.mark.parametrize("ahead", [0.7, -0.7])
def test_clock_set_right_after_a_mark_shifts_all_later_requests(ahead: float) -> None:
    requests = [a_request(line, 10.0 + line / 100, ahead) for line in (2, 3, 4)]
    order = AuditOrder([a_mark(1, 10.0, 0.0), a_mark(5, 10.1, ahead), a_mark(9, 20.0, ahead)], requests)
    for request in requests:
        assert order.times(request)[0] == pytest.approx(10.0 + request.line / 100)


@pytest.mark.parametrize("ahead", [0.7, -0.7])
def test_clock_set_right_before_a_mark_shifts_no_earlier_request(ahead: float) -> None:
    before, after = [a_request(line, 10.0 + line / 100, 0.0) for line in (2, 3, 4)], a_request(7, 15.0, ahead)
    order = AuditOrder([a_mark(1, 10.0, 0.0), a_mark(5, 10.1, ahead), a_mark(9, 20.0, ahead)], [*before, after])
    for request in before:
        assert order.times(request)[0] == request.received
    assert order.times(after)[0] == pytest.approx(15.0)
