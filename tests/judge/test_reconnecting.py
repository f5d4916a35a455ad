"""`core/watch-reconnect`, `core/watch-expired`, `controller/watch-reconnect`: pods after connections have ended."""

from __future__ import annotations

import pytest

from schedproof.history.acts import LineFault

from .histories import HistoryBuilder, told

pytestmark = pytest.mark.parametrize(
    "clause", ["core/watch-reconnect", "core/watch-expired", "controller/watch-reconnect"]
)


def cut(clause: str, *, connections: int = 3) -> HistoryBuilder:
    """The candidate's connections have ended, and a pod was created since."""
    h = HistoryBuilder(clause)
    h.add(LineFault(case=clause, line="apiserver", fault="cut", on=True, connections=connections))
    h.fault("", line="apiserver")
    h.pod("new-1")
    return h


def test_a_pod_that_is_bound_afterwards_passes(clause: str) -> None:
    h = cut(clause)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    assert h.verdict().outcome == "passed"


def test_a_pod_that_is_not_bound_afterwards_fails(clause: str) -> None:
    h = cut(clause)
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "not-bound-in-time")


def test_a_node_that_was_tainted_meanwhile_gets_no_pod(clause: str) -> None:
    h = cut(clause)
    h.node("node-1", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "infeasible-node", "reserved")


def test_where_no_connection_came_through_the_line_nothing_is_shown(clause: str) -> None:
    h = cut(clause, connections=0)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "invalid", "no-outage")


def test_without_a_cut_nothing_is_shown(clause: str) -> None:
    h = HistoryBuilder(clause)
    h.pod("new-1")
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "invalid", "no-outage")
