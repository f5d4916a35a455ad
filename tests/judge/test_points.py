"""Claimed examples of a plugin's decisions: plugin/filter, plugin/prefilter, plugin/queue-sort, plugin/score."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.candidate.points import PointClaims
from schedproof.documents.reading import adapter, dump

from .histories import CLAIMS, FAST, POINTS, SLOW, HistoryBuilder, told

FILTERS, ORDER = ("plugin/filter", "plugin/prefilter"), "plugin/queue-sort"
SCORES = ("plugin/score", "plugin/batching-safe")


def test_claims_round_trip() -> None:
    assert adapter(PointClaims).validate_python(dump(POINTS)) == POINTS
    assert adapter(PointClaims).validate_python({}) == PointClaims()


@pytest.mark.parametrize("clause", [*FILTERS, ORDER, *SCORES])
def test_clause_without_claimed_examples_is_not_claimed(clause: str) -> None:
    claims = dataclasses.replace(CLAIMS, points=PointClaims(), features=(*CLAIMS.features, "signs-pods"))
    assert HistoryBuilder(clause, claims=claims).verdict().outcome == "not-claimed"


def filtered(clause: str, *, fence: bool = True) -> HistoryBuilder:
    """A pod does not fit a node according to an example; a later change of the node makes it fit."""
    h = HistoryBuilder(clause)
    h.node("node-1", labels={"rack": "closed"})
    h.seen()
    h.pod("example-1", role="example", nodeSelector={"kubernetes.io/hostname": "node-1"})
    if fence:
        h.fence()
    return h


@pytest.mark.parametrize("clause", FILTERS)
def test_pod_that_waits_until_it_fits_passes(clause: str) -> None:
    h = filtered(clause)
    h.expect("example-1", "unwilling")
    h.node("node-1")
    h.bind("example-1", "node-1")
    h.expect("example-1", "bound")
    assert h.verdict().outcome == "passed"


@pytest.mark.parametrize("clause", FILTERS)
def test_pod_bound_where_it_does_not_fit_fails(clause: str) -> None:
    h = filtered(clause)
    h.bind("example-1", "node-1")
    h.expect("example-1", "unwilling")
    told(h.verdict(), "failed", "bound-against-claim", "example-1")


@pytest.mark.parametrize("clause", FILTERS)
def test_pod_still_pending_once_it_fits_fails(clause: str) -> None:
    h = filtered(clause)
    h.expect("example-1", "unwilling")
    h.node("node-1")
    h.expect("example-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "not-bound-in-time", "example-1")


@pytest.mark.parametrize("clause", FILTERS)
def test_pending_pod_without_a_fence_is_invalid(clause: str) -> None:
    h = filtered(clause, fence=False)
    h.expect("example-1", "unwilling")
    told(h.verdict(), "invalid", "not-decided-on")


def ordered(*rounds: str) -> HistoryBuilder:
    """In each round two pods compete for one slot; the winner is "first", "then", or "" for neither."""
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


def test_pods_bound_in_the_claimed_order_pass() -> None:
    assert ordered("first", "first").verdict().outcome == "passed"


@pytest.mark.parametrize("rounds", [("then", "first"), ("first", "then")], ids=["the older one", "the younger one"])
def test_pods_bound_against_the_claimed_order_fail(rounds: tuple[str, ...]) -> None:
    told(ordered(*rounds).verdict(), "failed", "against-claimed-order")


def test_round_without_a_bound_pod_is_invalid() -> None:
    told(ordered("first", "").verdict(), "invalid", "not-tried")


def test_history_without_rounds_is_invalid() -> None:
    told(ordered().verdict(), "invalid", "nothing-expected")


def scored(clause: str, *bound: str, labelled: bool = True) -> HistoryBuilder:
    """Two nodes, one fast and one slow; pods prefer fast and slow in turn, and `bound` lists where each goes."""
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
def test_pods_on_their_preferred_nodes_pass(clause: str) -> None:
    assert scored(clause, "node-1", "node-2", "node-1").verdict().outcome == "passed"


@pytest.mark.parametrize("clause", SCORES)
def test_summary_names_the_first_pod_on_another_node(clause: str) -> None:
    told(scored(clause, "node-1", "node-1", "node-2").verdict(), "failed", "preference-ignored", "scored-1", "node-1")


@pytest.mark.parametrize("clause", SCORES)
def test_score_example_without_a_better_node_is_invalid(clause: str) -> None:
    told(scored(clause, "node-1", labelled=False).verdict(), "invalid", "no-choice")
    told(scored(clause).verdict(), "invalid", "nothing-expected")


@pytest.mark.parametrize("count", [0, 1])
def test_batching_is_not_claimed_without_two_opposed_examples(count: int) -> None:
    points = dataclasses.replace(POINTS, score=POINTS.score[:count])
    assert points.opposed is None
    claims = dataclasses.replace(CLAIMS, points=points, features=(*CLAIMS.features, "signs-pods"))
    assert HistoryBuilder("plugin/batching-safe", claims=claims).verdict().outcome == "not-claimed"
