"""core/gang-*: members that wait, replacements, groups that wait for room, their priority, and evictions for them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from schedproof.candidate.claims import GangClaims
from schedproof.history.acts import GroupCreated

from .histories import BY_POD_GROUPS, CLAIMS, NODES, HistoryBuilder, told

TIMEOUT = BY_POD_GROUPS.timeout
BEYOND = TIMEOUT + CLAIMS.timing.freshness + 0.1
NODE = NODES[0]
CLAIMED = dataclasses.replace(CLAIMS, features=("gang", "priority", "preemption"), gang=BY_POD_GROUPS)


def slots(case: str, count: int = 4, **claims: Any) -> HistoryBuilder:
    """A case with a node of so many CPUs, and no other."""
    h = HistoryBuilder(f"core/gang-{case}", claims=dataclasses.replace(CLAIMED, **claims))
    h.node(NODE, cpu=str(count))
    for node in NODES[1:]:
        h.node(node, cpu="0")  # for sentinels
    h.seen()
    return h


def group(h: HistoryBuilder, name: str, count: int, **spec: Any) -> list[str]:
    """Create a group, and return the names of its members."""
    names = [f"{name}-{number}" for number in range(1, count + 1)]
    uids = [h.pod(member, role="member", cpu="1", **spec) for member in names]
    h.add(GroupCreated(case=h.case, name=name, pods=uids))
    return names


def bound(h: HistoryBuilder, *pods: str) -> None:
    for pod in pods:
        h.bind(pod, NODE)
    for pod in pods:
        h.expect(pod, "bound")


def evict(h: HistoryBuilder, *pods: str) -> None:
    for pod in pods:
        h.request("delete", "pods", pod)
        h.delete(pod)


@pytest.mark.parametrize(
    ("early", "wait", "late", "outcome", "code"),
    [
        ((), BEYOND, True, "passed", ""),
        (("g-1",), BEYOND, True, "failed", "partial-group-bound"),
        (("g-1",), TIMEOUT - 1, True, "passed", ""),
        ((), BEYOND, False, "failed", "not-bound-in-time"),
    ],
)
def test_members_wait_for_the_last_one(
    early: tuple[str, ...], wait: float, late: bool, outcome: str, code: str
) -> None:
    h = slots("incomplete")
    members = group(h, "g", 2)
    for pod in early:
        h.bind(pod, NODE)
    h.wait(wait)
    h.pod("last-1", role="last", cpu="1")
    if late:
        bound(h, *(pod for pod in (*members, "last-1") if pod not in early))
    else:
        h.expect("last-1", "bound")
    told(h.verdict(), outcome, code)


@pytest.mark.parametrize(
    ("evicted", "replaced", "outcome", "code"),
    [
        ((), True, "passed", ""),
        ((), False, "failed", "not-bound-in-time"),
        (("g-2", "g-3"), True, "failed", "member-ended"),
        (("g-2", "g-3"), False, "failed", "member-ended"),
    ],
)
def test_replacement_is_bound_and_others_stay(
    evicted: tuple[str, ...], replaced: bool, outcome: str, code: str
) -> None:
    h = slots("replaced", 3)
    bound(h, *group(h, "g", 3))
    h.delete("g-1")
    h.pod("new", role="replacement", cpu="1")
    evict(h, *evicted)
    if replaced:
        h.bind("new", NODE)
    h.expect("new", "bound")
    told(h.verdict(), outcome, code)


@pytest.mark.parametrize(("again", "outcome", "code"), [(3, "passed", ""), (0, "failed", "not-bound-in-time")])
def test_group_that_waited_is_bound_after_the_other(again: int, outcome: str, code: str) -> None:
    h = slots("requeue")
    first, second = group(h, "a", 3), group(h, "b", 3)
    bound(h, *first)
    for pod in first:
        h.delete(pod)
    for pod in second[:again]:
        h.bind(pod, NODE)
    for pod in second:
        h.expect(pod, "bound")
    told(h.verdict(), outcome, code)


def test_one_group_alone_does_not_wait_for_another() -> None:
    h = slots("requeue")
    bound(h, *group(h, "a", 3))
    told(h.verdict(), "invalid", "not-tried")


@pytest.mark.parametrize(
    ("size", "nominated", "got", "outcome", "code"),
    [
        (5, 0, True, "passed", ""),
        (5, 4, False, "failed", "room-held"),
        (5, 0, False, "failed", "not-bound-in-time"),
        (3, 0, True, "invalid", "wrong-expectation"),
    ],
)
def test_group_that_does_not_fit_holds_no_room(size: int, nominated: int, got: bool, outcome: str, code: str) -> None:
    h = slots("holds-nothing")
    for pod in group(h, "large", size)[:nominated]:
        h.nominate(pod, NODE)
    h.fence(node=NODES[1])
    others = [f"other-{number}" for number in range(1, 5)]
    for pod in others:
        h.pod(pod, role="other", cpu="1")
    if got and size == 5:
        bound(h, *others)
    else:
        for pod in others:
            h.expect(pod, "bound")
    told(h.verdict(), outcome, code)


@pytest.mark.parametrize(
    ("winners", "outcome", "code"),
    [
        (("high",), "passed", ""),
        (("low",), "failed", "lower-priority-first"),
        (("low", "high"), "passed", ""),
        (("low", "low"), "failed", "lower-priority-first"),
    ],
)
def test_group_of_the_highest_priority_is_first(winners: tuple[str, ...], outcome: str, code: str) -> None:
    h = slots("priority")
    for phase, winner in enumerate(winners):
        made = {
            name: group(h, f"{name}-{phase}", 3, phase=phase, priority=priority)
            for name, priority in (("low", 10), ("high", 1000))
        }
        bound(h, *made[winner])
        if phase + 1 < len(winners):
            for pod in (*made["low"], *made["high"]):
                h.delete(pod)
    told(h.verdict(), outcome, code)


def test_groups_of_the_same_priority_do_not_compete() -> None:
    h = slots("priority")
    bound(h, *group(h, "a", 3, phase=0))
    group(h, "b", 3, phase=0)
    told(h.verdict(), "invalid", "no-choice")


@pytest.mark.parametrize(
    ("early", "evicted", "whole", "outcome", "code"),
    [
        ((), ("holder-1", "holder-2"), True, "passed", ""),
        (("holder-1",), (), False, "failed", "evicted-in-vain"),
        ((), ("holder-1", "holder-2", "holder-3"), True, "failed", "needless-eviction"),
        ((), (), False, "failed", "group-not-bound"),
        ((), ("holder-1", "holder-2"), False, "failed", "group-not-bound"),
    ],
)
def test_pods_are_evicted_for_whole_groups(
    early: tuple[str, ...], evicted: tuple[str, ...], whole: bool, outcome: str, code: str
) -> None:
    h = slots("preempts")
    holders = [f"holder-{number}" for number in (1, 2, 3)]
    for pod in holders:
        h.pod(pod, role="holder", cpu="1", priority=10)
    bound(h, *holders)
    large = group(h, "large", 5, priority=1000)
    evict(h, *early)
    h.fence(node=NODES[1])
    for pod in large:
        h.delete(pod)
    members = group(h, "fits", 3, priority=1000)
    evict(h, *evicted)
    if whole:
        bound(h, *members)
    told(h.verdict(), outcome, code)


@pytest.mark.parametrize(
    ("evicted", "placed", "outcome", "code"),
    [
        (("g-1", "g-2"), True, "passed", ""),
        (("g-1",), True, "failed", "part-of-group-evicted"),
        ((), False, "failed", "preemptor-not-bound"),
    ],
)
def test_group_is_evicted_as_a_whole(evicted: tuple[str, ...], placed: bool, outcome: str, code: str) -> None:
    h = slots("evicted-whole", 2)
    bound(h, *group(h, "g", 2, priority=10))
    h.pod("p", role="preemptor", cpu="1", priority=1000)
    evict(h, *evicted)
    if placed:
        h.bind("p", NODE)
    h.expect("p", "bound")
    told(h.verdict(), outcome, code)


def test_evictions_are_judged_for_groups_of_kubernetes_only() -> None:
    own = GangClaims({"metadata": {"labels": {"group": "{group}"}}}, TIMEOUT)
    for case in ("preempts", "evicted-whole"):
        told(slots(case, gang=own).verdict(), "not-claimed", "not-claimed", "not PodGroups of Kubernetes")
