"""core/random-worlds: the finding is the smallest failing world, if a search found one."""

from __future__ import annotations

from typing import Any

from schedproof.history.acts import WorldSearch
from schedproof.judge.evidence import SmallestWorld

from .histories import HistoryBuilder, told

WORDS = "1 node, 1 pod: node-world-0; pod-1 comes"


def searched(h: HistoryBuilder, **fields: Any) -> HistoryBuilder:
    found = {"id": "0a1b2c3d", "world": {}, "words": WORDS, "file": "worlds/0a1b2c3d.yaml"} if fields else {}
    h.add(WorldSearch(case=h.case, worlds=12, **{**found, **fields}))
    return h


def two_misplaced() -> HistoryBuilder:
    """Two misplaced pods: `early` of a world before reduction, and `late` of the smallest world."""
    h = HistoryBuilder("core/random-worlds")
    h.seen()
    for name in ("early", "late"):
        h.pod(name, cpu="12")
        h.bind(name, "node-1")
    return h


def test_search_without_findings_passes_with_the_number_of_worlds() -> None:
    h = HistoryBuilder("core/random-worlds")
    h.pod("fits", cpu="1")
    h.bind("fits", "node-1")
    h.expect("fits", "bound")
    told(searched(h).verdict(), "passed", "", "12 worlds: 1 pods bound")


def test_finding_is_the_smallest_failing_world() -> None:
    h = two_misplaced()
    verdict = searched(h, pods=[h.uid("late")]).verdict()
    told(verdict, "failed", "infeasible-node", "late was bound", f"in a world of {WORDS};", "replay 0a1b2c3d")
    assert "early" not in verdict.summary
    assert verdict.evidence.world == SmallestWorld(id="0a1b2c3d", words=WORDS, file="worlds/0a1b2c3d.yaml", worlds=12)


def test_pod_misplaced_once_fails_even_if_the_smallest_world_passes_later() -> None:
    h = two_misplaced()
    h.pod("right", cpu="1")
    h.bind("right", "node-2")
    h.expect("right", "bound")
    for pods in ([h.uid("right")], []):
        told(searched(h, pods=pods, steady=False).verdict(), "failed", "infeasible-node", "early was", "not each time")


def test_history_without_a_search_is_judged_by_all_pods() -> None:
    told(two_misplaced().verdict(), "failed", "infeasible-node", "early was bound")


def test_unbound_pod_on_an_overloaded_machine_is_invalid() -> None:
    h = HistoryBuilder("core/random-worlds")
    h.pod("fits", cpu="1")
    h.expect("fits", "bound", **{"kube-apiserver": 90.0})
    told(searched(h, pods=[h.uid("fits")]).verdict(), "invalid", "machine-too-busy")
