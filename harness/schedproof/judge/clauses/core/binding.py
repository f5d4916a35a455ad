"""Clauses that look at Binding attempts, including those that the apiserver refuses."""

from __future__ import annotations

from http import HTTPStatus

from schedproof.history.acts import Aged, Fence, Halted, Lift, Marked, Resumed
from schedproof.history.history import Attempt, History, TestPod
from schedproof.history.observations import Admission, WatchEvent
from schedproof.judge.clause import (
    AUDIT,
    CHANGE_NODES,
    HOLD_BINDINGS,
    RESTART,
    RETRIED,
    SEVERAL_NODES,
    STEERED,
    TRIED_AGAIN,
    Clause,
)
from schedproof.judge.clauses.core.invariants import is_about_metadata, writes
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.configuration import back_off
from schedproof.judge.rulings.lateness import busy_between, is_overdue, too_busy
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed

_TOO_OFTEN = 2
"""Tolerated late attempts. A single attempt can be late because the machine stalled."""


@gives("not-tried", "prebound-pod-touched", also=[judge_placement])
def judge_prebound(history: History, case: str) -> Finding:
    """The candidate wrote nothing to pods that were created with spec.nodeName set."""
    pods = {pod.name for pod in history.test_pods(case, "prebound")}
    if not pods:
        return invalid("not-tried", "no pod was created with spec.nodeName set")
    written = [request for request in writes(history) if f"{request.namespace}/{request.name}" in pods]
    # Labels and annotations decide nothing about a pod: some keep accounts of all pods that are theirs.
    touched = [request for request in written if not (is_about_metadata(request) or request.dry_run)]
    if touched:
        first = touched[0]
        return failed(
            "prebound-pod-touched",
            f"{first.verb} {first.resource} on {first.name}, which was created with spec.nodeName set ({first.code}; "
            f"{len(touched)} such requests)",
        )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not any(history.of(Fence, case)):
        return invalid("not-decided-on", "no sentinel pod shows that the candidate had processed these pods")
    exception = ""
    if written:
        more = f" (and {len(written) - 1} more such requests)"
        exception = f", except for metadata: {written[0].verb} {written[0].resource} on {written[0].name}{more}"
    return passed(f"{len(pods)} pods created with spec.nodeName set were left alone{exception}")


@gives("no-binding-refused", also=[judge_placement])
def judge_refused(history: History, case: str) -> Finding:
    """Pods around a pod whose Binding is refused were placed as expected; at least one Binding was refused."""
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    erring = history.test_pods(case, "erring")
    if all(attempt.succeeded for pod in erring for attempt in history.attempts_at(pod.name)):
        return invalid("no-binding-refused", "no Binding was refused")
    return finding


@gives("backs-off-too-long", also=[judge_refused])
def judge_requeue_refused(history: History, case: str) -> Finding:
    """The pods were tried again in time, and by the configuration would be after any number of errors."""
    finding = judge_refused(history, case)
    longest, claimed = back_off(history), history.claims.timing.requeue
    if finding.outcome == "passed" and longest > claimed:
        return failed(
            "backs-off-too-long",
            f"its configuration has podMaxBackoffSeconds: {longest:g}, so after several errors a pod waits longer "
            f"than the claimed {claimed:g} s (timing.requeue)",
        )
    return finding


@gives("no-binding-held", "no-binding-refused", "second-binding", also=[judge_placement])
def judge_conflict_forgiven(history: History, case: str) -> Finding:
    """After each error on its Binding a pod was scheduled, and a Binding that took effect was not repeated.

    Each pod with the role `erring` stands for one response: 409, 429, 500, 503, or 504 to a Binding that took effect.
    """
    admissions = list(history.of(Admission, case))
    lost = {record.call for record in admissions if record.effective}
    for pod in history.test_pods(case, "erring"):
        made = history.attempts_on(pod.name, pod.uid)
        unanswered = next((attempt for attempt in made if attempt.call in lost and attempt.call), None)
        again = [a for a in made if unanswered is not None and a.line > unanswered.line]
        if unanswered is not None and again:
            return failed(
                "second-binding",
                f"{pod.name} was bound to {unanswered.node}: its Binding took effect although the response was "
                f"{unanswered.code}; the candidate could see the effect before the response, and tried again "
                f"({again[0].node}: {again[0].code})",
            )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    answered = {record.code for record in admissions}
    if missing := sorted({409, 429, 500, 503, 504} - answered):
        return invalid("no-binding-refused", f"no Binding got the response {', '.join(map(str, missing))}")
    if not any(record.held for record in admissions):
        return invalid("no-binding-held", "no Binding was in flight when its pod was created again")
    return passed(f"{finding.summary}, each after an error on its Binding", finding.evidence)


