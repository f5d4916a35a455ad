"""The requests of pending pods, the resources that bound pods hold, and the resources of nodes.

Amounts are summed as exact quantities and rounded up to the scheduler's units (thousandths of a cpu, whole units of
everything else) once per pod, as NodeResourcesFit does (pkg/scheduler/framework/types.go, Resource). Its plugin
arguments ignoredResources and ignoredResourceGroups are taken to be empty, their default.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from schedproof.oracle.manifest import Manifest, containers, init_containers, is_sidecar, spec, status
from schedproof.oracle.quantity import format_bytes, milli, parse_quantity, whole

_Exact = dict[str, Fraction]
_BYTES = ("memory", "ephemeral-storage")


def needed(pod: Manifest) -> dict[str, int]:
    """The requests of a pod that is to be placed. Its status is ignored (fit.go, computePodResourceRequest)."""
    return _counted(_requests(pod, {}))


def held(pod: Manifest) -> dict[str, int]:
    """The resources that a pod holds on its node, a resize in progress included.

    In-place resize (KEP-1287) separates what is wanted (spec), what the kubelet has admitted (allocatedResources) and
    what is in force (resources, both in status). The largest of the three counts, resource by resource; once the
    kubelet has declared a resize infeasible, the wanted value no longer counts.
    """
    return _counted(_requests(pod, status(pod)))


def requested(container: Manifest) -> dict[str, int]:
    """What one container requests, without amounts of 0."""
    return {resource: amount for resource, amount in _counted(_wanted(container)).items() if amount > 0}


def allocatable(node: Manifest) -> dict[str, int]:
    """What a node offers to pods: status.allocatable, never status.capacity. `pods` is among it."""
    offered = _exact(status(node).get("allocatable"))
    return _counted(offered) | {"pods": whole(offered.get("pods", Fraction(0)))}


def shortages(need: Mapping[str, int], node: Manifest, used: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """Why a pod does not fit beside those that hold `used`: a reason for each resource that is short.

    A resource that the pod does not request is never short, not even where the node has promised more of
    it than it has. A resource that the node does not offer counts as 0 (fit.go, fitsRequest).
    """
    total_used: Counter[str] = Counter()
    count = 0
    for amounts in used:
        total_used.update(amounts)
        count += 1
    offered = allocatable(node)
    reasons = [f"pods: {count} of {offered['pods']} taken"] if count + 1 > offered["pods"] else []
    for resource, amount in sorted(need.items()):
        total = offered.get(resource, 0)
        free = total - total_used[resource]
        if 0 < amount > free:
            shown = (amount_of(resource, number) for number in (amount, free, total))
            reasons.append("{}: needs {}, {} free of {}".format(resource, *shown))
    return tuple(reasons)


def is_overcommitted(node: Manifest, used: Iterable[Mapping[str, int]]) -> bool:
    """Whether pods that hold `used` hold more of a resource than the node has."""
    offered = allocatable(node)
    total: Counter[str] = Counter()
    for amounts in used:
        total.update(amounts)
    return any(amount > offered.get(resource, 0) for resource, amount in total.items())


@dataclasses.dataclass(frozen=True)
class Room:
    """One resource on one node, in the scheduler's units: thousandths of a cpu, bytes, whole units."""

    asked: int
    """The pod's request."""
    free: int
    """Negative if pods hold more than there is."""
    total: int


def room_of(need: Mapping[str, int], node: Manifest, used: Sequence[Mapping[str, int]]) -> dict[str, Room]:
    """The resources that a pod requests, and `pods`, beside those that hold `used`."""
    total_used: Counter[str] = Counter()
    for amounts in used:
        total_used.update(amounts)
    offered = allocatable(node)
    asked = {resource: amount for resource, amount in sorted(need.items()) if amount > 0}
    found = {"pods": Room(1, offered["pods"] - len(used), offered["pods"])}
    for resource, amount in asked.items():
        total = offered.get(resource, 0)
        found[resource] = Room(amount, total - total_used[resource], total)
    return found


