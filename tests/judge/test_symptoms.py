"""Symptoms: observations beside a finding that may be its cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.history.acts import LeftOut, Unblocked, WorldSearch
from schedproof.judge import symptoms
from schedproof.judge.causes import causes_of
from schedproof.judge.codes import CODES
from schedproof.judge.shown import Shown
from schedproof.judge.symptoms import KINDS
from schedproof.judge.verdict import Verdict, failed

from .histories import CAPABILITIES, EXTENDER, HARNESS_USER, NAMESPACE, NETWORK, HistoryBuilder
from .probing import LEAST, ROTATION, tried

PROGRAM = "candidate scheduler.py"
PROBE = f"{NAMESPACE}/probe-0-0"
RATE = f"rate({NETWORK.metric}[2s])"
EMPTY = '{"status":"success","data":{"resultType":"vector","result":[]}}'


def seen(verdict: Verdict) -> list[tuple[str, str]]:
    return [(symptom.kind, symptom.about) for symptom in verdict.evidence.symptoms]


def unbound(*happens: Callable[[HistoryBuilder], object], deadline: str = "bind", **spec: Any) -> Verdict:
    """Verdict for a fitting pod that is not bound, while `happens` is recorded."""
    h = HistoryBuilder()
    h.request("get", "leases", "")
    h.pod("probe-1", cpu="1", **spec)
    for record in happens:
        record(h)
    h.expect("probe-1", "bound", deadline=deadline)
    return h.verdict()


@pytest.mark.parametrize(("weight", "expected"), [(92233720368547758, False), (92233720368547759, True), (None, False)])
def test_weight_overflow_is_a_symptom_of_an_ignored_preference(weight: int | None, expected: bool) -> None:
    h = HistoryBuilder("network/least-traffic", extender={**EXTENDER, **({"weight": weight} if weight else {})})
    finding = failed("probe-not-on-quietest", "another node")
    found = symptoms.symptoms(h.history(), h.case, finding, Shown(), whole_run=False)
    assert ("weight-overflows" in [symptom.kind for symptom in found]) == expected
    assert not symptoms.symptoms(h.history(), h.case, failed("infeasible-node", "full"), Shown(), whole_run=False)


def test_unbound_pod_without_other_observations_has_no_symptom() -> None:
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
def test_process_that_exited_is_a_symptom(code: int | None, cause: str, about: str) -> None:
    verdict = unbound(lambda h: h.process(PROGRAM, "exited", code=code, cause=cause))
    assert seen(verdict) == [("process-ended", about)]


def test_symptom_of_an_exit_names_the_last_request() -> None:
    verdict = unbound(
        lambda h: h.request("list", "nodes", ""), lambda h: h.process(PROGRAM, "exited", code=1, cause="OSError: x")
    )
    (symptom,) = verdict.evidence.symptoms
    assert "list nodes" in symptom.text
    assert "OSError: x" in symptom.text


def test_process_stopped_by_the_harness_is_no_symptom() -> None:
    assert seen(unbound(lambda h: h.process(PROGRAM, "stopped", code=-15))) == []


def test_a_candidate_that_has_sent_nothing_since_its_start_is_named() -> None:
    def first_symptom(*happens: Callable[[HistoryBuilder], object], **more: Any) -> str:
        h = HistoryBuilder(**more)
        h.pod("probe-1", cpu="1")
        for record in happens:
            record(h)
        h.expect("probe-1", "bound")
        return next((kind for kind, _ in seen(h.verdict())), "")

    assert first_symptom() == "nothing-sent"
    assert first_symptom(lambda h: h.process(PROGRAM, "exited", code=1)) == "process-ended"
    assert first_symptom(lambda h: h.request("get", "leases", "", by=HARNESS_USER)) == "nothing-sent"
    assert first_symptom(lambda h: h.request("get", "leases", "")) == ""
    assert first_symptom(lambda h: h.request("list", "pods", "", by="", code=401)) == "", "it may be the candidate's"
    assert first_symptom(lambda h: h.query()) == "", "it reads Prometheus before it schedules"
    assert first_symptom(capabilities=CAPABILITIES - {"audit"}) == "", "nothing is known of its requests"


def test_a_candidate_that_tries_no_pod_of_its_own_is_named() -> None:
    def reads_pods(h: HistoryBuilder) -> None:
        h.request("watch", "pods", "")

    assert seen(unbound(reads_pods)) == [("none-tried", "")]
    assert seen(unbound(reads_pods, lambda h: h.request("create", "pods/binding", "bystander"))) == [("none-tried", "")]
    assert ("none-tried", "") not in seen(unbound(reads_pods, lambda h: h.attempt("probe-1", "node-1", code=500)))
    assert seen(unbound(reads_pods, lambda h: h.request("patch", "pods/status", "probe-1"))) == []
    assert seen(unbound(reads_pods, lambda h: h.request("create", "events", "probe-1.1"))) == []
    assert seen(unbound(lambda h: h.request("list", "pods", "", code=403))) == []


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (lambda h: h.call("prioritize", unreadable="it is no list", pod=PROBE), ("call-unanswered", "prioritize: 200")),
        (lambda h: h.call("prioritise", status=404, answer="x", pod=PROBE), ("call-unanswered", "prioritise: 404")),
        (lambda h: h.call("prioritize", status=0, pod=PROBE), ("call-unanswered", "prioritize: no response")),
        (lambda h: h.query(status=400, answer='{"error": "parse error"}'), ("query-refused", "400")),
        (lambda h: h.query("rate(recieve[2s])", answer=EMPTY), ("query-without-result", "")),
        (
            lambda h: [h.query("up", answer='{"result":[1]}'), h.query("rate(recieve[2s])", answer=EMPTY)],
            ("query-without-result", ""),
        ),
        (
            lambda h: [h.request("get", "configmaps", "policy", code=403) for _ in range(2)],
            ("request-refused", "get configmaps: 403"),
        ),
    ],
)
def test_a_fact_explains_a_choice_before_its_pattern(
    fact: Callable[[HistoryBuilder], object], expected: tuple[str, str]
) -> None:
    verdict = chosen(fact)
    assert verdict.evidence.pattern == "one-node"
    assert seen(verdict) == [expected, ("preference", "one-node")]
    (cause,) = causes_of([verdict])
    assert (cause.kind, cause.about) == expected


@pytest.mark.parametrize(
    "no_fact",
    [
        lambda h: h.query(RATE, answer='{"result":[1]}'),
        lambda h: [h.query(RATE, answer='{"result":[1]}'), h.query("alerts > 1", answer=EMPTY)],
        lambda h: [h.query(RATE, answer='{"result":[1]}'), h.query(RATE, answer=EMPTY)],
        lambda h: h.call("prioritize", unreadable="it is no list", pod="sp-tested/another"),
        lambda h: h.call("prioritize", status=503, fault="503", pod=PROBE),
        lambda h: [h.request("create", "events", "", code=403) for _ in range(3)],
        lambda h: h.request("get", "configmaps", "policy", code=403),
        lambda h: [h.load(2, {"node-1": 1.0}), h.query(RATE, answer=EMPTY)],
        lambda h: [h.fault("empty"), h.query(RATE, answer=EMPTY), h.fault("")],
    ],
)
def test_what_does_not_concern_the_choice_leaves_the_pattern(no_fact: Callable[[HistoryBuilder], object]) -> None:
    assert seen(chosen(no_fact)) == [("preference", "one-node")]


def chosen(happens: Callable[[HistoryBuilder], object]) -> Verdict:
    """Verdict on probes that all went to one node, after `happens` was recorded."""
    h = HistoryBuilder(LEAST)
    h.request("get", "leases", "")
    h.load(0, ROTATION[0])
    happens(h)
    tried(choose=lambda _: "node-2", world=h)
    h.end()
    return h.verdict()


def test_refused_requests_are_symptoms() -> None:
    """Bindings are listed first; a refused read that is not repeated may have been a probe."""

    def refused(verb: str, resource: str, code: int, times: int = 1) -> Callable[[HistoryBuilder], None]:
        return lambda h: [h.request(verb, resource, "probe-1", code=code) for _ in range(times)] and None

    assert seen(unbound(refused("create", "pods/binding", 403), refused("create", "events", 403, 5)))[0] == (
        "request-refused", "create pods/binding: 403",
    )  # fmt: skip
    assert seen(unbound(refused("list", "nodes", 403))) == []
    assert seen(unbound(refused("list", "nodes", 403, 2))) == [("request-refused", "list nodes: 403")]
    assert seen(unbound(refused("patch", "pods/status", 422))) == [("request-refused", "patch pods/status: 422")]
    assert seen(unbound(refused("create", "events", 404))) == []


def test_unusable_extender_answer_is_a_symptom() -> None:
    assert seen(unbound(lambda h: h.call("filter", status=500, answer="oh"))) == [("call-unanswered", "filter: 500")]
    unreadable = unbound(lambda h: h.call("filter", unreadable="no JSON"))
    assert seen(unreadable) == [("call-unanswered", "filter: 200")]
    assert seen(unbound(lambda h: h.call("filter", status=500, fault="503"))) == [], "the harness has done that"
    assert seen(unbound(lambda h: h.call("filter"))) == []


def test_refused_or_empty_queries_are_symptoms() -> None:
    error = '{"status":"error","error":"cannot parse timeout"}'
    refused = unbound(lambda h: h.query(status=400, answer=error))
    assert seen(refused) == [("query-refused", "400")]
    assert "cannot parse timeout" in refused.evidence.symptoms[0].text
    empty = '{"status":"success","data":{"resultType":"vector","result":[]}}'
    assert seen(unbound(lambda h: h.query(answer=empty))) == [("query-without-result", "")]
    assert seen(unbound(lambda h: h.query(answer=empty), lambda h: h.query(answer='{"result":[1]}'))) == []
    assert seen(unbound(lambda h: h.query(status=503, answer="x", fault="503"))) == []


def test_unbound_pod_during_a_prometheus_outage_needs_readings() -> None:
    empty = '{"result":[]}'
    assert seen(unbound(lambda h: h.fault("empty"), lambda h: h.query(answer=empty))) == [("needs-readings", "")]
    healed = unbound(lambda h: h.fault("down"), lambda h: h.fault(""), lambda h: h.query(answer=empty))
    assert seen(healed) == [("query-without-result", "")]
    assert seen(unbound(lambda h: h.fault("cut", "apiserver"))) == []


def test_pod_that_is_not_retried_is_a_symptom() -> None:
    assert seen(unbound(lambda h: h.attempt("probe-1", "node-1", code=500))) == [("never-retried", "")]
    assert seen(unbound(deadline="requeue")) == [("never-retried", "")]
    assert seen(unbound(lambda h: h.attempt("probe-1", "node-1", code=500), lambda h: h.attempt("probe-1", "node-2")))\
        == []  # fmt: skip


def test_a_kind_of_variation_that_keeps_pods_unbound_is_a_symptom_instead_of_a_missing_retry() -> None:
    """Also in the clause about this kind, if that is tried later."""

    def tried_in(clause: str) -> list[tuple[str, str]]:
        h.begin(clause)
        h.pod(f"probe-{clause[5:]}", cpu="1")
        h.expect(f"probe-{clause[5:]}", "bound", deadline="requeue")
        h.end()
        return seen(h.verdict())

    h = HistoryBuilder("core/fit-memory")
    h.request("get", "leases", "")
    h.end()
    assert tried_in("core/node-affinity") == [("never-retried", "")], "nothing is known yet"
    h.begin("core/fit-cpu")
    h.pod("probe-1", cpu="1")
    h.expect("probe-1", "bound", deadline="requeue")
    h.end()
    assert seen(h.verdict()) == [("never-retried", "")]
    h.add(LeftOut(case="core/fit-cpu", kinds={"node affinity": "core/node-affinity"}))
    assert seen(h.verdict()) == [("unbound-with", "node affinity")]
    assert seen(h.verdict("core/node-affinity")) == [("never-retried", "")], "nothing was known then"
    assert tried_in("core/node-selector") == [("never-retried", "")]
    assert tried_in("core/node-affinity") == [("unbound-with", "node affinity")]


def test_pods_that_block_all_others_explain_what_is_not_bound() -> None:
    h = HistoryBuilder("core/binds")
    h.request("get", "leases", "")
    h.pod("probe-1", cpu="1")
    h.expect("probe-1", "bound", deadline="requeue")
    h.end()
    assert seen(h.verdict()) == [("never-retried", "")]
    h.add(Unblocked(case="core/binds"))
    assert seen(h.verdict()) == [("blocked", "")]


@pytest.mark.parametrize(
    ("search", "kinds"),
    [
        ({"id": "1", "events": ["a restart"]}, ["outdated"]),
        ({"id": "1", "events": ["a restart"], "steady": False}, ["rule-ignored"]),
        ({"id": "1", "events": []}, ["rule-ignored"]),
        ({"events": ["a restart"]}, ["rule-ignored"]),
        ({"id": "1", "events": ["a restart"], "case": "core/random-worlds"}, ["rule-ignored"]),
    ],
)
def test_an_event_without_which_a_world_passes_explains_its_pods(search: dict[str, Any], kinds: list[str]) -> None:
    h = HistoryBuilder()
    h.node("node-1", taints=[{"key": "a", "effect": "NoSchedule"}])
    h.seen()
    h.pod("probe-1", cpu="1")
    h.bind("probe-1", "node-1")
    h.add(WorldSearch(**{"case": h.case, "worlds": 1, **search}))
    assert [symptom.kind for symptom in h.verdict().evidence.symptoms] == kinds


def test_ignored_rules_are_listed_by_frequency() -> None:
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
    assert "node-2" in verdict.evidence.symptoms[1].text


def test_passed_verdict_has_no_symptoms() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu="1")
    h.process(PROGRAM, "exited", code=1, cause="OSError")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert "symptoms" not in h.verdict().evidence.model_fields_set


def test_each_kind_of_symptom_has_a_meaning_and_a_remedy() -> None:
    assert all(kind.meaning and kind.remedy for kind in KINDS.values())


def test_codes_explained_by_symptoms_exist() -> None:
    assert symptoms._EXPLAINED.keys() == KINDS.keys()
    assert frozenset().union(*symptoms._EXPLAINED.values()) <= CODES.keys()
