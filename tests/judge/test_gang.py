"""core/gang: of a group all pods are bound, or none stays."""

from __future__ import annotations

import dataclasses

from schedproof.candidate.claims import GangClaims
from schedproof.history.acts import GroupCreated

from .histories import CLAIMS, NODES, HistoryBuilder, told

TIMEOUT = 5.0
BEYOND = TIMEOUT + CLAIMS.timing.freshness + 0.1
CLAIMED = dataclasses.replace(CLAIMS, features=("gang",), gang=GangClaims({}, TIMEOUT))


def groups(**members: int) -> HistoryBuilder:
    """Groups of so many members each: of `fits` the pods are fits-1, fits-2, ..."""
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


def test_one_group_whole_and_none_of_the_other_passes() -> None:
    h = whole(groups(fits=2, large=3))
    h.fence()
    told(h.verdict(), "passed")


def test_a_member_that_stays_without_its_group_fails() -> None:
    h = whole(groups(fits=2, large=3))
    bind(h, "large-1", "large-2")
    h.fence()
    h.wait(BEYOND)
    told(h.verdict(), "failed", "partial-group-bound")


def test_time_for_which_it_was_kept_from_running_does_not_count_for_members_that_stay() -> None:
    for kept, outcome, code in ((BEYOND / 2, "passed", ""), (2 * BEYOND, "invalid", "machine-too-busy")):
        h = whole(groups(fits=2, large=3))
        bind(h, "large-1")
        h.wait(BEYOND, candidate=kept)
        h.delete("large-1")
        h.fence()
        told(h.verdict(), outcome, code)


def test_a_member_that_goes_in_time_is_right_and_one_that_goes_later_is_not() -> None:
    for seconds, outcome, code in ((TIMEOUT - 1, "passed", ""), (BEYOND, "failed", "partial-group-bound")):
        h = whole(groups(fits=2, large=3))
        bind(h, "large-1")
        h.wait(seconds)
        h.delete("large-1")
        h.fence()
        h.wait(BEYOND)
        told(h.verdict(), outcome, code)


def test_a_group_that_fits_and_is_not_bound_fails() -> None:
    h = groups(fits=2, large=3)
    h.fence()
    h.expect("fits-1", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")


def rivals(*holding: str, room: int = 4, first: str = "one") -> HistoryBuilder:
    """Two groups of three have waited for slots on a node, and those `holding` have some; `first` was waited for."""
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


def test_groups_that_hold_the_room_that_each_other_lacks_fail() -> None:
    told(rivals("one-1", "two-1", "one-2", "two-2").verdict(), "failed", "groups-block-each-other", "one and two")


def test_a_group_that_has_room_beside_what_others_hold_is_to_be_bound() -> None:
    for holding in (("one-1",), ("two-1",), ("one-1", "one-2", "two-1"), ("one-1", "one-2", "one-3")):
        told(rivals(*holding).verdict(), "failed", "not-bound-in-time", "node-1")


def test_a_group_all_of_which_holds_room_is_not_excused_by_one_that_lacks_some() -> None:
    verdict = rivals("one-1", "two-1", "two-2", "two-3", first="two").verdict()
    told(verdict, "failed", "not-bound-in-time", "two-1")


def test_a_member_whose_time_was_not_over_shows_nothing() -> None:
    h = whole(groups(fits=2, large=3))
    bind(h, "large-1")
    h.fence()
    told(h.verdict(), "invalid", "cut-short")


def test_without_a_fence_behind_it_it_is_not_known_that_a_group_was_decided_on() -> None:
    told(whole(groups(fits=2, large=3)).verdict(), "invalid", "not-decided-on")


def test_groups_of_one_kind_show_nothing() -> None:
    h = whole(groups(fits=2))
    h.fence()
    told(h.verdict(), "invalid", "not-tried")


def test_without_what_makes_a_group_nothing_is_judged() -> None:
    h = HistoryBuilder("core/gang", claims=dataclasses.replace(CLAIMED, gang=None))
    told(h.verdict(), "invalid", "not-claimed")
