"""Whether pods are on the nodes that meet their preferences best, of those on which they fit: core/prefer-*."""

from __future__ import annotations

from schedproof.candidate.claims import Claims
from schedproof.history.acts import RunCluster
from schedproof.history.history import History, TestPod
from schedproof.judge.clause import CHANGE_NODES, SCRIPTED_METRICS, SEVERAL_NODES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.clauses.network.preference import RANDOM_LIMIT, chance_of_all, excused_pods, used_before
from schedproof.judge.rulings.evidence import ruled_table
from schedproof.judge.rulings.extender_calls import configuration
from schedproof.judge.rulings.ruling import Ruling, rule_binding
from schedproof.judge.verdict import Finding, failed, invalid, not_claimed, passed
from schedproof.oracle.preferences import falls_short


def judge_wishes(history: History, case: str) -> Finding:
    """No probe landed on a node while another, on which it fits, meets one of its preferences better, and none worse.

    Which nodes are the best ones must have changed, and a random chooser must be wrong almost surely. A candidate that
    reads traffic may have kept a probe from nodes that had just got another, if later ones, further apart, are right.
    """
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    pods = [pod for pod in history.test_pods(case, "wish") if pod.uid in history.bindings]
    excused = excused_pods(history, pods)
    probes: list[tuple[TestPod, Ruling, frozenset[str]]] = []
    left_out = []
    for pod in pods:
        ruling = rule_binding(history, history.bindings[pod.uid])
        best = frozenset(_best(ruling))
        if ruling.binding.node in best:
            probes.append((pod, ruling, best))
            continue
        if pod.uid in excused and best <= used_before(history, pod, ruling):
            left_out.append(pod)
            continue
        if _loses_scores(history):
            return not_claimed(
                "an extender that filters whole nodes (nodeCacheCapable: false) takes from kube-scheduler's own "
                f"plugins what they score by (kubernetes #141781): {ruling.binding.pod} went to {ruling.binding.node}"
            )
        better = " or ".join(sorted(best))
        text = f"{ruling.binding.pod} went to {ruling.binding.node}, and its preferences are met better on {better}"
        table = ruled_table(ruling, expected=min(best))
        return failed("preference-ignored", text, decisions=[table])
    odds = [(pod, len(best) / len(ruling.feasible)) for pod, ruling, best in probes]
    chance = chance_of_all(odds, left_out)
    if not probes or chance >= RANDOM_LIMIT:
        return invalid(
            "random-chooser-passes",
            f"a random chooser would pass with probability {chance:.1e}",
        )
    if frozenset.intersection(*(best for _, _, best in probes)):
        return invalid("best-node-unchanged", "one node was the best for all pods")
    counts = f"; {len(left_out)} soon after others went elsewhere (network.own-placements)" if left_out else ""
    return passed(
        f"{len(probes)} pods went to the nodes that they prefer; a random chooser passes with probability {chance:.1e}"
        + counts
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


def _outweighed(claims: Claims, cluster: RunCluster) -> str:
    """Why what a candidate reads of traffic may count more than what a pod prefers."""
    if claims.network is None or set(cluster.capabilities) >= SCRIPTED_METRICS:
        return ""
    return "its readings may count more, and without the capability scripted-metrics they cannot be made the same"


_FEATURE = frozenset({"scoring"})
_NEEDS = CHANGE_NODES | SEVERAL_NODES

CLAUSES = (
    Clause(
        "core/prefer-no-schedule", "A pod avoids nodes with a PreferNoSchedule taint that it does not tolerate.",
        "Kubernetes: taints and tolerations; TaintToleration plugin", judge_wishes, needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Score nodes by the PreferNoSchedule taints that a pod does not tolerate.",
    ),
    Clause(
        "core/prefer-node-affinity",
        "A pod goes to the node where the weights of the matching preferred node affinity terms have the largest sum.",
        "Kubernetes: preferred node affinity; NodeAffinity plugin", judge_wishes, needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Per node, add up the weights of the preferred terms that match it: count no terms.",
    ),
    Clause(
        "core/prefer-pod-affinity", "A pod goes to a node with pods that its preferred pod affinity matches.",
        "Kubernetes: preferred inter-pod affinity; InterPodAffinity plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Per topology value, add up the weights of the preferred terms for each pod they mean.",
    ),
    Clause(
        "core/prefer-pod-anti-affinity",
        "A pod goes to a node without pods that its preferred pod anti-affinity matches.",
        "Kubernetes: preferred inter-pod anti-affinity; InterPodAffinity plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Take the weights of preferred anti-affinity away from what affinity gives.",
    ),
    Clause(
        "core/prefer-spread", "With ScheduleAnyway, a pod goes to the topology domain with the fewest matching pods.",
        "Kubernetes: pod topology spread constraints; PodTopologySpread plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Per topology value, count the pods that a ScheduleAnyway constraint selects.",
    ),
)  # fmt: skip
