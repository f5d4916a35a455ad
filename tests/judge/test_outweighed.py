"""Preferences among nodes that differ: kube-scheduler's own plugins may outweigh the candidate's scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from schedproof.history.observations import Configured

from .histories import CLAIMS, EXTENDER, NETWORK, NODES, HistoryBuilder, told
from .probing import LEAST, ROTATION, quietest, tried

LARGE = "node-3"
"""The node that kube-scheduler's plugins score highest, whatever the traffic."""


def scored(
    h: HistoryBuilder, pod: str, own: Mapping[str, int], *, weight: int = 1, other: str = "NodeResourcesFit"
) -> None:
    """Log an extender's scores of a pod and a plugin's points (90 for LARGE, else 40), as kube-scheduler does."""
    for node, score in own.items():
        points = 90 if node == LARGE else 40
        h.score(pod, node, score, scorer="extender")
        h.score(pod, node, points, scorer=other)
        h.score(pod, node, points + 10 * weight * score)


def ranks(traffic: Mapping[str, float]) -> dict[str, int]:
    """Scores of an extender by ascending traffic."""
    return {node: 10 - place for place, node in enumerate(sorted(traffic, key=traffic.__getitem__))}


def preferring(own: Any = ranks, **more: Any) -> HistoryBuilder:
    """Bind all pods to the node that kube-scheduler's plugins prefer; `own` gives the extender's scores."""
    h = tried(choose=lambda _traffic: LARGE)
    for phase, traffic in enumerate(ROTATION):
        for number in range(3):
            scored(h, f"probe-{phase}-{number}", own(traffic), **more)
    return h


def test_outweighed_preference_is_invalid() -> None:
    told(preferring().verdict(), "invalid", "outweighed", "node-1", "node-3", "100", "90", "9 of 12")


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (lambda traffic: dict.fromkeys(traffic, 5), "NodeResourcesFit"),
        (lambda traffic: {node: 10 - score for node, score in ranks(traffic).items()}, "NodeResourcesFit"),
        (lambda traffic: {**ranks(traffic), "node-2": 11}, "NodeResourcesFit"),
        (ranks, "AnotherOfItsOwn"),
    ],
    ids=["no preference", "the loudest", "another node", "a plugin that it has brought itself"],
)
def test_scores_that_do_not_prefer_the_quietest_node_are_not_excused(own: Any, other: str) -> None:
    told(preferring(own, other=other).verdict(), "failed", "probe-not-on-quietest")


def test_overflowing_weighted_scores_are_not_excused() -> None:
    world = HistoryBuilder(LEAST, extender={**EXTENDER, "weight": 9_000_000_000_000_000_000})
    h = tried(choose=lambda _traffic: LARGE, world=world)
    for phase, traffic in enumerate(ROTATION):
        for number in range(3):
            scored(h, f"probe-{phase}-{number}", ranks(traffic))
    verdict = h.verdict()
    told(verdict, "failed", "probe-not-on-quietest")
    assert "weight-overflows" in [symptom.kind for symptom in verdict.evidence.symptoms]


def test_outweighed_plugin_is_invalid_like_an_extender() -> None:
    world = HistoryBuilder(LEAST, extender={})
    profile = {"schedulerName": "tested", "plugins": {"score": {"enabled": [{"name": "Quiet", "weight": 1}]}}}
    world.add(Configured(document={"profiles": [profile]}))
    h = tried(choose=lambda _traffic: LARGE, world=world)
    for phase, traffic in enumerate(ROTATION):
        for number in range(3):
            for node in NODES:
                own, others = 100 if node == quietest(traffic) else 90, 90 if node == LARGE else 40
                for scorer, points in (("Quiet", own), ("NodeResourcesFit", others), ("total", own + others)):
                    h.score(f"probe-{phase}-{number}", node, points, scorer=scorer)
    told(h.verdict(), "invalid", "outweighed")


@pytest.mark.parametrize(
    ("shares", "outcome", "code"),
    [((0, 0, 53, 0), "invalid", "outweighed"), ((53, 0, 0, 0), "failed", "ties-not-spread")],
)
def test_ties_broken_by_other_plugins_are_invalid(shares: tuple[int, ...], outcome: str, code: str) -> None:
    h = HistoryBuilder("network/tie", claims=dataclasses.replace(CLAIMS, features=("tie-spread",)))
    h.load(0, dict.fromkeys(NODES, 1e5))
    for node, share in zip(NODES, shares, strict=True):
        for number in range(share):
            pod = f"tie-{node}-{number}"
            h.pod(pod, role="tie", phase=0, cpu="100m")
            scored(h, pod, dict.fromkeys(NODES, 10))
            h.bind(pod, node)
            h.expect(pod, "bound")
            h.delete(pod)
    told(h.verdict(), outcome, code)


@pytest.mark.parametrize(("own", "outcome"), [(10, "invalid"), (9, "failed")])
def test_node_without_samples_preferred_by_other_plugins_is_invalid(own: int, outcome: str) -> None:
    network = dataclasses.replace(NETWORK, on_missing="avoid")
    h = HistoryBuilder("network/missing-node", claims=dataclasses.replace(CLAIMS, network=network))
    h.load(0, {"node-1": 1e5, "node-2": 2e5, "node-4": 4e5})
    h.pod("probe-1", phase=0)
    scored(h, "probe-1", {"node-1": own, "node-2": 8, LARGE: 9, "node-4": 7})
    h.bind("probe-1", LARGE)
    h.expect("probe-1", "bound")
    told(h.verdict(), outcome, "outweighed" if outcome == "invalid" else "against-on-missing")


def test_pod_bound_against_the_total_score_is_not_excused() -> None:
    h = HistoryBuilder("network/least-traffic", extender={**EXTENDER, "weight": 200})
    tried(choose=lambda _traffic: LARGE, world=h)
    for phase, traffic in enumerate(ROTATION):
        for number in range(3):
            scored(h, f"probe-{phase}-{number}", ranks(traffic), weight=200)
    told(h.verdict(), "failed", "probe-not-on-quietest")
