"""How a candidate uses the apiserver: the rate of its requests, and the requests by which it places pods."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.history.acts import Calm
from schedproof.judge.clauses.controller.api_usage import STEADY_LIMIT

from .histories import CONTROL_USER, HistoryBuilder, told

STEADY = "controller/steady"
SECONDS = 4.0


# -- controller/steady


def waiting(count: int, *, calm: bool = True, pending: bool = True, **request: Any) -> HistoryBuilder:
    """Create a pod that fits nowhere, and then only `count` requests at equal intervals."""
    h = HistoryBuilder(STEADY)
    h.pod("too-large", cpu="100" if pending else "1")
    if not pending:
        h.bind("too-large", "node-1")
    h.fence()
    h.expect("too-large", "pending" if pending else "bound")
    if calm:
        h.add(Calm(case=STEADY, seconds=SECONDS))
    begin = h.now
    for number in range(count):
        h.request("patch", "pods/status", "too-large", **{"received": begin + SECONDS * number / count, **request})
    return h


@pytest.mark.parametrize("count", [1, int(SECONDS * STEADY_LIMIT)])
def test_few_requests_while_nothing_happens_pass(count: int) -> None:
    verdict = waiting(count).verdict()
    told(verdict, "passed", "", f"{count / SECONDS:.1f}")
    assert verdict.evidence.measured["requests per second"] == count / SECONDS


def test_one_request_above_the_limit_fails_and_is_named() -> None:
    verdict = waiting(int(SECONDS * STEADY_LIMIT) + 1).verdict()
    told(verdict, "failed", "too-many-requests", "pods/status", "10")


@pytest.mark.parametrize("code", [200, 409, 429])
def test_hot_loop_fails_whatever_the_response_code(code: int) -> None:
    told(waiting(800, code=code).verdict(), "failed", "too-many-requests", "200")


@pytest.mark.parametrize(
    "request_", [{"by": CONTROL_USER}, {"received": 0.0}, {"received": 99.0}], ids=["another user", "before", "after"]
)
def test_only_the_candidates_requests_during_the_calm_count(request_: dict[str, Any]) -> None:
    told(waiting(800, **request_).verdict(), "passed")


def test_run_without_a_calm_is_invalid() -> None:
    told(waiting(0, calm=False).verdict(), "invalid", "not-tried")


def test_case_without_an_unschedulable_pod_is_invalid() -> None:
    told(waiting(0, pending=False).verdict(), "invalid", "not-tried")


def test_candidate_that_does_not_bind_a_fitting_pod_fails() -> None:
    h = waiting(0)
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "probe-1")


def polling(*requests: tuple[str, str, str], hertz: float) -> HistoryBuilder:
    """Make each of these requests `hertz` times per second while a pod fits nowhere."""
    h = waiting(0)
    begin = h.now
    for number in range(int(SECONDS * hertz)):
        for verb, resource, name in requests:
            h.request(verb, resource, name, received=begin + number / hertz)
    return h


def test_a_poll_of_several_resources_at_5_hz_passes() -> None:
    poll = [("list", kind, "") for kind in ("pods", "nodes", "namespaces", "leases")]
    told(polling(*poll, ("patch", "pods/status", "too-large"), hertz=5).verdict(), "passed", "", "5.0")


def test_summary_names_the_most_frequent_request_not_the_first() -> None:
    h = polling(("get", "nodes", "node-1"), hertz=1)
    begin = next(record["at"] for record in h.records if record["kind"] == "calm")
    for number in range(400):
        h.request("create", "events", f"event-{number}", received=begin + number / 1000)
    told(h.verdict(), "failed", "too-many-requests", "100")


def test_requests_for_non_resource_paths_count() -> None:
    h = waiting(0)
    begin = h.now
    for number in range(400):
        h.request("get", "", "", path="/version", received=begin + number / 100)
    told(h.verdict(), "failed", "too-many-requests", "100")


def test_no_request_at_all_passes() -> None:
    told(waiting(0).verdict(), "passed")


# -- controller/binding-subresource, controller/no-spec-patch

SUBRESOURCE, NO_PATCH = "controller/binding-subresource", "controller/no-spec-patch"
ON_A_NODE = {"metadata": {"name": "probe-1"}, "spec": {"nodeName": "node-1"}}


def placing(*requests: tuple[str, Any], code: int = 422, bound: bool = True) -> HistoryBuilder:
    """Make requests (verb and body) about a pod before it is bound."""
    h = HistoryBuilder("core/binds")
    h.pod("probe-1")
    for verb, body in requests:
        h.request(verb, "pods", "probe-1", body=body, code=code)
    if bound:
        h.bind("probe-1", "node-1")
    return h


def test_candidate_that_posts_bindings_passes_both_clauses() -> None:
    h = placing(("patch", {"metadata": {"annotations": {"seen": "yes"}}}), code=200)
    told(h.verdict(SUBRESOURCE), "passed", "", "1")
    told(h.verdict(NO_PATCH), "passed", "", "1")


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("patch", {"spec": {"nodeName": "node-1"}}),
        ("patch", [{"op": "add", "path": "/spec/nodeName", "value": "node-1"}]),
        ("update", ON_A_NODE),
    ],
)
def test_writing_a_node_into_a_pod_fails_even_if_refused(verb: str, body: Any) -> None:
    told(placing((verb, body)).verdict(NO_PATCH), "failed", "node-name-written", "spec.nodeName", "sp-tested/probe-1")


def test_update_of_a_bound_pod_contains_its_node_and_passes() -> None:
    h = placing()
    h.request("update", "pods", "probe-1", body=ON_A_NODE)
    assert h.verdict(NO_PATCH).outcome == "passed"


def test_patch_that_only_tests_the_node_name_does_not_write_it() -> None:
    guarded = [{"op": "test", "path": "/spec/nodeName", "value": "node-1"}, {"op": "add", "path": "/metadata/labels/a"}]
    assert placing(("patch", guarded), code=200).verdict(NO_PATCH).outcome == "passed"


def test_creating_a_pod_with_a_node_fails() -> None:
    told(
        placing(("create", ON_A_NODE), code=201).verdict(SUBRESOURCE),
        "failed",
        "pod-created-with-node",
        "spec.nodeName",
    )


@pytest.mark.parametrize("clause", [SUBRESOURCE, NO_PATCH])
def test_candidate_that_binds_nothing_is_invalid(clause: str) -> None:
    assert placing(bound=False).verdict(clause).outcome == "invalid"
