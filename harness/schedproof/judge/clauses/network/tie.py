"""Whether equally quiet nodes all get pods."""

from __future__ import annotations

import math
from collections import Counter

from schedproof.history.history import History
from schedproof.judge.clause import SCRIPTED_METRICS, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.clauses.network.preference import RANDOM_LIMIT
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.outweighed import tie_broken
from schedproof.judge.rulings.ruling import rule_binding
from schedproof.judge.rulings.served import unless_not_served
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


@unless_not_served
@gives("no-choice", "outweighed", "ties-not-spread", "too-few", also=[judge_placement])
def judge_tie(history: History, case: str) -> Finding:
    """Every node got some of the pods, and none got so many that chance would hardly ever explain it.

    Pearson's chi-square test against equal shares. Round-robin is more even than chance, and passes.
    """
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    rulings = [
        rule_binding(history, history.bindings[pod.uid])
        for pod in history.test_pods(case, "tie")
        if pod.uid in history.bindings
    ]
    choices = {ruling.feasible for ruling in rulings}
    if len(choices) != 1 or len(nodes := choices.pop()) < 2:
        return invalid("no-choice", "there were no pods with the same two or more feasible nodes")
    if len(nodes) * (1 - 1 / len(nodes)) ** len(rulings) >= RANDOM_LIMIT:
        return invalid("too-few", f"{len(rulings)} pods are too few to show a preference")
    got = Counter(ruling.binding.node for ruling in rulings)
    shares = ", ".join(f"{node} {got[node]}" for node in nodes)
    even = len(rulings) / len(nodes)
    chance = chi_square_tail(sum((got[node] - even) ** 2 / even for node in nodes), len(nodes) - 1)
    evidence = Evidence(measured={"chance_of_such_shares": chance})
    least = min(nodes, key=lambda node: got[node])
    if chance < RANDOM_LIMIT and all(
        tie_broken(history, ruling, least) for ruling in rulings if ruling.binding.node != least
    ):
        return invalid(
            "outweighed",
            f"its own scores were equal, and kube-scheduler's plugins preferred other nodes to {least} each time "
            f"({shares}): nodes differ in more than their traffic",
            evidence,
        )
    if never := [node for node in nodes if not got[node]]:
        return failed(
            "ties-not-spread",
            f"{never[0]} got none of {len(rulings)} pods, although it was as quiet as the others: {shares}",
            evidence,
        )
    if chance < RANDOM_LIMIT:
        return failed(
            "ties-not-spread", f"{len(rulings)} pods were not spread over equally quiet nodes: {shares}", evidence
        )
    return passed(f"{len(rulings)} pods on {len(nodes)} equally quiet nodes: {shares}", evidence)


def chi_square_tail(statistic: float, freedom: int) -> float:
    """The probability that a chi-square variable with so many degrees of freedom is as large as that, or larger.

    The regularized upper gamma function Q(freedom / 2, statistic / 2), from Q(1/2, x) = erfc(sqrt(x)) or
    Q(1, x) = exp(-x) by Q(a + 1, x) = Q(a, x) + x^a exp(-x) / Gamma(a + 1) (NIST DLMF 8.4.6, 8.4.8, 8.8.6).
    """
    x = statistic / 2
    a, tail = (0.5, math.erfc(math.sqrt(x))) if freedom % 2 else (1.0, math.exp(-x))
    while a < freedom / 2:
        tail += math.exp(a * math.log(x) - x - math.lgamma(a + 1)) if x else 0.0
        a += 1
    return tail


CLAUSES = (
    Clause(
        "network/tie", "Nodes with equal traffic all get pods.",
        "the candidate's own claim", judge_tie, needs=SCRIPTED_METRICS, features=frozenset({"tie-spread"}),
        hint="Choose randomly among the nodes with the best score, or take them in turn; do not take the first.",
    ),
)  # fmt: skip
