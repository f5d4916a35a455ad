"""What holds over a whole run, whatever is tested: `core/own-pods-only`, `core/all-accounted`."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from http import HTTPStatus

from schedproof.history.audit_order import READING
from schedproof.history.history import Attempt, History
from schedproof.history.observations import Admission, ApiRequest, ExtenderCall, Manifest, StartFailed
from schedproof.judge.clause import AUDIT, Clause
from schedproof.judge.clauses.core.placement import left_unbound
from schedproof.judge.rulings.evidence import log_tails
from schedproof.judge.rulings.lateness import is_overdue
from schedproof.judge.verdict import Finding, failed, invalid, passed
from schedproof.oracle.manifest import priority

_APART = 1.0
"""Seconds: the audit log and the tap see one event at different moments."""


def judge_own_pods(history: History, _case: str) -> Finding:
    """No request of the candidate but reads concerned a pod of another schedulerName.

    A patch of a pod's metadata is told, and does not fail: controllers that belong to a scheduler label and annotate
    pods, and that decides nothing about them. A request that failed is held against it where it names a pod that is
    known to be another scheduler's; one that was refused before the apiserver read what it is about names none.
    """
    own = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in history.own_pods().values()}
    foreign = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in history.manifests.values()} - own
    if not foreign:
        return invalid("not-tried", "there was no pod of another scheduler to leave alone")
    written = [request for request in writes(history) if _is_anothers(request, own, foreign)]
    touched = [request for request in written if not is_about_metadata(request)]
    if touched:
        return failed(
            "foreign-pod",
            f"{_request(touched[0])}, a pod of another scheduler (and {len(touched) - 1} more such requests)",
            timeline=[_request(request) for request in touched[:20]],
        )
    if written:
        return passed(
            f"{len(foreign)} pods of other schedulers were left alone, but for metadata: {_request(written[0])} (and "
            f"{len(written) - 1} more such requests)",
            timeline=[_request(request) for request in written[:20]],
        )
    return passed(f"{len(foreign)} pods of other schedulers were left alone")


def _is_anothers(request: ApiRequest, own: Collection[str], foreign: Collection[str]) -> bool:
    """Whether a request concerns a pod of another scheduler: one that was carried out, also where that pod was not
    seen by the harness's watch.

    The audit log has no name where a request was refused by its path (a Binding that is posted to a namespace, a
    collection that is deleted): nothing was read of it, and nothing done.
    """
    pod = f"{request.namespace}/{request.name}"
    return pod in foreign or (pod not in own and request.code < HTTPStatus.BAD_REQUEST)


def is_about_metadata(request: ApiRequest) -> bool:
    """Whether it patches a pod's labels, annotations and the like, and nothing else."""
    body = request.body
    if request.verb != "patch" or request.resource != "pods" or not body:
        return False
    if isinstance(body, list):
        return all(str(step.get("path", "")).startswith("/metadata/") for step in body)
    return {*body} - {"apiVersion", "kind"} == {"metadata"}


def writes(history: History) -> list[ApiRequest]:
    """The candidate's requests that concern pods, but for reading."""
    return [
        request
        for request in history.of(ApiRequest)
        if request.user in history.candidate_users
        and request.verb not in READING
        and request.resource.partition("/")[0] in ("pods", "bindings")
    ]


def judge_accounted(history: History, case: str) -> Finding:
    """Every own pod ended bound, or Pending with a reason, or was deleted first, and not by the candidate; none was
    bound twice.

    Pods of the harness's own, which it waits for in every clause, must be bound where they fit.
    """
    own = history.own_pods()
    if not own:
        return invalid("not-tried", "the candidate was given no pod")
    if any(history.of(StartFailed)) and not history.bindings.keys() & own.keys():
        return invalid("does-not-start", "the candidate does not start (see core/alive)")
    alive = {pod["metadata"]["uid"] for pod in history.world.latest().pods.values()}
    effective = {record.call for record in history.of(Admission) if record.effective}
    by_harness = {attempt.uid for attempt in history.attempts if attempt.succeeded and _is_harness(history, attempt)}
    created = {pod.uid: pod.at for pod in history.test_pods()}
    lag = _SEEN_BY_ALL if _several_workers(history) else 0.0
    problems: list[tuple[str, str]] = []
    for uid, pod in own.items():
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        made = [one for one in history.attempts_on(name, uid) if one.succeeded or not _asked_for(history, name, one)]
        successes = [attempt for attempt in made if attempt.succeeded or (attempt.call and attempt.call in effective)]
        # One that was posted before this pod was created was meant for the one before, of the same name.
        own_success = bool(successes) and not successes[0].precedes(created.get(uid, 0.0))
        told = own_success and not _answer_lost(history, successes[0])
        if told and (again := _tried_again(history, made, successes[0], lag)) is not None:
            text = f"{name}: bound to {successes[0].node}, then tried again ({again.node}: {again.code})"
            problems.append(("second-binding", text))
        if uid in history.bindings:
            if not successes and uid not in by_harness and not any(attempt.unanswered for attempt in made):
                text = f"{name}: is on {history.bindings[uid].node}, but not by a Binding of the candidate"
                problems.append(("bound-without-binding", text))
        elif uid in alive and not pod["spec"].get("nodeName") and not _has_reason(pod):
            # (A pod that came with its node, as static pods do, was never to be scheduled.)
            text = f"{name}: ended Pending without a reason (no PodScheduled condition)"
            problems.append(("pending-without-reason", text))
    problems += (("pod-removed", text) for text in _removed(history))
    problems += (("not-bound-in-time", text) for text in left_unbound(history))
    if problems:
        code, text = problems[0]
        return failed(
            code,
            f"{text} ({len(problems)} of {len(own)} pods)",
            timeline=[text for _, text in problems[:20]],
            logs=log_tails(history, case),
        )
    return passed(f"{len(own)} pods accounted for, {len(history.bindings.keys() & own.keys())} of them bound once")


