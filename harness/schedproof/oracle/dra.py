"""Devices that pods claim: on which nodes the ResourceClaims of a pod can be satisfied, and whether an allocation is
right.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/, the plugin
DynamicResources, and k8s.io/dynamic-resource-allocation/structured. They cover claims that request exact numbers of
devices, by device classes and by selectors that compare attributes with constants, and extended resources that a
DeviceClass stands for (KEP-5004); `gaps` names the rest.
"""

from __future__ import annotations

import collections
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from schedproof.oracle.affinity import selects_node
from schedproof.oracle.manifest import Manifest, full_name, identity, namespace, spec, status
from schedproof.oracle.resources import allocatable, needed

DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool and name of a device, which identify it."""

_MOST_CONSUMERS = 256
"""The largest number of consumers of a claim (ResourceClaimStatus.reservedFor)."""

_OF_EXTENDED_RESOURCES = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that the scheduler has made for the extended resources of a pod."""
IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""With the name of a DeviceClass: an extended resource that stands for its devices."""

_CLAIM = {"config", "requests"}
_REQUEST = {"exactly", "name"}
_EXACTLY = {"allocationMode", "count", "deviceClassName", "selectors"}
_CLASS = {"config", "extendedResourceName", "selectors"}
_SLICE = {"allNodes", "devices", "driver", "nodeName", "nodeSelector", "pool"}
_DEVICE = {"attributes", "capacity", "name"}
_RESULT = {"device", "driver", "pool", "request"}

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
    slice: Manifest

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

    def selects(self, request: Manifest, device: _Device) -> bool:
        """Whether a device satisfies a request: its class first, then its own selectors.

        Raises:
            _Unknown: that is not modelled.
        """
        exactly = request.get("exactly") or {}
        device_class = self.classes.get(exactly.get("deviceClassName", ""))
        if device_class is None:
            return False
        return all(
            _holds(selector, device)
            for selector in (*(spec(device_class).get("selectors") or ()), *(exactly.get("selectors") or ()))
        )

    def classes_of(self, resource: str) -> list[str]:
        """The DeviceClasses that an extended resource stands for."""
        return [
            name
            for name, device_class in sorted(self.classes.items())
            if resource in (spec(device_class).get("extendedResourceName"), f"{IMPLICIT}{name}")
        ]

    def missing_classes(self, claim: Manifest) -> list[str]:
        """The DeviceClasses that a claim names and that do not exist."""
        named = [(request.get("exactly") or {}).get("deviceClassName") for request in _requests(claim)]
        return [name for name in named if name and name not in self.classes]


def not_offered(extended: Mapping[str, Manifest], node: Manifest) -> dict[str, Manifest]:
    """The requests for extended resources that only devices can meet, because the node itself offers none."""
    offered = allocatable(node) if extended else {}
    return {resource: request for resource, request in extended.items() if not offered.get(resource)}


def _devices(resource_slice: Manifest) -> Iterator[_Device]:
    where = spec(resource_slice)
    for device in where.get("devices") or ():
        name = (where["driver"], where["pool"]["name"], device["name"])
        yield _Device(name, device.get("attributes") or {}, resource_slice)


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

    def _can_be_met(self, node: Manifest, requests: Iterable[Manifest]) -> bool:
        """Whether each requested device can be a different one: a matching of requests and devices."""
        assert self._inventory is not None
        wanted = [request for request in requests for _ in range(_count(request))]
        there = [device for device in self._free if device.reaches(node)]
        try:
            choices = [
                [at for at, device in enumerate(there) if self._inventory.selects(request, device)]
                for request in wanted
            ]  # fmt: skip
        except _Unknown:
            return False  # which `gaps` tells
        given: dict[int, int] = {}
        return all(_give(asker, choices, given, set()) for asker in range(len(wanted)))


def _give(asker: int, choices: Sequence[Sequence[int]], given: dict[int, int], tried: set[int]) -> bool:
    """Give the request one of its choices, and the request that has it another one, if that is possible."""
    for choice in choices[asker]:
        if choice not in tried:
            tried.add(choice)
            if choice not in given or _give(given[choice], choices, given, tried):
                given[choice] = asker
                return True
    return False


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
            yield f"{namespace(pod)}/{name}", claim if claim is not None and _is_owned(claim, pod) else None
    if (claim := extended_claim(pod, inventory)) is not None:
        yield full_name(claim), claim


def extended_claim(pod: Manifest, inventory: Inventory) -> Manifest | None:
    """The claim that a scheduler has made for the extended resources of a pod."""
    return next(
        (
            claim
            for claim in inventory.claims.values()
            if (claim["metadata"].get("annotations") or {}).get(_OF_EXTENDED_RESOURCES) == "true"
            and _is_owned(claim, pod)
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


def _is_owned(claim: Manifest, pod: Manifest) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == identity(pod) for owner in owners)


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
        request["name"]
        for request in _requests(claim)
        if (request.get("exactly") or {}).get("deviceClassName") == device_class
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
    requests = {request["name"]: request for request in _requests(claim)}
    given = collections.Counter(result["request"] for result in _results(claim))
    for name, request in requests.items():
        if given[name] != _count(request):
            yield f"has {given[name]} instead of {_count(request)} devices for its request {name}"
    for result in _results(claim):
        where = "/".join(key := (result["driver"], result["pool"], result["device"]))
        if (device := devices.get(key)) is None:
            yield f"has device {where}, which is in no ResourceSlice"
        elif not device.reaches(node):
            yield f"has device {where}, which cannot be used on {node['metadata']['name']}"
        elif (wanted := requests.get(result["request"])) is None or not inventory.selects(wanted, device):
            yield f"has device {where}, which its request {result['request']} does not select"


def gaps(pod: Manifest, inventory: Inventory) -> Iterator[str]:
    """Short names of what a pod's claims use that is not modelled here."""
    claims = [claim for _, claim in claims_of(pod, inventory) if claim is not None]
    extended = extended_requests(pod, inventory)
    if not claims and not extended:
        return
    for claim in claims:
        yield from _beyond(spec(claim).get("devices") or {}, _CLAIM, "ResourceClaim.spec.devices")
        for request in _requests(claim):
            yield from _unmodelled_request(request, inventory)
        if len(status(claim).get("reservedFor") or ()) >= _MOST_CONSUMERS and not is_reserved(claim, pod):
            # kube-scheduler finds a node, and tries in vain to reserve it (resourceclaim.CanBeReserved).
            yield "a claim with as many consumers as it can have"
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


def _unmodelled_request(request: Manifest, inventory: Inventory) -> Iterator[str]:
    yield from _beyond(request, _REQUEST, "ResourceClaim.spec.devices.requests[]")
    exactly = request.get("exactly") or {}
    yield from _beyond(exactly, _EXACTLY, "ResourceClaim.spec.devices.requests[].exactly")
    if (exactly.get("allocationMode") or "ExactCount") != "ExactCount":
        yield f"allocationMode {exactly['allocationMode']}"
    yield from _beyond(spec(inventory.classes.get(exactly.get("deviceClassName", ""), {})), _CLASS, "DeviceClass")
    try:
        for device in inventory.devices():
            inventory.selects(request, device)
    except _Unknown:
        yield f"the selectors of request {request['name']}"


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


def _count(request: Manifest) -> int:
    return int((request.get("exactly") or {}).get("count") or 1)


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
