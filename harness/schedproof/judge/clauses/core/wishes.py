"""Whether pods go to the feasible nodes that match their preferences best: core/prefer-*."""

from __future__ import annotations

from schedproof.candidate.claims import Claims
from schedproof.history.acts import RunCluster
from schedproof.history.history import History, TestPod
from schedproof.judge.clause import CHANGE_NODES, SCRIPTED_METRICS, SEVERAL_NODES, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.clauses.network.preference import RANDOM_LIMIT, chance_of_all, excused_pods, used_before
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.decisions import ruled_table
from schedproof.judge.rulings.extender_calls import configuration
from schedproof.judge.rulings.ruling import Ruling, rule_binding
from schedproof.judge.verdict import Finding, failed, gives, invalid, not_claimed, passed
from schedproof.oracle.preferences import falls_short


@gives("best-node-unchanged", "not-applicable", "preference-ignored", "random-chooser-passes", also=[judge_placement])
def judge_wishes(history: History, case: str) -> Finding:
    """No probe went to a node if another feasible node matches one of its preferences better and none worse.

    The best nodes must change during the case, and a random choice must fail almost surely. A candidate that reads
    traffic may avoid a node that just got another probe, if later probes, further apart, are placed right.
    """
    if (finding := judge_placement(history, case)).outcome != "passed":
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
                "an extender that filters whole nodes (nodeCacheCapable: false) disables the scores of "
                f"kube-scheduler's own plugins (kubernetes #141781): {ruling.binding.pod} went to "
                f"{ruling.binding.node}"
            )
        better = " or ".join(sorted(best))
        text = f"{ruling.binding.pod} went to {ruling.binding.node}, but its preferences are matched better on {better}"
        table = ruled_table(ruling, expected=min(best))
        return failed("preference-ignored", text, Evidence(decisions=[table]))
    odds = [(pod, len(best) / len(ruling.feasible)) for pod, ruling, best in probes]
    chance = chance_of_all(odds, left_out)
    if not probes or chance >= RANDOM_LIMIT:
        return invalid(
            "random-chooser-passes",
            f"a random choice would pass with probability {chance:.1e}",
        )
    if frozenset.intersection(*(best for _, _, best in probes)):
        return invalid("best-node-unchanged", "the same node was the best for all pods")
    counts = (
        f"; {len(left_out)} soon after other placements went elsewhere (network.own-placements)" if left_out else ""
    )
    return passed(
        f"{len(probes)} pods went to the nodes that they prefer; a random choice passes with probability {chance:.1e}"
        + counts
    )


def _best(ruling: Ruling) -> list[str]:
    """The feasible nodes, without those for which another node matches a preference better, and none worse."""
    its = ruling.wishes
    return [
        node for node in ruling.feasible if not any(falls_short(its[node], its[other]) for other in ruling.feasible)
    ]


def _loses_scores(history: History) -> bool:
    config = configuration(history)
    return bool(config.get("filterVerb")) and not config.get("nodeCacheCapable")


def _outweighed(claims: Claims, cluster: RunCluster) -> str:
    """Why the traffic readings of a candidate may outweigh the preferences of a pod."""
    if claims.network is None or set(cluster.capabilities) >= SCRIPTED_METRICS:
        return ""
    return "its readings may outweigh them, and without the capability scripted-metrics they cannot be made equal"


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
        hint="Per node, add up the weights of the preferred terms that match it: do not count terms.",
    ),
    Clause(
        "core/prefer-pod-affinity", "A pod goes to a node with pods that its preferred pod affinity matches.",
        "Kubernetes: preferred inter-pod affinity; InterPodAffinity plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Per topology value, add up the weights of the preferred terms for each pod that they match.",
    ),
    Clause(
        "core/prefer-pod-anti-affinity",
        "A pod goes to a node without pods that its preferred pod anti-affinity matches.",
        "Kubernetes: preferred inter-pod anti-affinity; InterPodAffinity plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Subtract the weights of preferred anti-affinity.",
    ),
    Clause(
        "core/prefer-pod-affinity-symmetry",
        "A pod goes to a node with pods whose preferred affinity matches it, and not near pods whose preferred "
        "anti-affinity does.",
        "InterPodAffinity plugin: ignorePreferredTermsOfExistingPods is false by default", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Per topology value, add the weights of preferred terms of existing pods that match the pod.",
    ),
    Clause(
        "core/prefer-spread", "With ScheduleAnyway, a pod goes to the topology domain with the fewest matching pods.",
        "Kubernetes: pod topology spread constraints; PodTopologySpread plugin", judge_wishes,
        needs=_NEEDS, features=_FEATURE,
        obstacle=_outweighed,
        hint="Per topology value, count the pods that a ScheduleAnyway constraint selects.",
    ),
)  # fmt: skip
