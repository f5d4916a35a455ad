"""Rights of a candidate in the cluster: sufficient, not dangerous, and not more than it uses."""

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


def candidate_with(*rules: dict[str, Any], clause: str = "minimal", kind: str = "controller") -> HistoryBuilder:
    """A candidate of this kind with these rights, which has listed nodes."""
    h = HistoryBuilder(f"{kind}/rbac-{clause}", rbac={"declared": [LISTING, *rules], "schedulers": SCHEDULERS})
    h.records[0]["candidate"]["kind"] = kind
    h.request("list", "nodes", "")
    if kind == "extender":
        h.call("filter")
    return h


# -- */rbac-sufficient


@pytest.mark.parametrize("kind", KINDS)
def test_candidate_without_refused_requests_passes(kind: str) -> None:
    told(candidate_with(clause="sufficient", kind=kind).verdict(), "passed", "", "1")


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
def test_refused_write_fails(kind: str, verb: str, resource: str, name: str) -> None:
    h = candidate_with(clause="sufficient", kind=kind)
    h.request(verb, resource, name, code=403)
    told(h.verdict(), "failed", "forbidden-request", verb, resource, "spec.rbac", "1")


@pytest.mark.parametrize(("times", "outcome"), [(1, "passed"), (2, "failed")])
def test_refused_read_fails_once_it_is_repeated(times: int, outcome: str) -> None:
    """An informer repeats a refused list; a client that only probes for a resource does not."""
    h = candidate_with(clause="sufficient")
    for _ in range(times):
        h.request("list", "poddisruptionbudgets", "", code=403)
    assert h.verdict().outcome == outcome


def test_read_refused_once_after_each_start_passes() -> None:
    h = candidate_with(clause="sufficient")
    h.request("list", "csinodes", "", code=403)
    h.process("scheduler-tested", "started")
    h.request("list", "csinodes", "", code=403)
    assert h.verdict().outcome == "passed"


def test_repeated_refusal_of_a_non_resource_path_fails() -> None:
    h = candidate_with(clause="sufficient")
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
    ids=["another user", "not found", "conflict"],
)
def test_request_not_refused_for_missing_rights_passes(act: Callable[[HistoryBuilder], None]) -> None:
    h = candidate_with(clause="sufficient")
    act(h)
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("clause", ["sufficient", "minimal"])
@pytest.mark.parametrize(
    ("kind", "outcome", "code"),
    [("extender", "not-claimed", "not-applicable"), ("controller", "invalid", "no-request")],
)
def test_candidate_without_requests_is_not_judged(clause: str, kind: str, outcome: str, code: str) -> None:
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
def test_write_made_by_another_request_shows_no_missing_right(
    refused: tuple[str, str, str], done: tuple[str, str, str], outcome: str
) -> None:
    h = candidate_with(clause="sufficient")
    h.request(*refused, code=403)
    h.request(*done, code=201)
    assert h.verdict().outcome == outcome
    h.request(*refused, code=403)
    told(h.verdict(), "failed", "forbidden-request", refused[0], refused[1])


@pytest.mark.parametrize("more", [{"by": HARNESS_USER}, {"dry_run": True}, {"code": 409}], ids=str)
def test_write_not_made_by_the_candidate_leaves_the_right_missing(more: dict[str, Any]) -> None:
    h = candidate_with(clause="sufficient")
    h.request("create", "bindings", "", code=403)
    h.request("create", "pods/binding", "a", **more)
    assert h.verdict().outcome == "failed"


