"""Whether the quietest node gets the pod if free resources, preferences or many other nodes compete with traffic.

`claims.network.priority` says whether traffic comes first. If it does, the candidate must prefer the quietest node also
among nodes that differ in what kube-scheduler's default plugins score: free resources (NodeResourcesFit,
NodeResourcesBalancedAllocation), PreferNoSchedule taints (TaintToleration), preferred node and pod affinity, spread,
images (ImageLocality).
"""

from __future__ import annotations

from schedproof.candidate.claims import Claims
from schedproof.history.history import History
from schedproof.judge.clause import CHANGE_NODES, IDLE_NODES, SCRIPTED_METRICS, Clause
from schedproof.judge.clauses.network.preference import judge_probes
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.decisions import ruled_table
from schedproof.judge.rulings.ruling import rule_binding
from schedproof.judge.rulings.served import unless_not_served
from schedproof.judge.verdict import Finding, gives, invalid

MANY = 96
"""Nodes: more than the number at which schedulers commonly stop looking (5, 10, 16, 20), or divide a query (50).

From 100 on, kube-scheduler scores only some of them, unless it is configured to score all.
"""
TURNS = 8
"""How many of them must be the quietest in turn."""


@unless_not_served
@gives(also=[judge_probes])
def judge_before_others(history: History, case: str) -> Finding:
    """All probes went to the quietest node, which two nodes were in turn, whatever favored the other nodes."""
    return judge_probes(history, case, distinct=2, alike=False)


@unless_not_served
@gives("too-few", also=[judge_probes])
def judge_many_nodes(history: History, case: str) -> Finding:
    """All probes went to the quietest of many feasible nodes; at least `TURNS` of these were that in turn."""
    if (finding := judge_probes(history, case, distinct=TURNS)).outcome != "passed":
        return finding
    for pod in history.test_pods(case, "probe"):
        ruling = rule_binding(history, history.bindings[pod.uid])
        if (found := len(ruling.feasible)) < MANY:
            return invalid(
                "too-few", f"{pod.name} had {found} feasible nodes instead of {MANY}",
                Evidence(decisions=[ruled_table(ruling)]),
            )  # fmt: skip
    return finding


def only_breaks_ties(claims: Claims) -> str:
    """Why traffic may count less than other criteria; empty if the candidate claims that it comes first."""
    assert claims.network is not None
    first = claims.network.priority == "first"
    return "" if first else "the candidate claims that traffic only breaks ties (network.priority: tie-breaker)"


_HINT = (
    "Compare traffic before anything else. In a kube-scheduler, one point of its score must count more than all other "
    "score plugins together (`schedproof check` compares the weights); otherwise claim network.priority: tie-breaker."
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
        hint="Compare all feasible nodes with each other: not the first few of a list, not a sample, not in groups.",
    ),
)  # fmt: skip
