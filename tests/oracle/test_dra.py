"""ResourceClaims: which nodes are left for a pod, one world for each rule."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from schedproof.oracle.coverage import unmodelled
from schedproof.oracle.devices import unready
from schedproof.oracle.dra import Inventory, mistakes
from schedproof.oracle.feasibility import check

Manifest = dict[str, Any]
DRIVER = "example.com"
EVERYWHERE = ["a", "b"]
NODES = [
    {"metadata": {"name": name, "labels": {"name": name}}, "spec": {}, "status": {"allocatable": {"pods": "9"}}}
    for name in EVERYWHERE
]  # fmt: skip
RED, BLUE = {"color": {"string": "red"}}, {"color": {"string": "blue"}}


def pod(*claims: str, statuses: list[Manifest] | None = None, **entry: str) -> Manifest:
    """A pod with these claims, or with the fields `entry` as its only entry of resourceClaims."""
    entries = [{"name": "devices", **entry}] if entry else [{"name": c, "resourceClaimName": c} for c in claims]
    status: Manifest = {"phase": "Pending", **({"resourceClaimStatuses": statuses} if statuses is not None else {})}
    metadata = {"name": "probe", "namespace": "default", "uid": "probe"}
    return {"metadata": metadata, "spec": {"containers": [], "resourceClaims": entries}, "status": status}


def color(value: str) -> Manifest:
    return cel(f'device.attributes["{DRIVER}"].color == "{value}"')


def cel(expression: str) -> Manifest:
    return {"cel": {"expression": expression}}


def claim(*selectors: Manifest, count: int = 1, metadata: Manifest | None = None, **status: Any) -> Manifest:
    exactly = {"deviceClassName": "any", "count": count, "allocationMode": "ExactCount", "selectors": list(selectors)}
    metadata = {"name": "c", "namespace": "default", "uid": "c", **(metadata or {})}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return {"metadata": metadata, "spec": spec, "status": status}


def allocation(*devices: str, node: str = "") -> Manifest:
    """An allocation of devices, each given as POOL/NAME."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": name}
        for pool, name in (device.split("/") for device in devices)
    ]
    here = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    return {"devices": {"results": results}, **({"nodeSelector": here} if node else {})}


def pool(name: str, *attributes: Manifest, slices: int = 1, **spec: Any) -> Manifest:
    """A ResourceSlice with devices d0, d1, ..., for the node of the same name unless `spec` sets another."""
    devices = [{"name": f"d{number}", "attributes": found} for number, found in enumerate(attributes)]
    where = spec or {"nodeName": name}
    pool = {"name": name, "generation": 1, "resourceSliceCount": slices}
    return {"metadata": {"name": name}, "spec": {"driver": DRIVER, "pool": pool, "devices": devices, **where}}


def inventory(claims: dict[str, Manifest], *slices: Manifest, selectors: tuple[Manifest, ...] = ()) -> Inventory:
    classes = {"any": {"metadata": {"name": "any"}, "spec": {"selectors": list(selectors)}}}
    named = {
        f"default/{name}": {**manifest, "metadata": {**manifest["metadata"], "name": name}}
        for name, manifest in claims.items()
    }
    return Inventory(named, {str(number): slice_ for number, slice_ in enumerate(slices)}, classes)


def nodes_left(asker: Manifest, inventory_: Inventory) -> list[str]:
    assert unmodelled(asker, (), NODES, {}, None, inventory_) == ()
    return sorted(name for name, why in check(asker, NODES, (), inventory=inventory_).items() if not why)


