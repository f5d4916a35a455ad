"""Groups of pods that are placed together or not at all: who waits, whether a group is placed, who may be evicted.

`outcome` is about any group; the rest is about those that a PodGroup of scheduling.k8s.io describes.

Source: the API's PodGroup (`minCount` is "the minimum number of pods that must be schedulable or scheduled at the same
time", `disruptionMode`), and what kube-scheduler 1.37 does where that leaves a choice: the plugins GangScheduling and
DefaultPreemption, and the cycle of a pod group (schedule_one_podgroup.go).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from schedproof.oracle.manifest import Manifest, full_name, labels, namespace, priority, spec, status

Outcome: TypeAlias = Literal["placed", "waits", "either"]
"""`either`: that depends on which of several nodes members are placed on first, or is too costly to find out."""
NodesFor: TypeAlias = Callable[[Manifest, Sequence[Manifest]], Sequence[str]]
"""On which nodes a pod fits beside the members of its group that are placed already (with their spec.nodeName)."""

_STEPS = 2_000
"""How many placements of members are tried at most before a group's outcome is `either`."""


def outcome(members: Sequence[Manifest], needed: int, nodes_for: NodesFor) -> Outcome:
    """Whether `needed` of these pods can be placed together, one after the other, each on any node where it fits.

    A scheduler is free to choose among the nodes of each member, and need not take a choice back.
    """
    found: set[bool] = set()
    steps = iter(range(_STEPS))
    for placed in _ends(members, needed, nodes_for, steps):
        found.add(placed)
        if len(found) > 1:
            return "either"
    if next(steps, None) is None:
        return "either"
    return "placed" if found == {True} else "waits"


def _ends(members: Sequence[Manifest], needed: int, nodes_for: NodesFor, steps: Iterator[int]) -> Iterator[bool]:
    """Whether the group is placed, by each way of choosing nodes that differs from the others in what is where."""
    kinds = [next(number for number, other in enumerate(members) if _alike(other, member)) for member in members]
    seen: set[tuple[int, tuple[tuple[int, str], ...]]] = set()

    def go_on(turn: int, placed: tuple[tuple[int, str], ...]) -> Iterator[bool]:
        if len(placed) >= needed:
            yield True
            return
        if len(placed) + len(members) - turn < needed:
            yield False
            return
        state = (turn, tuple(sorted((kinds[number], node) for number, node in placed)))
        if state in seen or next(steps, None) is None:
            return
        seen.add(state)
        there = [on_node(members[number], node) for number, node in placed]
        nodes = nodes_for(members[turn], there)
        for node in nodes:
            yield from go_on(turn + 1, (*placed, (turn, node)))
        if not nodes:
            yield from go_on(turn + 1, placed)

    return go_on(0, ())


def _alike(pod: Manifest, other: Manifest) -> bool:
    """Whether two pods are the same to each rule about nodes."""
    return (spec(pod), labels(pod), namespace(pod)) == (spec(other), labels(other), namespace(other))


def on_node(pod: Manifest, node: str) -> Manifest:
    """A pod as if it were bound to a node."""
    return {**pod, "spec": {**spec(pod), "nodeName": node}}


def group_of(pod: Manifest) -> str:
    """The PodGroup of a pod, as namespace/name; "" if it names none."""
    name = (spec(pod).get("schedulingGroup") or {}).get("podGroupName")
    return f"{namespace(pod)}/{name}" if name else ""


def group_priority(pod: Manifest, groups: Mapping[str, Manifest]) -> int:
    """The priority by which a pod is queued and evicted: its PodGroup's, if that is there."""
    group = groups.get(group_of(pod))
    return priority(pod if group is None else group)


def members_of(name: str, pods: Iterable[Manifest]) -> list[Manifest]:
    """The pods of a PodGroup, on nodes or not, without those that have ended."""
    return [pod for pod in pods if group_of(pod) == name and status(pod).get("phase") not in ("Succeeded", "Failed")]


def held_back(pod: Manifest, pods: Iterable[Manifest], groups: Mapping[str, Manifest]) -> str:
    """Why a waiting pod is not tried yet, wherever it would fit; "" if it is.

    Args:
        pod: the pod.
        pods: all pods, including this one.
        groups: the PodGroups, by namespace/name.
    """
    name = group_of(pod)
    if not name:
        return "it has scheduling gates" if spec(pod).get("schedulingGates") else ""
    if name not in groups:
        return f"there is no PodGroup {name}"
    members = members_of(name, pods)
    if any(spec(member).get("schedulingGates") and not spec(member).get("nodeName") for member in members):
        return "a member of its group has scheduling gates"
    least = min_count(groups[name])
    return f"{len(members)} of at least {least} members are there" if len(members) < least else ""


def min_count(group: Manifest) -> int:
    """How many members of a PodGroup have to be placed together. The policy `basic` asks for nothing: 1."""
    gang = spec(group).get("schedulingPolicy", {}).get("gang") or {}
    return int(gang.get("minCount") or 1)


def still_needed(group: Manifest, members: Iterable[Manifest]) -> int:
    """How many more members have to be placed together, at least 1. Those on nodes count until they are gone."""
    return max(1, min_count(group) - sum(bool(spec(member).get("nodeName")) for member in members))


def inconsistent(group: Manifest, members: Iterable[Manifest]) -> str:
    """Why kube-scheduler places no member of a group at all; "" if its members agree with it and each other."""
    members = list(members)
    if any(priority(member) != priority(group) for member in members):
        return "a member's priority differs from its PodGroup's"
    policies = {spec(member).get("preemptionPolicy") or "PreemptLowerPriority" for member in members}
    return "its members' preemptionPolicy differs" if len(policies) > 1 else ""


@dataclasses.dataclass(frozen=True)
class Victim:
    """Pods that are evicted together or not at all, and the priority that counts for all of them."""

    pods: tuple[Manifest, ...]
    priority: int


def victims(pods: Iterable[Manifest], groups: Mapping[str, Manifest], below: int) -> list[Victim]:
    """What may be evicted for a pod or group of the priority `below`: pods, and whole groups if they say so."""
    together: dict[str, list[Manifest]] = {}
    for pod in pods:
        if spec(pod).get("nodeName") and status(pod).get("phase") not in ("Succeeded", "Failed"):
            name = group_of(pod)
            whole = name in groups and "all" in (spec(groups[name]).get("disruptionMode") or {})
            together.setdefault(f"group {name}" if whole else f"pod {full_name(pod)}", []).append(pod)
    found = [Victim(tuple(unit), group_priority(unit[0], groups)) for unit in together.values()]
    return [victim for victim in found if victim.priority < below]
