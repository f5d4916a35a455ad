"""Devices that pods claim: on which nodes the ResourceClaims of a pod can be satisfied, and whether an allocation is
right.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/, the plugin
DynamicResources, and k8s.io/dynamic-resource-allocation/structured. They cover claims that request exact numbers of
devices, by device classes and by selectors that compare attributes with constants, also as a list of alternatives
(KEP-4816); taints of devices (KEP-5055); and extended resources that a DeviceClass stands for (KEP-5004). `gaps` names
the rest.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from schedproof.oracle.affinity import selects_node
from schedproof.oracle.manifest import Manifest, full_name, identity, is_owned, namespace, spec, status
from schedproof.oracle.resources import allocatable, needed
from schedproof.oracle.taints import tolerates

DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool and name of a device, which identify it."""

_MOST_CONSUMERS = 256
"""The largest number of consumers of a claim (ResourceClaimStatus.reservedFor)."""

_MOST_COMBINATIONS = 1000
"""Of alternatives of a pod's claims, which the oracle tries one by one."""

_OF_EXTENDED_RESOURCES = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that the scheduler has made for the extended resources of a pod."""
IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""With the name of a DeviceClass: an extended resource that stands for its devices."""

_CLAIM = {"config", "requests"}
_REQUEST = {"exactly", "firstAvailable", "name"}
_WANTED = {"allocationMode", "count", "deviceClassName", "name", "selectors", "tolerations"}
_CLASS = {"config", "extendedResourceName", "selectors"}
_SLICE = {"allNodes", "devices", "driver", "nodeName", "nodeSelector", "pool"}
_DEVICE = {"attributes", "capacity", "name", "taints"}
_RESULT = {"device", "driver", "pool", "request", "tolerations"}

_COMPARISON = re.compile(
    r'\s*device\.(?:(?P<driver>driver)|attributes\["(?P<domain>[^"\\]+)"\]\.(?P<attribute>\w+))'
    r'\s*==\s*(?P<value>"[^"\\]*"|-?\d+|true|false)\s*'
)
_NUMBER = re.compile(r"-?\d+")


class _Unknown(Exception):  # noqa: N818 - no error: a selector that is not modelled
    """The result of a selector for a device cannot be determined."""


