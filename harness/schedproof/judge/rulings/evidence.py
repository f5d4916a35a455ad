"""The evidence of a verdict: the decision as a table of all nodes, the timeline, the last log lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from schedproof.history.acts import PodCreated, Reading
from schedproof.history.history import History
from schedproof.history.observations import LogTail, NodeScore, ProcessEvent
from schedproof.history.watched import Binding
from schedproof.history.world import RESERVED
from schedproof.judge.rulings.ruling import Ruling
from schedproof.judge.rulings.timeline import timeline
from schedproof.oracle.reason import Reason
from schedproof.oracle.resources import Room, amount_of, needed


def decision_table(
    history: History,
    binding: Binding | None,
    per_node: Mapping[str, tuple[str, ...]],
    *,
    manifest: Mapping[str, Any] | None = None,
    expected: str = "",
    room: Mapping[str, Mapping[str, Room]] = MappingProxyType({}),
) -> dict[str, Any]:
    """A decision. `nodes` has a row for each node, and for a chosen node that does not exist.

    The harness's own node, which repels pods, is included only if the pod was bound to it.

    `requests` has those of each container, and `init` those of each init container, as in the manifest; `needed` is
    what the pod needs of a node in all. `expected` is a node, or several with " or " between them. `varied` is how the
    pod differs in looks from the case's description (`PodCreated`).

    A row: `node`, `feasible`, `reasons`, `rules` (the oracle's, that exclude the node), `traffic` (bytes per second as
    Prometheus had it at the decision, None if not read), `scores` (scorer to score), `expected`, `chosen`, and `room`
    if known: of each resource that the pod requests, and of `pods`, how much is `asked`, `free`, and the `total`, in
    thousandths of a cpu, bytes, or whole units.
    """
    pod = binding.manifest if binding is not None else (manifest or {})
    metadata = pod.get("metadata", {})
    name = f"{metadata.get('namespace')}/{metadata.get('name')}"
    chosen = binding.node if binding is not None else ""
    reading = next((r for r in history.of(Reading) if r.pod == name), None)
    traffic = reading.traffic if reading is not None else {}
    scores = pod_scores(history, name)
    ours = {RESERVED} if per_node.get(RESERVED) and expected != RESERVED else set()
    names = sorted({*per_node} - ours | ({chosen} if chosen else set()))
    return {
        "pod": name,
        "requests": [
            (container.get("resources") or {}).get("requests") or {}
            for container in pod.get("spec", {}).get("containers", ())
        ],
        "init": [
            {
                "requests": (container.get("resources") or {}).get("requests") or {},
                "sidecar": container.get("restartPolicy") == "Always",
            }
            for container in pod.get("spec", {}).get("initContainers", ())
        ],
        "needed": {name: amount_of(name, amount) for name, amount in sorted(needed(dict(pod)).items()) if amount}
        if pod
        else {},
        "varied": next((r.varied for r in history.of(PodCreated) if r.uid == metadata.get("uid")), []),
        "expected": expected,
        "chosen": chosen,
        "query": reading.query if reading is not None else "",
        "nodes": [
            {
                "node": node,
                "feasible": not per_node.get(node, ("does not exist",)),
                "reasons": [
                    *(["reserved by the harness"] if node in ours else []),
                    *per_node.get(node, ("does not exist",)),
                ],
                "rules": sorted({reason.rule for reason in per_node.get(node, ()) if isinstance(reason, Reason)}),
                "traffic": traffic.get(node),
                "scores": scores.get(node, {}),
                "expected": node in expected.split(" or "),
                "chosen": node == chosen,
                **_shown_room(room.get(node)),
            }
            for node in names
        ],
    }


def _shown_room(room: Mapping[str, Room] | None) -> dict[str, Any]:
    return {} if room is None else {"room": {name: dataclasses.asdict(node_room) for name, node_room in room.items()}}


def ruled_table(ruling: Ruling, *, expected: str = "") -> dict[str, Any]:
    """The `decision_table` of a binding, in the view of the world that its ruling used."""
    return decision_table(ruling.history, ruling.binding, ruling.per_node, expected=expected, room=ruling.room)


def pod_scores(history: History, pod: str) -> dict[str, dict[str, float]]:
    """Node to scorer to score, as the scheduler logged them for a pod (normalized, times weight)."""
    result: dict[str, dict[str, float]] = {}
    for record in history.of_pod(NodeScore, pod):
        result.setdefault(record.node, {})[record.scorer] = record.score
    return result


def shown(history: History, case: str) -> dict[str, Any]:
    """The evidence of every finding: `timeline` and `logs`."""
    return {"timeline": timeline(history, case), "logs": log_tails(history, case)}


def log_tails(history: History, case: str) -> dict[str, list[str]]:
    """The last lines of the candidate's logs at the case's end, and of processes that ended unexpectedly."""
    tails = {record.name: record.lines for record in history.of(LogTail, case)}
    return tails | {record.name: record.log for record in history.of(ProcessEvent) if record.log}
