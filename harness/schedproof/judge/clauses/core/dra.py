"""Whether pods run where the devices of their ResourceClaims are, and these were allocated and reserved before.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/, and ResourceClaimStatus
(resource.k8s.io/v1): a pod is started only once all its claims are allocated, and reserved for it. For extended
resources that devices provide, the scheduler makes the claim, and tells the kubelet of it in the pod's status
(PodStatus.extendedResourceClaimStatus).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from schedproof.history.acts import Expect
from schedproof.history.history import History
from schedproof.history.observations import WatchEvent
from schedproof.history.watched import Binding
from schedproof.history.world import key
from schedproof.judge.clause import (
    CHANGE_NODES,
    DEVICES,
    SEVERAL_NODES,
    STEERED,
    Clause,
)
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.lateness import too_busy
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.devices import DeviceId, failure, unready
from schedproof.oracle.dra import (
    Inventory,
    allocated,
    claims_of,
    extended_claim,
    extended_requests,
    gaps,
    given,
    is_allocated,
    is_reserved,
    mistakes,
    not_offered,
)
from schedproof.oracle.manifest import Manifest, containers, full_name, init_containers, status
from schedproof.oracle.resources import requested


@gives(
    "device-allocated-twice", "device-not-ready", "extended-resource-not-mapped", "failed-device-kept",
    "not-tried", "unallocated-resource-claim", "unreserved-resource-claim", "wrong-allocation", also=[judge_placement],
)  # fmt: skip
def judge_dra(history: History, case: str) -> Finding:
    """No pod was bound where its claims cannot be satisfied, or before they were allocated and reserved for it.

    The devices allocated to a claim match its request, are usable on the pod's node, and are allocated to no other
    claim. A kubelet starts no pod with a claim that is not allocated and reserved. kube-controller-manager makes claims
    from templates, and deallocates devices when no pod that uses them is left.
    """
    bound = [history.bindings[pod.uid] for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    users = [binding for binding in bound if _uses_devices(history, binding)]
    if (finding := judge_placement(history, case)).outcome == "failed":
        return finding
    for found in (_allocated_twice(history), *(_unmet(history, binding) for binding in users)):
        for code, text in found:
            return failed(code, text)
    if kept := next(_kept_failed(history, case), ""):
        return failed("failed-device-kept", kept)
    if finding.outcome != "passed":
        return finding
    if unmodelled := sorted({gap for binding in users for gap in _gaps(history, binding)}):
        return invalid("oracle-gap", f"the oracle does not model {', '.join(unmodelled)}")
    if not users:
        return invalid("not-tried", "no pod that uses devices was bound")
    return passed(f"{len(users)} pods were bound where the devices of their claims are")


def _kept_failed(history: History, case: str) -> Iterator[str]:
    """A sentence for each pod that was due, and whose claim kept a device that its driver could not prepare."""
    for expect in history.of(Expect, case):
        binding, inventory = history.bindings.get(expect.uid), history.world.inventory(expect.rv)
        unbound = binding is None or binding.rv > expect.rv
        if expect.outcome != "bound" or inventory is None or not unbound or too_busy(expect.kept, expect.within):
            continue
        for name, claim in claims_of(history.manifests[expect.uid], inventory):
            if claim is not None and (why := failure(claim)):
                waited = f"was not bound within {expect.within:g} s ({expect.deadline})"
                yield f"{expect.pod} {waited}: its claim {name} was not allocated anew, although {why}"


def _uses_devices(history: History, binding: Binding) -> bool:
    if binding.manifest["spec"].get("resourceClaims"):
        return True
    state = history.world.at(binding.rv - 1)
    node = state.nodes.get(binding.node)
    return state.inventory is not None and node is not None and bool(_extended(binding, state.inventory, node))


def _extended(binding: Binding, inventory: Inventory, node: Manifest) -> dict[str, Manifest]:
    """The extended resources of a pod that devices had to provide on its node, as requests."""
    return not_offered(extended_requests(binding.manifest, inventory), node)


def _allocated_twice(history: History) -> Iterator[tuple[str, str]]:
    """A device that was allocated to a claim while it was allocated to another claim: code and sentence."""
    held: dict[str, tuple[str, list[DeviceId]]] = {}
    for event in history.of(WatchEvent):
        if event.resource != "resourceclaims":
            continue
        name, uid = key(event.object), event.object["metadata"]["uid"]
        held.pop(uid, None)
        if event.type == "DELETED":
            continue
        devices = allocated(event.object)
        for other, taken in held.values():
            if both := [device for device in devices if device in taken]:
                where = "/".join(both[0])
                yield "device-allocated-twice", f"device {where} was allocated to claims {other} and {name}"
        if twice := [device for device in devices if devices.count(device) > 1]:
            yield "device-allocated-twice", f"device {'/'.join(twice[0])} was allocated to claim {name} twice"
        held[uid] = (name, devices)


def _gaps(history: History, binding: Binding) -> list[str]:
    inventory = history.world.inventory(binding.rv - 1)
    return [] if inventory is None else list(gaps(binding.manifest, inventory))


def _unmet(history: History, binding: Binding) -> Iterator[tuple[str, str]]:
    """What was wrong with the claims of a pod when it was bound: code and sentence."""
    state = history.world.at(binding.rv - 1)
    node = state.nodes.get(binding.node)
    if state.inventory is None or node is None:
        return
    was_bound = f"{binding.pod} was bound to {binding.node} while its claim"
    for name, claim in claims_of(binding.manifest, state.inventory):
        if claim is None:
            continue
        if not is_allocated(claim):
            yield "unallocated-resource-claim", f"{was_bound} {name} was not allocated"
        elif not is_reserved(claim, binding.manifest):
            yield "unreserved-resource-claim", f"{was_bound} {name} was not reserved for it (status.reservedFor)"
        elif why := unready(claim):
            yield "device-not-ready", f"{was_bound} {name} was not ready: {why}"
        elif not _gaps(history, binding):
            for mistake in mistakes(claim, state.inventory, node):
                yield "wrong-allocation", f"{was_bound} {name} {mistake}"
    yield from _unmet_extended(binding, state.inventory, _extended(binding, state.inventory, node))


def _unmet_extended(
    binding: Binding, inventory: Inventory, wanted: Mapping[str, Manifest]
) -> Iterator[tuple[str, str]]:
    """What was wrong with the devices for extended resources that the node does not offer itself: code and sentence."""
    claim = extended_claim(binding.manifest, inventory)
    if not wanted:
        return
    if claim is None:
        where = f"{binding.pod} was bound to {binding.node}, which offers {', '.join(wanted)} only as devices"
        yield "unallocated-resource-claim", f"{where}, and no ResourceClaim had been made for the pod"
        return
    counts: Counter[str] = Counter()
    for request in wanted.values():
        counts[request["exactly"]["deviceClassName"]] += request["exactly"]["count"]
    for device_class, count in counts.items():
        if (found := given(claim, device_class)) != count:
            has = f"had {found} instead of {count} devices of class {device_class}"
            yield "wrong-allocation", f"{binding.pod} was bound while its claim {full_name(claim)} {has}"
    named = status(binding.manifest).get("extendedResourceClaimStatus") or {}
    mapped = {(entry["containerName"], entry["resourceName"]) for entry in named.get("requestMappings") or ()}
    if named.get("resourceClaimName") != claim["metadata"]["name"]:
        yield (
            "extended-resource-not-mapped",
            f"{binding.pod} was bound while its status did not name {full_name(claim)}",
        )
    for container in (*init_containers(binding.manifest), *containers(binding.manifest)):
        for resource in wanted.keys() & requested(container).keys():
            if (container["name"], resource) not in mapped:
                which = f"which devices container {container['name']} gets for {resource}"
                yield "extended-resource-not-mapped", f"{binding.pod} was bound while its status did not tell {which}"


CLAUSES = (
    Clause(
        "core/dra",
        "A pod is bound only where devices satisfy its ResourceClaims, and only after these are allocated and "
        "reserved for it.",
        "Kubernetes: dynamic resource allocation (KEP-4381), ResourceClaimStatus; DynamicResources plugin",
        judge_dra, needs=DEVICES | SEVERAL_NODES, features=frozenset({"dra"}), stands_on=STEERED,
        hint=(
            "Before the Binding: choose free devices that match the pod's claims and are usable on the node, write "
            "them to status.allocation, and the pod to status.reservedFor. Watch ResourceSlices and ResourceClaims."
        ),
    ),
    Clause(
        "core/dra-alternatives",
        "A request for one of several alternatives gets the first one that the node has free devices for.",
        "Kubernetes: DeviceRequest.firstAvailable, prioritized list (KEP-4816); DynamicResources plugin",
        judge_dra, needs=DEVICES | SEVERAL_NODES, features=frozenset({"dra"}), gate="DRAPrioritizedList",
        stands_on=STEERED,
        hint=(
            "A request has `exactly` or `firstAvailable`. On each node, try the alternatives in their order, and name "
            "the chosen one in the allocation's result: REQUEST/ALTERNATIVE."
        ),
    ),
    Clause(
        "core/dra-taints",
        "A device with a taint is allocated only to requests that tolerate it.",
        "Kubernetes: Device.taints, DeviceToleration (KEP-5055); DynamicResources plugin",
        judge_dra, needs=DEVICES | SEVERAL_NODES, features=frozenset({"dra"}), gate="DRADeviceTaints",
        hint=(
            "Leave out devices with a taint NoSchedule or NoExecute, unless a toleration of the request matches it, as "
            "for pods. Watch ResourceSlices: a taint that is removed can make a waiting pod fit."
        ),
    ),
    Clause(
        "core/dra-taint-rules",
        "A taint that a DeviceTaintRule adds to devices counts like one of their own.",
        "Kubernetes: DeviceTaintRule (KEP-5055); DynamicResources plugin",
        judge_dra, needs=DEVICES | SEVERAL_NODES, features=frozenset({"dra"}), gate="DRADeviceTaintRules",
        hint=(
            "Watch DeviceTaintRules, and add the taint of each to the devices that its deviceSelector selects by "
            "driver, pool and device; a field that is not set selects all. One that is deleted can make a pod fit."
        ),
    ),
    Clause(
        "core/dra-partitions",
        "A device that is a part of another is allocated only while enough of the counters that they share is left.",
        "Kubernetes: ResourceSliceSpec.sharedCounters, Device.consumesCounters, partitionable devices (KEP-4815); "
        "DynamicResources plugin",
        judge_dra, needs=DEVICES | SEVERAL_NODES, features=frozenset({"dra"}), gate="DRAPartitionableDevices",
        hint=(
            "Before a device is allocated, subtract what the allocated devices of its pool consume from the pool's "
            "sharedCounters, of each counter set for itself. The counters are in a ResourceSlice without devices."
        ),
    ),
    Clause(
        "core/dra-capacity",
        "A device that allows multiple allocations is shared as long as its capacity lasts.",
        "Kubernetes: Device.allowMultipleAllocations, DeviceCapacity.requestPolicy, consumable capacity (KEP-5075); "
        "DynamicResources plugin",
        judge_dra, needs=DEVICES | SEVERAL_NODES, features=frozenset({"dra"}), gate="DRAConsumableCapacity",
        hint=(
            "Allocate such a device with a new shareID and a consumedCapacity: the requested amount, rounded up to "
            "what requestPolicy allows, or its default. The sum over all allocations stays within the capacity."
        ),
    ),
    Clause(
        "core/dra-conditions",
        "A pod is bound only once the binding conditions of its devices are true; if one of them fails, the scheduler "
        "allocates anew.",
        "Kubernetes: Device.bindingConditions and bindingFailureConditions, AllocatedDeviceStatus (KEP-5007); "
        "DynamicResources plugin",
        judge_dra, needs=DEVICES | SEVERAL_NODES, features=frozenset({"dra"}), gate="DRADeviceBindingConditions",
        hint=(
            "Copy the device's conditions into the allocation's result. Before the Binding, wait until "
            "status.devices[].conditions has each of bindingConditions with status True. If it has one of "
            "bindingFailureConditions, remove allocation, reservedFor and devices, and begin again."
        ),
    ),
    Clause(
        "core/dra-extended",
        "An extended resource that a DeviceClass stands for is met by devices where the node itself offers none.",
        "Kubernetes: extended resources allocated by dynamic resource allocation (KEP-5004), "
        "DeviceClassSpec.extendedResourceName, PodStatus.extendedResourceClaimStatus; DynamicResources plugin",
        judge_dra, needs=DEVICES | CHANGE_NODES | SEVERAL_NODES, gate="DRAExtendedResource",
        features=frozenset({"dra-extended"}), stands_on=STEERED,
        hint=(
            "If a node's allocatable has none of the resource, allocate devices of the DeviceClass with that "
            "extendedResourceName, or with the name after deviceclass.resource.kubernetes.io/. Before the Binding, "
            "create a ResourceClaim that the pod owns, with the annotation resource.kubernetes.io/"
            "extended-resource-claim: \"true\", and write it to the pod's status.extendedResourceClaimStatus."
        ),
    ),
)  # fmt: skip
