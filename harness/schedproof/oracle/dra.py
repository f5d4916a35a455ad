"""Devices that pods claim: on which nodes the ResourceClaims of a pod can be satisfied, and whether an allocation is
right.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/, the plugin
DynamicResources, and k8s.io/dynamic-resource-allocation/structured. They cover claims that request exact numbers of
devices, by device classes and by selectors that compare attributes with constants, also as a list of alternatives
(KEP-4816); taints of devices (KEP-5055); counters that devices share (KEP-4815), and devices that allocations share
(KEP-5075); devices that are prepared before a pod is bound (KEP-5007); and extended resources that a DeviceClass stands
for (KEP-5004). `gaps` names the rest.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from schedproof.oracle.affinity import selects_node
from schedproof.oracle.devices import (
    Device,
    DeviceId,
    Unknown,
    Use,
    device_of,
    devices_of,
    failure,
    has_fractional_step,
    is_usable,
    use_of,
)
from schedproof.oracle.manifest import Manifest, full_name, identity, is_owned, namespace, spec, status
from schedproof.oracle.quantity import parse_quantity
from schedproof.oracle.resources import allocatable, needed

_MOST_CONSUMERS = 256
"""The largest number of consumers of a claim (ResourceClaimStatus.reservedFor)."""

_MOST_COMBINATIONS = 1000
"""Of alternatives of a pod's claims, which the oracle tries one by one."""

_MOST_WAYS = 100_000
"""To choose devices that are shared, or that share counters, which the oracle tries one by one, too."""

_OF_EXTENDED_RESOURCES = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that the scheduler has made for the extended resources of a pod."""
IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""With the name of a DeviceClass: an extended resource that stands for its devices."""

_CLAIM = {"config", "requests"}
_REQUEST = {"exactly", "firstAvailable", "name"}
_WANTED = {"allocationMode", "capacity", "count", "deviceClassName", "name", "selectors", "tolerations"}
_CLASS = {"config", "extendedResourceName", "selectors"}
_WHERE = {"allNodes", "nodeName", "nodeSelector"}
_SLICE = _WHERE | {"devices", "driver", "perDeviceNodeSelection", "pool", "sharedCounters"}
_CONDITIONS = {"bindingConditions", "bindingFailureConditions"}
_DEVICE = (
    _WHERE
    | _CONDITIONS
    | {"allowMultipleAllocations", "attributes", "bindsToNode", "capacity", "consumesCounters", "name", "taints"}
)
_RESULT = _CONDITIONS | {"consumedCapacity", "device", "driver", "pool", "request", "shareID", "tolerations"}