@gives("no-binding-refused", "second-binding", also=[judge_placement])
def judge_lost_race(history: History, case: str) -> Finding:
    """A pod that another scheduler had bound was not tried again, and no room elsewhere stayed reserved for it."""
    pods, busy = history.test_pods(case, "raced"), list[str]()
    freshness = history.claims.timing.freshness
    for pod in pods:
        made = history.attempts_on(pod.name, pod.uid)
        refused = next((attempt for attempt in made if attempt.code == HTTPStatus.CONFLICT), None)
        if refused is None:
            continue
        if again := [a for a in made if is_overdue(history, refused.completed, a.received, freshness)]:
            return failed(
                "second-binding",
                f"{pod.name} was already bound to {history.bindings[pod.uid].node} by another scheduler and the "
                f"candidate's Binding was refused with 409, but {again[0].received - refused.completed:.1f} s later "
                f"the candidate tried again ({again[0].node}: {again[0].code})",
            )
        busy += (busy_between(history, refused.completed, a.received, freshness) for a in made)
    if why := next(filter(None, busy), ""):
        return invalid("machine-too-busy", why)
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    if not any(a.code == HTTPStatus.CONFLICT for pod in pods for a in history.attempts_on(pod.name, pod.uid)):
        return invalid("no-binding-refused", "no Binding lost a race: none was refused with 409")
    return passed(f"{finding.summary}; a Binding that had lost a race was dropped", finding.evidence)


@gives("gated-pod-called-unschedulable", "gated-pod-tried", "not-tried", also=[judge_placement])
def judge_gates(history: History, case: str) -> Finding:
    """No pod was tried or reported as Unschedulable before its last scheduling gate was removed; then it was bound."""
    if pod_name := _called_unschedulable(history):
        return failed(
            "gated-pod-called-unschedulable",
            f"{pod_name} had scheduling gates but its condition PodScheduled had the reason Unschedulable: autoscalers "
            "would add nodes for it",
        )
    lifted = {record.uid: record for record in history.of(Lift, case)}
    for pod in history.test_pods(case, "probe"):
        lift = lifted.get(pod.uid)
        early = [a for a in history.attempts_on(pod.name, pod.uid) if lift is None or not _follows(history, a, lift)]
        if early:
            return failed(
                "gated-pod-tried",
                f"tried to bind {pod.name} to {early[0].node} although it had scheduling gates ({early[0].code})",
            )
    if not lifted:
        return _unless_placement_fails(history, case, "no scheduling gate was removed")
    return judge_placement(history, case)


