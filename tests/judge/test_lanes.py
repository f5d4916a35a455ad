"""The lanes of a case: what a picture of it is made from."""

from __future__ import annotations

from typing import Any

from schedproof.history.observations import ExtenderCall, PrometheusQuery
from schedproof.judge.rulings.evidence import ruled_table
from schedproof.judge.rulings.lanes import lanes
from schedproof.judge.rulings.ruling import rule_binding

from .histories import HistoryBuilder

CASE = "network/least-traffic"


def picture(h: HistoryBuilder) -> dict[str, Any]:
    made: dict[str, Any] = lanes(h.history(), CASE).make()
    return made


def lane(made: dict[str, Any], name: str) -> list[tuple[str, str]]:
    (found,) = [one for one in made["lanes"] if one["name"] == name]
    return [(event["kind"], event["text"]) for event in found["events"]]


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


def test_a_pod_waits_is_refused_and_bound_in_its_lane() -> None:
    made = picture(tried())
    assert [kind for kind, _ in lane(made, "probe-1")] == ["waits", "refused", "bound"]
    assert {one["name"]: one["text"] for one in made["lanes"] if one["kind"] == "pod"} == {
        "probe-1": "bound to node-1", "probe-2": "not bound",
    }  # fmt: skip


def test_requests_have_a_lane_for_each_line_and_refusals_are_told_apart() -> None:
    made = picture(tried())
    assert [kind for kind, _ in lane(made, "asks Prometheus")] == ["refused"]
    assert [kind for kind, _ in lane(made, "kube-scheduler calls filter")] == ["answered"]
    assert [kind for kind, _ in lane(made, "binds")] == ["refused", "answered"]
    assert [kind for kind, _ in lane(made, "writes")] == ["refused"]
    assert [one["code"] for one in made["requests"]] == [409, 403, 201], "refusals first"


def test_times_are_within_the_case_and_the_load_is_as_it_was_asked_for() -> None:
    made = picture(tried())
    assert [one["traffic"] for one in made["load"]] == [{"node-1": 100.0, "node-2": 1500.0}]
    for one in made["lanes"]:
        assert all(0 <= event["at"] <= event["until"] <= made["seconds"] for event in one["events"])


def test_many_pods_leave_those_that_waited_in_vain() -> None:
    h = HistoryBuilder(CASE)
    for number in range(40):
        h.pod(f"probe-{number}")
        if number != 30:
            h.bind(f"probe-{number}", "node-1")
    h.end()
    made = picture(h)
    shown = [one["name"] for one in made["lanes"] if one["kind"] == "pod"]
    assert (len(shown), made["more"]) == (12, 28)
    assert "probe-30" in shown


def test_pods_of_the_harness_s_own_have_no_lane_unless_something_went_wrong() -> None:
    h = HistoryBuilder(CASE)
    h.fence()
    h.pod("settle-9", role="settle")
    h.end()
    assert [one["name"] for one in picture(h)["lanes"] if one["kind"] == "pod"] == ["settle-9"]


def test_a_decision_has_what_is_free_for_the_pod() -> None:
    h = tried()
    history = h.history()
    binding = history.bindings[h.uid("network-least-traffic-probe-1")]
    rows = ruled_table(rule_binding(history, binding))["nodes"]
    assert all(set(row["room"]) == {"cpu", "pods"} for row in rows)
    assert all(row["room"]["cpu"]["asked"] == 100 <= row["room"]["cpu"]["free"] for row in rows)
