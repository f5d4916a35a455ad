"""`core/watch-reconnect`, `core/watch-expired`, `controller/watch-reconnect`: pods after connections have ended."""

from __future__ import annotations

import pytest

from schedproof.history.acts import LineFault

from .histories import HistoryBuilder, told

pytestmark = pytest.mark.parametrize(
    "clause", ["core/watch-reconnect", "core/watch-expired", "controller/watch-reconnect"]
)


def cut(clause: str, *, connections: int = 3) -> HistoryBuilder:
    """Cut the candidate's connections, and then create a pod."""
    h = HistoryBuilder(clause)
    h.add(LineFault(case=clause, line="apiserver", fault="cut", on=True, connections=connections))
    h.fault("", line="apiserver")
    h.pod("new-1")
    return h


def test_pod_bound_after_the_cut_passes(clause: str) -> None:
    h = cut(clause)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    assert h.verdict().outcome == "passed"


def test_pod_not_bound_after_the_cut_fails(clause: str) -> None:
    h = cut(clause)
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "not-bound-in-time")


def test_pod_bound_to_a_node_tainted_after_the_cut_fails(clause: str) -> None:
    h = cut(clause)
    h.node("node-1", taints=[{"key": "reserved", "effect": "NoSchedule"}])
    h.seen()
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "infeasible-node", "reserved")


def test_cut_without_a_connection_is_invalid(clause: str) -> None:
    h = cut(clause, connections=0)
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "invalid", "no-outage")


def test_history_without_a_cut_is_invalid(clause: str) -> None:
    h = HistoryBuilder(clause)
    h.pod("new-1")
    h.bind("new-1", "node-1")
    h.expect("new-1", "bound", deadline="requeue")
    told(h.verdict(), "invalid", "no-outage")
