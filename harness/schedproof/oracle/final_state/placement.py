"""Whether every pod of the final state of a round is on a node on which it can run. Pure: the oracle on that state.

Bindings are asynchronous, so that the order in which they were seen is not the order in which they were decided on:
what nodes hold is judged by sums at the end, for which no order is needed. Victims of preemption, and whatever else
is gone by then, are not to be among the pods.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from schedproof.oracle.affinity import mismatches
from schedproof.oracle.coverage import kept_free, rules_about_others, unmodelled
from schedproof.oracle.final_state.neighbours import Neighbourhood
from schedproof.oracle.final_state.pod_kinds import Kind, Kinds, Placed
from schedproof.oracle.manifest import Manifest, full_name, spec
from schedproof.oracle.ports import host_ports, port_conflicts
from schedproof.oracle.resources import allocatable, needed, shortages
from schedproof.oracle.taints import repulsions

MOST_SENTENCES = 20
"""A scheduler that placed a thousand pods wrongly has one fault, not a thousand."""

_NO_LABELS: Mapping[str, Mapping[str, str]] = MappingProxyType({})


@dataclasses.dataclass(frozen=True)
class Findings:
    """`wrong`: the first of `total` sentences. `not_judged`: what could not be judged, a sentence each.

    Nothing wrong is no proof where something is not judged.
    """

    wrong: tuple[str, ...] = ()
    total: int = 0
    not_judged: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong, and how much more of it there is."""
        more = self.total - len(self.wrong)
        return (*self.wrong, f"... and {more} more") if more else self.wrong


def judge_placement(
    nodes: Iterable[Manifest],
    pods: Sequence[Placed],
    readings: Mapping[str, float] | None = None,
    *,
    initial: Sequence[Placed] = (),
    namespaces: Mapping[str, Mapping[str, str]] = _NO_LABELS,
    resolution: float = 0.1,
) -> Findings:
    """What is wrong with where `pods` are, in the order in which they were bound, beside those that were there before.

    Args:
        nodes: all that existed, throughout.
        pods: what the candidate had to place.
        readings: bytes per second by node, unchanging, if the candidate claims to prefer the quieter; None if not.
        initial: pods that others placed.
        namespaces: their labels, by name, where affinity selects by them.
        resolution: the relative difference in traffic that the candidate promises to see.
    """
    kinds = Kinds()
    state = _State(nodes, kinds)
    for pod, node in initial:
        if node:
            state.add(pod, node)
    sentences = [reason for pod, node in pods if node and (reason := state.add(pod, node))]
    sentences += state.overfull(initial, pods)
    neighbourhood = Neighbourhood(state.nodes, initial, pods, namespaces, kinds)
    sentences += neighbourhood.wrong
    known = [_on(*placed) for placed in kinds.examples([*initial, *pods]).values()]
    samples = [pod for pod, _ in kinds.examples(pods).values()]
    gaps = [gap for pod in samples for gap in unmodelled(pod, known, state.samples(), namespaces)]
    gaps += [gap for pod in samples for gap in kept_free(pod, known)]
    not_judged = gaps + neighbourhood.not_judged
    waiting = [pod for pod, node in pods if not node]
    if not gaps and not any(rules_about_others(pod, known) for pod in samples):
        sentences += _left_out(state, waiting)
        sentences += _disturbed(state, pods, readings, resolution) if readings is not None else []
    else:
        # The nodes that such a pod could have gone to are not known, only whether the one chosen was right.
        not_judged += [f"whether pods that were not bound ({len(waiting)}) had room"] if waiting else []
        not_judged += ["whether the quieter nodes had room"] if readings is not None else []
    return Findings(
        tuple(sentences[:MOST_SENTENCES]),
        len(sentences),
        tuple(f"not judged: {what}" for what in dict.fromkeys(not_judged)),
    )


