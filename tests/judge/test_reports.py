"""core/all-accounted: reports that a pod is Unschedulable, which were so in some view or in none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from schedproof.candidate.claims import Claims

from .histories import CLAIMS, HARNESS_USER, HistoryBuilder

ACCOUNTED = "core/all-accounted"
HERE = {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}
PLAIN = dataclasses.replace(CLAIMS, network=None)


def run(claims: Claims = PLAIN, **candidate: Any) -> HistoryBuilder:
    """A node with four CPUs, of which three are held. `candidate`: by default a controller."""
    h = HistoryBuilder("core/fit-cpu", claims=claims)
    h.records[0]["candidate"] |= {"kind": "controller", "extender": None, **candidate}
    h.node("node-1", cpu="4")
    h.pod("holder", cpu="3", **HERE)
    h.bind("holder", "node-1")
    h.seen()
    return h


def reported(h: HistoryBuilder, cpus: str = "1", reason: str = "Unschedulable", **spec: Any) -> HistoryBuilder:
    h.pod("p", cpu=cpus, **{**HERE, **spec})
    h.condition("p", reason=reason, message="0/5 nodes are available")
    return h


def code(h: HistoryBuilder) -> str:
    return h.verdict(ACCOUNTED).code


def test_report_of_a_pod_that_always_fitted_is_untrue() -> None:
    assert code(reported(run())) == "report-untrue"


@pytest.mark.parametrize(
    "spec", [{"cpus": "2"}, {"reason": "SchedulerError"}, {"schedulingGates": [{"name": "g"}]}], ids=str
)
def test_true_reports_and_those_of_other_reasons_pass(spec: dict[str, Any]) -> None:
    assert code(reported(run(), **spec)) != "report-untrue"


def fuller(h: HistoryBuilder) -> None:
    h.pod("other", role="filler", scheduler="others", cpu="1", **HERE)
    h.place("other", "node-1")


def full_for_a_moment(h: HistoryBuilder) -> None:
    fuller(h)
    h.delete("other")


def binding_refused(h: HistoryBuilder) -> None:
    h.pod("other", cpu="1", **HERE)
    h.attempt("other", "node-1", code=500)


def nominated(h: HistoryBuilder) -> None:
    h.pod("other", cpu="1", priority=10, **HERE)
    h.nominate("other", "node-1")


def cordoned(h: HistoryBuilder) -> None:
    h.node("node-1", cpu="4", unschedulable=True)
    h.node("node-1", cpu="4")


@pytest.mark.parametrize("happens", [fuller, full_for_a_moment, binding_refused, nominated, cordoned])
def test_report_that_some_view_explains_passes(happens: Callable[[HistoryBuilder], None]) -> None:
    h = run()
    h.pod("p", cpu="1", **HERE)
    happens(h)
    h.condition("p", reason="Unschedulable", message="0/5 nodes are available")
    assert code(h) != "report-untrue"


def test_report_on_what_a_pod_asked_for_before_passes() -> None:
    h = run()
    h.pod("p", cpu="1", nodeSelector={"absent": "yes"})
    h.change("p", **HERE)
    h.condition("p", reason="Unschedulable", message="0/5 nodes are available")
    assert code(h) != "report-untrue"


@pytest.mark.parametrize(
    ("candidate", "code_"),
    [
        ({"kind": "attached"}, ""),
        ({"kind": "plugin", "plugin": {"package": "./x"}}, ""),
        ({"kind": "plugin", "plugin": {"binary": "kube-scheduler"}}, "report-untrue"),
        ({"kind": "extender", "extender": {"config": {"filterVerb": "filter"}}}, ""),
        ({"kind": "extender", "extender": {"config": {"prioritizeVerb": "prioritize"}}}, "report-untrue"),
    ],
    ids=str,
)
def test_candidates_that_may_have_filters_of_their_own_are_not_judged(candidate: dict[str, Any], code_: str) -> None:
    assert code(reported(run(**candidate))) == code_


@pytest.mark.parametrize("policy", [{"on_missing": "reject"}, {"on_outage": "wait"}, {"on_missing": None}], ids=str)
def test_candidate_that_may_wait_for_readings_is_not_judged(policy: dict[str, Any]) -> None:
    assert CLAIMS.network is not None
    network = dataclasses.replace(CLAIMS.network, **policy)
    assert code(reported(run(dataclasses.replace(CLAIMS, network=network)))) != "report-untrue"


def test_gangs_are_not_judged() -> None:
    assert code(reported(run(dataclasses.replace(PLAIN, features=("gang",))))) != "report-untrue"


def late_report(*, by: str = "", reason: str = "Unschedulable") -> str:
    """The code for a pod that did not fit, is bound, and is reported as `reason` afterwards. `by`: who bound it."""
    h = reported(run(), "2")
    h.delete("holder")
    h.bind("p", "node-1", **({"by": by} if by else {}))
    h.condition("p", reason=reason, message="0/5 nodes are available")
    return code(h)


def test_report_of_a_pod_that_is_bound_is_untrue() -> None:
    assert late_report() == "bound-called-unschedulable"


def test_another_reason_or_a_binding_of_another_client_is_no_untrue_report() -> None:
    # kube-scheduler reports a SchedulerError if the answer to a Binding that took effect is lost.
    assert late_report(reason="SchedulerError") != "bound-called-unschedulable"
    assert late_report(by=HARNESS_USER) != "bound-called-unschedulable"
