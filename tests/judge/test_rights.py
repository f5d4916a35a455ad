"""What a candidate may do in the cluster: whether that suffices, is dangerous, and is no more than it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .histories import CONTROL_USER, HARNESS_USER, HistoryBuilder, told

KINDS = ("extender", "controller", "plugin")
SCHEDULERS = [
    {"apiGroups": [""], "verbs": ["create"], "resources": ["pods/binding"]},
    {"apiGroups": ["", "events.k8s.io"], "verbs": ["create", "patch", "update"], "resources": ["events"]},
    {"nonResourceURLs": ["/healthz"], "verbs": ["get"]},
]
LISTING = {"apiGroups": [""], "verbs": ["list"], "resources": ["nodes"]}


def rule(verb: str, resource: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"apiGroups": [group], "verbs": [verb], "resources": [resource], **more}


def path(verb: str, url: str) -> dict[str, Any]:
    return {"nonResourceURLs": [url], "verbs": [verb]}


def asking(*rules: dict[str, Any], clause: str = "minimal", kind: str = "controller") -> HistoryBuilder:
    """A candidate of this kind with these rights, which has listed nodes."""
    h = HistoryBuilder(f"{kind}/rbac-{clause}", rbac={"declared": [LISTING, *rules], "schedulers": SCHEDULERS})
    h.records[0]["candidate"]["kind"] = kind
    h.request("list", "nodes", "")
    if kind == "extender":
        h.call("filter")
    return h


# -- */rbac-sufficient


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_refused_nothing_has_enough(kind: str) -> None:
    told(asking(clause="sufficient", kind=kind).verdict(), "passed", "", "1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("verb", "resource", "name"),
    [
        ("create", "pods/binding", "a"),
        ("update", "leases", "a"),
        ("patch", "pods/status", "a"),
        ("create", "events", "a"),
    ],
)
def test_a_change_that_was_refused_fails(kind: str, verb: str, resource: str, name: str) -> None:
    h = asking(clause="sufficient", kind=kind)
    h.request(verb, resource, name, code=403)
    told(h.verdict(), "failed", "forbidden-request", verb, resource, "spec.rbac", "1")


@pytest.mark.parametrize(("times", "outcome"), [(1, "passed"), (2, "failed")])
def test_a_reading_that_was_refused_fails_once_it_is_asked_for_again(times: int, outcome: str) -> None:
    """An informer does; who tries out what there is does without it."""
    h = asking(clause="sufficient")
    for _ in range(times):
        h.request("list", "poddisruptionbudgets", "", code=403)
    assert h.verdict().outcome == outcome


def test_a_reading_that_is_tried_after_each_start_is_not_needed() -> None:
    h = asking(clause="sufficient")
    h.request("list", "csinodes", "", code=403)
    h.process("scheduler-tested", "started")
    h.request("list", "csinodes", "", code=403)
    assert h.verdict().outcome == "passed"


def test_paths_that_are_no_resource_can_be_refused() -> None:
    h = asking(clause="sufficient")
    for _ in range(2):
        h.request("get", "", "", path="/metrics", code=403)
    told(h.verdict(), "failed", "forbidden-request", "get /metrics")


@pytest.mark.parametrize(
    "act",
    [
        lambda h: h.request("create", "pods", "x", code=403, by=CONTROL_USER),
        lambda h: h.request("get", "nodes", "ghost", code=404),
        lambda h: h.request("create", "pods/binding", "probe-1", code=409),
    ],
    ids=["another's", "not found", "conflict"],
)
def test_what_was_not_refused_for_want_of_rights_passes(act: Callable[[HistoryBuilder], None]) -> None:
    h = asking(clause="sufficient")
    act(h)
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("clause", ["sufficient", "minimal"])
@pytest.mark.parametrize(
    ("kind", "outcome", "code"),
    [("extender", "not-claimed", "not-applicable"), ("controller", "invalid", "no-request")],
)
def test_a_candidate_that_made_no_request_has_shown_nothing(clause: str, kind: str, outcome: str, code: str) -> None:
    h = HistoryBuilder(f"{kind}/rbac-{clause}", rbac={"declared": [LISTING], "schedulers": []})
    h.records[0]["candidate"]["kind"] = kind
    told(h.verdict(), outcome, code)


@pytest.mark.parametrize(
    ("refused", "done", "outcome"),
    [
        (("create", "bindings", ""), ("create", "pods/binding", "a"), "passed"),
        (("patch", "pods/status", "a"), ("update", "pods/status", "a"), "passed"),
        (("delete", "pods", "a"), ("create", "pods/eviction", "a"), "passed"),
        (("create", "events", "a.1"), ("create", "events", "a.2"), "passed"),
        (("create", "leases", "a"), ("update", "leases", "a"), "passed"),
        (("patch", "pods/status", "a"), ("update", "pods/status", "b"), "failed"),
        (("patch", "pods/status", "a"), ("patch", "pods", "a"), "failed"),
        (("create", "bindings", ""), ("create", "events", "a.1"), "failed"),
    ],
)
def test_a_change_that_is_made_by_another_request_is_no_missing_right(
    refused: tuple[str, str, str], done: tuple[str, str, str], outcome: str
) -> None:
    h = asking(clause="sufficient")
    h.request(*refused, code=403)
    h.request(*done, code=201)
    assert h.verdict().outcome == outcome
    h.request(*refused, code=403)
    told(h.verdict(), "failed", "forbidden-request", refused[0], refused[1])


@pytest.mark.parametrize("more", [{"by": HARNESS_USER}, {"dry_run": True}, {"code": 409}], ids=str)
def test_what_was_not_done_by_itself_leaves_the_right_missing(more: dict[str, Any]) -> None:
    h = asking(clause="sufficient")
    h.request("create", "bindings", "", code=403)
    h.request("create", "pods/binding", "a", **more)
    assert h.verdict().outcome == "failed"


@pytest.mark.parametrize("clause", ["sufficient", "minimal"])
@pytest.mark.parametrize("call", [None, {"by": "harness"}, {"status": 502}], ids=str)
def test_the_rights_of_an_extender_that_was_never_called_are_not_shown(
    clause: str, call: dict[str, Any] | None
) -> None:
    h = HistoryBuilder(f"extender/rbac-{clause}", rbac={"declared": [LISTING], "schedulers": []})
    h.records[0]["candidate"]["kind"] = "extender"
    h.request("list", "nodes", "")
    if call is not None:
        h.call("filter", **call)
    told(h.verdict(), "invalid", "not-called")
    h.request("patch", "pods/status", "a", code=403)
    assert h.verdict().outcome == ("failed" if clause == "sufficient" else "invalid")


# -- */rbac-dangerous

DANGEROUS = [
    rule("*", "nodes"), rule("get", "*"), rule("*", "*", "*"), rule("get", "pods/*"), rule("update", "*/scale"),
    path("get", "*"), path("*", "/metrics"), rule("get", "nodes/proxy"), rule("create", "nodes/proxy", "*"),
    rule("list", "secrets"), rule("create", "secrets"), rule("escalate", "clusterroles", "rbac.authorization.k8s.io"),
    rule("bind", "roles", "*"), rule("impersonate", "users"), rule("impersonate", "serviceaccounts"),
    rule("impersonate", "userextras/scopes", "authentication.k8s.io"), rule("create", "serviceaccounts/token"),
    rule("create", "pods/exec"), rule("get", "pods/attach", "*"),
    rule("update", "mutatingwebhookconfigurations", "admissionregistration.k8s.io"),
    rule("update", "certificatesigningrequests/approval", "certificates.k8s.io"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("right", DANGEROUS, ids=str)
def test_a_right_that_no_scheduler_needs_fails_whether_or_not_it_was_used(kind: str, right: dict[str, Any]) -> None:
    h = HistoryBuilder(f"{kind}/rbac-dangerous", rbac={"declared": [LISTING, right], "schedulers": []})
    told(h.verdict(), "failed", "dangerous-right", right["verbs"][0])


HARMLESS = [
    rule("get", "secrets", resourceNames=["prometheus-token"]), rule("list", "secrets", "example.com"),
    rule("get", "validatingwebhookconfigurations", "admissionregistration.k8s.io"), rule("create", "pods/eviction"),
    rule("update", "mutatingwebhookconfigurations", "admissionregistration.k8s.io", resourceNames=["mine"]),
    rule("bind", "apiexports", "apis.example.com"), rule("get", "pods", "*"), path("get", "/metrics"),
    path("get", "/apis/*"), rule("delete", "pods"), rule("update", "leases", "coordination.k8s.io"),
]  # fmt: skip


@pytest.mark.parametrize("right", HARMLESS, ids=str)
def test_a_right_that_a_scheduler_may_need_passes(right: dict[str, Any]) -> None:
    told(asking(right, clause="dangerous").verdict(), "passed", "", "2")


# -- */rbac-minimal


@pytest.mark.parametrize(
    ("right", "request_"),
    [
        (rule("patch", "pods/status"), {"verb": "patch", "resource": "pods/status", "name": "probe-1"}),
        (
            rule("update", "leases", "coordination.k8s.io", resourceNames=["tested"]),
            {"verb": "update", "resource": "leases", "name": "tested", "group": "coordination.k8s.io"},
        ),
        (path("get", "/apis/*"), {"verb": "get", "resource": "", "name": "", "path": "/apis/example.com/v1"}),
        (rule("watch", "podgroups", "*"), {"verb": "watch", "resource": "podgroups", "name": "", "group": "x.io"}),
    ],
    ids=["resource", "resourceNames", "nonResourceURLs", "apiGroups"],
)
def test_a_right_passes_once_it_was_used(right: dict[str, Any], request_: dict[str, Any]) -> None:
    h = asking(right)
    told(h.verdict(), "failed", "unused-right", right["verbs"][0])
    group = {"group": request_.pop("group")} if "group" in request_ else {}
    for by in (HARNESS_USER, None):
        h.request(**request_, **({"by": by} if by else {}))
        h.records[-1].update(group)
        assert h.verdict().outcome == ("failed" if by else "passed")


def test_a_right_on_another_group_or_another_name_is_not_used_by_that() -> None:
    h = asking(rule("update", "leases", "coordination.k8s.io", resourceNames=["tested"]))
    h.request("update", "leases", "tested")
    h.request("update", "leases", "another")
    h.records[-1]["group"] = "coordination.k8s.io"
    told(h.verdict(), "failed", "unused-right", "update leases in coordination.k8s.io named tested")


@pytest.mark.parametrize("right", [rule("create", "pods/binding"), rule("patch", "events"), path("get", "/healthz")])
def test_the_rights_of_schedulers_pass_unused(right: dict[str, Any]) -> None:
    told(asking(right).verdict(), "passed", "", "1")


def test_each_verb_and_each_resource_of_a_rule_counts() -> None:
    h = asking({"apiGroups": [""], "verbs": ["get", "delete"], "resources": ["nodes", "pods"]})
    h.request("delete", "nodes", "node-1")
    told(h.verdict(), "failed", "unused-right", "get nodes", "get pods", "delete pods")


@pytest.mark.parametrize("clause", ["dangerous", "minimal"])
def test_rights_that_are_not_on_record_cannot_be_judged(clause: str) -> None:
    h = HistoryBuilder(f"controller/rbac-{clause}")
    h.request("list", "nodes", "")
    told(h.verdict(), "invalid", "rights-not-recorded")


# -- processes of a candidate that have rights of their own

SIDE = "system:serviceaccount:schedproof-system:candidate-c-side"


def with_a_process(*rules: dict[str, Any], clause: str) -> HistoryBuilder:
    h = asking(clause=clause)
    h.records[0]["rbac"]["processes"] = {SIDE: list(rules)}
    h.records[0]["users"]["candidate"].append(SIDE)
    return h


def test_what_a_process_is_refused_is_told_of_its_own_rights() -> None:
    h = with_a_process(rule("list", "queues"), clause="sufficient")
    h.request("patch", "queues/status", "a", code=403, by=SIDE)
    told(h.verdict(), "failed", "forbidden-request", "candidate-c-side")


def test_a_right_is_used_by_the_identity_that_has_it() -> None:
    h = with_a_process(rule("list", "queues"), clause="minimal")
    h.request("list", "queues", "")
    told(h.verdict(), "failed", "unused-right", "list queues")
    h.request("list", "queues", "", by=SIDE)
    told(h.verdict(), "passed")


def test_a_dangerous_right_of_a_process_fails() -> None:
    h = with_a_process(rule("*", "pods"), clause="dangerous")
    told(h.verdict(), "failed", "dangerous-right", "* pods")
