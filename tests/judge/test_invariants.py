"""What holds over a whole run: the candidate lives, touches its own pods only, and accounts for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.history.observations import StartFailed

from .histories import CANDIDATE_USER, CONTROL_USER, HARNESS_USER, HistoryBuilder, told

ALIVE, OWN, ACCOUNTED = "core/alive", "core/own-pods-only", "core/all-accounted"


def run() -> HistoryBuilder:
    """A run in which all is well: one pod bound, one refused with a reason, one deleted before its turn."""
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
def test_a_run_in_which_all_is_well_passes(clause: str, facts: tuple[str, ...]) -> None:
    told(run().verdict(clause), "passed", "", *facts)


# -- core/alive


@pytest.mark.parametrize(
    ("code", "how"), [(1, "exit code 1"), (0, "exit code 0"), (-9, "signal 9"), (None, "an unknown code")]
)
def test_a_process_that_ends_by_itself_fails_however_it_ends(code: int | None, how: str) -> None:
    h = run()
    h.process("candidate tested", "exited", code=code, log=["panic: no nodes"])
    verdict = h.verdict(ALIVE)
    told(verdict, "failed", "process-exited", "candidate tested", how)
    assert verdict.evidence["logs"] == {"candidate tested": ["panic: no nodes"]}


@pytest.mark.parametrize(("times", "ending"), [(1, "s into the run"), (2, "(and 1 more times)")])
def test_a_process_that_was_started_over_has_failed_all_the_same(times: int, ending: str) -> None:
    h = run()
    for _ in range(times):
        h.process("candidate tested", "exited", code=2, log=[])
        h.process("candidate tested", "started")
    verdict = h.verdict(ALIVE)
    assert verdict.outcome == "failed"
    assert verdict.summary.endswith(ending)


def test_a_candidate_of_which_no_process_was_seen_proves_nothing() -> None:
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
def test_any_write_on_anothers_pod_fails_even_a_refused_one(verb: str, resource: str, name: str, code: int) -> None:
    h = run()
    h.request(verb, resource, name, code=code)
    verdict = h.verdict(OWN)
    told(verdict, "failed", "foreign-pod", f"{verb} {resource} sp-tested/{name}", code)


@pytest.mark.parametrize(
    ("verb", "resource", "name"), [("deletecollection", "pods", ""), ("delete", "pods", "came-and-went")]
)
def test_a_write_that_was_carried_out_on_pods_that_are_not_its_own_fails(verb: str, resource: str, name: str) -> None:
    h = run()
    h.request(verb, resource, name)
    told(h.verdict(OWN), "failed", "foreign-pod", f"{verb} {resource} sp-tested/{name}".rstrip("/"))


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda h: h.request("get", "pods", "bystander"), "reading"),
        (lambda h: h.request("list", "pods", ""), "listing"),
        (lambda h: h.request("watch", "pods", ""), "watching"),
        (lambda h: h.request("create", "events", "bystander.1"), "an event"),
        (lambda h: h.request("patch", "nodes/status", "node-1"), "a node"),
        (lambda h: h.request("delete", "pods", "pending-1"), "an own pod"),
        (lambda h: h.request("delete", "pods", "deleted-1", code=404), "an own pod that is gone"),
        (lambda h: h.request("delete", "pods", "bystander", by=HARNESS_USER), "another's request"),
        (lambda h: h.request("create", "bindings", "", code=403), "a refused request that names no pod"),
        (lambda h: h.request("deletecollection", "pods", "", code=403), "a refused deletion of whatever there is"),
        (lambda h: h.request("create", "pods", "", code=403), "a pod that was not created"),
        (lambda h: h.request("create", "pods/binding", "no-such-pod", code=404), "a pod that does not exist"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_touch_anothers_pod_passes(act: Callable[[HistoryBuilder], None], what: str) -> None:
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
def test_a_patch_of_metadata_is_told_and_any_other_fails(body: Any, outcome: str) -> None:
    h = run()
    h.request("patch", "pods", "bystander", body=body)
    verdict = h.verdict(OWN)
    assert verdict.outcome == outcome
    assert "patch pods sp-tested/bystander" in verdict.summary


def test_without_a_bystander_there_was_nothing_to_leave_alone() -> None:
    h = HistoryBuilder(bystander=False)
    h.pod("probe-1")
    assert h.verdict(OWN).outcome == "invalid"


# -- core/all-accounted


def bound_twice(h: HistoryBuilder) -> None:
    h.attempt("bound-1", "node-2", code=409)


def bound_after_being_refused_and_tried_twice_more(h: HistoryBuilder) -> None:
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


def placed_without_a_binding(h: HistoryBuilder) -> None:
    h.pod("spirited-1")
    h.place("spirited-1", "node-1")


def bound_by_somebody_else(h: HistoryBuilder) -> None:
    h.pod("stolen-1")
    h.bind("stolen-1", "node-1", by=CONTROL_USER)


def pending_without_a_word(h: HistoryBuilder) -> None:
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


def bound_again_though_the_first_was_held_up(h: HistoryBuilder) -> None:
    """Two at the same time, because the harness held one: that is no sign of two workers."""
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


def given_up_while_it_waited(h: HistoryBuilder) -> None:
    """In no case, from the start; at the end of the run a node has its label."""
    h.pod("patient-1", role="patient", nodeSelector={"patient": "yes"})
    h.condition("patient-1", reason="Unschedulable")
    h.node("node-late", labels={"patient": "yes"})
    h.expect("patient-1", "bound", deadline="requeue", within=30)


DEFECTS = {
    bound_again_by_a_second_worker_long_after: ("second-binding", "late-1", "node-1", "node-2"),
    bound_again_though_the_first_was_held_up: ("second-binding", "bound-1", "node-1", "node-2"),
    repeated_after_its_answer_was_lost: ("second-binding", "lost-1", "node-1", "node-1"),
    bound_twice: ("second-binding", "bound-1", "node-1", "node-2"),
    bound_after_being_refused_and_tried_twice_more: ("second-binding", "often-1", "node-1", "node-2"),
    bound_again_to_the_same_node: ("second-binding", "bound-1", "node-1", "node-1"),
    bound_again_without_a_uid: ("second-binding", "bound-1", "node-1"),
    bound_again_without_a_body: ("second-binding", "bound-1", "node-1"),
    bound_again_by_the_older_resource: ("second-binding", "bound-1", "node-1"),
    placed_without_a_binding: ("bound-without-binding", "spirited-1", "node-1"),
    bound_by_somebody_else: ("bound-without-binding", "stolen-1", "node-1"),
    pending_without_a_word: ("pending-without-reason", "forgotten-1"),
    pending_with_a_reason_of_another_kind: ("pending-without-reason", "forgotten-1"),
    pending_without_a_reason: ("pending-without-reason", "forgotten-1"),
    evicted_for_no_other_pod: ("pod-removed", "pods/eviction", "sp-tested/bound-1"),
    given_up_while_it_waited: ("not-bound-in-time", "patient-1", "node-late"),
    deleted_because_it_waited: ("pod-removed", "delete", "sp-tested/waits-1"),
}


@pytest.mark.parametrize(("defect", "finding"), DEFECTS.items(), ids=[defect.__name__ for defect in DEFECTS])
def test_a_pod_that_is_not_accounted_for_fails(
    defect: Callable[[HistoryBuilder], None], finding: tuple[str, ...]
) -> None:
    h = run()
    defect(h)
    told(h.verdict(ACCOUNTED), "failed", *finding)


def test_the_pods_of_a_candidate_that_does_not_start_are_its_start_that_failed() -> None:
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


def anothers_race(h: HistoryBuilder) -> None:
    h.attempt("bound-1", "node-2", code=409, by=CONTROL_USER)


def lost_races(h: HistoryBuilder) -> None:
    """Two workers try each pod; one loses while the other wins, one a moment after it has won."""
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
    """The uid that it names is wiped: it places the pod that bears the name now."""
    created(h, "again-1")
    old = h.uid("again-1")
    h.delete("again-1")
    created(h, "again-1")
    h.attempt("again-1", "node-1", resource="bindings", uid=old)
    h.place("again-1", "node-1")


def its_answer_was_lost(h: HistoryBuilder) -> None:
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
        its_answer_was_lost,
        refused_first,
        gated,
        bound_and_gone,
        re_created,
        created_on_its_node,
        touched_after_it_was_bound,
        anothers_race,
    ],
    ids=lambda act: act.__name__,
)
def test_a_pod_that_is_accounted_for_passes(act: Callable[[HistoryBuilder], None]) -> None:
    h = run()
    act(h)
    verdict = h.verdict(ACCOUNTED)
    assert verdict.outcome == "passed"


def test_a_binding_made_for_the_pod_that_was_there_before_is_an_attempt_of_its_own() -> None:
    """Bound by the uid of the old pod after its success: that is the second attempt, whoever bears the name now."""
    h = run()
    old = h.uid("bound-1")
    h.delete("bound-1")
    h.pod("bound-1")
    h.condition("bound-1", reason="Unschedulable")
    body = {"metadata": {"name": "bound-1", "uid": old}, "target": {"name": "node-2"}}
    h.request("create", "pods/binding", "bound-1", by=CANDIDATE_USER, code=409, body=body)
    assert h.verdict(ACCOUNTED).outcome == "failed"


def test_a_dry_run_places_nothing() -> None:
    h = run()
    h.pod("dry-1")
    h.attempt("dry-1", "node-1", dry_run=True)
    h.place("dry-1", "node-1")
    verdict = h.verdict(ACCOUNTED)
    told(verdict, "failed", "bound-without-binding", "dry-1", "node-1")


def test_a_candidate_that_was_given_no_pod_proves_nothing() -> None:
    assert HistoryBuilder().verdict(ACCOUNTED).outcome == "invalid"


@pytest.mark.parametrize(("seconds", "outcome"), [(0.1, "passed"), (10, "failed")])
def test_a_binding_may_be_repeated_whose_answer_was_lost_as_the_harness_cut_the_line(
    seconds: float, outcome: str
) -> None:
    h = run()
    h.pod("cut-1")
    h.bind("cut-1", "node-1")
    h.wait(seconds)
    h.fault("cut", line="apiserver")
    h.fault("", line="apiserver")
    h.attempt("cut-1", "node-2", code=409)
    assert h.verdict(ACCOUNTED).outcome == outcome
