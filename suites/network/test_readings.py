"""network-aware: what counts as traffic. Every reading is scripted."""

import pytest

from schedproof.normalization.policies import PLAUSIBLE


def probe_twice(case, script, **how):
    """Two nodes are the quietest in turn; `script` is called with the load that makes them so."""
    for node in case.nodes[:2]:
        load = case.traffic(node, **how)
        case.probe(script(node, load), count=case.probes(2))


@pytest.mark.clause("network/window")
def test_window(case):
    """Up to a window (and a refresh) ago the node that is the quietest now was the loudest by far."""

    def script(node, load):
        before = dict.fromkeys(load, min(load.values())) | {node: 100 * max(load.values())}
        return case.script(load, before=before, changed=case.look_back)

    probe_twice(case, script)


@pytest.mark.clause("network/rate-not-total")
def test_rate_not_total(case):
    """The quieter a node is now, the more it has counted since it was booted."""
    probe_twice(case, lambda _, load: case.script(load, totals=case.reversed_totals(load)))


@pytest.mark.clause("network/counter-reset")
def test_counter_reset(case):
    """The quietest node was rebooted, then the loudest one: their counters started over within the window."""
    nodes = case.nodes
    for chosen in (min, max):
        load = case.traffic(nodes.pop(), step=3.0)
        node = chosen(load, key=load.get)
        case.probe(case.script(load, rebooted=[node], totals={node: 1e12}), count=case.probes(2))


@pytest.mark.clause("network/interface")
def test_interface(case):
    """Another device of each node carries the opposite, and a hundred times as much."""

    def script(_, load):
        opposite = {node: 100 * max(load.values()) * min(load.values()) / rate for node, rate in load.items()}
        return case.script(load, devices={case.other_device: opposite})

    probe_twice(case, script)


@pytest.mark.clause("network/direction")
def test_direction(case):
    """In the other direction each node's device carries the opposite, and a hundred times as much."""

    def script(_, load):
        opposite = {node: 100 * max(load.values()) * min(load.values()) / rate for node, rate in load.items()}
        return case.script(load, other_way=opposite)

    probe_twice(case, script)


@pytest.mark.clause("network/large-counters")
def test_large_counters(case):
    """Counters near 2^60; then rates at which a hundred times the loudest is beyond 2^63, but hardly any device's."""
    nodes = case.nodes
    # At 2^60 a float64 counts by 256 bytes, which must be little of what a window holds.
    load = {node: 1000 * rate for node, rate in case.traffic(nodes[0]).items()}
    case.probe(case.script(load, totals=dict.fromkeys(load, 2.0**60)), count=case.probes(2))
    load = case.traffic(nodes[1])
    unit = 0.99 * PLAUSIBLE / max(load.values())
    case.probe(case.script({node: rate * unit for node, rate in load.items()}), count=case.probes(2))


@pytest.mark.clause("network/near-zero")
def test_near_zero(case):
    """The quietest node has one byte per second, and the others a few, three times as many from one to the next."""

    def script(_, load):
        return case.script({node: rate / min(load.values()) for node, rate in load.items()})

    probe_twice(case, script, step=3.0)


@pytest.mark.clause("network/duplicate-series")
def test_duplicate_series(case):
    """All series of the quietest node are there twice, as two replicas of Prometheus have written them."""
    case.take_replicas_for_one()
    probe_twice(case, lambda node, load: case.script(load, replicated=[node]))


@pytest.mark.clause("network/zero-traffic")
def test_zero_traffic(case):
    """No node has any traffic; then no node has ever had any."""
    idle = dict.fromkeys(case.nodes, 0.0)
    for totals in ({}, idle):
        case.script(idle, totals=totals)
        case.expect_bound([case.pod(cpu="100m") for _ in range(4)])


@pytest.mark.clause("network/query-cost")
def test_query_cost(case):
    """The same pods, first between two nodes, then between all, of which there are more by then."""
    load = case.traffic(case.nodes[0])
    for node in list(load)[:2]:
        case.change_node(node, labels={"schedproof.dev/few": "yes"})
    phase = case.script(load)
    case.settle()
    for _ in range(5):
        case.delete([case.ask("few", phase, nodeSelector={"schedproof.dev/few": "yes"})])
    idle = case.add_idle_nodes(8)
    phase = case.script(load | dict.fromkeys(idle, max(load.values())))
    case.settle()
    for _ in range(5):
        case.delete([case.ask("all", phase)])
