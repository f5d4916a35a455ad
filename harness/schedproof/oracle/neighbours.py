"""Required affinity and anti-affinity between pods.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
and the plugin InterPodAffinity (pkg/scheduler/framework/plugins/interpodaffinity/filtering.go). Nodes with the same
value of a topology key's label are one domain, such as a zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from schedproof.oracle.manifest import Manifest, full_name, labels
from schedproof.oracle.selectors import means, required_terms

_Place = tuple[str, str]
"""A domain: a topology key and its value."""


class Neighbours:
    """The domains that other pods allow and forbid for one pod. Computed once, then asked for each node.

    Args:
        pod: the pod to place.
        placed: the other pods on nodes, each with its node; terminating pods count until they are gone.
        namespaces: their labels, by name; None if these are not known.
        under_way: pods, each with its node, of which it is not known whether they came before the decision or after
            it. They count if that favors the pod.
    """

    def __init__(
        self,
        pod: Manifest,
        placed: Sequence[tuple[Manifest, Manifest]],
        namespaces: Mapping[str, Mapping[str, str]] | None,
        under_way: Sequence[tuple[Manifest, Manifest]] = (),
    ) -> None:
        self._pod, self._namespaces = pod, namespaces
        self._together, self._apart = required_terms(pod, "podAffinity"), required_terms(pod, "podAntiAffinity")
        wanted = set(self._wanted(placed))
        self._company = wanted.union(self._wanted(under_way))
        # The first of a group whose pods want to be together would wait for itself. It may go anywhere.
        self._is_first = not wanted and self._is_meant_by_all(pod)
        self._unwanted = dict(self._meant(placed))
        self._closed = dict(self._guarded(placed))

    def _is_meant_by_all(self, other: Manifest) -> bool:
        return all(means(term, self._pod, other, self._namespaces) for term in self._together)

    def _wanted(self, placed: Iterable[tuple[Manifest, Manifest]]) -> Iterator[_Place]:
        """The domains with a pod that all affinity terms match. A pod that only some of them match counts for none."""
        if self._together:
            for other, node in placed:
                if self._is_meant_by_all(other):
                    yield from _places(self._together, node)

    def _meant(self, placed: Iterable[tuple[Manifest, Manifest]]) -> Iterator[tuple[_Place, str]]:
        """The domains with a pod that an anti-affinity term matches, and its name."""
        for term in self._apart:
            for other, node in placed:
                if means(term, self._pod, other, self._namespaces):
                    yield from ((place, full_name(other)) for place in _places([term], node))

    def _guarded(self, placed: Iterable[tuple[Manifest, Manifest]]) -> Iterator[tuple[_Place, str]]:
        """The domains with a pod whose own anti-affinity matches this pod, and its name: anti-affinity is symmetric."""
        for other, node in placed:
            for term in required_terms(other, "podAntiAffinity"):
                if means(term, other, self._pod, self._namespaces):
                    yield from ((place, full_name(other)) for place in _places([term], node))

    def objections(self, node: Manifest) -> Iterator[str]:
        """Why the pod cannot be on the node."""
        own = labels(node)
        for key in dict.fromkeys(term["topologyKey"] for term in self._together):
            if key not in own:
                yield f"required pod affinity: the node has no {key}"
            elif not self._is_first and (key, own[key]) not in self._company:
                yield f"required pod affinity: no matching pod is in {key}={own[key]}"
        for place in _places(self._apart, node):
            if place in self._unwanted:
                yield f"required pod anti-affinity: {self._unwanted[place]} is in {'='.join(place)}"
        for place in own.items():
            if place in self._closed:
                yield f"required anti-affinity of {self._closed[place]}, which is in {'='.join(place)}"


def _places(terms: Iterable[Manifest], node: Manifest) -> Iterator[_Place]:
    """The domains of these terms that a node belongs to. Without the label of a topology key it belongs to none."""
    own = labels(node)
    yield from dict.fromkeys(
        (term["topologyKey"], own[term["topologyKey"]]) for term in terms if term["topologyKey"] in own
    )
