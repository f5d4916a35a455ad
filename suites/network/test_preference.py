"""network-aware: the quietest feasible node is preferred."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.judge.clauses.network.competing import MANY, TURNS
from schedproof.judge.clauses.network.preference import ROTATIONS
from schedproof.normalization.surfaces.scheduler import confined
from schedproof.stimulus.case import Case
from schedproof.stimulus.changes.nodes import LOOKALIKES, UNUSUAL_NAMES

HOST, WISH = "kubernetes.io/hostname", "schedproof.dev/wish"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
CROWD = 3
"""Pods from which other pods prefer to be spread."""
BURST = 3
"""Pods for each node."""
UNDECIDED = 5
"""Pods for each of two pairs of nodes, either of which is right: a random choice is right once in 1,000 times."""
TIED = 100_000.0
"""Bytes per second of each node in a tie."""


@pytest.mark.clause("network/least-traffic")
def test_least_traffic(case: Case) -> None:
    """Each node is the quietest in turn, and every reading is scripted; pods are in two namespaces."""
    nodes = case.nodes.names[:ROTATIONS]
    (other,) = case.objects.namespaces(other={})
    for turn, node in enumerate(nodes):
        phase = case.load.script(case.load.traffic(node))
        namespace = other if turn % 2 else case.trial.namespace
        case.preference.probe(phase, count=case.chance.probes(len(nodes)), namespace=namespace)
    if len(nodes) > 2:
        # The control of the claimed resolution: below it, either of two nodes is right, and no other.
        for pair in (nodes[:2], nodes[-2:]):
            phase = case.load.script(case.load.undecided(*pair))
            case.preference.seek(phase, UNDECIDED, *pair, role="undecided")


@pytest.mark.clause("network/flip")
def test_flip(case: Case) -> None:
    """The quietest and the loudest node swap their loads. The preference must follow within window plus refresh.

    Meanwhile, and from before the change on, one pod after the other comes for other nodes, if there are any. Before
    the last probes, idle connections to Prometheus are closed.
    """
    before = case.load.traffic(case.nodes.names[0])
    quietest, loudest = min(before, key=before.__getitem__), max(before, key=before.__getitem__)
    after = {**before, quietest: before[loudest], loudest: before[quietest]}
    case.preference.probe(case.load.script(before), count=case.chance.probes(2))
    others = [node for node in before if node not in (quietest, loudest)]
    if others and not case.leaves_out(Subject.NODE_AFFINITY):
        change = time.monotonic() + case.load.claims.staleness + 1.0
        phase = case.load.script(after, before=before, changed=time.monotonic() - change)
        case.preference.ask_until(change + case.load.look_back, others[:2])
    else:
        phase = case.load.script(after, before=before)
        case.load.wait_claimed(time.monotonic())
    case.load.close_idle()
    case.preference.probe(phase, count=case.chance.probes(2))


@pytest.mark.clause("network/waiting")
def test_waiting(case: Case) -> None:
    """All nodes are tainted, and pods wait. Another node becomes the quietest; then the pods tolerate the taint."""
    first, second, *_ = case.nodes.names
    case.load.script(case.load.traffic(first))
    for node in case.nodes.names:
        case.nodes.change(node, taints=[{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}])
    case.settle()
    count, tolerated = case.chance.probes(2), {"key": "schedproof.dev/reserved", "operator": "Exists"}
    for node in (second, first):
        pods = case.preference.waiting_probes(count, tolerated)
        case.preference.release(pods, case.load.script(case.load.traffic(node)), count, tolerated)


@pytest.mark.clause("network/bind-refused")
def test_bind_refused(case: Case) -> None:
    """Bindings of pods are refused. Another node becomes the quietest; then later Bindings are accepted."""
    first, second, *_ = case.nodes.names
    case.load.script(case.load.traffic(first))
    with case.candidate.hold_bindings() as gate:
        for node in (second, first):
            case.preference.refused_probes(gate, case.load.traffic(node), case.chance.probes(2))


def takers(case: Case) -> list[Callable[[str], object]]:
    """Return actions that make a node infeasible: full, tainted, cordoned, if the candidate supports that."""
    taints = [{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}]
    ways: list[tuple[Subject, Callable[[str], object]]] = [
        (Subject.CPU, lambda node: case.pods.fill(node, cpu="50m")),
        (Subject.TAINTS, lambda node: case.nodes.change(node, taints=taints)),
        (Subject.CORDONS, lambda node: case.nodes.change(node, unschedulable=True)),
    ]
    return [take for subject, take in ways if not case.leaves_out(subject)] or [ways[0][1]]


@pytest.mark.clause("network/ranking")
def test_ranking(case: Case) -> None:
    """One node after the other becomes infeasible, the quietest first: full, tainted, then cordoned."""
    take = takers(case)
    load = case.load.traffic(case.nodes.names[0])
    ranking = sorted(load, key=load.__getitem__)[: ROTATIONS - 1]
    count = case.chance.probes_among(range(len(load), len(load) - len(ranking) + 1, -1))
    # Then in the opposite order: a scheduler with a fixed order is wrong in one of the two.
    for order in (ranking, ranking[::-1]):
        traffic = load | {node: load[other] for node, other in zip(order, ranking, strict=True)}
        phase = case.load.script(traffic)
        # A pod that fits only on the two loudest nodes: readings of the quietest few do not suffice.
        if not case.leaves_out(Subject.NODE_AFFINITY):
            last = two_loudest(traffic)
            case.preference.probe(phase, count=count, among=last, affinity=confined(last))
        for number, node in enumerate(order[:-1]):
            case.preference.probe(phase, count=count, among=[n for n in traffic if traffic[n] >= traffic[node]])
            take[number % len(take)](node)
            case.settle()
        case.restore()


def two_loudest(load: Mapping[str, float]) -> list[str]:
    """Return the two nodes with the most traffic, the loudest last."""
    loudest = max(load, key=load.__getitem__)
    return [max((node for node in load if load[node] < load[loudest]), key=load.__getitem__), loudest]


@pytest.mark.clause("network/feasible-first")
def test_feasible_first(case: Case) -> None:
    """The quietest node is full, then tainted, then cordoned: it must not be chosen, and others must."""
    for make_infeasible in takers(case):
        node, *_ = case.nodes.names
        case.load.script(case.load.traffic(node))
        make_infeasible(node)
        case.settle()
        case.expect_bound([case.pod(cpu="100m") for _ in range(4)])
        case.restore()


@pytest.mark.clause("network/herd")
def test_herd(case: Case) -> None:
    """A burst of pods, while all readings stay as they are: several for each node."""
    case.load.script(case.load.traffic(case.nodes.names[0]))
    case.expect_bound([case.pod("herd", role="herd", cpu="50m") for _ in range(BURST * len(case.nodes.names))])


@pytest.mark.clause("network/real-traffic")
def test_real_traffic(case: Case) -> None:
    """Packets through the nodes' devices, real exporters, real scrapes; then the load moves."""
    first, second, *_ = case.nodes.names
    for node in (first, second):
        phase = case.load.send(case.load.traffic(node, packets=True))
        case.preference.probe(phase, count=case.chance.probes(2))


