"""Rules about pods in relation to each other, judged by the final state: required affinity, anti-affinity, and spread.

`check` judges these by the pods at the time of the decision, which is not known for a round. In a round pods only come,
and nodes stay. Then some of what must have been true at each decision is still true in the end, and that is judged
here; every other use of these rules is named as not judged. Sources: the plugins InterPodAffinity and PodTopologySpread
(pkg/scheduler/framework/plugins), https://kubernetes.io/docs/concepts/scheduling-eviction/.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from schedproof.oracle.affinity import mismatches
from schedproof.oracle.final_state.pod_kinds import Kind, Kinds, Placed
from schedproof.oracle.manifest import Manifest, full_name, labels, spec
from schedproof.oracle.selectors import hard_constraints, means, required_terms, selects
from schedproof.oracle.taints import repulsions

_TERM_FIELDS = {"labelSelector", "namespaceSelector", "namespaces", "topologyKey"}
_SPREAD_FIELDS = {
    "labelSelector", "maxSkew", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "topologyKey",
    "whenUnsatisfiable",
}  # fmt: skip


@dataclasses.dataclass
class _Domain:
    """The pods of each kind in one domain, and their names; `judged` are those that the candidate placed.

    A node without the topology's label is a domain by itself, and is not `labelled`.
    """

    labelled: bool
    count: Counter[Kind] = dataclasses.field(default_factory=Counter)
    judged: Counter[Kind] = dataclasses.field(default_factory=Counter)
    names: dict[Kind, list[str]] = dataclasses.field(default_factory=dict)


class Neighbourhood:
    """All pods that are bound in the end. `wrong` and `not_judged` are sentences.

    Args:
        nodes: by name.
        initial: pods that others have placed: errors among them alone are not reported.
        pods: those that the candidate has placed.
        namespaces: their labels, by name.
        kinds: of these pods.
    """

    def __init__(
        self,
        nodes: Mapping[str, Manifest],
        initial: Sequence[Placed],
        pods: Sequence[Placed],
        namespaces: Mapping[str, Mapping[str, str]],
        kinds: Kinds,
    ) -> None:
        self._nodes, self._namespaces = nodes, namespaces
        self._placed = [
            (pod, str(node), kinds.of(pod), judged)
            for listed, judged in ((initial, False), (pods, True))
            for pod, node in listed
            if node in nodes
        ]
        self._kinds = {kind: pod for kind, (pod, _) in kinds.examples([*initial, *pods]).items()}
        self._domains: dict[str, dict[str, _Domain]] = {}
        self.wrong: list[str] = []
        self.not_judged: list[str] = []
        for kind, pod in self._kinds.items():
            for term in required_terms(pod, "podAntiAffinity"):
                self._judge_apart(kind, pod, term)
            for term in required_terms(pod, "podAffinity"):
                self._judge_together(kind, pod, term)
            for constraint in hard_constraints(pod):
                self._judge_spread(kind, pod, constraint)

    def _judge_apart(self, kind: Kind, pod: Manifest, term: Manifest) -> None:
        """No pod that the term matches is in a domain with a pod of this kind: the later one should have gone
        elsewhere.
        """
        if unknown := term.keys() - _TERM_FIELDS:
            self.not_judged.append(f"required anti-affinity with {', '.join(sorted(unknown))}")
            return
        meant = self._meant(term, pod)
        for place, domain in self._by(term["topologyKey"]).items():
            others = sum(domain.count[other] for other in meant) - (kind in meant)
            involved = domain.judged[kind] + sum(domain.judged[other] for other in meant)
            if domain.labelled and domain.count[kind] and others > 0 and involved:
                first = domain.names[kind][-1]
                second = next(name for other in meant for name in domain.names.get(other, ()) if name != first)
                self.wrong.append(
                    f"{first} and {second} are both in {place}, which the required anti-affinity of {first} forbids"
                )

    def _judge_together(self, kind: Kind, pod: Manifest, term: Manifest) -> None:
        """In a domain with a pod of this kind is another pod that the term matches, which must have been there before.

        The first of a group that matches itself may go anywhere, so that a single pod may be alone; but not if pods
        that the term matches were there from the beginning.
        """
        if unknown := term.keys() - _TERM_FIELDS:
            self.not_judged.append(f"required affinity with {', '.join(sorted(unknown))}")
            return
        meant = self._meant(term, pod)
        places = self._by(term["topologyKey"])
        lonely = [
            (place, domain)
            for place, domain in places.items()
            if domain.judged[kind]
            and (not domain.labelled or sum(domain.count[other] for other in meant) - (kind in meant) <= 0)
        ]
        founded = any(domain.count[other] > domain.judged[other] for domain in places.values() for other in meant)
        for place, domain in lonely[0 if founded or kind not in meant else 1 :]:
            lonely_pod = domain.names[kind][-1]
            self.wrong.append(f"{lonely_pod} is in {place}, which has no pod that its required affinity matches")

    def _judge_spread(self, kind: Kind, pod: Manifest, constraint: Manifest) -> None:
        """The skew is never above its maximum: the minimum only grows, and each pod that came was within it then.

        That is true if all pods that are counted are of one kind.
        """
        key = constraint["topologyKey"]
        name = f"topology spread over {key}"
        if unknown := constraint.keys() - _SPREAD_FIELDS:
            self.not_judged.append(f"{name} with {', '.join(sorted(unknown))}")
            return
        counted = [
            other
            for other, sample in self._kinds.items()
            if other.namespace == kind.namespace and selects(constraint.get("labelSelector"), labels(sample))
        ]
        if counted != [kind]:
            self.not_judged.append(f"{name}, where it counts other pods than those of one kind")
            return
        places = {node: labels(self._nodes[node])[key] for node in self._eligible(pod, constraint)}
        counts = Counter(dict.fromkeys(places.values(), 0))
        latest: dict[str, str] = {}
        for other, node, its_kind, judged in self._placed:
            if its_kind == kind and node in places:
                counts[places[node]] += 1
                if judged:
                    latest[places[node]] = full_name(other)
            elif its_kind == kind and judged and key not in labels(self._nodes[node]):
                self.wrong.append(f"{full_name(other)} is on {node}, which lacks the topology label {key}")
        fewest = 0 if len(counts) < (constraint.get("minDomains") or 1) else min(counts.values(), default=0)
        for place, last in latest.items():
            if counts[place] - fewest > constraint["maxSkew"]:
                self.wrong.append(
                    f"{counts[place]} pods such as {last} are in {key}={place}, and {fewest} in another domain: the "
                    f"skew may be {constraint['maxSkew']} at most"
                )

    def _eligible(self, pod: Manifest, constraint: Manifest) -> list[str]:
        """The nodes that count for a constraint: by default taints do not matter, and the pod's node selection does."""
        keys = [listed.get("topologyKey") for listed in spec(pod).get("topologySpreadConstraints") or ()]
        return [
            name
            for name, node in self._nodes.items()
            if all(key in labels(node) for key in keys)
            and (constraint.get("nodeAffinityPolicy") == "Ignore" or not mismatches(pod, node))
            and (constraint.get("nodeTaintsPolicy") != "Honor" or not repulsions(pod, node))
        ]

    def _by(self, key: str) -> dict[str, _Domain]:
        """The pods in each domain, `key=value`."""
        if key not in self._domains:
            self._domains[key] = {}
            for pod, node, kind, judged in self._placed:
                value = labels(self._nodes[node]).get(key)
                place = f"{key}={value}" if value is not None else f"{node}, which has no {key}"
                domain = self._domains[key].setdefault(place, _Domain(value is not None))
                domain.count[kind] += 1
                domain.judged[kind] += judged
                domain.names.setdefault(kind, []).append(full_name(pod))
        return self._domains[key]

    def _meant(self, term: Manifest, owner: Manifest) -> list[Kind]:
        return [kind for kind, sample in self._kinds.items() if means(term, owner, sample, self._namespaces)]
