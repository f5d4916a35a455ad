"""core/prefer-*: whether pods are on the nodes that they prefer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from schedproof.history.acts import RunCluster
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.clause import SCRIPTED_METRICS

from .histories import CLAIMS, EXTENDER, NETWORK, NODES, HistoryBuilder, told

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
    told(tainted({best: [best] * 5 for best in TWO}).verdict(), "passed", "", "10")


def test_a_single_pod_elsewhere_fails() -> None:
    h = tainted({"node-2": ["node-2"] * 5, "node-3": [*["node-3"] * 4, "node-1"]})
    told(h.verdict(), "failed", "preference-ignored", "wish-node-3-4", "node-1", "node-3")


def test_what_chance_or_one_liked_node_would_pass_shows_nothing() -> None:
    told(tainted({best: [best] * 4 for best in TWO}).verdict(), "invalid", "random-chooser-passes")
    told(tainted({"node-2": ["node-2"] * 12}).verdict(), "invalid", "best-node-unchanged")


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
    obstacle = CATALOGUE[CASE].obstacle(
        claims, RunCluster(name="kind", capabilities=sorted(SCRIPTED_METRICS) if scripted else [])
    )
    assert (not obstacle) is tried


def counting(chosen: Mapping[str, Sequence[str]], *, apart: Sequence[int], own: Any = "counted") -> HistoryBuilder:
    """As `tainted`, of a candidate that may count its own placements; before pods of these numbers none counts."""
    network = dataclasses.replace(NETWORK, own_placements=own)
    h = HistoryBuilder(CASE, claims=dataclasses.replace(CLAIMED, network=network))
    for phase, (best, nodes) in enumerate(chosen.items()):
        for node in NODES:
            h.node(node, taints=[] if node == best else [SOFT])
        h.seen()
        for number, node in enumerate(nodes):
            if number in apart:
                h.wait(NETWORK.counting)
            pod = f"wish-{best}-{number}"
            h.pod(pod, role="wish", phase=phase, cpu="100m")
            h.bind(pod, node)
            h.expect(pod, "bound")
            h.delete(pod)
    return h


def begun_anew(second: str, after: str = "") -> dict[str, list[str]]:
    """The second pod goes elsewhere; all are asked again then, apart, and the last of those goes to `after`."""
    return {best: [best, second, *[best] * 6, after or best] for best in TWO}


@pytest.mark.parametrize("own", ["counted", None])
def test_a_pod_that_placements_before_it_may_have_sent_elsewhere_is_excused_by_later_ones(own: Any) -> None:
    told(counting(begun_anew("node-1"), apart=range(2, 9), own=own).verdict(), "passed", "", "16")


def test_placements_excuse_no_pod_without_a_later_one_that_is_right() -> None:
    for verdict in (
        counting(begun_anew("node-1"), apart=range(2, 9), own="ignored").verdict(),
        counting(begun_anew("node-1"), apart=()).verdict(),
        counting(begun_anew("node-1", after="node-1"), apart=range(2, 9)).verdict(),
    ):
        told(verdict, "failed", "preference-ignored")


def test_placements_excuse_no_pod_while_the_best_node_got_none() -> None:
    # The pods before it went elsewhere as well.
    h = counting({"node-2": ["node-1", "node-1", *["node-2"] * 9]}, apart=(2, 3))
    told(h.verdict(), "failed", "preference-ignored", "wish-node-2-0")


def test_pods_before_all_was_begun_anew_do_not_count_against_chance() -> None:
    shares = {best: [*[best] * 9, "node-1", best] for best in TWO}
    told(counting(shares, apart=(10,)).verdict(), "invalid", "random-chooser-passes")
