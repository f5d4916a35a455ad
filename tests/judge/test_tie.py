"""network/tie: whether equally quiet nodes all get pods."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.judge.clauses.network.tie import chi_square_tail

from .histories import CLAIMS, NODES, HistoryBuilder, told

CLAIMED = dataclasses.replace(CLAIMS, features=("tie-spread",))


def tied(*shares: int) -> HistoryBuilder:
    """Bind `shares` pods to the nodes, which all have the same traffic."""
    h = HistoryBuilder("network/tie", claims=CLAIMED)
    h.load(0, dict.fromkeys(NODES, 1e5))
    for node, share in zip(NODES, shares, strict=True):
        for number in range(share):
            pod = f"tie-{node}-{number}"
            h.pod(pod, role="tie", phase=0, cpu="100m")
            h.bind(pod, node)
            h.expect(pod, "bound")
            h.delete(pod)
    return h


@pytest.mark.parametrize("shares", [(14, 13, 13, 13), (22, 13, 10, 8)], ids=["in turn", "by lot"])
def test_shares_explained_by_chance_pass(shares: tuple[int, ...]) -> None:
    told(tied(*shares).verdict(), "passed", "", "53", "4", "node-1")


def test_node_without_pods_fails() -> None:
    told(tied(18, 18, 0, 17).verdict(), "failed", "ties-not-spread", "node-3")


def test_preferred_node_fails() -> None:
    told(tied(50, 1, 1, 1).verdict(), "failed", "ties-not-spread")


def test_too_few_pods_are_invalid() -> None:
    told(tied(10, 0, 0, 0).verdict(), "invalid", "too-few")
    told(tied(0, 0, 0, 0).verdict(), "invalid", "nothing-expected")


@pytest.mark.parametrize(
    ("statistic", "freedom", "tail"),
    # From tables of the distribution's critical values.
    [(0.0, 1, 1.0), (3.841, 1, 0.05), (5.991, 2, 0.05), (7.815, 3, 0.05), (16.266, 3, 0.001), (18.307, 10, 0.05)],
)  # fmt: skip
def test_chi_square_tail_matches_published_tables(statistic: float, freedom: int, tail: float) -> None:
    assert chi_square_tail(statistic, freedom) == pytest.approx(tail, rel=2e-3)
