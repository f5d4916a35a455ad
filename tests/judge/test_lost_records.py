"""What one channel of the record has lost is taken from another, or leaves the clause unproved."""

from __future__ import annotations

import pytest

from schedproof.history.acts import StatusRefused
from schedproof.history.observations import AuditErrors

from .histories import CANDIDATE_USER, NAMESPACE, HistoryBuilder, told

OWN, ACCOUNTED, PATCH, REFUSED = (
    "core/own-pods-only", "core/all-accounted", "controller/no-spec-patch", "core/condition-refused",
)  # fmt: skip


def run(case: str = "core/fit-cpu") -> HistoryBuilder:
    h = HistoryBuilder(case)
    h.pod("bound-1", cpu="1")
    h.bind("bound-1", "node-1")
    return h


# -- the audit log


@pytest.mark.parametrize("clause", [OWN, ACCOUNTED, PATCH])
def test_events_that_the_apiserver_could_not_write_leave_a_clause_over_the_run_unproved(clause: str) -> None:
    h = run()
    h.add(AuditErrors(events=0))
    told(h.verdict(clause), "passed")
    h.add(AuditErrors(events=2))
    told(h.verdict(clause), "invalid", "record-incomplete", "2")


def test_lost_ends_of_requests_whose_begin_is_on_record_are_no_gap() -> None:
    h = run()
    h.begun("pods/status", "bound-1")
    h.add(AuditErrors(events=1))
    told(h.verdict(OWN), "passed")
    h.add(AuditErrors(events=1))
    told(h.verdict(OWN), "invalid", "record-incomplete", "1")


def test_a_failure_is_not_hidden_by_lost_events() -> None:
    h = run()
    h.request("delete", "pods", "bystander")
    h.add(AuditErrors(events=2))
    told(h.verdict(OWN), "failed", "foreign-pod")


@pytest.mark.parametrize(("pod", "outcome"), [("bound-1", "passed"), ("waits-1", "invalid")])
def test_a_patch_of_a_waiting_pod_without_its_body_may_have_set_the_node(pod: str, outcome: str) -> None:
    h = run()
    h.pod("waits-1")
    h.begun("pods", pod)
    assert h.verdict(PATCH).outcome == outcome


def reported(*, refused: bool) -> HistoryBuilder:
    h = HistoryBuilder(REFUSED)
    h.node("node-1", cpu="1")
    uid = h.pod("waits-1", cpu="100")
    if refused:
        h.add(StatusRefused(case=REFUSED, pod=f"{NAMESPACE}/waits-1", user=CANDIDATE_USER))
    h.condition("waits-1", reason="Unschedulable")
    h.fence()
    h.expect("waits-1", "pending")
    assert uid
    return h


@pytest.mark.parametrize(("refused", "outcome"), [(True, "passed"), (False, "invalid")])
def test_a_refused_write_is_known_by_the_webhook_that_refused_it(refused: bool, outcome: str) -> None:
    assert reported(refused=refused).verdict().outcome == outcome


# -- the watch


def test_a_pod_that_is_bound_by_the_audit_log_alone_is_not_held_against_the_candidate() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("probe-1", cpu="1")
    h.attempt("probe-1", "node-1")
    h.pass_time(20)
    h.expect("probe-1", "bound")
    told(h.verdict(), "invalid", "record-incomplete", "probe-1", "node-1")
    told(h.verdict(ACCOUNTED), "invalid", "record-incomplete", "probe-1")


def test_a_binding_at_the_end_of_its_deadline_is_late() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("probe-1", cpu="1")
    h.pass_time(20)
    h.attempt("probe-1", "node-1")
    h.expect("probe-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")
