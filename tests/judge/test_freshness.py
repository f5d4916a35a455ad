"""`core/freshness` and `core/no-nodes`: how old a view of the nodes a scheduler decides by."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.candidate.timing import Timing
from schedproof.history.acts import Aged, Emptied
from schedproof.history.observations import LogTail

from .histories import CLAIMS, HistoryBuilder, told

TAINT = {"key": "reserved", "value": "yes", "effect": "NoSchedule"}
POOL = {"pool": "a"}


def rounds(late: int, of: int = 3, *, fenced: bool = True, kept: float = 0) -> HistoryBuilder:
    """Change nodes `of` times, of which the first `late` changes are ignored; `kept`: see `Aged`."""
    h = HistoryBuilder("core/freshness")
    for number in range(of):
        node = f"node-{number % 3 + 1}"
        h.node(node, labels=POOL)
        h.seen()
        h.node(node, labels=POOL, taints=[TAINT])
        h.add(Aged(case=h.case, node=node, rv=h.rv, seconds=2.0, kept={"candidate": kept}))
        name = f"late-{number}"
        h.pod(name, nodeSelector=POOL)
        if number < late:
            h.bind(name, node)
        if fenced:
            h.fence(f"sentinel-{number}")
        h.delete(name)
        h.node(node)
    return h


def test_observed_changes_pass() -> None:
    told(rounds(late=0).verdict(), "passed", "", "3")


def test_single_late_decision_is_tolerated() -> None:
    assert rounds(late=1).verdict().outcome == "passed"


@pytest.mark.parametrize("late", [2, 3])
def test_two_late_decisions_fail(late: int) -> None:
    told(rounds(late).verdict(), "failed", "outdated-view", late, "3")


def test_late_decisions_on_an_overloaded_machine_are_invalid() -> None:
    told(rounds(late=2, kept=1).verdict(), "failed", "outdated-view")
    told(rounds(late=2, kept=4).verdict(), "invalid", "machine-too-busy")
    assert rounds(late=1, of=4, kept=4).verdict().outcome == "passed"


def test_change_undone_in_time_is_not_late() -> None:
    h = HistoryBuilder("core/freshness")
    for number in range(3):
        h.node("node-1", taints=[TAINT])
        h.add(Aged(case=h.case, node="node-1", rv=h.rv, seconds=2.0))
        h.node("node-1")
        h.pod(f"late-{number}")
        h.bind(f"late-{number}", "node-1")
        h.fence(f"sentinel-{number}")
    assert h.verdict().outcome == "passed"


def test_pod_that_was_not_decided_on_is_invalid() -> None:
    told(rounds(late=0, fenced=False).verdict(), "invalid", "too-few", "0")


def test_unbound_sentinel_is_invalid() -> None:
    h = rounds(late=0, of=2)
    h.fence("sentinel-9", node="")
    h.end(early=True)
    assert h.verdict().outcome == "invalid"


# -- no nodes


def emptied(bound: int, *, freshness: float = 0.05) -> HistoryBuilder:
    """Delete all nodes; bind `bound` pods to a deleted node after the candidate must know that it is gone."""
    claims = dataclasses.replace(CLAIMS, timing=Timing(freshness=freshness))
    h = HistoryBuilder("core/no-nodes", claims=claims)
    h.add(Emptied(case=h.case))
    for number in range(1, 5):
        h.remove_node(f"node-{number}")
    h.pod("early-0")
    h.bind("early-0", "node-1")  # the watch is behind: not late
    for _ in range(6):
        h.add(LogTail(case=h.case, name="x", lines=[]))  # time passes
    for number in range(1, bound + 1):
        h.pod(f"early-{number}")
        h.bind(f"early-{number}", "node-1")
    return h


def test_pods_bound_when_the_first_node_joins_pass() -> None:
    h = emptied(bound=0)
    h.pod("early-9")
    h.node("node-2")
    h.bind("early-9", "node-2")
    h.expect("early-9", "bound")
    assert h.verdict().outcome == "passed"


def test_pods_bound_to_long_deleted_nodes_fail() -> None:
    h = emptied(bound=3)
    h.unseen("3 pods were bound to nodes that had been gone for long")
    told(h.verdict(), "failed", "outdated-view", "node-1")


def test_bindings_within_the_claimed_freshness_are_not_late() -> None:
    h = emptied(bound=3, freshness=60)
    assert h.verdict().outcome == "invalid"


def test_history_without_removed_nodes_is_invalid() -> None:
    h = HistoryBuilder("core/no-nodes")
    h.pod("early-1")
    h.bind("early-1", "node-1")
    h.expect("early-1", "bound")
    told(h.verdict(), "invalid", "not-tried")
