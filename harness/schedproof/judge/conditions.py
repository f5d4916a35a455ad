"""`core/binds` and `core/unschedulable-condition`: how a scheduler says what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.judge.evidence import shown
from schedproof.judge.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, invalid, passed

if TYPE_CHECKING:
    from schedproof.history.history import History

__all__ = ["judge_binds", "judge_unschedulable_condition"]


def judge_binds(history: History, case: str) -> Finding:
    """Feasible pods were bound in time, each by a POST of the candidate to the binding subresource."""
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    own = history.own_pods()
    bound = [pod for pod in history.test_pods(case) if pod.uid in own and pod.uid in history.bindings]
    if not bound:
        return invalid("no pod was to be bound", **finding.evidence)
    for pod in bound:
        attempts = history.attempts_on(pod.name, pod.uid)
        if not any(attempt.succeeded or attempt.unanswered for attempt in attempts):
            node = history.bindings[pod.uid].node
            return failed(f"{pod.name} is on {node}, but the candidate posted no Binding for it", **finding.evidence)
    return finding


def judge_unschedulable_condition(history: History, case: str) -> Finding:
    """What fits nowhere stayed Pending with PodScheduled=False, reason Unschedulable; with an event, if claimed."""
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    evidence = shown(history, case)
    pending = [e for e in history.of("expect", case) if e["outcome"] == "pending"]
    if not pending:
        return invalid("no pod was to be left pending", **evidence)
    for expectation in pending:
        conditions = history.manifests[expectation["uid"]].get("status", {}).get("conditions", ())
        condition = next((c for c in conditions if c["type"] == "PodScheduled"), None)
        if condition is None or condition["status"] != "False" or condition.get("reason") != "Unschedulable":
            return failed(
                f"{expectation['pod']} fits nowhere; expected the condition PodScheduled=False with reason "
                f"Unschedulable, found {condition or 'none'}",
                **evidence,
            )
        if "events" in history.claims.features and not _told(history, expectation["uid"]):
            return failed(f"{expectation['pod']} fits nowhere, and no event says why (claimed: events)", **evidence)
    return passed(f"{len(pending)} pods Pending with PodScheduled=False, reason Unschedulable", **evidence)


def _told(history: History, uid: str) -> bool:
    """Whether an event about a pod says something. What it says is never judged."""
    return any(
        event["object"].get("involvedObject", {}).get("uid") == uid and event["object"].get("message")
        for event in history.of("object")
        if event["resource"] == "events"
    )
