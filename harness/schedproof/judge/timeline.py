"""What happened in a case, a line for each event: what the harness did, what the candidate asked, got and tried."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from schedproof.history.history import History
    from schedproof.history.record import Record

__all__ = ["describe_process", "timeline"]

_MOST = 60
"""Lines."""
_BINDINGS = ("pods/binding", "bindings")


def timeline(history: History, case: str, pod: str = "") -> list[str]:
    """What happened from the case's begin to its end, a line each; the middle is cut where it is long.

    With `pod`, only what concerns that pod, or none in particular, until it was bound.
    """
    begin, end = history.span(case)
    if pod:
        end = min([end, *(attempt.completed for attempt in history.attempts if attempt.pod == pod)])
    events = [
        *((_moment(history, r), text) for r in history.records[1:] if _concerns(r, pod) and (text := _told(r, case))),
        *_node_changes(history),
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


def _moment(history: History, record: Record) -> float:
    """When it happened, on the run's clock."""
    return history.order.times(record)[1] if record["kind"] == "request" else float(record["at"])


def _concerns(record: Record, pod: str) -> bool:
    about = f"{record['namespace']}/{record['name']}" if record["kind"] == "request" else record.get("pod", pod)
    return not pod or about == pod


def _told(record: Record, case: str) -> str:
    """One line about a record; "" for what is not shown, such as what belongs to another case."""
    tell = _LINES.get(record["kind"])
    return tell(record) if tell is not None and record.get("case", case) == case else ""


def _policies(history: History, case: str) -> Iterator[tuple[float, str]]:
    """What the candidate claims to do from the moment when its line to Prometheus breaks."""
    claims = history.claims.network
    for fault in history.of("fault", case):
        if claims is not None and claims.on_outage is not None and fault["on"] and fault["line"] == "prometheus":
            yield fault["at"], f"the candidate claims on-outage: {claims.on_outage}"


def _node_changes(history: History) -> Iterator[tuple[float, str]]:
    """Nodes that came, went, or changed in what scheduling depends on."""
    nodes: dict[str, dict[str, object]] = {}
    for event in history.of("object"):
        if event["resource"] != "nodes":
            continue
        name = event["object"]["metadata"]["name"]
        before = nodes.get(name)
        if event["type"] == "DELETED":
            nodes.pop(name, None)
            yield event["at"], f"node {name} is gone"
            continue
        nodes[name] = after = _state(event["object"])
        if before is None and event["type"] != "LISTED":
            yield event["at"], f"node {name} joins"
        elif before is not None and before != after:
            changed = [f"{field} {after[field]}" for field in after if after[field] != before[field]]
            yield event["at"], f"node {name}: {'; '.join(changed)}"


def _state(node: Record) -> dict[str, object]:
    taints = [f"{t['key']}={t.get('value', '')}:{t['effect']}" for t in node["spec"].get("taints") or ()]
    return {
        "taints": ", ".join(taints) or "none",
        "cordoned": bool(node["spec"].get("unschedulable")),
        "labels": dict(sorted((node["metadata"].get("labels") or {}).items())),
    }


# -- one line for each kind of record


def _load(record: Record) -> str:
    rates = ", ".join(f"{node} {rate:,.0f}" for node, rate in sorted(record["traffic"].items()))
    return f"load ({record['source']}, B/s): {rates}"


def _fault(record: Record) -> str:
    if not record["on"]:
        return f"harness heals the line to {record['line']}"
    return f"harness breaks the line to {record['line']}: {record['fault']}"


def _admission(record: Record) -> str:
    if not (record["held"] or record["code"] or record["effective"]):
        return ""
    did = "held" if record["held"] else f"answered with {record['code']}"
    return f"harness: Binding of {record['pod']} {did}" + (", though it took effect" if record["effective"] else "")


def describe_process(record: Record) -> str:
    """A `process` record as a line of a timeline."""
    about = f", code {record['code']}" if "code" in record else f" by pid {record['by']}" if "by" in record else ""
    return f"process {record['name']} {record['event']}{about}"


def _query(record: Record) -> str:
    took = f"{record['seconds'] * 1000:.0f} ms"
    return f"candidate asks Prometheus: {record['request'][:200]} -> {record['status']} in {took}"


def _extender(record: Record) -> str:
    answer = f"{record['status']} in {record['seconds'] * 1000:.0f} ms {record['answer'][:200]}"
    return f"extender {record['request']} for {record.get('pod', '?')} -> {answer}"


def _request(record: Record) -> str:
    user = record["user"].rpartition(":")[2]
    if record["resource"] in _BINDINGS:
        target = (record["body"] or {}).get("target", {}).get("name")
        how = " (dry run)" if record.get("dry_run") else ""
        return f"{user} binds {record['name']} to {target}{how}: {record['code']}"
    if record["code"] >= HTTPStatus.BAD_REQUEST and record["verb"] in ("patch", "update"):
        return f"{user} may not {record['verb']} {record['resource']} {record['name']}: {record['code']}"
    return ""


_LINES: Mapping[str, Callable[[Record], str]] = {
    "pod": lambda r: f"harness creates {r['role']} pod {r['pod']}",
    "load": _load,
    "expect": lambda r: f"waited for {r['pod']} to be {r['outcome']} (at most {r['within']:g} s)",
    "missed": lambda r: f"waited {r['within']:g} s ({r['deadline']}) in vain for {r['what']}",
    "fence": lambda r: f"fence: sentinel {r['pod']} is bound",
    "seen": lambda r: f"candidate has seen revision {r['rv']} (shown by {r['pod']})",
    "unseen": lambda r: f"not shown: {r['reason']}",
    "fault": _fault,
    "halted": lambda _: "harness stops the candidate",
    "resumed": lambda _: "harness starts the candidate again",
    "election": lambda r: f"harness: {r['event'].replace('-', ' ')} (the second instance is {r['user']})",
    "emptied": lambda _: "harness takes all nodes away",
    "lift": lambda r: f"harness removes the scheduling gates of {r['pod']}",
    "calm": lambda r: f"harness does nothing for {r['seconds']:g} s",
    "admission": _admission,
    "process": describe_process,
    "query": _query,
    "extender": _extender,
    "request": _request,
}
