"""Storage that a case makes: as controllers of volumes answer it, and all of it gone once it is undone."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from schedproof.clusters import objects
from schedproof.clusters.api import ApiError
from schedproof.foundation.deadlines import OBJECT_GONE, VOLUME_READY
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.oracle.volumes import BIND_COMPLETED, SELECTED_NODE
from schedproof.stimulus.changes import volumes as changes
from schedproof.stimulus.changes.volumes import ZONE, VolumeChanges

from .world import NAMESPACE, World


@pytest.fixture
def volumes(world: World) -> VolumeChanges:
    return VolumeChanges(world.context)


def provide(world: World) -> None:
    """Play the controllers of volumes: what is made gets ready once it was looked at twice."""
    world.become("persistentvolumes", lambda _: {"status": {"phase": "Available"}})
    bound = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}}
    world.become("persistentvolumeclaims", lambda claim: bound if claim["spec"].get("volumeName") else None)


@pytest.mark.parametrize(("waits", "mode"), [(True, "WaitForFirstConsumer"), (False, "Immediate")])
def test_a_class_has_no_provisioner(world: World, volumes: VolumeChanges, waits: bool, mode: str) -> None:
    with world.changed_back(volumes.undo):
        found = world.server.read("storageclasses", volumes.storage_class(waits=waits))
        assert (found["provisioner"], found["volumeBindingMode"]) == ("kubernetes.io/no-provisioner", mode)


def test_a_volume_is_of_a_node_or_of_a_zone_and_available(world: World, volumes: VolumeChanges) -> None:
    provide(world)
    with world.changed_back(volumes.undo):
        here, there = (
            world.server.read("persistentvolumes", name)
            for name in (volumes.volume("fast", node="node-1"), volumes.volume("fast", zone="b"))
        )
        (term,) = here["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]}]
        assert (here["metadata"]["labels"], there["metadata"]["labels"]) == ({}, {ZONE: "b"})
        assert ("nodeAffinity" in there["spec"], "hostPath" in there["spec"]) == (False, True)
        for volume in (here, there):
            assert (volume["spec"]["storageClassName"], volume["status"]["phase"]) == ("fast", "Available")


def test_a_claim_is_bound_to_its_volume_and_is_an_item_of_a_pod(world: World, volumes: VolumeChanges) -> None:
    provide(world)
    with world.changed_back(volumes.undo):
        free, bound = volumes.claim("fast"), volumes.claim("fast", volume=volumes.volume("fast", node="node-1"))
        claims = []
        for item in (free, bound):
            name = item["persistentVolumeClaim"]["claimName"]
            claims.append(world.server.read("persistentvolumeclaims", name, NAMESPACE))
        assert ["volumeName" in claim["spec"] for claim in claims] == [False, True]
        assert BIND_COMPLETED in claims[1]["metadata"]["annotations"]
        volumes.await_recorded()
        for claim in claims:
            metadata = claim["metadata"]
            assert world.recorder.versions[metadata["uid"]] == int(metadata["resourceVersion"])


def test_what_controllers_do_not_answer_is_said_and_undone(
    world: World, volumes: VolumeChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "VOLUME_READY", dataclasses.replace(VOLUME_READY, seconds=0.0))
    with world.changed_back(volumes.undo):
        with pytest.raises(DeadlineExceededError, match=r"persistentvolumes .*its status is None"):
            volumes.volume("fast", node="node-1")
        with pytest.raises(DeadlineExceededError, match="persistentvolumeclaims"):
            volumes.claim("fast", volume="missing")


def test_what_is_refused_is_not_there_to_be_removed(world: World, volumes: VolumeChanges) -> None:
    world.server.writes = [422]
    with pytest.raises(ApiError):
        volumes.storage_class(waits=True)
    assert not volumes.undo()
    assert world.server.seen("DELETE") == []


def test_claims_go_before_volumes_before_classes(world: World, volumes: VolumeChanges) -> None:
    provide(world)
    name = volumes.storage_class(waits=False)
    volumes.claim(name, volume=volumes.volume(name, node="node-1"))
    assert volumes.undo()
    removed = [path.split("/")[-2] for path, _ in world.server.seen("DELETE")]
    assert removed == ["persistentvolumeclaims", "persistentvolumes", "storageclasses"]


def protect(world: World) -> None:
    """Play admission, that gives claims a finalizer."""

    def answer(what: str, claim: dict[str, Any]) -> None:
        if what == "ADDED":
            patch = {"metadata": {"finalizers": ["kubernetes.io/pvc-protection"]}}
            world.server.patch("persistentvolumeclaims", claim["metadata"]["name"], patch, NAMESPACE)

    world.server.controllers["persistentvolumeclaims"] = [answer]


def test_what_is_in_use_is_waited_for(world: World, volumes: VolumeChanges) -> None:
    protect(world)
    world.become("persistentvolumeclaims", lambda _: {"metadata": {"finalizers": None}})
    with world.changed_back(volumes.undo):
        volumes.claim("fast")


def test_what_stays_in_use_is_said(world: World, volumes: VolumeChanges, monkeypatch: pytest.MonkeyPatch) -> None:
    protect(world)
    monkeypatch.setattr(objects, "OBJECT_GONE", dataclasses.replace(OBJECT_GONE, seconds=0.0))
    volumes.claim("fast")
    with pytest.raises(DeadlineExceededError, match="it is still there"):
        volumes.undo()


def test_a_volume_is_provided_where_the_candidate_has_selected_a_node(world: World, volumes: VolumeChanges) -> None:
    """It goes after its claim, and before all else."""
    name = volumes.storage_class(waits=True, driver=volumes.provisioner(), node="node-2")
    volumes.grow(volumes.capacity(name, "1Gi", node="node-1", largest="1Mi"), "3Gi")
    pools = world.server.names("csistoragecapacities")
    (pool,) = (world.server.read("csistoragecapacities", one, NAMESPACE) for one in pools)
    assert (pool["capacity"], pool["nodeTopology"]["matchLabels"]) == ("3Gi", {"kubernetes.io/hostname": "node-1"})
    item = volumes.claim(name, size="2Gi")
    claim = item["persistentVolumeClaim"]["claimName"]
    volumes.provide(item, dataclasses.replace(VOLUME_READY, seconds=0.0))
    assert world.server.names("persistentvolumes") == []
    selected = {"metadata": {"annotations": {SELECTED_NODE: "node-2"}}}
    world.server.patch("persistentvolumeclaims", claim, selected, NAMESPACE)
    volumes.provide(item, VOLUME_READY)
    (made,) = (world.server.read("persistentvolumes", one) for one in world.server.names("persistentvolumes"))
    assert (made["spec"]["claimRef"]["name"], made["spec"]["capacity"]) == (claim, {"storage": "2Gi"})
    assert volumes.undo()
    removed = [path.split("/")[-2] for path, _ in world.server.seen("DELETE")]
    assert removed[:2] == ["persistentvolumeclaims", "persistentvolumes"]
