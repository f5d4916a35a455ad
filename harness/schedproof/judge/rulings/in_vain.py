"""What on record shows that a candidate will bind no pod, however long it is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from schedproof.history.audit_order import BINDINGS, READING
from schedproof.history.history import History
from schedproof.history.observations import Admission, ApiRequest, ExtenderCall, PrometheusQuery
from schedproof.history.world import key
from schedproof.judge.rulings.extender_calls import calls, configuration, flaw, is_needed

_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
"""Responses that the same request gets again: the harness does not change what a candidate may do."""
_ANYONE_MAY = ("authorization.k8s.io", "authentication.k8s.io")
"""API groups of requests that every client may send: what it may do, and who it is."""
_REPEATED = 2
"""A client may try once whether it may read something."""


def sent_nothing(history: History) -> bool:
    """Whether the candidate has sent no request since its start, neither to the apiserver nor to Prometheus.

    False without an audit log. A request with the response 401 may be the candidate's: the audit log names no user.
    """
    if "audit" not in history.run.cluster.capabilities:
        return False
    asked = any(r.user in history.candidate_users or not r.user for r in history.requests())
    return not (asked or any(history.of(PrometheusQuery)) or any(history.of(ExtenderCall)))


def all_refused(history: History) -> bool:
    """Whether all its Bindings were refused, dry runs included; or, if it sent none, all its requests for resources.

    Then it waits for no Lease of a previous instance: it schedules, or cannot read what it schedules. False if the
    harness has refused Bindings, which it accepts later.
    """
    if any(record.code for record in history.of(Admission)):
        return False
    codes = [request.code for request in _requests(history) if request.resource in BINDINGS]
    if codes:
        return all(code in _REFUSED for code in codes)
    codes = [request.code for request in _requests(history)]
    refused = sum(code in _REFUSED for code in codes)
    return refused >= _REPEATED and all(code >= HTTPStatus.BAD_REQUEST for code in codes)


def verb_unusable(history: History) -> bool:
    """Whether no call of a verb without which no pod is bound got a usable response, although the extender responds.

    An extender that is not ready yet may respond with 503, or not at all.
    """
    if not is_needed(configuration(history)):
        return False
    made = [(call, name) for name in ("filterVerb", "bindVerb") for call in calls(history, name)]
    return any(
        all(_never_usable(call, verb) for call, verb in made if verb == name) for name in {verb for _, verb in made}
    )


def _never_usable(call: ExtenderCall, verb: str) -> bool:
    final = call.status == HTTPStatus.OK or HTTPStatus.BAD_REQUEST <= call.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return final and bool(flaw(call, verb))


def tried_none_of_its_own(history: History) -> bool:
    """Whether the candidate has read pods, and has neither tried to bind a pod of its own nor reported on any.

    It then selects other pods, or does not get as far. False without an audit log.
    """
    requests = list(_requests(history))
    if not any(request.resource == "pods" and request.verb in READING and request.code < 300 for request in requests):
        return False
    own = {key(pod) for pod in history.own_pods().values()}
    wrote = [request for request in requests if request.resource.partition("/")[0] in ("pods", "bindings", "events")]
    return not any(
        request.resource == "events" or f"{request.namespace}/{request.name}" in own
        for request in wrote
        if request.verb not in READING
    )


def _requests(history: History) -> Iterator[ApiRequest]:
    for request in history.requests():
        if request.user in history.candidate_users and request.resource and request.group not in _ANYONE_MAY:
            yield request
