"""Groups of pods: who waits, whether a group is placed, and who may be evicted for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from schedproof.oracle import groups
from schedproof.oracle.groups import Outcome, group_priority, held_back, inconsistent, outcome, still_needed, victims

Manifest = dict[str, Any]


def pod(name: str, group: str = "", node: str = "", size: int = 1, **spec: Any) -> Manifest:
    fields: Manifest = {"size": size, **spec}
    fields |= {"schedulingGroup": {"podGroupName": group}} if group else {}
    fields |= {"nodeName": node} if node else {}
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": fields}


def pod_group(least: int = 0, **spec: Any) -> Manifest:
    policy: Manifest = {"gang": {"minCount": least}} if least else {"basic": {}}
    return {"metadata": {"name": "g", "namespace": "default"}, "spec": {"schedulingPolicy": policy, **spec}}


def room(**nodes: int) -> Callable[[Any, Sequence[Any]], list[str]]:
    """Nodes with so much room each."""

    def nodes_for(one: Any, placed: Sequence[Any]) -> list[str]:
        taken = {
            name: sum(other["spec"]["size"] for other in placed if other["spec"]["nodeName"] == name) for name in nodes
        }
        return [name for name, offered in nodes.items() if taken[name] + one["spec"]["size"] <= offered]

    return nodes_for


@pytest.mark.parametrize(
    ("sizes", "needed", "nodes", "expected"),
    [
        ((1, 1, 1), 3, {"a": 2, "b": 1}, "placed"),
        ((1, 1, 1), 3, {"a": 2}, "waits"),
        ((1, 1, 1), 2, {"a": 2}, "placed"),
        ((3, 1, 1), 2, {"a": 2}, "placed"),
        ((1, 1), 3, {"a": 9}, "waits"),
        # The small one fits on both nodes, and on one of them it takes what only the large one can use.
        ((1, 2), 2, {"a": 1, "b": 2}, "either"),
        ((2, 1), 2, {"a": 1, "b": 2}, "placed"),
    ],
)
def test_group_is_placed_if_so_many_members_have_room_one_after_the_other(
    sizes: tuple[int, ...], needed: int, nodes: dict[str, int], expected: Outcome
) -> None:
    members = [pod(f"p{number}", size=size) for number, size in enumerate(sizes)]
    assert outcome(members, needed, room(**nodes)) == expected


def test_outcome_that_is_too_costly_to_find_out_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_STEPS", 3)
    assert outcome([pod("p1"), pod("p2")], 2, room(a=2)) == "placed"
    assert outcome([pod(f"p{n}", size=n) for n in range(1, 6)], 5, room(a=8, b=6)) == "either"


@pytest.mark.parametrize(
    ("pods", "least", "why"),
    [
        ((pod("p0"),), 1, ""),
        ((pod("p0", schedulingGates=[{"name": "g"}]),), 1, "it has scheduling gates"),
        ((pod("p0", "g"), pod("p1", "g")), 2, ""),
        ((pod("p0", "g"), pod("p1", "g", node="a")), 2, ""),
        ((pod("p0", "g"), pod("p1", "other")), 2, "1 of at least 2 members are there"),
        ((pod("p0", "g"), {**pod("p1", "g", node="a"), "status": {"phase": "Failed"}}), 2, "1 of at least 2"),
        ((pod("p0", "g"),), 0, ""),
        ((pod("p0", "other"),), 1, "there is no PodGroup default/other"),
        ((pod("p0", "g"), pod("p1", "g", schedulingGates=[{"name": "g"}])), 1, "a member of its group has"),
    ],
)
def test_members_wait_for_their_group(pods: Sequence[Manifest], least: int, why: str) -> None:
    found = held_back(pods[0], pods, {"default/g": pod_group(least)})
    assert found.startswith(why)
    assert bool(found) is bool(why)


def test_members_on_nodes_need_not_be_placed_again() -> None:
    members = [pod("p0", "g", node="a"), pod("p1", "g"), pod("p2", "g")]
    assert still_needed(pod_group(3), members) == 2
    assert still_needed(pod_group(1), members) == 1
    assert still_needed(pod_group(), members) == 1


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([pod("p0", priority=5), pod("p1", priority=5)], ""),
        ([pod("p0", priority=5), pod("p1")], "a member's priority differs from its PodGroup's"),
        (
            [pod("p0", priority=5), pod("p1", priority=5, preemptionPolicy="Never")],
            "its members' preemptionPolicy differs",
        ),
    ],
)
def test_members_must_agree_with_their_group(members: list[Manifest], why: str) -> None:
    assert inconsistent(pod_group(2, priority=5), members) == why


def test_victims_are_pods_or_whole_groups_of_lower_priority() -> None:
    there = {
        "default/all": pod_group(2, priority=1, disruptionMode={"all": {}}),
        "default/single": pod_group(2, priority=2, disruptionMode={"single": {}}),
    }
    pods = [
        pod("p0", "all", node="a", priority=9), pod("p1", "all", node="b"), pod("p2", "all"),
        pod("p3", "single", node="a"), pod("p4", "single", node="a"),
        pod("p5", "gone", node="a", priority=3), pod("p6", node="a", priority=5),
        {**pod("p7", node="a"), "status": {"phase": "Succeeded"}},
    ]  # fmt: skip
    found = [([one["metadata"]["name"] for one in victim.pods], victim.priority) for victim in victims(pods, there, 5)]
    assert found == [(["p0", "p1"], 1), (["p3"], 2), (["p4"], 2), (["p5"], 3)]
    assert group_priority(pods[0], there) == 1