_COMPARISON = re.compile(
    r'\s*device\.(?:(?P<driver>driver)|attributes\["(?P<domain>[^"\\]+)"\]\.(?P<attribute>\w+))'
    r'\s*==\s*(?P<value>"[^"\\]*"|-?\d+|true|false)\s*'
)


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All claims and devices: ResourceClaims by `namespace/name`; ResourceSlices, DeviceClasses and DeviceTaintRules
    by name.
    """

    claims: Mapping[str, Manifest]
    slices: Mapping[str, Manifest]
    classes: Mapping[str, Manifest]
    rules: Mapping[str, Manifest] = dataclasses.field(default_factory=dict)

    def devices(self) -> Iterator[Device]:
        """All devices of usable pools: devices of other pools cannot be allocated."""
        for found in self.pools().values():
            if is_usable(found):
                yield from devices_of(found, self.rules.values())

    def pools(self) -> dict[tuple[str, str], list[Manifest]]:
        """The slices of each pool, by driver and name."""
        pools: dict[tuple[str, str], list[Manifest]] = collections.defaultdict(list)
        for slice_ in self.slices.values():
            pools[spec(slice_)["driver"], spec(slice_)["pool"]["name"]].append(slice_)
        return pools

    def published(self) -> dict[DeviceId, Device]:
        """All devices of ResourceSlices."""
        found = (device for slices in self.pools().values() for device in devices_of(slices, self.rules.values()))
        return {device.id: device for device in found}

    def use(self, *, beside: str = "") -> Use:
        """What is allocated to claims, apart from the claim with this `namespace/name`."""
        claims = (claim for name, claim in self.claims.items() if name != beside)
        return use_of([result for claim in claims for result in _results(claim)], self.published())

    def selects(self, wanted: Manifest, device: Device) -> bool:
        """Whether a device is what is `wanted`, one of a request's `choices`: by its class, its selectors, its taints.

        Raises:
            Unknown: that is not modelled.
        """
        device_class = self.classes.get(wanted.get("deviceClassName", ""))
        if device_class is None:
            return False
        selectors = (*(spec(device_class).get("selectors") or ()), *(wanted.get("selectors") or ()))
        return all(_holds(selector, device) for selector in selectors) and device.tolerated_by(wanted)

    def can_meet(self, requests: Sequence[Manifest], devices: Sequence[Device], use: Use) -> bool:
        """Whether each request can have its devices among these, by one of its `choices`, beside what is in use.

        Raises:
            Unknown: that is not modelled.
        """
        return any(self._matches(wanted, devices, use) for wanted in itertools.product(*map(choices, requests)))

    def _matches(self, wanted: Iterable[Manifest], devices: Sequence[Device], use: Use) -> bool:
        asked = [
            (each, [device for device in devices if self.selects(each, device) and use.plus(device, each)])
            for each in wanted
        ]
        if any(device.is_shared or device.consumes for _, suiting in asked for device in suiting):
            return _share_out([(each, suiting, _count(each)) for each, suiting in asked], use)
        ids = [[device.id for device in suiting] for each, suiting in asked for _ in range(_count(each))]
        given: dict[DeviceId, int] = {}
        return all(_give(asker, ids, given, set()) for asker in range(len(ids)))

    def classes_of(self, resource: str) -> list[str]:
        """The DeviceClasses that an extended resource stands for."""
        return [
            name
            for name, device_class in sorted(self.classes.items())
            if resource in (spec(device_class).get("extendedResourceName"), f"{IMPLICIT}{name}")
        ]

    def missing_classes(self, claim: Manifest) -> list[str]:
        """The DeviceClasses that a claim names and that do not exist."""
        named = [each.get("deviceClassName") for request in _requests(claim) for each in choices(request)]
        return [name for name in named if name and name not in self.classes]


def not_offered(extended: Mapping[str, Manifest], node: Manifest) -> dict[str, Manifest]:
    """The requests for extended resources that only devices can meet, because the node itself offers none."""
    offered = allocatable(node) if extended else {}
    return {resource: request for resource, request in extended.items() if not offered.get(resource)}


class ClaimedDevices:
    """The devices of one pod's claims and extended resources, as far as they decide where the pod can go."""

    def __init__(self, pod: Manifest, inventory: Inventory | None) -> None:
        self._everywhere: list[str] = []
        self._allocated: list[Manifest] = []
        self._waiting: list[Manifest] = []
        self._extended: dict[str, Manifest] = {}
        self._claimed = False
        """Whether a claim for the extended resources exists already."""
        self._devices: list[Device] = []
        self._use = Use()
        self._inventory = inventory
        if inventory is None:
            return
        for name, claim in claims_of(pod, inventory):
            self._take(name, claim, inventory)
        self._extended = extended_requests(pod, inventory)
        self._claimed = extended_claim(pod, inventory) is not None
        if self._waiting or self._extended:
            self._devices, self._use = list(inventory.devices()), inventory.use()

    def _take(self, name: str, claim: Manifest | None, inventory: Inventory) -> None:
        if claim is None:
            self._everywhere.append(f"claim {name} does not exist")
        elif claim["metadata"].get("deletionTimestamp"):
            self._everywhere.append(f"claim {name} is being deleted")
        elif is_allocated(claim):
            self._allocated.append(claim)
        elif missing := inventory.missing_classes(claim):
            self._everywhere.append(f"DeviceClass {missing[0]} of claim {name} does not exist")
        else:
            self._waiting.append(claim)

    def objections(self, node: Manifest) -> Iterator[str]:
        """Why the pod's claims exclude a node."""
        yield from self._everywhere
        for claim in self._allocated:
            selector = status(claim)["allocation"].get("nodeSelector")
            terms = (selector or {}).get("nodeSelectorTerms") or ()
            if selector is not None and not any(selects_node(term, node) for term in terms):
                yield f"claim {full_name(claim)} is allocated to devices that this node cannot use"
            if failed := failure(claim):
                yield f"claim {full_name(claim)} is to be allocated anew: {failed}"
        extended = {} if self._claimed else not_offered(self._extended, node)
        requests = [*(request for claim in self._waiting for request in _requests(claim)), *extended.values()]
        if requests and not self._can_be_met(node, requests):
            names = ", ".join([*(f"claim {full_name(claim)}" for claim in self._waiting), *extended])
            yield f"no free devices that this node can use satisfy {names}"

    def asked_of(self, node: Manifest, need: Mapping[str, int]) -> dict[str, int]:
        """The requests that a node's allocatable resources have to meet: those that devices do not."""
        by_devices = not_offered(self._extended, node)
        return {resource: amount for resource, amount in need.items() if resource not in by_devices}

    def _can_be_met(self, node: Manifest, requests: Sequence[Manifest]) -> bool:
        assert self._inventory is not None
        try:
            here = [device for device in self._devices if device.reaches(node)]
            return self._inventory.can_meet(requests, here, self._use)
        except Unknown:
            return False  # which `gaps` tells


