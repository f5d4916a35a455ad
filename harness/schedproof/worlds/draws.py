"""Generates random worlds: their subjects, the order of their steps, and how much room their nodes have.

Nodes and pods are drawn in `parts`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from schedproof.candidate.subjects import Subject
from schedproof.oracle.ports import host_ports
from schedproof.oracle.resources import amount_of, needed
from schedproof.worlds.kinds import HAPPENINGS, KINDS, SPECIAL
from schedproof.worlds.parts import RESOURCES, RULES_OF_PODS, Parts, RandomDraws, subject_of
from schedproof.worlds.world import (
    BESIDE,
    DEVICE,
    LOST,
    NODES,
    POOL,
    PREFIX,
    REFUSALS,
    SYSTEM,
    Manifest,
    World,
    pod_spec,
    resizable,
    tidy,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


_STEPS = 24
_LIKELY = {
    "room": 0.5, "labels": 0.3, "taints": 0.3, "ports": 0.25, "pod-affinity": 0.35, "topology-spread": 0.3,
}  # fmt: skip
"""The probability of each subject of a world, so that most worlds have a few subjects.

If all rules are in play, most nodes have several reasons against a pod, and ignoring one changes nothing (Groce et al.,
Swarm Testing, ISSTA 2012).
"""
_WEIGHED = ("cpu", *RESOURCES[:2], *RESOURCES)
"""The probability of each resource: mostly CPU and memory."""
_CHANGES = {
    "labels": ("changed",),
    "taints": ("changed", "tolerant"),
    "room": ("there", "there", "there", "ended", "ended", "deleted", "changed", "resized", "resized"),
    "ports": ("there", "there", "ended", "deleted"),
    "pod-affinity": ("there", "there", "labelled", "labelled", "ended", "deleted", "changed"),
    "topology-spread": ("there", "there", "labelled", "labelled", "ended", "deleted", "changed", "changed", "changed"),
}
"""Subjects, and the kinds of steps that matter to each, besides new pods."""


_EVENTS = {
    "gone": 0.25, "recreated": 0.2, "together": 0.3, "refused": 0.15, "gated": 0.15, "stopped": 0.1, "cut_off": 0.1,
}  # fmt: skip
"""What may happen in a world whatever it is about, and in which part of all worlds it may."""
_ABOUT = {
    "taints": {Subject.TAINTS}, "ports": {Subject.HOST_PORTS}, "pod-affinity": {Subject.POD_AFFINITY},
    "topology-spread": {Subject.TOPOLOGY_SPREAD},
}  # fmt: skip
"""Without these subjects of clauses, a world is not about this."""


def _possible(left_out: Collection[Subject]) -> list[str]:
    """The subjects that worlds may have."""
    room = not {subject_of(resource) for resource in _WEIGHED} <= {*left_out}
    return [one for one in _CHANGES if not _ABOUT.get(one, set()) & {*left_out} and (room or one != "room")]


def worlds(
    left_out: Collection[Subject] = (), *, ends: bool = True, impossible: Collection[str] = ()
) -> SearchStrategy[World]:
    """Worlds of up to 4 nodes and about 24 steps, by numbers that hypothesis draws.

    If hypothesis drew each choice, worlds would resemble each other: it repeats parts of earlier draws, and reaches
    fewer of the combinations by which wrong schedulers differ. (It does not shrink them: see `smaller`.)

    Args:
        left_out: what no pod needs, no node has, and does not happen.
        ends: whether pods end, or linger when they are deleted.
        impossible: happenings (`kinds`) that the cluster or the candidate does not allow.
    """
    # Not above: it takes as long to load as all the rest, in every process of every run.
    from hypothesis import strategies

    ends = ends and Subject.ENDED_PODS not in left_out

    def drawn(number: int) -> World:
        draws = RandomDraws(random.Random(number))  # noqa: S311 - reproducible
        return _Drawing(draws, left_out, ends=ends, impossible=impossible).world()

    return strategies.integers(0, 2**63).map(drawn)


def corners(source: random.Random, left_out: Collection[Subject] = ()) -> list[World]:
    """Two large worlds: 36 pods with requirements for four nodes, and 24 pods of several containers that fill one node.

    Every fourth of the 24 is of another scheduler, in another namespace.
    """
    draws, possible = RandomDraws(source), _possible(left_out)
    parts = Parts(draws, {"labels", "taints"}.intersection(possible), left_out=left_out)
    nodes = [parts.node(name) for name in NODES]
    # The first has no taint, and the last has one that repels no pod.
    nodes[0].pop("taints", None)
    if "taints" in possible:
        nodes[-1]["taints"] = [{"key": f"{PREFIX}reserved", "value": "yes", "effect": "PreferNoSchedule"}]
    for node in nodes:
        node.pop("unschedulable", None)
    particular = [{"comes": {"name": f"particular-{number}", "spec": parts.particular()}} for number in range(1, 37)]
    parts = Parts(draws, {"room", "ports"}.intersection(possible), left_out=left_out)
    amounts = {"cpu": "5", "memory": "5Gi", "ephemeral-storage": "10Gi", DEVICE: "10"}
    offered = {resource: amount for resource, amount in amounts.items() if subject_of(resource) not in left_out}
    demanding: list[Manifest] = []
    for number in range(1, 25):
        pod: Manifest = {"name": f"demanding-{number}", "spec": parts.demanding()}
        if number % 4 == 0:
            demanding.append({"there": pod, "node": NODES[0], "elsewhere": BESIDE})
        else:
            pod["spec"]["nodeSelector"] = dict(POOL)
            demanding.append({"comes": pod})
    return [tidy(World(nodes, particular)), tidy(World([{"name": NODES[0], "allocatable": offered}], demanding))]


class _Drawing:
    """Draws one world about some of the possible subjects."""

    def __init__(
        self, draws: RandomDraws, left_out: Collection[Subject], *, ends: bool, impossible: Collection[str]
    ) -> None:
        self._draws, self._ends, self._left_out = draws, ends, left_out
        possible = _possible(left_out)
        usual = "room" if "room" in possible else "labels"
        self._about = {subject for subject in possible if draws.chance(_LIKELY[subject])} or {usual}
        resources = [resource for resource in _WEIGHED if subject_of(resource) not in left_out]
        self._resources = list(dict.fromkeys(draws.sample(resources, min(1, len(resources)), 3)))
        self._parts = Parts(draws, self._about, self._resources, left_out)
        # On few nodes more depends on each; rules about other pods are about several.
        count = draws.pick((1, 2, 2, 3, 4) if self._about & RULES_OF_PODS else (1, 1, 1, 2, 2, 3))
        self._nodes = [self._parts.node(name) for name in NODES[:count]]
        self._steps: list[Manifest] = []
        drawn = [HAPPENINGS[event] for event, part in _EVENTS.items() if draws.chance(part)]
        self._events = {event.name for event in drawn if event.needs not in left_out} - {*impossible}
        self._gated: list[str] = []
        """Pods with a scheduling gate."""
        self._gone: list[str] = []
        """Nodes that are not there now."""
        self._shapes = {node["name"]: node for node in self._nodes}
        """The nodes as they are now."""

    def world(self) -> World:
        draws, steps = self._draws, self._steps
        most, changes = draws.pick(range(1, _STEPS + 1)), draws.pick(range(6))
        # Changes together, then pods together: only pods that come need a candidate that has seen all before them.
        while len(steps) < most:
            for _ in range(changes):
                steps += self._change()
            for number in range(draws.pick((1, 2, 3, 4))):
                step: Manifest = {"comes": {"name": self._next_name, **self._parts.newcomer()}}
                if number and "together" in self._events and draws.chance(0.6):
                    step["together"] = True
                if "refused" in self._events and draws.chance(0.3):
                    # One in a world: another attempt takes as long as many other steps.
                    self._events.discard("refused")
                    step["refused"] = draws.pick((*REFUSALS, LOST))
                elif "gated" in self._events and draws.chance(0.4):
                    step["gated"] = True
                    self._gated.append(step["comes"]["name"])
                steps.append(step)
            changes = draws.pick((0, 1, 1, 2, 3))
        steps += [{"ungated": name} for name in self._gated if draws.chance(0.7)]
        world = World(self._nodes, steps)
        self._fit(world.pods)
        return tidy(world)

    @property
    def _pods(self) -> list[Manifest]:
        """The steps so far that add pods."""
        return [step for step in self._steps if {"comes", "there"} & step.keys()]

    @property
    def _next_name(self) -> str:
        return f"pod-{len(self._steps) + 1}"

    def _change(self) -> list[Manifest]:
        """A step before the next pods come; none if there are no pods that it could be about."""
        draws = self._draws
        if self._events - SPECIAL.keys() and draws.chance(0.3):
            return self._event()
        if self._gated and draws.chance(0.6):
            return [{"ungated": self._gated.pop(0)}]
        about = [kind for subject in _CHANGES if subject in self._about for kind in _CHANGES[subject]]
        kinds = [kind for kind in about if KINDS[kind].needs not in self._left_out]
        kind, node = draws.pick(kinds), draws.pick(self._nodes)["name"]
        if kind == "changed":
            return [{"changed": self._changed(node)}]
        if kind == "there":
            return [self._is_there(node)]
        return self._of_pod(kind)

    def _changed(self, name: str) -> Manifest:
        """A node as it is from now on: with one other label, or another node altogether."""
        now = self._shapes[name]
        evicts = any(taint["effect"] == "NoExecute" for taint in now.get("taints", ()))
        by_label = bool(self._about & {"labels", *RULES_OF_PODS}) and not evicts and self._draws.chance(0.5)
        self._shapes[name] = self._parts.relabelled(now) if by_label else self._parts.node(name, evicting=False)
        return self._shapes[name]

    def _of_pod(self, kind: str) -> list[Manifest]:
        """A change of a pod, or its end; none if there is no pod of which it can be."""
        draws = self._draws
        over = {step[field] for step in self._steps for field in ("deleted", "ended") if field in step}
        there = [step for step in self._pods if _pod_of(step)["name"] not in over]
        if kind == "tolerant":
            there = [step for step in there if "comes" in step]
        if kind == "ended":
            there = [step for step in there if self._ends and not step.get("unstarted")]
        if kind == "resized":
            there = [step for step in there if resizable(_pod_of(step)) and not step.get("unstarted")]
        if kind == "deleted" and draws.chance(0.5):
            there = [step for step in there if step.get("lingers")] or there
        if not there:
            return []
        pod = _pod_of(draws.pick(there))
        more: dict[str, Callable[[], Manifest]] = {
            "ended": lambda: {"phase": draws.pick(("Succeeded", "Failed"))},
            "labelled": lambda: {"labels": self._parts.app()},
            "tolerant": lambda: {"toleration": self._parts.later_toleration()},
            "resized": lambda: {"requests": self._parts.other_request(resizable(pod))},
        }
        return [{kind: pod["name"], **more.get(kind, dict)()}]

    def _event(self) -> list[Manifest]:
        """Something that may happen whatever the world is about: to a node, to the candidate, to a pod of it."""
        draws, events = self._draws, sorted(self._events - SPECIAL.keys())
        event = draws.pick(events)
        if event in ("stopped", "cut_off"):
            # One in a world: a start, or new connections, take as long as many other steps.
            self._events.discard(event)
            return [{event: True}]
        there = [node["name"] for node in self._nodes if node["name"] not in self._gone]
        if event == "gone" and self._gone and (not there or draws.chance(0.6)):
            return [{"back": self._gone.pop()}]
        if event == "gone":
            self._gone.append(draws.pick(there))
            return [{"gone": self._gone[-1]}]
        deleted = {step["deleted"] for step in self._steps if "deleted" in step}
        own = {step["comes"]["name"] for step in self._steps if "comes" in step} - deleted
        return [{"recreated": draws.pick(sorted(own))}] if event == "recreated" and own else []

    def _is_there(self, node: str) -> Manifest:
        draws = self._draws
        likely = {"late": 0.2, "unstarted": 0.2, "lingers": 0.3 if self._ends else 0.0}
        pod = {"name": self._next_name, **self._parts.neighbour()}
        if any(host_ports(pod)):
            # Whether its ports are free is known when it comes, on the node that it comes to.
            del likely["late"]
        step: Manifest = {
            "there": pod, "node": node, **{field: True for field, part in likely.items() if draws.chance(part)},
        }  # fmt: skip
        if draws.chance(0.5):
            step["elsewhere"] = draws.pick((BESIDE, BESIDE, SYSTEM))
            taken = {earlier["namesake"] for earlier in self._steps if "namesake" in earlier}
            names = {
                _pod_of(earlier)["name"]: earlier.get("node", node)
                for earlier in self._pods
                if "elsewhere" not in earlier
            }
            if (free := sorted(names.keys() - taken)) and draws.chance(0.6):
                name = draws.pick(free)
                step |= {"namesake": name, "node": names[name]}
        return step

    def _fit(self, pods: Sequence[Manifest]) -> None:
        """Have some nodes offer what a few pods request together, or a little less: wrong sums show there."""
        draws = self._draws
        for node in self._nodes:
            if "room" not in self._about or draws.chance(0.2):
                continue
            asked: Counter[str] = Counter()
            first = pods[: draws.pick((1, 2, 3, 4))]
            for pod in first if draws.chance(0.5) else draws.sample(pods, 1, 2):
                asked.update(needed(_defaulted(pod)))
            if resources := sorted(asked.keys() & set(self._resources)):
                resource = draws.pick(resources)
                amount = max(0, asked[resource] - draws.pick((0, 1, asked[resource] // 1000)))
                node["allocatable"] = {**node.get("allocatable", {}), resource: amount_of(resource, amount)}


def _pod_of(step: Manifest) -> Manifest:
    pod: Manifest = step.get("comes") or step["there"]
    return pod


def _defaulted(pod: Manifest) -> Manifest:
    """A pod as the apiserver completes it: a limit without a request becomes the request."""
    spec = pod_spec(pod, "")
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        resources = container["resources"]
        container["resources"] = {"requests": {**resources["limits"], **resources["requests"]}}
    return {"spec": spec}
