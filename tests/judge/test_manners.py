"""How a candidate treats the apiserver: the rights that it asks for, and how often it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from schedproof.judge.manners import STEADY_LIMIT

from .histories import CONTROL_USER, HARNESS_USER, HistoryBuilder, told

if TYPE_CHECKING:
    from collections.abc import Callable


RBAC = ("extender/rbac-minimal", "controller/rbac-minimal")
STEADY = "controller/steady"
SECONDS = 4.0


# -- */rbac-minimal

SCHEDULERS = [
    {"apiGroups": [""], "verbs": ["create"], "resources": ["pods/binding"]},
    {"apiGroups": ["", "events.k8s.io"], "verbs": ["create", "patch", "update"], "resources": ["events"]},
    {"nonResourceURLs": ["/healthz"], "verbs": ["get"]},
]


LISTING = {"apiGroups": [""], "verbs": ["list"], "resources": ["nodes"]}


def rule(verb: str, resource: str) -> dict[str, Any]:
    return {"apiGroups": [""], "verbs": [verb], "resources": [resource]}


def asking(*rules: dict[str, Any], case: str = RBAC[1]) -> HistoryBuilder:
    h = HistoryBuilder(case, rbac={"declared": [LISTING, *rules], "schedulers": SCHEDULERS})
    h.request("list", "nodes", "")
    return h


@pytest.mark.parametrize("case", RBAC)
@pytest.mark.parametrize(
    ("verb", "resource"),
    [("watch", "nodes"), ("get", "configmaps"), ("create", "pods/binding"), ("patch", "events"), ("create", "events")],
)
def test_rights_to_read_and_those_of_schedulers_pass_unused(verb: str, resource: str, case: str) -> None:
    told(asking(rule(verb, resource), case=case).verdict(), "passed", "1 kinds of requests, none refused")


@pytest.mark.parametrize(("verb", "resource"), [("patch", "pods/status"), ("delete", "pods"), ("get", "secrets")])
def test_rights_beyond_those_pass_where_they_were_used(verb: str, resource: str) -> None:
    h = asking(rule(verb, resource))
    told(h.verdict(), "failed", f"it asks to {verb} {resource}, and never did")
    h.request(verb, resource, "probe-1", by=HARNESS_USER)
    assert h.verdict().outcome == "failed"
    h.request(verb, resource, "probe-1")
    told(h.verdict(), "passed", "2 kinds of requests, none refused")


@pytest.mark.parametrize("case", RBAC)
@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("delete", "nodes"), ("patch", "nodes/status"), ("get", "secrets"), ("list", "secrets"), ("create", "pods"),
        ("impersonate", "users"), ("deletecollection", "pods"), ("update", "leases"),
    ],
)  # fmt: skip
def test_a_right_that_was_never_used_fails_and_is_named(verb: str, resource: str, case: str) -> None:
    told(asking(rule(verb, resource), case=case).verdict(), "failed", f"it asks to {verb} {resource}, and never did")


@pytest.mark.parametrize(("verb", "resource"), [("*", "nodes"), ("get", "*"), ("*", "*")])
def test_a_wildcard_fails_even_where_what_it_grants_was_used(verb: str, resource: str) -> None:
    told(asking(rule(verb, resource)).verdict(), "failed", f"it asks to {verb} {resource}: say what it needs")


def test_each_verb_and_each_resource_of_a_rule_counts() -> None:
    h = asking({"apiGroups": [""], "verbs": ["get", "delete"], "resources": ["nodes", "pods"]})
    h.request("delete", "nodes", "node-1")
    told(h.verdict(), "failed", "it asks to delete pods, and never did")


@pytest.mark.parametrize("case", RBAC)
def test_a_request_that_was_refused_fails(case: str) -> None:
    h = asking(case=case)
    h.request("watch", "pods", "", code=403)
    told(h.verdict(), "failed", "it was refused to watch pods: spec.rbac says less than it needs (1 requests)")


@pytest.mark.parametrize(
    "act",
    [
        lambda h: h.request("watch", "pods", "", code=403, by=CONTROL_USER),
        lambda h: h.request("get", "nodes", "ghost", code=404),
        lambda h: h.request("create", "pods/binding", "probe-1", code=409),
    ],
    ids=["another's", "not found", "conflict"],
)
def test_what_was_not_refused_for_want_of_rights_passes(act: Callable[[HistoryBuilder], None]) -> None:
    h = asking()
    act(h)
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("case", RBAC)
def test_rights_that_are_not_on_record_cannot_be_judged(case: str) -> None:
    h = HistoryBuilder(case)
    h.request("list", "nodes", "")
    told(h.verdict(), "invalid", "its rights are not on record")


# -- controller/steady


def waiting(count: int, *, calm: bool = True, pending: bool = True, **request: Any) -> HistoryBuilder:
    """A pod fits nowhere; nothing else happens for a while but `count` requests, evenly."""
    h = HistoryBuilder(STEADY)
    h.pod("too-large", cpu="100" if pending else "1")
    if not pending:
        h.bind("too-large", "node-1")
    h.fence()
    h.expect("too-large", "pending" if pending else "bound")
    if calm:
        h.add("calm", case=STEADY, seconds=SECONDS)
    begin = h.now
    for number in range(count):
        h.request("patch", "pods/status", "too-large", **{"received": begin + SECONDS * number / count, **request})
    return h


@pytest.mark.parametrize("count", [0, 1, int(SECONDS * STEADY_LIMIT)])
def test_few_requests_while_nothing_happens_pass(count: int) -> None:
    verdict = waiting(count).verdict()
    told(verdict, "passed", f"{count / SECONDS:.1f} requests per second while pods fitted nowhere")
    assert verdict.evidence["measured"] == {"requests per second": count / SECONDS}


def test_one_request_more_than_is_steady_fails_and_is_named() -> None:
    verdict = waiting(int(SECONDS * STEADY_LIMIT) + 1).verdict()
    told(verdict, "failed", "10 requests per second while nothing happened (such as patch pods/status)")


@pytest.mark.parametrize("code", [200, 409, 429])
def test_a_hot_loop_fails_whatever_it_is_answered(code: int) -> None:
    told(waiting(800, code=code).verdict(), "failed", "200 requests per second while nothing happened")


@pytest.mark.parametrize(
    "request_", [{"by": CONTROL_USER}, {"received": 0.0}, {"received": 99.0}], ids=["another's", "before", "after"]
)
def test_only_its_own_requests_during_the_calm_count(request_: dict[str, Any]) -> None:
    told(waiting(800, **request_).verdict(), "passed", "0.0 requests per second")


def test_without_a_calm_nothing_is_shown() -> None:
    told(waiting(0, calm=False).verdict(), "invalid", "there was no calm to watch it in")


def test_without_a_pod_that_fits_nowhere_there_is_nothing_to_loop_over() -> None:
    told(waiting(0, pending=False).verdict(), "invalid", "no pod was to be left pending")


def test_who_does_not_schedule_is_not_steady() -> None:
    h = waiting(0)
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    told(h.verdict(), "failed", "probe-1 was not bound")
