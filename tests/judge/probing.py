"""Histories of network preference: probes of the candidate and one control pod in each phase of the load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .histories import CONTROL, CONTROL_USER, NETWORK, NODES, HistoryBuilder

Traffic = Mapping[str, float]
Choice = Callable[[Traffic], str]

LEAST, FLIP, REAL, FEASIBLE = "network/least-traffic", "network/flip", "network/real-traffic", "network/feasible-first"
RANKING = "network/ranking"


def loads(quietest: str, nodes: Iterable[str] = NODES) -> dict[str, float]:
    """Loads that differ by half, with this node the quietest."""
    others = [node for node in nodes if node != quietest]
    return {node: 100_000 * 1.5**rank for rank, node in enumerate([quietest, *others])}


ROTATION = [loads(node) for node in NODES]
BEFORE = loads("node-1")
AFTER = {**BEFORE, "node-1": BEFORE["node-4"], "node-4": BEFORE["node-1"]}


def quietest(traffic: Traffic) -> str:
    return min(traffic, key=lambda node: traffic[node])


def loudest(traffic: Traffic) -> str:
    return max(traffic, key=lambda node: traffic[node])


def second(traffic: Traffic) -> str:
    return sorted(traffic, key=lambda node: traffic[node])[1]


def tried(
    case: str = LEAST,
    *,
    phases: Sequence[Traffic] = ROTATION,
    count: int = 3,
    choose: Choice = quietest,
    control: Choice | None = lambda _: "node-2",
    shown: Callable[[Traffic], Traffic | None] = lambda traffic: traffic,
    slow: Mapping[str, float] = MappingProxyType({}),
    world: HistoryBuilder | None = None,
    **spec: Any,
) -> HistoryBuilder:
    """Run `count` probes and a control pod, one after the other, in each phase.

    Args:
        choose: returns the node of a probe, given the load.
        control: returns the node of the control pod; None: no control pod.
        shown: returns what Prometheus shows at the decision, given the load.
        slow: seconds of the queries of probes that go to the loudest node; time to recover follows.
    """
    h = world or HistoryBuilder(case)
    for phase, traffic in enumerate(phases):
        h.load(phase, traffic)
        for number in range(count):
            probe = f"probe-{phase}-{number}"
            h.pod(probe, phase=phase, cpu="100m", **spec)
            if probe in slow:
                h.wait(slow[probe])
                h.query(seconds=slow[probe])
            if node := loudest(traffic) if probe in slow else choose(traffic):
                h.bind(probe, node)
            if (reading := shown(traffic)) is not None:
                h.reading(probe, reading)
            h.delete(probe)
            if probe in slow:
                h.wait(NETWORK.recovers_within or 0.0)
        if control is not None:
            h.pod(f"control-{phase}", role="control", scheduler=CONTROL, phase=phase, cpu="100m")
            if node := control(traffic):
                h.bind(f"control-{phase}", node, by=CONTROL_USER)
            h.delete(f"control-{phase}")
    return h


def flipped(**changes: Any) -> HistoryBuilder:
    return tried(**{"case": FLIP, "phases": [BEFORE, AFTER], "count": 6, **changes})


def ranked(
    *,
    choose: Callable[[Sequence[str]], str] = lambda left: left[0],
    control: Callable[[Sequence[str]], str] = lambda left: left[-1],
    turns: int = 3,
    count: int = 5,
    shown: Callable[[Traffic], Traffic] = lambda traffic: traffic,
) -> HistoryBuilder:
    """One load; after each turn, the quietest remaining node becomes infeasible.

    Args:
        choose: returns the node of a probe, given the remaining nodes, quietest first.
        control: returns the node of the control pod, given the same.
    """
    h = HistoryBuilder(RANKING)
    h.load(0, BEFORE)
    order = sorted(BEFORE, key=lambda node: BEFORE[node])
    for turn in range(turns):
        left = order[turn:]
        for number in range(count):
            probe = f"probe-{turn}-{number}"
            h.pod(probe, phase=0, cpu="100m")
            h.bind(probe, choose(left))
            h.reading(probe, shown(BEFORE))
            h.delete(probe)
        h.pod(f"control-{turn}", role="control", scheduler=CONTROL, phase=0, cpu="100m")
        h.bind(f"control-{turn}", control(left), by=CONTROL_USER)
        h.delete(f"control-{turn}")
        h.node(left[0], taints=[{"key": "reserved", "effect": "NoSchedule"}])
        h.seen()
    return h
