"""Summary of a finding about a fitting pod that was not bound, and the accounting of the harness's own pods."""

from __future__ import annotations

import pytest

from schedproof.history.acts import Halted

from .histories import HistoryBuilder, told

FIT = "core/fit-cpu"


def unbound(h: HistoryBuilder) -> str:
    h.expect("probe", "bound")
    verdict = h.verdict()
    assert verdict.outcome == "failed"
    return verdict.summary


def test_summary_quotes_the_condition_of_the_pod() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.condition("probe", reason="Unschedulable", message="no node has  a reading")
    assert '"Unschedulable: no node has a reading"' in unbound(h)


def test_long_condition_message_is_cut() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.condition("probe", reason="Unschedulable", message="no reading " * 500)
    summary = unbound(h)
    assert "no reading" in summary
    assert '..."' in summary
    assert len(summary) < 1000


def test_summary_names_a_refused_binding_and_its_remedy() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    for _ in range(3):
        h.attempt("probe", "node-1", code=403)
    h.attempt("probe", "node-1", code=500)
    summary = unbound(h)
    assert "403 3 times" in summary
    assert "spec.rbac" in summary


def test_summary_names_a_refused_binding_without_a_pod_name() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    for _ in range(2):
        h.request("create", "bindings", "", code=403)
    summary = unbound(h)
    assert "403 2 times" in summary
    assert "create bindings" in summary


@pytest.mark.parametrize(("uid", "expected"), [(True, True), (False, True), ("another", False)])
def test_summary_names_the_wrong_namespace_of_a_binding(uid: bool | str, expected: bool) -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.attempt("probe", "node-1", code=404)
    request = h.records[-1]
    request["namespace"] = "default"
    if uid != True:  # noqa: E712 - a text is another one's
        request["body"]["metadata"] = {"uid": uid} if uid else {}
    summary = unbound(h)
    assert ("sent to namespace default" in summary) == expected


def test_summary_names_only_the_most_frequent_failed_query_of_the_wait() -> None:
    h = HistoryBuilder(FIT)
    h.query("earlier", status=503)
    h.pod("probe")
    h.query("rare", status=422)
    h.query("frequent", status=400)
    h.query("frequent", status=400)
    summary = unbound(h)
    assert "400" in summary
    assert "frequent" in summary
    assert "rare" not in summary
    assert "earlier" not in summary


def test_summary_states_that_the_harness_broke_the_connection() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.query("rate(x[2s])", status=503, fault="503")
    assert "Prometheus, whose line the harness had broken, responded with 503" in unbound(h)


def test_summary_states_that_the_candidate_made_no_request() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    assert "no request" in unbound(h)


@pytest.mark.parametrize("role", ["settle", "sentinel"])
def test_unbound_harness_pod_that_fits_is_not_accounted_for(role: str) -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("own", role=role)
    h.condition("own", reason="Unschedulable")
    h.expect("own", "bound")
    h.end()
    h.over()
    told(h.verdict("core/all-accounted"), "failed", "not-bound-in-time", "own")


def test_harness_pod_that_fits_nowhere_is_accounted_for() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("own", role="sentinel", cpu="1000")
    h.condition("own", reason="Unschedulable")
    h.expect("own", "bound")
    h.end()
    h.over()
    assert h.verdict("core/all-accounted").outcome == "passed"


def test_timeline_shows_changes_of_nodes_and_connections_by_the_harness() -> None:
    h = HistoryBuilder("network/prometheus-down")
    h.fault("down")
    h.node("node-1", taints=[{"key": "k", "effect": "NoSchedule"}])
    h.node("node-2", unschedulable=True)
    h.node("node-new")
    h.remove_node("node-new")
    h.add(Halted(case="network/prometheus-down"))
    h.pod("probe", role="outage")
    h.expect("probe", "bound")
    lines = "\n".join(h.verdict().evidence.timeline)
    expected = (
        "prometheus: down",
        "on-outage: schedule",
        "k=:NoSchedule",
        "cordoned True",
        "joins",
        "deleted",
        "stops",
    )
    assert [words for words in expected if words not in lines] == []
