"""Which pods a scheduler tries to bind, and when: attempts count, whether or not the apiserver accepts them."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.history.acts import Aged, Emptied, Halted, Resumed
from schedproof.history.observations import Configured

from .histories import CONTROL_USER, HARNESS_USER, NODES, HistoryBuilder, told

PREBOUND, GATES, UID = "core/prebound-untouched", "core/scheduling-gates", "core/bind-uid"
NO_NODES, RESTART = "core/no-nodes", "core/restart"
DELETED = "core/deleted-while-pending"


# -- core/prebound-untouched


def prebound(*, fenced: str = "node-4") -> HistoryBuilder:
    h = HistoryBuilder(PREBOUND)
    for node in NODES[:2]:
        h.pod(f"prebound-{node}", role="prebound", node=node, cpu="100m")
    if fenced:
        h.fence(node=fenced)
    return h


def test_untouched_pods_created_with_a_node_pass() -> None:
    told(prebound().verdict(), "passed", "", "2")


@pytest.mark.parametrize("code", [201, 404, 409])
def test_binding_a_pod_created_with_a_node_fails_whatever_the_response(code: int) -> None:
    h = prebound()
    h.attempt("prebound-node-2", "node-2", code=code)
    told(h.verdict(), "failed", "prebound-pod-touched", "pods/binding", "prebound-node-2")


def test_other_writes_to_a_pod_created_with_a_node_fail() -> None:
    h = prebound()
    h.request("patch", "pods/status", "prebound-node-1")
    told(h.verdict(), "failed", "prebound-pod-touched", "pods/status", "prebound-node-1")


def test_label_patch_of_a_pod_created_with_a_node_passes_and_is_named() -> None:
    h = prebound()
    h.request("patch", "pods", "prebound-node-1", body={"metadata": {"labels": {"counted": "yes"}}})
    told(h.verdict(), "passed", "", "2", "patch pods", "prebound-node-1")


def test_reads_and_requests_of_another_scheduler_do_not_touch_the_pod() -> None:
    h = prebound()
    h.request("get", "pods", "prebound-node-1")
    h.attempt("prebound-node-1", "node-1", by=CONTROL_USER, code=409)
    assert h.verdict().outcome == "passed"


def test_candidate_that_binds_no_sentinel_is_invalid() -> None:
    h = prebound(fenced="")
    h.fence(node="")
    told(h.verdict(), "invalid", "not-decided-on", "sentinel-1")


def test_history_without_a_fence_or_without_a_pod_with_a_node_is_invalid() -> None:
    h = prebound(fenced="")
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    told(h.verdict(), "invalid", "not-decided-on")
    h = HistoryBuilder(PREBOUND)
    h.fence()
    told(h.verdict(), "invalid", "not-tried")


# -- core/scheduling-gates


def gated(*, lifted: bool = True, early: int = 0, bound: bool = True) -> HistoryBuilder:
    h = HistoryBuilder(GATES)
    h.pod("gated", schedulingGates=[{"name": "wait"}])
    if early:
        h.attempt("gated", "node-2", code=early)
    h.fence()
    if lifted:
        h.lift("gated")
        h.change("gated", schedulingGates=[])
        if bound:
            h.bind("gated", "node-1")
        h.expect("gated", "bound", deadline="requeue", within=30)
    return h


def test_pod_bound_after_its_gates_are_removed_passes() -> None:
    assert gated().verdict().outcome == "passed"


@pytest.mark.parametrize("code", [201, 400, 422])
def test_attempt_to_bind_a_gated_pod_fails_even_if_refused(code: int) -> None:
    told(gated(early=code).verdict(), "failed", "gated-pod-tried", "node-2", code)


@pytest.mark.parametrize(("reason", "outcome"), [("Unschedulable", "failed"), ("SchedulingGated", "passed")])
def test_gated_pod_must_not_be_reported_unschedulable(reason: str, outcome: str) -> None:
    h = HistoryBuilder(GATES)
    h.pod("gated", schedulingGates=[{"name": "wait"}])
    h.condition("gated", reason=reason)
    h.fence()
    h.lift("gated")
    h.change("gated", schedulingGates=[])
    h.bind("gated", "node-1")
    h.expect("gated", "bound", deadline="requeue", within=30)
    assert h.verdict().outcome == outcome


def test_attempt_fails_even_if_the_gates_are_never_removed() -> None:
    told(gated(early=400, lifted=False).verdict(), "failed", "gated-pod-tried", "400")


def test_attempt_of_another_scheduler_on_a_gated_pod_passes() -> None:
    h = gated(lifted=False)
    h.attempt("gated", "node-2", code=400, by=CONTROL_USER)
    h.lift("gated")
    h.change("gated", schedulingGates=[])
    h.bind("gated", "node-1")
    h.expect("gated", "bound")
    assert h.verdict().outcome == "passed"


def test_pod_not_bound_after_its_gates_are_removed_fails() -> None:
    told(gated(bound=False).verdict(), "failed", "not-bound-in-time", "gated", "30 s")


def test_gates_that_are_never_removed_are_invalid() -> None:
    told(gated(lifted=False).verdict(), "invalid", "not-tried")


# -- core/bind-uid


def recreated(*, code: int, held: bool = True, by: str = "", says_uid: bool = True, **spec: Any) -> HistoryBuilder:
    """Recreate a pod while a Binding of it is in progress; the new pod fits unless `spec` prevents that."""
    h = HistoryBuilder(UID)
    old, received = h.pod("twice"), h.now
    h.delete("twice")
    h.pod("twice", role="recreated", **spec)
    if not held:
        received = h.now
    extra = {"by": by} if by else {}
    h.attempt("twice", "node-1", code=code, uid=old if says_uid else "", received=received, **extra)
    return h


def new_pod_bound(h: HistoryBuilder) -> HistoryBuilder:
    h.bind("twice", "node-2")
    h.expect("twice", "bound")
    return h


def test_refused_binding_with_the_old_uid_and_a_new_decision_pass() -> None:
    told(new_pod_bound(recreated(code=409)).verdict(), "passed", "", "409")


def test_refused_binding_and_a_pending_new_pod_that_fits_nowhere_pass() -> None:
    h = recreated(code=409, cpu="100")
    h.fence()
    h.expect("twice", "pending")
    assert h.verdict().outcome == "passed"


def test_new_pod_placed_by_the_old_pods_binding_fails_even_where_it_fits() -> None:
    """The new pod would even fit there, but the decision was made for another pod."""
    h = recreated(code=201, says_uid=False)
    h.place("twice", "node-1")
    h.expect("twice", "bound")
    told(h.verdict(), "failed", "outdated-binding", "sp-tested/twice", "node-1")


def test_new_pod_that_is_not_bound_fails() -> None:
    h = recreated(code=409)
    h.expect("twice", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "twice")


@pytest.mark.parametrize("changes", [{"held": False}, {"by": CONTROL_USER}], ids=["after", "another user"])
def test_history_without_a_held_binding_of_the_candidate_is_invalid(changes: dict[str, Any]) -> None:
    h = new_pod_bound(recreated(code=409, **changes))
    told(h.verdict(), "invalid", "no-binding-held")


def test_binding_answered_before_the_pod_was_recreated_was_not_in_progress() -> None:
    h = HistoryBuilder(UID)
    h.pod("twice")
    h.attempt("twice", "node-1", code=500)
    h.delete("twice")
    h.pod("twice", role="recreated")
    told(new_pod_bound(h).verdict(), "invalid", "no-binding-held")


@pytest.mark.parametrize(
    ("bound", "finding"), [(True, ("invalid", "not-tried")), (False, ("failed", "not-bound-in-time"))]
)
def test_history_without_a_recreated_pod_is_invalid_unless_the_pod_is_unbound(bound: bool, finding: Any) -> None:
    h = HistoryBuilder(UID)
    h.pod("twice")
    if bound:
        h.bind("twice", "node-1")
    h.expect("twice", "bound")
    told(h.verdict(), *finding)


# -- core/no-nodes


def emptied(*, noted: bool = True, bound: str = "node-2") -> HistoryBuilder:
    h = HistoryBuilder(NO_NODES)
    if noted:
        h.add(Emptied(case=NO_NODES))
    for node in NODES:
        h.remove_node(node)
    h.seen()
    h.pod("early")
    h.node("node-2")
    if bound:
        h.bind("early", bound)
    h.expect("early", "bound", deadline="requeue", within=30)
    return h


def test_pod_bound_when_the_first_node_joins_passes() -> None:
    assert emptied().verdict().outcome == "passed"


def test_pod_still_pending_after_the_first_node_joins_fails() -> None:
    told(emptied(bound="").verdict(), "failed", "not-bound-in-time", "early", "30 s", "node-2")


def test_pod_bound_to_a_deleted_node_fails() -> None:
    told(emptied(bound="node-1").verdict(), "failed", "infeasible-node", "node-1")


def test_history_without_removed_nodes_is_invalid_unless_a_pod_is_unbound() -> None:
    told(emptied(noted=False).verdict(), "invalid", "not-tried")
    told(emptied(noted=False, bound="").verdict(), "failed", "not-bound-in-time", "early")


# -- core/restart


def restarted(*, back: bool = True, before: bool = True, after: str = "node-2") -> HistoryBuilder:
    h = HistoryBuilder(RESTART)
    if before:
        h.pod("before")
        h.bind("before", "node-1")
        h.expect("before", "bound")
    h.add(Halted(case=RESTART))
    h.process("scheduler-tested", "stopped")
    h.pod("meanwhile")
    if back:
        h.process("scheduler-tested", "started")
        h.add(Resumed(case=RESTART))
    if after:
        h.bind("meanwhile", after)
    h.expect("meanwhile", "bound")
    return h


def test_scheduler_that_continues_after_a_restart_passes() -> None:
    told(restarted().verdict(), "passed", "", "2")


@pytest.mark.parametrize("code", [201, 409])
def test_second_binding_of_a_pod_bound_before_the_restart_fails(code: int) -> None:
    h = restarted()
    h.attempt("before", "node-3", code=code)
    told(
        h.verdict(), "failed",
        "second-binding", "before", "node-1", "node-3", code,
    )  # fmt: skip


def test_second_attempt_before_the_restart_does_not_count() -> None:
    h = HistoryBuilder(RESTART)
    h.pod("before")
    h.bind("before", "node-1")
    h.attempt("before", "node-3", code=409)
    h.expect("before", "bound")
    h.add(Halted(case=RESTART))
    h.pod("meanwhile")
    h.add(Resumed(case=RESTART))
    h.bind("meanwhile", "node-2")
    h.expect("meanwhile", "bound")
    assert h.verdict().outcome == "passed"


def test_pod_created_during_the_restart_must_be_bound() -> None:
    told(restarted(after="").verdict(), "failed", "not-bound-in-time", "meanwhile")


def test_history_without_a_restart_is_invalid_unless_a_pod_is_unbound() -> None:
    told(restarted(back=False).verdict(), "invalid", "not-tried")
    told(restarted(back=False, after="").verdict(), "failed", "not-bound-in-time", "meanwhile")


def test_restart_with_nothing_bound_before_it_is_invalid() -> None:
    told(restarted(before=False).verdict(), "invalid", "not-tried")


def test_restart_with_nothing_expected_after_it_is_invalid() -> None:
    h = HistoryBuilder(RESTART)
    h.pod("before")
    h.bind("before", "node-1")
    h.expect("before", "bound")
    h.add(Halted(case=RESTART))
    h.add(Resumed(case=RESTART))
    told(h.verdict(), "invalid", "not-tried")


# -- core/requeue-bind-refused, core/no-head-of-line, core/failing-binding-isolated


REFUSED, HEAD, ISOLATED = "core/requeue-bind-refused", "core/no-head-of-line", "core/failing-binding-isolated"


@pytest.mark.parametrize("resource", ["pods/binding", "bindings"])
def test_pod_bound_after_its_binding_was_refused_passes(resource: str) -> None:
    h = HistoryBuilder(REFUSED)
    h.pod("erring-1", role="erring")
    h.attempt("erring-1", "node-1", code=422, resource=resource)
    h.bind("erring-1", "node-2")
    h.expect("erring-1", "bound")
    told(h.verdict(), "passed", "", "1")


@pytest.mark.parametrize(("longest", "code"), [(30, ""), (31, "backs-off-too-long")])
def test_configured_backoff_longer_than_the_claimed_requeue_time_fails(longest: int, code: str) -> None:
    h = HistoryBuilder(REFUSED)
    h.add(Configured(document={"podMaxBackoffSeconds": longest}))
    h.pod("erring-1", role="erring")
    h.attempt("erring-1", "node-1", code=500)
    h.bind("erring-1", "node-2")
    h.expect("erring-1", "bound")
    told(h.verdict(), "failed" if code else "passed", code)


def test_pod_not_retried_after_a_refused_binding_fails() -> None:
    h = HistoryBuilder(REFUSED)
    h.pod("erring-1", role="erring")
    h.attempt("erring-1", "node-1", code=422)
    h.expect("erring-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "erring-1")


@pytest.mark.parametrize(("bound", "outcome"), [(True, "passed"), (False, "failed")])
def test_deleted_pod_whose_binding_is_refused_must_not_delay_other_pods(bound: bool, outcome: str) -> None:
    h = HistoryBuilder(ISOLATED)
    h.pod("erring-1", role="erring")
    h.attempt("erring-1", "node-1", code=422)
    h.pod("behind-1")
    h.delete("erring-1")
    if bound:
        h.bind("behind-1", "node-2")
    h.expect("behind-1", "bound")
    assert h.verdict().outcome == outcome


@pytest.mark.parametrize("case", [REFUSED, HEAD, ISOLATED])
def test_history_without_a_refused_binding_is_invalid(case: str) -> None:
    h = HistoryBuilder(case)
    h.pod("erring-1", role="erring")
    h.attempt("erring-1", "node-2", by=CONTROL_USER, code=409)
    h.bind("erring-1", "node-1")
    h.expect("erring-1", "bound")
    told(h.verdict(), "invalid", "no-binding-refused")


# -- core/conflict-forgiven

FORGIVEN = "core/conflict-forgiven"
ANSWERS = {"timed-out-1": 504, "conflict-1": 409, "too-busy-1": 429, "internal-error-1": 500, "unavailable-1": 503}


def forgiven(*, forgets: str = "", repeats: bool = False, without: int = 0, held: bool = True) -> HistoryBuilder:
    """Answer each pod's first Binding with an error; then every pod is bound, except the pod `forgets`."""
    h = HistoryBuilder(FORGIVEN)
    for call, (pod, code) in enumerate(ANSWERS.items()):
        if code == without:
            continue
        h.pod(pod, role="erring")
        h.admission(pod, str(call), code=code, effective=code == 504)
        h.attempt(pod, "node-1", code=code, call=str(call))
        if code == 504:
            h.place(pod, "node-1")
            if repeats:
                h.attempt(pod, "node-1", code=409)
        elif pod != forgets:
            h.bind(pod, "node-2")
        h.expect(pod, "bound", deadline="requeue", within=30)
    h.pod("stateful-1")
    h.delete("stateful-1")
    h.pod("stateful-1", role="recreated")
    h.admission("stateful-1", "9", held=held)
    h.attempt("stateful-1", "node-1", code=409, call="9")
    if forgets != "stateful-1":
        h.bind("stateful-1", "node-2")
    h.expect("stateful-1", "bound", deadline="requeue", within=30)
    return h


