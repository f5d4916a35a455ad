"""What a verdict shows: the decision as a table of all nodes, the timeline, the last lines of the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schedproof.judge.timeline import timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedproof.history.history import Binding, History

__all__ = ["decision_table", "log_tails", "shown", "timeline"]


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


def log_tails(history: History, case: str) -> dict[str, list[str]]:
    """The last lines of the candidate's logs at the case's end, and of what ended unexpectedly."""
    tails = {record["name"]: record["lines"] for record in history.of("log", case)}
    return tails | {record["name"]: record["log"] for record in history.of("process") if record.get("log")}
