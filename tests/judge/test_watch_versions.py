"""`core/watch-versions`: pods that wait while resourceVersions get another digit."""

from __future__ import annotations

from schedproof.judge.clauses.core.reconnecting import MOST_VERSIONS

from .histories import HistoryBuilder, told


def grown(rv: int = 990, by: int = 10) -> HistoryBuilder:
    """A node and a pod change; then, so many versions later, the node changes again, and a pod comes."""
    h = HistoryBuilder("core/watch-versions")
    h.rv = rv
    h.node("node-1", labels={"disk": "hdd"})
    h.pod("waits-1", nodeSelector={"disk": "ssd"})
    h.rv += by
    h.node("node-1", labels={"disk": "ssd"})
    h.seen()
    h.pod("new-1")
    h.bind("new-1", "node-2")
    h.expect("new-1", "bound")
    return h


def test_what_is_heeded_afterwards_passes() -> None:
    h = grown()
    h.bind("waits-1", "node-1")
    h.expect("waits-1", "bound", deadline="requeue")
    assert h.verdict().outcome == "passed"


def test_what_is_not_heeded_afterwards_fails_and_says_when() -> None:
    h = grown()
    h.expect("waits-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "not-bound-in-time", "another digit")


def test_where_versions_did_not_grow_nothing_is_shown() -> None:
    told(grown(by=0).verdict(), "invalid", "not-tried", "nodes, pods")


def test_where_versions_are_too_far_from_another_digit_it_is_skipped() -> None:
    told(grown(1_000_000 - MOST_VERSIONS - 100, by=10).verdict(), "not-claimed", "not-applicable")
    told(grown(1_000_000 - MOST_VERSIONS + 100, by=10).verdict(), "invalid", "not-tried")


def test_a_failure_without_another_digit_is_not_due_to_it() -> None:
    h = grown(by=0)
    h.expect("waits-1", "bound", deadline="requeue")
    verdict = h.verdict()
    told(verdict, "failed", "not-bound-in-time")
    assert "digit" not in verdict.summary