def test_pods_bound_after_an_error_pass() -> None:
    told(forgiven().verdict(), "passed")
    assert forgiven().verdict("core/all-accounted").outcome == "passed"


@pytest.mark.parametrize("pod", ["conflict-1", "internal-error-1", "unavailable-1", "stateful-1"])
def test_pod_not_retried_after_an_error_fails(pod: str) -> None:
    told(forgiven(forgets=pod).verdict(), "failed", "not-bound-in-time", pod)


def test_repeated_binding_that_had_taken_effect_fails() -> None:
    told(forgiven(repeats=True).verdict(), "failed", "second-binding", "timed-out-1", "node-1")


@pytest.mark.parametrize("code", [409, 429, 500, 503, 504])
def test_history_without_one_of_the_error_codes_is_invalid(code: int) -> None:
    told(forgiven(without=code).verdict(), "invalid", "no-binding-refused", code)


def test_pod_recreated_while_no_binding_was_held_is_invalid() -> None:
    told(forgiven(held=False).verdict(), "invalid", "no-binding-held")


# -- core/deleted-while-pending

LATE = {"late": "yes"}


def deleted(
    *attempts: str, after: float = 2.5, stays: bool = True, aged: bool = False, **kept: float
) -> HistoryBuilder:
    """Delete three pods that fit nowhere (two linger); after `after` seconds there is room, and pods are tried.

    `aged`: whether the measured wait was long enough.
    """
    h = HistoryBuilder(DELETED)
    for name in ("gone", "lingers-1", "lingers-2"):
        h.pod(name, role="deleted", nodeSelector=LATE)
    h.pod("stays", nodeSelector=LATE)
    h.fence("sentinel-1")
    for name in ("gone", "lingers-1", "lingers-2", "stays"):
        h.expect(name, "pending")
    h.terminate("lingers-1")
    h.terminate("lingers-2")
    h.delete("gone")
    rv = h.rv
    h.wait(after, **kept)
    if aged:
        h.add(Aged(case=DELETED, node="", rv=rv, seconds=2.0, kept=kept))
    h.node("node-1", labels=LATE)
    for name in attempts:
        h.attempt(name, "node-1", code=404 if name == "gone" else 409)
    if stays:
        h.bind("stays", "node-1")
    h.expect("stays", "bound", deadline="requeue")
    return h


