"""core/gang: all pods of a group are bound, or none stays bound."""

from __future__ import annotations

import dataclasses

from schedproof.candidate.claims import GangClaims
from schedproof.history.acts import GroupCreated

from .histories import CLAIMS, NODES, HistoryBuilder, told

TIMEOUT = 5.0
BEYOND = TIMEOUT + CLAIMS.timing.freshness + 0.1
CLAIMED = dataclasses.replace(CLAIMS, features=("gang",), gang=GangClaims({}, TIMEOUT))


def groups(**members: int) -> HistoryBuilder:
    """Create groups of these sizes; the pods of the group `fits` are fits-1, fits-2, ..."""
    h = HistoryBuilder("core/gang", claims=CLAIMED)
    for name, count in members.items():
        pods = [h.pod(f"{name}-{number}", role="member") for number in range(1, count + 1)]
        h.add(GroupCreated(case=h.case, name=name, pods=pods))
    return h


def bind(h: HistoryBuilder, *pods: str) -> None:
    for pod in pods:
        h.bind(pod, "node-1")


def whole(h: HistoryBuilder) -> HistoryBuilder:
    bind(h, "fits-1", "fits-2")
    for pod in ("fits-1", "fits-2"):
        h.expect(pod, "bound")
    return h


def test_complete_group_and_an_unbound_group_pass() -> None:
    h = whole(groups(fits=2, large=3))
    h.fence()
    told(h.verdict(), "passed")


def test_member_bound_without_its_group_fails() -> None:
    h = whole(groups(fits=2, large=3))
    bind(h, "large-1", "large-2")
    h.fence()
    h.wait(BEYOND)
    told(h.verdict(), "failed", "partial-group-bound")


def test_time_without_a_processor_does_not_count_for_bound_members() -> None:
    for kept, outcome, code in ((BEYOND / 2, "passed", ""), (2 * BEYOND, "invalid", "machine-too-busy")):
        h = whole(groups(fits=2, large=3))
        bind(h, "large-1")
        h.wait(BEYOND, candidate=kept)
        h.delete("large-1")
        h.fence()
        told(h.verdict(), outcome, code)


def test_member_of_an_incomplete_group_must_be_removed_in_time() -> None:
    for seconds, outcome, code in ((TIMEOUT - 1, "passed", ""), (BEYOND, "failed", "partial-group-bound")):
        h = whole(groups(fits=2, large=3))
        bind(h, "large-1")
        h.wait(seconds)
        h.delete("large-1")
        h.fence()
        h.wait(BEYOND)
        told(h.verdict(), outcome, code)


def test_fitting_group_that_is_not_bound_fails() -> None:
    h = groups(fits=2, large=3)
    h.fence()
    h.expect("fits-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")


def rivals(*holding: str, room: int = 4, first: str = "one") -> HistoryBuilder:
    """Two groups of three pods wait for slots on a node; pods in `holding` are nominated, `first` was waited for."""
    h = whole(groups(fits=2, large=3))
    for node in NODES[1:]:
        h.node(node, unschedulable=True)
    names = [f"{group}-{number}" for number in (1, 2, 3) for group in ("one", "two")]
    uids = {name: h.pod(name, role="member", cpu=f"{8 / room}") for name in names}
    for group in ("one", "two"):
        h.add(GroupCreated(case=h.case, name=group, pods=[uid for name, uid in uids.items() if name.startswith(group)]))
    for name in holding:
        h.nominate(name, NODES[0])
    for number in (1, 2, 3):
        h.expect(f"{first}-{number}", "bound")
    h.fence(node=NODES[0])
    return h


def test_groups_that_block_each_other_fail() -> None:
    told(rivals("one-1", "two-1", "one-2", "two-2").verdict(), "failed", "groups-block-each-other", "one and two")


def test_group_that_fits_beside_nominated_members_must_be_bound() -> None:
    for holding in (("one-1",), ("two-1",), ("one-1", "one-2", "two-1"), ("one-1", "one-2", "one-3")):
        told(rivals(*holding).verdict(), "failed", "not-bound-in-time", "node-1")


def test_fully_nominated_group_must_be_bound() -> None:
    verdict = rivals("one-1", "two-1", "two-2", "two-3", first="two").verdict()
    told(verdict, "failed", "not-bound-in-time", "two-1")


def test_member_observed_for_less_than_its_timeout_is_invalid() -> None:
    h = whole(groups(fits=2, large=3))
    bind(h, "large-1")
    h.fence()
    told(h.verdict(), "invalid", "cut-short")


def test_group_without_a_fence_is_invalid() -> None:
    told(whole(groups(fits=2, large=3)).verdict(), "invalid", "not-decided-on")


def test_history_without_a_group_that_is_too_large_is_invalid() -> None:
    h = whole(groups(fits=2))
    h.fence()
    told(h.verdict(), "invalid", "not-tried")


def test_history_without_gang_claims_is_invalid() -> None:
    h = HistoryBuilder("core/gang", claims=dataclasses.replace(CLAIMED, gang=None))
    told(h.verdict(), "invalid", "not-claimed")
