"""What was seen beside a finding that may be its cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.judge import symptoms
from schedproof.judge.codes import CODES
from schedproof.judge.symptoms import KINDS
from schedproof.judge.verdict import Verdict, failed

from .histories import EXTENDER, HistoryBuilder

PROGRAM = "candidate scheduler.py"


def seen(verdict: Verdict) -> list[tuple[str, str]]:
    return [(one["kind"], one["about"]) for one in verdict.evidence["symptoms"]]


def unbound(*happens: Callable[[HistoryBuilder], object], deadline: str = "bind", **spec: Any) -> Verdict:
    """A pod that fits is not bound, while something happens."""
    h = HistoryBuilder()
    h.pod("probe-1", cpu="1", **spec)
    for one in happens:
        one(h)
    h.expect("probe-1", "bound", deadline=deadline)
    return h.verdict()


@pytest.mark.parametrize(("weight", "told_of"), [(92233720368547758, False), (92233720368547759, True), (None, False)])
def test_a_weight_beyond_int64_is_told_where_a_preference_is_not_followed(weight: int | None, told_of: bool) -> None:
    h = HistoryBuilder("network/least-traffic", extender={**EXTENDER, **({"weight": weight} if weight else {})})
    finding = failed("probe-not-on-quietest", "another node")
    found = symptoms.symptoms(h.history(), h.case, finding, whole_run=False)
    assert ("weight-overflows" in [one.kind for one in found]) == told_of
    assert not symptoms.symptoms(h.history(), h.case, failed("infeasible-node", "full"), whole_run=False)


def test_a_pod_that_is_not_bound_has_no_symptom_where_nothing_else_was_seen() -> None:
    assert seen(unbound()) == []


@pytest.mark.parametrize(
    ("code", "cause", "about"),
    [
        (1, "ValueError: Invalid value for `target`", "ValueError"),
        (1, "kubernetes.client.exceptions.ApiException: (403)", "kubernetes.client.exceptions.ApiException"),
        (2, "panic: runtime error: integer divide by zero\n  in score (score.go:7)",
         "panic: runtime error: integer divide by zero"),
        (3, "", "code 3"),
        (None, "", "an unknown code"),
    ],
)  # fmt: skip
def test_a_process_that_ended_by_itself(code: int | None, cause: str, about: str) -> None:
    verdict = unbound(lambda h: h.process(PROGRAM, "exited", code=code, cause=cause))
    assert seen(verdict) == [("process-ended", about)]


def test_of_a_process_that_ended_the_request_before_is_named() -> None:
    verdict = unbound(
        lambda h: h.request("list", "nodes", ""), lambda h: h.process(PROGRAM, "exited", code=1, cause="OSError: x")
    )
    (symptom,) = verdict.evidence["symptoms"]
    assert "list nodes" in symptom["text"]
    assert "OSError: x" in symptom["text"]


def test_a_process_that_the_harness_stopped_is_no_symptom() -> None:
    assert seen(unbound(lambda h: h.process(PROGRAM, "stopped", code=-15))) == []


def test_requests_that_are_refused() -> None:
    """Bindings before all others; what is read once may have been tried out."""

    def refused(verb: str, resource: str, code: int, times: int = 1) -> Callable[[HistoryBuilder], None]:
        return lambda h: [h.request(verb, resource, "probe-1", code=code) for _ in range(times)] and None

    assert seen(unbound(refused("create", "pods/binding", 403), refused("create", "events", 403, 5)))[0] == (
        "request-refused", "create pods/binding: 403",
    )  # fmt: skip
    assert seen(unbound(refused("list", "nodes", 403))) == []
    assert seen(unbound(refused("list", "nodes", 403, 2))) == [("request-refused", "list nodes: 403")]
    assert seen(unbound(refused("patch", "pods/status", 422))) == [("request-refused", "patch pods/status: 422")]
    assert seen(unbound(refused("create", "events", 404))) == []


def test_an_answer_of_the_extender_that_kube_scheduler_cannot_use() -> None:
    assert seen(unbound(lambda h: h.call("filter", status=500, answer="oh"))) == [("call-unanswered", "filter: 500")]
    unreadable = unbound(lambda h: h.call("filter", unreadable="no JSON"))
    assert seen(unreadable) == [("call-unanswered", "filter: 200")]
    assert seen(unbound(lambda h: h.call("filter", status=500, fault="503"))) == [], "the harness has done that"
    assert seen(unbound(lambda h: h.call("filter"))) == []


def test_queries_that_prometheus_refuses_or_that_find_nothing() -> None:
    error = '{"status":"error","error":"cannot parse timeout"}'
    refused = unbound(lambda h: h.query(status=400, answer=error))
    assert seen(refused) == [("query-refused", "400")]
    assert "cannot parse timeout" in refused.evidence["symptoms"][0]["text"]
    empty = '{"status":"success","data":{"resultType":"vector","result":[]}}'
    assert seen(unbound(lambda h: h.query(answer=empty))) == [("query-without-result", "")]
    assert seen(unbound(lambda h: h.query(answer=empty), lambda h: h.query(answer='{"result":[1]}'))) == []
    assert seen(unbound(lambda h: h.query(status=503, answer="x", fault="503"))) == []


def test_a_pod_that_is_not_bound_in_an_outage_of_prometheus() -> None:
    empty = '{"result":[]}'
    assert seen(unbound(lambda h: h.fault("empty"), lambda h: h.query(answer=empty))) == [("needs-readings", "")]
    healed = unbound(lambda h: h.fault("down"), lambda h: h.fault(""), lambda h: h.query(answer=empty))
    assert seen(healed) == [("query-without-result", "")]
    assert seen(unbound(lambda h: h.fault("cut", "apiserver"))) == []


def test_a_pod_that_is_not_tried_again() -> None:
    assert seen(unbound(lambda h: h.attempt("probe-1", "node-1", code=500))) == [("never-retried", "")]
    assert seen(unbound(deadline="requeue")) == [("never-retried", "")]
    assert seen(unbound(lambda h: h.attempt("probe-1", "node-1", code=500), lambda h: h.attempt("probe-1", "node-2")))\
        == []  # fmt: skip


def test_each_rule_that_placements_break_the_most_frequent_first() -> None:
    h = HistoryBuilder()
    h.node("node-1", taints=[{"key": "a", "effect": "NoSchedule"}])
    h.node("node-2", unschedulable=True)
    h.seen()
    for number, node in enumerate(("node-1", "node-2", "node-1"), 1):
        h.pod(f"probe-{number}", cpu="1")
        h.bind(f"probe-{number}", node)
    h.pod("large", cpu="100")
    h.bind("large", "node-1")
    verdict = h.verdict()
    assert verdict.code == "infeasible-node"
    assert seen(verdict) == [("rule-ignored", rule) for rule in ("taints", "cordon", "resources")]
    assert "node-2" in verdict.evidence["symptoms"][1]["text"]


def test_what_passed_has_none() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu="1")
    h.process(PROGRAM, "exited", code=1, cause="OSError")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert "symptoms" not in h.verdict().evidence


def test_each_kind_says_what_it_means_and_what_to_do() -> None:
    assert all(kind.meaning and kind.remedy for kind in KINDS.values())


def test_what_each_kind_leads_to_is_a_code_of_a_finding() -> None:
    assert symptoms._EXPLAINED.keys() == KINDS.keys()
    assert frozenset().union(*symptoms._EXPLAINED.values()) <= CODES.keys()
