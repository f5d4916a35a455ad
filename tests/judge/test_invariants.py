"""Clauses over a whole run: the candidate stays alive, touches only its own pods, and accounts for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.history.observations import StartFailed

from .histories import CANDIDATE_USER, CONTROL_USER, HARNESS_USER, HistoryBuilder, told

ALIVE, OWN, ACCOUNTED = "core/alive", "core/own-pods-only", "core/all-accounted"


def run() -> HistoryBuilder:
    """A correct run: one pod is bound, one is reported unschedulable, and one is deleted before it is scheduled."""
    h = HistoryBuilder("core/fit-cpu")
    h.pod("bound-1", cpu="1")
    h.bind("bound-1", "node-1")
    h.pod("pending-1", cpu="100")
    h.request("patch", "pods/status", "pending-1", body={"status": {}})
    h.condition("pending-1", reason="Unschedulable")
    h.pod("deleted-1", cpu="1")
    h.delete("deleted-1")
    return h


@pytest.mark.parametrize(
    ("clause", "facts"),
    [(ALIVE, ("1",)), (OWN, ("1",)), (ACCOUNTED, ("3", "1"))],
)
def test_correct_run_passes(clause: str, facts: tuple[str, ...]) -> None:
    told(run().verdict(clause), "passed", "", *facts)


# -- core/alive


@pytest.mark.parametrize(
    ("code", "how"), [(1, "exit code 1"), (0, "exit code 0"), (-9, "signal 9"), (None, "an unknown code")]
)
def test_process_that_exits_fails_whatever_its_exit_code(code: int | None, how: str) -> None:
    h = run()
    h.process("candidate tested", "exited", code=code, log=["panic: no nodes"])
    verdict = h.verdict(ALIVE)
    told(verdict, "failed", "process-exited", "candidate tested", how)
    assert verdict.evidence.logs == {"candidate tested": ["panic: no nodes"]}


@pytest.mark.parametrize(("times", "ending"), [(1, "s into the run"), (2, "(and 1 more times)")])
def test_restarted_process_fails(times: int, ending: str) -> None:
    h = run()
    for _ in range(times):
        h.process("candidate tested", "exited", code=2, log=[])
        h.process("candidate tested", "started")
    verdict = h.verdict(ALIVE)
    assert verdict.outcome == "failed"
    assert verdict.summary.endswith(ending)


def test_candidate_without_an_observed_process_is_invalid() -> None:
    verdict = HistoryBuilder(started=False).verdict(ALIVE)
    assert verdict.outcome == "invalid"


# -- core/own-pods-only


@pytest.mark.parametrize(
    ("verb", "resource", "name"),
    [
        ("create", "pods/binding", "bystander"),
        ("create", "bindings", "bystander"),
        ("patch", "pods/status", "bystander"),
        ("update", "pods", "bystander"),
        ("delete", "pods", "bystander"),
        ("create", "pods/eviction", "bystander"),
    ],
)
@pytest.mark.parametrize("code", [200, 403, 409])
def test_write_to_a_pod_of_another_scheduler_fails_even_if_refused(
    verb: str, resource: str, name: str, code: int
) -> None:
    h = run()
    h.request(verb, resource, name, code=code)
    verdict = h.verdict(OWN)
    told(verdict, "failed", "foreign-pod", f"{verb} {resource} sp-tested/{name}", code)


def test_successful_write_to_an_unknown_pod_fails() -> None:
    h = run()
    h.request("delete", "pods", "came-and-went")
    told(h.verdict(OWN), "failed", "foreign-pod", "delete pods sp-tested/came-and-went")


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda h: h.request("get", "pods", "bystander"), "reading"),
        (lambda h: h.request("list", "pods", ""), "listing"),
        (lambda h: h.request("watch", "pods", ""), "watching"),
        (lambda h: h.request("create", "events", "bystander.1"), "an event"),
        (lambda h: h.request("patch", "nodes/status", "node-1"), "a node"),
        (lambda h: h.request("delete", "pods", "pending-1"), "the candidate's pod"),
        (lambda h: h.request("delete", "pods", "deleted-1", code=404), "a deleted pod of the candidate"),
        (lambda h: h.request("delete", "pods", "bystander", by=HARNESS_USER), "a request of another user"),
        (lambda h: h.request("create", "bindings", "", code=403), "a refused request that names no pod"),
        (lambda h: h.request("deletecollection", "pods", "", code=403), "a refused deletion of whatever there is"),
        (lambda h: h.request("create", "pods", "", code=403), "a pod that was not created"),
        (lambda h: h.request("create", "pods/binding", "no-such-pod", code=404), "a pod that does not exist"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_request_that_does_not_touch_a_foreign_pod_passes(act: Callable[[HistoryBuilder], None], what: str) -> None:
    h = run()
    act(h)
    assert h.verdict(OWN).outcome == "passed"


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"metadata": {"labels": {"a": "b"}}}, "passed"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {"a": None}}}, "passed"),
        ([{"op": "add", "path": "/metadata/labels/a", "value": "b"}], "passed"),
        ({"metadata": {"labels": {"a": "b"}}, "spec": {"schedulingGates": None}}, "failed"),
        ([{"op": "add", "path": "/metadata/labels/a", "value": "b"}, {"op": "remove", "path": "/spec/x"}], "failed"),
        (None, "failed"),
    ],
)
def test_patch_of_foreign_metadata_is_reported_and_any_other_patch_fails(body: Any, outcome: str) -> None:
    h = run()
    h.request("patch", "pods", "bystander", body=body)
    verdict = h.verdict(OWN)
    assert verdict.outcome == outcome
    assert "patch pods sp-tested/bystander" in verdict.summary


def test_history_without_a_bystander_is_invalid() -> None:
    h = HistoryBuilder(bystander=False)
    h.pod("probe-1")
    assert h.verdict(OWN).outcome == "invalid"


# -- core/all-accounted


def bound_twice(h: HistoryBuilder) -> None:
    h.attempt("bound-1", "node-2", code=409)


def attempted_twice_more_after_a_refusal_and_a_binding(h: HistoryBuilder) -> None:
    h.pod("often-1")
    h.attempt("often-1", "node-1", code=500)
    h.bind("often-1", "node-1")
    h.attempt("often-1", "node-2", code=409)
    h.attempt("often-1", "node-3", code=409)


def bound_again_to_the_same_node(h: HistoryBuilder) -> None:
    h.attempt("bound-1", "node-1", code=409)


def bound_again_without_a_uid(h: HistoryBuilder) -> None:
    h.attempt("bound-1", "node-2", code=409, uid="")


def bound_again_without_a_body(h: HistoryBuilder) -> None:
    h.request("create", "pods/binding", "bound-1", code=409)


def bound_again_by_the_older_resource(h: HistoryBuilder) -> None:
    h.attempt("bound-1", "node-2", code=409, resource="bindings")


def bound_again_after_it_was_re_created(h: HistoryBuilder) -> None:
    created(h, "again-1")
    h.delete("again-1")
    created(h, "again-1")
    h.attempt("again-1", "node-1", uid="")
    h.place("again-1", "node-1")
    h.attempt("again-1", "node-2", uid="", code=409)


def on_a_node_without_a_binding(h: HistoryBuilder) -> None:
    h.pod("spirited-1")
    h.place("spirited-1", "node-1")


def bound_by_another_scheduler(h: HistoryBuilder) -> None:
    h.pod("stolen-1")
    h.bind("stolen-1", "node-1", by=CONTROL_USER)


def pending_without_a_condition(h: HistoryBuilder) -> None:
    h.pod("forgotten-1")


def pending_with_a_reason_of_another_kind(h: HistoryBuilder) -> None:
    h.pod("forgotten-1")
    h.condition("forgotten-1", reason="Evicted")
    h.records[-1]["object"]["status"]["conditions"][0]["type"] = "DisruptionTarget"


def pending_without_a_reason(h: HistoryBuilder) -> None:
    h.pod("forgotten-1")
    h.condition("forgotten-1", reason="")


def bound_again_by_a_second_worker_long_after(h: HistoryBuilder) -> None:
    lost_races(h)
    h.pod("late-1")
    h.bind("late-1", "node-1")
    h.wait(2.1)
    h.attempt("late-1", "node-2", code=409)


def bound_again_while_the_first_attempt_was_held(h: HistoryBuilder) -> None:
    """Two concurrent attempts, because the harness held one: that does not show two workers."""
    h.pod("held-1")
    began = h.now
    h.attempt("held-1", "node-1", code=409, call="1")
    h.attempt("held-1", "node-1", code=409, received=began, call="2")
    h.admission("held-1", "1", held=True)
    h.attempt("bound-1", "node-2", code=409)


def repeated_after_its_answer_was_lost(h: HistoryBuilder) -> None:
    h.pod("lost-1")
    h.admission("lost-1", "3", code=504, effective=True)
    h.attempt("lost-1", "node-1", code=504, call="3")
    h.place("lost-1", "node-1")
    h.attempt("lost-1", "node-1", code=409)


def evicted_for_no_other_pod(h: HistoryBuilder) -> None:
    h.request("create", "pods/eviction", "bound-1", code=201, body={"metadata": {"name": "bound-1"}})


def deleted_because_it_waited(h: HistoryBuilder) -> None:
    h.pod("waits-1")
    h.condition("waits-1")
    h.request("delete", "pods", "waits-1")
    h.delete("waits-1")


def not_retried_after_a_long_wait(h: HistoryBuilder) -> None:
    """A pod of no case, created at the start; at the end of the run a node has its label."""
    h.pod("patient-1", role="patient", nodeSelector={"patient": "yes"})
    h.condition("patient-1", reason="Unschedulable")
    h.node("node-late", labels={"patient": "yes"})
    h.expect("patient-1", "bound", deadline="requeue", within=30)


DEFECTS = {
    bound_again_by_a_second_worker_long_after: ("second-binding", "late-1", "node-1", "node-2"),
    bound_again_while_the_first_attempt_was_held: ("second-binding", "bound-1", "node-1", "node-2"),
    repeated_after_its_answer_was_lost: ("second-binding", "lost-1", "node-1", "node-1"),
    bound_twice: ("second-binding", "bound-1", "node-1", "node-2"),
    attempted_twice_more_after_a_refusal_and_a_binding: ("second-binding", "often-1", "node-1", "node-2"),
    bound_again_to_the_same_node: ("second-binding", "bound-1", "node-1", "node-1"),
    bound_again_without_a_uid: ("second-binding", "bound-1", "node-1"),
    bound_again_without_a_body: ("second-binding", "bound-1", "node-1"),
    bound_again_by_the_older_resource: ("second-binding", "bound-1", "node-1"),
    bound_again_after_it_was_re_created: ("second-binding", "again-1", "node-1", "node-2"),
    on_a_node_without_a_binding: ("bound-without-binding", "spirited-1", "node-1"),
    bound_by_another_scheduler: ("bound-without-binding", "stolen-1", "node-1"),
    pending_without_a_condition: ("pending-without-reason", "forgotten-1"),
    pending_with_a_reason_of_another_kind: ("pending-without-reason", "forgotten-1"),
    pending_without_a_reason: ("pending-without-reason", "forgotten-1"),
    evicted_for_no_other_pod: ("pod-removed", "pods/eviction", "sp-tested/bound-1"),
    not_retried_after_a_long_wait: ("not-bound-in-time", "patient-1", "node-late"),
    deleted_because_it_waited: ("pod-removed", "delete", "sp-tested/waits-1"),
}


@pytest.mark.parametrize(("defect", "finding"), DEFECTS.items(), ids=[defect.__name__ for defect in DEFECTS])
def test_pod_that_is_not_accounted_for_fails(
    defect: Callable[[HistoryBuilder], None], finding: tuple[str, ...]
) -> None:
    h = run()
    defect(h)
    told(h.verdict(ACCOUNTED), "failed", *finding)


def test_pods_of_a_candidate_that_does_not_start_are_not_judged() -> None:
    h = HistoryBuilder()
    h.pod("forgotten-1")
    assert h.verdict(ACCOUNTED).outcome == "failed"
    h.add(StartFailed(text="it ended with code 1", fix=""))
    assert h.verdict(ACCOUNTED).outcome == "invalid"


def refused_first(h: HistoryBuilder) -> None:
    h.pod("patient-1")
    h.attempt("patient-1", "node-1", code=409)
    h.attempt("patient-1", "node-2", code=500)
    h.bind("patient-1", "node-1")


def gated(h: HistoryBuilder) -> None:
    h.pod("gated-1")
    h.condition("gated-1", reason="SchedulingGated")


def bound_and_gone(h: HistoryBuilder) -> None:
    h.delete("bound-1")


def re_created(h: HistoryBuilder) -> None:
    h.delete("bound-1")
    h.pod("bound-1")
    h.bind("bound-1", "node-2")


def created_on_its_node(h: HistoryBuilder) -> None:
    h.pod("prebound-1", node="node-1")
    h.condition("prebound-1", status="True", reason="Bound")


def touched_after_it_was_bound(h: HistoryBuilder) -> None:
    h.request("patch", "pods/status", "bound-1", body={"status": {}})
    h.request("get", "pods/binding", "bound-1", code=405)


def attempted_by_another_scheduler(h: HistoryBuilder) -> None:
    h.attempt("bound-1", "node-2", code=409, by=CONTROL_USER)


def lost_races(h: HistoryBuilder) -> None:
    """Two workers try each pod: one attempt fails while the other succeeds, one a moment after that."""
    h.pod("race-1")
    began = h.now
    h.bind("race-1", "node-1")
    h.attempt("race-1", "node-2", code=409, received=began)
    h.pod("race-2")
    h.bind("race-2", "node-1")
    h.attempt("race-2", "node-2", code=409)


def tried_by_a_dry_run(h: HistoryBuilder) -> None:
    h.pod("tried-1")
    h.attempt("tried-1", "node-1", dry_run=True)
    h.bind("tried-1", "node-1")
    h.attempt("tried-1", "node-2", code=409, dry_run=True)


def bound_by_the_older_resource(h: HistoryBuilder) -> None:
    h.pod("legacy-1")
    h.attempt("legacy-1", "node-1", resource="bindings")
    h.place("legacy-1", "node-1")


def created(h: HistoryBuilder, pod: str) -> None:
    h.pod(pod)
    h.request("create", "pods", pod, by=HARNESS_USER, uid=h.uid(pod))


def re_created_and_bound_without_a_uid(h: HistoryBuilder) -> None:
    for node in ("node-1", "node-2"):
        created(h, "again-1")
        h.attempt("again-1", node, uid="")
        h.place("again-1", node)
        h.delete("again-1")


def bound_by_the_older_resource_in_the_place_of_another(h: HistoryBuilder) -> None:
    """The apiserver ignores the uid: the Binding places the new pod of that name."""
    created(h, "again-1")
    old = h.uid("again-1")
    h.delete("again-1")
    created(h, "again-1")
    h.attempt("again-1", "node-1", resource="bindings", uid=old)
    h.place("again-1", "node-1")


def bound_by_a_binding_that_was_in_flight_when_it_was_re_created(h: HistoryBuilder) -> None:
    """The Binding meant the earlier pod, and places the later; the later one's own Binding is then refused."""
    created(h, "again-1")
    posted = h.now
    h.delete("again-1")
    created(h, "again-1")
    h.attempt("again-1", "node-1", uid="", received=posted)
    h.place("again-1", "node-1")
    h.attempt("again-1", "node-2", uid="", code=409)


