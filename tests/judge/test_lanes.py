"""The lanes of a case, from which its picture is drawn."""

from __future__ import annotations

from schedproof.history.observations import ExtenderCall, PrometheusQuery
from schedproof.judge.evidence import Lanes
from schedproof.judge.rulings.decisions import ruled_table
from schedproof.judge.rulings.lanes import lanes
from schedproof.judge.rulings.ruling import rule_binding

from .histories import HistoryBuilder

CASE = "network/least-traffic"


def picture(h: HistoryBuilder) -> Lanes:
    return lanes(h.history(), CASE)


def lane(made: Lanes, name: str) -> list[tuple[str, str]]:
    (found,) = [lane_ for lane_ in made.lanes if lane_.name == name]
    return [(event.kind, event.text) for event in found.events]


def tried() -> HistoryBuilder:
    h = HistoryBuilder(CASE)
    h.load(0, {"node-1": 100.0, "node-2": 1500.0})
    h.pod("network-least-traffic-probe-1", cpu="100m")
    h.add(PrometheusQuery(path="/api/v1/query", request="rate(x[2s])", status=400, answer="{}", seconds=0.005))
    h.add(
        ExtenderCall(request="filter", pod="sp-tested/probe-1", status=200, answer="{}", seconds=0.003, by="scheduler")
    )
    h.attempt("network-least-traffic-probe-1", "node-2", code=409)
    h.bind("network-least-traffic-probe-1", "node-1")
    h.pod("probe-2")
    h.request("patch", "pods/status", "probe-2", code=403)
    h.end()
    return h


def test_lane_of_a_pod_shows_waiting_refusal_and_binding() -> None:
    made = picture(tried())
    assert [kind for kind, _ in lane(made, "probe-1")] == ["waits", "refused", "bound"]
    assert {lane_.name: lane_.text for lane_ in made.lanes if lane_.kind == "pod"} == {
        "probe-1": "bound to node-1", "probe-2": "not bound",
    }  # fmt: skip


def test_requests_have_a_lane_for_each_connection_and_refusals_are_distinguished() -> None:
    made = picture(tried())
    assert [kind for kind, _ in lane(made, "asks Prometheus")] == ["refused"]
    assert [kind for kind, _ in lane(made, "kube-scheduler calls filter")] == ["answered"]
    assert [kind for kind, _ in lane(made, "binds")] == ["refused", "answered"]
    assert [kind for kind, _ in lane(made, "writes")] == ["refused"]
    assert [request.code for request in made.requests] == [409, 403, 201], "refusals first"


def test_times_are_within_the_case_and_loads_are_as_requested() -> None:
    made = picture(tried())
    assert [load.traffic for load in made.load] == [{"node-1": 100.0, "node-2": 1500.0}]
    for lane_ in made.lanes:
        assert all(0 <= event.at <= event.until <= made.seconds for event in lane_.events)


def test_unbound_pods_are_kept_when_lanes_are_limited() -> None:
    h = HistoryBuilder(CASE)
    for number in range(40):
        h.pod(f"probe-{number}")
        if number != 30:
            h.bind(f"probe-{number}", "node-1")
    h.end()
    made = picture(h)
    shown = [lane_.name for lane_ in made.lanes if lane_.kind == "pod"]
    assert (len(shown), made.more) == (12, 28)
    assert "probe-30" in shown


def test_harness_pods_have_a_lane_only_if_they_are_not_bound() -> None:
    h = HistoryBuilder(CASE)
    h.fence()
    h.pod("settle-9", role="settle")
    h.end()
    assert [lane_.name for lane_ in picture(h).lanes if lane_.kind == "pod"] == ["settle-9"]


def test_decision_has_the_free_resources_of_each_node() -> None:
    h = tried()
    history = h.history()
    binding = history.bindings[h.uid("network-least-traffic-probe-1")]
    rows = ruled_table(rule_binding(history, binding)).nodes
    assert all(set(row.room) == {"cpu", "pods"} for row in rows)
    assert all(row.room["cpu"].asked == 100 <= row.room["cpu"].free for row in rows)
