"""What holds over a whole run, whatever clause is tried: `core/own-pods-only`, `core/all-accounted`."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from http import HTTPStatus

from schedproof.history.audit_order import READING
from schedproof.history.history import Attempt, History
from schedproof.history.observations import Admission, ApiRequest, ExtenderCall, Manifest, StartFailed, WatchEvent
from schedproof.history.world import key
from schedproof.judge.clause import AUDIT, Clause
from schedproof.judge.clauses.core.placement import bound_unshown, left_unbound
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.evictions import beneficiaries, in_vain
from schedproof.judge.rulings.lateness import is_overdue
from schedproof.judge.rulings.removals import created_by_candidate, pod_of, removals
from schedproof.judge.rulings.reports import untrue_reports
from schedproof.judge.rulings.timeline import log_tails
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed

_APART = 1.0
"""Seconds: the audit log and the tap see the same event at different times."""


@gives("foreign-pod", "not-tried")
def judge_own_pods(history: History, _case: str) -> Finding:
    """The candidate sent no request except reads that concerns a pod of another schedulerName, and caused the end of
    none.

    Pods that it created are its own. A deletion of a collection counts by the pods that ended. A patch of a pod's
    metadata is reported and does not fail: controllers that belong to a scheduler label and annotate pods, and that
    decides nothing about them. A failed request counts if it names a pod that is known to belong to another scheduler;
    a request that the apiserver refused before it read the body names none.
    """
    created = created_by_candidate(history)
    own = {key(pod) for pod in history.own_pods().values()}
    foreign = {key(pod) for uid, pod in history.manifests.items() if uid not in created} - own
    if not foreign:
        return invalid("not-tried", "there was no pod of another scheduler")
    written = [request for request in writes(history) if _is_foreign(history, request, own, foreign, created)]
    touched = {r.line: _request(r) for r in written if not _leaves_spec(history, r)}
    for removal in removals(history):
        if removal.pod in foreign and removal.uid not in created:
            touched.setdefault(removal.request.line, f"{_request(removal.request)}, which ended {removal.pod}")
    texts = [touched[line] for line in sorted(touched)]
    if texts:
        return failed(
            "foreign-pod",
            f"{texts[0]}, a pod of another scheduler (and {len(texts) - 1} more such requests)",
            Evidence(timeline=texts[:20]),
        )
    if written:
        return passed(
            f"{len(foreign)} pods of other schedulers were left alone, except for metadata: {_request(written[0])} "
            f"(and {len(written) - 1} more such requests)",
            Evidence(timeline=[_request(request) for request in written[:20]]),
        )
    return passed(f"{len(foreign)} pods of other schedulers were left alone")


def _is_foreign(
    history: History, request: ApiRequest, own: Collection[str], foreign: Collection[str], created: Collection[str]
) -> bool:
    """Whether a request concerns a pod of another scheduler: a request that was carried out, even if the harness's
    watch did not see the pod.

    The audit log has no name if the request was refused by its path (a Binding posted to a namespace): the apiserver
    read and did nothing. A deletecollection has none either; what it did, the watch shows.
    """
    pod = f"{request.namespace}/{request.name}"
    if request.verb == "deletecollection" or (request.uid or pod_of(history, request)) in created:
        return False
    return pod in foreign or (pod not in own and request.code < HTTPStatus.BAD_REQUEST)


def _leaves_spec(history: History, request: ApiRequest) -> bool:
    """Whether the request patches only a pod's metadata, as its body shows; without a body on record, as the watch
    shows: no version of the pod has another spec, except for the node.
    """
    if request.code or request.body or (request.verb, request.resource) != ("patch", "pods"):
        return is_about_metadata(request)
    name = f"{request.namespace}/{request.name}"
    specs = [
        {**event.object["spec"], "nodeName": ""}
        for event in history.of(WatchEvent)
        if event.resource == "pods" and key(event.object) == name
    ]
    return bool(specs) and all(spec == specs[0] for spec in specs)


def is_about_metadata(request: ApiRequest) -> bool:
    """Whether the request patches only a pod's metadata, such as labels and annotations."""
    body = request.body
    if request.verb != "patch" or request.resource != "pods" or not body:
        return False
    if isinstance(body, list):
        return all(str(step.get("path", "")).startswith("/metadata/") for step in body)
    return {*body} - {"apiVersion", "kind"} == {"metadata"}


def writes(history: History) -> list[ApiRequest]:
    """The candidate's requests that concern pods, except reads."""
    return [
        request
        for request in history.requests()
        if request.user in history.candidate_users
        and request.verb not in READING
        and request.resource.partition("/")[0] in ("pods", "bindings")
    ]


