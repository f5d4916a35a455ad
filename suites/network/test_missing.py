"""network-aware: readings that are missing, for one node or for all."""

import pytest

from schedproof.candidates.taps import Fault


@pytest.mark.clause("network/missing-node")
def test_missing_node(case):
    """One node has no series: pods that fit everywhere, on it and the loudest one only, and on it alone."""
    nodes = case.nodes
    # Who likes one node whatever it carries must not be right by chance: the quietest is another one each time.
    for missing, quietest in ((nodes[0], nodes[1]), (nodes[1], nodes[2 % len(nodes)])):
        # With two known nodes the median lies halfway between them: that too must be further off than the resolution.
        load = case.traffic(quietest, step=1 + 4 * case.claims.resolution)
        load.pop(missing)
        loudest = max(load, key=load.get)
        phase = case.script(load)
        case.change_node(missing, labels={"schedproof.dev/alone": "yes", "schedproof.dev/pair": "yes"})
        case.change_node(loudest, labels={"schedproof.dev/pair": "yes"})
        case.settle()
        for spec in ({}, {}, {"nodeSelector": {"schedproof.dev/pair": "yes"}}):
            case.delete([case.ask("probe", phase, **spec)])
        alone = case.pod("alone", phase=phase, cpu="100m", nodeSelector={"schedproof.dev/alone": "yes"})
        if case.claims.on_missing == "reject":
            case.expect_unwilling([alone])
        else:
            case.expect_bound([alone])
        case.restore()


def outage(case, fault):
    """Pods are created while Prometheus is out of reach. When it is back, the load has moved."""
    before, after, *_ = case.nodes
    case.script(case.traffic(before))
    case.break_prometheus(fault)
    pods = [case.pod("outage", role="outage", cpu="100m") for _ in range(2)]
    if case.claims.on_outage == "wait":
        case.await_refusal(pods)
    else:
        case.expect_bound(pods)
    phase = case.script(case.traffic(after))
    case.heal_prometheus()
    if case.claims.on_outage == "wait":
        case.expect_recovered(pods)
    case.delete(pods)
    if case.claims.recovers_within is not None:
        case.await_recovery(phase)
        case.probe(phase, count=case.probes(2))
        # Once more on another node: who likes one node whatever it carries is right once by chance.
        case.probe(case.script(case.traffic(before)), count=case.probes(2))


@pytest.mark.clause("network/prometheus-down")
def test_prometheus_down(case):
    """Nobody listens where Prometheus was."""
    outage(case, Fault.DOWN)


@pytest.mark.clause("network/prometheus-slow")
def test_prometheus_slow(case):
    """Prometheus takes the question, and never answers."""
    outage(case, Fault.HANG)