def _called_unschedulable(history: History) -> str:
    """The name of a gated pod that was reported as Unschedulable (the apiserver reports SchedulingGated); "" if none
    was.
    """
    own = history.own_pods()
    for event in history.of(WatchEvent):
        pod = event.object
        if event.resource != "pods" or pod["metadata"]["uid"] not in own or not pod["spec"].get("schedulingGates"):
            continue
        conditions = (pod.get("status") or {}).get("conditions") or ()
        if any(c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable" for c in conditions):
            return str(pod["metadata"]["name"])
    return ""


@gives("deleted-pod-tried", "not-tried", also=[judge_placement])
def judge_deleted(history: History, case: str) -> Finding:
    """No Binding was attempted for a pod later than the claimed freshness after its deletion was delivered; other pods
    were bound.
    """
    freshness = history.claims.timing.freshness
    deleted = history.test_pods(case, "deleted")
    deletions = [(pod, event) for pod in deleted if (event := _deletion(history, pod)) is not None]
    late, busy = list[tuple[TestPod, Attempt]](), list[str]()
    for pod, deletion in deletions:
        for attempt in history.attempts_on(pod.name, pod.uid):
            came_late, why = _after_deletion(history, case, deletion, attempt)
            late += [(pod, attempt)] if came_late else []
            busy += [why] if why else []
    if len(late) >= _TOO_OFTEN:
        pod, attempt = late[0]
        return failed(
            "deleted-pod-tried",
            f"tried to bind {pod.name} to {attempt.node} more than the claimed freshness of {freshness:g} s after the "
            f"watch delivered its deletion ({attempt.code}; {len(late)} such attempts)",
        )
    if len(late) + len(busy) >= _TOO_OFTEN:
        return invalid("machine-too-busy", busy[0])
    if not deletions:
        return _unless_placement_fails(history, case, "no pod was deleted")
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    rooms = [history.bindings[pod.uid].rv for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    there = [pod for pod in deleted if any(_is_pending(history, pod, rv) for rv in rooms)]
    return passed(
        f"none of {len(deleted)} deleted pods was tried after its deletion was delivered; {len(there)} were still "
        "terminating",
        finding.evidence,
    )


def _after_deletion(history: History, case: str, deletion: WatchEvent, attempt: Attempt) -> tuple[bool, str]:
    """Whether an attempt came later than the claimed freshness after a pod's deletion was delivered, and why that is
    unknown.

    The case's own wait shows it exactly; otherwise, the time for which processes were kept from running is an estimate.
    """
    freshness = history.claims.timing.freshness
    aged = next((aged for aged in history.of(Aged, case) if aged.rv >= deletion.rv), None)
    if aged is not None and attempt.received > aged.at:
        why = too_busy(aged.kept, freshness)
        return not why, why
    late = is_overdue(history, deletion.at, attempt.received, freshness)
    return late, busy_between(history, deletion.at, attempt.received, freshness)


def _is_pending(history: History, pod: TestPod, rv: int) -> bool:
    manifest = history.world.at(rv).pods.get(pod.name)
    return (
        manifest is not None and manifest["metadata"]["uid"] == pod.uid and manifest["status"].get("phase") == "Pending"
    )


def _deletion(history: History, pod: TestPod) -> WatchEvent | None:
    """The event that showed the deletion of a pod (its deletionTimestamp, or that it is gone); None if there was none
    within its case.
    """
    _, end = history.span(pod.case)
    return next(
        (
            event
            for event in history.of(WatchEvent)
            if event.resource == "pods"
            and event.object["metadata"]["uid"] == pod.uid
            and (event.type == "DELETED" or "deletionTimestamp" in event.object["metadata"])
            and event.at <= end
        ),
        None,
    )


@gives("no-binding-held", "not-tried", "outdated-binding", also=[judge_placement])
def judge_bind_uid(history: History, case: str) -> Finding:
    """A Binding that was decided on for a deleted pod did not place the new pod of the same name."""
    again = history.test_pods(case, "recreated")
    if not again:
        return _unless_placement_fails(history, case, "the pod was not created again")
    pod = again[0]
    held = _held(history, case, pod)
    placed = [attempt for attempt in held if attempt.succeeded]
    if placed:
        why = (
            "it was posted to the legacy resource `bindings`, where the apiserver ignores metadata.uid: post it to "
            "the pod's subresource `binding`"
            if placed[0].legacy
            else "the Binding has no metadata.uid, which distinguishes the two pods"
        )
        return failed(
            "outdated-binding",
            f"{pod.name} was bound to {placed[0].node} by a Binding that was posted before the pod existed, for an "
            f"earlier pod of the same name: {why}",
        )
    if not held:
        reason = "no Binding was in flight when the pod was created again"
        return _unless_placement_fails(history, case, reason, "no-binding-held")
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    return passed(f"the Binding for the deleted pod was refused ({held[0].code})")


def _held(history: History, case: str, pod: TestPod) -> list[Attempt]:
    """The attempts that the harness held while a pod was created again."""
    calls = {record.call for record in history.of(Admission, case) if record.held}
    made = history.attempts_at(pod.name)
    if calls:
        return [attempt for attempt in made if attempt.call in calls]
    return [attempt for attempt in made if attempt.received < pod.at < attempt.completed]


def _follows(history: History, attempt: Attempt, event: Marked) -> bool:
    return history.order.follows(attempt.line, attempt.received, event)


@gives("not-tried", "second-binding", also=[judge_placement])
def judge_restart(history: History, case: str) -> Finding:
    """Pending pods were scheduled after the restart, and bound pods were not tried again."""
    start = next(history.of(Resumed, case), None)
    if start is None:
        return _unless_placement_fails(history, case, "the candidate was not restarted")
    halted = next((record.at for record in history.of(Halted, case)), start.at)
    for pod in history.test_pods(case):
        binding = history.bindings.get(pod.uid)
        if binding is None or binding.at >= halted:
            continue
        again = [a for a in history.attempts_on(pod.name, pod.uid) if _follows(history, a, start)]
        if again:
            return failed(
                "second-binding",
                f"{pod.name} was bound to {binding.node} when the candidate was restarted, and the candidate then "
                f"tried to bind it to {again[0].node} ({again[0].code})",
            )
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    before = [pod.uid in history.bindings and history.bindings[pod.uid].at < halted for pod in history.test_pods(case)]
    if all(before) or not any(before):
        when = "after" if all(before) else "before"
        return invalid("not-tried", f"no pod was bound {when} the restart")
    return finding


def _unless_placement_fails(history: History, case: str, reason: str, code: str = "not-tried") -> Finding:
    """The stimulus did not reach its purpose; if the candidate is the cause, the placement finding says so."""
    finding = judge_placement(history, case)
    return finding if finding.outcome == "failed" else invalid(code, reason)


CLAUSES = (
    Clause(
        "core/prebound-untouched", "A pod that is created with spec.nodeName set is left alone.",
        "Kubernetes: PodSpec.nodeName", judge_prebound, needs=AUDIT,
        hint="Skip pods whose spec.nodeName is set.",
    ),
    Clause(
        "core/no-head-of-line",
        "A pod that cannot be scheduled, or whose Binding is refused, does not delay other pods beyond the deadline.",
        "scheduler framework: the backoff and unschedulable queues", judge_refused, needs=HOLD_BINDINGS | AUDIT,
        stands_on=STEERED,
        hint="Give each pod its own back-off, and continue with the next pod.",
    ),
    Clause(
        "core/failing-binding-isolated",
        "A pod that is deleted while its Binding keeps failing does not delay other pods beyond the deadline.",
        "kube-scheduler: handleBindingCycleError; the backoff queue", judge_refused, needs=HOLD_BINDINGS | AUDIT,
        stands_on=STEERED,
        hint="Do not retry a Binding in place: return the pod to the queue, and read it again before the next attempt.",
    ),
    Clause(
        "core/scheduling-gates",
        "No Binding is attempted for a pod with scheduling gates; once its last gate is removed, it is scheduled.",
        "Kubernetes: PodSpec.schedulingGates (KEP-3521)", judge_gates, needs=AUDIT,
        hint="Skip pods while spec.schedulingGates is not empty; watch for its change.",
    ),
    Clause(
        "core/deleted-while-pending",
        "After a pending pod's deletion is delivered, no Binding of it is attempted, and other pods are scheduled "
        "as usual.",
        "kube-scheduler: skipPodSchedule", judge_deleted, needs=CHANGE_NODES | AUDIT, stands_on=STEERED | TRIED_AGAIN,
        hint="Drop a pod when it has a deletionTimestamp, not only when it is gone.",
    ),
    Clause(
        "core/requeue-bind-refused", "A pod whose Binding fails with an error is tried again.",
        "kube-scheduler: handleBindingCycleError", judge_requeue_refused, needs=HOLD_BINDINGS | AUDIT,
        hint="When a Binding fails, forget the assumed pod and return it to the queue with a back-off.",
    ),
    Clause(
        "core/conflict-forgiven",
        "After its Binding fails with 409, 429, 500, 503 or a timeout, a pod is scheduled; a Binding that took "
        "effect is not repeated.",
        "kube-scheduler: handleBindingCycleError; API conventions: HTTP status codes", judge_conflict_forgiven,
        needs=HOLD_BINDINGS | AUDIT,
        stands_on=RETRIED,
        hint="After an error read the pod again: if it is bound, it is done; otherwise try again with a back-off.",
    ),
    Clause(
        "core/bind-uid",
        "A pod that is deleted and created again under its name is not bound by a decision for the old pod.",
        "Kubernetes: Binding.metadata.uid", judge_bind_uid, needs=HOLD_BINDINGS | AUDIT,
        hint="Send metadata.uid with the Binding: the apiserver then refuses it for a new pod of the same name.",
    ),
    Clause(
        "core/restart", "After a restart of the scheduler, pending pods are scheduled and bound pods are left alone.",
        "Kubernetes: controllers keep their state in the API", judge_restart,
        needs=AUDIT | CHANGE_NODES | RESTART,
        stands_on=STEERED,
        hint=(
            "Keep no state outside the API: at the start list pods and nodes, then watch. Continue a list that has a "
            "`limit` while its metadata has `continue`."
        ),
    ),
    Clause(
        "controller/conflict",
        "A Binding that lost a race is dropped: the pod is not tried again, and its room is free for other pods.",
        "Kubernetes: a second Binding is refused with 409 (pods/binding, assignPod)", judge_lost_race,
        needs=HOLD_BINDINGS | AUDIT | SEVERAL_NODES, stands_on=STEERED,
        hint="On 409 read the pod again, forget the assumed pod, and use the pod from the cache.",
    ),
)  # fmt: skip
