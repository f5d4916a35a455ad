"""What a finding says about a pod that fits and was not bound, and that the harness's own pods are accounted for."""

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


def test_the_condition_of_the_pod_is_quoted() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.condition("probe", reason="Unschedulable", message="no node has  a reading")
    assert '"Unschedulable: no node has a reading"' in unbound(h)


def test_a_long_text_is_cut() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.condition("probe", reason="Unschedulable", message="no reading " * 500)
    said = unbound(h)
    assert "no reading" in said
    assert '..."' in said
    assert len(said) < 1000


def test_a_refused_binding_is_named_with_its_remedy() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    for _ in range(3):
        h.attempt("probe", "node-1", code=403)
    h.attempt("probe", "node-1", code=500)
    said = unbound(h)
    assert "403 3 times" in said
    assert "spec.rbac" in said


def test_a_refused_binding_that_names_no_pod_is_shown_with_its_remedy() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    for _ in range(2):
        h.request("create", "bindings", "", code=403)
    said = unbound(h)
    assert "403 2 times" in said
    assert "create bindings" in said


@pytest.mark.parametrize(("uid", "told_of"), [(True, True), (False, True), ("another", False)])
def test_a_binding_in_another_namespace_is_shown_as_such(uid: bool | str, told_of: bool) -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.attempt("probe", "node-1", code=404)
    request = h.records[-1]
    request["namespace"] = "default"
    if uid != True:  # noqa: E712 - a text is another one's
        request["body"]["metadata"] = {"uid": uid} if uid else {}
    said = unbound(h)
    assert ("sent to namespace default" in said) == told_of


def test_what_it_was_answered_meanwhile_is_told_once_and_by_how_often() -> None:
    h = HistoryBuilder(FIT)
    h.query("earlier", status=503)
    h.pod("probe")
    h.query("rare", status=422)
    h.query("frequent", status=400)
    h.query("frequent", status=400)
    said = unbound(h)
    assert "400" in said
    assert "frequent" in said
    assert "rare" not in said
    assert "earlier" not in said


def test_what_the_harness_had_broken_is_not_blamed_on_who_answered() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    h.query("rate(x[2s])", status=503, fault="503")
    assert "Prometheus, whose line the harness had broken, responded with 503" in unbound(h)


def test_of_a_candidate_that_does_nothing_that_is_said() -> None:
    h = HistoryBuilder(FIT)
    h.pod("probe")
    assert "no request" in unbound(h)


@pytest.mark.parametrize("role", ["settle", "sentinel"])
def test_a_pod_of_the_harness_that_fits_and_is_not_bound_is_unaccounted_for(role: str) -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("own", role=role)
    h.condition("own", reason="Unschedulable")
    h.expect("own", "bound")
    h.end()
    h.over()
    told(h.verdict("core/all-accounted"), "failed", "not-bound-in-time", "own")


def test_one_that_fits_nowhere_is_accounted_for() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("own", role="sentinel", cpu="1000")
    h.condition("own", reason="Unschedulable")
    h.expect("own", "bound")
    h.end()
    h.over()
    assert h.verdict("core/all-accounted").outcome == "passed"


def test_the_timeline_tells_what_the_harness_did_to_nodes_and_lines() -> None:
    h = HistoryBuilder("network/prometheus-down")
    h.fault("down")
    h.node("node-1", taints=[{"key": "k", "effect": "NoSchedule"}])
    h.node("node-2", unschedulable=True)
    h.node("node-new")
    h.remove_node("node-new")
    h.add(Halted(case="network/prometheus-down"))
    h.pod("probe", role="outage")
    h.expect("probe", "bound")
    lines = "\n".join(h.verdict().evidence["timeline"])
    told_of = ("prometheus: down", "on-outage: schedule", "k=:NoSchedule", "cordoned True", "joins", "deleted", "stops")
    assert [words for words in told_of if words not in lines] == []
