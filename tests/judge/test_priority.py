"""core/priority-order: which pods are bound if more are pending than fit."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.history.acts import Resumed
from schedproof.judge.clauses.core.priority import REPEATED

from .histories import CLAIMS, HistoryBuilder

CASE = "core/priority-order"
CLAIMED = dataclasses.replace(CLAIMS, features=("priority",))


def contention(room: int, *bound: str, delete: tuple[str, ...] = (), **priorities: int | None) -> HistoryBuilder:
    """A node with room for `room` of these pods, bound in the order of `bound`; `delete`: evicted after the first
    Binding.
    """
    h = HistoryBuilder(CASE, claims=CLAIMED)
    h.node("node-1", cpu=str(room))
    h.node("node-4", cpu="0")
    h.seen()
    here = {"kubernetes.io/hostname": "node-1"}
    for name, priority in priorities.items():
        more = {} if priority is None else {"priority": priority}
        h.pod(name, role="contender", phase=0, cpu="1", nodeSelector=here, **more)
    for number, name in enumerate(bound):
        h.bind(name, "node-1")
        if not number:
            for evicted in delete:
                h.delete(evicted)
    h.fence()
    for name in priorities:
        if name not in delete:
            h.expect(name, "bound" if name in bound else "pending")
    return h


@pytest.mark.parametrize(
    ("h", "outcome", "code"),
    [
        (contention(2, "b", "d", a=-10, b=9, c=None, d=10), "passed", ""),
        (contention(2, "d", "b", a=-10, b=9, c=None, d=10), "passed", "their order among themselves"),
        (contention(1, "c", a=-10, c=None), "passed", "no priority is 0"),
        (contention(1, "a", a=-10, c=None), "failed", "a negative one taken first"),
        (contention(2, "b", "c", a=-10, b=9, c=None, d=10), "failed", "the highest left waiting"),
        (contention(1, "a", "d", delete=("a",), a=1, d=10), "failed", "taken first, and evicted"),
        (contention(2, "a", "d", a=1, d=10), "invalid", "room for all"),
        (contention(1, "a", a=5, d=5), "invalid", "equals"),
    ],
)
def test_pods_of_the_highest_priorities_must_be_bound(h: HistoryBuilder, outcome: str, code: str) -> None:
    assert h.verdict().outcome == outcome, (code, h.verdict().summary)


@pytest.mark.parametrize(
    ("pause", "repeated", "outcome"),
    [
        (0.5, "high", "passed"),
        (0.5, "low", "failed"),
        (0.5, "", "failed"),
        (5.0, "high", "failed"),
    ],
)
def test_a_pod_counts_as_waiting_once_it_must_have_been_seen(pause: float, repeated: str, outcome: str) -> None:
    """A round in which the low one was taken so long after the start, and the round that was tried again."""
    h = HistoryBuilder(CASE, claims=CLAIMED)
    h.node("node-1", cpu="1")
    h.seen()
    here = {"kubernetes.io/hostname": "node-1"}
    for role, taken in (("contender", "low"), (REPEATED, repeated)):
        if not taken:
            continue
        names = {"low": f"low-{role}", "high": f"high-{role}"}
        for priority, name in enumerate(names.values()):
            h.pod(name, role=role, phase=0, cpu="1", priority=priority, nodeSelector=here)
        if role == "contender":
            h.add(Resumed(case=h.case))
            h.wait(pause)
        h.bind(names[taken], "node-1")
        h.fence()
        for rank, name in names.items():
            h.expect(name, "bound" if rank == taken else "pending")
        for name in names.values():
            h.delete(name)
    verdict = h.verdict()
    assert verdict.outcome == outcome, (verdict.code, verdict.summary)


def test_history_without_contenders_is_invalid() -> None:
    h = HistoryBuilder(CASE, claims=CLAIMED)
    h.node("node-1")
    h.seen()
    h.pod("p")
    h.bind("p", "node-1")
    h.expect("p", "bound")
    assert h.verdict().outcome == "invalid"


def test_summary_names_both_pods() -> None:
    finding = contention(1, "low", low=1, high=10).verdict()
    assert "low (priority 1)" in finding.summary
    assert "high (priority 10)" in finding.summary
