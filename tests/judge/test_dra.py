"""core/dra: pods with ResourceClaims run where their devices are; claims are allocated and reserved first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .histories import CLAIMS, NAMESPACE, HistoryBuilder, told

CASE = "core/dra"
CLAIMED = dataclasses.replace(CLAIMS, features=("dra",))
DRIVER = "example.com"


def published(**nodes: int) -> HistoryBuilder:
    """Publish this number of devices on each node, in a pool named like the node."""
    h = HistoryBuilder(CASE, claims=CLAIMED)
    store(h, "deviceclasses", "any", spec={})
    for node, count in (nodes or {"node_1": 1}).items():
        name = node.replace("_", "-")
        devices = [{"name": f"d{number}"} for number in range(count)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        store(h, "resourceslices", name, spec={"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices})
    return h


def store(h: HistoryBuilder, resource: str, name: str, metadata: dict[str, Any] | None = None, **body: Any) -> None:
    h.happens(resource, "MODIFIED", {"metadata": {"name": name, "uid": name, **(metadata or {})}, **body})


def claim(
    h: HistoryBuilder,
    name: str = "claim",
    *devices: str,
    count: int = 1,
    pod: str = "",
    gone: bool = False,
    metadata: dict[str, Any] | None = None,
    reported: Sequence[dict[str, Any]] = (),
    **result: Any,
) -> None:
    """Store a claim for `count` devices.

    `devices`: the allocated ones, as POOL/NAME; `pod`: the pod for which it is reserved; `reported`: what drivers
    report of them; `result`: further fields of the allocation's results.
    """
    results = [
        {"request": "wanted", "driver": DRIVER, "pool": pool, "device": device, **result}
        for pool, device in (device_path.split("/") for device_path in devices)
    ]
    status: dict[str, Any] = {}
    if devices:
        here = {"key": "metadata.name", "operator": "In", "values": [results[0]["pool"]]}
        selector = {"nodeSelectorTerms": [{"matchFields": [here]}]}
        status["allocation"] = {"devices": {"results": results}, "nodeSelector": selector}
    if reported:
        status["devices"] = list(reported)
    if pod:
        status["reservedFor"] = [{"resource": "pods", "name": pod, "uid": h.uid(pod)}]
    request = {"name": "wanted", "exactly": {"deviceClassName": "any", "count": count}}
    manifest = {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": name, **(metadata or {})}, "status": status,
        "spec": {"devices": {"requests": [request]}},
    }  # fmt: skip
    h.happens("resourceclaims", "DELETED" if gone else "MODIFIED", manifest)


def pod(h: HistoryBuilder, name: str = "p", claimed: str = "claim", **spec: Any) -> None:
    h.pod(name, resourceClaims=[{"name": "devices", "resourceClaimName": claimed}], **spec)


def land(h: HistoryBuilder, node: str = "node-1", name: str = "p") -> HistoryBuilder:
    h.bind(name, node)
    h.expect(name, "bound")
    return h


def test_pod_on_the_node_of_its_allocated_and_reserved_device_passes() -> None:
    h = published()
    claim(h)
    pod(h)
    claim(h, "claim", "node-1/d0", pod="p")
    told(land(h).verdict(), "passed")


def test_pod_on_a_node_that_cannot_satisfy_its_claim_fails() -> None:
    h = published()
    claim(h)
    pod(h)
    told(land(h, "node-2").verdict(), "failed", "infeasible-node", "node-2")
    h = published()
    claim(h)
    pod(h)
    claim(h, "claim", "node-1/d0", pod="p")
    told(land(h, "node-2").verdict(), "failed", "infeasible-node", "node-2")


def test_claim_must_be_allocated_before_its_pod_is_bound() -> None:
    h = published()
    claim(h)
    pod(h)
    land(h)
    claim(h, "claim", "node-1/d0", pod="p")
    told(h.verdict(), "failed", "unallocated-resource-claim", "p", "node-1")


def test_claim_must_be_reserved_before_its_pod_is_bound() -> None:
    h = published()
    claim(h)
    pod(h)
    claim(h, "claim", "node-1/d0")
    land(h)
    claim(h, "claim", "node-1/d0", pod="p")
    told(h.verdict(), "failed", "unreserved-resource-claim", "p", "node-1")


def test_shared_claim_must_be_reserved_for_each_pod() -> None:
    h = published()
    claim(h)
    pod(h)
    claim(h, "claim", "node-1/d0", pod="p")
    land(h)
    pod(h, "q")
    told(land(h, name="q").verdict(), "failed", "unreserved-resource-claim", "q")


def test_allocation_must_match_the_request_and_the_node() -> None:
    for devices, count, fact in (
        (["node-1/d0"], 2, "1"),
        (["node-1/d0", "node-1/d9"], 2, "d9"),
        (["node-1/d0", "node-2/d0"], 2, "node-2"),
    ):
        h = published(node_1=2, node_2=1)
        claim(h, count=count)
        pod(h)
        claim(h, "claim", *devices, count=count, pod="p")
        told(land(h).verdict(), "failed", "wrong-allocation", fact)


def test_device_allocated_twice_at_a_time_fails() -> None:
    h = published(node_1=2)
    claim(h, "other", "node-1/d0")
    claim(h)
    pod(h)
    claim(h, "claim", "node-1/d0", pod="p")
    told(land(h).verdict(), "failed", "device-allocated-twice", "d0", "other", "claim")
    h = published(node_1=2)
    claim(h)
    pod(h)
    claim(h, "claim", "node-1/d0", "node-1/d0", count=2, pod="p")
    told(land(h).verdict(), "failed", "device-allocated-twice", "d0", "claim")


def test_device_that_allows_it_is_shared_as_far_as_its_capacity_goes() -> None:
    for amount, outcome in (("2", "passed"), ("3", "failed")):
        h = HistoryBuilder(CASE, claims=CLAIMED)
        store(h, "deviceclasses", "any", spec={})
        policy = {"default": amount, "validRange": {"min": "1"}}
        capacity = {"memory": {"value": "4", "requestPolicy": policy}}
        devices = [{"name": "d0", "allowMultipleAllocations": True, "capacity": capacity}]
        pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
        store(h, "resourceslices", "s", spec={"driver": DRIVER, "nodeName": "node-1", "pool": pool, "devices": devices})
        share = {"shareID": "x", "consumedCapacity": {"memory": amount}}
        claim(h, "other", "node-1/d0", **share)
        claim(h)
        pod(h)
        claim(h, "claim", "node-1/d0", pod="p", **share)
        told(land(h).verdict(), outcome, *(["wrong-allocation", "too little"] if outcome == "failed" else []))


def test_pod_is_bound_once_its_device_is_ready() -> None:
    for status, outcome in (("True", "passed"), ("False", "failed")):
        h = HistoryBuilder(CASE, claims=CLAIMED)
        store(h, "deviceclasses", "any", spec={})
        devices = [{"name": "d0", "bindingConditions": ["ready"]}]
        pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
        store(h, "resourceslices", "s", spec={"driver": DRIVER, "nodeName": "node-1", "pool": pool, "devices": devices})
        claim(h)
        pod(h)
        told_by_driver = {"driver": DRIVER, "pool": "node-1", "device": "d0"}
        reported = [{**told_by_driver, "conditions": [{"type": "ready", "status": status}]}]
        claim(h, "claim", "node-1/d0", pod="p", bindingConditions=["ready"], reported=reported)
        told(land(h).verdict(), outcome, *(["device-not-ready", "ready"] if outcome == "failed" else []))


def test_devices_are_allocated_anew_after_a_failure() -> None:
    h = published(node_1=1, node_2=1)
    claim(h)
    pod(h)
    device = {"driver": DRIVER, "pool": "node-1", "device": "d0"}
    reported = [{**device, "conditions": [{"type": "failed", "status": "True"}]}]
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    reported[0]["conditions"].append({"type": "ready", "status": "True"})
    claim(h, "claim", "node-1/d0", pod="p", reported=reported, **conditions)
    h.expect("p", "bound")
    told(h.verdict(), "failed", "failed-device-kept", "p", "failed")


def test_device_may_be_allocated_again_after_its_release() -> None:
    for gone in (False, True):
        h = published()
        claim(h, "other", "node-1/d0")
        claim(h, "other", gone=gone)
        claim(h)
        pod(h)
        claim(h, "claim", "node-1/d0", pod="p")
        told(land(h).verdict(), "passed")


def test_pod_may_wait_only_while_its_claim_cannot_be_satisfied() -> None:
    h = published()
    claim(h, "other", "node-1/d0")
    claim(h)
    pod(h)
    h.fence()
    h.expect("p", "pending")
    told(h.verdict(), "invalid", "not-tried")
    store(h, "resourceslices", "late", spec={
        "driver": DRIVER, "nodeName": "node-2", "devices": [{"name": "d0"}],
        "pool": {"name": "node-2", "generation": 1, "resourceSliceCount": 1},
    })  # fmt: skip
    h.expect("p", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "p", "node-2")


def test_pods_without_claims_are_invalid() -> None:
    h = published()
    h.pod("p")
    told(land(h).verdict(), "invalid", "not-tried")


def test_device_selector_that_the_oracle_does_not_model_is_invalid() -> None:
    h = published()
    store(h, "deviceclasses", "any", spec={"selectors": [{"cel": {"expression": "device.driver != 'x'"}}]})
    claim(h)
    pod(h)
    claim(h, "claim", "node-1/d0", pod="p")
    told(land(h).verdict(), "invalid", "oracle-gap")


GPU = "x.io/gpu"


def gpus(**mapped: str) -> HistoryBuilder:
    """A pod with two containers that ask for a device each, and what its status says which of them gets."""
    h = published(node_1=2)
    store(h, "deviceclasses", "any", spec={"extendedResourceName": GPU})
    asks = {"resources": {"requests": {GPU: "1"}}}
    h.pod("p", containers=[{"name": "main", **asks}, {"name": "side", **asks}])
    if mapped:
        mappings = [{"containerName": name, "resourceName": GPU, "requestName": "wanted"} for name in mapped]
        status = {"resourceClaimName": "made", "requestMappings": mappings}
        h.report("p", extendedResourceClaimStatus=status)
    return h


def made(h: HistoryBuilder, *devices: str, pod: str = "p") -> None:
    """Store the claim that a scheduler makes for the pod's extended resources."""
    owner = {"uid": h.uid("p"), "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    claim(
        h,
        "made",
        *devices,
        count=len(devices),
        pod=pod,
        metadata={"annotations": annotations, "ownerReferences": [owner]},
    )