def test_deleted_pods_that_are_not_retried_pass() -> None:
    told(deleted().verdict(), "passed", "", "3", "2")


@pytest.mark.parametrize("tried", [("lingers-1", "lingers-2"), ("gone", "lingers-1"), ("gone", "gone")])
def test_attempts_long_after_the_deletion_fail(tried: tuple[str, ...]) -> None:
    told(deleted(*tried).verdict(), "failed", "deleted-pod-tried", f"sp-tested/{tried[0]}", "node-1")


def test_single_late_attempt_after_a_deletion_is_tolerated() -> None:
    assert deleted("lingers-1").verdict().outcome == "passed"


def test_attempts_within_the_claimed_freshness_are_not_late() -> None:
    assert deleted("lingers-1", "lingers-2", after=0.5).verdict().outcome == "passed"


def test_time_without_a_processor_does_not_count_after_a_deletion() -> None:
    tried = ("lingers-1", "lingers-2")
    assert deleted(*tried, after=2.5, candidate=0.5, etcd=0.5).verdict().outcome == "passed"
    told(deleted(*tried, after=4, candidate=0.5, etcd=0.5).verdict(), "failed", "deleted-pod-tried")
    told(deleted(*tried, after=7, candidate=4, etcd=2).verdict(), "invalid", "machine-too-busy", "candidate 4.0 s")
    assert deleted("lingers-1", after=7, candidate=6).verdict().outcome == "passed", "one is allowed"


