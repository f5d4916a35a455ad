"""Network preference against competing criteria: network/before-capacity, network/before-preferences,
network/many-nodes.
"""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.judge.clauses.network.competing import MANY, TURNS

from .histories import CLAIMS, NETWORK, HistoryBuilder, told
from .probing import ROTATION, loads, quietest, second, tried

BEFORE = ["network/before-capacity", "network/before-preferences"]
MANY_NODES = [f"node-{number:02}" for number in range(MANY)]
IN_TURN = [loads(node, MANY_NODES) for node in MANY_NODES[:: MANY // TURNS]]


@pytest.mark.parametrize("clause", BEFORE)
def test_pods_on_the_quietest_node_pass(clause: str) -> None:
    told(tried(clause, phases=ROTATION[:2], count=6).verdict(), "passed", "", "12")


@pytest.mark.parametrize("clause", BEFORE)
def test_another_node_fails_whatever_other_criteria_favor_it(clause: str) -> None:
    verdict = tried(clause, phases=ROTATION[:2], count=6, choose=second).verdict()
    told(verdict, "failed", "probe-not-on-quietest", "12 of 12")
    assert verdict.evidence.pattern == "outweighed"


@pytest.mark.parametrize("clause", BEFORE)
def test_outweighed_scores_excuse_nothing_and_are_in_the_summary(clause: str) -> None:
    h = tried(clause, phases=ROTATION[:2], count=6, choose=second)
    for phase, traffic in enumerate(ROTATION[:2]):
        for node in traffic:
            own, others = 10 - (node != quietest(traffic)), 90 if node == second(traffic) else 40
            for scorer, points in (("extender", own), ("NodeResourcesFit", others), ("total", others + 10 * own)):
                h.score(f"probe-{phase}-0", node, points, scorer=scorer)
    told(h.verdict(), "failed", "probe-not-on-quietest", "100 to 90 points", "40 to 90", "does not outweigh")


@pytest.mark.parametrize("clause", BEFORE)
def test_one_node_that_is_always_the_quietest_is_invalid(clause: str) -> None:
    told(tried(clause, phases=ROTATION[:1] * 2, count=6).verdict(), "invalid", "best-node-unchanged")


@pytest.mark.parametrize(
    ("clause", "outcome"), [*((clause, "not-claimed") for clause in BEFORE), ("network/many-nodes", "passed")]
)
def test_tie_breaker_is_judged_among_equal_nodes_only(clause: str, outcome: str) -> None:
    claims = dataclasses.replace(CLAIMS, network=dataclasses.replace(NETWORK, priority="tie-breaker"))
    world = HistoryBuilder(clause, claims=claims, nodes=MANY_NODES)
    verdict = tried(phases=IN_TURN, count=2, world=world, control=lambda _: "node-02").verdict()
    told(verdict, outcome, "" if outcome == "passed" else "not-claimed")


def among_many(nodes: list[str], choose: object = quietest) -> HistoryBuilder:
    """Make every twelfth of 96 nodes the quietest in turn, of which `nodes` exist."""
    phases = [{node: rate for node, rate in traffic.items() if node in nodes} for traffic in IN_TURN]
    world = HistoryBuilder("network/many-nodes", nodes=nodes)
    return tried(phases=phases, count=2, world=world, choose=choose, control=lambda _: "node-02")  # type: ignore[arg-type]


def test_pods_on_the_quietest_of_many_nodes_pass() -> None:
    told(among_many(MANY_NODES).verdict(), "passed", "", "16 of 16", "8")


@pytest.mark.parametrize("looked_at", [5, 10, 16, 20, 50])
def test_scheduler_that_scores_only_the_first_nodes_fails(looked_at: int) -> None:
    first = {*MANY_NODES[:looked_at]}
    h = among_many(MANY_NODES, lambda load: quietest({node: rate for node, rate in load.items() if node in first}))
    told(h.verdict(), "failed", "probe-not-on-quietest")


def test_fewer_nodes_than_required_are_invalid() -> None:
    told(among_many(MANY_NODES[:-1]).verdict(), "invalid", "too-few", "95", "96")
