"""A pod's preferences among the nodes on which it could run: the oracle's result, without weights between kinds.

Rules: the documentation of taints, of node and pod affinity and of topology spread constraints, as far as they are
preferences: the effect PreferNoSchedule, preferredDuringSchedulingIgnoredDuringExecution, and ScheduleAnyway. How much
one kind of preference counts beside another, and beside other scores, is configured by an administrator: so nothing is
added up across kinds.

Not covered: what required affinity of existing pods adds to kube-scheduler's scores (hardPodAffinityWeight), and
default constraints of the plugin PodTopologySpread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schedproof.oracle.affinity import selects_node
from schedproof.oracle.manifest import Manifest, identity, labels, located, namespace, occupants, spec
from schedproof.oracle.selectors import means, preferred_terms, selects, soft_constraints
from schedproof.oracle.spread import counted_by
from schedproof.oracle.taints import unwelcome

Wishes = tuple[float, ...]
"""How well a node matches each of a pod's preferences, in their order; more is better."""

_Placed = tuple[Manifest, Manifest]
"""A pod, and the node that it is on."""


def wishes(
    pod: Manifest,
    nodes: Iterable[Manifest],
    pods: Iterable[Manifest],
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Wishes]:
    """Each node's name, with how well it meets the preferences of a pod that is to be placed.

    Taints come first: less by one for each that the pod does not tolerate. Then the sum of the weights of the terms of
    node affinity that select the node; the sum of the weights of the terms of pod affinity, less that of
    anti-affinity, over all pods that they mean, and of the terms of those pods that mean this one; and for each
    constraint, less by one for each pod in the node's place.

    Args:
        pod: the one that is to be placed; where `pods` contains it, it is in its own way in nothing.
        nodes: all of them.
        pods: all others, on nodes or not.
        namespaces: their labels, by name; None where these are not known.
    """
    there = {node["metadata"]["name"]: node for node in nodes}
    placed = located(occupants(other for other in pods if identity(other) != identity(pod)), there)
    return {
        name: (
            -float(len(unwelcome(spec(pod).get("tolerations") or (), node))),
            _selecting(pod, node),
            _company(pod, node, placed, namespaces),
            *(_room(constraint, pod, node, placed) for constraint in soft_constraints(pod)),
        )
        for name, node in there.items()
    }


def falls_short(node_wishes: Wishes, other_wishes: Wishes) -> bool:
    """Whether a node matches some preference less than another node, and none better."""
    return node_wishes != other_wishes and all(own <= its for own, its in zip(node_wishes, other_wishes, strict=True))


def _selecting(pod: Manifest, node: Manifest) -> float:
    """The weights of the preferred terms of node affinity that select the node; an empty term selects none."""
    affinity = (spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    return float(
        sum(
            term["weight"]
            for term in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
            if selects_node(term["preference"], node)
        )
    )


def _company(
    pod: Manifest, node: Manifest, placed: Sequence[_Placed], namespaces: Mapping[str, Mapping[str, str]] | None
) -> float:
    """The weights of the preferred terms, each once for every matching pod in the node's domain.

    Terms of these pods that match this pod count as well, as with kube-scheduler by default (processExistingPod in
    pkg/scheduler/framework/plugins/interpodaffinity/scoring.go).
    """
    own = labels(node)
    total = 0.0
    for other, its in placed:
        for first, second in ((pod, other), (other, pod)):
            for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
                for term in preferred_terms(first, kind):
                    about, key = term["podAffinityTerm"], term["podAffinityTerm"]["topologyKey"]
                    if key in own and labels(its).get(key) == own[key] and means(about, first, second, namespaces):
                        total += sign * term["weight"]
    return total


def _room(constraint: Manifest, pod: Manifest, node: Manifest, placed: Sequence[_Placed]) -> float:
    """Minus one for each pod in the node's domain that a constraint counts. A node without a domain is the worst."""
    key, selector = constraint["topologyKey"], counted_by(constraint, pod)
    if key not in labels(node):
        return -float("inf")
    return -float(
        sum(
            labels(its).get(key) == labels(node)[key]
            and namespace(other) == namespace(pod)
            and not other["metadata"].get("deletionTimestamp")
            and selects(selector, labels(other))
            for other, its in placed
        )
    )
