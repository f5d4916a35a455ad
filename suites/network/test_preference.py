"""network-aware: the quietest feasible node is preferred."""

import time

import pytest

from schedproof.judge.preference import ROTATIONS
from schedproof.normalization.surfaces.scheduler import confined
from schedproof.stimulus.node_changes import LOOKALIKES, UNUSUAL_NAMES

BURST = 3
"""Pods for each node."""
TIED = 100_000.0
"""Bytes per second of each of several nodes."""


@pytest.mark.clause("network/least-traffic")
def test_least_traffic(case):
    """Each node is the quietest in turn, in a world whose every reading is scripted."""
    nodes = case.nodes[:ROTATIONS]
    for node in nodes:
        phase = case.script(case.traffic(node))
        case.probe(phase, count=case.probes(len(nodes)))
    if len(nodes) > 2:
        # The control of the claimed resolution: below it, either of two nodes is right, and no other one.
        phase = case.script(case.undecided(*nodes[:2]))
        case.seek(phase, 3, *nodes[:2], role="undecided")


@pytest.mark.clause("network/flip")
def test_flip(case):
    """The quietest and the loudest node swap their loads. The preference has window plus refresh to follow."""
    before = case.traffic(case.nodes[0])
    quietest, loudest = min(before, key=before.get), max(before, key=before.get)
    after = {**before, quietest: before[loudest], loudest: before[quietest]}
    case.probe(case.script(before), count=case.probes(2))
    phase = case.script(after, before=before)
    case.wait_claimed(time.monotonic())
    case.probe(phase, count=case.probes(2))


@pytest.mark.clause("network/ranking")
def test_ranking(case):
    """One node after the other becomes infeasible, the quietest first: full, tainted, then cordoned."""
    take = (
        lambda node: case.fill(node, cpu="50m"),
        lambda node: case.change_node(node, taints=[{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}]),
        lambda node: case.change_node(node, unschedulable=True),
    )
    load = case.traffic(case.nodes[0])
    ranking = sorted(load, key=load.get)[: ROTATIONS - 1]
    count = case.probes_among(range(len(load), len(load) - len(ranking) + 1, -1))
    # Then in the opposite order: a scheduler with an order of its own is wrong in one of the two.
    for order in (ranking, ranking[::-1]):
        traffic = load | {node: load[other] for node, other in zip(order, ranking, strict=True)}
        phase = case.script(traffic)
        for number, node in enumerate(order[:-1]):
            case.probe(phase, count=count, among=[one for one in traffic if traffic[one] >= traffic[node]])
            take[number % len(take)](node)
            case.settle()
        case.restore()


@pytest.mark.clause("network/feasible-first")
def test_feasible_first(case):
    """The quietest node is tainted, then cordoned, then full: it must not be chosen, and others must."""
    for make_infeasible in (
        lambda node: case.change_node(node, taints=[{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}]),
        lambda node: case.change_node(node, unschedulable=True),
        lambda node: case.fill(node, cpu="50m"),
    ):
        node, *_ = case.nodes
        case.script(case.traffic(node))
        make_infeasible(node)
        case.settle()
        case.expect_bound([case.pod(cpu="100m") for _ in range(4)])
        case.restore()


@pytest.mark.clause("network/herd")
def test_herd(case):
    """A burst of pods, while all readings stay as they are: several for each node."""
    case.script(case.traffic(case.nodes[0]))
    case.expect_bound([case.pod("herd", role="herd", cpu="50m") for _ in range(BURST * len(case.nodes))])


@pytest.mark.clause("network/real-traffic")
def test_real_traffic(case):
    """Packets through the nodes' devices, real exporters, real scrapes; then the load moves."""
    first, second, *_ = case.nodes
    for node in (first, second):
        phase = case.send(case.traffic(node, packets=True))
        case.probe(phase, count=case.probes(2) + 1)  # one more, for packets may come late for once


@pytest.mark.clause("network/joins")
def test_joins(case):
    """Of three nodes one has a name and an address with which those of the others begin."""
    names = case.add_named(LOOKALIKES)
    probe_among(case, names, names[:2])


@pytest.mark.clause("network/node-names")
def test_node_names(case):
    """Nodes with dots and dashes, one of which is a regular expression for the others; and two of 253 characters."""
    names = case.add_named(UNUSUAL_NAMES)
    dotted, _, _, _, long = names
    probe_among(case, names, [dotted, long])


def probe_among(case, nodes, quietest):
    """Some of these nodes are the quietest in turn; pods fit on these nodes only."""
    count = case.probes_among([len(nodes)] * len(quietest))
    for node in quietest:
        load = case.traffic(node, among=nodes)
        phase = case.script(dict.fromkeys(case.nodes, max(load.values())) | load)
        case.settle()
        case.probe(phase, count=count, among=nodes, affinity=confined(nodes))


@pytest.mark.clause("network/tie")
def test_tie(case):
    """All nodes have the same traffic; pods come one by one, and each is gone before the next one."""
    nodes = case.nodes
    phase = case.script(dict.fromkeys(nodes, TIED))
    for _ in range(case.enough_for_all(len(nodes))):
        case.delete([case.ask("tie", phase)])
