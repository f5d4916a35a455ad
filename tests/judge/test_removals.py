"""Pods that end because of the candidate, whatever request it sends, and pods that it created."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .histories import BYSTANDER, HARNESS_USER, NAMESPACE, HistoryBuilder, told

OWN, ACCOUNTED = "core/own-pods-only", "core/all-accounted"
CONTROLLERS = "system:kube-controller-manager"
GROUP = {"kind": "Job", "name": "group", "apiVersion": "batch/v1", "uid": "u", "controller": True}


def run() -> HistoryBuilder:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("bound-1", cpu="1", priority=10)
    h.bind("bound-1", "node-1")
    return h


def owned(h: HistoryBuilder, name: str, owner: dict[str, Any], *, scheduler: str = BYSTANDER, **labels: str) -> None:
    h.pod(name, role="", scheduler=scheduler)
    h._pods[name]["metadata"] |= {"ownerReferences": [owner], "labels": labels}
    h.happens("pods", "MODIFIED", h._pods[name])


def collected(h: HistoryBuilder) -> None:
    h.request("deletecollection", "pods", "", selector="labelSelector=app=x")
    h.delete("bystander")


def collected_in_all_namespaces(h: HistoryBuilder) -> None:
    began = h.now
    h.delete("bystander")
    h.request("deletecollection", "pods", "", received=began)


def owner_deleted(h: HistoryBuilder) -> None:
    owned(h, "member-1", GROUP)
    h.request("delete", "jobs", "group")
    h.request("delete", "pods", "member-1", by=CONTROLLERS)
    h.delete("member-1")


def deployment_deleted(h: HistoryBuilder) -> None:
    owned(h, "web-abc-1", {**GROUP, "kind": "ReplicaSet", "name": "web-abc"}, **{"pod-template-hash": "abc"})
    h.request("delete", "deployments", "web")
    h.request("delete", "pods", "web-abc-1", by=CONTROLLERS)
    h.delete("web-abc-1")


def on_a_node(h: HistoryBuilder) -> None:
    h.bind("bystander", "node-2", by=HARNESS_USER)


def node_deleted(h: HistoryBuilder) -> None:
    on_a_node(h)
    h.request("delete", "nodes", "node-2")
    h.remove_node("node-2")
    h.request("delete", "pods", "bystander", by=CONTROLLERS)
    h.delete("bystander")


def node_tainted(h: HistoryBuilder) -> None:
    on_a_node(h)
    h.request("patch", "nodes", "node-2", body={"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
    h.request("delete", "pods", "bystander", by=CONTROLLERS)
    h.delete("bystander")


def node_tainted_by_a_json_patch(h: HistoryBuilder) -> None:
    on_a_node(h)
    taint = {"key": "k", "effect": "NoExecute"}
    h.request("patch", "nodes", "node-2", body=[{"op": "add", "path": "/spec/taints/-", "value": taint}])
    h.delete("bystander")


def deleted_again_before_the_harness(h: HistoryBuilder) -> None:
    h.request("delete", "pods", "bystander")
    h.request("delete", "pods", "bystander", by=HARNESS_USER)
    h.delete("bystander")


@pytest.mark.parametrize(
    "removes",
    [
        collected, collected_in_all_namespaces, owner_deleted, deployment_deleted, node_deleted, node_tainted,
        node_tainted_by_a_json_patch, deleted_again_before_the_harness,
    ],
    ids=lambda removes: removes.__name__,
)  # fmt: skip
def test_end_of_a_foreign_pod_fails_whatever_request_causes_it(removes: Callable[[HistoryBuilder], None]) -> None:
    h = run()
    removes(h)
    told(h.verdict(OWN), "failed", "foreign-pod")


def collection_without_effect(h: HistoryBuilder) -> None:
    h.request("deletecollection", "pods", "")


def collection_of_own_pods(h: HistoryBuilder) -> None:
    h.request("deletecollection", "pods", "", selector="labelSelector=app=x")
    h.delete("bound-1")


def collection_by_the_harness(h: HistoryBuilder) -> None:
    h.request("deletecollection", "pods", "", by=HARNESS_USER)
    h.delete("bystander")


def dry_collection(h: HistoryBuilder) -> None:
    h.request("deletecollection", "pods", "", dry_run=True)
    h.delete("bystander")


def deleted_by_the_harness_meanwhile(h: HistoryBuilder) -> None:
    h.request("delete", "pods", "bystander", by=HARNESS_USER)
    h.delete("bystander")
    h.request("deletecollection", "pods", "")


def evicted_by_a_controller_meanwhile(h: HistoryBuilder) -> None:
    h.request("delete", "pods", "bystander", by=CONTROLLERS)
    h.delete("bystander")
    h.request("deletecollection", "pods", "")


def another_owner_deleted(h: HistoryBuilder) -> None:
    owned(h, "member-1", GROUP)
    h.request("delete", "jobs", "another")
    h.request("delete", "pods", "member-1", by=CONTROLLERS)
    h.delete("member-1")


def node_marked(h: HistoryBuilder) -> None:
    on_a_node(h)
    h.request("patch", "nodes", "node-2", body={"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    h.delete("bystander")


def placeholder(h: HistoryBuilder) -> None:
    uid = h.pod("room-1", role="", scheduler="another")
    h.request("create", "pods", "room-1", code=201, uid=uid)
    h.request("patch", "pods/status", "room-1")
    h.request("delete", "pods", "room-1")
    h.delete("room-1")


def placeholders_of_an_owner(h: HistoryBuilder) -> None:
    h.request("create", "jobs", "group", code=201)
    owned(h, "member-1", GROUP)
    h.request("delete", "pods", "member-1")
    h.delete("member-1")


@pytest.mark.parametrize(
    "act",
    [
        collection_without_effect, collection_of_own_pods, collection_by_the_harness, dry_collection,
        deleted_by_the_harness_meanwhile, evicted_by_a_controller_meanwhile, another_owner_deleted, node_marked,
        placeholder, placeholders_of_an_owner,
    ],
    ids=lambda act: act.__name__,
)  # fmt: skip
def test_pods_that_end_otherwise_are_left_alone(act: Callable[[HistoryBuilder], None]) -> None:
    h = run()
    act(h)
    told(h.verdict(OWN), "passed")


# -- core/all-accounted: removals are compared with who waited at that moment


def removed_with(wait: Callable[[HistoryBuilder], None], *, collection: bool = False) -> HistoryBuilder:
    h = run()
    wait(h)
    h.request("deletecollection" if collection else "delete", "pods", "" if collection else "bound-1")
    h.delete("bound-1")
    return h


def higher(h: HistoryBuilder, **more: Any) -> None:
    h.pod("p", cpu="8", priority=1000, **more)
    h.condition("p", reason="Unschedulable")


def bound_just_before(h: HistoryBuilder) -> None:
    higher(h)
    h.bind("p", "node-2")
    h.pass_time(1)


def deleted_just_before(h: HistoryBuilder) -> None:
    higher(h)
    h.request("delete", "pods", "p", by=HARNESS_USER)
    h.delete("p")


@pytest.mark.parametrize("collection", [False, True])
@pytest.mark.parametrize("wait", [higher, bound_just_before, deleted_just_before])
def test_removal_for_a_pod_of_higher_priority_that_waits_passes(wait: Any, collection: bool) -> None:
    told(removed_with(wait, collection=collection).verdict(ACCOUNTED), "passed")


def lower(h: HistoryBuilder) -> None:
    h.pod("p", priority=5)
    h.condition("p", reason="Unschedulable")


def never(h: HistoryBuilder) -> None:
    higher(h, preemptionPolicy="Never")


def gated(h: HistoryBuilder) -> None:
    higher(h, schedulingGates=[{"name": "g"}])


def bound_long_before(h: HistoryBuilder) -> None:
    higher(h)
    h.bind("p", "node-2")
    h.pass_time(60)


def with_its_node(h: HistoryBuilder) -> None:
    h.pod("p", priority=1000, node="node-2")


@pytest.mark.parametrize("collection", [False, True])
@pytest.mark.parametrize("wait", [lower, never, gated, bound_long_before, with_its_node])
def test_removal_while_no_pod_of_higher_priority_waits_fails(wait: Any, collection: bool) -> None:
    told(removed_with(wait, collection=collection).verdict(ACCOUNTED), "failed", "pod-removed", f"{NAMESPACE}/bound-1")


def test_pods_that_came_after_the_removal_do_not_excuse_it() -> None:
    h = removed_with(lambda _: None)
    higher(h)
    told(h.verdict(ACCOUNTED), "failed", "pod-removed")


def test_a_pod_that_the_candidate_created_may_be_removed_and_need_not_be_accounted_for() -> None:
    h = run()
    uid = h.pod("room-1", role="", priority=10)
    h.request("create", "pods", "room-1", code=201, uid=uid)
    told(h.verdict(ACCOUNTED), "passed")
    h.request("delete", "pods", "room-1")
    h.delete("room-1")
    told(h.verdict(ACCOUNTED), "passed")


def test_a_pod_that_is_created_again_is_not_removed_by_the_request_before() -> None:
    h = HistoryBuilder("core/fit-cpu")
    for _ in range(2):
        uid = h.pod("again-1", priority=10)
        h.request("create", "pods", "again-1", by=HARNESS_USER, code=201, uid=uid)
        h.bind("again-1", "node-1")
    higher(h)
    h.request("delete", "pods", "again-1", by=HARNESS_USER)
    h.delete("again-1")
    told(h.verdict(ACCOUNTED), "passed")


# -- requests of which the audit log has only the begin


def test_a_write_of_a_foreign_pod_counts_although_its_end_is_not_on_record() -> None:
    h = run()
    h.begun("pods/status", "bystander")
    told(h.verdict(OWN), "failed", "foreign-pod", "bystander")


def test_the_begin_of_a_request_is_no_request_of_its_own_once_its_end_is_on_record() -> None:
    h = run()
    h.begun("pods", "bystander")
    h.request("patch", "pods", "bystander", body={"metadata": {"labels": {}}}, begun="a")
    told(h.verdict(OWN), "passed", "", "1")
    assert len([r for r in h.history().requests() if r.name == "bystander"]) == 1


@pytest.mark.parametrize(("spec", "outcome"), [({}, "passed"), ({"activeDeadlineSeconds": 5}, "failed")], ids=str)
def test_what_a_patch_without_a_body_on_record_changes_is_seen_by_the_watch(spec: dict[str, Any], outcome: str) -> None:
    h = run()
    h.begun("pods", "bystander")
    h.change("bystander", **spec)
    assert h.verdict(OWN).outcome == outcome
