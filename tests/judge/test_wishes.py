"""core/prefer-*: whether pods are where they would rather be."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import SCRIPTED_METRICS

from .histories import CLAIMS, EXTENDER, NODES, HistoryBuilder, told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CASE = "core/prefer-no-schedule"
CLAIMED = dataclasses.replace(CLAIMS, features=("scoring",), network=None)
SOFT = {"key": "soft", "effect": "PreferNoSchedule"}
TWO = ("node-2", "node-3")


def tainted(chosen: Mapping[str, Sequence[str]], extender: Mapping[str, Any] = EXTENDER) -> HistoryBuilder:
    """In each round all nodes but one are tainted: that one, and where the pods went."""
    h = HistoryBuilder(CASE, claims=CLAIMED, extender=extender)
    for best, nodes in chosen.items():
        for node in NODES:
            h.node(node, taints=[] if node == best else [SOFT])
        h.seen()
        for number, node in enumerate(nodes):
            pod = f"wish-{best}-{number}"
            h.pod(pod, role="wish", cpu="100m")
            h.bind(pod, node)
            h.expect(pod, "bound")
            h.delete(pod)
    return h


def test_pods_on_the_nodes_that_they_prefer_pass() -> None:
    told(tainted({best: [best] * 5 for best in TWO}).verdict(), "passed", "10 pods went to the nodes that they prefer")


def test_a_single_pod_elsewhere_fails() -> None:
    h = tainted({"node-2": ["node-2"] * 5, "node-3": [*["node-3"] * 4, "node-1"]})
    told(h.verdict(), "failed", "wish-node-3-4 went to node-1, and would rather be on node-3")


def test_what_chance_or_one_liked_node_would_pass_shows_nothing() -> None:
    told(tainted({best: [best] * 4 for best in TWO}).verdict(), "invalid", "a random chooser would pass")
    told(tainted({"node-2": ["node-2"] * 12}).verdict(), "invalid", "one node was the best for all pods")


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [({"nodeCacheCapable": False}, "not-claimed"), ({"nodeCacheCapable": True}, "failed"),
     ({"nodeCacheCapable": False, "filterVerb": ""}, "failed")],
)  # fmt: skip
def test_an_extender_that_filters_whole_nodes_costs_scores_and_is_not_blamed(changes: Any, outcome: str) -> None:
    assert tainted({"node-2": ["node-1"]}, {**EXTENDER, **changes}).verdict().outcome == outcome


@pytest.mark.parametrize(
    ("network", "scripted", "tried"), [(True, True, True), (True, False, False), (False, False, True)]
)
def test_readings_that_cannot_be_made_the_same_are_an_obstacle(network: bool, scripted: bool, tried: bool) -> None:
    claims = CLAIMS if network else CLAIMED
    obstacle = CATALOGUE[CASE].obstacle(claims, {"capabilities": sorted(SCRIPTED_METRICS) if scripted else []})
    assert (not obstacle) is tried
