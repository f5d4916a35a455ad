"""Groups of pods that a case makes, as the candidate claims to know them, and how it waits for one to be whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from schedproof.candidate.claims import GangClaims
from schedproof.candidate.timing import Timing
from schedproof.clusters.api import Manifest
from schedproof.foundation.errors import UsageError
from schedproof.history.acts import Expect, Fence, GroupCreated, PodCreated
from schedproof.stimulus.changes.groups import GroupChanges
from schedproof.stimulus.changes.objects import ObjectChanges
from schedproof.stimulus.context import CaseOver
from schedproof.stimulus.usable_time import UsableTime

from ..fake_apiserver.storing import RefusalError
from .world import CLAUSE, IN_TIME, NAMESPACE, PREFIX, TOO_LATE, World

GROUPS = "scheduling.example.com/v1"
GANG = GangClaims(
    pods={"metadata": {"labels": {"group": "{group}", "size": "{size}"}}}, timeout=0.0,
    objects=({
        "apiVersion": GROUPS, "kind": "Group", "metadata": {"name": "{group}", "labels": {"size": "{size}"}},
        "spec": {"members": "{size}", "text": "of {size}"},
    },),
)  # fmt: skip


@pytest.fixture
def make(make_world: Callable[..., World]) -> Callable[..., tuple[World, GroupChanges]]:
    def made(timing: Timing = IN_TIME, gang: GangClaims = GANG) -> tuple[World, GroupChanges]:
        world = make_world(timing=timing, gang=gang)
        world.server.kinds[GROUPS] = [{"name": "groups", "kind": "Group", "namespaced": True}]
        return world, GroupChanges(world.context, gang, world.pods, ObjectChanges(world.context), world.expect)

    return made


Make = Callable[..., tuple[World, GroupChanges]]


def only(members: Mapping[str, int]) -> Callable[[Manifest], str]:
    """Binds so many members of each group, by its name, and all other pods."""
    left = dict(members)

    def node_of(pod: Manifest) -> str:
        group = pod["metadata"]["labels"].get("group")
        if group is None:
            return "node-1"
        left[group] = left.get(group, 0) - 1
        return "node-1" if left[group] >= 0 else ""

    return node_of


def test_groups_are_made_in_turns_of_what_is_claimed(make: Make) -> None:
    world, groups = make()
    first, second = groups.create(2, 3, cpu="100m")
    names = [f"{PREFIX}-1", f"{PREFIX}-2"]
    for name, members in zip(names, (first, second), strict=True):
        made = world.server.read("groups", name, NAMESPACE)
        assert made["metadata"]["labels"] == {"size": "3"}, "labels are texts"
        assert made["spec"] == {"members": 3, "text": "of 3"}
        for pod in members:
            labels = world.pod(pod)["metadata"]["labels"]
            assert (labels["group"], labels["size"]) == (name, "3")
    created = [record.uid for record in world.of(PodCreated) if record.role == "member"]
    assert created == [pod.uid for pair in zip(first, second, strict=True) for pod in pair]
    assert [(record.case, record.name, record.pods) for record in world.of(GroupCreated)] == [
        (CLAUSE, name, [pod.uid for pod in group]) for name, group in zip(names, (first, second), strict=True)
    ]
    (third,) = groups.create(1, 2)
    assert world.pod(third[0])["metadata"]["labels"]["group"] == f"{PREFIX}-3"


def test_member_that_is_missing_is_added_later(make: Make) -> None:
    world, groups = make()
    (group,) = groups.create(1, 3, present=2, cpu="100m", phase=4)
    last = groups.add(group, "last")
    assert [record.pods for record in world.of(GroupCreated)] == [[pod.uid for pod in group]]
    assert [(record.role, record.phase) for record in world.of(PodCreated)] == [("member", 4)] * 2 + [("last", 4)]
    pods = [world.pod(pod) for pod in (*group, last)]
    labels = {(pod["metadata"]["labels"]["group"], pod["metadata"]["labels"]["size"]) for pod in pods}
    assert labels == {(f"{PREFIX}-1", "3")}
    assert all("cpu" in pod["spec"]["containers"][0]["resources"]["requests"] for pod in pods)


def test_group_has_the_priority_of_its_members(make: Make) -> None:
    document = {**GANG.objects[0], "spec": {"class": "{priorityClass}"}}
    world, groups = make(gang=dataclasses.replace(GANG, objects=(document,)))
    (group,) = groups.create(1, 1, priority_class="high")
    assert world.server.read("groups", f"{PREFIX}-1", NAMESPACE)["spec"] == {"class": "high"}
    assert world.pod(group[0])["spec"]["priorityClassName"] == "high"
    (group,) = groups.create(1, 1)
    name = world.server.read("groups", f"{PREFIX}-2", NAMESPACE)["spec"]["class"]
    assert world.server.read("priorityclasses", name)["value"] == 0
    assert "priorityClassName" not in world.pod(group[0])["spec"]


def test_pod_groups_of_kubernetes_say_that_they_are_disrupted_as_a_whole(make: Make) -> None:
    api = "scheduling.k8s.io/v1beta1"
    document = {"apiVersion": api, "kind": "PodGroup", "metadata": {"name": "{group}"}, "spec": {"a": "b"}}
    world, groups = make(gang=dataclasses.replace(GANG, objects=(document, *GANG.objects)))
    world.server.kinds[api] = [{"name": "podgroups", "kind": "PodGroup", "namespaced": True}]
    groups.create(1, 1, disrupted_whole=True)
    made = [world.server.read(kind, f"{PREFIX}-1", NAMESPACE)["spec"] for kind in ("podgroups", "groups")]
    assert made == [{"a": "b", "disruptionMode": {"all": {}}}, {"members": 1, "text": "of 1"}]


def test_what_was_made_for_groups_is_removed_and_their_pods_by_theirs(make: Make) -> None:
    world, groups = make()
    before = world.server.snapshot()
    groups.create(2, 2)
    assert len(world.server.names("groups")) == 2
    groups.undo()
    assert world.server.names("groups") == []
    assert len(world.server.names("pods")) == 4
    world.pods.undo()
    assert world.server.snapshot() == before


def test_a_kind_that_is_not_served_or_is_refused_is_a_mistake_in_the_claim(make: Make) -> None:
    world, groups = make()
    world.server.refusals["PATCH", "groups"] = [RefusalError(422, "Invalid", "spec.text: unknown field")]
    with pytest.raises(UsageError, match=r"claims\.gang\.objects: .*unknown field"):
        groups.create(1, 2)
    del world.server.kinds[GROUPS]
    with pytest.raises(UsageError, match=rf"claims\.gang\.objects: this cluster serves no Group of {GROUPS}"):
        groups.create(1, 2)
    assert world.server.names("pods") == []


def expected(world: World) -> list[tuple[str, str]]:
    return [(record.outcome, record.uid) for record in world.of(Expect)]


def test_one_whole_group_is_expected_whichever_it_is(make: Make) -> None:
    world, groups = make()
    world.schedule(only({f"{PREFIX}-1": 1, f"{PREFIX}-2": 2}))
    made = groups.create(2, 2)
    groups.expect_whole(made)
    assert expected(world) == [("bound", pod.uid) for pod in made[1]]
    assert not world.expect.over


def test_where_none_is_whole_the_case_is_over(make: Make) -> None:
    world, groups = make(TOO_LATE)
    world.schedule(only({f"{PREFIX}-1": 0, f"{PREFIX}-2": 1}))
    made = groups.create(2, 2)
    world.await_shown(lambda: world.pods.node_of(made[1][0]), "the Binding")
    with pytest.raises(CaseOver):
        groups.expect_whole(made)
    assert expected(world) == [("bound", pod.uid) for pod in made[1]], "of the one that lacks the least"


def test_groups_that_hold_room_from_each_other_may_go_on(make: Make) -> None:
    world, groups = make(TOO_LATE)
    made = groups.create(2, 2)
    for group in made:
        world.server.patch("pods", group[0].name, {"status": {"nominatedNodeName": "node-1"}}, NAMESPACE)
        world.await_shown(lambda: world.recorder.pods[group[0].uid]["status"].get("nominatedNodeName"), "it")  # noqa: B023
    groups.expect_whole(made)
    assert not world.expect.over


def test_the_timeout_is_over_for_whatever_was_bound_last(make: Make) -> None:
    world, groups = make(gang=dataclasses.replace(GANG, timeout=50.0))
    world.schedule()
    passed: list[float] = []

    class Passing(UsableTime):
        def let_pass(self, seconds: float) -> dict[str, Any]:
            passed.append(seconds)
            world.recorder.placed_at += 10 if len(passed) == 1 else 0  # another one is bound meanwhile
            world.recorder._origin -= seconds
            return {}

    world.trial.usable_time = Passing(dict)
    groups.await_timeout()
    assert len(world.of(Fence)) == 1
    assert len(passed) == 2
    assert 50 - 20 < passed[0] <= 50
    assert passed[1] <= 10