def test_claim_leaves_the_nodes_with_enough_free_devices() -> None:
    slices = (pool("a", {}), pool("b", {}, {}))
    assert nodes_left(pod("c"), inventory({"c": claim()}, *slices)) == EVERYWHERE
    assert nodes_left(pod("c"), inventory({"c": claim(count=2)}, *slices)) == ["b"]
    assert nodes_left(pod("c"), inventory({"c": claim(count=3)}, *slices)) == []
    taken = claim(allocation=allocation("b/d0", node="b"))
    assert nodes_left(pod("c"), inventory({"c": claim(count=2), "other": taken}, *slices)) == []
    seen = claim(allocation={"devices": {"results": [{**taken["status"]["allocation"]["devices"]["results"][0]}]}})
    seen["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    inventory_ = inventory({"c": claim(count=2), "other": seen}, *slices)
    assert not check(pod("c"), NODES, (), inventory=inventory_)["b"]


def test_devices_are_selected_by_class_and_request() -> None:
    slices = (pool("a", RED), pool("b", BLUE))
    assert nodes_left(pod("c"), inventory({"c": claim(color("red"))}, *slices)) == ["a"]
    assert nodes_left(pod("c"), inventory({"c": claim()}, *slices, selectors=(color("blue"),))) == ["b"]
    assert nodes_left(pod("c"), inventory({"c": claim(color("red"))}, *slices, selectors=(color("blue"),))) == []
    assert nodes_left(pod("c"), inventory({"c": claim(cel(f'device.driver == "{DRIVER}"'))}, *slices)) == EVERYWHERE
    assert nodes_left(pod("c"), inventory({"c": claim(cel('device.driver == "example.org"'))}, *slices)) == []


@pytest.mark.parametrize(
    ("attributes", "expression", "fits"),
    [
        ({"size": {"int": 4}}, f'device.attributes["{DRIVER}"].size == 4', True),
        ({"size": {"int": 4}}, f'device.attributes["{DRIVER}"].size == -4', False),
        ({"ready": {"bool": False}}, f'device.attributes["{DRIVER}"].ready == false', True),
        ({f"{DRIVER}/color": {"string": "red"}}, f'device.attributes["{DRIVER}"].color == "red"', True),
        ({"other.org/color": {"string": "red"}}, 'device.attributes["other.org"].color == "red"', True),
        # An error in CEL does not matter beside a false operand.
        ({}, f'device.attributes["{DRIVER}"].none == 1 && device.driver == "example.org"', False),
    ],
)
def test_attributes_are_compared_by_type_and_domain(attributes: Manifest, expression: str, fits: bool) -> None:
    inventory_ = inventory({"c": claim(cel(expression))}, pool("a", attributes))
    assert nodes_left(pod("c"), inventory_) == (["a"] if fits else [])


def test_each_request_gets_its_own_devices() -> None:
    """In either order of the claims, the red device is left for the claim that needs it."""
    for slices, found in (((pool("a", RED, BLUE), pool("b", RED)), ["a"]), ((pool("a", BLUE, BLUE),), [])):
        for picky, easy in (("c", "d"), ("d", "c")):
            inventory_ = inventory({picky: claim(color("red")), easy: claim()}, *slices)
            assert nodes_left(pod("c", "d"), inventory_) == found


def test_slices_apply_to_one_node_all_nodes_or_selected_nodes() -> None:
    assert nodes_left(pod("c"), inventory({"c": claim()}, pool("p", {}, nodeName="b"))) == ["b"]
    assert nodes_left(pod("c"), inventory({"c": claim()}, pool("p", {}, allNodes=True))) == EVERYWHERE
    terms = [{"matchExpressions": [{"key": "name", "operator": "NotIn", "values": ["a"]}]}]
    assert nodes_left(
        pod("c"), inventory({"c": claim()}, pool("p", {}, nodeSelector={"nodeSelectorTerms": terms}))
    ) == ["b"]


def test_incomplete_pool_is_not_allocated() -> None:
    assert nodes_left(pod("c"), inventory({"c": claim()}, pool("a", {}, slices=2))) == []


def test_allocated_devices_are_used_on_their_nodes() -> None:
    allocated = claim(allocation=allocation("a/d0", node="a"))
    assert nodes_left(pod("c"), inventory({"c": allocated}, pool("a", {}))) == ["a"]
    assert nodes_left(
        pod("c"), inventory({"c": claim(allocation=allocation("p/d0"))}, pool("p", {}, allNodes=True))
    ) == [*EVERYWHERE]
    both = inventory({"c": allocated, "d": claim()}, pool("a", {}), pool("b", {}))
    assert nodes_left(pod("c", "d"), both) == []


def test_claim_with_the_maximum_of_consumers_is_not_modelled() -> None:
    for last, found in (("other", ["a claim with as many consumers as it can have"]), ("probe", [])):
        consumers = [{"uid": str(number)} for number in range(255)] + [{"uid": last}]
        used = claim(allocation=allocation("a/d0", node="a"), reservedFor=consumers)
        assert gaps(inventory({"c": used}, pool("a", {}))) == found


def test_missing_claim_or_class_leaves_no_node() -> None:
    assert nodes_left(pod("none"), inventory({"c": claim()}, pool("a", {}))) == []
    going = claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert nodes_left(pod("c"), inventory({"c": going}, pool("a", {}))) == []
    classless = inventory({"c": claim()}, pool("a", {}))
    assert nodes_left(pod("c"), Inventory(classless.claims, classless.slices, {})) == []


def test_templated_claim_is_named_in_the_status_and_owned_by_the_pod() -> None:
    owned = {"ownerReferences": [{"uid": "probe", "controller": True}]}
    templated = {"resourceClaimTemplateName": "t"}
    made = [{"name": "devices", "resourceClaimName": "c"}]
    slices = pool("a", {})
    assert nodes_left(pod(statuses=made, **templated), inventory({"c": claim(metadata=owned)}, slices)) == ["a"]
    assert nodes_left(pod(statuses=made, **templated), inventory({"c": claim()}, slices)) == []
    assert nodes_left(pod(statuses=[], **templated), inventory({"c": claim(metadata=owned)}, slices)) == []
    # A status without a claim: kube-controller-manager decided that none is needed.
    assert nodes_left(pod(statuses=[{"name": "devices"}], **templated), inventory({}, slices)) == EVERYWHERE


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        ({"allocationMode": "All"}, "allocationMode All"),
        ({"adminAccess": True}, "ResourceClaim.spec.devices.requests[].exactly.adminAccess"),
        ({"selectors": [cel("device.driver != 'x'")]}, "the selectors of request r"),
        ({"selectors": [cel(f'device.attributes["{DRIVER}"].none == 1')]}, "the selectors of request r"),
        ({"selectors": [cel(f'device.attributes["{DRIVER}"].color == 1')]}, "the selectors of request r"),
    ],
)
def test_requests_that_are_not_modelled_are_named(change: Manifest, gap: str) -> None:
    wants = claim()
    wants["spec"]["devices"]["requests"][0]["exactly"] |= change
    assert gaps(inventory({"c": wants}, pool("a", RED))) == [gap]


