"""What on record shows that a candidate will bind no pod, and what does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schedproof.history.observations import Admission
from schedproof.judge.rulings.in_vain import all_refused, sent_nothing, verb_unusable

from .histories import CAPABILITIES, EXTENDER, HARNESS_USER, HistoryBuilder

REFUSED_BY_HARNESS = Admission(
    case="core/binds", pod="probe-1", uid="", node="node-1", user="", code=403, held=False, effective=False
)
Happens = Callable[[HistoryBuilder], object]


def after(*happens: Happens, **more: object) -> HistoryBuilder:
    h = HistoryBuilder("core/binds", **more)  # type: ignore[arg-type]
    h.pod("probe-1", cpu="1")
    for record in happens:
        record(h)
    return h


def binding(code: int, **more: object) -> Happens:
    return lambda h: h.request("create", "pods/binding", "probe-1", code=code, **more)  # type: ignore[arg-type]


def lease(code: int, verb: str = "get") -> Happens:
    return lambda h: h.request(verb, "leases", "leader", code=code)


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        ([], True),
        ([lambda h: h.request("list", "pods", "", by=HARNESS_USER)], True),
        ([lease(404)], False),
        ([lambda h: h.request("list", "pods", "", by="", code=401)], False),
        ([lambda h: h.query()], False),
        ([lambda h: h.call("filter")], False),
    ],
)
def test_a_candidate_that_sends_nothing_does_nothing(happens: list[Happens], expected: bool) -> None:
    assert sent_nothing(after(*happens).history()) is expected


def test_without_an_audit_log_nothing_is_known_of_requests() -> None:
    assert not sent_nothing(after(capabilities=CAPABILITIES - {"audit"}).history())


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        ([binding(403)], True),
        ([binding(401), binding(403)], True),
        ([binding(403, dry_run=True)], True),
        ([lambda h: h.request("list", "pods", ""), binding(403)], True),
        ([binding(403), binding(201)], False),
        ([binding(409)], False),
        ([binding(403), binding(500)], False),
        ([], False),
        ([lease(403), lease(403)], True),
        ([lease(404), lease(403, "create"), lease(403, "create")], True),
        ([lease(403)], False),
        ([lease(403), lease(403), lease(200)], False),
        ([lease(404), lease(404)], False),
        ([lambda h: h.request("get", "", "", path="/api"), lease(403), lease(403)], True),
        ([lambda h: h.add(REFUSED_BY_HARNESS), binding(403)], False),
    ],
)
def test_refused_requests_are_refused_again(happens: list[Happens], expected: bool) -> None:
    assert all_refused(after(*happens).history()) is expected


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        ([lambda h: h.call("filter", status=404)], True),
        ([lambda h: h.call("filter", unreadable="it is a list")], True),
        ([lambda h: h.call("filter", status=404), lambda h: h.call("filter")], False),
        ([lambda h: h.call("filter", status=503)], False),
        ([lambda h: h.call("filter", status=0)], False),
        ([lambda h: h.call("prioritize", status=404)], False),
        ([lambda h: h.call("filter", status=404, fault="503")], False),
        ([], False),
    ],
)
def test_a_verb_without_a_usable_response_keeps_all_pods_waiting(happens: list[Happens], expected: bool) -> None:
    assert verb_unusable(after(*happens).history()) is expected
    assert not verb_unusable(after(*happens, extender={**EXTENDER, "ignorable": True}).history())
