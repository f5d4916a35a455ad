"""network-aware: what counts as traffic. Every reading is scripted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schedproof.normalization.policies import PLAUSIBLE
from schedproof.stimulus.case import Case
from schedproof.stimulus.traffic.load import opposed

BURST, REST = (0.0, 0.25), (0.25, 1.0)
"""Fractions of a window."""
OUTLIER = 1e10
"""Bytes per second: of a device of 100 Gbit/s."""
Load = dict[str, float]
"""Node to bytes per second."""


def probe_twice(case: Case, script: Callable[[str, Load], int]) -> None:
    """Make two nodes the quietest in turn; `script` is called with the load that makes them so."""
    for node in case.nodes.names[:2]:
        load = case.load.traffic(node)
        case.preference.probe(script(node, load), count=case.chance.probes(2))


@pytest.mark.clause("network/window")
def test_window(case: Case) -> None:
    """The node that is the quietest now was by far the loudest until a window (and a refresh) ago."""

    def script(node: str, load: Load) -> int:
        before = dict.fromkeys(load, min(load.values())) | {node: 100 * max(load.values())}
        return case.load.script(load, before=before, changed=case.load.look_back)

    probe_twice(case, script)


@pytest.mark.clause("network/burst")
def test_burst(case: Case) -> None:
    """The quietest node has all its traffic in a quarter of each window, in which the others are silent.

    Pods are created in that quarter. Over any whole window the others have 2.5 times as much, and the claimed
    resolution on top: errors of a rate at the ends of its window, where it extrapolates, do not change the order.
    """

    def script(quietest: str, load: Load) -> int:
        louder = 2.5 * (1 + case.load.claims.resolution) * load[quietest]
        load = dict.fromkeys(load, louder) | {quietest: load[quietest]}
        return case.load.script(load, bursts={quietest: BURST} | {node: REST for node in load if node != quietest})

    probe_twice(case, script)


@pytest.mark.clause("network/outlier")
def test_outlier(case: Case) -> None:
    """One node has some thousand times the traffic of the others, which differ by just over the claimed resolution."""
    probe_twice(case, lambda _, load: case.load.script(load | {max(load, key=load.__getitem__): OUTLIER}))


@pytest.mark.clause("network/rate-not-total")
def test_rate_not_total(case: Case) -> None:
    """The quieter a node is now, the higher its counter since boot."""
    probe_twice(case, lambda _, load: case.load.script(load, totals=case.load.reversed_totals(load)))


@pytest.mark.clause("network/counter-reset")
def test_counter_reset(case: Case) -> None:
    """The quietest node was rebooted, then the loudest one: their counters started over within the window."""
    nodes = case.nodes.names
    for chosen in (min, max):
        load = case.load.traffic(nodes.pop(), step=3.0)
        node = chosen(load, key=load.__getitem__)
        case.preference.probe(case.load.script(load, rebooted=[node], totals={node: 1e12}), count=case.chance.probes(2))


@pytest.mark.clause("network/interface")
def test_interface(case: Case) -> None:
    """Two other devices of each node, and loopback, carry the opposite load, multiplied by a hundred."""
    probe_twice(
        case, lambda _, load: case.load.script(load, devices=dict.fromkeys(case.load.other_devices, opposed(load)))
    )


@pytest.mark.clause("network/direction")
def test_direction(case: Case) -> None:
    """In the other direction, each node's device carries the opposite load, multiplied by a hundred."""
    probe_twice(case, lambda _, load: case.load.script(load, other_way=opposed(load)))


@pytest.mark.clause("network/large-counters")
def test_large_counters(case: Case) -> None:
    """Counters near 2^60; then plausible rates, of which the largest times a hundred exceeds 2^63."""
    nodes = case.nodes.names
    # At 2^60 a float64 has steps of 256 bytes, which must be small compared with a window's bytes.
    load = {node: 1000 * rate for node, rate in case.load.traffic(nodes[0]).items()}
    case.preference.probe(case.load.script(load, totals=dict.fromkeys(load, 2.0**60)), count=case.chance.probes(2))
    load = case.load.traffic(nodes[1])
    unit = 0.99 * PLAUSIBLE / max(load.values())
    case.preference.probe(
        case.load.script({node: rate * unit for node, rate in load.items()}), count=case.chance.probes(2)
    )


@pytest.mark.clause("network/near-zero")
def test_near_zero(case: Case) -> None:
    """The quietest node has one byte per second, and the others a few; then it has none, and the others have much."""
    count = case.chance.probes(4)
    for node in case.nodes.names[:2]:
        load = case.load.traffic(node, step=3.0)
        phase = case.load.script({other: rate / load[node] for other, rate in load.items()})
        case.preference.probe(phase, count=count)
    for node in case.nodes.names[:2]:
        case.preference.probe(case.load.script(case.load.traffic(node) | {node: 0.0}), count=count)


@pytest.mark.clause("network/duplicate-series")
def test_duplicate_series(case: Case) -> None:
    """All series of the quietest node exist twice, as if two replicas of Prometheus had written them."""
    case.load.count_replicas_once()
    probe_twice(case, lambda node, load: case.load.script(load, replicated=[node]))


@pytest.mark.clause("network/other-hosts")
def test_other_hosts(case: Case) -> None:
    """Two machines that are no nodes have series without the label `node`; one is louder and one quieter than all."""
    probe_twice(case, lambda _, load: case.load.script(load, unlabelled=True))


@pytest.mark.clause("network/zero-traffic")
def test_zero_traffic(case: Case) -> None:
    """No node has traffic now; then no node has ever had traffic."""
    idle = dict.fromkeys(case.nodes.names, 0.0)
    for totals in ({}, idle):
        case.load.script(idle, totals=totals)
        case.expect_bound([case.pod(cpu="100m") for _ in range(4)])


@pytest.mark.clause("network/query-cost")
def test_query_cost(case: Case) -> None:
    """The same pods, first with two feasible nodes, then with all nodes, of which there are more by then."""
    load = case.load.traffic(case.nodes.names[0])
    for node in list(load)[:2]:
        case.nodes.change(node, labels={"schedproof.dev/few": "yes"})
    phase = case.load.script(load)
    case.settle()
    for _ in range(5):
        case.delete([case.preference.ask("few", phase, nodeSelector={"schedproof.dev/few": "yes"})])
    idle = case.nodes.add_idle(8)
    phase = case.load.script(load | dict.fromkeys(idle, max(load.values())))
    case.settle()
    for _ in range(5):
        case.delete([case.preference.ask("all", phase)])
