"""Does the quietest node get the pod where something competes with traffic: free room, preferences, many other nodes?

`claims.network.priority` says whether traffic comes first. A candidate that claims so is held to it on nodes that
differ in what kube-scheduler's default plugins score as well: what is free (NodeResourcesFit,
NodeResourcesBalancedAllocation), PreferNoSchedule taints (TaintToleration), preferred node and pod affinity, spread,
images (ImageLocality).
"""

from __future__ import annotations

from schedproof.candidate.claims import Claims
from schedproof.history.history import History
from schedproof.judge.clause import CHANGE_NODES, IDLE_NODES, SCRIPTED_METRICS, Clause
from schedproof.judge.clauses.network.preference import judge_probes
from schedproof.judge.rulings.evidence import ruled_table
from schedproof.judge.rulings.ruling import rule_binding
from schedproof.judge.verdict import Finding, invalid

MANY = 24
"""Nodes: more than schedulers commonly look at before they choose (5, 10, 16, 20)."""


def judge_before_others(history: History, case: str) -> Finding:
    """All probes landed on the quietest node, which two nodes were in turn, whatever else spoke for the others."""
    return judge_probes(history, case, distinct=2, alike=False)


def judge_many_nodes(history: History, case: str) -> Finding:
    """All probes landed on the quietest of many feasible nodes, which a third of these were in turn at least."""
    finding = judge_probes(history, case, distinct=MANY // 3)
    if finding.outcome != "passed":
        return finding
    for pod in history.test_pods(case, "probe"):
        ruling = rule_binding(history, history.bindings[pod.uid])
        if (found := len(ruling.feasible)) < MANY:
            return invalid(
                "too-few", f"{pod.name} fitted on {found} nodes, and {MANY} are meant",
                decisions=[ruled_table(ruling)],
            )  # fmt: skip
    return finding


def only_breaks_ties(claims: Claims) -> str:
    """Why traffic need not decide against anything else; empty where it is claimed to come first."""
    assert claims.network is not None
    first = claims.network.priority == "first"
    return "" if first else "traffic is claimed to break ties only (network.priority: tie-breaker)"


_HINT = (
    "Compare traffic before all else. In a kube-scheduler, one point of its scores must count more than all other "
    "score plugins together (`schedproof check` counts them); else claim network.priority: tie-breaker."
)


CLAUSES = (
    Clause(
        "network/before-capacity",
        "If nodes differ in free resources, the quietest node gets the pod, whether it is the fullest or the emptiest.",
        "the candidate's own claim (network.priority: first)", judge_before_others,
        needs=SCRIPTED_METRICS | CHANGE_NODES, unclaimed=only_breaks_ties,
        hint=_HINT,
    ),
    Clause(
        "network/before-preferences",
        "The quietest node gets the pod even if its taints, labels, images and pods make it the least preferred.",
        "the candidate's own claim (network.priority: first)", judge_before_others,
        needs=SCRIPTED_METRICS | CHANGE_NODES, unclaimed=only_breaks_ties,
        hint=_HINT,
    ),
    Clause(
        "network/many-nodes",
        f"Of {MANY} nodes the quietest gets the pod, at any position among them.",
        "the candidate's own claim", judge_many_nodes, needs=SCRIPTED_METRICS | CHANGE_NODES | IDLE_NODES,
        hint="Compare all nodes that fit: take neither the first few of a list, nor a sample.",
    ),
)  # fmt: skip
