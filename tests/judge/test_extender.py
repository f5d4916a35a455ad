"""The extender's HTTP contract, as recorded by the tap between kube-scheduler and the extender."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from schedproof.candidate.claims import Claims
from schedproof.judge.clauses.extender.answers import ROLES

from .histories import CLAIMS, EXTENDER, NETWORK, NODES, HistoryBuilder, told

VERBS, MODE, SUBSET = "extender/verbs-served", "extender/cache-capable", "extender/filter-subset"
RANGE, MALFORMED = "extender/prioritize-range", "extender/malformed"
COMPLETE, INTEGERS = "extender/prioritize-complete", "extender/prioritize-integers"
DUPLICATES, ANSWERS = "extender/prioritize-no-duplicates", "extender/answers"
WHOLE = {**EXTENDER, "nodeCacheCapable": False}
MANY = [f"node-{n}" for n in range(1, 13)]
"""One node more than there are scores."""

NODES_ANSWER = {"mode": "nodes", "answered_mode": "nodes"}


def cycle(h: HistoryBuilder, *, bound: bool = True, **verbs: Mapping[str, Any] | None) -> HistoryBuilder:
    """Run one scheduling cycle: call each verb that is not None; then the pod is bound if `bound`."""
    h.pod("probe-1")
    for verb in ("filter", "prioritize"):
        if (fields := verbs.get(verb, {})) is not None:
            h.call(verb, **fields)
    if bound:
        h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    return h


# -- extender/verbs-served


def test_configured_verbs_that_answer_pass() -> None:
    told(cycle(HistoryBuilder(VERBS)).verdict(), "passed", "", "filterVerb", "prioritizeVerb", "200")


def test_verb_that_is_not_configured_need_not_be_called() -> None:
    h = cycle(HistoryBuilder(VERBS, extender={"filterVerb": "filter"}), prioritize=None)
    told(h.verdict(), "passed", "", "filterVerb")


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({"status": 404, "json": False, "answer": "not found"}, ("404", "not found")),
        ({"status": 500, "error": "out of order"}, ("500", "out of order")),
        ({"status": 0, "json": False}, ()),
        ({"json": False, "answer": "<html>"}, ("200", "<html>")),
    ],
)
def test_configured_verb_that_does_not_answer_fails(verb: str, fields: dict[str, Any], facts: Any) -> None:
    calls: dict[str, Any] = {verb: fields}
    verdict = cycle(HistoryBuilder(VERBS), **calls).verdict()
    told(verdict, "failed", "call-failed", f"{verb}Verb", *facts)
    assert ("ignores that silently" in verdict.summary) == (verb == "prioritize")


BINDING = {"bindVerb": "bind", "managedResources": [{"name": "example.com/thing"}]}
PREEMPTING = {"preemptVerb": "preempt", "managedResources": [{"name": "example.com/thing"}]}


@pytest.mark.parametrize(
    ("clause", "config"),
    [
        *((f"extender/{name}", config) for config in (BINDING, PREEMPTING) for name in (
            "both-cache-modes", "cache-capable", "concurrent", "empty-nodes", "failed-reasons", "filter-subset",
            "idempotent", "large", "prioritize-complete", "prioritize-integers", "prioritize-no-duplicates",
            "prioritize-range", "tls", "unknown-fields",
        )),
        *((f"extender/{name}", PREEMPTING) for name in (
            "answers", "bind-again", "bind-binds", "bind-error", "managed-resources", "managed-room", "required-down",
            "slow",
        )),
        *((f"extender/bind-{name}", EXTENDER) for name in ("again", "binds", "error")),
    ],
)  # fmt: skip
def test_clause_about_a_verb_that_is_not_configured_is_not_claimed(clause: str, config: dict[str, Any]) -> None:
    claims = dataclasses.replace(CLAIMS, features=("both-cache-modes", "managed-resources", "tls"))
    h = HistoryBuilder(clause, extender=config, claims=claims)
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    told(h.verdict(), "not-claimed", "not-applicable")


def test_bind_verb_must_be_called_and_answer() -> None:
    h = cycle(HistoryBuilder(VERBS, extender={**EXTENDER, "bindVerb": "bind"}))
    told(h.verdict(), "invalid", "not-called", "bindVerb")
    h.call("bind", status=404, json=False)
    told(h.verdict(), "failed", "call-failed", "bindVerb", "404")


def test_unbound_pod_fails_whatever_the_extender_answers() -> None:
    told(cycle(HistoryBuilder(VERBS), bound=False).verdict(), "failed", "not-bound-in-time", "probe-1")
    told(cycle(HistoryBuilder(VERBS), bound=False, prioritize=None).verdict(), "failed", "not-bound-in-time", "probe-1")


def test_verb_not_called_in_the_case_is_invalid() -> None:
    h = HistoryBuilder("core/binds")
    h.call("prioritize")
    h.end()
    h.begin(VERBS)
    told(cycle(h, prioritize=None).verdict(), "invalid", "not-called", "prioritizeVerb")


def test_calls_of_the_harness_do_not_count() -> None:
    h = cycle(HistoryBuilder(VERBS), prioritize={"by": "harness"})
    told(h.verdict(), "invalid", "not-called", "prioritizeVerb")


def test_verb_whose_name_ends_like_another_is_distinguished() -> None:
    verbs = {"filterVerb": "sort", "prioritizeVerb": "resort"}
    h = HistoryBuilder(VERBS, extender=verbs)
    cycle(h, filter={"request": "v1/resort", "status": 404, "json": False}, prioritize={"request": "v1/sort"})
    told(h.verdict(), "failed", "call-failed", "prioritizeVerb", "v1/resort", "404")


def test_preempt_verb_is_judged_by_calls_of_the_harness() -> None:
    config = {**EXTENDER, "preemptVerb": "preempt"}
    told(cycle(HistoryBuilder(VERBS, extender=config)).verdict(), "invalid", "not-called", "preemptVerb")
    ours = {"by": "harness", "case": VERBS, "verb": "preempt", "what": "a preemption"}
    h = cycle(HistoryBuilder(VERBS, extender=config))
    h.call("preempt", **ours)
    told(h.verdict(), "passed", "", "preemptVerb")
    h.call("preempt", **ours, status=404, json=False, answer="not found")
    told(h.verdict(), "failed", "call-failed", "preemptVerb", "404")


def after_some_time(h: HistoryBuilder) -> HistoryBuilder:
    """Let time pass, so that a call which took seconds began within the case."""
    h.pass_time(10.0)
    return h


def test_verb_whose_answers_are_all_too_late_fails() -> None:
    h = cycle(after_some_time(HistoryBuilder(VERBS)), prioritize={"seconds": 5.5})
    told(h.verdict(), "failed", "call-too-slow", "5.5 s", "httpTimeout")
    h.call("prioritize", seconds=4.9)
    assert h.verdict().outcome == "passed"
    patient = {**EXTENDER, "httpTimeout": 6.0}
    h = cycle(after_some_time(HistoryBuilder(VERBS, extender=patient)), prioritize={"seconds": 5.5})
    assert h.verdict().outcome == "passed"


def test_call_broken_by_the_harness_does_not_count() -> None:
    h = cycle(HistoryBuilder(VERBS))
    h.call("filter", status=0, json=False, fault="hang")
    h.call("filter", status=307, json=False)
    assert h.verdict().outcome == "passed"


def test_call_ended_early_by_kube_scheduler_is_not_a_failure_of_the_extender() -> None:
    left = {"status": 0, "json": False, "broken": "the client ended the connection"}
    h = cycle(after_some_time(HistoryBuilder(VERBS)))
    h.call("filter", **left, seconds=0.1)
    told(h.verdict(), "passed", "", "200")
    h.call("filter", **left, seconds=6.0)  # longer than it waits
    told(h.verdict(), "failed", "call-failed")


# -- extender/cache-capable


@pytest.mark.parametrize(
    ("config", "filtered", "mode"),
    [(EXTENDER, {}, "names"), (WHOLE, NODES_ANSWER, "nodes")],
    ids=["names", "nodes"],
)
def test_answers_in_the_configured_cache_mode_pass(config: Any, filtered: dict[str, Any], mode: str) -> None:
    h = cycle(HistoryBuilder(MODE, extender=config), filter=filtered)
    told(h.verdict(), "passed", "", "2", mode)


@pytest.mark.parametrize(
    ("config", "answered", "expected"),
    [(EXTENDER, "nodes", "NodeNames"), (EXTENDER, "", "NodeNames"), (WHOLE, "names", "Nodes"), (WHOLE, "", "Nodes")],
)
def test_answers_in_another_cache_mode_fail(config: Any, answered: str, expected: str) -> None:
    h = cycle(HistoryBuilder(MODE, extender=config), filter={"answered_mode": answered})
    told(h.verdict(), "failed", "wrong-cache-mode", expected, "nodeCacheCapable")


@pytest.mark.parametrize(("left_out", "outcome"), [(NODES, "passed"), (NODES[:2], "failed")])
def test_filter_that_rejects_every_node_need_not_list_any(left_out: Sequence[str], outcome: str) -> None:
    h = HistoryBuilder(MODE)
    h.call("filter", answered=None, answered_mode="", failed=dict.fromkeys(left_out, "no lane is free"))
    assert cycle(h).verdict().outcome == outcome


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
@pytest.mark.parametrize(
    ("fields", "fact"), [({"status": 500}, "500"), ({"error": "no Nodes in args"}, "no Nodes in args")]
)
def test_extender_that_rejects_its_configured_cache_mode_fails(verb: str, fields: dict[str, Any], fact: str) -> None:
    calls: dict[str, Any] = {verb: fields}
    verdict = cycle(HistoryBuilder(MODE), **calls).verdict()
    told(verdict, "failed", "call-failed", verb, fact)


def test_cache_mode_without_calls_is_invalid() -> None:
    told(cycle(HistoryBuilder(MODE), filter=None, prioritize=None).verdict(), "invalid", "not-called")
    told(cycle(HistoryBuilder(MODE), bound=False).verdict(), "failed", "not-bound-in-time", "probe-1")


# -- extender/filter-subset


def test_filter_answer_within_the_nodes_of_the_request_passes() -> None:
    h = cycle(HistoryBuilder(SUBSET), filter={"asked": ["node-1", "node-2"], "answered": ["node-2"]})
    told(h.verdict(), "passed", "", "1")


@pytest.mark.parametrize(
    ("answered", "finding"),
    [
        (["node-1", "node-3"], ("unasked-node", "node-3")),
        (["ghost"], ("unasked-node", "ghost")),
        (["node-1", "node-1"], ("duplicate-node",)),
    ],
)
def test_filter_answer_beyond_the_nodes_of_the_request_fails(answered: list[str], finding: tuple[str, ...]) -> None:
    h = cycle(HistoryBuilder(SUBSET), filter={"asked": ["node-1", "node-2"], "answered": answered})
    told(h.verdict(), "failed", *finding, "sp-tested/probe-1")


def test_prioritize_answer_does_not_count_as_filter_answer() -> None:
    h = cycle(HistoryBuilder(SUBSET), prioritize={"asked": ["node-1"], "answered": ["ghost"]})
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("answered", [None, []])
def test_filter_calls_that_return_no_node_are_invalid(answered: list[str] | None) -> None:
    h = cycle(HistoryBuilder(SUBSET), filter={"answered": answered})
    told(h.verdict(), "invalid", "empty-answers")
    h = cycle(HistoryBuilder(SUBSET), filter={"answered": answered}, bound=False)
    told(h.verdict(), "failed", "not-bound-in-time", "probe-1")


@pytest.mark.parametrize(("case", "verb"), [(SUBSET, "filterVerb"), (RANGE, "prioritizeVerb")])
def test_a_verb_that_is_not_configured_is_not_claimed(case: str, verb: str) -> None:
    h = cycle(HistoryBuilder(case, extender={name: value for name, value in EXTENDER.items() if name != verb}))
    told(h.verdict(), "not-claimed", "not-applicable", verb)


# -- extender/prioritize-range


def scored(*scores: Any, asked: list[str] = MANY, **changes: Any) -> HistoryBuilder:
    given = [[host, 10 - n % 11] for n, host in enumerate(asked)]
    for number, score in enumerate(scores):
        given[number][1] = score
    fields = {"asked": asked, "scores": given, "pod": "sp-tested/probe-1", **changes}
    return cycle(HistoryBuilder(RANGE, nodes=asked), prioritize=fields)


def test_scores_within_the_range_pass() -> None:
    told(scored().verdict(), "passed", "", "1", "12")


@pytest.mark.parametrize("score", [11, 1000, -1, 5.0, 0.5, True, "5"])
def test_value_that_is_not_a_score_fails_and_is_named(score: Any) -> None:
    told(scored(3, score).verdict(), "failed", "score-out-of-range", "node-2", score, "sp-tested/probe-1")


@pytest.mark.parametrize("nodes", [NODES, MANY[:11]], ids=len)
def test_too_few_nodes_for_the_range_of_scores_are_invalid(nodes: list[str]) -> None:
    told(scored(asked=list(nodes)).verdict(), "invalid", "too-few", f"{len(nodes)}")


def test_answer_without_a_list_fails_and_an_empty_list_scores_0() -> None:
    told(scored(scores=None).verdict(), "failed", "call-failed", "HostPriorityList")
    told(scored(scores=[]).verdict(), "passed", "", "0 of 12")
    h = cycle(HistoryBuilder(RANGE), bound=False)
    told(h.verdict(), "failed", "not-bound-in-time", "probe-1")


@pytest.mark.parametrize("case", [RANGE, COMPLETE])
@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({"status": 500, "json": False, "scores": None, "answer": "oops"}, ("500", "oops")),
        ({"status": 0, "json": False, "scores": None}, ()),
        ({"unreadable": "the score of a is 0.5, expected an integer"}, ("the score of a is 0.5",)),
    ],
)
def test_prioritize_calls_with_an_unusable_answer_fail(case: str, fields: dict[str, Any], facts: Any) -> None:
    verdict = cycle(HistoryBuilder(case, nodes=MANY), prioritize=fields).verdict()
    told(verdict, "failed", "call-failed", "1 of 1", *facts)


@pytest.mark.parametrize("case", [RANGE, COMPLETE])
def test_pod_without_a_prioritize_call_is_invalid(case: str) -> None:
    h = cycle(HistoryBuilder(case, nodes=MANY))
    h.pod("probe-2")
    h.bind("probe-2", "node-2")
    h.expect("probe-2", "bound")
    told(h.verdict(), "invalid", "not-called", "sp-tested/probe-2")


def test_omitted_nodes_are_within_the_range() -> None:
    told(scored(scores=[["node-3", 10]]).verdict(), "passed", "", "1", "12", "11", "0")


# -- extender/prioritize-complete

TRAFFIC = {node: 1e5 * 2**place for place, node in enumerate(MANY)}
"""The first of many nodes is the quietest."""


def completed(
    scores: Any, traffic: Mapping[str, float] = TRAFFIC, *, claims: Claims = CLAIMS, **fields: Any
) -> HistoryBuilder:
    h = HistoryBuilder(COMPLETE, nodes=MANY, claims=claims)
    h.load(0, traffic)
    return cycle(h, prioritize={"scores": scores, **fields})


RANKED = [[node, max(10 - place, 0)] for place, node in enumerate(MANY)]


@pytest.mark.parametrize(
    "scores",
    [
        RANKED,
        [pair for pair in RANKED if pair[1]],
        RANKED[:1],
        [[node, 10] for node in MANY],
        [["stranger", 10], *RANKED],
    ],
    ids=["all", "those above 0", "the quietest", "all alike", "one more"],
)
def test_nodes_with_score_0_may_be_omitted(scores: Any) -> None:
    told(completed(scores).verdict(), "passed", "", "1")


@pytest.mark.parametrize(
    ("scores", "facts"),
    [
        ([["node-5", 10]], ("1 of 12", "node-1", "100,000 B/s", "node-5", "1,600,000 B/s")),
        (RANKED[1:], ("9 of 12", "node-1")),
        ([["node-1", 0], ["node-2", 3]], ("1 of 12", "node-1")),
        ([], ("none of 12",)),
        ([[node, 0] for node in MANY], ("none of 12",)),
        ([["stranger", 3]], ("none of 12",)),
    ],
)
def test_quiet_node_without_a_score_fails(scores: Any, facts: tuple[str, ...]) -> None:
    told(completed(scores).verdict(), "failed", "node-left-out", *facts)


def test_omitted_node_within_the_claimed_resolution_passes() -> None:
    assert completed([["node-2", 3]], {"node-1": 100.0, "node-2": 105.0}).verdict().outcome == "passed"


@pytest.mark.parametrize(
    ("seconds", "claim", "outcome"),
    [(0.0, "counted", "passed"), (0.0, None, "passed"), (0.0, "ignored", "failed"), (30.0, "counted", "failed")],
)
def test_node_that_just_received_a_pod_may_be_omitted(seconds: float, claim: Any, outcome: str) -> None:
    network = dataclasses.replace(NETWORK, own_placements=claim)
    h = HistoryBuilder(COMPLETE, nodes=MANY, claims=dataclasses.replace(CLAIMS, network=network))
    h.pod("before", role="")
    h.bind("before", "node-1")
    h.wait(seconds)
    h.load(0, TRAFFIC)
    assert cycle(h, prioritize={"scores": RANKED[1:]}).verdict().outcome == outcome


@pytest.mark.parametrize(("claim", "outcome"), [("counted", "passed"), (None, "passed"), ("ignored", "failed")])
def test_node_that_the_extender_just_scored_highest_may_be_omitted(claim: Any, outcome: str) -> None:
    """The extender is not informed that kube-scheduler bound the pod to another node."""
    network = dataclasses.replace(NETWORK, own_placements=claim)
    h = HistoryBuilder(COMPLETE, nodes=MANY, claims=dataclasses.replace(CLAIMS, network=network))
    h.load(0, TRAFFIC)
    h.pod("before", role="")
    h.call("prioritize", pod="before", scores=RANKED)
    h.bind("before", "node-2")
    assert cycle(h, prioritize={"scores": RANKED[1:]}).verdict().outcome == outcome


def test_only_scored_node_may_be_one_that_just_received_a_pod() -> None:
    h = HistoryBuilder(COMPLETE, nodes=MANY)
    h.load(0, TRAFFIC)
    h.pod("before", role="")
    h.bind("before", "node-1")
    assert cycle(h, prioritize={"scores": RANKED[:1]}).verdict().outcome == "passed"


def test_equal_nodes_or_an_unclaimed_preference_need_no_score() -> None:
    alike = dict.fromkeys(MANY, 5.0)
    assert completed([["node-5", 10]], alike).verdict().outcome == "passed"
    assert completed([], alike).verdict().outcome == "passed"
    unclaimed = dataclasses.replace(CLAIMS, network=None)
    assert completed([["node-5", 10]], claims=unclaimed).verdict().outcome == "passed"
    assert completed([], claims=unclaimed).verdict().outcome == "passed"


# -- extender/prioritize-integers, extender/prioritize-no-duplicates


@pytest.mark.parametrize("case", [INTEGERS, DUPLICATES])
def test_integer_scores_once_for_each_node_pass(case: str) -> None:
    h = cycle(HistoryBuilder(case))
    told(h.verdict(), "passed", "", "1", "4")
    told(cycle(HistoryBuilder(case), prioritize=None).verdict(), "invalid", "not-called", "prioritizeVerb")
    told(cycle(HistoryBuilder(case), prioritize={"scores": []}).verdict(), "passed", "", "0 of 4")


@pytest.mark.parametrize("score", [0.5, 5.0, "5", True])
def test_score_that_is_not_an_integer_fails(score: Any) -> None:
    h = cycle(HistoryBuilder(INTEGERS), prioritize={"scores": [["node-1", 3], ["node-2", score]]})
    told(h.verdict(), "failed", "score-not-integer", "node-2", f"{score!r}")


def test_node_scored_twice_fails() -> None:
    h = cycle(HistoryBuilder(DUPLICATES), prioritize={"scores": [["node-1", 3], ["node-2", 1], ["node-1", 3]]})
    told(h.verdict(), "failed", "duplicate-node", "node-1", "2")


# -- extender/managed-resources

MANAGED = {**EXTENDER, "managedResources": [{"name": "example.com/bandwidth"}]}
MANAGING = dataclasses.replace(CLAIMS, features=("managed-resources",))
WANTS = {"containers": [{"name": "c", "resources": {"requests": {"example.com/bandwidth": "1"}}}]}


def managed(*, called: str = "probe-1", extender: Any = MANAGED) -> HistoryBuilder:
    h = HistoryBuilder("extender/managed-resources", extender=extender, claims=MANAGING)
    h.pod("probe-1")
    h.pod("other-1", role="unmanaged")
    if called:
        h.call("filter", pod=f"sp-tested/{called}")
    for pod in ("probe-1", "other-1"):
        h.bind(pod, "node-1")
        h.expect(pod, "bound")
    return h


def test_only_pods_that_request_a_managed_resource_are_sent_to_the_extender() -> None:
    told(managed().verdict(), "passed", "", "1", "example.com/bandwidth")
    told(managed(called="").verdict(), "invalid", "not-called", "sp-tested/probe-1")
    told(managed(extender=EXTENDER).verdict(), "invalid", "not-configured", "managedResources")
    h = managed()
    h.call("filter", pod="sp-tested/other-1")
    told(h.verdict(), "invalid", "unmanaged-pod-asked", "sp-tested/other-1")


APART = {"name": "example.com/bandwidth", "ignoredByScheduler": True}


@pytest.mark.parametrize(
    ("apart", "at_once", "resource", "outcome", "code"),
    [
        (3, 3, APART, "passed", ""),
        (3, 4, APART, "failed", "infeasible-node"),
        (4, 4, APART, "not-claimed", "not-applicable"),
        (3, 4, {**APART, "ignoredByScheduler": False}, "not-claimed", "not-applicable"),
    ],
)
def test_a_burst_takes_no_more_of_a_resource_than_is_taken_one_by_one(
    apart: int, at_once: int, resource: dict[str, Any], outcome: str, code: str
) -> None:
    h = HistoryBuilder("extender/managed-room", extender={**EXTENDER, "managedResources": [resource]}, claims=MANAGING)
    for role, count, node in ((ROLES[0], apart, "node-1"), (ROLES[1], at_once, "node-2")):
        for number in range(count):
            h.pod(f"{role}-{number}", role=role, **WANTS)
            h.bind(f"{role}-{number}", node)
            h.expect(f"{role}-{number}", "bound")
    told(h.verdict(), outcome, code)


@pytest.mark.parametrize("case", [VERBS, MODE, SUBSET, ANSWERS])
def test_extender_without_pods_requesting_its_resources_is_invalid(case: str) -> None:
    h = cycle(HistoryBuilder(case, extender=MANAGED), filter=None, prioritize=None)
    told(h.verdict(), "invalid", "not-called", "example.com/bandwidth")


def test_summary_is_right_if_pods_requested_a_managed_resource() -> None:
    h = HistoryBuilder(ANSWERS, extender=MANAGED)
    h.pod("asking", **WANTS)
    told(h.verdict(), "invalid", "not-called", "filterVerb", "prioritizeVerb")
    assert "none did" not in h.verdict().summary


# -- extender/malformed


def malformed(*, bound: bool = True, called: bool = True, **fields: Any) -> HistoryBuilder:
    h = HistoryBuilder(MALFORMED)
    if called:
        ours = {"by": "harness", "case": MALFORMED, "what": "a list", "pod": "", "asked": None, "answered": None}
        h.call("filter", verb="filter", **{**ours, "status": 200, "error": "no pod", **fields})
        h.call("prioritize", verb="prioritize", **{**ours, "status": 400, "json": False})
    return cycle(h, bound=bound)


def test_refused_malformed_calls_pass() -> None:
    told(malformed().verdict(), "passed", "", "2")
    assert malformed(status=500, error="", json=False).verdict().outcome == "passed"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"error": "", "answer": "{}"}, "filter responded with 200 ({})"),
        ({"status": 302, "error": ""}, "filter responded with 302"),
        ({"status": 0, "error": "", "json": False}, "filter got no response"),
        # The response of the tap if the extender does not answer.
        ({"status": 502, "error": "", "json": False}, "filter responded with 502"),
    ],
)
def test_accepted_or_unanswered_malformed_call_fails(fields: dict[str, Any], words: str) -> None:
    told(malformed(**fields).verdict(), "failed", "malformed-call-accepted", words)


INCOMPLETE = {"what": "incomplete arguments (no pod)", "error": ""}


@pytest.mark.parametrize("fields", [{"answer": "{}"}, {"status": 400, "json": False}, {"status": 500}])
def test_incomplete_call_may_be_answered_in_any_way(fields: dict[str, Any]) -> None:
    assert malformed(**INCOMPLETE, **fields).verdict().outcome == "passed"


@pytest.mark.parametrize("status", [0, 502])
def test_incomplete_call_without_an_answer_fails(status: int) -> None:
    told(malformed(**INCOMPLETE, status=status, json=False).verdict(), "failed", "call-unanswered")


def test_extender_that_stops_serving_after_malformed_calls_fails() -> None:
    told(malformed(bound=False).verdict(), "failed", "not-bound-in-time", "probe-1")


def test_history_without_malformed_calls_is_invalid() -> None:
    told(malformed(called=False).verdict(), "invalid", "not-tried")


# -- extender/unknown-fields, extender/concurrent, extender/large

UNKNOWN, CONCURRENT, LARGE = "extender/unknown-fields", "extender/concurrent", "extender/large"
HALVES = (list(NODES[:2]), list(NODES[2:]))


def asked(clause: str, *calls: tuple[str, Mapping[str, Any]], extender: Mapping[str, Any] = EXTENDER) -> HistoryBuilder:
    """Calls of the harness, each a verb and the recorded fields, after a fence."""
    h = HistoryBuilder(clause, extender=extender)
    h.pod("waits", nodeSelector={"no": "such"})
    h.fence()
    for verb, fields in calls:
        h.call(verb, case=h.case, **{"by": "harness", "verb": verb, "what": "a question", **fields})
    return h


@pytest.mark.parametrize("clause", [UNKNOWN, CONCURRENT, LARGE])
def test_clause_is_not_claimed_without_filter_and_prioritize(clause: str) -> None:
    told(asked(clause, extender={"bindVerb": "bind"}).verdict(), "not-claimed", "not-applicable", "filterVerb")


@pytest.mark.parametrize("clause", [UNKNOWN, CONCURRENT, LARGE])
def test_history_without_calls_of_the_harness_is_invalid(clause: str) -> None:
    assert asked(clause).verdict().outcome == "invalid"


@pytest.mark.parametrize("clause", [UNKNOWN, CONCURRENT])
@pytest.mark.parametrize("wrong", [{"status": 400, "answer": "what is that?"}, {"error": "no"}, {"status": 0}])
def test_unanswered_call_fails(clause: str, wrong: dict[str, Any]) -> None:
    assert asked(clause, ("filter", {}), ("filter", wrong)).verdict().outcome == "failed"


def test_answered_calls_with_unknown_fields_pass() -> None:
    told(asked(UNKNOWN, ("filter", {}), ("prioritize", {})).verdict(), "passed", "", "2")


def at_once(*answered: list[str], seconds: float = 1.0) -> HistoryBuilder:
    """Call filter for each half of the nodes at the same time."""
    calls = [
        ("filter", {"asked": half, "answered": nodes, "seconds": seconds})
        for half, nodes in zip(HALVES, answered, strict=True)
    ]
    return asked(CONCURRENT, *calls)


def test_concurrent_calls_with_their_own_answers_pass() -> None:
    told(at_once(*HALVES).verdict(), "passed", "", "2")
    assert at_once([], HALVES[1]).verdict().outcome == "passed"  # a filter may leave out what it likes


def test_answer_to_another_call_fails() -> None:
    told(at_once(HALVES[0], HALVES[0]).verdict(), "failed", "unasked-node")
    scores = [[node, 1] for node in HALVES[1]]
    h = asked(CONCURRENT, ("prioritize", {"asked": HALVES[0], "scores": scores, "seconds": 1.0}), ("filter", {}))
    told(h.verdict(), "failed", "unasked-node")


def test_sequential_calls_are_invalid() -> None:
    told(at_once(*HALVES, seconds=0.001).verdict(), "invalid", "not-tried")


def sized(*seconds: float, few: Mapping[str, Any] | None = None, **many: Any) -> HistoryBuilder:
    """Call filter with two nodes, then with many nodes once for each of these durations."""
    calls: list[tuple[str, Mapping[str, Any]]] = [("filter", {"what": "few nodes", **(few or {})})]
    calls += [("filter", {"what": "many nodes", "asked": MANY, "seconds": took, **many}) for took in seconds]
    return asked(LARGE, *calls)


@pytest.mark.parametrize("seconds", [(0.5, 0.5), (6.0, 0.5), (0.5, 6.0)])
def test_call_with_many_nodes_answered_in_time_once_passes(seconds: tuple[float, float]) -> None:
    assert sized(*seconds).verdict().outcome == "passed"


def test_calls_with_many_nodes_that_take_too_long_fail() -> None:
    told(sized(6.0, 5.5).verdict(), "failed", "call-too-slow", "12", "5.5 s", "httpTimeout")


def test_call_refused_as_too_large_fails() -> None:
    told(sized(0.5, status=413, answer="too large").verdict(), "failed", "call-failed", "413")


def test_extender_that_rejects_unknown_nodes_is_not_claimed() -> None:
    told(sized(0.5, few={"error": "no such node"}, error="no such node").verdict(), "not-claimed", "not-applicable")


# -- extender/healthz

HEALTHZ = "extender/healthz"


def health(*statuses: int, bound: bool = True) -> HistoryBuilder:
    """Ask for the health of the extender, schedule a pod, and ask again."""
    h = HistoryBuilder(HEALTHZ)
    for number, status in enumerate(statuses):
        h.call("/healthz", by="harness", case=HEALTHZ, verb="/healthz", what="its health", status=status)
        if not number:
            h.pod("probe-1", cpu="50m")
            if bound:
                h.bind("probe-1", "node-1")
            h.expect("probe-1", "bound")
    return h


def test_extender_healthy_before_and_after_passes() -> None:
    assert health(200, 200).verdict().outcome == "passed"
    assert health(204, 200).verdict().outcome == "passed"


@pytest.mark.parametrize("statuses", [(404, 404), (200, 503), (200, 0), (200, 302)])
def test_extender_that_does_not_report_its_health_fails(statuses: tuple[int, ...]) -> None:
    told(health(*statuses).verdict(), "failed", "not-healthy", "/healthz")


def test_healthy_extender_whose_pods_are_not_scheduled_fails() -> None:
    told(health(200, 200, bound=False).verdict(), "failed", "not-bound-in-time", "probe-1")


def test_history_without_health_requests_is_invalid() -> None:
    told(health().verdict(), "invalid", "not-tried")