def gaps(inventory_: Inventory) -> list[str]:
    return list(unmodelled(pod("c"), (), NODES, {}, None, inventory_))


def test_claims_and_slices_that_are_not_modelled_are_named() -> None:
    constrained = claim()
    constrained["spec"]["devices"]["constraints"] = [{"matchAttribute": "example.com/color"}]
    assert gaps(inventory({"c": constrained}, pool("a", {}))) == ["ResourceClaim.spec.devices.constraints"]
    either = claim()
    either["spec"]["devices"]["requests"][0] = {"name": "r", "firstAvailable": [{"name": "s", "newer": {"x": 1}}]}
    assert gaps(inventory({"c": either}, pool("a", {}))) == ["ResourceClaim.spec.devices.requests[].exactly.newer"]
    newer = pool("a", {}, nodeName="a", newer=[{}])
    assert gaps(inventory({"c": claim()}, newer)) == ["ResourceSlice.spec.newer"]
    slow = pool("a", {})
    slow["spec"]["devices"][0]["newer"] = ["ready"]
    assert gaps(inventory({"c": claim()}, slow)) == ["ResourceSlice.spec.devices[].newer"]
    newer = pool("a", {}, slices=2)
    newer["spec"]["pool"]["generation"] = 2
    assert gaps(inventory({"c": claim()}, pool("a", {}, slices=2), newer)) == [
        "several generations of pool a", "devices of one name in pool a"
    ]  # fmt: skip
    assert gaps(inventory({"c": claim()}, pool("a", {}), pool("a"))) == ["more ResourceSlices of pool a than it has"]
    held = claim(allocation=allocation("a/d0"))
    held["status"]["allocation"]["devices"]["results"][0]["newer"] = "x"
    assert gaps(inventory({"c": claim(), "d": held}, pool("a", {}))) == [
        "ResourceClaim.status.allocation.devices.results[].newer"
    ]


