"""How worked examples of extension points are tried: on which nodes pods are created, and what is expected of them."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.candidate.points import FilterExample, OrderExample, PartOfMetadata, PartOfPod
from schedproof.history.acts import Expect, Halted, PodCreated
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.kinds.points import PointStimulus
from schedproof.stimulus.traffic.chance import Chance

from .world import NODES, World

GOOD, BAD = {"disk": "ssd"}, {"disk": "hdd"}


@pytest.fixture
def points(world: World) -> PointStimulus:
    nodes = NodeChanges(world.context, world.view)
    candidate = CandidateChanges(world.context, world.expect)
    return PointStimulus(
        world.context, world.pods, nodes, world.expect, world.view, candidate, Chance(nodes=len(NODES))
    )


def outcomes(world: World) -> list[str]:
    """What was expected of the pods of examples, in order."""
    roles = {record.uid: record.role for record in world.of(PodCreated)}
    return [record.outcome for record in world.of(Expect) if roles[record.uid] in ("example", "first", "then")]


def host(manifest: dict[str, Any]) -> str:
    return str((manifest["spec"].get("nodeSelector") or {}).get("kubernetes.io/hostname", ""))


def test_a_pod_of_an_example_goes_to_a_node_with_its_labels_which_it_has_no_longer_afterwards(
    world: World, points: PointStimulus
) -> None:
    seen: list[dict[str, str]] = []

    def node_of(manifest: dict[str, Any]) -> str:
        if host(manifest):
            seen.append(world.server.read("nodes", host(manifest))["metadata"]["labels"])
        return host(manifest) or NODES[0]

    world.schedule(node_of)
    points.try_filter([FilterExample(fits=True, pod=PartOfPod(PartOfMetadata({"app": "db"})), node_labels=GOOD)])
    assert outcomes(world) == ["bound"]
    (labels,) = seen
    assert labels["disk"] == "ssd"
    assert all("disk" not in world.server.read("nodes", name)["metadata"]["labels"] for name in NODES)
    assert world.pods.present == []


def test_pods_that_come_first_and_then_are_created_while_the_candidate_is_down(
    world: World, points: PointStimulus
) -> None:
    world.refuse()
    world.schedule(lambda manifest: "" if "then" in manifest["metadata"]["name"] else host(manifest) or NODES[0])
    example = OrderExample(*(PartOfPod(PartOfMetadata({"turn": turn})) for turn in ("1", "2")))
    points.try_order(example, phase=1, reverse=True)
    roles = [record.role for record in world.of(PodCreated) if record.role in ("first", "then")]
    assert roles == ["then"] * 15 + ["first"], "in the opposite order"
    assert len(world.of(Halted)) == 1
    assert sorted(outcomes(world)) == ["bound"] + ["pending"] * 15
    assert [act for act in world.attachment.acts if act != "report exits"] == ["halt", "resume"]
    assert [pod.name for pod in world.pods.present if "sentinel" not in pod.name] == []
