"""What a candidate does where readings are zero, missing or not to be had; and what its readings cost."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from schedproof.judge.evidence import decision_table, shown
from schedproof.judge.placement import judge_placement, rule_binding
from schedproof.judge.preference import judge_recovery, quietest_of
from schedproof.judge.verdict import Finding, failed, invalid, passed

if TYPE_CHECKING:
    from schedproof.candidates.claims import Claims, OnMissing
    from schedproof.history.history import History, TestPod

__all__ = ["judge_missing_node", "judge_outage", "judge_query_cost", "judge_zero_traffic", "no_outage_policy"]


def no_outage_policy(claims: Claims) -> str:
    """Why a candidate cannot be held to a policy for outages."""
    assert claims.network is not None
    return "" if claims.network.on_outage is not None else "no policy for outages is claimed (network.on-outage)"


def judge_zero_traffic(history: History, case: str) -> Finding:
    """Pods were scheduled while no node had any traffic, with at least two nodes to choose from."""
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    loads = [record["traffic"] for record in history.of("load", case)]
    if not all(loads) or not loads or any(any(load.values()) for load in loads):
        return invalid("the nodes were not without traffic", **shown(history, case))
    bound = [pod for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    if not any(len(rule_binding(history, history.bindings[pod.uid]).feasible) > 1 for pod in bound):
        return invalid("there never were two nodes to choose from, so nothing was scored", **shown(history, case))
    return finding


def judge_missing_node(history: History, case: str) -> Finding:
    """A node without samples blocked nobody, and was treated as the claimed policy says.

    `neutral`: as the median of those known, so never before two known ones. `avoid`: only where no known node fits.
    `reject`: never.
    """
    assert history.claims.network is not None
    policy = history.claims.network.on_missing
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    judged = 0
    for pod in history.test_pods(case, "probe"):
        if (binding := history.bindings.get(pod.uid)) is None:
            continue
        ruling = rule_binding(history, binding)
        traffic = _asked(history, pod)
        known = tuple(node for node in ruling.feasible if node in traffic)
        judged += 0 < len(known) < len(ruling.feasible)
        quietest, _ = quietest_of(traffic, known)
        if wrong := _against_policy(policy, binding.node, known, quietest):
            return failed(
                f"{pod.name} went to {binding.node}; claimed on-missing {policy}: a node without samples {wrong}",
                decisions=[decision_table(history, binding, ruling.per_node, expected=quietest)],
                **shown(history, case),
            )
    if not judged:
        return invalid("no pod was placed while a node that it fits on had no samples", **shown(history, case))
    return passed(f"{judged} decisions with a node that has no samples; claimed: {policy}", **shown(history, case))


def _against_policy(policy: OnMissing | None, chosen: str, known: tuple[str, ...], quietest: str) -> str:
    """What the policy says of a node without samples that this choice is not in line with; "" where it is."""
    if policy is None:
        return ""
    if chosen in known:
        other = len(known) > 1 and chosen != quietest
        return f"does not change that {quietest} is the quietest of those known" if other else ""
    if policy == "reject":
        return "is never chosen"
    if policy == "avoid" and known:
        return "is chosen only where no known node fits"
    return "competes as the median of those known" if policy == "neutral" and len(known) > 1 else ""


def judge_outage(history: History, case: str) -> Finding:
    """During the outage pods were scheduled, or waited, as claimed; after it the preference came back in time."""
    assert history.claims.network is not None
    policy = history.claims.network.on_outage
    faults = list(history.of("fault", case))
    begin = next((record["at"] for record in faults if record["on"]), None)
    end = next((record["at"] for record in faults if not record["on"]), None)
    finding = judge_placement(history, case)
    if finding.outcome == "failed" or begin is None or end is None:
        return finding if finding.outcome == "failed" else invalid("there was no outage", **shown(history, case))
    pods = [pod for pod in history.test_pods(case, "outage") if begin <= pod.at < end]
    if not pods:
        return invalid("no pod was created during the outage", **shown(history, case))
    if policy == "wait":
        early = [pod for pod in pods if pod.uid in history.bindings and history.bindings[pod.uid].at < end]
        if early:
            node = history.bindings[early[0].uid].node
            return failed(
                f"{early[0].name} was bound to {node} during the outage; claimed on-outage: wait",
                **shown(history, case),
            )
    if finding.outcome != "passed":
        return finding
    bound = {uid: binding.at for uid, binding in history.bindings.items()}
    late = [pod for pod in pods if bound.get(pod.uid, math.inf) >= end]
    if policy == "schedule" and late:
        return failed(
            f"{late[0].name} was bound only after the outage; claimed on-outage: schedule", **shown(history, case)
        )
    what = "waited for its end" if policy == "wait" else "were scheduled during it"
    summary = f"Prometheus {next(r['fault'] for r in faults if r['on'])}: {len(pods)} pods {what}"
    if history.claims.network.recovers_within is None:
        return passed(f"{summary}; no time to recover is claimed", **shown(history, case))
    recovery = judge_recovery(history, case)
    if recovery.outcome != "passed":
        return recovery
    return passed(f"{summary}; then {recovery.summary}", **recovery.evidence)


def judge_query_cost(history: History, case: str) -> Finding:
    """What is asked of Prometheus while a pod is decided on does not grow with the number of nodes.

    Counted from a pod's creation to its Binding. A candidate that asks once per node, be it each node that is feasible
    or each that there is, asks for each node more once more; half of that is the limit, so that a poll that happens to
    fall into a decision is not mistaken for it.
    """
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    costs = {role: _queries(history, case, role) for role in ("few", "all")}
    if not any(history.of("query")):
        return invalid("it asked Prometheus nothing", **shown(history, case))
    if not all(costs.values()):
        return invalid("no decisions to compare", **shown(history, case))
    feasible = {role: max(cost.feasible for cost in costs[role]) for role in costs}
    nodes = {role: max(cost.nodes for cost in costs[role]) for role in costs}
    means = {role: sum(cost.queries for cost in costs[role]) / len(costs[role]) for role in costs}
    if feasible["all"] <= feasible["few"]:
        return invalid("all decisions were between equally many nodes", **shown(history, case))
    among = {role: f"{feasible[role]} of {nodes[role]} nodes" for role in costs}
    measured = {f"queries per pod between {among[role]}": means[role] for role in costs}
    text = f"{means['few']:.1f} queries per pod between {among['few']}, {means['all']:.1f} between {among['all']}"
    more = min(grown for counts in (feasible, nodes) if (grown := counts["all"] - counts["few"]) > 0)
    if means["all"] - means["few"] >= more / 2:
        return failed(f"{text}: they grow with the number of nodes", measured=measured, **shown(history, case))
    return passed(text, measured=measured, **shown(history, case))


@dataclasses.dataclass(frozen=True)
class _Cost:
    """Of one decision: how many nodes were feasible, how many there were, and how many queries it took."""

    feasible: int
    nodes: int
    queries: int


def _queries(history: History, case: str, role: str) -> list[_Cost]:
    asked = [record["at"] for record in history.of("query")]
    costs = []
    for pod in history.test_pods(case, role):
        binding = history.bindings[pod.uid]
        ruling = rule_binding(history, binding)
        queries = sum(pod.at <= at <= binding.at for at in asked)
        costs.append(_Cost(len(ruling.feasible), len(ruling.per_node), queries))
    return costs


def _asked(history: History, pod: TestPod) -> dict[str, float]:
    return next((dict(r["traffic"]) for r in history.of("load", pod.case) if r["phase"] == pod.phase), {})
