"""Where a pod could go: the oracle's face.

An independent statement of what Kubernetes promises about feasibility, against which placements are
judged. It covers what the default plugins SchedulingGates, NodeUnschedulable, TaintToleration, NodeAffinity,
NodePorts and NodeResourcesFit decide in Kubernetes 1.36; `unmodelled` names what it leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedproof.oracle.affinity import mismatches
from schedproof.oracle.coverage import unmodelled
from schedproof.oracle.manifest import Manifest, identity, occupants, spec
from schedproof.oracle.ports import port_conflicts
from schedproof.oracle.resources import held, needed, shortages
from schedproof.oracle.taints import repulsions

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check", "unmodelled"]


def check(pod: Manifest, nodes: Iterable[Manifest], pods: Iterable[Manifest]) -> dict[str, tuple[str, ...]]:
    """Each node's name, with all the reasons why the pod cannot run there; none means that it could.

    The question is where the pod could go, not where it is: its own spec.nodeName is ignored, and where
    `pods` contains it (the same uid), it is not in its own way. A pod with scheduling gates can go nowhere.
    """
    gates = [gate["name"] for gate in spec(pod).get("schedulingGates") or ()]
    if gates:
        gated = (f"waits for scheduling gates: {', '.join(gates)}",)
        return {node["metadata"]["name"]: gated for node in nodes}
    others = occupants(other for other in pods if identity(other) != identity(pod))
    need = needed(pod)
    result = {}
    for node in nodes:
        name = node["metadata"]["name"]
        neighbours = others.get(name, ())
        result[name] = (
            *repulsions(pod, node),
            *mismatches(pod, node),
            *port_conflicts(pod, neighbours),
            *shortages(need, node, map(held, neighbours)),
        )
    return result
