"""The oracle's interface: on which nodes a pod could run.

An independent statement of what Kubernetes promises about feasibility, by which placements are judged. It covers what
the default plugins SchedulingGates, NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit,
InterPodAffinity, PodTopologySpread, VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits,
DynamicResources and NodeDeclaredFeatures decide in Kubernetes 1.36; `unmodelled` names what it leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from schedproof.oracle.affinity import mismatches
from schedproof.oracle.declared import undeclared
from schedproof.oracle.dra import ClaimedDevices, Inventory
from schedproof.oracle.manifest import Manifest, identity, located, occupants, spec
from schedproof.oracle.neighbours import Neighbours
from schedproof.oracle.ports import port_conflicts
from schedproof.oracle.reason import Reason, reasons
from schedproof.oracle.resources import Room, held, needed, room_of, shortages
from schedproof.oracle.spread import Spread
from schedproof.oracle.taints import repulsions
from schedproof.oracle.volumes import ClaimedVolumes, Storage


def check(
    pod: Manifest,
    nodes: Iterable[Manifest],
    pods: Iterable[Manifest],
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    *,
    under_way: Iterable[Manifest] = (),
    storage: Storage | None = None,
    inventory: Inventory | None = None,
    about: Collection[str] | None = None,
) -> dict[str, tuple[Reason, ...]]:
    """Each node's name, with all the reasons why the pod cannot run there; none means that it could.

    The question is where the pod could go, not where it is: its own spec.nodeName is ignored, and if `pods` contains it
    (the same uid), it does not conflict with itself. A pod with scheduling gates can go nowhere.

    Args:
        pod: the pod to place.
        nodes: all of them, because some rules depend on other nodes: affinity between pods, and topology spread.
        pods: all others, on nodes or not.
        namespaces: their labels, by name; None if these are not known.
        under_way: pods with their nodes, of which it is not known whether they came before the decision or after it.
            Affinity and spread count them if that favors the pod, each rule by itself.
        storage: claims and volumes; None if these are not known.
        inventory: ResourceClaims and devices; None if these are not known.
        about: the names of the nodes that are asked about; None for all.
    """
    nodes = list(nodes)
    gates = [gate["name"] for gate in spec(pod).get("schedulingGates") or ()]
    if gates:
        gated = (Reason(f"waits for scheduling gates: {', '.join(gates)}", rule="scheduling-gates"),)
        return {node["metadata"]["name"]: gated for node in nodes}
    others = occupants(other for other in pods if identity(other) != identity(pod))
    there = {node["metadata"]["name"]: node for node in nodes}
    placed, coming = located(others, there), located(occupants(under_way), there)
    neighbours = Neighbours(pod, placed, namespaces, coming)
    spread = Spread(pod, nodes, placed, coming)
    volumes, devices = ClaimedVolumes(pod, storage, placed), ClaimedDevices(pod, inventory)
    need = needed(pod)
    return {
        name: (
            *repulsions(pod, node),
            *reasons("node-affinity", mismatches(pod, node)),
            *reasons("host-ports", port_conflicts(pod, others.get(name, ()))),
            *reasons("resources", shortages(devices.asked_of(node, need), node, map(held, others.get(name, ())))),
            *reasons("topology-spread", spread.objections(node)),
            *reasons("pod-affinity", neighbours.objections(node)),
            *reasons("volumes", volumes.objections(node)),
            *reasons("devices", devices.objections(node)),
            *reasons("declared-features", undeclared(pod, node)),
        )
        for name, node in there.items()
        if about is None or name in about
    }


def rooms(
    pod: Manifest, nodes: Iterable[Manifest], pods: Iterable[Manifest], inventory: Inventory | None = None
) -> dict[str, dict[str, Room]]:
    """How much each node has of the resources that a pod requests, and how many more pods it can run.

    Args:
        pod: the pod to place; if `pods` contains it, it takes nothing.
        nodes: the nodes in question.
        pods: all others, on nodes or not.
        inventory: ResourceClaims and devices; None if these are not known. What devices provide is left out.
    """
    others = occupants(other for other in pods if identity(other) != identity(pod))
    need, devices = needed(pod), ClaimedDevices(pod, inventory)
    return {
        name: room_of(devices.asked_of(node, need), node, list(map(held, others.get(name, ()))))
        for node in nodes
        if (name := node["metadata"]["name"])
    }
