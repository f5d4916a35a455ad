"""Which pods ended because of the candidate, by any kind of request, and which pods it created.

The watch shows the end of a pod; the request is the evidence of its cause. A pod may be deleted by name, evicted,
deleted with a collection, or deleted by Kubernetes' own controllers because its owner or its node is gone, or because
its node has got a taint.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from schedproof.history.audit_order import STEP
from schedproof.history.history import History
from schedproof.history.observations import ApiRequest
from schedproof.history.world import key

_SHOWN = 1.0
"""Seconds after the response to a deletecollection in which the watch shows the last deletion at the latest."""
_DIRECT = frozenset({("delete", "pods"), ("create", "pods/eviction")})
_SWEEP = ("deletecollection", "pods")
_DELETING = frozenset({"delete", "deletecollection"})
_CONTROLLERS = ("system:kube-controller-manager", "system:serviceaccount:kube-system:")
"""Users, or beginnings of their names, that delete pods as a consequence of what others have done."""

_Object = tuple[str, str]
"""Resource and name."""


@dataclasses.dataclass(frozen=True)
class Removal:
    """The end of a pod, and the request of the candidate that is its cause."""

    pod: str
    """`namespace/name`"""
    uid: str
    at: float
    """When the watch showed it, in seconds of the run; when the request was completed, if the watch has not."""
    rv: float
    """The revision at which the watch showed it; infinity if it has not."""
    request: ApiRequest


def removals(history: History) -> list[Removal]:
    """The pods whose end the candidate has caused, in the order in which they ended.

    If several requests ask for the end of a pod, the first is its cause.
    """
    requests = [r for r in history.requests() if r.code < HTTPStatus.MULTIPLE_CHOICES and not r.dry_run]
    causes: dict[str, ApiRequest] = {}
    by_controllers: set[str] = set()
    for request in requests:
        if (request.verb, request.resource) not in _DIRECT:
            continue
        if request.user.startswith(_CONTROLLERS):
            by_controllers.add(pod_of(history, request))
        else:
            causes.setdefault(pod_of(history, request), request)
    sweeps = [request for request in requests if (request.verb, request.resource) == _SWEEP]
    own = [request for request in requests if request.user in history.candidate_users]
    deleted = [request for request in own if request.verb in _DELETING and request.resource != "pods"]
    tainting = [request for request in own if request.resource == "nodes" and _taints(request)]
    for uid, event in history.endings.items():
        if uid in causes:
            continue
        pod = history.manifests[uid]
        swept = (r for r in sweeps if uid not in by_controllers and _swept(history, r, pod, event.at))
        followed = (request for request in [*deleted, *tainting] if _followed(history, request, pod, event.at))
        if cause := next(swept, None) or next(followed, None):
            causes[uid] = cause
    found = [
        _removal(history, uid, cause)
        for uid, cause in causes.items()
        if uid in history.manifests and cause.user in history.candidate_users
    ]
    return sorted(found, key=lambda removal: (removal.at, removal.request.line))


def created_by_candidate(history: History) -> frozenset[str]:
    """Uids of the pods that the candidate created, itself or through an owner that it created.

    Placeholders that reserve room are an example. They are the candidate's to remove.
    """
    owners: set[tuple[str, _Object]] = set()
    found: set[str] = set()
    for request in history.requests():
        if request.verb != "create" or request.user not in history.candidate_users:
            continue
        if request.code >= HTTPStatus.BAD_REQUEST or request.dry_run:
            continue
        if request.resource == "pods" and request.uid:
            found.add(request.uid)
        owners.add((request.namespace, (request.resource, request.name)))
    for uid, pod in history.manifests.items():
        if any((pod["metadata"]["namespace"], owner) in owners for owner in _owners(pod)):
            found.add(uid)
    return frozenset(found)


def pod_of(history: History, request: ApiRequest) -> str:
    """The uid of the pod that a request names, at the time of the request."""
    name = f"{request.namespace}/{request.name}"
    if uid := history.uid_at(name, request.line):
        return uid
    # Its creation is not on record, as before the run: of all pods of the name, the first that had not ended by then.
    received = history.order.times(request)[0]
    alike = [uid for uid, pod in history.manifests.items() if key(pod) == name]
    ends = {uid: event.at for uid in alike if (event := history.endings.get(uid)) is not None}
    return next((uid for uid in alike if ends.get(uid, math.inf) >= received - STEP), "")


def _removal(history: History, uid: str, cause: ApiRequest) -> Removal:
    event = history.endings.get(uid)
    at, rv = (history.order.times(cause)[1], math.inf) if event is None else (event.at, float(event.rv))
    return Removal(key(history.manifests[uid]), uid, at, rv, cause)


def _swept(history: History, request: ApiRequest, pod: Mapping[str, Any], at: float) -> bool:
    """Whether a pod ended while a deletecollection of its namespace was carried out."""
    received, completed = history.order.times(request)
    here = request.namespace in ("", pod["metadata"]["namespace"])
    return here and received - STEP <= at <= completed + _SHOWN


def _followed(history: History, request: ApiRequest, pod: Mapping[str, Any], at: float) -> bool:
    """Whether a pod ended after its owner or its node was deleted, or after its node got a taint."""
    if history.order.times(request)[0] > at + STEP:
        return False
    node = pod["spec"].get("nodeName") or ""
    if request.resource == "nodes":
        return bool(node) and request.name in ("", node)
    owned = (owner for owner in _owners(pod) if request.namespace == pod["metadata"]["namespace"])
    return any(request.resource == resource and request.name in ("", name) for resource, name in owned)


def _owners(pod: Mapping[str, Any]) -> Iterator[_Object]:
    """The owners of a pod, and the Deployment of its ReplicaSet (named by the controller: DEPLOYMENT-HASH)."""
    metadata = pod["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        yield f"{owner['kind'].lower()}s", owner["name"]
        hashed = f"-{(metadata.get('labels') or {}).get('pod-template-hash', '')}"
        if owner["kind"] == "ReplicaSet" and len(hashed) > 1 and owner["name"].endswith(hashed):
            yield "deployments", owner["name"].removesuffix(hashed)


def _taints(request: ApiRequest) -> bool:
    """Whether a change of a node has a taint in its body that evicts pods (effect NoExecute)."""
    body = request.body
    if isinstance(body, list):
        values: Sequence[Any] = [step.get("value") for step in body if "taints" in str(step.get("path"))]
        taints = [taint for value in values for taint in (value if isinstance(value, list) else [value])]
    else:
        taints = ((body or {}).get("spec") or {}).get("taints") or []
    return any(isinstance(taint, dict) and taint.get("effect") == "NoExecute" for taint in taints)
