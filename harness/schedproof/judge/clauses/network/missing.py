"""How nodes without readings are treated while other nodes have readings."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

from schedproof.candidate.claims import OnMissing
from schedproof.history.acts import NodesLoad
from schedproof.history.history import History, TestPod
from schedproof.judge.clause import CHANGE_NODES, SCRIPTED_METRICS, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.clauses.network.preference import RANDOM_LIMIT, excused_pods, placements_may_explain, quietest_of
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.decisions import ruled_table
from schedproof.judge.rulings.late import LATE, LateDecisions
from schedproof.judge.rulings.outweighed import outweighed, tie_broken
from schedproof.judge.rulings.ruling import Ruling, rule_binding
from schedproof.judge.rulings.scored import scores_of, unscored
from schedproof.judge.rulings.served import unless_not_served
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.normalization.policies import unlike_avoided, unlike_median

_SQUEEZED = 0.01
"""As a fraction of the largest reading: closer readings may have the same score on a scale of 0 to 100
(network/outlier).
"""


@dataclasses.dataclass(frozen=True)
class _Decision:
    pod: TestPod
    ruling: Ruling
    traffic: Mapping[str, float]
    """The traffic of the nodes that had a reading."""
    known: tuple[str, ...]
    """The feasible nodes with a reading."""
    resolution: float
    """The claimed resolution."""

    def is_louder(self, reading: float) -> bool:
        """Whether a reading exceeds the quietest known node's, by enough to tell them apart beside the busiest node."""
        readings = [self.traffic[node] for node in self.known]
        return reading - min(readings) > min(_SQUEEZED, self.resolution) * max(readings)

    @property
    def chosen(self) -> str:
        return self.ruling.binding.node

    def at(self, node: str) -> _Decision:
        """The same decision, had the pod gone to `node`."""
        binding = dataclasses.replace(self.ruling.binding, node=node)
        return dataclasses.replace(self, ruling=dataclasses.replace(self.ruling, binding=binding))

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(node for node in self.ruling.feasible if node not in self.known)


