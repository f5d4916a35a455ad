"""The events of a case by subject: a lane for each pod, each line to a peer, and the harness."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus

from schedproof.history.acts import Accepted, Halted, Lift, LineFault, NodesLoad, Resumed, Tolerates
from schedproof.history.audit_order import BINDINGS, READING
from schedproof.history.history import Attempt, History, TestPod
from schedproof.history.observations import ApiRequest, ExtenderCall, ProcessEvent, PrometheusQuery
from schedproof.judge.evidence import EventKind, Lane, LaneEvent, LaneKind, Lanes, Load, RequestCount
from schedproof.judge.rulings.timeline import describe_process, node_changes

_PODS = 12
"""The largest number of lanes of pods."""
_EVENTS = 60
"""The largest number of events in a lane."""
_REQUESTS = 12
"""The largest number of kinds of requests."""
_TEXT = 120
"""The largest number of characters about an event."""
_FENCING = frozenset({"sentinel", "settle", "control"})
"""Roles of pods that the harness creates for itself: they have a lane if they waited in vain or were refused."""
_ENDS = frozenset({"exited", "replaced"})


def lanes(history: History, case: str) -> Lanes:
    """The case as a picture."""
    begin, end = history.span(case)
    clock = _Clock(begin, end)
    pods = [pod for pod in history.test_pods(case) if pod.role not in _FENCING or _troubled(history, pod)]
    shown = _telling(history, pods)
    found = [
        *(_lane(_short(pod), "pod", _pod(history, pod, end), clock, _outcome_of(history, pod, end)) for pod in shown),
        *(_lane(name, "requests", events, clock) for name, events in _requests(history, case).items()),
        *(_lane(name, "harness", events, clock) for name, events in _harness(history, case, end).items()),
    ]
    return Lanes(
        round(end - begin, 3), [Load(clock.at(load.at), load.traffic) for load in history.of(NodesLoad, case)],
        [lane for lane in found if lane.events], _counted(history, begin, end), len(pods) - len(shown),
    )  # fmt: skip


class _Clock:
    """Seconds since the begin of a case, up to its end."""

    def __init__(self, begin: float, end: float) -> None:
        self._begin, self._end = begin, end

    def at(self, moment: float) -> float:
        return round(min(max(moment, self._begin), self._end) - self._begin, 3)

    def meets(self, event: LaneEvent) -> bool:
        return event.until >= self._begin and event.at <= self._end

    def timed(self, event: LaneEvent) -> LaneEvent:
        return dataclasses.replace(event, at=self.at(event.at), until=self.at(event.until))


def _lane(name: str, kind: LaneKind, events: Iterable[LaneEvent], clock: _Clock, text: str = "") -> Lane:
    within = sorted((event for event in events if clock.meets(event)), key=lambda event: event.at)
    kept = {id(event) for event in sorted(within, key=lambda event: event.kind != "refused")[:_EVENTS]}
    shown = [clock.timed(event) for event in within if id(event) in kept]
    return Lane(name, kind, text, len(within) - len(kept), shown)


def _event(at: float, kind: EventKind, text: str, until: float | None = None) -> LaneEvent:
    return LaneEvent(at, at if until is None else until, kind, text[:_TEXT])


# -- pods


def _telling(history: History, pods: Sequence[TestPod]) -> list[TestPod]:
    """The pods that have a lane, in the order of their creation; pods that waited in vain or were refused take
    precedence.
    """

    def turn(pod: TestPod) -> tuple[bool, bool]:
        return bool(_home(history, pod)), not _troubled(history, pod)

    kept = {pod.uid for pod in sorted(pods, key=turn)[:_PODS]}
    return [pod for pod in pods if pod.uid in kept]


def _troubled(history: History, pod: TestPod) -> bool:
    return _bound_at(history, pod) is None or any(not attempt.succeeded for attempt in _attempts(history, pod))


def _attempts(history: History, pod: TestPod) -> Sequence[Attempt]:
    return history.attempts_on(pod.name, pod.uid)


def _short(pod: TestPod) -> str:
    """Its name, without the common prefix of the pods of its case."""
    return pod.name.rpartition("/")[2].removeprefix(f"{pod.case.replace('/', '-')}-")


def _home(history: History, pod: TestPod) -> str:
    """The node that it was created on, past every scheduler; "" for all other pods."""
    if pod.uid in history.bindings:
        return ""
    return str(history.manifests.get(pod.uid, {}).get("spec", {}).get("nodeName") or "")


def _bound_at(history: History, pod: TestPod) -> float | None:
    placed = next((attempt.completed for attempt in _attempts(history, pod) if attempt.succeeded), None)
    binding = history.bindings.get(pod.uid)
    return placed if placed is not None or binding is None else binding.at


def _pod(history: History, pod: TestPod, end: float) -> Iterator[LaneEvent]:
    bound, ending = _bound_at(history, pod), history.endings.get(pod.uid)
    gone = ending.at if ending is not None else end
    if home := _home(history, pod):
        yield _event(pod.at, "bound", f"{pod.role} pod, created on {home}", max(pod.at, gone))
        return
    yield _event(pod.at, "waits", f"{pod.role} pod waits", bound if bound is not None else gone)
    if bound is not None:
        yield _event(bound, "bound", f"on {_node(history, pod)}", max(bound, gone))
    for attempt in _attempts(history, pod):
        if not attempt.succeeded:
            yield _event(attempt.completed, "refused", f"Binding to {attempt.node}: {attempt.code}")
    changes: tuple[tuple[type[Lift | Tolerates | Accepted], str], ...] = (
        (Lift, "its scheduling gates are removed"), (Tolerates, "it gets a toleration"),
        (Accepted, "its Bindings are no longer refused"),
    )  # fmt: skip
    for kind, text in changes:
        yield from (_event(record.at, "done", text) for record in history.of(kind, pod.case) if record.uid == pod.uid)


def _node(history: History, pod: TestPod) -> str:
    binding = history.bindings.get(pod.uid)
    if binding is not None:
        return binding.node
    return next((attempt.node for attempt in _attempts(history, pod) if attempt.succeeded), "")


def _outcome_of(history: History, pod: TestPod, end: float) -> str:
    if home := _home(history, pod):
        return f"created on {home}"
    bound = _bound_at(history, pod)
    return f"bound to {_node(history, pod)}" if bound is not None and bound <= end else "not bound"


# -- requests


def _requests(history: History, case: str) -> dict[str, list[LaneEvent]]:
    """By line: the requests of the candidate, or of kube-scheduler for it."""
    found: dict[str, list[LaneEvent]] = collections.defaultdict(list)
    for record in history.records_since(case):
        if isinstance(record, PrometheusQuery):
            found["asks Prometheus"].append(_query(record))
        elif isinstance(record, ExtenderCall) and record.case in (None, case):
            name, event = _call(record)
            found[name].append(event)
        elif isinstance(record, ApiRequest):
            for name, event in _api(history, record):
                found[name].append(event)
    return dict(sorted(found.items()))


def _query(query: PrometheusQuery) -> LaneEvent:
    answered = query.status == HTTPStatus.OK and not query.fault
    text = f"{_answer(query.status, query.fault)}: {query.request}"
    return _event(query.begun, "answered" if answered else "refused", text, query.at)


def _call(call: ExtenderCall) -> tuple[str, LaneEvent]:
    wrong = call.fault or call.unreadable or call.error
    answered = call.status == HTTPStatus.OK and not wrong
    by = "the harness" if call.by == "harness" else "kube-scheduler"
    text = f"{_answer(call.status, call.fault)}: {call.pod or call.what}" + (f": {wrong}" if wrong else "")
    return f"{by} calls {call.request}", _event(call.begun, "answered" if answered else "refused", text, call.at)


def _answer(status: int, fault: str) -> str:
    return (str(status) if status else "no answer") + (f" (harness: {fault})" if fault else "")


def _api(history: History, request: ApiRequest) -> Iterator[tuple[str, LaneEvent]]:
    """The candidate's writes, and all its refused requests."""
    refused = request.code >= HTTPStatus.BAD_REQUEST
    if request.user not in history.candidate_users or (request.verb in READING and not refused):
        return
    if request.resource == "leases" and not refused:
        return
    what = f"{request.verb} {request.resource or request.path} {request.name}".rstrip()
    target = request.fields.get("target", {}).get("name") if request.resource in BINDINGS else None
    text = f"{what}{f' to {target}' if target else ''}: {request.code}"
    received, completed = history.order.times(request)
    kind: EventKind = "refused" if refused else "answered"
    yield "binds" if request.resource in BINDINGS else "writes", _event(received, kind, text, completed)