def _give(asker: int, choices: Sequence[Sequence[DeviceId]], given: dict[DeviceId, int], tried: set[DeviceId]) -> bool:
    """Give the request one of its choices, and the request that has it another one, if that is possible."""
    for choice in choices[asker]:
        if choice not in tried:
            tried.add(choice)
            if choice not in given or _give(given[choice], choices, given, tried):
                given[choice] = asker
                return True
    return False


def _share_out(asked: Sequence[tuple[Manifest, Sequence[Device], int]], use: Use) -> bool:
    """Whether each request can have its number of different devices, in any order, beside what is in use."""
    if not asked:
        return True
    (wanted, suiting, count), *others = asked
    if count == 0:
        return _share_out(others, use)
    return any(
        (then := use.plus(device, wanted)) is not None
        and _share_out([(wanted, suiting[at:], count - 1), *others], then)
        for at, device in enumerate(suiting, 1)
    )


def choices(request: Manifest) -> list[Manifest]:
    """What a request accepts, what it prefers first: each with the `name` that allocations give it."""
    if listed := request.get("firstAvailable"):
        return [{**each, "name": f"{request['name']}/{each['name']}"} for each in listed]
    return [{**(request.get("exactly") or {}), "name": request["name"]}]


def claims_of(pod: Manifest, inventory: Inventory) -> Iterator[tuple[str, Manifest | None]]:
    """The claims that a pod uses: `namespace/name`, and the claim; None if it does not exist, or is not the pod's.

    A claim that is made from a template is named in the pod's status, and belongs to the pod. That of its extended
    resources, which the scheduler makes, comes last.
    """
    generated = {entry["name"]: entry for entry in status(pod).get("resourceClaimStatuses") or ()}
    for entry in spec(pod).get("resourceClaims") or ():
        name = entry.get("resourceClaimName")
        if name:
            yield f"{namespace(pod)}/{name}", inventory.claims.get(f"{namespace(pod)}/{name}")
        elif entry["name"] not in generated:
            yield f"from template {entry.get('resourceClaimTemplateName')}", None
        elif name := generated[entry["name"]].get("resourceClaimName"):  # else none is needed
            claim = inventory.claims.get(f"{namespace(pod)}/{name}")
            yield f"{namespace(pod)}/{name}", claim if claim is not None and is_owned(claim, pod) else None
    if (claim := extended_claim(pod, inventory)) is not None:
        yield full_name(claim), claim


def extended_claim(pod: Manifest, inventory: Inventory) -> Manifest | None:
    """The claim that a scheduler has made for the extended resources of a pod."""
    return next(
        (
            claim
            for claim in inventory.claims.values()
            if (claim["metadata"].get("annotations") or {}).get(_OF_EXTENDED_RESOURCES) == "true"
            and is_owned(claim, pod)
        ),
        None,
    )


def extended_requests(pod: Manifest, inventory: Inventory) -> dict[str, Manifest]:
    """The extended resources that a pod requests and that a DeviceClass stands for, each as a request for devices."""
    return {
        resource: {"name": resource, "exactly": {"deviceClassName": classes[0], "count": amount}}
        for resource, amount in needed(pod).items()
        if amount > 0 and (classes := inventory.classes_of(resource))
    }


def allocated(claim: Manifest) -> list[DeviceId]:
    """The devices that are allocated to a claim exclusively."""
    return [
        device_of(result) for result in _results(claim) if not result.get("adminAccess") and not result.get("shareID")
    ]


def given(claim: Manifest, device_class: str) -> int:
    """How many devices of a class are allocated to a claim."""
    of_class = {
        each["name"]
        for request in _requests(claim)
        for each in choices(request)
        if each.get("deviceClassName") == device_class
    }
    return sum(result["request"] in of_class for result in _results(claim))


def _results(claim: Manifest) -> Sequence[Manifest]:
    devices = (status(claim).get("allocation") or {}).get("devices") or {}
    return devices.get("results") or ()


def is_allocated(claim: Manifest) -> bool:
    return bool(status(claim).get("allocation"))


def is_reserved(claim: Manifest, pod: Manifest) -> bool:
    """Whether a claim is allocated, and reserved for a pod."""
    consumers = status(claim).get("reservedFor") or ()
    return is_allocated(claim) and any(consumer.get("uid") == identity(pod) for consumer in consumers)


