"""ResourceClaims: which nodes are left for a pod, one world for each rule."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.coverage import unmodelled
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
    either["spec"]["devices"]["requests"][0] = {"name": "r", "firstAvailable": [{"name": "s", "capacity": {"x": 1}}]}
    assert gaps(inventory({"c": either}, pool("a", {}))) == ["ResourceClaim.spec.devices.requests[].exactly.capacity"]
    shared = pool("a", {}, nodeName="a", sharedCounters=[{}])
    assert gaps(inventory({"c": claim()}, shared)) == ["ResourceSlice.spec.sharedCounters"]
    slow = pool("a", {})
    slow["spec"]["devices"][0]["bindingConditions"] = ["ready"]
    assert gaps(inventory({"c": claim()}, slow)) == ["ResourceSlice.spec.devices[].bindingConditions"]
    newer = pool("a", {}, slices=2)
    newer["spec"]["pool"]["generation"] = 2
    assert gaps(inventory({"c": claim()}, pool("a", {}, slices=2), newer)) == [
        "several generations of pool a", "devices of one name in pool a"
    ]  # fmt: skip
    assert gaps(inventory({"c": claim()}, pool("a", {}), pool("a"))) == ["more ResourceSlices of pool a than it has"]
    part = claim(allocation=allocation("a/d0"))
    part["status"]["allocation"]["devices"]["results"][0]["shareID"] = "x"
    assert gaps(inventory({"c": claim(), "d": part}, pool("a", {}))) == [
        "ResourceClaim.status.allocation.devices.results[].shareID"
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
