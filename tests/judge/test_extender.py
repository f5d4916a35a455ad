"""The extender's HTTP contract, from what went over the tapped line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .histories import EXTENDER, NODES, HistoryBuilder, told

if TYPE_CHECKING:
    from collections.abc import Mapping


VERBS, MODE, SUBSET = "extender/verbs-served", "extender/cache-capable", "extender/filter-subset"
RANGE, MALFORMED = "extender/prioritize-range", "extender/malformed"
WHOLE = {**EXTENDER, "nodeCacheCapable": False}
MANY = [f"node-{n}" for n in range(1, 13)]
"""One more than there are scores."""

NODES_ANSWER = {"mode": "nodes", "answered_mode": "nodes"}


def cycle(h: HistoryBuilder, *, bound: bool = True, **verbs: Mapping[str, Any] | None) -> HistoryBuilder:
    """One scheduling cycle: a call of each verb, but for those that are None; then the pod is bound."""
    h.pod("probe-1")
    for verb in ("filter", "prioritize"):
        if (fields := verbs.get(verb, {})) is not None:
            h.call(verb, **fields)
    if bound:
        h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    return h


# -- extender/verbs-served


def test_verbs_that_are_called_and_answer_pass() -> None:
    told(cycle(HistoryBuilder(VERBS)).verdict(), "passed", "filterVerb, prioritizeVerb: answered with 200 and JSON")


def test_a_verb_that_is_not_configured_need_not_be_called() -> None:
    h = cycle(HistoryBuilder(VERBS, extender={"filterVerb": "filter"}), prioritize=None)
    told(h.verdict(), "passed", "filterVerb: answered")


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"status": 404, "json": False, "answer": "not found"}, "{0}Verb: {0} answered 404 (not found)"),
        ({"status": 500, "error": "out of order"}, "{0}Verb: {0} answered 500 (out of order)"),
        ({"status": 0, "json": False}, "{0}Verb: {0} answered not at all (nothing)"),
        ({"json": False, "answer": "<html>"}, "{0}Verb: {0} answered 200 (<html>)"),
    ],
)
def test_a_configured_verb_that_does_not_answer_fails(verb: str, fields: dict[str, Any], words: str) -> None:
    calls: dict[str, Any] = {verb: fields}
    verdict = cycle(HistoryBuilder(VERBS), **calls).verdict()
    told(verdict, "failed", words.format(verb))
    assert ("ignores that silently" in verdict.summary) == (verb == "prioritize")


def test_a_bind_verb_is_held_to_the_same() -> None:
    h = cycle(HistoryBuilder(VERBS, extender={**EXTENDER, "bindVerb": "bind"}))
    told(h.verdict(), "invalid", "kube-scheduler never called bindVerb")
    h.call("bind", status=404, json=False)
    told(h.verdict(), "failed", "bindVerb: bind answered 404")


def test_pods_that_are_not_bound_fail_whatever_was_answered() -> None:
    told(cycle(HistoryBuilder(VERBS), bound=False).verdict(), "failed", "probe-1 was not bound")
    told(cycle(HistoryBuilder(VERBS), bound=False, prioritize=None).verdict(), "failed", "probe-1 was not bound")


def test_a_verb_that_was_never_called_in_this_case_shows_nothing() -> None:
    h = HistoryBuilder("core/binds")
    h.call("prioritize")
    h.end()
    h.begin(VERBS)
    told(cycle(h, prioritize=None).verdict(), "invalid", "kube-scheduler never called prioritizeVerb")


def test_our_own_calls_are_not_kube_schedulers() -> None:
    h = cycle(HistoryBuilder(VERBS), prioritize={"by": "harness"})
    told(h.verdict(), "invalid", "kube-scheduler never called prioritizeVerb")


def test_one_verb_may_end_like_another() -> None:
    verbs = {"filterVerb": "sort", "prioritizeVerb": "resort"}
    h = HistoryBuilder(VERBS, extender=verbs)
    cycle(h, filter={"request": "v1/resort", "status": 404, "json": False}, prioritize={"request": "v1/sort"})
    told(h.verdict(), "failed", "prioritizeVerb: v1/resort answered 404")


# -- extender/cache-capable


@pytest.mark.parametrize(
    ("config", "filtered", "mode"),
    [(EXTENDER, {}, "names"), (WHOLE, NODES_ANSWER, "nodes")],
    ids=["names", "nodes"],
)
def test_answers_in_the_mode_that_is_claimed_pass(config: Any, filtered: dict[str, Any], mode: str) -> None:
    h = cycle(HistoryBuilder(MODE, extender=config), filter=filtered)
    told(h.verdict(), "passed", f"2 calls answered in the mode that was asked for ({mode})")


@pytest.mark.parametrize(
    ("config", "answered", "words"),
    [
        (EXTENDER, "nodes", "expected NodeNames, as its configuration claims nodeCacheCapable true"),
        (EXTENDER, "", "expected NodeNames, as its configuration claims nodeCacheCapable true"),
        (WHOLE, "names", "expected Nodes, as its configuration claims nodeCacheCapable false"),
        (WHOLE, "", "expected Nodes, as its configuration claims nodeCacheCapable false"),
    ],
)
def test_answers_in_another_mode_fail(config: Any, answered: str, words: str) -> None:
    told(cycle(HistoryBuilder(MODE, extender=config), filter={"answered_mode": answered}).verdict(), "failed", words)


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
@pytest.mark.parametrize(
    ("fields", "words"), [({"status": 500}, "answered 500"), ({"error": "no Nodes in args"}, "(no Nodes in args)")]
)
def test_who_cannot_be_asked_in_the_mode_that_it_claims_fails(verb: str, fields: dict[str, Any], words: str) -> None:
    calls: dict[str, Any] = {verb: fields}
    verdict = cycle(HistoryBuilder(MODE), **calls).verdict()
    told(verdict, "failed", f"asked with names: {verb} ")
    assert words in verdict.summary


def test_who_was_never_asked_shows_nothing() -> None:
    told(cycle(HistoryBuilder(MODE), filter=None, prioritize=None).verdict(), "invalid", "it was never asked")
    told(cycle(HistoryBuilder(MODE), bound=False).verdict(), "failed", "probe-1 was not bound")


# -- extender/filter-subset


def test_answers_within_what_was_asked_pass() -> None:
    h = cycle(HistoryBuilder(SUBSET), filter={"asked": ["node-1", "node-2"], "answered": ["node-2"]})
    told(h.verdict(), "passed", "1 filter answers within what was asked")


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        (["node-1", "node-3"], "filter for sp-tested/probe-1 answered with node-3, which it was not asked about"),
        (["ghost"], "answered with ghost, which it was not asked about"),
        (["node-1", "node-1"], "filter for sp-tested/probe-1 answered with a node twice"),
    ],
)
def test_answers_beyond_what_was_asked_fail(answered: list[str], words: str) -> None:
    h = cycle(HistoryBuilder(SUBSET), filter={"asked": ["node-1", "node-2"], "answered": answered})
    told(h.verdict(), "failed", words)


def test_what_prioritize_answers_is_no_filter_answer() -> None:
    h = cycle(HistoryBuilder(SUBSET), prioritize={"asked": ["node-1"], "answered": ["ghost"]})
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("answered", [None, []])
def test_filter_calls_that_answered_with_no_node_show_nothing(answered: list[str] | None) -> None:
    h = cycle(HistoryBuilder(SUBSET), filter={"answered": answered})
    told(h.verdict(), "invalid", "no filter call answered with nodes")
    h = cycle(HistoryBuilder(SUBSET), filter={"answered": answered}, bound=False)
    told(h.verdict(), "failed", "probe-1 was not bound")


@pytest.mark.parametrize(("case", "verb"), [(SUBSET, "filterVerb"), (RANGE, "prioritizeVerb")])
def test_a_verb_that_is_not_configured_is_not_claimed(case: str, verb: str) -> None:
    h = cycle(HistoryBuilder(case, extender={name: value for name, value in EXTENDER.items() if name != verb}))
    told(h.verdict(), "not-claimed", f"no {verb} is configured")


# -- extender/prioritize-range


def scored(*scores: Any, asked: list[str] = MANY, **changes: Any) -> HistoryBuilder:
    given = [[host, 10 - n % 11] for n, host in enumerate(asked)]
    for number, score in enumerate(scores):
        given[number][1] = score
    fields = {"asked": asked, "scores": given, "pod": "sp-tested/probe-1", **changes}
    return cycle(HistoryBuilder(RANGE, nodes=asked), prioritize=fields)


def test_scores_within_the_range_pass_for_more_nodes_than_there_are_scores() -> None:
    told(scored().verdict(), "passed", "1 answers, of up to 12 nodes, within 0 and 10")


@pytest.mark.parametrize("score", [11, 1000, -1, 5.0, 0.5, True, "5"])
def test_a_score_that_is_none_fails_and_is_named(score: Any) -> None:
    told(scored(3, score).verdict(), "failed", f"node-2 got the score {score} for sp-tested/probe-1")


@pytest.mark.parametrize("nodes", [NODES, MANY[:11]], ids=len)
def test_as_many_nodes_as_there_are_scores_show_nothing(nodes: list[str]) -> None:
    told(scored(asked=list(nodes)).verdict(), "invalid", f"it never scored more than {len(nodes)} nodes at once")


def test_an_answer_of_another_shape_fails_and_one_without_scores_shows_nothing() -> None:
    told(scored(scores=None).verdict(), "failed", "that is no HostPriorityList")
    told(scored(asked=list(NODES), scores=[]).verdict(), "invalid", "it never scored more than 4 nodes at once")
    h = cycle(HistoryBuilder(RANGE), bound=False)
    told(h.verdict(), "failed", "probe-1 was not bound")


# -- extender/malformed


def malformed(*, bound: bool = True, called: bool = True, **fields: Any) -> HistoryBuilder:
    h = HistoryBuilder(MALFORMED)
    if called:
        ours = {"by": "harness", "case": MALFORMED, "what": "a list", "pod": "", "asked": None, "answered": None}
        h.call("filter", verb="filter", **{**ours, "status": 200, "error": "no pod", **fields})
        h.call("prioritize", verb="prioritize", **{**ours, "status": 400, "json": False})
    return cycle(h, bound=bound)


def test_malformed_calls_that_are_refused_pass() -> None:
    told(malformed().verdict(), "passed", "2 malformed calls refused, and pods were scheduled after")
    assert malformed(status=500, error="", json=False).verdict().outcome == "passed"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"error": "", "answer": "{}"}, "filter answered 200 ({})"),
        ({"status": 302, "error": ""}, "filter answered 302"),
        ({"status": 0, "error": "", "json": False}, "filter answered not at all"),
        # What the tap says where nobody answers.
        ({"status": 502, "error": "", "json": False}, "filter answered 502"),
    ],
)
def test_a_malformed_call_that_is_taken_or_that_kills_fails(fields: dict[str, Any], words: str) -> None:
    told(malformed(**fields).verdict(), "failed", f"a list in place of the arguments of filter: {words}")


def test_who_does_not_go_on_serving_fails() -> None:
    told(malformed(bound=False).verdict(), "failed", "probe-1 was not bound")


def test_what_kube_scheduler_asked_was_not_malformed() -> None:
    told(malformed(called=False).verdict(), "invalid", "no malformed call was made")
