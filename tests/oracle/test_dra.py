"""ResourceClaims: which nodes they leave a pod, one world for each rule."""

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
    """`entry`: of its resourceClaims, instead of `claims`."""
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
    """Of devices, each as POOL/NAME."""
    results = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": name}
        for pool, name in (device.split("/") for device in devices)
    ]
    here = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    return {"devices": {"results": results}, **({"nodeSelector": here} if node else {})}


def pool(name: str, *attributes: Manifest, slices: int = 1, **spec: Any) -> Manifest:
    """With devices d0, d1, ...; on the node of its name, unless `spec` says otherwise."""
    devices = [{"name": f"d{number}", "attributes": found} for number, found in enumerate(attributes)]
    where = spec or {"nodeName": name}
    pool = {"name": name, "generation": 1, "resourceSliceCount": slices}
    return {"metadata": {"name": name}, "spec": {"driver": DRIVER, "pool": pool, "devices": devices, **where}}


def inventory(claims: dict[str, Manifest], *slices: Manifest, selectors: tuple[Manifest, ...] = ()) -> Inventory:
    classes = {"any": {"metadata": {"name": "any"}, "spec": {"selectors": list(selectors)}}}
    named = {f"default/{name}": {**one, "metadata": {**one["metadata"], "name": name}} for name, one in claims.items()}
    return Inventory(named, {str(number): one for number, one in enumerate(slices)}, classes)


def left(asker: Manifest, there: Inventory) -> list[str]:
    assert unmodelled(asker, (), NODES, {}, None, there) == ()
    return sorted(name for name, why in check(asker, NODES, (), inventory=there).items() if not why)