def test_claims_are_not_modelled_without_an_inventory() -> None:
    assert unmodelled(pod("c"), (), NODES, {}) == ("spec.resourceClaims",)


@pytest.mark.parametrize(
    ("devices", "count", "wrong"),
    [
        (["a/d0"], 1, 0),
        (["a/d0", "a/d1"], 1, 2),  # too many, and one of them blue
        (["a/d1"], 1, 1),
        (["a/d9"], 1, 1),
        (["b/d0"], 1, 1),
        ([], 1, 1),
    ],
)
def test_allocation_is_compared_with_the_request_and_the_node(devices: list[str], count: int, wrong: int) -> None:
    asked = claim(color("red"), count=count, allocation=allocation(*devices))
    inventory_ = inventory({"c": asked}, pool("a", RED, BLUE), pool("b", RED))
    assert len(list(mistakes(asked, inventory_, NODES[0]))) == wrong


def asks(resource: str, amount: str = "1", *claims: str) -> Manifest:
    asker = pod(*claims)
    asker["spec"]["containers"] = [{"name": "main", "resources": {"requests": {resource: amount}}}]
    return asker


def extended(*slices: Manifest, claims: dict[str, Manifest] | None = None, name: str = "x.io/gpu") -> Inventory:
    """An inventory in which the class `any` stands for an extended resource."""
    there = inventory(claims or {}, *slices)
    classes = {"any": {**there.classes["any"], "spec": {"extendedResourceName": name}}}
    return Inventory(there.claims, there.slices, classes)


@pytest.mark.parametrize("resource", ["x.io/gpu", "deviceclass.resource.kubernetes.io/any"])
def test_devices_provide_an_extended_resource(resource: str) -> None:
    slices = (pool("a", {}), pool("b", {}, {}))
    assert nodes_left(asks(resource), extended(*slices)) == EVERYWHERE
    assert nodes_left(asks(resource, "2"), extended(*slices)) == ["b"]
    assert nodes_left(asks(resource, "0"), extended()) == EVERYWHERE
    assert nodes_left(asks("x.io/other"), extended(*slices)) == []
    taken = {"other": claim(allocation=allocation("b/d0", node="b"))}
    assert nodes_left(asks(resource, "2"), extended(*slices, claims=taken)) == []


def test_devices_count_only_where_the_node_offers_none_itself() -> None:
    offers = {**NODES[0], "status": {"allocatable": {"pods": "9", "x.io/gpu": "1"}}}
    asker = asks("x.io/gpu", "2")
    found = check(asker, [offers, NODES[1]], (), inventory=extended(pool("a", {}, {}), pool("b", {}, {})))
    assert [bool(found[name]) for name in EVERYWHERE] == [True, False]


def test_claims_and_extended_resources_share_the_devices() -> None:
    there = extended(pool("a", {}), pool("b", {}, {}), claims={"c": claim()})
    assert nodes_left(asks("x.io/gpu", "1", "c"), there) == ["b"]


