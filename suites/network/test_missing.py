"""network-aware: readings that are missing, for one node, for some or for all."""

import pytest

from schedproof.candidates.deploy.taps import Fault

PAIRED = 10
"""Pods that fit on one known node and on one without readings, for each of the two: as many as chance cannot place."""


@pytest.mark.clause("network/missing-node")
def test_missing_node(case):
    """One node has no series: pods that fit everywhere, on it and the loudest one only, and on it alone.

    Before, it was the quietest by far. Then the two change places.
    """
    one, other, *others = case.nodes
    for turn, (missing, loudest) in enumerate(((one, other), (other, one))):
        # Who likes one node whatever it carries must not be right by chance: the quietest is another one each time.
        quietest = others[turn % len(others)] if others else loudest
        # With two known nodes the median lies halfway between them: that too must be further off than the resolution.
        load = case.traffic(quietest, step=1 + 4 * case.claims.resolution)
        load.pop(missing)
        most = max(load, key=load.get)
        load[most], load[loudest] = load[loudest], load[most]
        was_quietest = {missing: min(load.values()) / 4}
        case.change_node(missing, labels={"schedproof.dev/alone": "yes", "schedproof.dev/pair": "yes"})
        case.change_node(loudest, labels={"schedproof.dev/pair": "yes"})
        case.delete([case.ask("before", case.script({**load, **was_quietest}))])
        phase = case.script(load)
        case.settle()
        case.seek(phase, 2, quietest)
        for number in range(PAIRED):
            # The last one judges who counts the pods before it.
            if number == PAIRED - 1:
                case.keep_apart()
            case.delete([case.ask("probe", phase, nodeSelector={"schedproof.dev/pair": "yes"})])
        alone = case.pod("alone", phase=phase, cpu="100m", nodeSelector={"schedproof.dev/alone": "yes"})
        if case.claims.on_missing == "reject":
            case.expect_unwilling([alone])
        else:
            case.expect_bound([alone])
        case.restore()


@pytest.mark.clause("network/some-without")
def test_some_without(case):
    """Half of the nodes, the quietest ones, lost their readings just before the window; then the other half."""
    nodes = case.nodes
    half = len(nodes) // 2
    for lost, known in ((nodes[:half], nodes[half:]), (nodes[half:], nodes[:half])):
        load = case.traffic(known[0], step=1 + 4 * case.claims.resolution)
        were_quiet = {node: min(load.values()) / (4 + number) for number, node in enumerate(lost)}
        load = {node: load[node] for node in known}
        case.delete([case.ask("before", case.script({**load, **were_quiet}))])
        phase = case.script(load, lost=were_quiet)
        case.settle()
        case.seek(phase, case.probes(2), known[0])


def outage(case, *faults, policy, end=lambda: None):
    """Pods are created while there is nothing to be read from Prometheus. When there is again, the load has moved.

    `faults` come one after the other. Each of them, and `end`, which comes before there is a new load, notes the fault.
    """
    before, after, *_ = case.nodes
    case.script(case.traffic(before))
    pods = []
    for fault in faults:
        fault()
        pods += placed_without_readings(case, 2, policy)
    end()
    recover(case, pods, after, before, policy=policy)


def placed_without_readings(case, count, policy, **spec):
    """So many pods, of which the candidate has decided as it claims."""
    pods = [case.pod("outage", role="outage", cpu="100m", **spec) for _ in range(count)]
    if policy == "wait":
        case.await_refusal(pods)
    elif policy == "schedule":
        # One after the other: a scheduler that takes them so may wait for Prometheus twice.
        for pod in pods:
            case.expect_bound([pod])
    else:
        for pod in pods:
            case.await_decision(pod, case.deadlines.bind)
    return pods


def recover(case, pods, *quietest, policy):
    """Prometheus can be read again: pods that waited are scheduled, and the preference is back, node after node."""
    first, *others = quietest
    phase = case.script(case.traffic(first))
    case.heal_prometheus()
    if policy != "schedule":
        case.expect_recovered(pods)
    case.delete(pods)
    if case.claims.recovers_within is not None:
        case.await_recovery(phase)
        case.probe(phase, count=case.probes(2))
        # Once more on another node: who likes one node whatever it carries is right once by chance.
        for node in others:
            case.probe(case.script(case.traffic(node)), count=case.probes(2))