def test_a_claim_leaves_the_nodes_with_enough_free_devices() -> None:
    slices = (pool("a", {}), pool("b", {}, {}))
    assert left(pod("c"), inventory({"c": claim()}, *slices)) == EVERYWHERE
    assert left(pod("c"), inventory({"c": claim(count=2)}, *slices)) == ["b"]
    assert left(pod("c"), inventory({"c": claim(count=3)}, *slices)) == []
    taken = claim(allocation=allocation("b/d0", node="b"))
    assert left(pod("c"), inventory({"c": claim(count=2), "other": taken}, *slices)) == []
    seen = claim(allocation={"devices": {"results": [{**taken["status"]["allocation"]["devices"]["results"][0]}]}})
    seen["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    there = inventory({"c": claim(count=2), "other": seen}, *slices)
    assert not check(pod("c"), NODES, (), inventory=there)["b"]


def test_devices_are_selected_by_class_and_by_request() -> None:
    slices = (pool("a", RED), pool("b", BLUE))
    assert left(pod("c"), inventory({"c": claim(color("red"))}, *slices)) == ["a"]
    assert left(pod("c"), inventory({"c": claim()}, *slices, selectors=(color("blue"),))) == ["b"]
    assert left(pod("c"), inventory({"c": claim(color("red"))}, *slices, selectors=(color("blue"),))) == []
    assert left(pod("c"), inventory({"c": claim(cel(f'device.driver == "{DRIVER}"'))}, *slices)) == EVERYWHERE
    assert left(pod("c"), inventory({"c": claim(cel('device.driver == "example.org"'))}, *slices)) == []


@pytest.mark.parametrize(
    ("attributes", "expression", "fits"),
    [
        ({"size": {"int": 4}}, f'device.attributes["{DRIVER}"].size == 4', True),
        ({"size": {"int": 4}}, f'device.attributes["{DRIVER}"].size == -4', False),
        ({"ready": {"bool": False}}, f'device.attributes["{DRIVER}"].ready == false', True),
        ({f"{DRIVER}/color": {"string": "red"}}, f'device.attributes["{DRIVER}"].color == "red"', True),
        ({"other.org/color": {"string": "red"}}, 'device.attributes["other.org"].color == "red"', True),
        # An error of CEL beside what is false is none.
        ({}, f'device.attributes["{DRIVER}"].none == 1 && device.driver == "example.org"', False),
    ],
)
def test_attributes_are_compared_by_type_and_domain(attributes: Manifest, expression: str, fits: bool) -> None:
    there = inventory({"c": claim(cel(expression))}, pool("a", attributes))
    assert left(pod("c"), there) == (["a"] if fits else [])


def test_each_request_gets_devices_of_its_own() -> None:
    """Whichever comes first: the red one must be left to the claim that wants it."""
    for slices, found in (((pool("a", RED, BLUE), pool("b", RED)), ["a"]), ((pool("a", BLUE, BLUE),), [])):
        for picky, easy in (("c", "d"), ("d", "c")):
            there = inventory({picky: claim(color("red")), easy: claim()}, *slices)
            assert left(pod("c", "d"), there) == found


def test_slices_are_of_a_node_of_all_or_of_those_that_are_selected() -> None:
    assert left(pod("c"), inventory({"c": claim()}, pool("p", {}, nodeName="b"))) == ["b"]
    assert left(pod("c"), inventory({"c": claim()}, pool("p", {}, allNodes=True))) == EVERYWHERE
    terms = [{"matchExpressions": [{"key": "name", "operator": "NotIn", "values": ["a"]}]}]
    assert left(pod("c"), inventory({"c": claim()}, pool("p", {}, nodeSelector={"nodeSelectorTerms": terms}))) == ["b"]


def test_nothing_of_an_incomplete_pool_is_allocated() -> None:
    assert left(pod("c"), inventory({"c": claim()}, pool("a", {}, slices=2))) == []


def test_what_is_allocated_is_used_where_it_is() -> None:
    there = claim(allocation=allocation("a/d0", node="a"))
    assert left(pod("c"), inventory({"c": there}, pool("a", {}))) == ["a"]
    assert left(pod("c"), inventory({"c": claim(allocation=allocation("p/d0"))}, pool("p", {}, allNodes=True))) == [
        *EVERYWHERE
    ]
    both = inventory({"c": there, "d": claim()}, pool("a", {}), pool("b", {}))
    assert left(pod("c", "d"), both) == []


def test_a_claim_that_can_have_no_more_consumers_is_not_modelled() -> None:
    for last, found in (("other", ["a claim with as many consumers as it can have"]), ("probe", [])):
        consumers = [{"uid": str(number)} for number in range(255)] + [{"uid": last}]
        used = claim(allocation=allocation("a/d0", node="a"), reservedFor=consumers)
        assert gaps(inventory({"c": used}, pool("a", {}))) == found


def test_a_claim_or_a_class_that_is_not_there_leaves_no_node() -> None:
    assert left(pod("none"), inventory({"c": claim()}, pool("a", {}))) == []
    going = claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert left(pod("c"), inventory({"c": going}, pool("a", {}))) == []
    classless = inventory({"c": claim()}, pool("a", {}))
    assert left(pod("c"), Inventory(classless.claims, classless.slices, {})) == []


def test_a_claim_from_a_template_is_the_one_in_the_pods_status_and_its_own() -> None:
    owned = {"ownerReferences": [{"uid": "probe", "controller": True}]}
    templated = {"resourceClaimTemplateName": "t"}
    made = [{"name": "devices", "resourceClaimName": "c"}]
    slices = pool("a", {})
    assert left(pod(statuses=made, **templated), inventory({"c": claim(metadata=owned)}, slices)) == ["a"]
    assert left(pod(statuses=made, **templated), inventory({"c": claim()}, slices)) == []
    assert left(pod(statuses=[], **templated), inventory({"c": claim(metadata=owned)}, slices)) == []
    # None was needed: that is for kube-controller-manager to say.
    assert left(pod(statuses=[{"name": "devices"}], **templated), inventory({}, slices)) == EVERYWHERE


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


def gaps(there: Inventory) -> list[str]:
    return list(unmodelled(pod("c"), (), NODES, {}, None, there))


def test_claims_and_slices_that_are_not_modelled_are_named() -> None:
    constrained = claim()
    constrained["spec"]["devices"]["constraints"] = [{"matchAttribute": "example.com/color"}]
    assert gaps(inventory({"c": constrained}, pool("a", {}))) == ["ResourceClaim.spec.devices.constraints"]
    either = claim()
    either["spec"]["devices"]["requests"][0] = {"name": "r", "firstAvailable": [{}]}
    assert "ResourceClaim.spec.devices.requests[].firstAvailable" in gaps(inventory({"c": either}, pool("a", {})))
    shared = pool("a", {}, nodeName="a", sharedCounters=[{}])
    assert gaps(inventory({"c": claim()}, shared)) == ["ResourceSlice.spec.sharedCounters"]
    tainted = pool("a", {})
    tainted["spec"]["devices"][0]["taints"] = [{}]
    assert gaps(inventory({"c": claim()}, tainted)) == ["ResourceSlice.spec.devices[].taints"]
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


def test_claims_are_not_modelled_where_what_there_is_is_not_known() -> None:
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
def test_an_allocation_is_compared_with_what_is_asked_for_and_with_the_node(
    devices: list[str], count: int, wrong: int
) -> None:
    asked = claim(color("red"), count=count, allocation=allocation(*devices))
    there = inventory({"c": asked}, pool("a", RED, BLUE), pool("b", RED))
    assert len(list(mistakes(asked, there, NODES[0]))) == wrong