@gives(
    "bound-against-claim", "bound-called-unschedulable", "bound-without-binding", "does-not-start",
    "machine-too-busy", "not-bound-in-time", "not-decided-on", "not-tried", "oracle-gap", "pending-without-reason",
    "pod-removed", "report-untrue", "room-kept", "second-binding", "view-not-shown", "wrong-expectation",
)  # fmt: skip
def judge_accounted(history: History, case: str) -> Finding:
    """Every pod of the candidate ended bound, or Pending with a reason, or was deleted before by another client; none
    was bound twice.

    The harness's own pods, which it waits for in every clause, must be bound if they fit. A pod that was reported as
    Unschedulable fitted on no node in some view that the candidate may have had, and is not reported so once it is
    bound.
    """
    created = created_by_candidate(history)
    own = {uid: pod for uid, pod in history.own_pods().items() if uid not in created}
    if not own:
        return invalid("not-tried", "the candidate got no pod")
    if any(history.of(StartFailed)) and not history.bindings.keys() & own.keys():
        return invalid("does-not-start", "the candidate does not start (see core/alive)")
    alive = {pod["metadata"]["uid"] for pod in history.world.latest().pods.values()}
    effective = {record.call for record in history.of(Admission) if record.effective}
    by_harness = {attempt.uid for attempt in history.attempts if attempt.succeeded and _is_harness(history, attempt)}
    tested = {pod.uid: pod for pod in history.test_pods()}
    lag = _SEEN_BY_ALL if _several_workers(history) else 0.0
    problems: list[tuple[str, str]] = []
    unshown = dict(_unshown(history, {uid: own[uid] for uid in alive & own.keys()}))
    for uid, pod in own.items():
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        made = [a for a in history.attempts_on(name, uid) if a.succeeded or not _by_harness(history, name, a)]
        successes = [attempt for attempt in made if attempt.succeeded or (attempt.call and attempt.call in effective)]
        # One that was posted before this pod was created was meant for the one before, of the same name.
        own_success = bool(successes) and not (uid in tested and history.precedes_pod(successes[0], tested[uid]))
        answered = own_success and not _answer_lost(history, successes[0])
        if answered and (again := _tried_again(history, made, successes[0], lag)) is not None:
            text = f"{name}: bound to {successes[0].node}, then tried again ({again.node}: {again.code})"
            problems.append(("second-binding", text))
        if uid in history.bindings:
            if not successes and uid not in by_harness and not any(attempt.unanswered for attempt in made):
                text = f"{name}: is bound to {history.bindings[uid].node}, but not by a Binding of the candidate"
                problems.append(("bound-without-binding", text))
        elif uid in alive - unshown.keys() and not pod["spec"].get("nodeName") and not _has_reason(pod):
            # (A pod that came with its node, as static pods do, was never to be scheduled.)
            text = f"{name}: ended Pending without a reason (no PodScheduled condition)"
            problems.append(("pending-without-reason", text))
    problems += (("pod-removed", text) for text in _removed(history, own))
    problems += (("not-bound-in-time", text) for text in left_unbound(history))
    problems += (("report-untrue", text) for text in _untrue(history))
    problems += (("bound-called-unschedulable", text) for text in _reported_when_bound(history, own))
    if problems:
        code, text = problems[0]
        return failed(
            code,
            f"{text} ({len(problems)} of {len(own)} pods)",
            Evidence(timeline=[text for _, text in problems[:20]], logs=log_tails(history, case)),
        )
    if unshown:
        return invalid("record-incomplete", next(iter(unshown.values())))
    return passed(f"{len(own)} pods accounted for, {len(history.bindings.keys() & own.keys())} of them bound once")


def _unshown(history: History, alive: Mapping[str, Manifest]) -> Iterator[tuple[str, str]]:
    """The existing pods that are bound by the audit log alone, and a sentence about each."""
    for uid, pod in alive.items():
        if uid not in history.bindings and (gap := bound_unshown(history, key(pod), uid, history.ended_at)):
            yield uid, gap


def _removed(history: History, own: Mapping[str, Manifest]) -> Iterator[str]:
    """The candidate's pods whose end it caused although no pod of higher priority waited, or none that this helped."""
    evicted = removals(history)
    for removal in evicted:
        if removal.uid not in own:
            continue
        waited = beneficiaries(history, removal)
        if why := in_vain(history, removal, evicted) if waited else "no pod of higher priority waited for its place":
            about = "" if removal.request.name else f", which ended {removal.pod}"
            yield f"{_request(removal.request)}{about}: {why}"


def _untrue(history: History) -> Iterator[str]:
    """The reports of pods as Unschedulable that were true in no view. Pods of excluded clauses are left out."""
    excluded = {exclusion.clause for exclusion in history.exclusions}
    left_out = {pod.uid for pod in history.test_pods() if pod.case in excluded}
    for event, node in untrue_reports(history):
        if event.object["metadata"]["uid"] not in left_out:
            yield f"{key(event.object)}: was reported as Unschedulable, and fitted on {node} all the time since it came"