class _State:
    """Which nodes there are, and what each of them holds.

    Most pods are of a few kinds, alike in all but their names: what follows from the kind is computed once.
    """

    def __init__(self, nodes: Iterable[Manifest], kinds: Kinds) -> None:
        self.nodes = {str(node["metadata"]["name"]): node for node in nodes}
        self.kinds = kinds
        self._used: dict[str, Counter[str]] = {}
        self._opened: dict[str, list[Manifest]] = {}
        self._needs: dict[Kind, dict[str, int]] = {}
        self._opens: dict[Kind, bool] = {}
        self._offers: dict[int, dict[str, int]] = {}

    def add(self, pod: Manifest, node: str) -> str:
        """Put a pod on a node. Returns why it cannot be there, but for what the node holds; empty where it can."""
        if node not in self.nodes:
            return f"{full_name(pod)} was bound to {node}, which does not exist"
        reasons = (*repulsions(pod, self.nodes[node]), *mismatches(pod, self.nodes[node]))
        if self._opens_ports(pod):
            reasons += port_conflicts(pod, self._opened.get(node, ()))
            self._opened.setdefault(node, []).append(pod)
        used = self._used.setdefault(node, Counter())
        used.update(self.need(pod))
        used["pods"] += 1
        return f"{full_name(pod)} was bound to {node}, where it cannot run: {'; '.join(reasons)}" if reasons else ""

    def need(self, pod: Manifest) -> dict[str, int]:
        kind = self.kinds.of(pod)
        if kind not in self._needs:
            self._needs[kind] = needed(pod)
        return self._needs[kind]

    def room(self, pod: Manifest) -> Iterator[str]:
        """The nodes that could take one more of it."""
        need = {**self.need(pod), "pods": 1}
        for name, node in self.nodes.items():
            offered, used = self._offered(node), self._used.get(name) or Counter()
            if (
                all(
                    not amount or amount <= offered.get(resource, 0) - used[resource]
                    for resource, amount in need.items()
                )
                and not repulsions(pod, node)
                and not mismatches(pod, node)
                and not (self._opens_ports(pod) and port_conflicts(pod, self._opened.get(name, ())))
            ):
                yield name

    def overfull(self, initial: Iterable[Placed], pods: Iterable[Placed]) -> list[str]:
        """A reason for each pod that a node cannot hold beside those that came before it, where it holds too much."""
        full = {
            name
            for name, used in self._used.items()
            if any(amount > self._offered(self.nodes[name]).get(resource, 0) for resource, amount in used.items())
        }
        held: dict[str, list[dict[str, int]]] = {name: [] for name in full}
        sentences = []
        for listed, judged in ((initial, False), (pods, True)):
            for pod, node in listed:
                if node not in held:
                    continue
                reasons = shortages(self.need(pod), self.nodes[node], held[node])
                if reasons and judged:
                    sentences.append(
                        f"{full_name(pod)} was bound to {node}, which cannot hold it: {'; '.join(reasons)}"
                    )
                else:
                    held[node].append(self.need(pod))
        return sentences

    def samples(self) -> list[Manifest]:
        """A node for each of the specs that there are."""
        return list({id(spec(node)): node for node in self.nodes.values()}.values())

    def _offered(self, node: Manifest) -> dict[str, int]:
        key = id(node["status"])
        if key not in self._offers:
            self._offers[key] = allocatable(node)
        return self._offers[key]

    def _opens_ports(self, pod: Manifest) -> bool:
        kind = self.kinds.of(pod)
        if kind not in self._opens:
            self._opens[kind] = any(True for _ in host_ports(pod))
        return self._opens[kind]


def _on(pod: Manifest, node: str | None) -> Manifest:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}} if node else pod


def _left_out(state: _State, waiting: Sequence[Manifest]) -> list[str]:
    rooms: dict[Kind, str | None] = {}
    sentences = []
    for pod in waiting:
        kind = state.kinds.of(pod)
        if kind not in rooms:
            rooms[kind] = next(state.room(pod), None)
        if rooms[kind] is not None:
            sentences.append(f"{full_name(pod)} was not bound, although it fits on {rooms[kind]}")
    return sentences


def _disturbed(state: _State, pods: Sequence[Placed], readings: Mapping[str, float], resolution: float) -> list[str]:
    """Each node that was used while a quieter one had room.

    What has room in the end had it all along, as nothing leaves a node. Pods that differ are told apart.
    """
    used: dict[Kind, Counter[str]] = {}
    for pod, node in pods:
        if node in readings and node in state.nodes:
            used.setdefault(state.kinds.of(pod), Counter())[node] += 1
    sentences = []
    for kind, (example, _) in state.kinds.examples(pods).items():
        open_nodes = [node for node in state.room(example) if node in readings]
        if not open_nodes:
            continue
        quiet = min(open_nodes, key=lambda node: (readings[node], node))
        for node, count in used.get(kind, Counter()).items():
            if readings[node] > readings[quiet] * (1 + resolution):
                sentences.append(
                    f"{node} ({readings[node]:g} B/s) got {count} pods, while {quiet} ({readings[quiet]:g} B/s) "
                    "had room for more"
                )
    return sentences
