"""How a candidate uses the apiserver: how often, and by which requests it places pods."""

from __future__ import annotations

import collections
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from schedproof.history.acts import Calm, CalmOver, Expect, Marked
from schedproof.history.history import History
from schedproof.history.observations import ApiRequest
from schedproof.history.world import key
from schedproof.judge.clause import AUDIT, HOLD_BINDINGS, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.evidence import Evidence
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed

STEADY_LIMIT = 10.0
"""The limit for repeats of the same request per second while the only thing that happens is that pods fit on no node.

A poll makes a request of each kind at its own rate, and 5 Hz are common: that costs, for example, 5 lists of pods, 5 of
nodes and 5 writes of each pending pod's condition a second, and twice as many lists if two parts poll. A loop without
back-off repeats its requests as fast as the apiserver responds: each of them hundreds of times.
"""

READS_LIMIT = 20.0
"""The limit for reads of objects of one kind per second. Ten pods wait for the whole run: reading each of them once a
second makes ten reads; a loop without back-off makes 28 or more, on a machine with a load of 20.
"""


_READS = ("get", "list")
_REST = 0.1
"""The least number of seconds without a request that counts as rest; and no less than `_LONG` times the usual pause
between two requests. A loop that waits for a processor pauses as well, and about as long each time.
"""
_LONG = 5.0
_RESTING = 0.2
"""The least share of the time that a poll rests if it processes all its pods and nodes, and then waits."""


@gives("not-tried", "too-many-requests", also=[judge_placement])
def judge_steady(history: History, case: str) -> Finding:
    """While pods fitted on no node and nothing else happened, the candidate made few requests, or read much and then
    rested.
    """
    if (finding := judge_placement(history, case)).outcome != "passed":
        return finding
    calm = next(history.of(Calm, case), None)
    if calm is None:
        return invalid(
            "not-tried",
            "there was no quiet period in which its requests could be counted",
        )
    if not any(expectation.outcome == "pending" for expectation in history.of(Expect, case)):
        return invalid("not-tried", "no pod was expected to stay pending")
    requests, seconds = _in_calm(history, case, calm)
    rate = len(requests) / seconds
    if not requests:
        return passed("no request at all while pods fitted on no node", Evidence(measured={"requests per second": 0.0}))
    resting = _resting(requests, seconds)
    # How much it reads at a time depends on how many pods and nodes there are, which is the harness's doing.
    counted = [_same(request) for request in requests if resting < _RESTING or request.verb not in _READS]
    ((what, count),) = collections.Counter(counted).most_common(1) or [(("", "", ""), 0)]
    measured = {
        "requests per second": rate, "of the most frequent one": count / seconds, "part of the time at rest": resting
    }  # fmt: skip
    reads = collections.Counter((verb, about) for verb, about, _ in counted if verb in _READS)
    ((kind, of_kind),) = reads.most_common(1) or [(("", ""), 0)]
    if of_kind / seconds > READS_LIMIT:
        return failed(
            "too-many-requests",
            f"{' '.join(kind)}: {of_kind / seconds:.0f} times per second while nothing happened (limit: "
            f"{READS_LIMIT:g}, of all objects together); {rate:.0f} requests per second in all",
            Evidence(measured=measured),
        )  # fmt: skip
    if count / seconds > STEADY_LIMIT:
        return failed(
            "too-many-requests",
            f"{' '.join(filter(None, what))}: {count / seconds:.0f} times per second while nothing happened "
            f"(limit: {STEADY_LIMIT:g}); {rate:.0f} requests per second in all",
            Evidence(measured=measured),
        )  # fmt: skip
    return passed(
        f"{rate:.1f} requests per second while pods fitted on no node, at most {count / seconds:.1f} of one kind",
        Evidence(measured=measured),
    )


def _in_calm(history: History, case: str, calm: Calm) -> tuple[list[ApiRequest], float]:
    """The candidate's requests while the harness did nothing, and for how many seconds that was."""
    own = [request for request in history.requests() if request.user in history.candidate_users]
    over = next(history.of(CalmOver, case), None)
    if over is None or not over.mark:
        begin, seconds = calm.at, calm.seconds
        return [request for request in own if begin <= request.received <= begin + seconds], seconds

    def follows(request: ApiRequest, event: Marked) -> bool:
        return history.order.follows(request.line, request.received, event)

    return [request for request in own if follows(request, calm) and not follows(request, over)], over.seconds


def _resting(requests: Sequence[ApiRequest], seconds: float) -> float:
    """The share of the time without requests for a while; the time before the first request does not count."""
    moments = sorted(request.received for request in requests)
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    rest = max(_REST, _LONG * statistics.median(gaps or [0.0]))
    return sum(gap for gap in gaps if gap >= rest) / seconds