@unless_not_served
@gives(
    "against-on-missing", "answered-late", "call-failed", "no-choice", "outweighed",
    also=[judge_placement],
)  # fmt: skip
def judge_missing_node(history: History, case: str) -> Finding:
    """Nodes without samples blocked no pod, and were treated as the claimed policy says.

    `neutral`: as the median of the known nodes, so never before the two quietest. `avoid`: only if no known node is
    feasible. `reject`: never.
    """
    assert history.claims.network is not None
    policy = history.claims.network.on_missing
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if wrong := unscored(history, case):
        return failed("call-failed", wrong)
    probes = [pod for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    decisions = [_decision(history, pod) for pod in probes]
    tried = [decision for decision in decisions if decision.known and decision.missing]
    late = LateDecisions(history)
    judged = [decision for decision in tried if not late.why(decision.pod)]
    excused = excused_pods(history, probes)
    scores = scores_of(history, case)
    for decision in judged:
        quietest, _ = quietest_of(decision.traffic, decision.known)
        wrong = _against_policy(policy, decision, quietest)
        if wrong and not (decision.pod.uid in excused and _placements_may_explain(history, policy, decision)):
            first, why = outweighed(history, decision.ruling)
            if first and not any(_against_policy(policy, decision.at(node), quietest) for node in first):
                return invalid("outweighed", f"{decision.pod.name}: {why}")
            pod, went_to = decision.pod.name, decision.chosen
            text = f"{pod} went to {went_to}; claimed on-missing {policy}: a node without samples {wrong}"
        elif decision.pod.uid not in excused and (
            wrong := _scored_against(policy, decision, scores.get(decision.pod.name, {}))
        ):
            text = f"{decision.pod.name}: claimed on-missing {policy}: {wrong}"
        else:
            continue
        table = ruled_table(decision.ruling, expected=quietest)
        return failed("against-on-missing", text, Evidence(decisions=[table]))
    if (late_one := _missed(policy, tried, judged)) is not None:
        return invalid(LATE, f"{late_one.pod.name}: {late.why(late_one.pod)}")
    if not judged:
        return invalid("no-choice", "no pod was placed while one of its feasible nodes had no samples")
    undecided = [
        decision
        for decision in judged
        if not any(tie_broken(history, decision.ruling, node) for node in decision.missing)
    ]
    if policy == "neutral" and (wrong := _always_avoided(undecided)):
        return failed("against-on-missing", f"claimed on-missing neutral: {wrong}")
    return passed(f"{len(judged)} decisions with a node without samples; claimed: {policy}")


def _decision(history: History, pod: TestPod) -> _Decision:
    ruling = rule_binding(history, history.bindings[pod.uid])
    loads = (dict(r.traffic) for r in history.of(NodesLoad, pod.case) if r.phase == pod.phase)
    traffic: dict[str, float] = next(loads, {})
    assert history.claims.network is not None
    known = tuple(node for node in ruling.feasible if node in traffic)
    return _Decision(pod, ruling, traffic, known, history.claims.network.resolution)


def _placements_may_explain(history: History, policy: OnMissing | None, decision: _Decision) -> bool:
    """Whether earlier placements may explain a choice that contradicts the policy.

    A node that is avoided or rejected for lack of a reading stays so, whatever has been placed on the other nodes.
    """
    if decision.ruling.reasons or (decision.chosen in decision.missing and policy != "neutral"):
        return False
    median = statistics.median(decision.traffic[node] for node in decision.known)
    return placements_may_explain(
        history, decision.pod, decision.ruling, {**dict.fromkeys(decision.missing, median), **decision.traffic}
    )


def _against_policy(policy: OnMissing | None, decision: _Decision, quietest: str) -> str:
    """How this choice contradicts the policy for a node without samples; "" if it does not."""
    if policy is None:
        return ""
    if decision.chosen in decision.known:
        louder = decision.is_louder(decision.traffic[decision.chosen])
        return f"does not change that {quietest} is the quietest of the known nodes" if louder else ""
    if policy == "reject":
        return "is never chosen"
    if policy == "avoid":
        return "is chosen only if no known node is feasible"
    louder = decision.is_louder(statistics.median(decision.traffic[node] for node in decision.known))
    return "competes as the median of the known nodes" if louder else ""


def _scored_against(policy: OnMissing | None, decision: _Decision, scores: Mapping[str, float]) -> str:
    """What is wrong with an extender's scores for nodes without samples; "" if nothing, or if it gave no scores."""
    judge = {"avoid": unlike_avoided, "neutral": unlike_median}.get(policy or "")
    known = [(decision.traffic[node], scores[node]) for node in decision.known if node in scores]
    if judge is None or len(known) < len(decision.known):
        return ""
    for node in decision.missing:
        if node in scores and (wrong := judge(scores[node], known)):
            return f"{node} has no sample, {wrong}: {scores[node]:g}; the nodes with samples score " + ", ".join(
                f"{score:g}" for _, score in sorted(known)
            )
    return ""


def _missed(policy: OnMissing | None, tried: Sequence[_Decision], judged: Sequence[_Decision]) -> _Decision | None:
    """The first decision that is left out because it was late, if too few decisions are left; None if enough are."""
    kept = {decision.pod.uid for decision in judged}
    left_out = [decision for decision in tried if decision.pod.uid not in kept]
    unproved = any(map(_is_pair, left_out)) and 0.5 ** sum(map(_is_pair, judged)) >= RANDOM_LIMIT
    return left_out[0] if 2 * len(judged) < len(tried) or (policy == "neutral" and unproved) else None


def _is_pair(decision: _Decision) -> bool:
    return len(decision.known) == len(decision.missing) == 1


def _always_avoided(judged: Sequence[_Decision]) -> str:
    """The finding that a node without samples is avoided. Beside a single known node, it is as good or better, so that
    it gets hardly any pod by chance only with a small probability.

    A scheduler with a fixed order among equal nodes prefers one of the two, and each of them was without samples once.
    """
    pairs = [decision for decision in judged if _is_pair(decision)]
    if len({decision.missing for decision in pairs}) < 2:
        return ""
    to_missing = sum(decision.chosen in decision.missing for decision in pairs)
    chance = sum(math.comb(len(pairs), number) for number in range(to_missing + 1)) / 2 ** len(pairs)
    if chance >= RANDOM_LIMIT:
        return ""
    return (
        f"of {len(pairs)} pods whose feasible nodes were the busiest known node and a node without samples, "
        f"{to_missing} went to the latter: it is avoided (by chance with probability {chance:.1e})"
    )


CLAUSES = (
    Clause(
        "network/missing-node",
        "A node without samples blocks no pod, and is treated as claimed (on-missing).",
        "the candidate's own claim", judge_missing_node, needs=SCRIPTED_METRICS | CHANGE_NODES, stands_on=STEERED,
        hint="A node without a sample is not a node with traffic 0: treat it as claims.network.on-missing says.",
    ),
    Clause(
        "network/some-without",
        "Nodes that have lost their samples are treated as claimed (on-missing), not by their old readings.",
        "the candidate's own claim", judge_missing_node, needs=SCRIPTED_METRICS,
        hint="Drop readings that are older than the window: a node without newer readings has none.",
    ),
)  # fmt: skip