@pytest.mark.clause("network/joins")
def test_joins(case: Case) -> None:
    """Of three nodes, one has a name and an address that are prefixes of those of the others.

    Then they rejoin, each with another one's former address.
    """
    names = case.load.add_named(LOOKALIKES)
    count = case.chance.probes_among([len(names)] * 4)
    probe_among(case, names, names[:2], count)
    for name in names:
        case.nodes.remove(name)
    case.load.add_named(dict(zip(names, [*LOOKALIKES.values()][1:] + [*LOOKALIKES.values()][:1], strict=True)))
    probe_among(case, names, names[1:], count)


@pytest.mark.clause("network/node-names")
def test_node_names(case: Case) -> None:
    """Nodes with dots and dashes, one of which is a regular expression for others; and two of 253 characters."""
    names = case.load.add_named(UNUSUAL_NAMES)
    dotted, _, _, _, long = names
    probe_among(case, names, [dotted, long], case.chance.probes_among([len(names)] * 2))


def probe_among(case: Case, nodes: Sequence[str], quietest: Sequence[str], count: int) -> None:
    """Make each node of `quietest` the quietest in turn, for pods that fit on `nodes` only."""
    for node in quietest:
        load = case.load.traffic(node, among=nodes)
        phase = case.load.script(dict.fromkeys(case.nodes.names, max(load.values())) | load)
        case.settle()
        case.preference.probe(phase, count=count, among=nodes, affinity=confined(nodes))