def test_devices_for_extended_resources_pass() -> None:
    h = gpus(main="", side="")
    made(h, "node-1/d0", "node-1/d1")
    told(land(h).verdict(), "passed")


def test_devices_of_one_class_for_two_names_of_it_pass() -> None:
    h = published(node_1=2)
    store(h, "deviceclasses", "any", spec={"extendedResourceName": GPU})
    names = (GPU, "deviceclass.resource.kubernetes.io/any")
    h.pod("p", containers=[{"name": "main", "resources": {"requests": dict.fromkeys(names, "1")}}])
    mappings = [{"containerName": "main", "resourceName": name, "requestName": "wanted"} for name in names]
    h.report("p", extendedResourceClaimStatus={"resourceClaimName": "made", "requestMappings": mappings})
    made(h, "node-1/d0", "node-1/d1")
    told(land(h).verdict(), "passed")


def test_devices_for_extended_resources_must_be_allocated_reserved_and_told() -> None:
    told(land(gpus()).verdict(), "failed", "unallocated-resource-claim", "p", GPU)
    for devices, reserved, mapped, code in (
        (["node-1/d0"], "p", ["main", "side"], "wrong-allocation"),
        (["node-1/d0", "node-1/d1"], "", ["main", "side"], "unreserved-resource-claim"),
        (["node-1/d0", "node-1/d1"], "p", [], "extended-resource-not-mapped"),
        (["node-1/d0", "node-1/d1"], "p", ["main"], "extended-resource-not-mapped"),
    ):
        h = gpus(**dict.fromkeys(mapped, ""))
        made(h, *devices, pod=reserved)
        told(land(h).verdict(), "failed", code, "p")
