"""Which refused changes were made after all, by another request with the same effect."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus

from schedproof.history.audit_order import READING
from schedproof.history.observations import ApiRequest

_ENDS: Mapping[tuple[str, str], str] = {
    **dict.fromkeys([("create", "pods/binding"), ("create", "bindings")], "bind"),
    **dict.fromkeys([("delete", "pods"), ("deletecollection", "pods"), ("create", "pods/eviction")], "evict"),
    **{(verb, "events"): "events" for verb in ("create", "update", "patch")},
}
"""The effect of a request, if kinds of requests that differ in more than their verb have the same effect."""
_WRITING = frozenset({"create", "update", "patch"})


def not_done_otherwise(refused: Iterable[ApiRequest], requests: Sequence[ApiRequest]) -> list[ApiRequest]:
    """The refused requests that no later one of `requests`, which was carried out, makes up for.

    That request is by the same user, in the same namespace, with the same effect (an update for a patch, an eviction
    for a deletion, an event of the other API group, a Binding of the pod for one of the namespace), and about the same
    object. The name of an object whose request was refused unread is unknown, and an event has another name the next
    time.
    """
    refused = list(refused)
    if not refused:
        return []
    done: dict[tuple[str, str, str], dict[str, int]] = collections.defaultdict(dict)
    for request in requests:
        if request.verb not in READING and request.code < HTTPStatus.BAD_REQUEST and not request.dry_run:
            done[_end(request)][request.name] = request.line
    return [request for request in refused if request.line >= _last_line(request, done.get(_end(request), {}))]


def _end(request: ApiRequest) -> tuple[str, str, str]:
    verb = "write" if request.verb in _WRITING else request.verb
    what = _ENDS.get((request.verb, request.resource)) or f"{verb} {request.group} {request.resource}"
    return request.user, request.namespace, what


def _last_line(refused: ApiRequest, done: Mapping[str, int]) -> int:
    """The position in the audit log of the last request of `done` that may be about the same object; 0 if there is
    none.
    """
    if refused.name and refused.resource != "events":
        return done.get(refused.name, 0)
    return max(done.values(), default=0)