def test_a_claim_made_for_extended_resources_decides_like_any_allocated_claim() -> None:
    owner = {"uid": "probe", "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    metadata = {"annotations": annotations, "ownerReferences": [owner]}
    made = {"made": claim(metadata=metadata, allocation=allocation("b/d0", node="b"))}
    assert nodes_left(asks("x.io/gpu"), extended(pool("a", {}), pool("b", {}), claims=made)) == ["b"]


def test_several_classes_for_a_resource_and_overhead_are_not_modelled() -> None:
    there = extended(pool("a", {}))
    twice = Inventory(there.claims, there.slices, {**there.classes, "more": there.classes["any"]})
    assert unmodelled(asks("x.io/gpu"), (), NODES, {}, None, twice)
    runs = asks("x.io/gpu")
    runs["spec"]["overhead"] = {"x.io/gpu": "1"}
    assert unmodelled(runs, (), NODES, {}, None, there)


def either(*alternatives: Manifest) -> Manifest:
    """A claim with one request for the first of several alternatives, s0, s1, ... (fields of what `claim` requests)."""
    asked = claim()
    listed = [{"deviceClassName": "any", **fields, "name": f"s{at}"} for at, fields in enumerate(alternatives)]
    asked["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": listed}]
    return asked


def test_any_alternative_of_a_request_makes_a_node_fit() -> None:
    asked = either({"selectors": [color("red")]}, {"selectors": [color("blue")], "count": 2})
    assert nodes_left(pod("c"), inventory({"c": asked}, pool("a", RED), pool("b", BLUE, BLUE))) == EVERYWHERE
    assert nodes_left(pod("c"), inventory({"c": asked}, pool("a", RED), pool("b", BLUE))) == ["a"]
    # The other claim needs the red device, so the alternative with two blue ones is taken.
    other = claim(color("red"))
    slices = (pool("a", RED, BLUE), pool("b", RED, BLUE, BLUE))
    assert nodes_left(pod("c", "d"), inventory({"c": asked, "d": other}, *slices)) == ["b"]


def test_an_alternative_is_wrong_while_a_preferred_one_was_free() -> None:
    def found(*devices: str, used: str, taken: Manifest | None = None, consumers: int = 1) -> list[str]:
        asked = either({"selectors": [color("red")]}, {"selectors": [color("blue")]})
        asked["status"] |= {"allocation": allocation(*devices), "reservedFor": [{"uid": "x"}] * consumers}
        for result in asked["status"]["allocation"]["devices"]["results"]:
            result["request"] = used
        others = {"d": taken} if taken is not None else {}
        return list(mistakes(asked, inventory({"c": asked, **others}, pool("a", RED, BLUE)), NODES[0]))

    assert found("a/d0", used="r/s0") == []
    assert len(found("a/d1", used="r/s1")) == 1
    assert found("a/d1", used="r/s1", taken=claim(allocation=allocation("a/d0"))) == []
    assert found("a/d1", used="r/s1", consumers=2) == []
    assert found("a/d0", used="r") != []


