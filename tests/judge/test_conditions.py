"""How a scheduler reports its decisions: by its own Binding, by a condition, by an event."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import pytest

from .histories import CLAIMS, CONTROL, CONTROL_USER, HistoryBuilder, told

BINDS, UNSCHEDULABLE = "core/binds", "core/unschedulable-condition"

# -- core/binds


@pytest.mark.parametrize("resource", ["pods/binding", "bindings"])
def test_a_pod_bound_by_the_candidates_own_binding_passes(resource: str) -> None:
    h = HistoryBuilder(BINDS)
    h.pod("probe-1")
    h.attempt("probe-1", "node-2", code=409, resource=resource)
    h.attempt("probe-1", "node-1", resource=resource)
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "passed"


def test_binding_that_timed_out_may_have_taken_effect() -> None:
    h = HistoryBuilder(BINDS)
    h.pod("probe-1")
    h.attempt("probe-1", "node-1", code=504)
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("code", [0, 202, 307, 403, 404, 409, 500])
def test_a_pod_on_a_node_without_a_successful_binding_fails(code: int) -> None:
    h = HistoryBuilder(BINDS)
    h.pod("probe-1")
    h.attempt("probe-1", "node-1", code=code)
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "failed", "bound-without-binding", "probe-1", "node-1")


def test_pods_of_other_schedulers_need_no_binding_of_the_candidate() -> None:
    h = HistoryBuilder(BINDS)
    h.pod("filler-1", role="filler", scheduler="other", node="node-1", cpu="1")
    h.pod("control-1", role="control", scheduler=CONTROL)
    h.bind("control-1", "node-1", by=CONTROL_USER)
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "passed"


def test_one_pod_without_a_binding_among_others_fails() -> None:
    h = HistoryBuilder(BINDS)
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.pod("probe-2")
    h.place("probe-2", "node-1")
    for pod in ("probe-1", "probe-2"):
        h.expect(pod, "bound")
    verdict = h.verdict()
    told(verdict, "failed", "bound-without-binding", "probe-2", "node-1")


def test_history_without_a_pod_of_the_candidate_to_bind_is_invalid() -> None:
    h = HistoryBuilder(BINDS)
    h.pod("elsewhere", scheduler=CONTROL)
    h.bind("elsewhere", "node-1", by=CONTROL_USER)
    h.expect("elsewhere", "bound")
    verdict = h.verdict()
    told(verdict, "invalid", "not-tried")


def test_pod_bound_by_another_scheduler_fails() -> None:
    h = HistoryBuilder(BINDS)
    h.pod("probe-1")
    h.bind("probe-1", "node-1", by=CONTROL_USER)
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "failed"


def test_binding_of_an_earlier_pod_with_the_same_name_does_not_count() -> None:
    h = HistoryBuilder(BINDS)
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.delete("probe-1")
    h.pod("probe-1")
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "failed"


def test_a_pod_that_is_not_bound_fails() -> None:
    h = HistoryBuilder(BINDS)
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "failed", "not-bound-in-time", "20 s")


def test_history_without_pods_is_invalid() -> None:
    assert HistoryBuilder(BINDS).verdict().outcome == "invalid"


# -- core/unschedulable-condition


def too_large(
    *, status: str = "False", reason: str = "Unschedulable", message: str = "0/4 nodes", events: bool = False
) -> HistoryBuilder:
    """A pod that fits nowhere, and its condition; with `events`, of a candidate that claims events."""
    claims = dataclasses.replace(CLAIMS, features=("events",)) if events else CLAIMS
    h = HistoryBuilder(UNSCHEDULABLE, claims=claims)
    h.pod("too-large", cpu="1000")
    if status:
        h.condition("too-large", status=status, reason=reason, message=message)
    h.fence()
    h.expect("too-large", "pending")
    return h


@pytest.mark.parametrize("message", ["0/4 nodes are available: 4 Insufficient cpu.", "nowhere to go", ""])
def test_pending_pod_with_the_condition_passes_whatever_its_message(message: str) -> None:
    verdict = too_large(message=message).verdict()
    told(verdict, "passed", "", "1")


def test_the_condition_still_counts_after_the_pod_was_deleted() -> None:
    h = too_large()
    h.delete("too-large")
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize(
    ("status", "reason"),
    [("", ""), ("True", ""), ("False", ""), ("False", "SchedulerError"), ("Unknown", "Unschedulable")],
)
def test_pending_pod_without_the_unschedulable_condition_fails(status: str, reason: str) -> None:
    verdict = too_large(status=status, reason=reason).verdict()
    told(verdict, "failed", "pending-without-reason")


def test_other_conditions_beside_pod_scheduled_do_not_matter() -> None:
    h = HistoryBuilder(UNSCHEDULABLE)
    h.pod("too-large", cpu="1000")
    h.condition("too-large", reason="Unschedulable")
    h.records[-1]["object"]["status"]["conditions"].insert(0, {"type": "Initialized", "status": "True"})
    h.fence()
    h.expect("too-large", "pending")
    assert h.verdict().outcome == "passed"


def test_history_without_a_pod_to_leave_pending_is_invalid() -> None:
    h = HistoryBuilder(UNSCHEDULABLE)
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "invalid", "not-tried")


@pytest.mark.parametrize("names_uid", [True, False])
def test_claimed_event_with_a_message_passes(names_uid: bool) -> None:
    h = too_large(events=True)
    h.event("too-large", "whatever it says", names_uid=names_uid)
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("about", ["", "sentinel-1"])
def test_claimed_events_without_an_event_about_the_pod_fail(about: str) -> None:
    h = too_large(events=True)
    if about:
        h.event(about, "whatever it says")
        h.event(about, "whatever it says", names_uid=False)
    verdict = h.verdict()
    told(verdict, "failed", "pending-without-event")


@pytest.mark.parametrize("code", [403, 422])
def test_refused_event_is_in_the_summary(code: int) -> None:
    h = too_large(events=True)
    h.request("create", "events", "probe.1", code=code)
    for _ in range(2):
        h.request("create", "events", "probe.2", code=409)
        h.request("get", "leases", "mine", code=403)
    told(h.verdict(), "failed", "pending-without-event", str(code), "create events")


def test_refused_condition_is_in_the_summary() -> None:
    h = too_large(status="True", reason="")
    h.request("patch", "pods/status", "too-large", code=422)
    told(h.verdict(), "failed", "pending-without-reason", "422", "patch pods/status")


def test_claimed_event_without_a_message_fails() -> None:
    h = too_large(events=True)
    h.event("too-large", "")
    assert h.verdict().outcome == "failed"


def test_events_that_are_not_claimed_are_not_required() -> None:
    assert too_large(events=False).verdict().outcome == "passed"


def test_bound_pod_that_fits_nowhere_fails() -> None:
    h = HistoryBuilder(UNSCHEDULABLE)
    h.pod("too-large", cpu="1000")
    h.bind("too-large", "node-1")
    h.fence()
    h.expect("too-large", "pending")
    assert h.verdict().outcome == "failed"


def test_pending_pod_without_a_fence_is_invalid() -> None:
    h = HistoryBuilder(UNSCHEDULABLE)
    h.pod("too-large", cpu="1000")
    h.condition("too-large", reason="Unschedulable")
    h.expect("too-large", "pending")
    assert h.verdict().outcome == "invalid"


# -- core/condition-refused


def refused(*codes: int, written: bool = True, resource: str = "pods/status") -> HistoryBuilder:
    """Answer each write of the condition with one of `codes`; `written`: whether the pod has it in the end."""
    h = HistoryBuilder("core/condition-refused", claims=dataclasses.replace(CLAIMS, features=("events",)))
    h.pod("too-large", cpu="1000")
    for code in codes:
        h.request("patch", resource, "too-large", code=code)
    if written:
        h.condition("too-large", reason="Unschedulable")
    h.fence()
    h.expect("too-large", "pending")
    return h


def test_condition_written_again_after_an_error_passes() -> None:
    assert refused(500, 200).verdict().outcome == "passed"


def test_condition_not_written_again_fails() -> None:
    told(refused(500, written=False).verdict(), "failed", "pending-without-reason")


@pytest.mark.parametrize(("code", "resource"), [(200, "pods/status"), (409, "pods/status"), (500, "pods/binding")])
def test_history_without_a_failed_write_of_the_condition_is_invalid(code: int, resource: str) -> None:
    told(refused(code, resource=resource).verdict(), "invalid", "not-tried")


# -- core/foreign-conditions


FOREIGN = "core/foreign-conditions"
OTHERS = {"type": "example.com/ready", "status": "True", "reason": "WrittenByOthers"}
OWN = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def conditioned(*versions: Sequence[Mapping[str, str]]) -> HistoryBuilder:
    """A pod that fits nowhere, and successive versions of its conditions."""
    h = HistoryBuilder(FOREIGN)
    h.pod("gate-1", role="conditioned", nodeSelector={"no-such": "label"})
    for conditions in versions:
        h.conditions("gate-1", conditions)
    h.fence()
    h.expect("gate-1", "pending")
    return h


def test_foreign_conditions_kept_beside_pod_scheduled_pass() -> None:
    assert conditioned([OTHERS], [OTHERS, OWN]).verdict().outcome == "passed"


def test_pod_scheduled_that_replaces_foreign_conditions_fails() -> None:
    told(conditioned([OTHERS], [OWN]).verdict(), "failed", "condition-removed", "example.com/ready")


def test_loss_of_one_of_two_foreign_conditions_fails() -> None:
    second = {**OTHERS, "type": "example.com/quota"}
    told(conditioned([OTHERS, second], [second, OWN]).verdict(), "failed", "condition-removed", "example.com/ready")


def test_history_without_a_pod_scheduled_condition_is_invalid() -> None:
    told(conditioned([OTHERS]).verdict(), "invalid", "pending-without-reason")


def test_history_without_foreign_conditions_is_invalid() -> None:
    told(conditioned([OWN]).verdict(), "invalid", "not-tried")


def test_pod_bound_to_an_infeasible_node_fails_regardless_of_its_conditions() -> None:
    h = conditioned([OTHERS], [OTHERS, OWN])
    h.bind("gate-1", "node-1")
    told(h.verdict(), "failed", "infeasible-node")
