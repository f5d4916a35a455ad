"""`core/watch-versions`: pending pods while resourceVersions gain a digit."""

from __future__ import annotations

from schedproof.judge.clauses.core.reconnecting import MOST_VERSIONS

from .histories import HistoryBuilder, told


def grown(rv: int = 990, by: int = 10) -> HistoryBuilder:
    """Change a node and create a pod; `by` versions later, change the node again and create another pod."""
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


def test_change_observed_after_a_digit_was_gained_passes() -> None:
    h = grown()
    h.bind("waits-1", "node-1")
    h.expect("waits-1", "bound", deadline="requeue")
    assert h.verdict().outcome == "passed"


def test_change_not_observed_after_a_digit_was_gained_fails_and_names_it() -> None:
    h = grown()
    h.expect("waits-1", "bound", deadline="requeue")
    told(h.verdict(), "failed", "not-bound-in-time", "another digit")


def test_versions_that_did_not_gain_a_digit_are_invalid() -> None:
    told(grown(by=0).verdict(), "invalid", "not-tried", "nodes, pods")


def test_versions_too_far_from_another_digit_are_not_applicable() -> None:
    told(grown(1_000_000 - MOST_VERSIONS - 100, by=10).verdict(), "not-claimed", "not-applicable")
    told(grown(1_000_000 - MOST_VERSIONS + 100, by=10).verdict(), "invalid", "not-tried")


def test_failure_without_a_gained_digit_does_not_name_it() -> None:
    h = grown(by=0)
    h.expect("waits-1", "bound", deadline="requeue")
    verdict = h.verdict()
    told(verdict, "failed", "not-bound-in-time")
    assert "digit" not in verdict.summary