def test_attempts_after_a_wait_measured_as_long_enough_are_late() -> None:
    tried = ("lingers-1", "lingers-2")
    told(deleted(*tried, after=2.1, aged=True, candidate=0.1, etcd=0.3).verdict(), "failed", "deleted-pod-tried")
    assert deleted(*tried, after=2.1, candidate=0.1, etcd=0.3).verdict().outcome == "passed"
    told(deleted(*tried, after=7, aged=True, candidate=4, etcd=2).verdict(), "invalid", "machine-too-busy")


def test_pods_that_were_not_deleted_must_still_be_scheduled() -> None:
    told(deleted(stays=False).verdict(), "failed", "not-bound-in-time", "stays")


def test_history_without_a_deleted_pod_is_invalid() -> None:
    h = HistoryBuilder(DELETED)
    h.pod("stays")
    h.bind("stays", "node-1")
    h.expect("stays", "bound")
    told(h.verdict(), "invalid", "not-tried")


# -- controller/conflict


def raced(*, code: int = 409, again: float = -1.0, after: str = "node-1", **kept: float) -> HistoryBuilder:
    """Another scheduler binds a pod to node-2 while the candidate's Binding to node-1 is in progress."""
    h = HistoryBuilder("controller/conflict")
    h.pod("raced-1", role="raced", cpu="5")
    h.attempt("raced-1", "node-2", by=HARNESS_USER)
    h.place("raced-1", "node-2")
    if code:
        h.attempt("raced-1", "node-1", code=code)
    h.pod("after-1", cpu="5", nodeSelector={"kubernetes.io/hostname": "node-1"})
    if after:
        h.bind("after-1", after)
    h.expect("after-1", "bound", deadline="requeue")
    if again >= 0:
        h.wait(again, **kept)
        h.attempt("raced-1", "node-1", code=409)
    return h


def test_binding_that_lost_a_race_and_is_dropped_passes() -> None:
    told(raced().verdict(), "passed")


def test_pod_bound_by_another_scheduler_is_accounted_for() -> None:
    assert raced().verdict("core/all-accounted").outcome == "passed"


def test_second_attempt_before_the_watch_can_have_shown_the_binding_passes() -> None:
    assert raced(again=1).verdict().outcome == "passed"


def test_late_second_attempt_fails() -> None:
    told(raced(again=5).verdict(), "failed", "second-binding")


def test_time_without_a_processor_does_not_count_after_a_lost_race() -> None:
    assert raced(again=5, candidate=3.5).verdict().outcome == "passed"
    told(raced(again=9, candidate=3.5).verdict(), "failed", "second-binding")
    told(raced(again=5, candidate=4.5).verdict(), "invalid", "machine-too-busy")


def test_resources_still_reserved_for_a_pod_bound_elsewhere_fail() -> None:
    told(raced(after="").verdict(), "failed", "not-bound-in-time", "after-1")


def test_history_without_a_lost_race_is_invalid() -> None:
    told(raced(code=0).verdict(), "invalid", "no-binding-refused")