def outlast(case, *faults):
    """Outages one after the other, each until readings from before are too old to be used; then pods are created.

    In turn two nodes were the quietest before. None of the pods is where it is because of an old reading.
    """
    first, second, *_ = case.nodes
    turns = ((first, second), (second, first))
    for number, (fault, (quietest, other)) in enumerate(zip(faults, turns, strict=True)):
        case.heal_prometheus()
        phase = case.script(case.traffic(quietest, step=1 + 4 * case.claims.resolution))
        if number:
            case.await_recovery(phase)
        case.delete([case.ask("before", phase)])
        case.outlast_readings(fault)
        # Who goes on with the node that it chose last does so with another one.
        pods = [case.ask("elsewhere", phase, nodeSelector={"kubernetes.io/hostname": other})]
        pods += placed_without_readings(case, case.probes(2), "schedule", phase=phase)
        case.delete(pods)
    recover(case, [], first, second, policy="schedule")


@pytest.mark.clause("network/prometheus-down")
def test_prometheus_down(case):
    """Nothing listens where Prometheus was. Where pods go on being scheduled: twice, until readings are too old."""
    if case.claims.on_outage == "schedule":
        outlast(case, Fault.DOWN, Fault.DOWN)
    else:
        outage(case, lambda: case.break_prometheus(Fault.DOWN), policy=case.claims.on_outage)


@pytest.mark.clause("network/prometheus-slow")
def test_prometheus_slow(case):
    """Prometheus takes the question, and never answers."""
    outage(case, lambda: case.break_prometheus(Fault.HANG), policy=case.claims.on_outage)


@pytest.mark.clause("network/prometheus-error")
def test_prometheus_error(case):
    """Prometheus answers with status 503, as while it starts; then with half of an answer.

    Where pods are scheduled all the same: each of the two until readings from before are too old.
    """
    errors = (Fault.UNAVAILABLE, Fault.MALFORMED)
    if case.claims.on_outage == "schedule":
        outlast(case, *errors)
    else:
        faults = [lambda fault=fault: case.break_prometheus(fault) for fault in errors]
        outage(case, *faults, policy=case.claims.on_outage)


@pytest.mark.clause("network/no-samples")
def test_no_samples(case):
    """Prometheus answers, and has nothing: it has just been restarted."""
    outage(case, case.empty_prometheus, policy=case.claims.without_readings, end=lambda: case.note_fault(""))


@pytest.mark.clause("network/missing-all")
def test_missing_all(case):
    """Prometheus answers, and has nothing of the nodes: scrapes of all of them fail."""
    outage(case, case.lose_all_nodes, policy=case.claims.without_readings, end=lambda: case.note_fault(""))


@pytest.mark.clause("network/nan")
def test_nan(case):
    """Prometheus answers, and every reading is NaN: a rate of samples that are none."""
    outage(case, case.spoil_readings, policy=case.claims.without_readings, end=lambda: case.note_fault(""))


@pytest.mark.clause("network/stale-series")
def test_stale_series(case):
    """The readings of all nodes end just before the window; then once more, after another node was the quietest.

    Where pods are scheduled all the same, none of them is there because of a reading that is too old.
    """
    policy, nodes, pods = case.claims.without_readings, case.nodes, []
    for quietest, other in ((nodes[0], nodes[1]), (nodes[1], nodes[0])):
        load = case.traffic(quietest, step=1 + 4 * case.claims.resolution)
        case.delete([case.ask("before", case.script(load))])
        phase = case.end_readings(load)
        if policy == "schedule":
            # Who goes on with the node that it chose last does so with another one.
            case.ask("elsewhere", phase, nodeSelector={"kubernetes.io/hostname": other})
        pods = placed_without_readings(case, case.probes(2) if policy == "schedule" else 2, policy, phase=phase)
        case.note_fault("")
        if policy != "schedule":
            break
        case.delete(pods)
    recover(case, pods if policy != "schedule" else [], nodes[1], nodes[0], policy=policy)