@dataclasses.dataclass(frozen=True)
class _Device:
    id: DeviceId
    attributes: Mapping[str, Mapping[str, Any]]
    taints: Sequence[Manifest]
    slice: Manifest

    def tolerated_by(self, wanted: Manifest) -> bool:
        """Whether what is wanted tolerates each taint that keeps pods off: tolerations match as those of pods do."""
        tolerations = wanted.get("tolerations") or ()
        return all(
            any(tolerates(toleration, taint) for toleration in tolerations)
            for taint in self.taints
            if taint.get("effect") in ("NoSchedule", "NoExecute")
        )

    def reaches(self, node: Manifest) -> bool:
        """Whether it can be used on a node."""
        where = spec(self.slice)
        if where.get("nodeName"):
            return bool(where["nodeName"] == node["metadata"]["name"])
        terms = (where.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
        return bool(where.get("allNodes")) or any(selects_node(term, node) for term in terms)

    def compares(self, comparison: re.Match[str]) -> bool:
        """Whether the attribute or capacity of a comparison has the compared value.

        Raises:
            _Unknown: it does not exist, or has another type: an error of CEL.
        """
        text = comparison["value"]
        wanted: object = text.strip('"') if text[0] == '"' else int(text) if _NUMBER.fullmatch(text) else text == "true"
        if comparison["driver"]:
            found: object = self.id[0]
        else:
            domain, name = comparison["domain"], comparison["attribute"]
            # A name without a domain is in that of its driver.
            short = self.attributes.get(name, {}) if domain == self.id[0] else {}
            value = self.attributes.get(f"{domain}/{name}", short)
            found = next((value[kind] for kind in ("string", "int", "bool") if kind in value), None)
        if type(found) is not type(wanted):
            raise _Unknown
        return found == wanted


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All claims and devices: ResourceClaims by `namespace/name`, ResourceSlices and DeviceClasses by name."""

    claims: Mapping[str, Manifest]
    slices: Mapping[str, Manifest]
    classes: Mapping[str, Manifest]

    def devices(self) -> Iterator[_Device]:
        """All devices of complete pools: devices of other pools cannot be allocated."""
        for found in self.pools().values():
            if len(found) == spec(found[0])["pool"].get("resourceSliceCount"):
                for slice_ in found:
                    yield from _devices(slice_)

    def pools(self) -> dict[tuple[str, str], list[Manifest]]:
        """The slices of each pool, by driver and name."""
        pools: dict[tuple[str, str], list[Manifest]] = collections.defaultdict(list)
        for slice_ in self.slices.values():
            pools[spec(slice_)["driver"], spec(slice_)["pool"]["name"]].append(slice_)
        return pools

    def taken(self) -> set[DeviceId]:
        """The devices that are allocated to claims."""
        return {device for claim in self.claims.values() for device in allocated(claim)}

    def selects(self, wanted: Manifest, device: _Device) -> bool:
        """Whether a device is what is `wanted`, one of a request's `choices`: by its class, its selectors, its taints.

        Raises:
            _Unknown: that is not modelled.
        """
        device_class = self.classes.get(wanted.get("deviceClassName", ""))
        if device_class is None:
            return False
        selectors = (*(spec(device_class).get("selectors") or ()), *(wanted.get("selectors") or ()))
        return all(_holds(selector, device) for selector in selectors) and device.tolerated_by(wanted)

    def can_meet(self, requests: Sequence[Manifest], devices: Sequence[_Device]) -> bool:
        """Whether each request can have devices of its own among these, by one of its `choices`.

        Raises:
            _Unknown: that is not modelled.
        """
        return any(self._matches(wanted, devices) for wanted in itertools.product(*map(choices, requests)))

    def _matches(self, wanted: Iterable[Manifest], devices: Sequence[_Device]) -> bool:
        suiting = [
            [at for at, device in enumerate(devices) if self.selects(each, device)]
            for each in wanted
            for _ in range(_count(each))
        ]
        given: dict[int, int] = {}
        return all(_give(asker, suiting, given, set()) for asker in range(len(suiting)))

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


def _devices(resource_slice: Manifest) -> Iterator[_Device]:
    where = spec(resource_slice)
    for device in where.get("devices") or ():
        name = (where["driver"], where["pool"]["name"], device["name"])
        yield _Device(name, device.get("attributes") or {}, device.get("taints") or (), resource_slice)


class ClaimedDevices:
    """The devices of one pod's claims and extended resources, as far as they decide where the pod can go."""

    def __init__(self, pod: Manifest, inventory: Inventory | None) -> None:
        self._everywhere: list[str] = []
        self._allocated: list[Manifest] = []
        self._waiting: list[Manifest] = []
        self._extended: dict[str, Manifest] = {}
        self._claimed = False
        """Whether a claim for the extended resources exists already."""
        self._free: list[_Device] = []
        self._inventory = inventory
        if inventory is None:
            return
        for name, claim in claims_of(pod, inventory):
            self._take(name, claim, inventory)
        self._extended = extended_requests(pod, inventory)
        self._claimed = extended_claim(pod, inventory) is not None
        if self._waiting or self._extended:
            taken = inventory.taken()
            self._free = [device for device in inventory.devices() if device.id not in taken]

    def _take(self, name: str, claim: Manifest | None, inventory: Inventory) -> None:
        if claim is None:
            self._everywhere.append(f"claim {name} does not exist")
        elif claim["metadata"].get("deletionTimestamp"):
            self._everywhere.append(f"claim {name} is being deleted")
        elif _is_allocated(claim):
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
            return self._inventory.can_meet(requests, [device for device in self._free if device.reaches(node)])
        except _Unknown:
            return False  # which `gaps` tells


def _give(asker: int, choices: Sequence[Sequence[int]], given: dict[int, int], tried: set[int]) -> bool:
    """Give the request one of its choices, and the request that has it another one, if that is possible."""
    for choice in choices[asker]:
        if choice not in tried:
            tried.add(choice)
            if choice not in given or _give(given[choice], choices, given, tried):
                given[choice] = asker
                return True
    return False


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
        (result["driver"], result["pool"], result["device"])
        for result in _results(claim)
        if not result.get("adminAccess")
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


def _is_allocated(claim: Manifest) -> bool:
    return bool(status(claim).get("allocation"))


def is_reserved(claim: Manifest, pod: Manifest) -> bool:
    """Whether a claim is allocated, and reserved for a pod."""
    consumers = status(claim).get("reservedFor") or ()
    return _is_allocated(claim) and any(consumer.get("uid") == identity(pod) for consumer in consumers)


def mistakes(claim: Manifest, inventory: Inventory, node: Manifest) -> Iterator[str]:
    """What is wrong with the allocation of a claim, for a pod on a node; each as a phrase about the claim."""
    devices = {
        device.id: device for found in inventory.pools().values() for slice_ in found for device in _devices(slice_)
    }
    wanted = {each["name"]: each for request in _requests(claim) for each in choices(request)}
    given = collections.Counter(result["request"] for result in _results(claim))
    for request in _requests(claim):
        used = [each for each in choices(request) if given[each["name"]]] or choices(request)[:1]
        if len(used) > 1:
            yield f"has devices for several alternatives of its request {request['name']}"
        for each in used:
            if given[each["name"]] != _count(each):
                yield f"has {given[each['name']]} instead of {_count(each)} devices for its request {each['name']}"
    for result in _results(claim):
        where = "/".join(key := (result["driver"], result["pool"], result["device"]))
        if (device := devices.get(key)) is None:
            yield f"has device {where}, which is in no ResourceSlice"
        elif not device.reaches(node):
            yield f"has device {where}, which cannot be used on {node['metadata']['name']}"
        elif result["request"] in wanted and not device.tolerated_by(wanted[result["request"]]):
            yield f"has device {where}, with a taint that its request {result['request']} does not tolerate"
        elif result["request"] not in wanted or not inventory.selects(wanted[result["request"]], device):
            yield f"has device {where}, which its request {result['request']} does not select"
    yield from _overlooked(claim, inventory, node)


def _overlooked(claim: Manifest, inventory: Inventory, node: Manifest) -> Iterator[str]:
    """An alternative that comes before the allocated one, and that the node had free devices for.

    Of claims with a single request: with several, a preferred alternative may leave too little for another request. And
    of claims with a single consumer: devices may have been released since the claim was allocated for an earlier one.
    """
    used = {result["request"] for result in _results(claim)}
    if len(requests := _requests(claim)) != 1 or not used or len(status(claim).get("reservedFor") or ()) > 1:
        return
    taken = inventory.taken() - set(allocated(claim))
    free = [device for device in inventory.devices() if device.id not in taken and device.reaches(node)]
    for each in itertools.takewhile(lambda each: each["name"] not in used, choices(requests[0])):
        if inventory.can_meet([{"name": each["name"], "exactly": each}], free):
            yield f"has devices for {', '.join(sorted(used))}, while the node had free ones for {each['name']}"
            return


def gaps(pod: Manifest, inventory: Inventory) -> Iterator[str]:
    """Short names of what a pod's claims use that is not modelled here."""
    claims = [claim for _, claim in claims_of(pod, inventory) if claim is not None]
    extended = extended_requests(pod, inventory)
    if not claims and not extended:
        return
    if math.prod(len(choices(request)) for claim in claims for request in _requests(claim)) > _MOST_COMBINATIONS:
        yield f"more than {_MOST_COMBINATIONS} combinations of alternatives"
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
        except _Unknown:
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


def _beyond(fields: Manifest, modelled: set[str], where: str) -> Iterator[str]:
    used = {name for name, value in fields.items() if value not in (None, "", [], {}, False)}
    return (f"{where}.{name}" for name in sorted(used - modelled))


def _requests(claim: Manifest) -> Sequence[Manifest]:
    return (spec(claim).get("devices") or {}).get("requests") or ()


def _count(wanted: Manifest) -> int:
    return int(wanted.get("count") or 1)


def _holds(selector: Manifest, device: _Device) -> bool:
    """Whether all comparisons of a selector are true; an error of CEL beside a false comparison does not count.

    Raises:
        _Unknown: it is not a conjunction of such comparisons, or CEL would fail.
    """
    parts = ((selector.get("cel") or {}).get("expression") or "").split("&&")
    comparisons = [_COMPARISON.fullmatch(part) for part in parts]
    if None in comparisons:
        raise _Unknown
    unknown = False
    for comparison in filter(None, comparisons):
        try:
            if not device.compares(comparison):
                return False
        except _Unknown:
            unknown = True
    if unknown:
        raise _Unknown
    return True
