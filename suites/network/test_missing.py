"""network-aware: readings that are missing, for one node or for all."""

import pytest

from schedproof.candidates.taps import Fault


@pytest.mark.clause("network/missing-node")
def test_missing_node(case):
    """One node has no series: pods that fit everywhere, on it and the loudest one only, and on it alone."""
    for missing in case.nodes[:2]:
        # With two known nodes the median lies halfway between them: that too must be further off than the resolution.
        step = 1 + 4 * case.claims.resolution
        load = case.traffic(next(node for node in case.nodes if node != missing), step=step)
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
        case.probe(phase, count=case.probes(1))


@pytest.mark.clause("network/prometheus-down")
def test_prometheus_down(case):
    """Nobody listens where Prometheus was."""
    outage(case, Fault.DOWN)


@pytest.mark.clause("network/prometheus-slow")
def test_prometheus_slow(case):
    """Prometheus takes the question, and never answers."""
    outage(case, Fault.HANG)
