"""How a candidate treats the apiserver: how often it asks, and by which requests it places pods."""

from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING

from schedproof.judge.clause import AUDIT, HOLD_BINDINGS, Clause
from schedproof.judge.evidence import shown, timeline
from schedproof.judge.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, invalid, passed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.history.history import History
    from schedproof.history.record import Record

__all__ = ["CLAUSES", "READS_LIMIT", "STEADY_LIMIT", "judge_binding_subresource", "judge_no_spec_patch", "judge_steady"]

STEADY_LIMIT = 10.0
"""How often per second one and the same request may be made while nothing happens but that pods fit nowhere.

A poll makes a request of each kind at its own rate, and 5 Hz are common: that costs, say, 5 lists of pods, 5 of nodes
and 5 writes of each waiting pod's condition a second, and twice as many lists where two parts poll. A loop without
back-off repeats what it does as fast as the apiserver answers: each of its requests hundreds of times.
"""

READS_LIMIT = 20.0
"""How often per second objects of one kind may be read, whichever they are. Ten pods wait for the whole run: who looks
at each of them once a second reads ten; a loop without back-off, on a machine with a load of 20, was seen to read 28.
"""


def judge_steady(history: History, case: str) -> Finding:
    """While pods fitted nowhere and nothing else happened, it made few requests."""
    finding = judge_placement(history, case)
    if finding.outcome != "passed":
        return finding
    calm = next(history.of("calm", case), None)
    if calm is None:
        return invalid("there was no calm to watch it in", timeline=timeline(history, case))
    if not any(expectation["outcome"] == "pending" for expectation in history.of("expect", case)):
        return invalid("no pod was to be left pending", timeline=timeline(history, case))
    requests, seconds = _in_calm(history, case, calm)
    rate = len(requests) / seconds
    if not requests:
        return passed("no request at all while pods fitted nowhere", measured={"requests per second": 0.0})
    ((what, count),) = collections.Counter(map(_same, requests)).most_common(1)
    measured = {"requests per second": rate, "of the most frequent one": count / seconds}
    reads = collections.Counter((verb, about) for verb, about, _ in map(_same, requests) if verb in ("get", "list"))
    ((kind, of_kind),) = reads.most_common(1) or [(("", ""), 0)]
    if of_kind / seconds > READS_LIMIT:
        return failed(
            f"{' '.join(kind)}: {of_kind / seconds:.0f} times per second while nothing happened (limit: "
            f"{READS_LIMIT:g}, of all objects together); {rate:.0f} requests per second in all",
            measured=measured, **shown(history, case),
        )  # fmt: skip
    if count / seconds > STEADY_LIMIT:
        return failed(
            f"{' '.join(filter(None, what))}: {count / seconds:.0f} times per second while nothing happened "
            f"(limit: {STEADY_LIMIT:g}); {rate:.0f} requests per second in all",
            measured=measured, **shown(history, case),
        )  # fmt: skip
    return passed(
        f"{rate:.1f} requests per second while pods fitted nowhere, at most {count / seconds:.1f} of one kind",
        measured=measured,
    )


def _in_calm(history: History, case: str, calm: Record) -> tuple[list[Record], float]:
    """The candidate's requests while the harness did nothing, and for how many seconds that was."""
    own = [request for request in history.of("request") if request["user"] in history.candidate_users]
    over = next(history.of("calm-over", case), None)
    if over is None or "mark" not in over:
        begin, seconds = calm["at"], calm["seconds"]
        return [request for request in own if begin <= request["received"] <= begin + seconds], seconds

    def follows(request: Record, event: Record) -> bool:
        return history.order.follows(request.get("line", 0), request["received"], event)

    return [request for request in own if follows(request, calm) and not follows(request, over)], over["seconds"]


def _same(request: Record) -> tuple[str, str, str]:
    """What makes two requests the same: verb, resource or path, and the object; what is created has a new name."""
    about = request["resource"] or request.get("path", "")
    return request["verb"], about, request["name"] if request["verb"] != "create" or "/" in about else ""


def judge_binding_subresource(history: History, _case: str) -> Finding:
    """It posted Bindings, and created no pod that has its node from the start."""
    created = [request for request in _own(history, "create") if request["resource"] == "pods" and _names_node(request)]
    if created:
        return failed(
            f"it created {_pod(created[0])} with spec.nodeName set ({len(created)} such requests): a pod that is "
            "created anew is another pod, past its owner, and no Binding says who placed it",
            timeline=[f"create pods {_pod(request)}: {request['code']}" for request in created[:20]],
        )
    bindings = [attempt for attempt in history.attempts if attempt.user in history.candidate_users]
    if not any(attempt.succeeded for attempt in bindings):
        return invalid("it bound no pod")
    return passed(f"{len(bindings)} Bindings posted, and no pod created with a node")


def judge_no_spec_patch(history: History, _case: str) -> Finding:
    """No patch or update of a pod, whether or not the apiserver took it, was to set spec.nodeName."""
    changes = [request for request in _own(history, "patch", "update") if request["resource"] == "pods"]
    at_first = {uid: binding.at for uid, binding in history.bindings.items()}
    unbound = [request for request in changes if _names_node(request) and not _was_bound(history, request, at_first)]
    if unbound:
        return failed(
            f"it tried to set spec.nodeName of {_pod(unbound[0])} by {unbound[0]['verb']}, which was answered with "
            f"{unbound[0]['code']} ({len(unbound)} such requests): only a Binding assigns a node",
            timeline=[f"{r['verb']} pods {_pod(r)}: {r['code']}" for r in unbound[:20]],
        )
    if not any(attempt.user in history.candidate_users for attempt in history.attempts):
        return invalid("it tried to place no pod")
    return passed(f"{len(changes)} changes of pods, none of which was to set a node")


def _own(history: History, *verbs: str) -> list[Record]:
    return [r for r in history.of("request") if r["user"] in history.candidate_users and r["verb"] in verbs]


def _pod(request: Record) -> str:
    return f"{request['namespace']}/{request['name']}"


def _names_node(request: Record) -> bool:
    """Whether the body of a request (a pod, a merge patch, or a JSON patch) has a spec.nodeName."""
    body = request["body"] or {}
    if isinstance(body, list):
        return any(step.get("path") == "/spec/nodeName" and step.get("value") for step in body)
    return bool((body.get("spec") or {}).get("nodeName"))


def _was_bound(history: History, request: Record, at_first: Mapping[str, float]) -> bool:
    """Whether a pod of that name was on a node already: an update of, say, its labels then has the node as well."""
    uids = [uid for uid, pod in history.manifests.items() if _pod(pod["metadata"]) == _pod(request)]
    received, _ = history.order.times(request)
    return any(at_first.get(uid, math.inf) <= received for uid in uids)


CLAUSES = (
    Clause(
        "controller/binding-subresource",
        "Pods get their nodes by Bindings that it posts; it creates no pod with a node.",
        "Kubernetes: pods/binding", judge_binding_subresource, needs=AUDIT, whole_run=True,
    ),
    Clause(
        "controller/no-spec-patch", "It sets no pod's spec.nodeName by patch or update.",
        "Kubernetes: PodSpec.nodeName is immutable but for a Binding (ValidatePodUpdate)", judge_no_spec_patch,
        needs=AUDIT, whole_run=True,
    ),
    Clause(
        "controller/steady", "While a pod is unschedulable, or its Binding refused, requests are few.",
        "Kubernetes: controllers back off", judge_steady, needs=HOLD_BINDINGS | AUDIT,
    ),
)  # fmt: skip
