"""The events of a case, a line each: the harness's actions, and the candidate's requests, responses and attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from schedproof.history.acts import (
    Accepted,
    AccountTokens,
    Calm,
    Election,
    Emptied,
    Expect,
    Fence,
    GroupCreated,
    Halted,
    Lift,
    LineFault,
    Missed,
    NodesLoad,
    PodCreated,
    Reading,
    Resumed,
    ShownSeen,
    Tolerates,
    TransportTried,
    Unseen,
)
from schedproof.history.audit_order import BINDINGS
from schedproof.history.history import History
from schedproof.history.observations import (
    Admission,
    ApiRequest,
    EndpointAnswer,
    ExtenderCall,
    LeaseHolder,
    LogTail,
    Manifest,
    ProcessEvent,
    PrometheusQuery,
    Tapped,
    WatchEvent,
)
from schedproof.history.record import Record
from schedproof.history.world import RESERVED, key
from schedproof.oracle.resources import allocatable, amount_of, needed

_MOST = 60
"""Lines."""


def timeline(history: History, case: str, pod: str = "") -> list[str]:
    """The events from the case's begin to its end: a line each, shortened in the middle if there are many.

    With `pod`, only events until it was bound that concern that pod, or none in particular.
    """
    begin, end = history.span(case)
    if pod:
        end = min([end, *(attempt.completed for attempt in history.attempts if attempt.pod == pod)])
    # By their places and moments first: most of what is on record lies outside of the case.
    moments = ((_moment(history, record), record) for record in history.records_since(case))
    within = ((at, record) for at, record in moments if begin <= at <= end)
    events = [
        *((at, text) for at, record in within if _concerns(record, pod) and (text := _line_of(record, case))),
        *node_changes(history),
        *_resizes(history, case),
        *_policies(history, case),
    ]
    lines = [
        f"{at - begin:+8.3f}s  {text}"
        for at, text in sorted(events, key=lambda event: event[0])
        if begin <= at <= end
    ]  # fmt: skip
    if len(lines) > _MOST:
        half = _MOST // 2
        lines = [*lines[:half], f"          ... {len(lines) - _MOST} lines ...", *lines[-half:]]
    return lines


def log_tails(history: History, case: str) -> dict[str, list[str]]:
    """The last lines of the candidate's logs at the case's end, and of processes that ended unexpectedly."""
    tails = {record.name: record.lines for record in history.of(LogTail, case)}
    return tails | {record.name: record.log for record in history.of(ProcessEvent) if record.log}


def _moment(history: History, record: Record) -> float:
    """When it happened, on the run's clock; for requests over a tapped line, when it began."""
    if isinstance(record, Tapped):
        return record.begun
    return history.order.times(record)[1] if isinstance(record, ApiRequest) else record.at


def _concerns(record: Record, pod: str) -> bool:
    if not pod:
        return True
    about = f"{record.namespace}/{record.name}" if isinstance(record, ApiRequest) else getattr(record, "pod", pod)
    return bool(about == pod)


def _line_of(record: Record, case: str) -> str:
    """One line about a record; "" for a record that is not shown, such as that of another case."""
    tell = _LINES.get(type(record))
    return tell(record) if tell is not None and getattr(record, "case", None) in (None, case) else ""


def _policies(history: History, case: str) -> Iterator[tuple[float, str]]:
    """What the candidate claims to do if readings are missing, or do not show yet what it has placed.

    Each from the time when it matters: when the line to Prometheus breaks, when a reading lacks a node.
    """
    claims = history.claims.network
    if claims is None:
        return
    readings = list(history.of(Reading, case))
    known = {*history.run.cluster.nodes}.union(*(reading.traffic for reading in readings))
    lacking = next((reading.at for reading in readings if known - {*reading.traffic}), None)
    if lacking is not None and claims.on_missing is not None:
        yield lacking, f"the candidate claims on-missing: {claims.on_missing}"
    if readings and claims.own_placements is not None:
        yield readings[0].at, f"the candidate claims own-placements: {claims.own_placements}"
    for outage in history.outages("prometheus", case) if claims.on_outage is not None else ():
        yield outage.begin, f"the candidate claims on-outage: {claims.on_outage}"


