"""What a device offers, and what is left of devices that several claims have a part of.

Rules: k8s.io/dynamic-resource-allocation/structured. Devices of a pool can consume counters that they share (KEP-4815),
a device that allows multiple allocations is shared by the capacity that each of them consumes (KEP-5075), and a device
can need time until its driver has prepared it (KEP-5007).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from schedproof.oracle.affinity import selects_node
from schedproof.oracle.manifest import Manifest, spec, status
from schedproof.oracle.quantity import parse_quantity
from schedproof.oracle.taints import tolerates

DeviceId: TypeAlias = tuple[str, str, str]
"""Driver, pool and name of a device, which identify it."""

Amounts: TypeAlias = Mapping[tuple[str, ...], Fraction]
"""Of counters, by driver, pool, counter set and name; of capacities, by driver, pool, device and name."""

_NUMBER = re.compile(r"-?\d+")


class Unknown(Exception):  # noqa: N818 - no error: a selector that is not modelled
    """The result of a selector for a device cannot be determined."""


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of a ResourceSlice. `counters` are those of its pool, if it consumes any of them."""

    id: DeviceId
    fields: Manifest
    slice: Manifest
    counters: Amounts

    @property
    def is_shared(self) -> bool:
        """Whether it can be allocated several times."""
        return bool(self.fields.get("allowMultipleAllocations"))

    @property
    def consumes(self) -> Amounts:
        """What it consumes of the counters of its pool, while it is allocated."""
        return {
            (*self.id[:2], used["counterSet"], name): parse_quantity(counter["value"])
            for used in self.fields.get("consumesCounters") or ()
            for name, counter in used["counters"].items()
        }

    def tolerated_by(self, wanted: Manifest) -> bool:
        """Whether what is wanted tolerates each taint that keeps pods off: tolerations match as those of pods do."""
        tolerations = wanted.get("tolerations") or ()
        return all(
            any(tolerates(toleration, taint) for toleration in tolerations)
            for taint in self.fields.get("taints") or ()
            if taint.get("effect") in ("NoSchedule", "NoExecute")
        )

    def reaches(self, node: Manifest) -> bool:
        """Whether it can be used on a node."""
        where = self.fields if spec(self.slice).get("perDeviceNodeSelection") else spec(self.slice)
        if where.get("nodeName"):
            return bool(where["nodeName"] == node["metadata"]["name"])
        terms = (where.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
        return bool(where.get("allNodes")) or any(selects_node(term, node) for term in terms)

    def compares(self, comparison: re.Match[str]) -> bool:
        """Whether the attribute of a comparison has the compared value.

        Raises:
            Unknown: it does not exist, or has another type: an error of CEL.
        """
        text = comparison["value"]
        wanted: object = text.strip('"') if text[0] == '"' else int(text) if _NUMBER.fullmatch(text) else text == "true"
        if comparison["driver"]:
            found: object = self.id[0]
        else:
            domain, name = comparison["domain"], comparison["attribute"]
            attributes: Mapping[str, Mapping[str, Any]] = self.fields.get("attributes") or {}
            # A name without a domain is in that of its driver.
            short = attributes.get(name, {}) if domain == self.id[0] else {}
            value = attributes.get(f"{domain}/{name}", short)
            found = next((value[kind] for kind in ("string", "int", "bool") if kind in value), None)
        if type(found) is not type(wanted):
            raise Unknown
        return found == wanted

    def share(self, wanted: Manifest) -> dict[str, Fraction] | None:
        """What an allocation consumes of each capacity, or is promised of it by a device that is not shared.

        None if the device cannot give what is wanted, even if nothing else has a part of it.
        """
        offered = self.fields.get("capacity") or {}
        asked = (wanted.get("capacity") or {}).get("requests") or {}
        if not asked.keys() <= offered.keys():
            return None
        shares = {name: _share(asked.get(name), capacity) for name, capacity in offered.items()}
        found = {name: share for name, share in shares.items() if share is not None}
        fits = all(share <= parse_quantity(offered[name]["value"]) for name, share in found.items())
        return found if fits and len(found) == len(offered) else None


def _share(asked: str | None, capacity: Manifest) -> Fraction | None:
    """How much of a capacity a request for `asked` consumes, rounded up to what the device allows; None if too much."""
    policy = capacity.get("requestPolicy") or {}
    if asked is None:
        return parse_quantity(policy.get("default") or capacity["value"])
    amount = parse_quantity(asked)
    if allowed := policy.get("validValues"):
        return next((value for value in map(parse_quantity, allowed) if value >= amount), None)
    if allowed := policy.get("validRange"):
        least = parse_quantity(allowed.get("min") or "0")
        step = parse_quantity(allowed.get("step") or "0")
        above = max(Fraction(0), amount - least)
        amount = least + (math.ceil(above / step) * step if step else above)
        return None if allowed.get("max") and amount > parse_quantity(allowed["max"]) else amount
    return amount


def has_fractional_step(capacity: Manifest) -> bool:
    """Whether requests are rounded up to amounts of a capacity that are no whole numbers."""
    allowed = (capacity.get("requestPolicy") or {}).get("validRange") or {}
    steps = [parse_quantity(allowed.get(field) or "0") for field in ("min", "step")]
    return bool(allowed.get("step")) and any(amount.denominator > 1 for amount in steps)


@dataclasses.dataclass(frozen=True)
class Use:
    """Devices that are allocated, each to one request or in shares, and what is consumed of counters and capacities."""

    exclusive: frozenset[DeviceId] = frozenset()
    shared: frozenset[DeviceId] = frozenset()
    consumed: Amounts = dataclasses.field(default_factory=dict)

    def plus(self, device: Device, wanted: Manifest) -> Use | None:
        """This and one more allocation of a device; None if too little of it is left."""
        share = device.share(wanted)
        if device.id in self.exclusive or share is None:
            return None
        more: dict[tuple[str, ...], Fraction] = {}
        limits: dict[tuple[str, ...], Fraction] = {}
        if device.id not in self.shared and device.consumes:
            # A pool that has too little of any counter already gives no device that consumes some.
            limits |= device.counters
            more |= device.consumes
        if device.is_shared:
            limits |= {(*device.id, name): parse_quantity(device.fields["capacity"][name]["value"]) for name in share}
            more |= {(*device.id, name): amount for name, amount in share.items()}
        consumed = _sum(self.consumed, more)
        if any(consumed.get(key, 0) > limit for key, limit in limits.items()):
            return None
        if device.is_shared:
            return Use(self.exclusive, self.shared | {device.id}, consumed)
        return Use(self.exclusive | {device.id}, self.shared, consumed)


def use_of(results: Sequence[Manifest], devices: Mapping[DeviceId, Device]) -> Use:
    """What is in use by allocations (`AllocationResult.devices.results`)."""
    exclusive: set[DeviceId] = set()
    shared: set[DeviceId] = set()
    consumed: Amounts = {}
    for result in results:
        if result.get("adminAccess"):
            continue
        device = device_of(result)
        (shared if result.get("shareID") else exclusive).add(device)
        amounts = result.get("consumedCapacity") or {} if result.get("shareID") else {}
        consumed = _sum(consumed, {(*device, name): parse_quantity(amount) for name, amount in amounts.items()})
    for each in exclusive | shared:
        consumed = _sum(consumed, devices[each].consumes if each in devices else {})
    return Use(frozenset(exclusive), frozenset(shared), consumed)


def unready(claim: Manifest) -> str:
    """What keeps a pod from being bound with the devices of an allocated claim; "" for nothing."""
    for result, reported in _prepared(claim):
        if missing := [each for each in result["bindingConditions"] if reported.get(each) != "True"]:
            return f"the condition {missing[0]} of device {'/'.join(device_of(result))} is not True"
    return failure(claim)


def failure(claim: Manifest) -> str:
    """That a driver could not prepare a device of a claim; "" if none says so.

    As in kube-scheduler, a device that is not ready yet comes before the failures of those after it.
    """
    for result, reported in _prepared(claim):
        if failed := [each for each in result.get("bindingFailureConditions") or () if reported.get(each) == "True"]:
            return f"the condition {failed[0]} of device {'/'.join(device_of(result))} is True"
        if any(reported.get(each) != "True" for each in result["bindingConditions"]):
            return ""
    return ""


def _prepared(claim: Manifest) -> Iterator[tuple[Manifest, Mapping[str, str]]]:
    """The results of an allocation that need preparation, each with its driver's conditions by type."""
    for result in ((status(claim).get("allocation") or {}).get("devices") or {}).get("results") or ():
        if result.get("bindingConditions"):
            told = (each for each in status(claim).get("devices") or () if device_of(each) == device_of(result))
            reported: Manifest = next((each for each in told if each.get("shareID") == result.get("shareID")), {})
            yield result, {each["type"]: each["status"] for each in reported.get("conditions") or ()}


def device_of(result: Manifest) -> DeviceId:
    """The device of one result of an allocation."""
    return result["driver"], result["pool"], result["device"]


def devices_of(slices: Sequence[Manifest], rules: Collection[Manifest] = ()) -> list[Device]:
    """The devices of a pool's slices, with the taints that DeviceTaintRules add to their own."""
    counters: Amounts = {
        (spec(slice_)["driver"], spec(slice_)["pool"]["name"], each["name"], name): parse_quantity(counter["value"])
        for slice_ in slices
        for each in spec(slice_).get("sharedCounters") or ()
        for name, counter in each["counters"].items()
    }
    return [
        Device(named, _tainted(fields, named, rules), slice_, counters)
        for slice_ in slices
        for fields in spec(slice_).get("devices") or ()
        for named in [(spec(slice_)["driver"], spec(slice_)["pool"]["name"], fields["name"])]
    ]


def _tainted(fields: Manifest, device: DeviceId, rules: Iterable[Manifest]) -> Manifest:
    """The fields of a device with the taints of rules (resourceslice/tracker: a rule without a selector has none)."""
    added = [
        spec(rule)["taint"]
        for rule in rules
        if (selector := spec(rule).get("deviceSelector")) is not None
        and all(
            selector.get(field) in (None, value)
            for field, value in zip(("driver", "pool", "device"), device, strict=True)
        )
    ]
    return {**fields, "taints": [*(fields.get("taints") or ()), *added]} if added else fields


def is_usable(slices: Sequence[Manifest]) -> bool:
    """Whether the devices of a pool with these slices can be allocated: it is complete, and has their counters."""
    sets = [each["name"] for slice_ in slices for each in spec(slice_).get("sharedCounters") or ()]
    return (
        len(slices) == spec(slices[0])["pool"].get("resourceSliceCount")
        and len(set(sets)) == len(sets)
        and all(device.consumes.keys() <= device.counters.keys() for device in devices_of(slices))
    )


def _sum(first: Amounts, second: Amounts) -> Amounts:
    return (
        {**first, **{key: first.get(key, Fraction(0)) + amount for key, amount in second.items()}} if second else first
    )
