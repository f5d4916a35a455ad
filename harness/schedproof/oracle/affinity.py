"""Node selection: nodeSelector and required node affinity.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/, the plugin NodeAffinity
(with no addedAffinity, its default), and k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from schedproof.oracle.manifest import Manifest, labels, spec

_INTEGER = re.compile(r"[+-]?[0-9]+")


def mismatches(pod: Manifest, node: Manifest) -> tuple[str, ...]:
    """Why the pod does not select the node. Both the nodeSelector and the required affinity must match.

    Affinity terms are ORed, the contents of a term are ANDed. An empty term selects no node, and neither does an
    affinity without terms.
    """
    own = labels(node)
    reasons = [
        f"node selector {key}={value}: the node has {_seen(key, own)}"
        for key, value in sorted((spec(pod).get("nodeSelector") or {}).items())
        if own.get(key) != value
    ]
    affinity = (spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        failures = [_failure(term, node) for term in required.get("nodeSelectorTerms") or ()]
        if all(failures):
            reasons.append(f"required node affinity: {' or '.join(failures) or 'it has no terms'}")
    return tuple(reasons)


def selects_node(term: Manifest, node: Manifest) -> bool:
    """Whether one term of a node affinity selects the node."""
    return not _failure(term, node)


def _failure(term: Manifest, node: Manifest) -> str:
    """The first part of a term that does not match; empty if the node is selected."""
    own, fields = labels(node), {"metadata.name": node["metadata"]["name"]}
    expressions, field_terms = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not field_terms:
        return "an empty term selects no node"
    for expression in expressions:
        if not matches(expression, own):
            return f"{_shown(expression)} (the node has {_seen(expression['key'], own)})"
    for field in field_terms:
        if not _field_matches(field, fields):
            return f"{_shown(field)} (the node has {_seen(field['key'], fields)})"
    return ""


def matches(requirement: Manifest, own: Mapping[str, str]) -> bool:
    """Whether labels satisfy one requirement of a node selector or a label selector.

    `NotIn` and `DoesNotExist` match if the label is missing; all others need it. `Gt` and `Lt` match only if the label
    and the only value are 64-bit integers. A malformed requirement (no values for `In`, a value for `Exists`) never
    matches (k8s.io/apimachinery/pkg/labels/selector.go, NewRequirement and Matches).
    """
    operator, values = requirement["operator"], requirement.get("values") or ()
    value = own.get(requirement["key"])
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return bool(values) and value not in values
        case "Exists":
            return not values and value is not None
        case "DoesNotExist":
            return not values and value is None
        case "Gt" | "Lt":
            return _compares(operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: Sequence[str]) -> bool:
    bound = _integer(values[0]) if len(values) == 1 else None
    number = _integer(value)
    if number is None or bound is None:
        return False
    return number > bound if operator == "Gt" else number < bound


def _integer(text: str | None) -> int | None:
    """Go's strconv.ParseInt(text, 10, 64): leading zeros are accepted, white space and underscores are not."""
    if text is None or not _INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        return None
    return int(text)


def _field_matches(requirement: Manifest, fields: Mapping[str, str]) -> bool:
    """The rule for matchFields: `In` and `NotIn` with exactly one value. metadata.name is the only field."""
    operator, values = requirement["operator"], requirement.get("values") or ()
    if len(values) != 1 or operator not in ("In", "NotIn"):
        return False
    return (fields.get(requirement["key"]) in values) is (operator == "In")


def _shown(requirement: Manifest) -> str:
    values = f" [{', '.join(requirement['values'])}]" if requirement.get("values") else ""
    return f"{requirement['key']} {requirement['operator']}{values}"


def _seen(key: str, own: Mapping[str, str]) -> str:
    return f"{key}={own[key]}" if key in own else f"no {key}"