def _resizes(history: History, case: str) -> Iterator[tuple[float, str]]:
    """Pods of the case whose requests changed."""
    seen: dict[str, Manifest] = {}
    uids = {pod.uid for pod in history.test_pods(case)}
    for event in history.of(WatchEvent):
        if event.resource != "pods" or (uid := event.object["metadata"].get("uid")) not in uids or uid is None:
            continue
        before, seen[uid] = seen.get(uid), event.object
        if before is None or before["spec"].get("containers") == event.object["spec"].get("containers"):
            continue
        if sizes := _sizes(needed(before), needed(event.object)):
            yield event.at, f"pod {key(event.object)} requests {sizes}"


def _sizes(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """The changed amounts, in the scheduler's units: see `oracle.resources`."""
    return ", ".join(
        f"{name} {amount_of(name, after.get(name, 0))} (was {amount_of(name, before.get(name, 0))})"
        for name in sorted({*before, *after})
        if before.get(name, 0) != after.get(name, 0)
    )


def node_changes(history: History) -> Iterator[tuple[float, str]]:
    """Nodes that were added, deleted, or changed in what scheduling depends on; not the harness's own node."""
    nodes: dict[str, dict[str, Any]] = {}
    for event in history.of(WatchEvent):
        name = event.object["metadata"]["name"]
        if event.resource != "nodes" or name == RESERVED:
            continue
        before = nodes.get(name)
        if event.type == "DELETED":
            nodes.pop(name, None)
            yield event.at, f"node {name} is deleted"
            continue
        nodes[name] = after = _state(event.object)
        if before is None and event.type != "LISTED":
            yield event.at, f"node {name} joins"
        elif before is not None and before != after:
            changed = [f"{field} {after[field]}" for field in ("taints", "cordoned") if after[field] != before[field]]
            resized = "" if before["size"] == after["size"] else _sizes(*(
                allocatable({"status": size}) for size in (before["size"], after["size"])
            ))  # fmt: skip
            relabelled = _relabelled(before["labels"], after["labels"])
            yield event.at, f"node {name}: {'; '.join([*changed, *filter(None, [resized]), *relabelled])}"


def _relabelled(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """The changed labels."""
    for label in sorted(before.keys() | after.keys()):
        if before.get(label) != after.get(label):
            yield f"label {label}={after[label]}" if label in after else f"no label {label}"


def _state(node: Manifest) -> dict[str, Any]:
    taints = [f"{t['key']}={t.get('value', '')}:{t['effect']}" for t in node["spec"].get("taints") or ()]
    return {
        "taints": ", ".join(taints) or "none",
        "cordoned": bool(node["spec"].get("unschedulable")),
        "size": {"allocatable": (node.get("status") or {}).get("allocatable")},
        "labels": dict(sorted((node["metadata"].get("labels") or {}).items())),
    }


# -- one line for each kind of record


def _load(load: NodesLoad) -> str:
    rates = ", ".join(f"{node} {rate:,.0f}" for node, rate in sorted(load.traffic.items()))
    return f"load ({load.source}, B/s): {rates}"


def _fault(fault: LineFault) -> str:
    if not fault.on:
        return f"harness heals the line to {fault.line}"
    return f"harness breaks the line to {fault.line}: {fault.fault}"


def _admission(admission: Admission) -> str:
    if not (admission.held or admission.code or admission.effective):
        return ""
    did = "held" if admission.held else f"answered with {admission.code}"
    return f"harness: Binding of {admission.pod} {did}" + (", although it took effect" if admission.effective else "")


def describe_process(event: ProcessEvent) -> str:
    """A `process` record as a line of a timeline."""
    has_code = "code" in event.model_fields_set  # also where it is unknown
    about = f", code {event.code}" if has_code else "" if event.by is None else f" by pid {event.by}"
    return f"process {event.name} {event.event}{about}"


def _query(query: PrometheusQuery) -> str:
    took = f"{query.seconds * 1000:.0f} ms"
    return f"candidate queries Prometheus: {query.request[:200]} -> {query.status or 'no response'} in {took}"


def _extender(call: ExtenderCall) -> str:
    answer = f"{call.status or 'no response'} in {call.seconds * 1000:.0f} ms {call.answer[:200]}"
    return f"extender {call.request} for {call.pod} -> {answer}".rstrip()


def _request(request: ApiRequest) -> str:
    user = request.user.rpartition(":")[2]
    if not request.user:
        return f"an unauthenticated client: {request.verb} {request.resource or request.path}: {request.code}"
    if request.resource in BINDINGS:
        target = request.fields.get("target", {}).get("name")
        how = " (dry run)" if request.dry_run else ""
        return f"{user} binds {request.name} to {target}{how}: {request.code}"
    if request.code >= HTTPStatus.BAD_REQUEST and request.verb in ("patch", "update"):
        # Only 403 is a matter of rights; a pod that is gone meanwhile is answered with 404, an old one with 409.
        if request.code == HTTPStatus.FORBIDDEN:
            return f"{user} may not {request.verb} {request.resource} {request.name}: {request.code}"
        return f"{user}: {request.verb} {request.resource} {request.name}: {request.code}"
    return ""


_Kind = TypeVar("_Kind", bound=Record)


def _line(kind: type[_Kind], tell: Callable[[_Kind], str]) -> tuple[type[Record], Callable[[Any], str]]:
    return kind, tell


_LINES: Mapping[type[Record], Callable[[Any], str]] = dict(
    (
        _line(
            PodCreated,
            lambda r: f"harness creates {r.role} pod {r.pod}" + (f", with {'; '.join(r.varied)}" if r.varied else ""),
        ),
        _line(GroupCreated, lambda r: f"harness: the group {r.name} is complete, with {len(r.pods)} members"),
        _line(TransportTried, lambda r: f"harness sends {r.how} -> {r.status or r.error}"),
        _line(NodesLoad, _load),
        _line(Expect, lambda r: f"waited for {r.pod} to be {r.outcome} (at most {r.within:g} s)"),
        _line(Missed, lambda r: f"waited {r.within:g} s ({r.deadline}) in vain for {r.what}"),
        _line(Fence, lambda r: f"fence: sentinel {r.pod} is bound"),
        _line(ShownSeen, lambda r: f"candidate has seen revision {r.rv} (shown by {r.pod})"),
        _line(Unseen, lambda r: f"not shown: {r.reason}"),
        _line(LineFault, _fault),
        _line(AccountTokens, lambda r: f"harness: the tokens of the ServiceAccount's files are {r.event}"),
        _line(Halted, lambda _: "harness stops the candidate"),
        _line(Resumed, lambda _: "harness restarts the candidate"),
        _line(Election, lambda r: f"harness: {r.event.replace('-', ' ')} (the second instance is {r.user})"),
        _line(EndpointAnswer, lambda r: f"harness requests {r.path}: {r.status or 'no response'}"),
        _line(LeaseHolder, lambda r: f"the holder of the Lease {r.name} is {r.holder or 'none'}"),
        _line(Emptied, lambda _: "harness removes all nodes"),
        _line(Lift, lambda r: f"harness removes the scheduling gates of {r.pod}"),
        _line(Tolerates, lambda r: f"harness adds a toleration to {r.pod}"),
        _line(Accepted, lambda r: f"harness no longer refuses the Bindings of {r.pod}"),
        _line(Calm, lambda r: f"harness does nothing for {r.seconds:g} s"),
        _line(Admission, _admission),
        _line(ProcessEvent, describe_process),
        _line(PrometheusQuery, _query),
        _line(ExtenderCall, _extender),
        _line(ApiRequest, _request),
    )
)
