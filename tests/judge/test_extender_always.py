"""extender/answers: the extender answers every call of kube-scheduler over the whole run."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from schedproof.candidate.claims import Claims
from schedproof.history.observations import CLIENT_LEFT, IDLE_CLOSED, REFUSED_HERE
from schedproof.judge.rulings.extender_calls import calls
from schedproof.judge.rulings.scored import unscored
from schedproof.judge.rulings.timeline import timeline

from .histories import CAPABILITIES, CLAIMS, EXTENDER, NETWORK, NODES, HistoryBuilder, told

ANSWERS = "extender/answers"
BINDS = {**EXTENDER, "bindVerb": "bind", "preemptVerb": "preempt"}
WAITS = dataclasses.replace(CLAIMS, network=dataclasses.replace(NETWORK, on_outage="wait"))
BROKEN = [
    ({"status": 500, "json": False, "answer": "division by zero"}, "responded with 500 (division by zero)"),
    ({"status": 404, "json": False, "answer": "not found"}, "404"),
    ({"status": 0, "json": False}, ""),
    ({"status": 502, "json": False}, "502"),
    ({"unreadable": "nothing", "json": False}, "200"),
]


def answered_case(case: str = "network/zero-traffic", *, claims: Claims = CLAIMS, **options: Any) -> HistoryBuilder:
    """A case in which every verb of a scheduling cycle was answered."""
    h = HistoryBuilder(case, extender=BINDS, claims=claims, **options)
    h.pod("probe-1")
    for verb in ("filter", "prioritize", "bind"):
        h.call(verb)
    return h


def test_run_with_all_calls_answered_passes() -> None:
    told(answered_case().verdict(ANSWERS), "passed", "", "filterVerb", "1", "prioritizeVerb", "bindVerb")


@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
@pytest.mark.parametrize(("fields", "status"), BROKEN)
def test_one_unanswered_call_fails_and_names_its_case(verb: str, fields: dict[str, Any], status: str) -> None:
    h = answered_case()
    h.call(verb, **fields)
    h.end()
    h.begin("core/binds")
    h.call(verb)
    verdict = h.verdict(ANSWERS)
    told(verdict, "failed", "call-failed", status)
    assert "1 of 5 calls, in network/zero-traffic (1)" in verdict.summary
    assert ("ignores that silently" in verdict.summary) == (verb == "prioritize")


def hung() -> HistoryBuilder:
    """A call that began in one case and is recorded in the next, in which all calls are answered."""
    h = answered_case("network/prometheus-error")
    h.pass_time(20.0)
    h.end()
    h.begin("network/stale-series")
    h.call("prioritize", status=0, json=False, scores=None)
    h.records[-1]["seconds"] = 15.0
    h.pod("probe-2")
    for verb in ("filter", "prioritize", "bind"):
        h.call(verb, pod="sp-tested/probe-2")
    return h


def test_hanging_call_belongs_to_the_case_in_which_it_began() -> None:
    verdict = hung().verdict(ANSWERS)
    told(verdict, "failed", "call-failed")
    assert verdict.summary.endswith("1 of 7 calls, in network/prometheus-error (1)")
    history = hung().history()
    assert unscored(history, "network/stale-series") == ""
    assert [call.pod for call in calls(history, "prioritizeVerb", "network/stale-series")] == ["sp-tested/probe-2"]
    assert not any("probe-1" in line for line in timeline(history, "network/stale-series"))
    assert any("no response in 15000 ms" in line for line in timeline(history, "network/prometheus-error"))


def test_extender_that_was_never_called_is_invalid() -> None:
    told(HistoryBuilder("core/binds").verdict(ANSWERS), "invalid", "not-called", "filterVerb", "prioritizeVerb")


def test_calls_made_or_broken_by_the_harness_do_not_count() -> None:
    h = answered_case()
    h.call("filter", by="harness", case="extender/malformed", verb="filter", what="nothing", status=0, json=False)
    h.call("filter", status=0, json=False, fault="reset")
    h.call("healthz", status=503, json=False)
    assert h.verdict(ANSWERS).outcome == "passed"


def test_filter_that_returns_an_error_has_answered() -> None:
    h = answered_case()
    h.call("filter", error="no readings", answered=None)
    assert h.verdict(ANSWERS).outcome == "passed"


@pytest.mark.parametrize("loss", [{"cut": True}, {"status": 0, "broken": f"{REFUSED_HERE}: a frame"}])
@pytest.mark.parametrize("unreadable", ["", "it ends in the middle"])
def test_nothing_is_proved_by_calls_that_the_tap_did_not_record(loss: dict[str, Any], unreadable: str) -> None:
    h = answered_case()
    h.call("filter", unreadable=unreadable, json=not unreadable, **loss)
    told(h.verdict(ANSWERS), "invalid", "record-incomplete", "filter")


def test_a_request_that_crossed_the_end_of_an_idle_connection_does_not_count() -> None:
    h = answered_case()
    h.call("filter", status=0, json=False, broken=IDLE_CLOSED, unreadable="nothing")
    assert h.verdict(ANSWERS).outcome == "passed"
    h.call("filter", status=0, json=False, broken="the connection was closed", unreadable="nothing")
    told(h.verdict(ANSWERS), "failed", "call-failed", "filter got no response: the connection was closed")


def test_a_response_that_was_read_before_its_end_counts() -> None:
    """kube-scheduler reads one JSON value, and does not wait for the end."""
    h = answered_case()
    h.call("filter", status=200, broken=CLIENT_LEFT, unreadable="")
    h.call("filter", status=500, json=False, broken=CLIENT_LEFT, unreadable="nothing")
    assert len(calls(h.history(), "filterVerb")) == 3
    told(h.verdict(ANSWERS), "failed", "call-failed", "500")


# -- while the harness has stopped a process


def test_calls_while_the_harness_restarts_the_extender_do_not_count() -> None:
    h = answered_case("core/restart")
    h.process("scheduler-tested", "stopped")
    h.call("filter", status=502, json=False)
    h.process("extender-tested", "stopped")
    h.process("extender-tested", "started")
    h.process("scheduler-tested", "started")
    assert h.verdict(ANSWERS).outcome == "passed"
    h.call("filter", status=502, json=False)
    told(h.verdict(ANSWERS), "failed", "call-failed", "1", "5")


def test_bind_error_during_a_connection_cut_of_the_harness_does_not_count() -> None:
    h = answered_case("core/watch-reconnect")
    h.fault("cut", line="apiserver")
    h.call("bind", error="connection aborted")
    h.fault("", line="apiserver")
    assert h.verdict(ANSWERS).outcome == "passed"
    h.call("bind", error="connection aborted")
    told(h.verdict(ANSWERS), "failed", "call-failed", "1", "5")


def test_prioritize_error_after_an_apiserver_cut_fails() -> None:
    h = answered_case("core/watch-reconnect")
    h.fault("cut", line="apiserver")
    h.fault("", line="apiserver")
    h.call("prioritize", status=503, json=False)
    told(h.verdict(ANSWERS), "failed", "call-failed", "503")


def test_call_dropped_by_an_extender_that_exited_fails() -> None:
    h = answered_case()
    h.process("extender-tested", "exited", code=1, log=[])
    h.call("filter", status=502, json=False)
    told(h.verdict(ANSWERS), "failed", "call-failed", "502")


# -- without readings


def outage(claims: Claims = CLAIMS) -> HistoryBuilder:
    h = answered_case("network/prometheus-down", claims=claims)
    h.fault("down")
    return h


@pytest.mark.parametrize(
    ("claims", "verb", "status", "outcome"),
    [
        (CLAIMS, "prioritize", 503, "passed"),
        (CLAIMS, "prioritize", 500, "failed"),
        (CLAIMS, "prioritize", 0, "failed"),
        (CLAIMS, "filter", 500, "failed"),
        (WAITS, "filter", 500, "passed"),
        (WAITS, "filter", 503, "passed"),
        (WAITS, "filter", 502, "failed"),
        (WAITS, "prioritize", 500, "failed"),
    ],
)
def test_error_status_is_allowed_only_without_readings(claims: Claims, verb: str, status: int, outcome: str) -> None:
    h = outage(claims)
    h.call(verb, status=status, json=False)
    assert h.verdict(ANSWERS).outcome == outcome
    h.fault("")
    h.end()
    h.begin("core/binds")
    h.call(verb, status=status, json=False)
    assert h.verdict(ANSWERS).outcome == "failed"


def test_error_status_is_allowed_if_a_node_has_no_samples() -> None:
    h = answered_case("network/missing-node", claims=WAITS)
    h.load(0, dict.fromkeys(NODES[1:], 1e6))
    h.call("filter", status=500, json=False)
    assert h.verdict(ANSWERS).outcome == "passed"


# -- bind


def bound(*, code: int = 201, **fields: Any) -> HistoryBuilder:
    h = answered_case()
    h.attempt("probe-1", "node-1", code=code)
    h.call("bind", error="binding to node-1 failed", **fields)
    return h


@pytest.mark.parametrize("code", [403, 404, 409, 500, 503, 504])
@pytest.mark.parametrize("status", [200, 500])
def test_bind_error_after_a_refused_binding_passes(code: int, status: int) -> None:
    assert bound(code=code, status=status).verdict(ANSWERS).outcome == "passed"


def test_unanswered_bind_after_a_refused_binding_fails() -> None:
    told(
        bound(code=409, status=0, json=False).verdict(ANSWERS), "failed", "call-failed", "bindVerb", "sp-tested/probe-1"
    )


def test_bind_error_after_a_successful_or_missing_binding_fails() -> None:
    told(bound().verdict(ANSWERS), "failed", "call-failed", "node-1")
    h = answered_case()
    h.call("bind", error="oops")
    told(h.verdict(ANSWERS), "failed", "call-failed")


def test_bind_error_for_a_deleted_pod_passes() -> None:
    h = answered_case()
    h.delete("probe-1")
    h.call("bind", error="no such pod")
    assert h.verdict(ANSWERS).outcome == "passed"


def test_bind_error_after_a_slow_binding_passes() -> None:
    h = answered_case()
    h.attempt("probe-1", "node-1", received=h.now - 3)
    h.call("bind", error="timed out", seconds=3.0)
    assert h.verdict(ANSWERS).outcome == "passed"


def test_bind_error_without_an_audit_log_passes() -> None:
    h = answered_case(capabilities=CAPABILITIES - {"audit"})
    h.call("bind", error="oops")
    assert h.verdict(ANSWERS).outcome == "passed"