@pytest.mark.parametrize("clause", ["sufficient", "minimal"])
@pytest.mark.parametrize("call", [None, {"by": "harness"}, {"status": 502}], ids=str)
def test_rights_of_an_extender_without_an_answered_call_are_invalid(clause: str, call: dict[str, Any] | None) -> None:
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
    rule("get", "*", "*"), rule("list", "*/proxy"), rule("*", "*", "custom.metrics.k8s.io"),
    rule("update", "*", "scheduling.example.com"),
    rule("update", "mutatingwebhookconfigurations", "admissionregistration.k8s.io"),
    rule("update", "certificatesigningrequests/approval", "certificates.k8s.io"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("right", DANGEROUS, ids=str)
def test_dangerous_right_fails_whether_or_not_it_was_used(kind: str, right: dict[str, Any]) -> None:
    h = HistoryBuilder(f"{kind}/rbac-dangerous", rbac={"declared": [LISTING, right], "schedulers": []})
    told(h.verdict(), "failed", "dangerous-right", right["verbs"][0])


HARMLESS = [
    rule("get", "secrets", resourceNames=["prometheus-token"]), rule("list", "secrets", "example.com"),
    rule("get", "validatingwebhookconfigurations", "admissionregistration.k8s.io"), rule("create", "pods/eviction"),
    rule("update", "mutatingwebhookconfigurations", "admissionregistration.k8s.io", resourceNames=["mine"]),
    rule("bind", "apiexports", "apis.example.com"), rule("get", "pods", "*"), path("get", "/metrics"),
    path("get", "/apis/*"), *(rule("get", "*", f"{kind}metrics.k8s.io") for kind in ("", "custom.", "external.")),
    *(rule(verb, "*", "scheduling.example.com") for verb in ("get", "list", "watch")),
    rule("delete", "pods"), rule("update", "leases", "coordination.k8s.io"),
]  # fmt: skip


@pytest.mark.parametrize("right", HARMLESS, ids=str)
def test_right_that_a_scheduler_may_need_passes(right: dict[str, Any]) -> None:
    told(candidate_with(right, clause="dangerous").verdict(), "passed", "", "2")


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
def test_right_passes_once_the_candidate_used_it(right: dict[str, Any], request_: dict[str, Any]) -> None:
    h = candidate_with(right)
    told(h.verdict(), "failed", "unused-right", right["verbs"][0])
    group = {"group": request_.pop("group")} if "group" in request_ else {}
    for by in (HARNESS_USER, None):
        h.request(**request_, **({"by": by} if by else {}))
        h.records[-1].update(group)
        assert h.verdict().outcome == ("failed" if by else "passed")


def test_request_for_another_group_or_name_does_not_use_a_right() -> None:
    h = candidate_with(rule("update", "leases", "coordination.k8s.io", resourceNames=["tested"]))
    h.request("update", "leases", "tested")
    h.request("update", "leases", "another")
    h.records[-1]["group"] = "coordination.k8s.io"
    told(h.verdict(), "failed", "unused-right", "update leases in coordination.k8s.io named tested")


@pytest.mark.parametrize("right", [rule("create", "pods/binding"), rule("patch", "events"), path("get", "/healthz")])
def test_rights_of_every_scheduler_pass_unused(right: dict[str, Any]) -> None:
    told(candidate_with(right).verdict(), "passed", "", "1")


def test_each_verb_and_each_resource_of_a_rule_counts() -> None:
    h = candidate_with({"apiGroups": [""], "verbs": ["get", "delete"], "resources": ["nodes", "pods"]})
    h.request("delete", "nodes", "node-1")
    told(h.verdict(), "failed", "unused-right", "get nodes", "get pods", "delete pods")


@pytest.mark.parametrize("clause", ["dangerous", "minimal"])
def test_unrecorded_rights_are_invalid(clause: str) -> None:
    h = HistoryBuilder(f"controller/rbac-{clause}")
    h.request("list", "nodes", "")
    told(h.verdict(), "invalid", "rights-not-recorded")


# -- processes of a candidate with their own rights

SIDE = "system:serviceaccount:schedproof-system:candidate-c-side"


def with_a_process(*rules: dict[str, Any], clause: str) -> HistoryBuilder:
    h = candidate_with(clause=clause)
    h.records[0]["rbac"]["processes"] = {SIDE: list(rules)}
    h.records[0]["users"]["candidate"].append(SIDE)
    return h


def test_refused_request_of_a_process_names_its_account() -> None:
    h = with_a_process(rule("list", "queues"), clause="sufficient")
    h.request("patch", "queues/status", "a", code=403, by=SIDE)
    told(h.verdict(), "failed", "forbidden-request", "candidate-c-side")


def test_right_must_be_used_by_the_account_that_has_it() -> None:
    h = with_a_process(rule("list", "queues"), clause="minimal")
    h.request("list", "queues", "")
    told(h.verdict(), "failed", "unused-right", "list queues")
    h.request("list", "queues", "", by=SIDE)
    told(h.verdict(), "passed")


def test_dangerous_right_of_a_process_fails() -> None:
    h = with_a_process(rule("*", "pods"), clause="dangerous")
    told(h.verdict(), "failed", "dangerous-right", "* pods")


def test_a_right_in_one_namespace_is_used_by_requests_there_and_names_it() -> None:
    leases = rule("update", "leases", "coordination.k8s.io", namespace="kube-system")
    h = candidate_with(leases)
    told(h.verdict(), "failed", "unused-right", "update leases in coordination.k8s.io of the namespace kube-system")
    for namespace, outcome in (("default", "failed"), ("kube-system", "passed")):
        h.request("update", "leases", "a", namespace=namespace, group="coordination.k8s.io")
        assert h.verdict().outcome == outcome
    h = candidate_with(rule("get", "secrets", namespace="kube-system"), clause="dangerous")
    told(h.verdict(), "failed", "dangerous-right", "every secret of the namespace kube-system")
