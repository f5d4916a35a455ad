"""How a candidate treats the apiserver: how often it asks."""

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
    """A pod fits nowhere; nothing else happens for a while but `count` requests, evenly."""
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
    assert verdict.evidence["measured"]["requests per second"] == count / SECONDS


def test_one_request_more_than_is_steady_fails_and_is_named() -> None:
    verdict = waiting(int(SECONDS * STEADY_LIMIT) + 1).verdict()
    told(verdict, "failed", "too-many-requests", "pods/status", "10")


@pytest.mark.parametrize("code", [200, 409, 429])
def test_a_hot_loop_fails_whatever_it_is_answered(code: int) -> None:
    told(waiting(800, code=code).verdict(), "failed", "too-many-requests", "200")


@pytest.mark.parametrize(
    "request_", [{"by": CONTROL_USER}, {"received": 0.0}, {"received": 99.0}], ids=["another's", "before", "after"]
)
def test_only_its_own_requests_during_the_calm_count(request_: dict[str, Any]) -> None:
    told(waiting(800, **request_).verdict(), "passed")


def test_without_a_calm_nothing_is_shown() -> None:
    told(waiting(0, calm=False).verdict(), "invalid", "not-tried")


def test_without_a_pod_that_fits_nowhere_there_is_nothing_to_loop_over() -> None:
    told(waiting(0, pending=False).verdict(), "invalid", "not-tried")


def test_who_does_not_schedule_is_not_steady() -> None:
    h = waiting(0)
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "probe-1")


def polling(*requests: tuple[str, str, str], hertz: float) -> HistoryBuilder:
    """Each of these requests is made so often per second while a pod fits nowhere."""
    h = waiting(0)
    begin = h.now
    for number in range(int(SECONDS * hertz)):
        for verb, resource, name in requests:
            h.request(verb, resource, name, received=begin + number / hertz)
    return h


def test_a_poll_of_several_resources_at_5_hz_passes() -> None:
    poll = [("list", kind, "") for kind in ("pods", "nodes", "namespaces", "leases")]
    told(polling(*poll, ("patch", "pods/status", "too-large"), hertz=5).verdict(), "passed", "", "5.0")


def test_the_most_frequent_request_is_named_and_not_the_first() -> None:
    h = polling(("get", "nodes", "node-1"), hertz=1)
    begin = next(record["at"] for record in h.records if record["kind"] == "calm")
    for number in range(400):
        h.request("create", "events", f"event-{number}", received=begin + number / 1000)
    told(h.verdict(), "failed", "too-many-requests", "100")


def test_paths_that_are_no_resource_count() -> None:
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
    """Requests about a pod, verb and body, before it is bound."""
    h = HistoryBuilder("core/binds")
    h.pod("probe-1")
    for verb, body in requests:
        h.request(verb, "pods", "probe-1", body=body, code=code)
    if bound:
        h.bind("probe-1", "node-1")
    return h


def test_who_posts_bindings_passes_both() -> None:
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
def test_who_writes_a_node_into_a_pod_fails_also_where_that_was_refused(verb: str, body: Any) -> None:
    told(placing((verb, body)).verdict(NO_PATCH), "failed", "node-name-written", "spec.nodeName", "sp-tested/probe-1")


def test_an_update_of_a_pod_that_is_bound_has_its_node_and_passes() -> None:
    h = placing()
    h.request("update", "pods", "probe-1", body=ON_A_NODE)
    assert h.verdict(NO_PATCH).outcome == "passed"


def test_a_patch_that_only_asks_for_the_node_writes_none() -> None:
    guarded = [{"op": "test", "path": "/spec/nodeName", "value": "node-1"}, {"op": "add", "path": "/metadata/labels/a"}]
    assert placing(("patch", guarded), code=200).verdict(NO_PATCH).outcome == "passed"


def test_who_creates_a_pod_with_a_node_fails() -> None:
    told(
        placing(("create", ON_A_NODE), code=201).verdict(SUBRESOURCE),
        "failed",
        "pod-created-with-node",
        "spec.nodeName",
    )


@pytest.mark.parametrize("clause", [SUBRESOURCE, NO_PATCH])
def test_who_places_nothing_shows_nothing_of_how_it_does(clause: str) -> None:
    assert placing(bound=False).verdict(clause).outcome == "invalid"