def _counted(history: History, begin: float, end: float) -> list[RequestCount]:
    counts: collections.Counter[tuple[str, int]] = collections.Counter()
    for request in history.requests():
        if request.user in history.candidate_users and begin <= history.order.times(request)[1] <= end:
            counts[f"{request.verb} {request.resource or request.path}", request.code] += 1
    ordered = sorted(counts.items(), key=lambda item: (item[0][1] < HTTPStatus.BAD_REQUEST, -item[1], item[0]))
    return [RequestCount(what, code, count) for (what, code), count in ordered[:_REQUESTS]]


# -- the harness


def _harness(history: History, case: str, end: float) -> Mapping[str, list[LaneEvent]]:
    found = {
        f"the line to {line} is broken": [
            _event(span.begin, "waits", span.fault, min(span.end, end))
            for outage in history.outages(line, case)
            for span in outage.spans
        ]
        for line in sorted({record.line for record in history.of(LineFault, case)})
    }
    stops = [halt.at for halt in history.of(Halted, case)]
    starts = [record.at for record in history.of(Resumed, case)]
    found["the candidate is stopped"] = [
        _event(stop, "waits", "stopped by the harness", next((start for start in starts if start >= stop), end))
        for stop in stops
    ]
    found["processes end"] = [
        _event(event.at, "refused", describe_process(event))
        for event in history.of(ProcessEvent)
        if event.event in _ENDS
    ]
    found["nodes change"] = [_event(at, "done", text) for at, text in node_changes(history)]
    return found
