"""Devices and claims that a case makes, and that none of them is left, those of templates included."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from schedproof.clusters.api import ApiError
from schedproof.foundation.deadlines import CLAIM_RELEASED
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.stimulus.changes import devices as changes
from schedproof.stimulus.changes.devices import DRIVER, DraChanges

from .world import NAMESPACE, World


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(capabilities=["change-nodes", "idle-nodes", "claimed-devices"], features=("dra",))


@pytest.fixture
def devices(world: World) -> DraChanges:
    return DraChanges(world.context)


def claim_of(world: World, **status: Any) -> str:
    """A claim that was made of a template, which an allocation keeps from going."""
    name = f"made-{len(world.server.names('resourceclaims'))}"
    metadata = {"name": name, "finalizers": ["resource.kubernetes.io/delete-protection"]}
    world.server.store("resourceclaims", {"metadata": metadata, "status": status}, NAMESPACE)
    return name


def test_devices_of_a_node_are_a_pool_of_their_own(world: World, devices: DraChanges) -> None:
    with world.changed_back(devices.undo):
        devices.publish("node-1", ("gpu", "a"), ("gpu", "b"))
        devices.publish("node-2", ("nic", "a"))
        one, two = (world.server.read("resourceslices", name)["spec"] for name in world.server.names("resourceslices"))
        assert (one["driver"], one["nodeName"], two["nodeName"]) == (DRIVER, "node-1", "node-2")
        assert one["pool"]["name"] != two["pool"]["name"]
        assert [
            (device["name"], device["attributes"]["kind"]["string"], device["attributes"]["model"]["string"])
            for device in one["devices"]
        ] == [("device-0", "gpu", "a"), ("device-1", "gpu", "b")]


def test_parts_of_a_model_share_its_counters(world: World, devices: DraChanges) -> None:
    with world.changed_back(devices.undo):
        devices.partition("node-1", {"a": 4, "b": 2}, ("whole", "a", 4), ("half", "a", 2), ("whole", "b", 2))
        slices = [world.server.read("resourceslices", name)["spec"] for name in world.server.names("resourceslices")]
        (counters,), (parts,) = ([spec for spec in slices if field in spec] for field in ("sharedCounters", "devices"))
        assert counters["pool"] == parts["pool"]
        assert counters["pool"]["resourceSliceCount"] == 2
        assert [
            (each["name"], each["counters"]["memory"]["value"]) for each in counters["sharedCounters"]
        ] == [("a", "4"), ("b", "2")]  # fmt: skip
        assert [
            (used["counterSet"], used["counters"]["memory"]["value"])
            for device in parts["devices"]
            for used in device["consumesCounters"]
        ] == [("a", "4"), ("a", "2"), ("b", "2")]


def test_a_driver_reports_conditions_of_allocated_devices(world: World, devices: DraChanges) -> None:
    soon = dataclasses.replace(CLAIM_RELEASED, seconds=0.3)
    claim = {"resourceClaimName": claim_of(world)}
    assert not devices.await_allocated(claim, soon)
    device = {"driver": DRIVER, "pool": "p", "device": "d"}
    allocation = {"devices": {"results": [{**device, "request": "wanted"}]}}
    claim = {"resourceClaimName": claim_of(world, allocation=allocation)}
    assert devices.await_allocated(claim, soon)
    devices.report(claim, "ready")
    (reported,) = world.server.read("resourceclaims", claim["resourceClaimName"], NAMESPACE)["status"]["devices"]
    assert device.items() <= reported.items()
    assert [(told["type"], told["status"]) for told in reported["conditions"]] == [("ready", "True")]
    assert not devices.await_allocated(claim, soon)


def test_a_class_and_a_claim_select_by_kind_and_model(world: World, devices: DraChanges) -> None:
    with world.changed_back(devices.undo):
        name = devices.device_class("gpu")
        (selector,) = world.server.read("deviceclasses", name)["spec"]["selectors"]
        assert f'device.driver == "{DRIVER}"' in selector["cel"]["expression"]
        assert '.kind == "gpu"' in selector["cel"]["expression"]
        item, made = devices.claim(name, "a", count=2), devices.template(name, "b")
        claim = world.server.read("resourceclaims", item["resourceClaimName"], NAMESPACE)
        template = world.server.read("resourceclaimtemplates", made["resourceClaimTemplateName"], NAMESPACE)
        asked = [spec["devices"]["requests"][0]["exactly"] for spec in (claim["spec"], template["spec"]["spec"])]
        assert [(one["deviceClassName"], one["count"]) for one in asked] == [(name, 2), (name, 1)]
        assert '.model == "a"' in asked[0]["selectors"][0]["cel"]["expression"]
        devices.await_recorded()
        assert claim["metadata"]["uid"] in world.recorder.versions


def test_what_is_refused_is_not_there_to_be_removed(world: World, devices: DraChanges) -> None:
    world.server.writes = [422]
    with pytest.raises(ApiError):
        devices.device_class("gpu")
    assert not devices.undo()
    assert world.server.seen("DELETE") == []


def test_claims_of_templates_go_with_their_finalizers(world: World, devices: DraChanges) -> None:
    with world.changed_back(devices.undo):
        devices.template(devices.device_class("gpu"), "a")
        claim_of(world)
        claim_of(world)


def test_where_nothing_was_made_no_claim_is_touched(world: World, devices: DraChanges) -> None:
    name = claim_of(world)
    assert not devices.undo()
    devices.await_recorded()
    assert world.server.names("resourceclaims") == [name]


def test_devices_of_pods_that_are_gone_are_released(
    world: World, devices: DraChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "CLAIM_RELEASED", dataclasses.replace(CLAIM_RELEASED, seconds=0.0))
    gone, other = world.pods.create(), world.pods.create()
    name = claim_of(world, reservedFor=[{"uid": other.uid}, {"uid": gone.uid}])
    with pytest.raises(DeadlineExceededError, match=f"claim {name} is still reserved for a deleted pod"):
        devices.await_released([gone])
    world.server.patch("resourceclaims", name, {"status": {"reservedFor": [{"uid": other.uid}]}}, NAMESPACE)
    devices.await_released([gone])
