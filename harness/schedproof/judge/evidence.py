"""What a verdict shows: the decision as a table of all nodes, the timeline, the last words of the logs."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.history.history import Binding, History
    from schedproof.history.record import Record

__all__ = ["decision_table", "log_tails", "shown", "timeline"]

_TIMELINE = 60


def decision_table(
    history: History,
    binding: Binding | None,
    per_node: Mapping[str, tuple[str, ...]],
    *,
    manifest: Mapping[str, Any] | None = None,
    expected: str = "",
) -> dict[str, Any]:
    """One decision. `nodes` has a row for each node, and for a chosen one that does not exist.

    A row: `node`, `feasible`, `reasons`, `traffic` (bytes per second as Prometheus had it at the decision, None if
    not read), `scores` (scorer to score), `expected`, `chosen`.
    """
    pod = binding.manifest if binding is not None else (manifest or {})
    metadata = pod.get("metadata", {})
    name = f"{metadata.get('namespace')}/{metadata.get('name')}"
    chosen = binding.node if binding is not None else ""
    reading = next((r for r in history.of("reading") if r["pod"] == name), None)
    traffic = reading["traffic"] if reading is not None else {}
    scores = pod_scores(history, name)
    names = sorted({*per_node, *([chosen] if chosen else [])})
    return {
        "pod": name,
        "requests": [c.get("resources", {}).get("requests", {}) for c in pod.get("spec", {}).get("containers", ())],
        "expected": expected,
        "chosen": chosen,
        "query": reading["query"] if reading is not None else "",
        "nodes": [
            {
                "node": node,
                "feasible": not per_node.get(node, ("does not exist",)),
                "reasons": list(per_node.get(node, ("does not exist",))),
                "traffic": traffic.get(node),
                "scores": scores.get(node, {}),
                "expected": node == expected,
                "chosen": node == chosen,
            }
            for node in names
        ],
    }


def pod_scores(history: History, pod: str) -> dict[str, dict[str, float]]:
    """Node to scorer to score, as the scheduler logged them for a pod (normalized, times weight)."""
    result: dict[str, dict[str, float]] = {}
    for record in history.of("score"):
        if record["pod"] == pod:
            result.setdefault(record["node"], {})[record["scorer"]] = record["score"]
    return result


def shown(history: History, case: str) -> dict[str, Any]:
    """What every finding shows: `timeline` and `logs`."""
    return {"timeline": timeline(history, case), "logs": log_tails(history, case)}


def timeline(history: History, case: str, pod: str = "") -> list[str]:
    """What happened from the case's begin to its end, a line each; the middle is cut where it is long.

    With `pod`, only what concerns that pod, or none in particular, until it was bound.
    """
    begin, end = history.span(case)
    if pod:
        end = min([end, *(attempt.completed for attempt in history.attempts if attempt.pod == pod)])
    lines = [
        f"{record['at'] - begin:+8.3f}s  {text}"
        for record in sorted(history.records[1:], key=lambda record: record["at"])
        if begin <= record["at"] <= end and _concerns(record, pod) and (text := _describe(record, case))
    ]
    if len(lines) > _TIMELINE:
        half = _TIMELINE // 2
        lines = [*lines[:half], f"          ... {len(lines) - _TIMELINE} lines ...", *lines[-half:]]
    return lines


def _concerns(record: Record, pod: str) -> bool:
    about = f"{record['namespace']}/{record['name']}" if record["kind"] == "request" else record.get("pod", pod)
    return not pod or about == pod


def log_tails(history: History, case: str) -> dict[str, list[str]]:
    """The last lines of the candidate's logs at the case's end, and of what ended unexpectedly."""
    tails = {record["name"]: record["lines"] for record in history.of("log", case)}
    return tails | {record["name"]: record["log"] for record in history.of("process") if record.get("log")}


def _describe(record: Record, case: str) -> str:  # noqa: C901 - one line for each kind of record
    kind = record["kind"]
    if record.get("case", case) != case:
        return ""
    if kind == "pod":
        return f"harness creates {record['role']} pod {record['pod']}"
    if kind == "load":
        rates = ", ".join(f"{node} {rate:,.0f}" for node, rate in sorted(record["traffic"].items()))
        return f"load ({record['source']}, B/s): {rates}"
    if kind == "expect":
        return f"waited for {record['pod']} to be {record['outcome']} (at most {record['within']:g} s)"
    if kind == "fence":
        return f"fence: sentinel {record['pod']} is bound"
    if kind == "seen":
        return f"candidate has seen revision {record['rv']} (shown by {record['pod']})"
    if kind == "unseen":
        return f"not shown: {record['reason']}"
    if kind == "process":
        return f"process {record['name']} {record['event']}" + (f", code {record['code']}" if "code" in record else "")
    if kind == "query":
        took = f"{record['seconds'] * 1000:.0f} ms"
        return f"candidate asks Prometheus: {record['request'][:200]} -> {record['status']} in {took}"
    if kind == "extender":
        answer = f"{record['status']} in {record['seconds'] * 1000:.0f} ms {record['answer'][:200]}"
        return f"extender {record['request']} for {record.get('pod', '?')} -> {answer}"
    if kind == "request" and record["resource"] in ("pods/binding", "bindings"):
        target = (record["body"] or {}).get("target", {}).get("name")
        return f"{record['user'].rpartition(':')[2]} binds {record['name']} to {target}: {record['code']}"
    if kind == "request" and record["code"] >= HTTPStatus.BAD_REQUEST and record["verb"] in ("patch", "update"):
        who = record["user"].rpartition(":")[2]
        return f"{who} may not {record['verb']} {record['resource']} {record['name']}: {record['code']}"
    return ""
