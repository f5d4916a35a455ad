"""Taints, tolerations and cordons.

Rules: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/, the plugins
TaintToleration and NodeUnschedulable, and k8s.io/api/core/v1/toleration.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedproof.oracle.manifest import Manifest, spec
from schedproof.oracle.reason import Reason, reasons

_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def repulsions(pod: Manifest, node: Manifest) -> tuple[Reason, ...]:
    """Why a node repels a pod: a reason for the cordon, and for each taint, that it does not tolerate.

    NoSchedule and NoExecute exclude the node; PreferNoSchedule only counts against it. A cordoned node
    (spec.unschedulable) is treated as if it had the taint node.kubernetes.io/unschedulable:NoSchedule, whether or not
    the node controller has set it yet.
    """
    tolerations = spec(pod).get("tolerations") or ()
    cordoned = spec(node).get("unschedulable") and _repels(_CORDON, tolerations)
    return (
        *reasons("cordon", ["cordoned: spec.unschedulable is set"] if cordoned else []),
        *reasons("taints", (f"taint {_shown(taint)} is not tolerated" for taint in untolerated(tolerations, node))),
    )


def untolerated(tolerations: Sequence[Manifest], node: Manifest) -> list[Manifest]:
    """The taints of a node, NoSchedule and NoExecute, that these tolerations do not match."""
    return [
        taint
        for taint in spec(node).get("taints") or ()
        if taint["effect"] in ("NoSchedule", "NoExecute") and _repels(taint, tolerations)
    ]


def unwelcome(tolerations: Sequence[Manifest], node: Manifest) -> list[Manifest]:
    """The taints of a node, PreferNoSchedule, that these tolerations do not match."""
    return [
        taint
        for taint in spec(node).get("taints") or ()
        if taint["effect"] == "PreferNoSchedule" and _repels(taint, tolerations)
    ]


def _repels(taint: Manifest, tolerations: Sequence[Manifest]) -> bool:
    return not any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Manifest, taint: Manifest) -> bool:
    """Whether a toleration matches a taint.

    An empty effect matches every effect, an empty key every key. The operator `Exists` matches every value; `Equal`,
    the default, matches the same value only (an empty one included). `Lt` and `Gt` compare numbers, behind the feature
    gate TaintTolerationComparisonOperators, which is off in 1.36: there they match nothing. tolerationSeconds matters
    to eviction, not to scheduling.
    """
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def _shown(taint: Manifest) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"
