"""How a scheduler reports its decisions: `core/binds`, `core/unschedulable-condition`, and other conditions."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from schedproof.history.acts import Expect, Missed, StatusRefused
from schedproof.history.history import History
from schedproof.history.observations import WatchEvent
from schedproof.judge.clause import AUDIT, CHANGE_NODES, HOLD_BINDINGS, STEERED, TRIED_AGAIN, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.lateness import missed_deadline, too_busy
from schedproof.judge.rulings.unbound import refused_requests
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed


@gives("bound-without-binding", "not-tried", also=[judge_placement])
def judge_binds(history: History, case: str) -> Finding:
    """Feasible pods were bound in time, each by a POST to the binding subresource by the candidate."""
    if (finding := judge_placement(history, case)).outcome == "failed":
        return finding
    own = history.own_pods()
    bound = [pod for pod in history.test_pods(case) if pod.uid in own and pod.uid in history.bindings]
    if not bound:
        return (
            finding
            if finding.outcome != "passed"
            else invalid("not-tried", "no pod was expected to be bound", finding.evidence)
        )
    for pod in bound:
        attempts = history.attempts_on(pod.name, pod.uid)
        if not any(attempt.succeeded or attempt.unanswered for attempt in attempts):
            node = history.bindings[pod.uid].node
            return failed(
                "bound-without-binding",
                f"{pod.name} is bound to {node}, but the candidate posted no Binding for it",
                finding.evidence,
            )
    return finding


@gives("not-tried", "pending-without-event", "pending-without-reason", also=[judge_placement])
def judge_unschedulable_condition(history: History, case: str) -> Finding:
    """A pod that fits on no node stayed Pending with PodScheduled=False and reason Unschedulable; with an event, if
    claimed.
    """
    return _judge_reports(history, case, events="events" in history.claims.features)


def _judge_reports(history: History, case: str, *, events: bool) -> Finding:
    if (finding := judge_placement(history, case)).outcome == "failed":
        return finding
    reported = _check_reports(history, case, finding, events=events)
    if reported.outcome == "failed":
        for missed in history.of(Missed, case):
            if busy := too_busy(missed.kept, missed.within):
                return invalid("machine-too-busy", busy, reported.evidence)
    return reported


def _check_reports(history: History, case: str, finding: Finding, *, events: bool) -> Finding:
    """What is missing from the report about a pod that fits on no node; `finding` with the number of reported pods if
    nothing is.
    """
    missed = missed_deadline(history, case)
    notes = [*([missed] if missed else []), *refused_requests(history, *history.span(case), _REPORTED_IN)]
    late = f" ({'; '.join(notes)})" if notes else ""
    pending = [e for e in history.of(Expect, case) if e.outcome == "pending"]
    if not pending:
        return finding if finding.outcome != "passed" else invalid("not-tried", "no pod was expected to stay pending")
    for expectation in pending:
        conditions = history.manifests[expectation.uid].get("status", {}).get("conditions", ())
        condition = next((c for c in conditions if c["type"] == "PodScheduled"), None)
        if condition is None or condition["status"] != "False" or condition.get("reason") != "Unschedulable":
            return failed(
                "pending-without-reason",
                f"{expectation.pod} fits on no node; expected the condition PodScheduled=False with reason "
                f"Unschedulable, found {condition or 'none'}{late}",
            )
        if events and not _has_event(history, expectation.pod, expectation.uid):
            return failed(
                "pending-without-event",
                f"{expectation.pod} fits on no node and has no event (the feature events is claimed){late}",
            )
    if finding.outcome != "passed":
        return finding
    return passed(f"{len(pending)} pods are Pending with PodScheduled=False, reason Unschedulable")


@gives("not-tried", "pending-without-event", "pending-without-reason", also=[judge_placement])
def judge_refused_condition(history: History, case: str) -> Finding:
    """A pod that fits on no node had its condition in the end, although one write of it was refused."""
    finding = _judge_reports(history, case, events=False)
    if finding.outcome == "passed" and not _was_refused(history, case):
        return invalid("not-tried", "no write of a pod's status was refused")
    return finding


def _was_refused(history: History, case: str) -> bool:
    """Whether a write of the status of one of the case's pods was refused, by the webhook's record or the audit log."""
    pods = {pod.name for pod in history.test_pods(case)}
    if any(record.pod in pods for record in history.of(StatusRefused, case)):
        return True
    return any(
        f"{request.namespace}/{request.name}" in pods
        and request.resource == "pods/status"
        and request.code >= HTTPStatus.INTERNAL_SERVER_ERROR
        for request in history.requests()
    )


@gives("condition-removed", "not-tried", "pending-without-reason", also=[judge_placement])
def judge_foreign_conditions(history: History, case: str) -> Finding:
    """Conditions that other clients had written were still there after the candidate had written its own."""
    if (finding := judge_placement(history, case)).outcome == "failed":
        return finding
    pods = history.test_pods(case, "conditioned")
    for pod in pods:
        versions = list(_conditions(history, pod.uid))
        written = {kind for version in versions for kind, reason in version.items() if reason == _OTHERS}
        if not written:
            return invalid("not-tried", f"{pod.name} had no condition of another controller")
        if lost := sorted(written - versions[-1].keys()):
            return failed(
                "condition-removed",
                f"{pod.name} lost the condition {', '.join(lost)} of another controller when the candidate wrote "
                "PodScheduled: it replaced the list of conditions",
            )
        if versions[-1].get("PodScheduled") != "Unschedulable":
            return invalid(
                "pending-without-reason", f"the candidate did not set the condition PodScheduled of {pod.name}"
            )
    if not pods or finding.outcome != "passed":
        return finding if finding.outcome != "passed" else invalid("not-tried", "nothing was tried")
    return passed(f"{len(pods)} pods kept the conditions of other controllers beside PodScheduled")


_REPORTED_IN = ("pods", "pods/status", "events")
"""The condition that a scheduler writes."""
_OTHERS = "WrittenByOthers"
"""The reason of the conditions that the harness writes."""


def _conditions(history: History, uid: str) -> Iterator[dict[str, str]]:
    """The conditions of a pod in each of its revisions: type to reason."""
    for event in history.of(WatchEvent):
        if event.resource == "pods" and event.object["metadata"]["uid"] == uid and event.type != "DELETED":
            conditions = event.object.get("status", {}).get("conditions") or ()
            yield {condition["type"]: condition.get("reason", "") for condition in conditions}


def _has_event(history: History, pod: str, uid: str) -> bool:
    """Whether an event about a pod has a message. Its content is not judged."""
    return any(event.explains and event.tells_of(pod, uid) for event in history.of(WatchEvent))


CLAUSES = (
    Clause(
        "core/binds", "A pod that fits on a node is bound within the deadline, through the binding subresource.",
        "Kubernetes: pods/binding; e2e sig-scheduling", judge_binds, needs=AUDIT,
        hint="POST to pods/NAME/binding with target.name; check schedulerName, RBAC for pods/binding, and the log.",
    ),
    Clause(
        "core/unschedulable-condition",
        "A pod that fits on no node stays Pending, with the condition PodScheduled=False and the reason Unschedulable.",
        "Kubernetes: PodCondition PodScheduled, PodReasonUnschedulable", judge_unschedulable_condition,
        also=frozenset({"events"}), stands_on=STEERED,
        hint="PATCH pods/status with PodScheduled=False, reason Unschedulable; RBAC: pods/status.",
    ),
    Clause(
        "core/condition-refused",
        "If the apiserver refuses a write of a pod's PodScheduled condition, the pod has it after the next attempt "
        "at the latest.",
        "Kubernetes: PodCondition PodScheduled; API: requests may fail for reasons that pass", judge_refused_condition,
        needs=HOLD_BINDINGS | AUDIT | CHANGE_NODES, stands_on=STEERED | TRIED_AGAIN,
        hint="Remember a reported condition only after the apiserver has accepted it.",
    ),
    Clause(
        "core/foreign-conditions",
        "A write of the PodScheduled condition keeps the conditions that other clients have set on the pod.",
        "Kubernetes: PodStatus.conditions, merged by type; readiness gates (KEP-580)", judge_foreign_conditions,
        stands_on=STEERED,
        hint=(
            "Patch status.conditions by strategic merge or server-side apply; a JSON merge patch or PUT replaces the "
            "list."
        ),
    ),
)  # fmt: skip