def _same(request: ApiRequest) -> tuple[str, str, str]:
    """The key by which two requests are the same: verb, resource or path, and the object; created objects have new
    names.
    """
    about = request.resource or request.path
    return request.verb, about, request.name if request.verb != "create" or "/" in about else ""


@gives("nothing-bound", "pod-created-with-node")
def judge_binding_subresource(history: History, _case: str) -> Finding:
    """The candidate posted Bindings, and created no pod with spec.nodeName set."""
    created = [request for request in _own(history, "create") if request.resource == "pods" and _names_node(request)]
    if created:
        return failed(
            "pod-created-with-node",
            f"it created {_pod(created[0])} with spec.nodeName set ({len(created)} such requests): the owner of the "
            "original pod does not know the replacement, and no Binding records its placement",
            Evidence(timeline=[f"create pods {_pod(request)}: {request.code}" for request in created[:20]]),
        )
    bindings = [attempt for attempt in history.attempts if attempt.user in history.candidate_users]
    if not any(attempt.succeeded for attempt in bindings):
        return invalid("nothing-bound", "it bound no pod")
    return passed(f"{len(bindings)} Bindings posted, and no pod created with spec.nodeName set")


@gives("node-name-written", "nothing-bound")
def judge_no_spec_patch(history: History, _case: str) -> Finding:
    """No patch or update of a pod, accepted or not, would have set spec.nodeName."""
    changes = [request for request in _own(history, "patch", "update") if request.resource == "pods"]
    at_first = {uid: binding.at for uid, binding in history.bindings.items()}
    unbound = [request for request in changes if _names_node(request) and not _was_bound(history, request, at_first)]
    if unbound:
        return failed(
            "node-name-written",
            f"it tried to set spec.nodeName of {_pod(unbound[0])} by {unbound[0].verb}, with the response "
            f"{unbound[0].code} ({len(unbound)} such requests): only a Binding assigns a node",
            Evidence(timeline=[f"{r.verb} pods {_pod(r)}: {r.code}" for r in unbound[:20]]),
        )
    if not any(attempt.user in history.candidate_users for attempt in history.attempts):
        return invalid("nothing-bound", "it tried to place no pod")
    # A pod that is bound has its node in an update, or in an apply of all its fields: these bodies are not needed.
    unknown = [request for request in changes if not request.code and not _was_bound(history, request, at_first)]
    if unknown:
        return invalid(
            "record-incomplete",
            f"the audit log has only the begin of {len(unknown)} changes of pods that were not bound "
            f"({unknown[0].verb} {_pod(unknown[0])}): whether they set spec.nodeName is unknown",
        )
    return passed(f"{len(changes)} changes of pods, none of spec.nodeName")


def _own(history: History, *verbs: str) -> list[ApiRequest]:
    return [r for r in history.requests() if r.user in history.candidate_users and r.verb in verbs]


def _pod(request: ApiRequest) -> str:
    return f"{request.namespace}/{request.name}"


def _names_node(request: ApiRequest) -> bool:
    """Whether the body of a request (a pod, a merge patch, or a JSON patch) sets spec.nodeName."""
    body = request.body or {}
    if isinstance(body, list):
        return any(
            step.get("path") == "/spec/nodeName" and step.get("value") and step.get("op") != "test" for step in body
        )
    return bool((body.get("spec") or {}).get("nodeName"))


def _was_bound(history: History, request: ApiRequest, at_first: Mapping[str, float]) -> bool:
    """Whether a pod of that name was bound already: an update of, for example, its labels then includes the node.

    The candidate's watch may have shown the binding before the harness's own did, but not before the Binding was made.
    """
    if any(attempt.succeeded and attempt.line < request.line for attempt in history.attempts_at(_pod(request))):
        return True
    uids = [uid for uid, pod in history.manifests.items() if key(pod) == _pod(request)]
    received, _ = history.order.times(request)
    return any(at_first.get(uid, math.inf) <= received for uid in uids)


CLAUSES = (
    Clause(
        "controller/binding-subresource",
        "Pods get their nodes by Bindings that the controller posts; it creates no pod with spec.nodeName set.",
        "Kubernetes: pods/binding", judge_binding_subresource, needs=AUDIT, whole_run=True,
        hint="POST to pods/NAME/binding; never create a replacement pod.",
    ),
    Clause(
        "controller/no-spec-patch", "The controller sets no pod's spec.nodeName by patch or update.",
        "Kubernetes: PodSpec.nodeName is immutable but for a Binding (ValidatePodUpdate)", judge_no_spec_patch,
        needs=AUDIT, whole_run=True,
        hint="spec.nodeName is immutable: POST a Binding to pods/NAME/binding.",
    ),
    Clause(
        "controller/steady",
        "While a pod is unschedulable, or its Binding is refused, the controller sends few requests.",
        "Kubernetes: controllers back off", judge_steady, needs=HOLD_BINDINGS | AUDIT,
        hint="Wait for events or back off; do not poll in a loop.",
    ),
)  # fmt: skip
