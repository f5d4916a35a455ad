"""core: connections to the apiserver end, and watches with them; or watches deliver their events in another way."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import Pod

LATE = ("schedproof.dev/late", "schedproof.dev/later")
BURST = 40
"""Revisions of an object: so many that a queue may overflow, or updates be put off until the object rests."""
LARGE = 200_000
"""Bytes of an annotation: more than the buffers of some readers, and less than the 256 KiB that an object may have."""


@pytest.mark.clause("core/watch-reconnect")
def test_watch_reconnect(case: Case) -> None:
    """All connections break, and can be reopened at once. Then a pod is deleted, a node changes, a pod comes. Twice."""
    for label in LATE:
        node, filler, waiting = waiting_pods(case, label)
        end_connections(case)
        case.delete([filler])
        case.nodes.change(node, labels={label: "yes"})
        expect_bound_with_new(case, waiting)


@pytest.mark.clause("core/watch-expired")
def test_watch_expired(case: Case) -> None:
    """A second apiserver without any history takes over; later it ends its watches, and stops.

    While the candidate is cut off before the takeover, pods and a node are deleted, and another node is labelled.
    After the return to the first apiserver, a pod is deleted, a node changes, and a pod is created.
    """
    with case.candidate.second_apiserver() as second:
        (leaving,) = case.nodes.add_idle(1)
        node, filler, waiting = waiting_pods(case, LATE[0])
        gone = case.pod("gone", nodeSelector={LATE[0]: "yes"})
        with second.taking_over(), concurrent.futures.ThreadPoolExecutor() as pool:
            # Concurrently: with client-go, a leader exits if it cannot renew its Lease for ten seconds.
            changes = [
                pool.submit(case.delete, [filler, gone]),
                pool.submit(case.nodes.remove, leaving),
                pool.submit(case.nodes.change, node, labels={LATE[0]: "yes"}),
            ]
            for change in changes:
                change.result()
        expect_bound_with_new(case, waiting)
        case.settle()
        case.expect_pending([case.pod("late", cpu="10m", nodeSelector={"kubernetes.io/hostname": leaving})])
        node, filler, waiting = waiting_pods(case, LATE[1])
    case.delete([filler])
    case.nodes.change(node, labels={LATE[1]: "yes"})
    expect_bound_with_new(case, waiting)


@pytest.mark.clause("core/watch-versions")
def test_watch_versions(case: Case) -> None:
    """Pods wait for room, for a label, or behind a gate. Then resourceVersions gain a digit, and all pods fit."""
    with case.candidate.versions_grow():
        node, filler, waiting = waiting_pods(case, LATE[0])
        gated = case.pod("gated", cpu="10m", schedulingGates=[{"name": LATE[1]}])
        case.nodes.change(node, labels={LATE[1]: "yes"})
        case.settle()
    case.delete([filler])
    case.nodes.change(node, labels={LATE[0]: "yes"})
    case.pods.lift_gates(gated)
    expect_bound_with_new(case, [*waiting, gated])


@pytest.mark.clause("core/watch-burst")
def test_watch_burst(case: Case) -> None:
    """A node and a pod change forty times in a row. Their last revisions let pods be bound; later, one keeps a pod off.

    Then the same while the candidate is cut off: a resumed watch delivers all revisions at once. Last come a pod that
    is as large as a pod may be by its annotations, and a small one.
    """
    node, other, *_ = case.nodes.names
    case.nodes.change(other, taints=[{"key": LATE[0], "effect": "NoSchedule"}])
    case.settle()
    ways: list[Callable[[], AbstractContextManager[object]]] = [
        contextlib.nullcontext,
        case.candidate.apiserver_unreachable,
    ]
    for label, away in zip(LATE, ways, strict=True):
        wanted = {label: "yes"}
        selects = case.pod("selects", cpu="10m", nodeSelector=wanted)
        tolerates = case.pod("tolerates", cpu="10m", nodeSelector={"kubernetes.io/hostname": other})
        case.expect_pending([selects, tolerates])
        with away():
            case.nodes.burst(node, label, BURST, last="yes")
            case.pods.burst(tolerates, label, BURST)
            case.pods.tolerate(tolerates, {"key": LATE[0], "operator": "Exists"})
        case.expect_bound([selects, tolerates], case.deadlines.requeue)
        case.delete([selects, tolerates])
        with away():
            case.nodes.burst(node, label, BURST, last="no")
        case.settle()
        late = case.pod("late", cpu="10m", nodeSelector=wanted)
        case.expect_pending([late])
        case.delete([late])
    large = case.pod("large", cpu="10m", annotations={LATE[0]: "x" * LARGE})
    case.expect_bound([large, case.pod("after", cpu="10m")])


@pytest.mark.clause("core/token-rotated")
def test_token_rotated(case: Case) -> None:
    """The token in the candidate's ServiceAccount file is replaced; once that is used, the old one is revoked.

    Until a request carries the new token, for at most five minutes, pods are created one after the other, and all
    connections end each minute. After the old token is revoked, a pod is created, all connections end, and another
    pod is created. Nothing is tried if the candidate does not use that file.
    """
    case.fence()
    tokens = case.candidate.tokens()
    if not tokens.are_used():
        return
    with tokens.bound():
        case.candidate.restart()
        case.fence()
        tokens.replace()
        for minute_is_over in tokens.turns():
            if minute_is_over:
                end_connections(case)
            expect_one_bound(case)
        tokens.end()
        expect_one_bound(case)
        end_connections(case)
        expect_one_bound(case)
        tokens.await_use()


def end_connections(case: Case) -> None:
    """End all connections of the candidate, which can be reopened at once."""
    with case.candidate.apiserver_unreachable():
        pass


def expect_one_bound(case: Case) -> None:
    """Create a pod, expect it to be bound, and delete it."""
    pod = case.pod("new", cpu="100m")
    case.expect_bound([pod], case.deadlines.requeue)
    case.delete([pod])


def waiting_pods(case: Case, label: str) -> tuple[str, Pod, list[Pod]]:
    """Return a node, a pod that fills it, and two pending pods: one waits for its room, one for a label."""
    node, *_ = case.nodes.names
    filler = case.pods.fill(node, cpu="50m")
    case.settle()
    room = case.pod("room", cpu=case.nodes.share("cpu", 1 / 4), nodeSelector={"kubernetes.io/hostname": node})
    selects = case.pod("selects", cpu="10m", nodeSelector={label: "yes"})
    case.expect_pending([room, selects])
    return node, filler, [room, selects]


def expect_bound_with_new(case: Case, waiting: list[Pod]) -> None:
    """Expect the waiting pods and a new pod to be bound, then delete them."""
    pods = [*waiting, case.pod("new", cpu="100m")]
    case.expect_bound(pods, case.deadlines.requeue)
    case.delete(pods)