def mistakes(claim: Manifest, inventory: Inventory, node: Manifest) -> Iterator[str]:
    """What is wrong with the allocation of a claim, for a pod on a node; each as a phrase about the claim."""
    yield from _miscounted(claim)
    wanted = {each["name"]: each for request in _requests(claim) for each in choices(request)}
    devices, use = inventory.published(), inventory.use(beside=full_name(claim))
    for result in _results(claim):
        device, each = devices.get(device_of(result)), wanted.get(result["request"])
        wrong = "which is in no ResourceSlice" if device is None else _wrong(result, device, each, inventory, node)
        if not wrong and device is not None and each is not None:
            more = use.plus(device, each)
            wrong = "" if more else "while other allocations leave too little of it, or of the counters of its pool"
            use = more or use
        if wrong:
            yield f"has device {'/'.join(device_of(result))}, {wrong}"
    yield from _overlooked(claim, inventory, node)


def _miscounted(claim: Manifest) -> Iterator[str]:
    given = collections.Counter(result["request"] for result in _results(claim))
    for request in _requests(claim):
        used = [each for each in choices(request) if given[each["name"]]] or choices(request)[:1]
        if len(used) > 1:
            yield f"has devices for several alternatives of its request {request['name']}"
        for each in used:
            if given[each["name"]] != _count(each):
                yield f"has {given[each['name']]} instead of {_count(each)} devices for its request {each['name']}"


def _wrong(result: Manifest, device: Device, wanted: Manifest | None, inventory: Inventory, node: Manifest) -> str:
    """Why a device is not one for the request of a result, on a node: a relative clause; "" if it is."""
    request = result["request"]
    if not device.reaches(node):
        return f"which cannot be used on {node['metadata']['name']}"
    if wanted is not None and not device.tolerated_by(wanted):
        return f"with a taint that its request {request} does not tolerate"
    if wanted is None or not inventory.selects(wanted, device):
        return f"which its request {request} does not select"
    if (share := device.share(wanted)) is None:
        return f"which has less capacity than its request {request} asks for"
    if bool(result.get("shareID")) != device.is_shared:
        return "without a shareID" if device.is_shared else "with a shareID, although it is not shared"
    consumed = {name: parse_quantity(amount) for name, amount in (result.get("consumedCapacity") or {}).items()}
    if device.is_shared and consumed != share:
        return f"with a consumedCapacity of {_told(consumed)} instead of {_told(share)}"
    copied = ("bindingConditions", "bindingFailureConditions")
    missing = [each for each in copied if (result.get(each) or []) != (device.fields.get(each) or [])]
    return f"without the {missing[0]} of its ResourceSlice" if missing else ""


