"""What a scheduler tries to bind, and when: clauses that look at attempts, whether or not the apiserver took them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.judge.evidence import shown
from schedproof.judge.invariants import writes
from schedproof.judge.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, invalid, passed

if TYPE_CHECKING:
    from schedproof.history.history import History

__all__ = [
    "judge_bind_uid", "judge_gates", "judge_no_nodes", "judge_prebound", "judge_refused", "judge_restart",
]  # fmt: skip


def judge_prebound(history: History, case: str) -> Finding:
    """Nothing was written that concerns a pod which had its node from the start."""
    pods = {pod.name for pod in history.test_pods(case, "prebound")}
    if not pods:
        return invalid("no pod was created with its node set")
    touched = [request for request in writes(history) if f"{request['namespace']}/{request['name']}" in pods]
    if touched:
        first = touched[0]
        return failed(
            f"{first['verb']} {first['resource']} on {first['name']}, which had its node from the start "
            f"({first['code']}; {len(touched)} such requests)",
            **shown(history, case),
        )
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    if not any(history.of("fence", case)):
        return invalid("no fence shows that it had its turn at them", **shown(history, case))
    return passed(f"{len(pods)} pods with a node of their own were left alone", **shown(history, case))


def judge_refused(history: History, case: str) -> Finding:
    """What was to happen around a pod whose Binding is refused: it was refused, at least once."""
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    erring = history.test_pods(case, "erring")
    if all(attempt.succeeded for pod in erring for attempt in history.attempts_at(pod.name)):
        return invalid("no Binding was refused", **shown(history, case))
    return finding


def judge_gates(history: History, case: str) -> Finding:
    """No attempt to bind a pod before its last gate was taken away; and it was bound after."""
    lifted = {record["uid"]: record["at"] for record in history.of("lift", case)}
    for pod in history.test_pods(case, "probe"):
        gated = lifted.get(pod.uid, float("inf"))
        early = [attempt for attempt in history.attempts_on(pod.name, pod.uid) if attempt.received < gated]
        if early:
            return failed(
                f"tried to bind {pod.name} to {early[0].node}, though it had scheduling gates ({early[0].code})",
                **shown(history, case),
            )
    if not lifted:
        return _unless_placement_fails(history, case, "no gate was taken away")
    return judge_placement(history, case)


def judge_bind_uid(history: History, case: str) -> Finding:
    """A Binding decided on for a pod that is gone did not place the pod that has its name now."""
    again = history.test_pods(case, "recreated")
    if not again:
        return _unless_placement_fails(history, case, "the pod was not created anew")
    pod = again[0]
    held = [a for a in history.attempts_at(pod.name) if a.received < pod.at < a.completed]
    placed = [attempt for attempt in held if attempt.succeeded]
    if placed:
        return failed(
            f"{pod.name} was bound to {placed[0].node} by a Binding that was posted before it existed, for another pod "
            "of its name: the Binding did not say which pod it meant (metadata.uid)",
            **shown(history, case),
        )
    if not held:
        return _unless_placement_fails(history, case, "no Binding was under way when the pod was created anew")
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    return passed(f"the Binding meant for the pod that was gone was refused ({held[0].code})", **shown(history, case))


def judge_no_nodes(history: History, case: str) -> Finding:
    """While there was no node, pods waited; with the first node they were scheduled."""
    if not any(history.of("emptied", case)):
        return _unless_placement_fails(history, case, "the nodes were not taken away")
    return judge_placement(history, case)


def judge_restart(history: History, case: str) -> Finding:
    """What waited was scheduled after the restart; what had been bound was not tried again."""
    resumed = next((record["at"] for record in history.of("resumed", case)), None)
    if resumed is None:
        return _unless_placement_fails(history, case, "the candidate was not started again")
    for pod in history.test_pods(case):
        binding = history.bindings.get(pod.uid)
        if binding is None or binding.at >= resumed:
            continue
        again = [attempt for attempt in history.attempts_on(pod.name, pod.uid) if attempt.received > resumed]
        if again:
            return failed(
                f"{pod.name} was on {binding.node} when the candidate started again, which tried to bind it to "
                f"{again[0].node} ({again[0].code})",
                **shown(history, case),
            )
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    before = [pod.uid in history.bindings and history.bindings[pod.uid].at < resumed for pod in history.test_pods(case)]
    if all(before) or not any(before):
        when = "after" if all(before) else "before"
        return invalid(f"no pod was bound {when} the restart", **shown(history, case))
    return finding


def _unless_placement_fails(history: History, case: str, reason: str) -> Finding:
    """The stimulus did not come to its point; where the candidate was the cause, its placement says so."""
    finding = judge_placement(history, case)
    return finding if finding.outcome == "failed" else invalid(reason, **shown(history, case))