def _removed(history: History) -> list[str]:
    """Own pods that the candidate deleted or evicted, although none of higher priority could need their place."""
    own = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod for pod in history.own_pods().values()}
    highest = max((priority(pod) for pod in own.values()), default=0)
    found = []
    for request in writes(history):
        pod = own.get(f"{request.namespace}/{request.name}")
        removes = request.verb in ("delete", "deletecollection") or request.resource == "pods/eviction"
        if not removes or request.code >= HTTPStatus.BAD_REQUEST or request.dry_run:
            continue
        if request.verb == "deletecollection" or (pod is not None and priority(pod) >= highest):
            found.append(f"{_request(request)}: no pod of higher priority needs its place")
    return found


def _asked_for(history: History, pod: str, attempt: Attempt) -> bool:
    """Whether the harness itself had told an extender to bind the pod, as extender/bind-again does."""
    return any(
        call.by == "harness" and call.pod == pod and call.node
        and call.begun - _APART <= attempt.completed and attempt.received <= call.at + _APART
        for call in history.of(ExtenderCall)
    )  # fmt: skip


def _is_harness(history: History, attempt: Attempt) -> bool:
    return attempt.user in history.run.users.harness


_SEEN_BY_ALL = 2.0
"""Seconds after which every worker of a candidate has seen a binding: as much as a scheduler may lag behind by default
(core/freshness)."""


def _answer_lost(history: History, success: Attempt) -> bool:
    """Whether the answer to a Binding may have been lost on its way, because the candidate was cut off from it.

    The audit log has the line before the answer is sent, and the watch may show the effect before it arrives.
    """
    return any(success.received <= back and cut <= success.completed + _SEEN_BY_ALL for cut, back in history.cuts)


def _tried_again(history: History, made: Sequence[Attempt], success: Attempt, lag: float) -> Attempt | None:
    """The first attempt that was received once the candidate could have seen its success.

    That is when the success was answered, and where several workers try the same pod, so much later that the others
    could see it by their watches. An attempt that was under way before that has lost a race, which is allowed: the
    apiserver arbitrates (optimistic concurrency).
    """

    def could_see(again: Attempt) -> bool:
        if lag:
            return is_overdue(history, success.completed, again.received, lag)
        return again.received >= success.completed

    return next((again for again in made if again is not success and could_see(again)), None)


def _several_workers(history: History) -> bool:
    """Whether several attempts to place one pod were under way at the same time: one worker makes one after another.

    What the harness held or delayed does not count, for a client may give up on that and try again.
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
        f"{request.user.rpartition(':')[2]}: {request.verb} {request.resource} "
        f"{request.namespace}/{request.name} -> {request.code}"
    )


CLAUSES = (
    Clause(
        "core/own-pods-only",
        "The scheduler sends no request other than reads about pods of another schedulerName.",
        "Kubernetes: PodSpec.schedulerName", judge_own_pods, needs=AUDIT, always=True,
        hint="Compare spec.schedulerName for equality before anything is done to a pod: no prefix, no lower case.",
    ),
    Clause(
        "core/all-accounted",
        "Every pod ends bound, or Pending with a reason; one Binding per pod succeeds, no Binding follows it, and "
        "no pod is deleted.",
        "Kubernetes: pods/binding, PodCondition PodScheduled", judge_accounted, needs=AUDIT, always=True,
        hint="After a Binding that took effect, drop the pod; put one that fits nowhere back with its condition.",
    ),
)  # fmt: skip