def _told(shares: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{float(amount):g} ({name})" for name, amount in sorted(shares.items())) or "nothing"


def _overlooked(claim: Manifest, inventory: Inventory, node: Manifest) -> Iterator[str]:
    """An alternative that comes before the allocated one, and that the node had free devices for.

    Of claims with a single request: with several, a preferred alternative may leave too little for another request. And
    of claims with a single consumer: devices may have been released since the claim was allocated for an earlier one.
    """
    used = {result["request"] for result in _results(claim)}
    if len(requests := _requests(claim)) != 1 or not used or len(status(claim).get("reservedFor") or ()) > 1:
        return
    here = [device for device in inventory.devices() if device.reaches(node)]
    use = inventory.use(beside=full_name(claim))
    for each in itertools.takewhile(lambda each: each["name"] not in used, choices(requests[0])):
        if inventory.can_meet([{"name": each["name"], "exactly": each}], here, use):
            yield f"has devices for {', '.join(sorted(used))}, while the node had free ones for {each['name']}"
            return


def gaps(pod: Manifest, inventory: Inventory) -> Iterator[str]:
    """Short names of what a pod's claims use that is not modelled here."""
    claims = [claim for _, claim in claims_of(pod, inventory) if claim is not None]
    extended = extended_requests(pod, inventory)
    if not claims and not extended:
        return
    requests = [request for claim in claims for request in _requests(claim)]
    if math.prod(len(choices(request)) for request in requests) > _MOST_COMBINATIONS:
        yield f"more than {_MOST_COMBINATIONS} combinations of alternatives"
    if _ways_to_share([*requests, *extended.values()], inventory) > _MOST_WAYS:
        yield f"more than {_MOST_WAYS} ways to share devices"
    for claim in claims:
        yield from _unmodelled_claim(claim, pod, inventory)
    for resource, request in extended.items():
        yield from _unmodelled_request(request, inventory)
        if len(inventory.classes_of(resource)) > 1:
            yield f"several DeviceClasses for the extended resource {resource}"
        if resource in (spec(pod).get("overhead") or {}):
            yield f"overhead of {resource}, which a DeviceClass stands for"
    for holder in inventory.claims.values():
        for result in _results(holder):
            yield from _beyond(result, _RESULT, "ResourceClaim.status.allocation.devices.results[]")
    yield from _unmodelled_slices(inventory)


def _ways_to_share(requests: Sequence[Manifest], inventory: Inventory) -> int:
    """At most so many choices of devices are tried on a node; 0 if no device is shared, nor a counter."""
    devices = list(inventory.devices())
    if not any(device.is_shared or device.consumes for device in devices):
        return 0
    by_node = collections.Counter(spec(device.slice).get("nodeName", "") for device in devices)
    most = by_node.pop("", 0) + max(by_node.values(), default=0)
    return math.prod(sum(math.comb(most, _count(each)) for each in choices(request)) for request in requests)


def _unmodelled_claim(claim: Manifest, pod: Manifest, inventory: Inventory) -> Iterator[str]:
    yield from _beyond(spec(claim).get("devices") or {}, _CLAIM, "ResourceClaim.spec.devices")
    for request in _requests(claim):
        yield from _unmodelled_request(request, inventory)
    if len(status(claim).get("reservedFor") or ()) >= _MOST_CONSUMERS and not is_reserved(claim, pod):
        # kube-scheduler finds a node, and tries in vain to reserve it (resourceclaim.CanBeReserved).
        yield "a claim with as many consumers as it can have"


def _unmodelled_request(request: Manifest, inventory: Inventory) -> Iterator[str]:
    yield from _beyond(request, _REQUEST, "ResourceClaim.spec.devices.requests[]")
    for each in choices(request):
        yield from _beyond(each, _WANTED, "ResourceClaim.spec.devices.requests[].exactly")
        if (each.get("allocationMode") or "ExactCount") != "ExactCount":
            yield f"allocationMode {each['allocationMode']}"
        yield from _beyond(spec(inventory.classes.get(each.get("deviceClassName", ""), {})), _CLASS, "DeviceClass")
        try:
            for device in inventory.devices():
                inventory.selects(each, device)
        except Unknown:
            yield f"the selectors of request {each['name']}"


def _unmodelled_slices(inventory: Inventory) -> Iterator[str]:
    for (_, name), slices in inventory.pools().items():
        pools = [spec(slice_)["pool"] for slice_ in slices]
        if len({pool.get("generation") for pool in pools}) > 1:
            yield f"several generations of pool {name}"
        if len(slices) > min(pool.get("resourceSliceCount", 1) for pool in pools):
            yield f"more ResourceSlices of pool {name} than it has"
        names = [device["name"] for slice_ in slices for device in spec(slice_).get("devices") or ()]
        if len(names) > len(set(names)):
            yield f"devices of one name in pool {name}"
        for slice_ in slices:
            yield from _beyond(spec(slice_), _SLICE, "ResourceSlice.spec")
            for device in spec(slice_).get("devices") or ():
                yield from _beyond(device, _DEVICE, "ResourceSlice.spec.devices[]")
                if any(has_fractional_step(capacity) for capacity in (device.get("capacity") or {}).values()):
                    # Kubernetes 1.36 rounds it to whole numbers, and 1.37 does not (DRAFractionalCapacityRange).
                    yield "a fractional step of capacity"


def _beyond(fields: Manifest, modelled: set[str], where: str) -> Iterator[str]:
    used = {name for name, value in fields.items() if value not in (None, "", [], {}, False)}
    return (f"{where}.{name}" for name in sorted(used - modelled))


def _requests(claim: Manifest) -> Sequence[Manifest]:
    return (spec(claim).get("devices") or {}).get("requests") or ()


def _count(wanted: Manifest) -> int:
    return int(wanted.get("count") or 1)


def _holds(selector: Manifest, device: Device) -> bool:
    """Whether all comparisons of a selector are true; an error of CEL beside a false comparison does not count.

    Raises:
        Unknown: it is not a conjunction of such comparisons, or CEL would fail.
    """
    parts = ((selector.get("cel") or {}).get("expression") or "").split("&&")
    comparisons = [_COMPARISON.fullmatch(part) for part in parts]
    if None in comparisons:
        raise Unknown
    unknown = False
    for comparison in filter(None, comparisons):
        try:
            if not device.compares(comparison):
                return False
        except Unknown:
            unknown = True
    if unknown:
        raise Unknown
    return True
