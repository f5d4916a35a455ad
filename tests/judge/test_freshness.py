"""`core/freshness` and `core/no-nodes`: by how old a view of the nodes a scheduler decides."""

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
    """So many changes of nodes, of which the first `late` were not heeded; `kept`: see `Aged`."""
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


def test_all_changes_were_heeded() -> None:
    told(rounds(late=0).verdict(), "passed", "", "3")


def test_one_late_decision_may_be_a_machine_that_stood_still() -> None:
    assert rounds(late=1).verdict().outcome == "passed"


@pytest.mark.parametrize("late", [2, 3])
def test_two_are_the_candidates(late: int) -> None:
    told(rounds(late).verdict(), "failed", "outdated-view", late, "3")


def test_a_machine_that_was_too_busy_says_nothing_of_the_view() -> None:
    told(rounds(late=2, kept=1).verdict(), "failed", "outdated-view")
    told(rounds(late=2, kept=4).verdict(), "invalid", "machine-too-busy")
    assert rounds(late=1, of=4, kept=4).verdict().outcome == "passed"


def test_what_was_undone_in_time_was_not_late() -> None:
    h = HistoryBuilder("core/freshness")
    for number in range(3):
        h.node("node-1", taints=[TAINT])
        h.add(Aged(case=h.case, node="node-1", rv=h.rv, seconds=2.0))
        h.node("node-1")
        h.pod(f"late-{number}")
        h.bind(f"late-{number}", "node-1")
        h.fence(f"sentinel-{number}")
    assert h.verdict().outcome == "passed"


def test_a_pod_that_had_no_turn_shows_nothing() -> None:
    told(rounds(late=0, fenced=False).verdict(), "invalid", "too-few", "0")


def test_a_sentinel_that_was_not_bound_leaves_the_rest_untried() -> None:
    h = rounds(late=0, of=2)
    h.fence("sentinel-9", node="")
    h.end(early=True)
    assert h.verdict().outcome == "invalid"


# -- no nodes


def emptied(bound: int, *, freshness: float = 0.05) -> HistoryBuilder:
    """All nodes go; so many pods are bound to one of them once that must be known, then one waits for its return."""
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


def test_pods_wait_and_are_bound_with_the_first_node() -> None:
    h = emptied(bound=0)
    h.pod("early-9")
    h.node("node-2")
    h.bind("early-9", "node-2")
    h.expect("early-9", "bound")
    assert h.verdict().outcome == "passed"


def test_pods_that_are_bound_to_nodes_that_are_long_gone_fail_it() -> None:
    h = emptied(bound=3)
    h.unseen("3 pods were bound to nodes that had been gone for long")
    told(h.verdict(), "failed", "outdated-view", "node-1")


def test_a_candidate_that_claims_to_take_longer_is_not_late() -> None:
    h = emptied(bound=3, freshness=60)
    assert h.verdict().outcome == "invalid"


def test_nodes_that_were_not_taken_away_show_nothing() -> None:
    h = HistoryBuilder("core/no-nodes")
    h.pod("early-1")
    h.bind("early-1", "node-1")
    h.expect("early-1", "bound")
    told(h.verdict(), "invalid", "not-tried")
