"""Label selectors, and affinity terms between pods.

Rules: k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector) and
k8s.io/kube-scheduler/framework (AffinityTerm.Matches).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schedproof.oracle.affinity import matches
from schedproof.oracle.manifest import Manifest, labels, namespace, spec


def selects(selector: Manifest | None, own: Mapping[str, str]) -> bool:
    """Whether a label selector matches these labels. No selector matches nothing, an empty selector everything."""
    if selector is None:
        return False
    return all(own.get(key) == value for key, value in (selector.get("matchLabels") or {}).items()) and all(
        matches(requirement, own) for requirement in selector.get("matchExpressions") or ()
    )


def required_terms(pod: Manifest, kind: str) -> Sequence[Manifest]:
    """The required terms of a pod's `podAffinity` or `podAntiAffinity`."""
    affinity = (spec(pod).get("affinity") or {}).get(kind) or {}
    terms: Sequence[Manifest] = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return terms


def preferred_terms(pod: Manifest, kind: str) -> Sequence[Manifest]:
    """The preferred terms of a pod's `podAffinity` or `podAntiAffinity`, with their weights."""
    affinity = (spec(pod).get("affinity") or {}).get(kind) or {}
    terms: Sequence[Manifest] = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return terms


def hard_constraints(pod: Manifest) -> list[Manifest]:
    """The topology spread constraints that exclude nodes; DoNotSchedule is the default."""
    constraints = spec(pod).get("topologySpreadConstraints") or ()
    return [constraint for constraint in constraints if constraint.get("whenUnsatisfiable") != "ScheduleAnyway"]


def soft_constraints(pod: Manifest) -> list[Manifest]:
    """The topology spread constraints that exclude no node, but prefer some."""
    constraints = spec(pod).get("topologySpreadConstraints") or ()
    return [constraint for constraint in constraints if constraint.get("whenUnsatisfiable") == "ScheduleAnyway"]


def means(term: Manifest, owner: Manifest, other: Manifest, namespaces: Mapping[str, Mapping[str, str]] | None) -> bool:
    """Whether an affinity term of `owner` matches the pod `other`.

    It matches pods of its owner's namespace, unless it names namespaces or selects them by their labels; those two are
    ORed. matchLabelKeys and mismatchLabelKeys are not read: the apiserver has merged them into the labelSelector when
    the pod was created (pkg/registry/core/pod/strategy.go, mutatePodAffinity).

    If `namespaces` is None their labels are not known, and a namespaceSelector may match any namespace.
    """
    named, by_labels = term.get("namespaces") or (), term.get("namespaceSelector")
    if not named and by_labels is None:
        inside = namespace(other) == namespace(owner)
    else:
        inside = namespace(other) in named or (
            by_labels is not None and (namespaces is None or selects(by_labels, namespaces.get(namespace(other), {})))
        )
    return inside and selects(term.get("labelSelector"), labels(other))