def bound_by_a_binding_whose_response_was_lost(h: HistoryBuilder) -> None:
    h.pod("lost-1")
    h.admission("lost-1", "3", code=504, effective=True)
    h.attempt("lost-1", "node-1", code=504, call="3")
    h.place("lost-1", "node-1")


@pytest.mark.parametrize(
    "act",
    [
        lost_races,
        tried_by_a_dry_run,
        bound_by_the_older_resource,
        re_created_and_bound_without_a_uid,
        bound_by_the_older_resource_in_the_place_of_another,
        bound_by_a_binding_that_was_in_flight_when_it_was_re_created,
        bound_by_a_binding_whose_response_was_lost,
        refused_first,
        gated,
        bound_and_gone,
        re_created,
        created_on_its_node,
        touched_after_it_was_bound,
        attempted_by_another_scheduler,
    ],
    ids=lambda act: act.__name__,
)
def test_pod_that_is_accounted_for_passes(act: Callable[[HistoryBuilder], None]) -> None:
    h = run()
    act(h)
    verdict = h.verdict(ACCOUNTED)
    assert verdict.outcome == "passed"


def test_binding_with_the_uid_of_a_deleted_bound_pod_is_a_second_attempt() -> None:
    """A Binding with the old pod's uid after that pod was bound is a second attempt, whichever pod has the name now."""
    h = run()
    old = h.uid("bound-1")
    h.delete("bound-1")
    h.pod("bound-1")
    h.condition("bound-1", reason="Unschedulable")
    body = {"metadata": {"name": "bound-1", "uid": old}, "target": {"name": "node-2"}}
    h.request("create", "pods/binding", "bound-1", by=CANDIDATE_USER, code=409, body=body)
    assert h.verdict(ACCOUNTED).outcome == "failed"


def test_dry_run_binding_does_not_count() -> None:
    h = run()
    h.pod("dry-1")
    h.attempt("dry-1", "node-1", dry_run=True)
    h.place("dry-1", "node-1")
    verdict = h.verdict(ACCOUNTED)
    told(verdict, "failed", "bound-without-binding", "dry-1", "node-1")


def test_history_without_pods_of_the_candidate_is_invalid() -> None:
    assert HistoryBuilder().verdict(ACCOUNTED).outcome == "invalid"


@pytest.mark.parametrize(("seconds", "outcome"), [(0.1, "passed"), (10, "failed")])
def test_binding_may_be_repeated_right_after_the_harness_cut_the_connection(seconds: float, outcome: str) -> None:
    h = run()
    h.pod("cut-1")
    h.bind("cut-1", "node-1")
    h.wait(seconds)
    h.fault("cut", line="apiserver")
    h.fault("", line="apiserver")
    h.attempt("cut-1", "node-2", code=409)
    assert h.verdict(ACCOUNTED).outcome == outcome
