"""What becomes of nodes without readings, where others have some."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from schedproof.judge.clause import CHANGE_NODES, SCRIPTED_METRICS, Clause
from schedproof.judge.evidence import decision_table, shown
from schedproof.judge.placement import Ruling, judge_placement, rule_binding
from schedproof.judge.preference import RANDOM_LIMIT, excused_pods, quietest_of
from schedproof.judge.scored import scores_of, unscored
from schedproof.judge.verdict import Finding, failed, invalid, passed
from schedproof.normalization.policies import unlike_avoided, unlike_median

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schedproof.candidates.claims import OnMissing
    from schedproof.history.history import History, TestPod

__all__ = ["CLAUSES", "judge_missing_node"]


@dataclasses.dataclass(frozen=True)
class _Decision:
    pod: TestPod
    ruling: Ruling
    traffic: Mapping[str, float]
    """Of the nodes that had a reading."""
    known: tuple[str, ...]
    """The feasible ones of these."""

    @property
    def chosen(self) -> str:
        return self.ruling.binding.node

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(node for node in self.ruling.feasible if node not in self.known)


def judge_missing_node(history: History, case: str) -> Finding:
    """Nodes without samples blocked no pod, and were treated as the claimed policy says.

    `neutral`: as the median of those known, so never before two known ones. `avoid`: only where no known node fits.
    `reject`: never.
    """
    assert history.claims.network is not None
    policy = history.claims.network.on_missing
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if wrong := unscored(history, case):
        return failed(wrong, **shown(history, case))
    probes = [pod for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    decisions = [_decision(history, pod) for pod in probes]
    judged = [one for one in decisions if one.known and one.missing]
    excused = excused_pods(history, probes)
    scores = scores_of(history, case)
    for one in judged:
        quietest, _ = quietest_of(one.traffic, one.known)
        wrong = _against_policy(policy, one, quietest)
        if wrong and (one.pod.uid not in excused or one.ruling.reasons):
            text = f"{one.pod.name} went to {one.chosen}; claimed on-missing {policy}: a node without samples {wrong}"
        elif one.pod.uid not in excused and (wrong := _scored_against(policy, one, scores.get(one.pod.name, {}))):
            text = f"{one.pod.name}: claimed on-missing {policy}: {wrong}"
        else:
            continue
        table = decision_table(history, one.ruling.binding, one.ruling.per_node, expected=quietest)
        return failed(text, decisions=[table], **shown(history, case))
    if not judged:
        return invalid("no pod was placed while a node that it fits on had no samples", **shown(history, case))
    if policy == "neutral" and (wrong := _always_avoided(judged)):
        return failed(f"claimed on-missing neutral: {wrong}", **shown(history, case))
    return passed(f"{len(judged)} decisions with a node that has no samples; claimed: {policy}", **shown(history, case))


def _decision(history: History, pod: TestPod) -> _Decision:
    ruling = rule_binding(history, history.bindings[pod.uid])
    loads = (dict(r["traffic"]) for r in history.of("load", pod.case) if r["phase"] == pod.phase)
    traffic: dict[str, float] = next(loads, {})
    return _Decision(pod, ruling, traffic, tuple(node for node in ruling.feasible if node in traffic))


def _against_policy(policy: OnMissing | None, one: _Decision, quietest: str) -> str:
    """What the policy says of a node without samples that this choice is not in line with; "" where it is."""
    if policy is None:
        return ""
    if one.chosen in one.known:
        other = len(one.known) > 1 and one.chosen != quietest
        return f"does not change that {quietest} is the quietest of those known" if other else ""
    if policy == "reject":
        return "is never chosen"
    if policy == "avoid":
        return "is chosen only where no known node fits"
    return "competes as the median of those known" if len(one.known) > 1 else ""


def _scored_against(policy: OnMissing | None, one: _Decision, scores: Mapping[str, float]) -> str:
    """What is wrong with the scores that an extender gave nodes without samples; "" if nothing, or it gave none."""
    judge = {"avoid": unlike_avoided, "neutral": unlike_median}.get(policy or "")
    known = [(one.traffic[node], scores[node]) for node in one.known if node in scores]
    if judge is None or len(known) < len(one.known):
        return ""
    for node in one.missing:
        if node in scores and (wrong := judge(scores[node], known)):
            return f"{node} has no sample, {wrong}: {scores[node]:g}; those that have score " + ", ".join(
                f"{score:g}" for _, score in sorted(known)
            )
    return ""


def _always_avoided(judged: Sequence[_Decision]) -> str:
    """Beside one known node, one without samples is as good as that or better: to get no pod ever is not chance.

    A scheduler with a fixed order among equals prefers one of the two, and that one was without samples as well.
    """
    pairs = [one for one in judged if len(one.known) == len(one.missing) == 1]
    if any(one.chosen in one.missing for one in pairs) or len({one.missing for one in pairs}) < 2:
        return ""
    chance = 0.5 ** len(pairs)
    if chance >= RANDOM_LIMIT:
        return ""
    return (
        f"of {len(pairs)} pods that fit on one known node, the loudest, and on one without samples, none went to the "
        f"latter: it is avoided (by chance with probability {chance:.1e})"
    )


CLAUSES = (
    Clause(
        "network/missing-node",
        "A node without samples blocks nobody, and is treated as the candidate claims (on-missing).",
        "the candidate's own claim", judge_missing_node, needs=SCRIPTED_METRICS | CHANGE_NODES,
    ),
    Clause(
        "network/some-without",
        "Nodes that lost their samples are treated as claimed (on-missing): an old reading of theirs is not used.",
        "the candidate's own claim", judge_missing_node, needs=SCRIPTED_METRICS,
    ),
)  # fmt: skip
