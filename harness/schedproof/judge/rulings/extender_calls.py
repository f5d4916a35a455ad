"""Recorded calls of an extender's verbs, and what kube-scheduler can read of the responses.

Source: `send` in pkg/scheduler/extender.go. Status 200 and a body that Go can read; everything else is an error, which
fails the pod's attempt after filter, preempt and bind, and is ignored after prioritize.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from schedproof.documents.extender_answers import verb_of
from schedproof.history.history import History
from schedproof.history.observations import CLIENT_LEFT, IDLE_CLOSED, REFUSED_HERE, ExtenderCall, Manifest

DEFAULT_TIMEOUT = 5.0
"""Seconds: DefaultExtenderTimeout."""


def configuration(history: History) -> Mapping[str, Any]:
    """The extender's configuration; empty if the candidate is not an extender."""
    extender = history.run.candidate.extender or {}
    config: Mapping[str, Any] = extender.get("config") or {}
    return config


def is_needed(config: Mapping[str, Any]) -> bool:
    """Whether pods wait while an extender of this configuration is down.

    If it is ignorable, kube-scheduler skips its bind as well, and binds by itself (extendersBinding).
    """
    return bool((config.get("bindVerb") or config.get("filterVerb")) and not config.get("ignorable"))


NOTHING_ASKED = "neither filterVerb nor prioritizeVerb is configured"
ONLY_PREEMPT = "no verb except preemptVerb is configured, which kube-scheduler calls only if evictions could make room"


def asking_verbs(history: History) -> list[str]:
    """The configured verbs that ask about nodes, and change nothing."""
    return [name for name in ("filterVerb", "prioritizeVerb") if configuration(history).get(name)]


def cycle_verbs(history: History) -> list[str]:
    """The configured verbs that are called for each pod; preemptVerb is called only if evictions could make room."""
    return [name for name in ("filterVerb", "prioritizeVerb", "bindVerb") if configuration(history).get(name)]


def verb(history: History, call: ExtenderCall) -> str:
    """`filterVerb`, `prioritizeVerb`, `preemptVerb` or `bindVerb`; "" if the call is of no configured verb."""
    return verb_of(call.request, configuration(history))


def calls(history: History, name: str, case: str | None = None, by: str = "scheduler") -> list[ExtenderCall]:
    """Calls of a configured verb (`filterVerb`) that began within the case, or in the whole run.

    Without calls that a fault was injected into, calls that were cut short by neither the extender nor a timeout
    (`_cut_short`), and calls that are not recorded in full (`lost_calls`).
    """
    return [
        call
        for call in all_calls(history, name, case, by)
        if not (call.fault or call.cut or call.broken.startswith(REFUSED_HERE) or _cut_short(history, call))
    ]


def all_calls(history: History, name: str, case: str | None = None, by: str = "scheduler") -> list[ExtenderCall]:
    """As `calls`, with those that are left out there."""
    begin, end = (0.0, float("inf")) if case is None else history.span(case)
    return [
        call
        for call in history.of(ExtenderCall)
        if call.by == by and begin <= call.begun <= end and not call.is_redirect and verb(history, call) == name
    ]


def lost_calls(history: History, case: str | None = None) -> str:
    """What the tap has not recorded of the calls that began within the case, or in the whole run; "" if nothing.

    A clause about calls is not proved then: neither their requests nor their responses are known in full.
    """
    begin, end = (0.0, float("inf")) if case is None else history.span(case)
    seen = [record for record in history.of(ExtenderCall) if begin <= record.begun <= end and not record.fault]
    if cut := [call for call in seen if call.cut]:
        return f"{len(cut)} calls were longer than the tap records, as {cut[0].request} of {cut[0].bytes} bytes"
    if refused := [call for call in seen if call.broken.startswith(REFUSED_HERE)]:
        return f"{refused[0].request}: the tap could not read what kube-scheduler may have read ({refused[0].broken})"
    return ""


def _cut_short(history: History, call: ExtenderCall) -> bool:
    """Whether the response was lost without a fault of the extender's.

    The caller ended before its timeout, such as a scheduler that is stopped, and had no response yet; or the extender
    closed a connection that it had not used for a while, just when the request was sent.
    """
    if call.status not in (0, HTTPStatus.OK) or call.unreadable == "":
        return False
    return call.broken == IDLE_CLOSED or (call.broken == CLIENT_LEFT and answered_in_time(history, call))


def described(call: ExtenderCall) -> str:
    if why := no_response(call):
        return f"{call.request} got no response: {why}"
    return f"{call.request} responded with {call.status} ({call.error or call.answer[:200] or 'an empty body'})"


def no_response(call: ExtenderCall) -> str:
    """Why there was no HTTP response, as far as the tap knows; "" if there was one."""
    by_the_tap = call.status == HTTPStatus.BAD_GATEWAY and call.broken
    return call.broken or "the connection was closed" if by_the_tap or not call.status else ""


def unanswered(call: ExtenderCall) -> bool:
    """Whether there was no HTTP response: the tap says 502 if its upstream does not respond."""
    return call.status in (0, HTTPStatus.BAD_GATEWAY)


def flaw(call: ExtenderCall, name: str) -> str:
    """Why kube-scheduler cannot use the response to a call of this verb; "" if it can."""
    if call.status != HTTPStatus.OK:
        return described(call)
    reason = call.unreadable
    if reason is None:  # recorded before answers were read as Go does
        readable = call.is_json and (name != "prioritizeVerb" or call.scores is not None)
        reason = "" if readable else "it does not have the verb's type"
    return f"{described(call)}, which kube-scheduler cannot read: {reason}" if reason else ""


def answered_in_time(history: History, call: ExtenderCall) -> bool:
    """Whether kube-scheduler was still connected when the response came."""
    return bool(call.seconds <= configuration(history).get("httpTimeout", DEFAULT_TIMEOUT))


def never_called(history: History, names: str) -> str:
    """The sentence that verbs were not called, and why that may be."""
    text = f"kube-scheduler never called {names}"
    if redirects := [call for call in history.of(ExtenderCall) if call.is_redirect]:
        return f"{redirects[0].request} was redirected past the tap: what followed is not recorded"
    config = configuration(history)
    managed = {resource["name"] for resource in config.get("managedResources") or ()}
    if managed and not any(managed & _asked_for(pod) for pod in history.own_pods().values()):
        return f"{text}: it is called only for pods that request {', '.join(sorted(managed))}, and none did"
    return text


def _asked_for(pod: Manifest) -> set[str]:
    """Whether the pod requests a managed resource, as `IsInterested` decides."""
    spec = pod["spec"]
    return {
        resource
        for container in (*spec.get("containers", ()), *(spec.get("initContainers") or ()))
        for kind in ("requests", "limits")
        for resource in (container.get("resources") or {}).get(kind) or ()
    }
