"""What a case does to nodes: as the apiserver then has them, seen by the record, and as before once it is undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.clusters.api import NotFound
from schedproof.clusters.nodes import CORDONED
from schedproof.daemons.kwok import UNPLAYED
from schedproof.foundation.deadlines import NODE_READY
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.history.acts import Emptied
from schedproof.stimulus.changes import nodes as changes
from schedproof.stimulus.changes.nodes import LOOKALIKES, UNUSUAL_NAMES, NodeChanges
from schedproof.stimulus.reserved import GENERATION

from .world import CLAUSE, NODES, World


@pytest.fixture
def joined() -> list[tuple[str, bool]]:
    """What `CandidateView.joined` was told: names, and whether another node of the name had left."""
    return []


@pytest.fixture
def nodes(world: World, joined: list[tuple[str, bool]]) -> NodeChanges:
    view: Any = SimpleNamespace(joined=lambda node, *, left: joined.append((node, left is not None)))
    return NodeChanges(world.context, view)


@pytest.fixture
def undone(world: World, nodes: NodeChanges) -> Iterator[None]:
    """At the end of the test all is undone, and then as it was before."""
    with world.changed_back(nodes.undo):
        yield


def node(world: World, name: str) -> dict[str, Any]:
    return world.server.read("nodes", name)


def taints(world: World, name: str) -> list[str]:
    return [taint["key"] for taint in node(world, name)["spec"].get("taints", ())]


TAINT = {"key": "a", "value": "1", "effect": "NoSchedule"}


@pytest.mark.usefixtures("undone")
def test_taints_are_replaced_and_labels_added(world: World, nodes: NodeChanges) -> None:
    before = node(world, "node-1")["metadata"]["labels"]
    nodes.change("node-1", taints=[TAINT], labels={"disk": "ssd"})
    nodes.change("node-1", taints=[{**TAINT, "key": "b"}], labels={"kubernetes.io/arch": None})
    assert taints(world, "node-1") == ["b"]
    after = {**before, "disk": "ssd"}
    del after["kubernetes.io/arch"]
    assert node(world, "node-1")["metadata"]["labels"] == after
    shown = world.recorder.nodes["node-1"]
    assert shown["metadata"]["labels"] == after, "what follows must not come before it on record"
    assert taints(world, "node-2") == []


@pytest.mark.usefixtures("undone")
@pytest.mark.parametrize("at_first", [False, True])
def test_a_node_is_cordoned_and_tainted_by_its_controller(world: World, nodes: NodeChanges, at_first: bool) -> None:
    nodes.change("node-1", unschedulable=not at_first)
    nodes.change("node-1", unschedulable=at_first)
    assert node(world, "node-1")["spec"].get("unschedulable") is at_first
    assert (CORDONED in taints(world, "node-1")) is at_first


def test_a_cordon_is_waited_for_until_the_controller_has_answered(
    world: World, nodes: NodeChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.server.controllers["nodes"] = []
    world.server.patch("nodes", "node-1", {"spec": {"unschedulable": True}})
    world.await_shown(lambda: world.recorder.nodes["node-1"]["spec"].get("unschedulable"), "the cordon")
    monkeypatch.setattr(changes, "NODE_READY", dataclasses.replace(NODE_READY, seconds=0.0))
    with pytest.raises(DeadlineExceededError, match="its taints are"):
        nodes.change("node-1", unschedulable=True)
    world.server.patch("nodes", "node-1", {"spec": {"taints": [{"key": CORDONED, "effect": "NoSchedule"}]}})
    world.await_shown(lambda: world.recorder.nodes["node-1"]["spec"].get("taints"), "the taint")
    nodes.change("node-1", unschedulable=True)


@pytest.mark.usefixtures("undone")
def test_what_the_node_had_before_the_first_change_comes_back(world: World, nodes: NodeChanges) -> None:
    world.server.patch("nodes", "node-1", {"spec": {"taints": None}})
    nodes.burst("node-1", "colour", 3, last="blue")
    assert node(world, "node-1")["metadata"]["labels"]["colour"] == "blue"
    values = [body["metadata"]["labels"]["colour"] for _, body in world.server.seen("PATCH", "nodes/node-1")]
    assert values == ["burst-0", "burst-1", "burst-2", "blue"]


def test_own_taints_and_labels_of_a_node_come_back(world: World, nodes: NodeChanges) -> None:
    world.server.patch("nodes", "node-1", {"metadata": {"labels": {"own": "1"}}, "spec": {"taints": [TAINT]}})
    before = world.server.snapshot()
    nodes.change("node-1", taints=[], labels={"own": None, "new": "2"}, unschedulable=True)
    nodes.undo()
    assert world.server.snapshot() == before


@pytest.mark.parametrize("before", [None, "1"])
def test_the_generation_is_never_taken_back(world: World, nodes: NodeChanges, before: str | None) -> None:
    world.server.patch("nodes", "node-1", {"metadata": {"labels": {GENERATION: before}}})
    nodes.change("node-1", labels={"new": "2"})
    world.server.patch("nodes", "node-1", {"metadata": {"labels": {GENERATION: "2"}}})
    nodes.undo()
    labels = node(world, "node-1")["metadata"]["labels"]
    assert (labels[GENERATION], "new" in labels) == ("2", False)


@pytest.mark.usefixtures("undone")
def test_a_node_reports_an_image(world: World, nodes: NodeChanges) -> None:
    nodes.hold_image("node-2", "registry/image:1")
    nodes.hold_image("node-2", "registry/image:2")
    (image,) = node(world, "node-2")["status"]["images"]
    assert image["names"] == ["registry/image:2"]


def test_where_kubelets_report_images_nothing_is_changed(make_world: Callable[..., World]) -> None:
    world = make_world(capabilities=["real-pods", "change-nodes"])
    nodes, before = NodeChanges(world.context, world.view), world.server.snapshot()
    nodes.hold_image("node-2", "registry/image:1")
    assert world.server.snapshot() == before
    assert not nodes.undo()


@pytest.mark.usefixtures("undone")
def test_a_node_joins_like_the_others_but_for_its_capacity(
    world: World, nodes: NodeChanges, joined: list[tuple[str, bool]]
) -> None:
    nodes.add("large", cpu="64")
    offered = node(world, "large")["status"]["allocatable"]
    assert (offered["cpu"], offered["memory"]) == ("64", "16Gi")
    assert "large" in world.recorder.nodes
    assert world.context.scarce == {"cpu"}, "pods of the case ask for none of it beside"
    assert node(world, "large")["metadata"]["labels"].items() >= {"looks.schedproof.dev/number": "7"}.items()
    nodes.remove("large")
    assert "large" not in world.recorder.nodes
    nodes.add("large")
    assert joined == [("large", False), ("large", True)]


@pytest.mark.usefixtures("undone")
def test_a_node_that_joined_may_have_been_changed(world: World, nodes: NodeChanges) -> None:
    nodes.add("more")
    nodes.change("more", taints=[TAINT], unschedulable=True)
    nodes.change("node-1", labels={"a": "b"})
    nodes.resize("more", cpu="2", memory=None)
    offered = world.recorder.nodes["more"]["status"]["allocatable"]
    assert (offered["cpu"], "memory" in offered) == ("2", False)


def test_only_a_node_that_joined_can_be_removed(world: World, nodes: NodeChanges) -> None:
    with pytest.raises(ValueError, match="not in list"):
        nodes.remove("node-1")
    assert world.server.names("nodes") == list(NODES)


def test_of_a_node_that_does_not_exist_nothing_is_to_undo(nodes: NodeChanges) -> None:
    with pytest.raises(NotFound):
        nodes.change("node-9", labels={"a": "b"})
    assert not nodes.undo()


@pytest.mark.usefixtures("undone")
def test_a_node_is_recreated_at_once_as_another_one_of_its_name(world: World, nodes: NodeChanges) -> None:
    nodes.add("more", cpu="4")
    nodes.change("more", taints=[TAINT], labels={"disk": "ssd"})
    before = node(world, "more")
    nodes.recreate("more", labels={"zone": "b"}, cpu="2")
    after = node(world, "more")
    assert after["metadata"]["uid"] == world.recorder.nodes["more"]["metadata"]["uid"] != before["metadata"]["uid"]
    assert (taints(world, "more"), after["status"]["allocatable"]["cpu"]) == ([], "2")
    labels = after["metadata"]["labels"]
    assert ("disk" in labels, labels["zone"], labels["kubernetes.io/arch"]) == (False, "b", "amd64")


@pytest.mark.usefixtures("undone")
@pytest.mark.parametrize("names", [LOOKALIKES, UNUSUAL_NAMES], ids=["lookalikes", "unusual"])
def test_idle_nodes_have_their_addresses_among_others(world: World, nodes: NodeChanges, names: dict[str, str]) -> None:
    assert nodes.add_named(names) == list(names)
    for name, address in names.items():
        listed = node(world, name)["status"]["addresses"]
        internal = [one["address"] for one in listed if one["type"] == "InternalIP"]
        assert (internal[0], len(internal), len(listed)) == (address, 2, 4)
        assert nodes.targets[name]["instance"].startswith(f"{address}:")
    nodes.remove(next(iter(names)))
    assert nodes.targets.keys() == names.keys() - {next(iter(names))}


@pytest.mark.usefixtures("undone")
def test_so_many_nodes_join(world: World, nodes: NodeChanges) -> None:
    assert nodes.add_idle(2) == ["node-idle-0", "node-idle-1"]
    assert set(nodes.up_to(4)) == {*NODES, "many-00", "many-01"}
    assert len({world.recorder.nodes[name]["metadata"]["uid"] for name in world.server.names("nodes")}) == 6


@pytest.mark.usefixtures("undone")
def test_a_crowd_takes_no_pod_and_comes_first_by_name(world: World, nodes: NodeChanges) -> None:
    nodes.crowd(12)
    crowd = set(world.server.names("nodes")) - {*NODES}
    assert len(crowd) == 12
    assert max(crowd) < min(NODES)
    for name in crowd:
        found = node(world, name)
        assert (found["spec"]["unschedulable"], taints(world, name)) == (True, [CORDONED])
        assert UNPLAYED in found["metadata"]["labels"]
    assert crowd < world.recorder.nodes.keys()


def without_identity(world: World) -> dict[Any, Any]:
    """All objects but for what tells an object from another one of the same name."""
    objects = world.server.snapshot()
    for manifest in objects.values():
        del manifest["metadata"]["uid"]
    return objects


def test_all_nodes_are_taken_away_and_come_back_as_they_were(world: World, nodes: NodeChanges) -> None:
    world.server.patch("nodes", "node-2", {"metadata": {"annotations": {"a": "b"}}, "spec": {"taints": [TAINT]}})
    before = without_identity(world)
    nodes.remove_all()
    assert (world.server.names("nodes"), world.recorder.nodes) == ([], {})
    assert [record.case for record in world.of(Emptied)] == [CLAUSE]
    nodes.rejoin("node-1")
    assert list(world.recorder.nodes) == ["node-1"]
    with pytest.raises(KeyError):
        nodes.rejoin("node-1")
    assert nodes.undo()
    assert without_identity(world) == before
    assert not nodes.undo()


def test_amounts_are_shares_of_the_smallest_and_multiples_of_the_largest_node(world: World, nodes: NodeChanges) -> None:
    world.server.patch("nodes", "node-2", {"status": {"allocatable": {"cpu": "4"}}})
    world.await_shown(lambda: world.recorder.nodes["node-2"]["status"]["allocatable"]["cpu"] == "4", "the change")
    assert (nodes.share("cpu", 0.5), nodes.beyond("cpu", 1.5)) == ("2000m", "12000m")
    assert nodes.share("memory", 0.25) == str(4 << 30)


def test_names_come_in_any_order_by_the_seed(world: World, nodes: NodeChanges) -> None:
    orders = [nodes.names for _ in range(20)]
    assert {*map(tuple, orders)} == {NODES, NODES[::-1]}
    world.context.random.seed(1)
    again = nodes.names
    world.context.random.seed(1)
    assert nodes.names == again
