"""extender/bind-*, extender/idempotent and extender/failed-reasons."""

from __future__ import annotations

from typing import Any

import pytest

from .histories import EXTENDER, NAMESPACE, HistoryBuilder

BINDS, ERROR, AGAIN = "extender/bind-binds", "extender/bind-error", "extender/bind-again"
IDEMPOTENT, REASONS = "extender/idempotent", "extender/failed-reasons"
BINDING = {**EXTENDER, "bindVerb": "bind"}
REFUSED = {"error": "the apiserver says no"}


def case_of(case: str, extender: Any = BINDING) -> HistoryBuilder:
    h = HistoryBuilder(case, extender=extender)
    h.pod("probe-1")
    return h


def bind(h: HistoryBuilder, *, node: str = "node-1", code: int | None = 201, **answer: Any) -> None:
    """Call the bind verb, which posts a Binding that is answered with `code` (None: posts none), and answers."""
    if code is not None:
        h.attempt("probe-1", node, code=code)
    h.call("bind", **{"asked": None, "answered": None, "uid": h.uid("probe-1"), "node": node, **answer})


def again(h: HistoryBuilder, node: str, **answer: Any) -> None:
    ours = {"by": "harness", "case": AGAIN, "verb": "bind", "what": "a bind", "pod": f"{NAMESPACE}/probe-1"}
    bind(h, node=node, code=409, **{**ours, **answer})


@pytest.mark.parametrize("case", [BINDS, ERROR, AGAIN])
def test_extender_without_a_bind_verb_is_not_claimed(case: str) -> None:
    assert case_of(case, EXTENDER).verdict().outcome == "not-claimed"


# -- bind-binds


@pytest.mark.parametrize(
    ("placed", "answer", "outcome"),
    [
        ("node-1", {}, "passed"),
        ("node-2", {}, "failed"),
        ("", {}, "failed"),
        ("", REFUSED, "invalid"),
        ("", {"status": 500}, "invalid"),
    ],
)
def test_answer_without_an_error_requires_the_pod_on_the_requested_node(
    placed: str, answer: dict[str, Any], outcome: str
) -> None:
    h = case_of(BINDS)
    if placed:
        h.place("probe-1", placed)
    bind(h, code=None, **answer)
    assert h.verdict().outcome == outcome


def test_history_without_recorded_uids_is_invalid() -> None:
    h = case_of(BINDS)
    h.bind("probe-1", "node-1")
    h.call("bind", asked=None, answered=None)
    assert h.verdict().outcome == "invalid"


# -- bind-error


def refused_then_bound(**answer: Any) -> HistoryBuilder:
    h = case_of(ERROR)
    bind(h, code=500, **answer)
    h.pass_time(5)
    bind(h)
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    return h


@pytest.mark.parametrize("answer", [REFUSED, {"status": 500, "json": False}, {"status": 0, "json": False}])
def test_reported_refusal_passes(answer: dict[str, Any]) -> None:
    assert refused_then_bound(**answer).verdict().outcome == "passed"


def test_unreported_refusal_fails() -> None:
    assert refused_then_bound().verdict().outcome == "failed"


@pytest.mark.parametrize(("code", "outcome"), [(500, "passed"), (201, "invalid")])
def test_binding_may_be_retried_within_the_call(code: int, outcome: str) -> None:
    h = case_of(ERROR)
    if code != 201:
        h.attempt("probe-1", "node-1", code=code)
    bind(h)
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == outcome


# -- bind-again


def asked_again(*, same: dict[str, Any], other: dict[str, Any]) -> HistoryBuilder:
    h = case_of(AGAIN)
    bind(h)
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    h.pass_time(5)
    again(h, "node-1", **same)
    again(h, "node-2", **other)
    return h


@pytest.mark.parametrize(
    ("same", "other", "outcome"),
    [
        (REFUSED, REFUSED, "passed"),
        ({}, REFUSED, "passed"),
        ({"status": 409, "json": False}, {"status": 409, "json": False}, "passed"),
        (REFUSED, {}, "failed"),
        ({"status": 0, "json": False}, REFUSED, "failed"),
        (REFUSED, {"status": 502, "json": False}, "failed"),
    ],
)
def test_repeated_bind_must_be_answered_and_to_another_node_with_an_error(
    same: dict[str, Any], other: dict[str, Any], outcome: str
) -> None:
    h = asked_again(same=same, other=other)
    assert h.verdict().outcome == outcome
    # A Binding that the harness asked for is no second attempt of the candidate.
    assert h.verdict("core/all-accounted").outcome == "passed"


def test_attempt_without_a_bind_call_counts_as_a_second_attempt() -> None:
    h = asked_again(same=REFUSED, other=REFUSED)
    h.pass_time(5)
    h.attempt("probe-1", "node-2", code=409)
    assert h.verdict("core/all-accounted").outcome == "failed"


def test_history_without_both_repeated_binds_is_invalid() -> None:
    h = case_of(AGAIN)
    bind(h)
    h.place("probe-1", "node-1")
    h.expect("probe-1", "bound")
    again(h, "node-1")
    assert h.verdict().outcome == "invalid"


# -- idempotent


def asked_three_times(*answered: list[str]) -> HistoryBuilder:
    h = case_of(IDEMPOTENT)
    for names in answered:
        h.call("filter", by="harness", case=IDEMPOTENT, verb="filter", what="the same question", answered=names)
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    return h


@pytest.mark.parametrize(
    ("answered", "outcome"),
    [
        ([["node-1", "node-2"]] * 3, "passed"),
        ([["node-1", "node-2"], ["node-2"], ["node-2", "node-1"]], "passed"),
        ([["node-2"], ["node-1", "node-2"], ["node-1", "node-2"]], "passed"),
        ([["node-1", "node-2"], ["node-2"], ["node-2"]], "failed"),
        ([["node-1", "node-2"], ["node-2"], []], "failed"),
        ([], "invalid"),
    ],
)
def test_node_that_a_repeated_filter_call_loses_fails(answered: list[list[str]], outcome: str) -> None:
    assert asked_three_times(*answered).verdict().outcome == outcome


# -- failed-reasons


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"answered": ["node-1"], "failed": {"node-2": "too loud"}}, "passed"),
        ({"answered": ["node-1"], "failed": {"node-2": ""}}, "failed"),
        ({"answered": ["node-1"], "failed": {}}, "failed"),
        ({"answered": None, "failed": {}}, "failed"),
        ({"answered": [], "failed": {}, "error": "no readings"}, "not-claimed"),
        ({"answered": ["node-1"]}, "not-claimed"),
        ({"answered": ["node-1", "node-2"], "failed": {}}, "not-claimed"),
    ],
)
def test_node_rejected_without_a_reason_fails(answer: dict[str, Any], outcome: str) -> None:
    h = case_of(REASONS)
    h.call("filter", asked=["node-1", "node-2"], **answer)
    assert h.verdict().outcome == outcome
