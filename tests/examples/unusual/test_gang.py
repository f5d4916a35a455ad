"""The unusual controller that binds groups: which members count, and when they are bound."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from schedproof.foundation.content import content

from ..loading import load
from ..reference_controller.rig import REFUSED, Rig, bound_to, clock  # noqa: F401 - clock is a fixture
from ..reference_controller.worlds import Manifest, modules, node, pod

UNUSUAL = content("fixtures", "candidates", "unusual")
gang_controller = load(UNUSUAL, "gang_controller", beside=vars(modules)).gang_controller
GangRig = functools.partial(Rig, scheduling=gang_controller.Gangs)


def member(uid: str, *, size: int = 3, **more: Any) -> Manifest:
    labels = {gang_controller.NAME: "group", gang_controller.SIZE: str(size)}
    return pod(uid, uid=uid, labels=labels, **{"requests": {"cpu": "1"}, **more})


def running() -> tuple[Rig, list[Manifest]]:
    """A group of three that is bound, as the watches show it."""
    rig = GangRig(node("a"))
    members = [member(uid) for uid in "123"]
    for manifest in members:
        rig.see("pods", manifest)
    assert sorted(uid for uid, _ in rig.run()) == ["1", "2", "3"]
    bound = [bound_to(manifest, "a") for manifest in members]
    for manifest in bound:
        rig.see("pods", manifest)
    assert rig.run() == []
    return rig, bound


def test_a_group_is_bound_once_all_members_are_there_and_fit() -> None:
    rig = GangRig(node("a", offers={"cpu": "3"}))
    assert rig.arrive(member("1")) == rig.arrive(member("2")) == []
    assert sorted(uid for uid, _ in rig.arrive(member("3"))) == ["1", "2", "3"]


def test_a_group_without_room_for_all_waits_whole() -> None:
    rig = GangRig(node("a", offers={"cpu": "2"}))
    assert [rig.arrive(member(uid)) for uid in "123"] == [[], [], []]
    rig.see("nodes", node("b"))
    assert sorted(uid for uid, _ in rig.run(after=1)) == ["1", "2", "3"]


def test_the_replacement_of_a_member_of_a_running_group_is_bound() -> None:
    rig, bound = running()
    rig.see("pods", bound[0], gone=True)
    assert rig.run() == []
    assert rig.arrive(member("new")) == [("new", "a")]


def test_the_replacement_of_a_terminating_member_is_bound() -> None:
    rig, bound = running()
    rig.see("pods", {**bound[0], "metadata": {**bound[0]["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert rig.arrive(member("new")) == [("new", "a")]


def test_a_member_that_has_succeeded_counts_and_one_that_has_failed_does_not() -> None:
    rig, bound = running()
    rig.see("pods", {**bound[0], "status": {"phase": "Succeeded"}})
    rig.see("pods", {**bound[1], "status": {"phase": "Failed"}})
    assert rig.arrive(member("new")) == [("new", "a")]
    rig, bound = running()
    rig.see("pods", {**bound[0], "status": {"phase": "Failed"}})
    rig.see("pods", {**bound[1], "status": {"phase": "Failed"}})
    assert rig.arrive(member("new")) == []
    assert sorted(rig.arrive(member("newer"))) == [("new", "a"), ("newer", "a")]


def test_replacements_count_members_of_their_own_group_only() -> None:
    rig, _ = running()
    stranger = member("stranger")
    stranger["metadata"]["labels"][gang_controller.NAME] = "other"
    assert rig.arrive(stranger) == []
    assert rig.arrive(member("elsewhere", namespace="elsewhere")) == []


def test_members_whose_bindings_were_refused_are_retried_with_their_group() -> None:
    rig = GangRig(node("a"))
    rig.outcomes = [REFUSED, REFUSED]
    for uid in "123":
        rig.see("pods", member(uid))
    assert [uid for uid, _ in rig.run()] == ["1", "2", "3"]
    assert sorted(uid for uid, _ in rig.run(after=1)) == ["1", "2"]


def test_a_pod_is_never_bound_without_its_group_after_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = GangRig(node("a", offers={"cpu": "2"}), node("b", offers={"cpu": "0"}))
    monkeypatch.setattr(rig.scheduling, "wanted", lambda _: int("x"))
    assert [rig.arrive(member(uid)) for uid in "123"] == [[], [], []]
    monkeypatch.undo()
    assert rig.run(after=20) == []


def test_after_an_internal_error_no_member_seems_to_be_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = GangRig(node("a"), node("b"))
    choices = iter([modules.nodes.Node("a")])  # and an exception for the second member
    monkeypatch.setattr(rig.scheduling._preference.__class__, "choose", lambda *_: next(choices))
    for uid in "123":
        rig.see("pods", member(uid))
    assert rig.run() == []
    monkeypatch.undo()
    assert sorted(uid for uid, _ in rig.run(after=20)) == ["1", "2", "3"]
