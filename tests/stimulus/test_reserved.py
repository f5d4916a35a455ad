"""The turnstile: what a pod needs that is to pass it, that no earlier view has room for it, and that it goes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from schedproof.clusters.nodes import CORDONED
from schedproof.foundation.deadlines import NODE_READY
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.history.world import RESERVED
from schedproof.oracle.feasibility import check
from schedproof.stimulus import reserved as room
from schedproof.stimulus.pods import TOLERATE_ALL, Pod
from schedproof.stimulus.reserved import GENERATION, ReservedNode, is_possible

from .world import NAMESPACE, World


@pytest.fixture
def reserved(world: World) -> Iterator[ReservedNode]:
    before = world.server.snapshot()
    reserved = ReservedNode(world.cluster, NAMESPACE)
    reserved.follow(world.recorder)
    world.await_shown(lambda: seen(world) and CORDONED in taints(world), "the node and its blocker")
    yield reserved
    reserved.close()
    assert world.server.snapshot() == before


def seen(world: World) -> list[str]:
    """The pods that the watch has shown on the node."""
    pods = world.recorder.pods.values()
    return [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName") == RESERVED]


def taints(world: World) -> set[str]:
    spec = world.recorder.nodes.get(RESERVED, {"spec": {}})["spec"]
    return {taint["key"] for taint in spec.get("taints", ())}


def passing(world: World, generation: str, cpu: str, *more: Pod) -> bool:
    """Whether a pod passes that asks for this, in the world as the watch has shown it; `more` are on the node still."""
    spec = {
        "nodeSelector": {GENERATION: generation}, "tolerations": TOLERATE_ALL,
        "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
    }  # fmt: skip
    pod = {"metadata": {"name": "probe", "namespace": NAMESPACE, "uid": "probe", "labels": {}}, "spec": spec}
    return not check(pod, [world.server.read("nodes", RESERVED)], [world.pod(p) for p in more])[RESERVED]


def test_a_cluster_needs_nodes_that_can_be_changed_and_need_no_machine(world: World) -> None:
    assert is_possible(world.cluster)
    world.cluster.capabilities = frozenset({"idle-nodes"})
    assert not is_possible(world.cluster)


@pytest.mark.usefixtures("reserved")
def test_it_is_tainted_cordoned_and_full(world: World) -> None:
    assert len(taints(world)) == 3
    assert CORDONED in taints(world)
    (blocker,) = seen(world)
    (container,) = world.server.read("pods", blocker, NAMESPACE)["spec"]["containers"]
    offered = world.server.read("nodes", RESERVED)["status"]["allocatable"]["cpu"]
    assert container["resources"]["requests"]["cpu"] == offered


def test_a_node_that_is_not_cordoned_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.server.controllers["nodes"] = []
    monkeypatch.setattr(room, "NODE_READY", dataclasses.replace(NODE_READY, seconds=0.0))
    with pytest.raises(DeadlineExceededError, match="to be cordoned"):
        ReservedNode(world.cluster, NAMESPACE)


def test_each_turn_lets_one_pod_more_pass_that_has_seen_both(world: World, reserved: ReservedNode) -> None:
    before = reserved._blocker
    for number, generation in enumerate(("g-1", "g-2", "g-3"), 1):
        old = world.pod(before)
        turn = reserved.turn(generation)
        assert turn is not None
        assert (turn.label, turn.cpu) == (generation, str(number))
        node = world.server.read("nodes", RESERVED)
        assert (node["metadata"]["labels"][GENERATION], int(node["metadata"]["resourceVersion"])) == (
            generation, turn.nodes,
        )  # fmt: skip
        now = reserved._blocker
        assert int(world.pod(now)["metadata"]["resourceVersion"]) == turn.pods == now.rv
        assert before.name not in world.server.names("pods")
        assert passing(world, generation, turn.cpu, now)
        assert not passing(world, f"g-{number - 1}", turn.cpu, now), "by an older label"
        assert not check_with(world, generation, turn.cpu, old), "by the larger blocker"
        world.await_shown(lambda: seen(world) == [now.name], "the exchange of blockers")  # noqa: B023
        before = now


def check_with(world: World, generation: str, cpu: str, blocker: dict[str, object]) -> bool:
    world.server.store("pods", {**blocker, "metadata": {"name": "blocker-of-before"}}, NAMESPACE)
    try:
        made = Pod.created(world.server.read("pods", "blocker-of-before", NAMESPACE))
        return passing(world, generation, cpu, made)
    finally:
        world.server.delete("pods", "blocker-of-before", NAMESPACE)


def test_there_is_no_turn_where_others_take_of_it_or_it_is_gone(world: World, reserved: ReservedNode) -> None:
    taker = world.pods.foreign(node=RESERVED, cpu="1", plain=True)
    assert reserved.turn("g-1") is None
    world.pods.delete([taker])
    light = world.pods.foreign(node=RESERVED, plain=True)
    assert reserved.turn("g-2") is not None, "one that takes no CPU is in no pod's way"
    world.pods.delete([light])
    world.server.delete("nodes", RESERVED)
    world.await_shown(lambda: RESERVED not in world.recorder.nodes, "it to go")
    assert reserved.turn("g-3") is None
    world.cluster.add_node(RESERVED)


def test_a_blocker_that_was_collected_is_replaced(world: World, reserved: ReservedNode) -> None:
    collected = reserved._blocker
    world.server.delete("pods", collected.name, NAMESPACE)
    world.await_shown(lambda: not seen(world), "it to go")
    assert reserved.turn("g-1") is not None
    world.await_shown(lambda: seen(world) == [reserved._blocker.name], "the new one")
    assert reserved._blocker.uid != collected.uid


def test_pods_that_wait_for_it_have_one_reason_each(world: World, reserved: ReservedNode) -> None:
    words = {"tainted": ":NoSchedule", "tainted-noexecute": ":NoExecute", "cordoned": "unschedulable", "full": "cpu"}
    waiting = reserved.waiting()
    assert waiting.keys() == words.keys()
    for name, spec in waiting.items():
        pod = world.pods.create(name, plain=True, **spec)
        reasons = world.pods.objections(world.recorder.pods[pod.uid])[RESERVED]
        assert reasons
        assert [words[name] in str(reason) for reason in reasons] == [True] * len(reasons), reasons
        others = {word for word in words.values() if word not in (":NoSchedule", words[name])}
        assert not [reason for reason in reasons for word in others if word in str(reason)]
    world.pods.undo()


def test_whatever_is_on_it_goes_with_it(world: World) -> None:
    reserved = ReservedNode(world.cluster, NAMESPACE)
    bound, other = world.pods.foreign(node=RESERVED), world.pods.foreign(node="node-1")
    reserved.close()
    assert (bound.name in world.server.names("pods"), RESERVED in world.server.names("nodes")) == (False, False)
    assert world.server.names("pods") == [other.name]
