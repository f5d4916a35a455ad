"""Whether pods are where they would rather be, of the nodes on which they fit: core/prefer-*."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from schedproof.judge.clause import CHANGE_NODES, SCRIPTED_METRICS, SEVERAL_NODES, Clause
from schedproof.judge.evidence import decision_table, shown
from schedproof.judge.extender_calls import configuration
from schedproof.judge.placement import judge_placement, rule_binding
from schedproof.judge.preference import RANDOM_LIMIT
from schedproof.judge.verdict import Finding, failed, invalid, not_claimed, passed
from schedproof.oracle.preferences import falls_short

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from schedproof.candidates.claims import Claims
    from schedproof.history.history import History
    from schedproof.judge.ruling import Ruling

__all__ = ["CLAUSES", "judge_wishes"]


def judge_wishes(history: History, case: str) -> Finding:
    """No probe landed on a node while another, on which it fits, meets one of its preferences better, and none worse.

    Which nodes are the best ones must have changed, and a random chooser must be wrong almost surely.
    """
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    probes = [
        rule_binding(history, history.bindings[pod.uid])
        for pod in history.test_pods(case, "wish")
        if pod.uid in history.bindings
    ]
    best = [frozenset(_best(ruling)) for ruling in probes]
    for ruling, its in zip(probes, best, strict=True):
        if ruling.binding.node in its:
            continue
        if _loses_scores(history):
            return not_claimed(
                "an extender that filters whole nodes (nodeCacheCapable: false) takes from kube-scheduler's own "
                f"plugins what they score by (kubernetes #141781): {ruling.binding.pod} went to {ruling.binding.node}"
            )
        text = f"{ruling.binding.pod} went to {ruling.binding.node}, and would rather be on {' or '.join(sorted(its))}"
        table = decision_table(history, ruling.binding, ruling.per_node, expected=min(its))
        return failed(text, decisions=[table], **shown(history, case))
    chance = math.prod(len(its) / len(ruling.feasible) for ruling, its in zip(probes, best, strict=True))
    if not probes or chance >= RANDOM_LIMIT:
        return invalid(f"a random chooser would pass with probability {chance:.1e}", **shown(history, case))
    if frozenset.intersection(*best):
        return invalid("one node was the best for all pods", **shown(history, case))
    return passed(
        f"{len(probes)} pods went to the nodes that they prefer; a random chooser passes with probability {chance:.1e}"
    )


def _best(ruling: Ruling) -> list[str]:
    """The nodes on which the pod fits, without those of which another meets a preference better, and none worse."""
    its = ruling.wishes
    return [
        node for node in ruling.feasible if not any(falls_short(its[node], its[other]) for other in ruling.feasible)
    ]


def _loses_scores(history: History) -> bool:
    config = configuration(history)
    return bool(config.get("filterVerb")) and not config.get("nodeCacheCapable")


def _outweighed(claims: Claims, cluster: Mapping[str, Any]) -> str:
    """Why what a candidate reads of traffic may count more than what a pod prefers."""
    if claims.network is None or set(cluster["capabilities"]) >= SCRIPTED_METRICS:
        return ""
    return "its readings may count more, and without the capability scripted-metrics they cannot be made the same"


_FEATURE = frozenset({"scoring"})
_NEEDS = CHANGE_NODES | SEVERAL_NODES

CLAUSES = (
    Clause(
        "core/prefer-no-schedule", "A node with a PreferNoSchedule taint that a pod does not tolerate is avoided.",
        "Kubernetes: taints and tolerations; TaintToleration plugin", judge_wishes, needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
    ),
    Clause(
        "core/prefer-node-affinity", "The node gets the pod for which its preferred terms weigh most, added up.",
        "Kubernetes: preferred node affinity; NodeAffinity plugin", judge_wishes, needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
    ),
    Clause(
        "core/prefer-pod-affinity", "A pod goes where the pods are that it would rather be with.",
        "Kubernetes: preferred inter-pod affinity; InterPodAffinity plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
    ),
    Clause(
        "core/prefer-pod-anti-affinity", "A pod goes where the pods are not that it would rather be away from.",
        "Kubernetes: preferred inter-pod anti-affinity; InterPodAffinity plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
    ),
    Clause(
        "core/prefer-spread", "By ScheduleAnyway a pod goes to the place with the fewest of the pods that count.",
        "Kubernetes: pod topology spread constraints; PodTopologySpread plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
    ),
)  # fmt: skip
