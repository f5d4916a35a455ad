"""What a plugin claims to decide at its extension points, by its own worked examples (`claims.points`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedproof.candidate.claims import Claims
from schedproof.history.history import History
from schedproof.judge.clause import CHANGE_NODES, SEVERAL_NODES, STOP, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.decisions import decision_table
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


@gives("against-claimed-order", "not-tried", also=[judge_placement])
def judge_queue_sort(history: History, case: str) -> Finding:
    """Of two pods that waited for the same room, the pod that is claimed to come first got it, older or younger.

    A pod that was bound, and then evicted for the other, was decided on first.
    """
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    pods = [*history.test_pods(case, "first"), *history.test_pods(case, "then")]
    phases = sorted({pod.phase for pod in pods})
    for phase in phases:
        bound = [pod for pod in pods if pod.phase == phase and pod.uid in history.bindings]
        if not bound:
            return invalid("not-tried", "neither of two pods was bound")
        winner = min(bound, key=lambda pod: history.bindings[pod.uid].rv)
        if winner.role != "first":
            (other,) = (pod for pod in pods if pod.phase == phase and pod.role == "first")
            return failed(
                "against-claimed-order",
                f"{winner.name} was bound before {other.name}, which waited for the same room, and which the claims "
                "put first",
            )
    if not phases:
        return invalid("not-tried", "no pods waited for the same room")
    return passed(f"{len(phases)} times the pod came first that the claims put first")


@gives("no-choice", "not-tried", "preference-ignored", also=[judge_placement])
def judge_score(history: History, case: str) -> Finding:
    """Each pod went to a node with the labels that it prefers by its example, if there was such a node."""
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    pods = [pod for pod in history.test_pods(case, "scored") if pod.uid in history.bindings]
    # The first one that is wrong: it may have taken another's place.
    for pod in sorted(pods, key=lambda pod: history.bindings[pod.uid].rv):
        example, binding = history.claims.points.score[pod.phase], history.bindings[pod.uid]
        nodes = history.world.at(binding.rv).nodes
        better = sorted(name for name, node in nodes.items() if _has(node, example.better))
        if not better:
            return invalid("no-choice", f"no node had the labels that {pod.name} prefers")
        if binding.node not in better:
            return failed(
                "preference-ignored",
                f"{pod.name} was bound to {binding.node}, but by its example prefers {', '.join(better)}: "
                f"{_listed(example.better)} to {_listed(example.worse)}",
                Evidence(decisions=[decision_table(history, binding, dict.fromkeys(nodes, ()), expected=better[0])]),
            )
    if not pods:
        return invalid("not-tried", "no pod had a preference")
    return passed(f"{len(pods)} pods went to the nodes that they prefer by their examples")


def _has(node: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    there = node["metadata"].get("labels") or {}
    return all(there.get(name) == value for name, value in labels.items())


def _listed(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items()) or "none"


def _no_score(claims: Claims) -> str:
    return "" if claims.points.score else "claims.points.score is not given"


def _no_opposed_scores(claims: Claims) -> str:
    if claims.points.opposed is not None:
        return ""
    return "claims.points.score lacks two examples of different pods, of which each prefers what the other does not"


def _no_filter(claims: Claims) -> str:
    return "" if claims.points.filter else "claims.points.filter is not given"


def _no_prefilter(claims: Claims) -> str:
    return "" if claims.points.prefilter else "claims.points.prefilter is not given"


def _no_queue_sort(claims: Claims) -> str:
    return "" if claims.points.queue_sort else "claims.points.queue-sort is not given"


CLAUSES = (
    Clause(
        "plugin/filter", "The Filter plugins accept and reject nodes as the worked examples say.",
        "scheduler framework: Filter, EventsToRegister; the candidate's claim", judge_placement, needs=CHANGE_NODES,
        unclaimed=_no_filter,
        hint="Enable it at filter in the pod's profile; EventsToRegister needs every change that may make a pod fit.",
    ),
    Clause(
        "plugin/prefilter", "The PreFilter plugins accept and reject nodes as the worked examples say.",
        "scheduler framework: PreFilter, EventsToRegister; the candidate's claim", judge_placement,
        needs=CHANGE_NODES, unclaimed=_no_prefilter,
        hint=(
            "PreFilterResult.NodeNames are the remaining nodes; EventsToRegister needs every change that may add "
            "nodes to them."
        ),
    ),
    Clause(
        "plugin/score", "Of nodes that are otherwise alike, pods go to those that the worked examples prefer.",
        "scheduler framework: Score; the candidate's claim", judge_score, needs=CHANGE_NODES | SEVERAL_NODES,
        unclaimed=_no_score,
        hint="Enable it at score in the pod's profile, with a weight that outweighs the default plugins.",
    ),
    Clause(
        "plugin/batching-safe",
        "Pods that prefer different nodes get them, also when they are next to each other in the queue.",
        "scheduler framework: SignPlugin; KEP-5598, opportunistic batching", judge_score,
        needs=CHANGE_NODES | SEVERAL_NODES | STOP, features=frozenset({"signs-pods"}), unclaimed=_no_opposed_scores,
        hint="SignPod returns a fragment for each part of a pod that PreFilter, Filter, PreScore and Score read.",
    ),
    Clause(
        "plugin/queue-sort",
        "Of two waiting pods, the QueueSort plugin puts first the pod that the worked examples name.",
        "scheduler framework: QueueSort; the candidate's claim", judge_queue_sort, needs=STOP,
        unclaimed=_no_queue_sort,
        hint="Enable it at queueSort in each profile, without PrioritySort; Less(a, b): a is first.",
    ),
)  # fmt: skip