TAINT = {"key": "example.com/broken", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("taint", "tolerations", "fits"),
    [
        ({}, [], False),
        ({"effect": "NoExecute"}, [], False),
        ({"effect": "None"}, [], True),
        ({}, [{"operator": "Exists"}], True),
        ({}, [{"key": "example.com/broken", "operator": "Exists", "effect": "NoSchedule"}], True),
        ({}, [{"key": "example.com/broken", "operator": "Exists", "effect": "NoExecute"}], False),
        ({}, [{"key": "example.com/broken", "value": "yes"}], True),
        ({}, [{"key": "example.com/broken", "operator": "Equal", "value": "no"}], False),
        ({}, [{"key": "example.com/other", "operator": "Exists"}], False),
    ],
)
def test_a_tainted_device_is_for_requests_that_tolerate_it(
    taint: Manifest, tolerations: list[Manifest], fits: bool
) -> None:
    tainted = pool("a", {})
    tainted["spec"]["devices"][0]["taints"] = [{**TAINT, **taint}]
    asked = claim()
    asked["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = tolerations
    assert nodes_left(pod("c"), inventory({"c": asked}, tainted)) == (["a"] if fits else [])


@pytest.mark.parametrize(
    ("selector", "left"),
    [
        (None, EVERYWHERE),
        ({}, []),
        ({"driver": DRIVER}, []),
        ({"driver": "other.org"}, EVERYWHERE),
        ({"pool": "a"}, ["b"]),
        ({"pool": "b", "device": "d0"}, ["a", "b"]),
        ({"pool": "b", "driver": DRIVER, "device": "d7"}, EVERYWHERE),
    ],
)
def test_a_rule_taints_the_devices_that_it_selects(selector: Manifest | None, left: list[str]) -> None:
    """A rule without a selector selects none; each field that is not set selects all."""
    known = inventory({"c": claim()}, pool("a", {}), pool("b", {}, {}))
    rule = {"spec": {"taint": TAINT, **({} if selector is None else {"deviceSelector": selector})}}
    ruled = dataclasses.replace(known, rules={"rule": rule})
    assert nodes_left(pod("c"), ruled) == left
    tolerates = claim()
    tolerates["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = [{"operator": "Exists"}]
    assert nodes_left(pod("c"), dataclasses.replace(ruled, claims={"default/c": tolerates})) == EVERYWHERE


def partitioned(name: str, sizes: dict[str, int], *parts: tuple[str, int], slices: int = 2) -> tuple[Manifest, ...]:
    """A pool of devices that consume so much of the counters `memory` of counter sets with these sizes."""

    def memory(amount: int) -> Manifest:
        return {"memory": {"value": str(amount)}}

    counters = pool(name, slices=slices, nodeName=name)
    counters["metadata"]["name"] = f"{name}-counters"
    counters["spec"] |= {"sharedCounters": [{"name": key, "counters": memory(size)} for key, size in sizes.items()]}
    devices = pool(name, *[{}] * len(parts), slices=slices)
    for device, (key, amount) in zip(devices["spec"]["devices"], parts, strict=True):
        device["consumesCounters"] = [{"counterSet": key, "counters": memory(amount)}]
    return counters, devices


def test_a_device_needs_what_is_left_of_the_counters_of_its_pool() -> None:
    slices = partitioned("a", {"x": 4}, ("x", 4), ("x", 2), ("x", 2))
    half = claim(allocation=allocation("a/d1", node="a"))
    assert nodes_left(pod("c"), inventory({"c": claim()}, *slices)) == ["a"]
    assert nodes_left(pod("c"), inventory({"c": claim(count=2)}, *slices)) == ["a"]
    assert nodes_left(pod("c"), inventory({"c": claim(count=3)}, *slices)) == []
    assert nodes_left(pod("c"), inventory({"c": claim(), "d": half}, *slices)) == ["a"]
    assert nodes_left(pod("c"), inventory({"c": claim(count=2), "d": half}, *slices)) == []
    both = partitioned("a", {"x": 2, "y": 2}, ("x", 2), ("x", 2), ("y", 2))
    assert nodes_left(pod("c"), inventory({"c": claim(count=2)}, *both)) == ["a"]
    assert (
        nodes_left(pod("c"), inventory({"c": claim(count=2), "d": claim(allocation=allocation("a/d2"))}, *both)) == []
    )


def test_a_pool_gives_no_device_with_counters_if_it_has_none_of_them_or_has_given_too_much() -> None:
    assert nodes_left(pod("c"), inventory({"c": claim()}, *partitioned("a", {"x": 4}, ("y", 1)))) == []
    assert nodes_left(pod("c"), inventory({"c": claim()}, *partitioned("a", {"x": 4}, ("x", 1), slices=3))) == []
    slices = partitioned("a", {"x": 1, "y": 1}, ("x", 2), ("y", 1))
    too_much = claim(allocation=allocation("a/d0"))
    assert nodes_left(pod("c"), inventory({"c": claim()}, *slices)) == ["a"]
    assert nodes_left(pod("c"), inventory({"c": claim(), "d": too_much}, *slices)) == []


def test_devices_of_a_slice_can_select_nodes_one_by_one() -> None:
    slices = pool("p", {}, perDeviceNodeSelection=True)
    slices["spec"]["devices"][0]["nodeName"] = "b"
    assert nodes_left(pod("c"), inventory({"c": claim()}, slices)) == ["b"]


def with_memory(size: str = "4", *, shared: bool = True, **policy: Any) -> Manifest:
    """A pool with one device that has memory."""
    slices = pool("a", {})
    capacity = {"memory": {"value": size, **({"requestPolicy": policy} if policy else {})}}
    slices["spec"]["devices"][0] |= {"capacity": capacity, "allowMultipleAllocations": shared}
    return slices


def part(amount: str | None, consumed: str | None = None, name: str = "memory") -> Manifest:
    """A claim of a part of a device, allocated if it has `consumed` some."""
    status = {"allocation": allocation("a/d0", node="a")} if consumed else {}
    asked = claim(**status)
    if amount is not None:
        asked["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {name: amount}}
    for result in asked["status"]["allocation"]["devices"]["results"] if consumed else ():
        result |= {"shareID": "00000000-0000-4000-8000-000000000000", "consumedCapacity": {"memory": consumed}}
    return asked


VALUES: Manifest = {"default": "1", "validValues": ["1", "2", "4"]}
RANGE: Manifest = {"default": "1", "validRange": {"min": "1", "max": "3", "step": "2"}}


@pytest.mark.parametrize(
    ("policy", "amount", "used", "fits"),
    [
        ({}, "2", "2", True),
        ({}, "3", "2", False),
        ({}, "0", "4", True),
        ({}, None, "1", False),
        (VALUES, None, "3", True),
        (VALUES, "3", "1", False),
        (VALUES, "1500m", "2", True),
        (VALUES, "5", "1", False),
        (RANGE, "0", "3", True),
        (RANGE, "2", "1", True),
        (RANGE, "2", "2", False),
        (RANGE, "4", "0", False),
        ({"default": "1", "validRange": {"min": "1"}}, "1500m", "2500m", True),
    ],
)
def test_a_shared_device_gives_what_is_left_of_its_capacity(
    policy: Manifest, amount: str | None, used: str, fits: bool
) -> None:
    there = inventory({"c": part(amount), "d": part(None, used)}, with_memory(**policy))
    assert nodes_left(pod("c"), there) == (["a"] if fits else [])


def test_a_device_that_is_not_shared_needs_the_capacity_as_well() -> None:
    for amount, name, fits in (("4", "memory", True), ("5", "memory", False), ("1", "other", False)):
        there = inventory({"c": part(amount, name=name)}, with_memory(shared=False))
        assert nodes_left(pod("c"), there) == (["a"] if fits else [])
    taken = inventory({"c": part("1"), "d": claim(allocation=allocation("a/d0"))}, with_memory(shared=False))
    assert nodes_left(pod("c"), taken) == []


def test_claims_of_one_pod_share_a_device() -> None:
    for second, fits in (("2", True), ("3", False)):
        there = inventory({"c": part("2"), "d": part(second)}, with_memory())
        assert nodes_left(pod("c", "d"), there) == (["a"] if fits else [])
    assert nodes_left(pod("c"), inventory({"c": claim(count=2)}, with_memory(**VALUES))) == []


def test_a_shared_device_consumes_counters_once() -> None:
    counters, devices = partitioned("a", {"x": 1}, ("x", 1))
    devices["spec"]["devices"][0] |= with_memory()["spec"]["devices"][0]
    there = inventory({"c": part("1"), "d": part("1"), "e": part(None, "1")}, counters, devices)
    assert nodes_left(pod("c", "d"), there) == ["a"]


@pytest.mark.parametrize(
    ("asked", "other", "said"),
    [
        (part("2", "2"), "2", ""),
        (part("2", "2"), "3", "too little"),
        (part("3", "3"), "0", "consumedCapacity of 3 (memory) instead of 4 (memory)"),
        (claim(allocation=allocation("a/d0")), "0", "without a shareID"),
        (part("5", "5"), "0", "less capacity"),
    ],
)
def test_a_share_is_compared_with_the_request_and_the_capacity(asked: Manifest, other: str, said: str) -> None:
    there = inventory({"c": asked, "d": part(None, other)}, with_memory(**VALUES))
    found = " ".join(mistakes({**asked, "metadata": there.claims["default/c"]["metadata"]}, there, NODES[0]))
    assert said in found
    assert bool(said) == bool(found)


def test_a_device_that_is_not_shared_has_no_share() -> None:
    asked = part("4", "4")
    assert "with a shareID" in " ".join(mistakes(asked, inventory({"c": asked}, with_memory(shared=False)), NODES[0]))


def test_an_allocation_beyond_the_counters_is_a_mistake() -> None:
    slices = partitioned("a", {"x": 4}, ("x", 4), ("x", 2))
    asked = claim(allocation=allocation("a/d0"))
    assert list(mistakes(asked, inventory({"c": asked}, *slices), NODES[0])) == []
    there = inventory({"c": asked, "d": claim(allocation=allocation("a/d1"))}, *slices)
    assert "too little" in " ".join(mistakes(asked, there, NODES[0]))


CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


def prepared(**reported: str) -> Manifest:
    """A claim with a device whose driver has reported these conditions."""
    found = claim(allocation=allocation("a/d0", node="a"))
    (result,) = found["status"]["allocation"]["devices"]["results"]
    result |= CONDITIONS
    conditions = [{"type": kind, "status": value} for kind, value in reported.items()]
    device = {key: result[key] for key in ("driver", "pool", "device")}
    found["status"]["devices"] = [{**device, "conditions": conditions}] if reported else []
    return found


@pytest.mark.parametrize(
    ("reported", "wrong", "fits"),
    [
        ({}, "ready", True),
        ({"ready": "True"}, "", True),
        ({"ready": "False"}, "ready", True),
        ({"ready": "True", "failed": "False"}, "", True),
        ({"ready": "True", "failed": "True"}, "failed", False),
        ({"failed": "True"}, "ready", False),
    ],
)
def test_a_claim_is_ready_once_the_drivers_of_its_devices_say_so(
    reported: dict[str, str], wrong: str, fits: bool
) -> None:
    found = prepared(**reported)
    assert wrong in unready(found)
    assert bool(wrong) == bool(unready(found))
    assert nodes_left(pod("c"), inventory({"c": found}, pool("a", {}))) == (["a"] if fits else [])


def test_an_allocation_has_the_conditions_of_its_device() -> None:
    slow = pool("a", {})
    slow["spec"]["devices"][0] |= CONDITIONS
    assert list(mistakes(prepared(), inventory({"c": prepared()}, slow), NODES[0])) == []
    asked = claim(allocation=allocation("a/d0", node="a"))
    (found,) = mistakes(asked, inventory({"c": asked}, slow), NODES[0])
    assert "bindingConditions" in found


def test_a_fractional_step_of_capacity_is_not_modelled() -> None:
    slices = with_memory(default="1", validRange={"min": "500m", "step": "500m"})
    assert gaps(inventory({"c": claim()}, slices)) == ["a fractional step of capacity"]


def test_very_many_ways_to_share_devices_are_not_modelled() -> None:
    slices = partitioned("a", {"x": 40}, *[("x", 1)] * 30)
    (found,) = gaps(inventory({"c": claim(count=15)}, *slices))
    assert "ways to share" in found
