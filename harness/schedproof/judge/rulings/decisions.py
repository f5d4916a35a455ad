"""Decisions as evidence: a table of all nodes for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from schedproof.history.acts import PodCreated, Reading
from schedproof.history.history import History
from schedproof.history.observations import NodeScore
from schedproof.history.watched import Binding
from schedproof.history.world import RESERVED
from schedproof.judge.evidence import Decision, InitContainer, NodeRow
from schedproof.judge.rulings.ruling import Ruling
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
) -> Decision:
    """The decision on a pod: that of `binding`, or none on the pod of `manifest`.

    `per_node`: why the pod cannot run on each node. `expected`, `room`: see `Decision` and `NodeRow`.
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
    return Decision(
        pod=name,
        requests=[_requests(container) for container in pod.get("spec", {}).get("containers", ())],
        init=[
            InitContainer(requests=_requests(container), sidecar=container.get("restartPolicy") == "Always")
            for container in pod.get("spec", {}).get("initContainers", ())
        ],
        needed={name: amount_of(name, amount) for name, amount in sorted(needed(dict(pod)).items()) if amount}
        if pod
        else {},
        varied=next((r.varied for r in history.of(PodCreated) if r.uid == metadata.get("uid")), []),
        expected=expected,
        chosen=chosen,
        query=reading.query if reading is not None else "",
        nodes=[
            NodeRow(
                node=node, feasible=not reasons,
                reasons=["reserved by the harness", *reasons] if node in ours else reasons,
                rules=sorted({reason.rule for reason in reasons if isinstance(reason, Reason)}),
                traffic=traffic.get(node), scores=scores.get(node, {}), expected=node in expected.split(" or "),
                chosen=node == chosen, room=dict(room[node]) if node in room else None,
            )
            for node in names
            for reasons in [list(per_node.get(node, ("does not exist",)))]
        ],
    )  # fmt: skip


def _requests(container: Mapping[str, Any]) -> dict[str, Any]:
    return (container.get("resources") or {}).get("requests") or {}


def ruled_table(ruling: Ruling, *, expected: str = "") -> Decision:
    """The `decision_table` of a binding, in the view of the world that its ruling used."""
    return decision_table(ruling.history, ruling.binding, ruling.per_node, expected=expected, room=ruling.room)


def pod_scores(history: History, pod: str) -> dict[str, dict[str, float]]:
    """Node to scorer to score, as the scheduler logged them for a pod (normalized, times weight)."""
    result: dict[str, dict[str, float]] = {}
    for record in history.of_pod(NodeScore, pod):
        result.setdefault(record.node, {})[record.scorer] = record.score
    return result
