"""What shows that the candidate has seen the world: by which pod and which revision, and what it is given time for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.claims import NetworkClaims
from schedproof.clusters.api import Manifest
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.history.acts import Aged, Expect, Missed, PodCreated, ShownSeen, Unseen
from schedproof.history.world import RESERVED
from schedproof.stimulus import view as module
from schedproof.stimulus.context import CaseOver
from schedproof.stimulus.reserved import ADMITTED, GENERATION, ReservedNode
from schedproof.stimulus.usable_time import UsableTime

from .world import CLAUSE, NAMESPACE, TOO_LATE, World

NETWORK = NetworkClaims(metric="bytes", direction="receive", window=0.0, resolution=0.1, on_missing="reject")


def selected(world: World, default: str = "node-2") -> Callable[[Manifest], str]:
    """Binds a pod to the node that it selects by its generation, as a scheduler that has seen all."""

    def node_of(pod: Manifest) -> str:
        wanted = (pod["spec"].get("nodeSelector") or {}).items()
        if not wanted:
            return default
        names = world.server.names("nodes")
        labels = {name: world.server.read("nodes", name)["metadata"]["labels"] for name in names}
        return next((name for name in names if wanted <= labels[name].items()), "")

    return node_of


@pytest.fixture
def passed(world: World) -> list[float]:
    """For how long the candidate was left alone."""
    return passing(world)


def passing(world: World) -> list[float]:
    passed: list[float] = []

    class Passing(UsableTime):
        def let_pass(self, seconds: float) -> dict[str, Any]:
            passed.append(seconds)
            return {"candidate": 0.5}

    world.trial.usable_time = Passing(dict)
    return passed


@pytest.fixture
def turnstile(world: World) -> Iterator[ReservedNode]:
    reserved = ReservedNode(world.cluster, NAMESPACE)
    reserved.follow(world.recorder)
    world.trial.reserved = reserved
    world.await_shown(lambda: RESERVED in world.recorder.nodes, "the node")
    world.await_shown(lambda: world.recorder.pods, "its blocker")
    yield reserved
    reserved.close()


def test_by_a_turn_both_watches_are_shown(world: World, turnstile: ReservedNode, passed: list[float]) -> None:
    world.schedule(selected(world))
    world.view.settle()
    (seen,) = world.of(ShownSeen)
    node = world.server.read("nodes", RESERVED)
    assert seen.nodes == int(node["metadata"]["resourceVersion"])
    assert seen.pods == turnstile._blocker.rv
    assert seen.rv == min(seen.nodes, seen.pods)
    (probe,) = [record for record in world.of(PodCreated) if record.role == "settle"]
    assert probe.pod == f"{NAMESPACE}/{seen.pod}"
    assert seen.pod not in world.server.names("pods")
    assert passed == [], "nothing is left to a claim"


def test_a_turn_needs_no_toleration_without_key_or_effect(world: World, turnstile: ReservedNode) -> None:
    world.schedule(selected(world))
    world.view.settle()
    taints = world.server.read("nodes", RESERVED)["spec"]["taints"]
    assert len(taints) == 3
    assert all({"key": taint["key"], "operator": "Exists", "effect": taint["effect"]} in ADMITTED for taint in taints)


def test_a_candidate_that_shuns_the_turnstile_is_shown_by_any_binding_and_its_claim(
    world: World, turnstile: ReservedNode, passed: list[float]
) -> None:
    node_of = selected(world)
    world.schedule(lambda pod: "" if node_of(pod) == RESERVED else node_of(pod))
    wait_bound, first = world.expect.wait_bound, [False]
    world.expect.wait_bound = lambda pods, due: first.pop() if first else wait_bound(pods, due)  # type: ignore[method-assign]
    for turns in (1, 2):
        world.view.settle()
        assert (len(world.of(ShownSeen)), turnstile._free) == (turns, 1)
        assert "avoids-reserved" in world.trial.shown.habits
    assert passed == [world.context.freshness] * 2
    assert world.pods.present == []
    assert world.of(Unseen) == []


def test_without_a_turnstile_a_label_shows_the_nodes_and_a_claim_the_pods(world: World, passed: list[float]) -> None:
    world.schedule(selected(world))
    world.view.settle()
    assert world.server.read("nodes", "node-1")["metadata"]["labels"][GENERATION] == "generation-1"
    (seen,) = world.of(ShownSeen)
    (probe,) = world.of(PodCreated)
    assert seen.pod.startswith(probe.pod.removeprefix(f"{NAMESPACE}/"))
    assert seen.rv == seen.nodes == seen.pods
    assert passed == [world.context.freshness]
    assert "ignores-selectors" not in world.trial.shown.habits


def test_where_nodes_are_not_to_be_changed_none_is(make_world: Callable[..., World]) -> None:
    world = make_world(capabilities=[])
    world.schedule()
    before, passed = world.server.snapshot(), passing(world)
    world.view.settle()
    assert world.server.snapshot() == before
    assert (len(world.of(ShownSeen)), passed) == (1, [world.context.freshness])


def test_a_probe_on_another_node_shows_that_selectors_are_ignored(world: World, passed: list[float]) -> None:
    world.schedule(lambda _: "node-2")
    world.view.settle()
    assert "ignores-selectors" in world.trial.shown.habits
    (seen,) = world.of(ShownSeen)
    assert "its selector was ignored" in seen.pod
    assert passed == []


def test_another_node_is_used_that_has_readings(world: World) -> None:
    world.view.use_one_of({"node-2": 1.0, "joined": 1.0})
    world.schedule(selected(world))
    world.view.settle()
    assert GENERATION in world.server.read("nodes", "node-2")["metadata"]["labels"]
    assert GENERATION not in world.server.read("nodes", "node-1")["metadata"]["labels"]
    world.view.use_one_of({"joined": 1.0})
    assert world.view._node == "node-1"


def test_a_probe_that_is_not_bound_ends_the_case(make_world: Callable[..., World]) -> None:
    world = make_world(timing=TOO_LATE)
    with pytest.raises(CaseOver):
        world.view.settle()
    (probe,) = world.of(PodCreated)
    (unseen,) = world.of(Unseen)
    assert (unseen.case, "selects the newest label of node-1" in unseen.reason) == (CLAUSE, True)
    assert [(record.outcome, record.uid) for record in world.of(Expect)] == [("bound", probe.uid)]
    assert (world.of(ShownSeen), world.expect.over) == ([], True)


def test_what_has_the_room_of_the_probe_is_removed_once(make_world: Callable[..., World]) -> None:
    world = make_world(timing=TOO_LATE)
    misplaced = world.pods.create("misplaced")
    world.server.bind(NAMESPACE, misplaced.name, "node-1")
    world.await_shown(lambda: world.pods.was_bound(misplaced), "the Binding")
    world.trial.waiters = {"full": misplaced}

    remove_misplaced = world.pods.remove_misplaced

    def make_room() -> bool:
        removed = remove_misplaced()
        (name,) = world.server.names("pods")
        world.server.bind(NAMESPACE, name, "node-1")
        uid = world.server.read("pods", name, NAMESPACE)["metadata"]["uid"]
        world.await_shown(lambda: uid in world.recorder.placed, "the Binding of the probe")
        return removed

    world.pods.remove_misplaced = make_room  # type: ignore[method-assign]
    world.view.settle()
    assert len(world.of(ShownSeen)) == 1
    assert world.trial.waiters == {}
    assert misplaced.name not in world.server.names("pods")


def test_a_node_is_old_enough_once_the_claimed_time_has_passed(world: World, passed: list[float]) -> None:
    world.view.age("node-2")
    (aged,) = world.of(Aged)
    version = int(world.server.read("nodes", "node-2")["metadata"]["resourceVersion"])
    assert (aged.case, aged.node, aged.rv, aged.kept) == (CLAUSE, "node-2", version, {"candidate": 0.5})
    assert passed == [aged.seconds]


def test_all_that_the_watch_has_shown_is_old_enough_without_a_node(world: World, passed: list[float]) -> None:
    world.view.age()
    (aged,) = world.of(Aged)
    assert (aged.node, aged.rv) == ("", world.recorder.rv)
    assert passed == [aged.seconds]


@pytest.fixture
def reading(make_world: Callable[..., World]) -> tuple[World, dict[str, float]]:
    """Whose candidate rejects nodes without readings, and the readings that there are."""
    world = make_world(network=NETWORK)
    readings: dict[str, float] = {}
    world.trial.readers = SimpleNamespace(at=lambda _url: SimpleNamespace(traffic=lambda _query: readings))
    world.attachment.prometheus = SimpleNamespace(upstream="http://prometheus")  # type: ignore[attr-defined]
    world.schedule(selected(world))
    return world, readings


def test_a_node_that_joined_is_used_once_it_has_readings(
    reading: tuple[World, dict[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, readings = reading
    readings["new"] = 1.0
    world.view.joined("new")
    assert len(world.of(ShownSeen)) == 1
    monkeypatch.setattr(module, "FIRST_SCRAPE", dataclasses.replace(module.FIRST_SCRAPE, seconds=0.0))
    with pytest.raises(DeadlineExceededError, match="Prometheus has no traffic of other"):
        world.view.joined("other", left=0.0)


def test_only_one_that_rejects_nodes_without_readings_waits_for_them(world: World) -> None:
    world.view.joined("new")
    assert world.of(PodCreated) == []


@pytest.mark.parametrize("there", [True, False])
def test_the_turnstile_is_used_where_the_candidate_would_pass_it(
    reading: tuple[World, dict[str, float]], there: bool
) -> None:
    world, readings = reading
    world.trial.reserved = SimpleNamespace(turn=lambda generation: generation)
    if there:
        readings[RESERVED] = 1.0
    assert world.view._turn() == ("generation-1" if there else None)


def test_a_pod_that_waits_where_there_are_no_nodes(world: World) -> None:
    world.refuse()
    pod = world.view.nowhere_pod("nowhere")
    assert world.server.names("pods") == [pod.name]
    assert world.of(Unseen) == []


def test_pods_on_nodes_that_are_gone_are_replaced_until_it_is_too_late(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.schedule()
    with pytest.raises(CaseOver):
        world.view.nowhere_pod("nowhere")
    (unseen,) = world.of(Unseen)
    assert unseen.reason.startswith("3 pods were bound to nodes that had been gone")
    assert len(world.of(PodCreated)) == 4
    assert world.of(Missed) == []
