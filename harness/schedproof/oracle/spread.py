"""Topology spread constraints with DoNotSchedule: pods are spread over domains, such as zones, within a skew.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/ and the plugin
PodTopologySpread (pkg/scheduler/framework/plugins/podtopologyspread/filtering.go). Its default constraints concern pods
of Services, ReplicaSets and StatefulSets, and are ScheduleAnyway unless an administrator configures others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from schedproof.oracle.affinity import mismatches
from schedproof.oracle.manifest import Manifest, labels, namespace, spec
from schedproof.oracle.selectors import hard_constraints, selects
from schedproof.oracle.taints import untolerated


class Spread:
    """A pod's constraints on each node. Computed once, then asked for each.

    Args:
        pod: the pod to place.
        nodes: all of them.
        placed: the other pods on nodes, each with its node.
        under_way: pods, each with its node, of which it is not known whether they came before the decision or after
            it. They count if that favors the pod: in every domain except that of the node in question.
    """

    def __init__(
        self,
        pod: Manifest,
        nodes: Iterable[Manifest],
        placed: Sequence[tuple[Manifest, Manifest]],
        under_way: Sequence[tuple[Manifest, Manifest]] = (),
    ) -> None:
        constraints = hard_constraints(pod)
        keys = {constraint["topologyKey"] for constraint in constraints}
        # A node that lacks the label of one constraint is at no place for any of them.
        labelled = [node for node in nodes if keys <= labels(node).keys()] if keys else []
        self._constraints = [_Constraint(constraint, pod, labelled, placed, under_way) for constraint in constraints]

    def objections(self, node: Manifest) -> Iterator[str]:
        """Why the pod cannot be on the node."""
        for constraint in self._constraints:
            yield from constraint.objections(node)


class _Constraint:
    def __init__(
        self,
        constraint: Manifest,
        pod: Manifest,
        labelled: Iterable[Manifest],
        placed: Iterable[tuple[Manifest, Manifest]],
        under_way: Iterable[tuple[Manifest, Manifest]],
    ) -> None:
        self._key: str = constraint["topologyKey"]
        self._max_skew: int = constraint["maxSkew"]
        self._selector = counted_by(constraint, pod)
        self._pod = pod
        self._places = {
            node["metadata"]["name"]: labels(node)[self._key]
            for node in labelled
            if _is_eligible(node, constraint, pod)
        }
        self._itself = int(selects(self._selector, labels(pod)))
        self._enough = len(set(self._places.values())) >= (constraint.get("minDomains") or 1)
        self._counts = self._count(placed)
        self._at_most = self._counts + self._count(under_way)

    def _count(self, placed: Iterable[tuple[Manifest, Manifest]]) -> Counter[str]:
        """Pods in each domain: those of the pod's namespace that are selected, and are not terminating.

        A terminating pod leaves room for its successor (kubernetes #87621).
        """
        return Counter(
            self._places[node["metadata"]["name"]]
            for other, node in placed
            if node["metadata"]["name"] in self._places
            and namespace(other) == namespace(self._pod)
            and not other["metadata"].get("deletionTimestamp")
            and selects(self._selector, labels(other))
        )

    def objections(self, node: Manifest) -> Iterator[str]:
        """Why the node's domain would exceed the least-filled domain by more than maxSkew.

        If there are fewer domains than minDomains, the minimum is 0.
        """
        place = labels(node).get(self._key)
        if place is None:
            yield f"topology spread: the node has no {self._key}"
            return
        elsewhere = [self._at_most[other] for other in set(self._places.values()) - {place}]
        own = [self._counts[place]] if place in self._places.values() else []
        fewest = min([*own, *elsewhere], default=0) if self._enough else 0
        skew = self._counts[place] + self._itself - fewest
        if skew > self._max_skew:
            yield (
                f"topology spread: {self._counts[place] + self._itself} pods would be in {self._key}={place}, and "
                f"{fewest} {'in the least-filled domain' if self._enough else 'in a missing domain (minDomains)'}: a "
                f"skew of {skew}, above {self._max_skew}"
            )


def counted_by(constraint: Manifest, pod: Manifest) -> Manifest | None:
    """Which pods a constraint counts: those that it selects, with the pod's own values of its matchLabelKeys.

    A key that the pod does not have is left out. The apiserver may have merged them into the selector already.
    """
    selector: Manifest | None = constraint.get("labelSelector")
    own = labels(pod)
    same = [
        {"key": key, "operator": "In", "values": [own[key]]}
        for key in constraint.get("matchLabelKeys") or ()
        if key in own
    ]
    if selector is None or not same:
        return selector
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *same]}


def _is_eligible(node: Manifest, constraint: Manifest, pod: Manifest) -> bool:
    """Whether a node's domain counts: by default if the pod selects the node, whatever its taints."""
    if constraint.get("nodeAffinityPolicy") != "Ignore" and mismatches(pod, node):
        return False
    return constraint.get("nodeTaintsPolicy") != "Honor" or not untolerated(spec(pod).get("tolerations") or (), node)