@pytest.mark.clause("network/before-capacity")
def test_before_capacity(case: Case) -> None:
    """The quietest node is nearly full, and all others are empty; then the opposite, with another quietest node."""
    first, second, *others = case.nodes.names
    count = case.chance.probes(2)
    for quietest, full in ((first, [first]), (second, [first, *others])):
        phase = case.load.script(case.load.traffic(quietest))
        for node in full:
            case.pods.fill(node, cpu="250m", memory=case.nodes.share("memory", 0.05))
        case.settle()
        case.preference.probe(phase, count=count)
        case.restore()


@pytest.mark.clause("network/before-preferences")
def test_before_preferences(case: Case) -> None:
    """All preferences of pods are against the quietest node; two nodes are the quietest in turn.

    The quietest node has a PreferNoSchedule taint, and pods from which they prefer to be spread. All other nodes
    have the preferred label, the preferred neighbours, and the image.
    """
    for node in case.nodes.names[:2]:
        phase = case.load.script(case.load.traffic(node))
        case.nodes.change(node, taints=[{"key": WISH, "value": "no", "effect": "PreferNoSchedule"}])
        for _ in range(CROWD):
            case.pods.neighbour(node, "crowd")
        for other in (name for name in case.nodes.names if name != node):
            case.nodes.change(other, labels={WISH: "yes"})
            case.nodes.hold_image(other, case.trial.cluster.workload_image)
            case.pods.neighbour(other, "company")
        case.settle()
        case.preference.probe(phase, count=case.chance.probes(2), **preferring())
        case.restore()


def preferring() -> dict[str, Any]:
    """Return the spec fields of pods that prefer a label, neighbours, and spreading."""
    company, crowd = (
        {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}} for app in ("company", "crowd")
    )
    labelled = {"matchExpressions": [{"key": WISH, "operator": "In", "values": ["yes"]}]}
    return {
        "affinity": {
            "nodeAffinity": {PREFERRED: [{"weight": 100, "preference": labelled}]},
            "podAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": company}]},
        },
        "topologySpreadConstraints": [{**crowd, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
    }


@pytest.mark.clause("network/many-nodes")
def test_many_nodes(case: Case) -> None:
    """Of 96 nodes, the first and last by creation, the first and last by name, and others are the quietest in turn."""
    nodes = case.nodes.up_to(MANY)
    case.settle()
    others = case.random.sample(nodes, TURNS)
    for node in dict.fromkeys([nodes[-1], max(nodes), nodes[0], min(nodes), *others]):
        phase = case.load.script(case.load.traffic(node, among=nodes))
        case.preference.probe(phase, count=2)


@pytest.mark.clause("network/tie")
def test_tie(case: Case) -> None:
    """All nodes have the same traffic. Each pod is created after the deletion of the previous pod."""
    nodes = case.nodes.names
    # With equal totals, as rates would otherwise differ in their last digits.
    phase = case.load.script(dict.fromkeys(nodes, TIED), totals=dict.fromkeys(nodes, TIED))
    for _ in range(case.chance.enough_for_all(len(nodes))):
        case.delete([case.preference.ask("tie", phase)])