def _requests(pod: Manifest, reported: Manifest) -> _Exact:
    """The effective requests of a pod with this `reported` status.

    The rule is that of PodRequests in component-helpers/resource/helpers.go. Containers run together:
    their requests add up. Ordinary init containers run one by one before them, beside the sidecars that
    were started earlier; the pod needs the largest of these moments, for each resource. Sidecars run on
    beside the containers (KEP-753). A request for the pod as a whole (KEP-2837) takes the place of all
    that, for cpu, memory and huge pages only. Overhead is added in the end.
    """
    infeasible = _resize_is_infeasible(reported)
    statuses = {
        container["name"]: container
        for kind in ("containerStatuses", "initContainerStatuses")
        for container in reported.get(kind) or ()
    }

    def of(container: Manifest) -> _Exact:
        return _effective(_wanted(container), statuses.get(container["name"], {}), infeasible=infeasible)

    running: _Exact = {}
    for container in containers(pod):
        running = _sum(running, of(container))
    sidecars: _Exact = {}
    starting: _Exact = {}
    for container in init_containers(pod):
        if is_sidecar(container):
            sidecars = _sum(sidecars, of(container))
            starting = _larger(starting, sidecars)
        else:
            # It cannot be resized, so the spec stands whatever the status says.
            starting = _larger(starting, _sum(sidecars, _wanted(container)))
    total = _larger(_sum(running, sidecars), starting)

    whole_pod = {resource: amount for resource, amount in _wanted(spec(pod)).items() if _counts_for_a_pod(resource)}
    if whole_pod:
        effective = _effective(whole_pod, reported, infeasible=infeasible)
        total |= {resource: effective.get(resource, Fraction(0)) for resource in whole_pod}
    return _sum(total, _exact(spec(pod).get("overhead")))


def _effective(wanted: _Exact, reported: Manifest, *, infeasible: bool) -> _Exact:
    """The requests in force of a container or a pod; only the spec before the kubelet has reported `resources`."""
    if reported.get("resources") is None:
        return wanted
    actual = _larger(_wanted(reported), _exact(reported.get("allocatedResources")))
    return actual if infeasible else _larger(wanted, actual)


def _resize_is_infeasible(reported: Manifest) -> bool:
    reasons = (
        condition.get("reason")
        for condition in reported.get("conditions") or ()
        if condition["type"] == "PodResizePending"
    )
    return next(reasons, None) == "Infeasible"


def _wanted(holder: Manifest) -> _Exact:
    """The requests of an object with `resources`: a container, a pod's spec, or the status of either."""
    return _exact((holder.get("resources") or {}).get("requests"))


def _exact(quantities: Mapping[str, Any] | None) -> _Exact:
    return {resource: parse_quantity(quantity) for resource, quantity in (quantities or {}).items()}


def _sum(first: _Exact, second: _Exact) -> _Exact:
    return {
        resource: first.get(resource, Fraction(0)) + second.get(resource, Fraction(0)) for resource in first | second
    }


def _larger(first: _Exact, second: _Exact) -> _Exact:
    return {
        resource: max(first.get(resource, Fraction(0)), second.get(resource, Fraction(0)))
        for resource in first | second
    }


def _counted(amounts: _Exact) -> dict[str, int]:
    return {
        resource: milli(amount) if resource == "cpu" else whole(amount)
        for resource, amount in amounts.items()
        if _is_counted(resource)
    }


def _is_counted(resource: str) -> bool:
    """Whether the scheduler counts it: unknown names (such as `storage`) have no effect.

    Extended resources are those with a prefix; hugepages-* and attachable-volumes-* are native
    (pkg/scheduler/util/utils.go, IsScalarResourceName).
    """
    return (
        resource in ("cpu", *_BYTES)
        or resource.startswith(("hugepages-", "attachable-volumes-"))
        or ("/" in resource and not resource.startswith("requests."))
    )


def _counts_for_a_pod(resource: str) -> bool:
    """Whether spec.resources may hold it (component-helpers/resource, IsSupportedPodLevelResource)."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def amount_of(resource: str, amount: int) -> str:
    """An amount in the scheduler's units, in the notation of manifests."""
    if resource == "cpu":
        return f"{amount}m"
    return format_bytes(amount) if resource in _BYTES or resource.startswith("hugepages-") else str(amount)