def _reported_when_bound(history: History, own: Collection[str]) -> Iterator[str]:
    """The pods, of those of the candidate, that have a node and are reported as Unschedulable.

    With the node, the apiserver sets PodScheduled to True, so the report was written afterwards. It is excused if the
    answer to the Binding was lost: the candidate may not know of the node.
    """
    reported = {
        event.object["metadata"]["uid"]: event.object
        for event in history.of(WatchEvent)
        if event.resource == "pods" and event.object["spec"].get("nodeName") and _is_unschedulable(event.object)
    }
    for uid, pod in reported.items():
        successes = [attempt for attempt in history.attempts_on(key(pod), uid) if attempt.succeeded]
        by_itself = bool(successes) and not _is_harness(history, successes[0])
        if uid in own and by_itself and not _answer_lost(history, successes[0]):
            yield f"{key(pod)}: was reported as Unschedulable after it was bound to {pod['spec']['nodeName']}"


def _is_unschedulable(pod: Manifest) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable" for c in conditions)


def _by_harness(history: History, pod: str, attempt: Attempt) -> bool:
    """Whether the harness itself called an extender's bind for the pod, as extender/bind-again does."""
    return any(
        call.by == "harness" and call.pod == pod and call.node
        and call.begun - _APART <= attempt.completed and attempt.received <= call.at + _APART
        for call in history.of(ExtenderCall)
    )  # fmt: skip


def _is_harness(history: History, attempt: Attempt) -> bool:
    return attempt.user in history.run.users.harness


_SEEN_BY_ALL = 2.0
"""Seconds after which every worker of a candidate has seen a binding: the default lag that a scheduler is allowed
(core/freshness).
"""


def _answer_lost(history: History, success: Attempt) -> bool:
    """Whether the response to a Binding may have been lost because the candidate was cut off from the apiserver.

    The audit log has the entry before the response is sent, and the watch may show the effect before the response
    arrives.
    """
    return any(success.received <= back and cut <= success.completed + _SEEN_BY_ALL for cut, back in history.cuts)


def _tried_again(history: History, made: Sequence[Attempt], success: Attempt, lag: float) -> Attempt | None:
    """The first attempt that was received after the candidate could have seen the success of an earlier one.

    That is when the success was answered or, if several workers try the same pod, so much later that the others could
    see it by their watches. An attempt that was in flight before that has lost a race, which is allowed: the apiserver
    arbitrates (optimistic concurrency).
    """

    def could_see(again: Attempt) -> bool:
        if lag:
            return is_overdue(history, success.completed, again.received, lag)
        return again.received >= success.completed

    return next((again for again in made if again is not success and could_see(again)), None)


def _several_workers(history: History) -> bool:
    """Whether several attempts to place the same pod were in flight at the same time: a single worker makes them one
    after another.

    What the harness held or delayed does not count, because a client may time out and try again.
    """
    slowed = {r.call for r in history.of(Admission) if r.held or r.effective}
    for uid, pod in history.own_pods().items():
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        made = [attempt for attempt in history.attempts_on(name, uid) if attempt.call not in slowed or not attempt.call]
        if any(b.received < a.completed for a, b in itertools.pairwise(made)):
            return True
    return False


def _has_reason(pod: Manifest) -> bool:
    return any(c["type"] == "PodScheduled" and c.get("reason") for c in pod.get("status", {}).get("conditions", ()))


def _request(request: ApiRequest) -> str:
    return (
        f"{request.user.rpartition(':')[2]}: {request.verb} {request.resource} {request.namespace}/{request.name}"
        f"{request.selector and f' ({request.selector})'} -> {request.code or 'no response on record'}"
    )


CLAUSES = (
    Clause(
        "core/own-pods-only",
        "The scheduler sends no request other than reads about pods of another schedulerName.",
        "Kubernetes: PodSpec.schedulerName", judge_own_pods, needs=AUDIT, always=True,
        hint="Compare spec.schedulerName for equality before any action on a pod: no prefix, no lower case.",
    ),
    Clause(
        "core/all-accounted",
        "Every pod ends bound, or Pending with a reason; one Binding per pod succeeds, no Binding follows it, no pod "
        "is deleted, and none is reported as Unschedulable that fits all the time, or is bound.",
        "Kubernetes: pods/binding, PodCondition PodScheduled", judge_accounted, needs=AUDIT, always=True,
        hint="After a successful Binding, drop the pod; requeue a pod that fits on no node, with its condition.",
    ),
)  # fmt: skip
