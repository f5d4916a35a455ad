"""network-aware: readings that are missing, for one node, for some or for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from schedproof.history.faults import Fault
from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import Pod

FAR = 1000
PAIRED = 15
"""Pods for each of two pairs of a known node and one without readings: enough to rule out chance."""
IDLE = 10
"""Pods that may go to any known node, for each half of the nodes."""


@pytest.mark.clause("network/missing-node")
def test_missing_node(case: Case) -> None:
    """A node has no readings: pods that fit everywhere, only on it and the loudest node, and only on it.

    Before, it was the quietest by far. Then the two nodes swap roles, and later the loudest one is far from all others:
    so is the mean of the known readings, but not their median.
    """
    one, other, *others = case.nodes.names
    for turn, (missing, loudest) in enumerate(((one, other), (other, one))):
        # Each time another node is the quietest: a fixed preference must not be right by chance.
        quietest = others[turn % len(others)] if others else loudest
        # With two known nodes, the median lies halfway between them: it, too, must differ by more than the resolution.
        load = case.load.traffic(quietest, step=1 + 4 * case.load.claims.resolution)
        load.pop(missing)
        most = max(load, key=load.__getitem__)
        load[most], load[loudest] = load[loudest], load[most]
        was_quietest = {missing: min(load.values()) / 4}
        case.nodes.change(missing, labels={"schedproof.dev/alone": "yes", "schedproof.dev/pair": "yes"})
        case.nodes.change(loudest, labels={"schedproof.dev/pair": "yes"})
        case.delete([case.preference.ask("before", case.load.script({**load, **was_quietest}))])
        phase = case.load.script(load)
        case.settle()
        case.preference.seek(phase, case.chance.probes(2), quietest)
        if turn == 1:
            # Beside such a node, the others may have one score: which of them is chosen, is judged above.
            phase = case.load.script({**load, loudest: load[loudest] * FAR})
            case.preference.seek(phase, case.chance.probes(2), quietest)
        for number in range(PAIRED):
            # The last pod judges candidates that count the pods before it.
            if number == PAIRED - 1:
                case.preference.keep_apart()
            case.delete([case.preference.ask("probe", phase, nodeSelector={"schedproof.dev/pair": "yes"})])
        alone = case.pod("alone", phase=phase, cpu="100m", nodeSelector={"schedproof.dev/alone": "yes"})
        if case.load.claims.on_missing == "reject":
            case.expect_unwilling([alone])
        else:
            case.expect_bound([alone])
        case.restore()


@pytest.mark.clause("network/some-without")
def test_some_without(case: Case) -> None:
    """The quietest half of the nodes lost their readings just before the window; then the other half.

    Each time the known nodes then have no traffic at all: none is quieter than the others, and all are known.
    """
    nodes = case.nodes.names
    half = len(nodes) // 2
    for lost, known in ((nodes[:half], nodes[half:]), (nodes[half:], nodes[:half])):
        load = case.load.traffic(known[0], step=1 + 4 * case.load.claims.resolution)
        were_quiet = {node: min(load.values()) / (4 + number) for number, node in enumerate(lost)}
        load = {node: load[node] for node in known}
        case.delete([case.preference.ask("before", case.load.script({**load, **were_quiet}))])
        phase = case.load.script(load, lost=were_quiet)
        case.settle()
        case.preference.seek(phase, case.chance.probes(2), known[0])
        phase = case.load.script(dict.fromkeys(known, 0.0), lost=were_quiet)
        case.preference.seek(phase, IDLE, *(nodes if case.load.claims.on_missing == "neutral" else known))


def outage(case: Case, *faults: Callable[[], object], policy: str | None) -> None:
    """Create pods while Prometheus has no readings, by one fault after the other. Then the load has moved."""
    before, after, *_ = case.nodes.names
    case.load.script(case.load.traffic(before))
    pods = []
    for fault in faults:
        fault()
        pods += placed_without_readings(case, 2, policy)
    recover(case, pods, after, before, policy=policy)


def placed_without_readings(case: Case, count: int, policy: str | None, **spec: Any) -> list[Pod]:
    """Create this many pods, and wait until the candidate has decided on them as `policy` claims."""
    pods = [case.pod("outage", role="outage", cpu="100m", **spec) for _ in range(count)]
    if policy == "wait":
        case.preference.await_refusal(pods)
    elif policy == "schedule":
        # One after the other: a scheduler without concurrency may wait for Prometheus twice.
        for pod in pods:
            case.expect_bound([pod])
    else:
        for pod in pods:
            case.status.await_decision(pod, case.deadlines.bind)
    return pods


def recover(case: Case, pods: Sequence[Pod], *quietest: str, policy: str | None) -> None:
    """Restore Prometheus: pods that waited are scheduled, and the preference returns, for one node after the other."""
    first, *others = quietest
    phase = case.load.script(case.load.traffic(first))
    case.load.heal_prometheus()
    if policy != "schedule":
        case.preference.expect_recovered(pods)
    case.delete(pods)
    if case.load.claims.recovers_within is not None:
        case.preference.await_recovery(phase)
        case.preference.probe(phase, count=case.chance.probes(2))
        # Once more for another node: a fixed preference for one node is right once by chance.
        for node in others:
            case.preference.probe(case.load.script(case.load.traffic(node)), count=case.chance.probes(2))


def outlast(case: Case, *faults: Fault, restarts: bool = False) -> None:
    """Run outages one after the other, each until earlier readings are too old to be used; then create pods.

    Two nodes take turns as the quietest before an outage. No pod may be placed by an old reading. The last outage
    continues while a polling candidate increases the pauses between its queries. With `restarts`, the candidate is
    restarted in the first outage: Prometheus itself may be a pod that waits for the scheduler.
    """
    first, second, *_ = case.nodes.names
    turns = ((first, second), (second, first))
    for number, (fault, (quietest, other)) in enumerate(zip(faults, turns, strict=True)):
        case.load.heal_prometheus()
        phase = case.load.script(case.load.traffic(quietest, step=1 + 4 * case.load.claims.resolution))
        if number and not case.preference.await_recovery(phase) and case.load.claims.recovers_within is not None:
            # The next outage hides whether the preference came back after this one.
            case.preference.probe(phase, count=case.chance.probes(2))
        case.delete([case.preference.ask("before", phase)])
        case.load.outlast_readings(fault)
        # A candidate that repeats its last choice then chooses another node.
        pods = [case.preference.ask("elsewhere", phase, nodeSelector={"kubernetes.io/hostname": other})]
        pods += placed_without_readings(case, case.chance.probes(2), "schedule", phase=phase)
        case.delete(pods)
        if restarts and not number:
            case.candidate.try_to_restart()
            case.delete(placed_without_readings(case, 2, "schedule"))
    case.preference.outlast_back_off()
    recover(case, [], first, second, policy="schedule")


@pytest.mark.clause("network/prometheus-down")
def test_prometheus_down(case: Case) -> None:
    """Connections to Prometheus are refused until readings are stale. Twice, if pods are still scheduled meanwhile."""
    if case.load.claims.on_outage == "schedule":
        outlast(case, Fault.DOWN, Fault.DOWN, restarts=True)
    else:
        outage(case, lambda: case.load.outlast_readings(Fault.DOWN), policy=case.load.claims.on_outage)


@pytest.mark.clause("network/prometheus-slow")
def test_prometheus_slow(case: Case) -> None:
    """Prometheus accepts queries and never responds to them, even after it responds to later queries again.

    If the candidate polls and schedules meanwhile, this happens twice, each time until readings are stale. If pods
    wait, it happens once, for as long.
    """
    policy = case.load.claims.on_outage
    if policy == "schedule" and case.load.claims.refresh:
        outlast(case, Fault.HANG, Fault.HANG)
    elif policy == "schedule":
        outage(case, lambda: case.load.break_prometheus(Fault.HANG), policy=policy)
    else:
        outage(case, lambda: case.load.outlast_readings(Fault.HANG), policy=policy)


@pytest.mark.clause("network/prometheus-error")
def test_prometheus_error(case: Case) -> None:
    """Prometheus responds with status 503, as during its start; then with a truncated body.

    Each fault lasts until earlier readings are stale.
    """
    errors = (Fault.UNAVAILABLE, Fault.MALFORMED)
    if case.load.claims.on_outage == "schedule":
        outlast(case, *errors)
    else:
        faults = [lambda fault=fault: case.load.outlast_readings(fault) for fault in errors]
        outage(case, *faults, policy=case.load.claims.on_outage)


@pytest.mark.clause("network/no-samples")
def test_no_samples(case: Case) -> None:
    """Prometheus responds with an empty result: it has just been restarted."""
    outage(case, lambda: case.load.end_all_readings(Fault.EMPTY), policy=case.load.claims.without_readings)


@pytest.mark.clause("network/missing-all")
def test_missing_all(case: Case) -> None:
    """Prometheus responds without series of the nodes: the scrapes of all nodes fail."""
    outage(case, lambda: case.load.end_all_readings(Fault.NO_NODE), policy=case.load.claims.without_readings)


@pytest.mark.clause("network/nan")
def test_nan(case: Case) -> None:
    """Prometheus responds with NaN for every node, as for a rate of NaN samples."""
    outage(case, lambda: case.load.end_all_readings(Fault.NAN), policy=case.load.claims.without_readings)


@pytest.mark.clause("network/stale-series")
def test_stale_series(case: Case) -> None:
    """The readings of all nodes end just before the window; then once more, after another node was the quietest.

    If pods are scheduled anyway, none may be placed by a reading that is too old.
    """
    policy, nodes, pods = case.load.claims.without_readings, case.nodes.names, []
    for quietest, other in ((nodes[0], nodes[1]), (nodes[1], nodes[0])):
        load = case.load.traffic(quietest, step=1 + 4 * case.load.claims.resolution)
        case.delete([case.preference.ask("before", case.load.script(load))])
        phase = case.load.end_all_readings(Fault.STALE, load)
        count, elsewhere = 2, []
        if policy == "schedule":
            # A scheduler that repeats its last choice then chooses another node.
            elsewhere = [case.preference.ask("elsewhere", phase, nodeSelector={"kubernetes.io/hostname": other})]
            count = case.chance.probes(2)
        pods = [*elsewhere, *placed_without_readings(case, count, policy, phase=phase)]
        if policy != "schedule":
            break
        case.delete(pods)
    recover(case, pods if policy != "schedule" else [], nodes[1], nodes[0], policy=policy)
