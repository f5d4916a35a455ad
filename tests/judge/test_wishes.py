"""core/prefer-*: pods must be bound to the nodes that they prefer."""

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
    """Taint all nodes but one in each round; `chosen`: that node, and the nodes of the round's pods."""
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


def test_pods_on_their_preferred_nodes_pass() -> None:
    told(tainted({best: [best] * 5 for best in TWO}).verdict(), "passed", "", "10")


def test_single_pod_on_another_node_fails() -> None:
    h = tainted({"node-2": ["node-2"] * 5, "node-3": [*["node-3"] * 4, "node-1"]})
    told(h.verdict(), "failed", "preference-ignored", "wish-node-3-4", "node-1", "node-3")


def test_too_few_pods_or_an_unchanged_best_node_are_invalid() -> None:
    told(tainted({best: [best] * 4 for best in TWO}).verdict(), "invalid", "random-chooser-passes")
    told(tainted({"node-2": ["node-2"] * 12}).verdict(), "invalid", "best-node-unchanged")


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [({"nodeCacheCapable": False}, "not-claimed"), ({"nodeCacheCapable": True}, "failed"),
     ({"nodeCacheCapable": False, "filterVerb": ""}, "failed")],
)  # fmt: skip
def test_extender_that_filters_whole_nodes_is_not_claimed(changes: Any, outcome: str) -> None:
    assert tainted({"node-2": ["node-1"]}, {**EXTENDER, **changes}).verdict().outcome == outcome


@pytest.mark.parametrize(
    ("network", "scripted", "tried"), [(True, True, True), (True, False, False), (False, False, True)]
)
def test_readings_that_cannot_be_scripted_are_an_obstacle(network: bool, scripted: bool, tried: bool) -> None:
    claims = CLAIMS if network else CLAIMED
    obstacle = CATALOGUE[CASE].obstacle(
        claims, RunCluster(name="kind", capabilities=sorted(SCRIPTED_METRICS) if scripted else [])
    )
    assert (not obstacle) is tried


def counting(chosen: Mapping[str, Sequence[str]], *, apart: Sequence[int], own: Any = "counted") -> HistoryBuilder:
    """Like `tainted`, but the candidate may count its own placements; none counts before the pods in `apart`."""
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


def repeated_rounds(second: str, after: str = "") -> dict[str, list[str]]:
    """The second pod goes elsewhere; then all pods are repeated, apart, and the last of them goes to `after`."""
    return {best: [best, second, *[best] * 6, after or best] for best in TWO}


@pytest.mark.parametrize("own", ["counted", None])
def test_pod_after_other_placements_is_excused_by_later_correct_pods(own: Any) -> None:
    told(counting(repeated_rounds("node-1"), apart=range(2, 9), own=own).verdict(), "passed", "", "16")


def test_placements_excuse_no_pod_without_a_later_correct_pod() -> None:
    for verdict in (
        counting(repeated_rounds("node-1"), apart=range(2, 9), own="ignored").verdict(),
        counting(repeated_rounds("node-1"), apart=()).verdict(),
        counting(repeated_rounds("node-1", after="node-1"), apart=range(2, 9)).verdict(),
    ):
        told(verdict, "failed", "preference-ignored")


def test_placements_excuse_no_pod_if_the_best_node_had_none() -> None:
    # The pods before it went to another node as well.
    h = counting({"node-2": ["node-1", "node-1", *["node-2"] * 9]}, apart=(2, 3))
    told(h.verdict(), "failed", "preference-ignored", "wish-node-2-0")


def test_pods_before_a_repetition_do_not_count_against_chance() -> None:
    shares = {best: [*[best] * 9, "node-1", best] for best in TWO}
    told(counting(shares, apart=(10,)).verdict(), "invalid", "random-chooser-passes")
