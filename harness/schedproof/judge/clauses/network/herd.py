"""Whether a burst of pods is spread before readings can show the first placements."""

from __future__ import annotations

from schedproof.candidate.claims import Claims
from schedproof.history.history import History
from schedproof.judge.clause import SCRIPTED_METRICS, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.late import LATE, LateDecisions
from schedproof.judge.rulings.ruling import rule_binding
from schedproof.judge.rulings.served import unless_not_served
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


def not_counting(claims: Claims) -> str:
    """Why a candidate is not required to spread bursts."""
    assert claims.network is not None
    counts = claims.network.own_placements == "counted"
    return (
        "" if counts else "the candidate does not claim to count its own placements (network.own-placements: counted)"
    )


@unless_not_served
@gives("answered-late", "burst-on-one-node", "no-choice", also=[judge_placement])
def judge_herd(history: History, case: str) -> Finding:
    """Pods that were bound within one window of readings, and fit on several nodes, did not all go to one node."""
    assert history.claims.network is not None
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    pods = [pod for pod in history.test_pods(case, "herd") if pod.uid in history.bindings]
    bound = [history.bindings[pod.uid] for pod in pods]
    window = history.claims.network.window
    bursts = ([binding for binding in bound if 0.0 <= binding.at - first.at <= window] for first in bound)
    burst = max(bursts, key=len, default=[])
    nodes = {binding.node for binding in burst}
    choices = {len(rule_binding(history, binding).feasible) for binding in burst}
    if len(burst) < 2 or min(choices) < 2:
        return invalid("no-choice", "there was no burst of pods with several feasible nodes")
    if len(nodes) == 1:
        late = LateDecisions(history)
        if why := late.why_between(min(pod.at for pod in pods), max(binding.at for binding in burst)):
            return invalid(LATE, why)
        return failed("burst-on-one-node", f"all {len(burst)} pods of a burst went to {nodes.pop()}")
    return passed(f"{len(burst)} pods of a burst went to {len(nodes)} nodes")


CLAUSES = (
    Clause(
        "network/herd",
        "A burst of pods that no reading shows yet does not all go to one node.",
        "the candidate's own claim", judge_herd, needs=SCRIPTED_METRICS, unclaimed=not_counting,
        hint="Count new placements until readings show them, if claims.network.own-placements is counted.",
    ),
)  # fmt: skip
