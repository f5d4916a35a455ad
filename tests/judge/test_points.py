"""Worked examples of what a plugin decides: plugin/filter, plugin/prefilter, plugin/queue-sort."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.candidate.points import PointClaims

from .histories import CLAIMS, FAST, POINTS, SLOW, HistoryBuilder, told

FILTERS, ORDER = ("plugin/filter", "plugin/prefilter"), "plugin/queue-sort"
SCORES = ("plugin/score", "plugin/batching-safe")


def test_claims_round_trip() -> None:
    assert PointClaims.from_dict(POINTS.as_dict()) == POINTS
    assert PointClaims.from_dict({}) == PointClaims()


@pytest.mark.parametrize("clause", [*FILTERS, ORDER, *SCORES])
def test_what_is_not_claimed_is_not_judged(clause: str) -> None:
    claims = dataclasses.replace(CLAIMS, points=PointClaims(), features=(*CLAIMS.features, "signs-pods"))
    assert HistoryBuilder(clause, claims=claims).verdict().outcome == "not-claimed"


def filtered(clause: str, *, fence: bool = True) -> HistoryBuilder:
    """A pod does not fit by an example; the node is then changed so that it does."""
    h = HistoryBuilder(clause)
    h.node("node-1", labels={"rack": "closed"})
    h.seen()
    h.pod("example-1", role="example", nodeSelector={"kubernetes.io/hostname": "node-1"})
    if fence:
        h.fence()
    return h


@pytest.mark.parametrize("clause", FILTERS)
def test_a_pod_that_waits_and_is_scheduled_once_it_fits_passes(clause: str) -> None:
    h = filtered(clause)
    h.expect("example-1", "unwilling")
    h.node("node-1")
    h.bind("example-1", "node-1")
    h.expect("example-1", "bound")
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("clause", FILTERS)
def test_a_pod_that_is_bound_where_it_does_not_fit_fails(clause: str) -> None:
    h = filtered(clause)
    h.bind("example-1", "node-1")
    h.expect("example-1", "unwilling")
    told(h.verdict(), "failed", "bound-against-claim", "example-1")


@pytest.mark.parametrize("clause", FILTERS)
def test_a_pod_that_still_waits_when_it_fits_fails(clause: str) -> None:
    h = filtered(clause)
    h.expect("example-1", "unwilling")
    h.node("node-1")
    h.expect("example-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "not-bound-in-time", "example-1")


@pytest.mark.parametrize("clause", FILTERS)
def test_without_a_fence_nothing_shows_that_it_was_decided_on(clause: str) -> None:
    h = filtered(clause, fence=False)
    h.expect("example-1", "unwilling")
    told(h.verdict(), "invalid", "not-decided-on")


def ordered(*rounds: str) -> HistoryBuilder:
    """In each round two pods wait for one room; the one that gets it: "first", "then", or "" for neither."""
    h = HistoryBuilder(ORDER)
    for phase, winner in enumerate(rounds):
        roles = ("then", "first") if phase % 2 == 0 else ("first", "then")
        for role in roles:
            h.pod(f"{role}-{phase}", role=role, phase=phase, cpu="6")
        h.seen()
        if winner:
            h.bind(f"{winner}-{phase}", "node-1")
            h.expect(f"{winner}-{phase}", "bound")
        for role in roles:
            h.delete(f"{role}-{phase}")
    return h


def test_who_comes_first_older_or_younger_passes() -> None:
    assert ordered("first", "first").verdict().outcome == "passed"


@pytest.mark.parametrize("rounds", [("then", "first"), ("first", "then")], ids=["the older one", "the younger one"])
def test_who_comes_first_and_should_not_fails(rounds: tuple[str, ...]) -> None:
    told(ordered(*rounds).verdict(), "failed", "against-claimed-order")


def test_two_of_which_neither_is_bound_show_nothing() -> None:
    told(ordered("first", "").verdict(), "invalid", "not-tried")


def test_an_order_that_was_not_tried_is_not_shown() -> None:
    told(ordered().verdict(), "invalid", "nothing-expected")


def scored(clause: str, *bound: str, labelled: bool = True) -> HistoryBuilder:
    """Of two nodes one is fast, one slow. Pods prefer a fast one and a slow one in turn; where each goes."""
    h = HistoryBuilder(
        clause, nodes=("node-1", "node-2"),
        claims=dataclasses.replace(CLAIMS, features=(*CLAIMS.features, "signs-pods")),
    )  # fmt: skip
    if labelled:
        h.node("node-1", labels=FAST)
        h.node("node-2", labels=SLOW)
    h.seen()
    for number, node in enumerate(bound):
        h.pod(f"scored-{number}", role="scored", phase=number % 2, cpu="50m")
        h.bind(f"scored-{number}", node)
        h.expect(f"scored-{number}", "bound")
    return h


@pytest.mark.parametrize("clause", SCORES)
def test_each_pod_on_a_node_that_it_prefers_passes(clause: str) -> None:
    assert scored(clause, "node-1", "node-2", "node-1").verdict().outcome == "passed"


@pytest.mark.parametrize("clause", SCORES)
def test_the_first_pod_that_goes_elsewhere_fails(clause: str) -> None:
    told(scored(clause, "node-1", "node-1", "node-2").verdict(), "failed", "preference-ignored", "scored-1", "node-1")


@pytest.mark.parametrize("clause", SCORES)
def test_where_no_node_is_better_nothing_is_shown(clause: str) -> None:
    told(scored(clause, "node-1", labelled=False).verdict(), "invalid", "no-choice")
    told(scored(clause).verdict(), "invalid", "nothing-expected")


@pytest.mark.parametrize("count", [0, 1])
def test_batches_need_two_examples_that_oppose_each_other(count: int) -> None:
    points = dataclasses.replace(POINTS, score=POINTS.score[:count])
    assert points.opposed is None
    claims = dataclasses.replace(CLAIMS, points=points, features=(*CLAIMS.features, "signs-pods"))
    assert HistoryBuilder("plugin/batching-safe", claims=claims).verdict().outcome == "not-claimed"
