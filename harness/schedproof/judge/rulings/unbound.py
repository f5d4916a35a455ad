"""Why a pod that fits was not bound, as far as the record shows: its status, refusals, and failed requests."""

from __future__ import annotations

import collections
import json
from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import TypeVar

from schedproof.history.audit_order import BINDINGS
from schedproof.history.history import History, TestPod
from schedproof.history.observations import ApiRequest, ExtenderCall, PrometheusQuery, Tapped
from schedproof.judge.rulings.other_ways import not_done_otherwise

_Tapped = TypeVar("_Tapped", bound=Tapped)

_REFUSED = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)

_QUOTED = 240
"""Characters that are quoted of a message, query or answer."""


def why_unbound(history: History, pod: TestPod, until: float) -> str:
    """What is on record about a pod from its creation to a given time, as one phrase; "" if there is nothing."""
    return "; ".join(
        [
            *_condition(history, pod),
            *_refusals(history, pod, until),
            *_strays(history, pod, until),
            *_answers(history, pod, until),
        ]
        or [_nothing(history, pod, until)]
    )


def _condition(history: History, pod: TestPod) -> Iterator[str]:
    manifest = history.manifests.get(pod.uid, {})
    for condition in manifest.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            text = f"{condition.get('reason', '')}: {condition.get('message', '')}".strip(": ")
            yield f"its condition PodScheduled says {_quoted(text)}"


def _refusals(history: History, pod: TestPod, until: float) -> Iterator[str]:
    """The most frequent response to its Bindings; or to Bindings without a pod's name, which may be for this pod.

    A Binding that is posted to a namespace has its pod's name in the body, which is not read if it is refused.
    """
    own = [a for a in history.attempts_on(pod.name, pod.uid) if not a.succeeded]
    unnamed = [
        a for a in history.attempts_at(f"{pod.name.partition('/')[0]}/") if pod.at <= a.completed <= until
    ]  # fmt: skip
    codes = collections.Counter((a.code, a.legacy) for a in own or unnamed)
    for (code, legacy), times in codes.most_common(1):
        resource = "bindings" if legacy else "pods/binding"
        need = f": declare `create {resource}` in spec.rbac" if code == HTTPStatus.FORBIDDEN else ""
        whose = "its Binding" if own else "a Binding in its namespace, which names no pod,"
        yield f"{whose} got the response {code}{f' {times} times' if times > 1 else ''}{need}"


def _strays(history: History, pod: TestPod, until: float) -> Iterator[str]:
    """Bindings with its name, or its uid, in another namespace."""
    namespace, _, name = pod.name.partition("/")
    codes: collections.Counter[tuple[str, int]] = collections.Counter()
    for attempt in history.attempts:
        place, _, what = attempt.pod.partition("/")
        about = attempt.uid == pod.uid if attempt.uid else what == name
        if place != namespace and about and attempt.user in history.candidate_users and attempt.completed <= until:
            codes[place, attempt.code] += 1
    for (place, code), times in codes.most_common(1):
        yield (
            f"a Binding of it was sent to namespace {place or '(none)'}, but it is in {namespace}: the response was "
            f"{code}" + (f" {times} times" if times > 1 else "")
        )


def _answers(history: History, pod: TestPod, until: float) -> Iterator[str]:
    """Errors that the candidate got or returned meanwhile; the most frequent of each kind."""
    yield from refused_requests(history, pod.at, until)
    yield from _most(
        f"Prometheus{_staged(r)} responded with {r.status or 'nothing'} to {_quoted(r.request)}"
        for r in _between(history, PrometheusQuery, pod, until)
        if r.status >= HTTPStatus.BAD_REQUEST or not r.status
    )
    yield from _most(
        f"its extender{_staged(r)} responded to {r.request} with {r.status or 'nothing'} {_quoted(r.error or r.answer)}"
        for r in _between(history, ExtenderCall, pod, until)
        if r.pod == pod.name and (r.status != HTTPStatus.OK or r.error)
    )


def _staged(record: Tapped) -> str:
    return ", whose line the harness had broken," if record.fault else ""


def refused_requests(history: History, begin: float, end: float, resources: Collection[str] = ()) -> Iterator[str]:
    """The most frequent request that the apiserver refused or rejected.

    Requests about `resources`, or all except Bindings if none are given. A conflict, or an object that is gone, is
    usual and no fault.
    """
    yield from _most(
        f"the apiserver responded with {r.code} to {r.verb} {r.resource}"
        for r in refusals(history, begin, end)
        if (r.resource in resources if resources else r.resource not in BINDINGS)
    )


def refusals(history: History, begin: float, end: float) -> list[ApiRequest]:
    """The candidate's requests that the apiserver refused or rejected within a span, except those that it then made in
    another way.
    """
    own = [request for request in history.requests() if request.user in history.candidate_users]
    refused = (r for r in own if r.code in _REFUSED and begin <= history.order.times(r)[1] <= end)
    return not_done_otherwise(refused, own)


def _between(history: History, kind: type[_Tapped], pod: TestPod, until: float) -> Iterator[_Tapped]:
    return (record for record in history.of(kind) if pod.at <= record.begun and record.at <= until)


def _most(texts: Iterator[str]) -> Iterator[str]:
    for text, times in collections.Counter(texts).most_common(1):
        yield f"{text} ({times} times)" if times > 1 else text


def _nothing(history: History, pod: TestPod, until: float) -> str:
    """If no error explains it: whether the candidate sent any request at all."""
    asked = sum(
        r.user in history.candidate_users and pod.at <= history.order.times(r)[1] <= until for r in history.requests()
    )
    return "" if asked or "audit" not in history.run.cluster.capabilities else (
        "the candidate sent the apiserver no request meanwhile"
    )  # fmt: skip


def _quoted(text: str) -> str:
    shown = " ".join(str(text).split())
    return json.dumps(shown if len(shown) <= _QUOTED else f"{shown[:_QUOTED]}...", ensure_ascii=False)
