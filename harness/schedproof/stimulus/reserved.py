"""A node reserved for the harness, tainted and cordoned for the whole run, which shows what the candidate has seen.

It is a turnstile. A blocker pod requests all of its CPUs except those freed so far. Each turn replaces the blocker by
a smaller pod, so that more CPU is free than ever before, and gives the node a new label. A pod that selects the label
and requests all free CPU is bound there only by a scheduler that has seen both: the label, by its watch of nodes, and
the deletion of the larger blocker, by its watch of pods. In every earlier state there was too little room, however old
it is and whichever of the two watches is behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

from schedproof.clusters.api import NotFound
from schedproof.clusters.cluster import Cluster
from schedproof.clusters.nodes import CORDONED
from schedproof.foundation.deadlines import NODE_READY
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.world import RESERVED
from schedproof.oracle.resources import held
from schedproof.recording.recorder import Recorder
from schedproof.stimulus.pods import TOLERATE_ALL, Pod, pod_manifest

GENERATION = "schedproof.dev/generation"
"""A label whose value shows which state of the nodes a candidate has seen. It is never removed."""

# Its name is the beginning of its taints' keys.
_TAINT = {"key": f"schedproof.dev/{RESERVED}", "effect": "NoSchedule"}
_EVICTING = {"key": f"schedproof.dev/{RESERVED}-evicting", "effect": "NoExecute"}
ADMITTED = [
    *({**taint, "operator": "Exists"} for taint in (_TAINT, _EVICTING, {"key": CORDONED, "effect": "NoSchedule"})),
    *TOLERATE_ALL,
]
"""Tolerations of a pod that may use the node. Each of its taints is tolerated by key and effect: some schedulers
misread a toleration without them, which is not what a turn is about. The last one is for the taints of other nodes.
"""
_CPUS = 100_000
"""The CPUs of the node: more than there are turns in a run, each of which frees one."""
_PODS = 1_000
_BLOCKER = "schedproof-filler"


def is_possible(cluster: Cluster) -> bool:
    """Return whether a reserved node can be added to the cluster."""
    return {"change-nodes", "idle-nodes"} <= cluster.capabilities


@dataclasses.dataclass(frozen=True)
class Turn:
    """The label and CPU of a pod that passes the turnstile, and the revisions that its Binding shows as seen."""

    label: str
    cpu: str
    nodes: int
    pods: int


class ReservedNode:
    """A node that the constructor adds to the cluster and `close` removes. Call `follow` before the first turn."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster, self._api, self._namespace = cluster, cluster.api, namespace
        self._free = 0
        self._recorder: Recorder | None = None
        capacity = {**cluster.node_template.capacity, "cpu": str(_CPUS), "pods": str(_PODS)}
        spec = dataclasses.replace(cluster.node_template, capacity=capacity, labels={}, taints=(_TAINT, _EVICTING))
        cluster.add_node(RESERVED, like=spec)
        self._api.merge("nodes", RESERVED, {"spec": {"unschedulable": True}})
        wait_for(self._cordoned, NODE_READY, what=f"node {RESERVED} to be cordoned")
        self._blocker = self._block()

    def _cordoned(self) -> None:
        taints = self._api.get("nodes", RESERVED)["spec"].get("taints", ())
        if not any(taint["key"] == CORDONED for taint in taints):
            raise NotYet(f"its taints are {taints}")

    def follow(self, recorder: Recorder) -> None:
        """Set the recorder by which each turn checks that the node and its pods are unchanged."""
        self._recorder = recorder

    def waiting(self) -> dict[str, dict[str, Any]]:
        """Return name to spec of pods that select this node, each of which has exactly one reason not to fit."""
        here = {"nodeSelector": {"kubernetes.io/hostname": RESERVED}}
        keys = {"tainted": _TAINT["key"], "tainted-noexecute": _EVICTING["key"], "cordoned": CORDONED}
        return {
            # Each tolerates all taints except its own.
            **{
                name: {
                    **here,
                    "tolerations": [{"key": key, "operator": "Exists"} for key in keys.values() if key != own],
                }
                for name, own in keys.items()
            },
            "full": {**here, "tolerations": TOLERATE_ALL, "cpu": str(_CPUS)},
        }

    def turn(self, generation: str) -> Turn | None:
        """Let another pod pass, and return what it needs; None if the node is gone or other pods take its CPUs."""
        if not self._intact():
            return None
        labels = {"metadata": {"labels": {GENERATION: generation}}}
        nodes = int(self._api.merge("nodes", RESERVED, labels)["metadata"]["resourceVersion"])
        self._free += 1
        before, self._blocker = self._blocker, self._block()
        self._api.delete("pods", before.name, self._namespace, uid=before.uid)
        return Turn(generation, str(self._free), nodes, self._blocker.rv)

    def _intact(self) -> bool:
        assert self._recorder is not None
        if RESERVED not in self._recorder.nodes:
            return False
        if self._blocker.uid not in self._recorder.pods:  # collected while the node was taken away
            self._blocker = self._block()
        there = [pod for pod in list(self._recorder.pods.values()) if pod["spec"].get("nodeName") == RESERVED]
        return {pod["metadata"]["uid"] for pod in there if held(pod).get("cpu")} <= {self._blocker.uid}

    def _block(self) -> Pod:
        manifest = pod_manifest(
            f"blocker-{self._free}", _BLOCKER, image=self._cluster.workload_image, node=RESERVED,
            cpu=str(_CPUS - self._free), tolerations=TOLERATE_ALL,
        )  # fmt: skip
        return Pod.created(self._api.create("pods", manifest, self._namespace))

    def close(self) -> None:
        """Remove the node and all pods on it."""
        for pod in self._api.list("pods", fieldSelector=f"spec.nodeName={RESERVED}")["items"]:
            with contextlib.suppress(NotFound):
                self._api.delete("pods", pod["metadata"]["name"], pod["metadata"]["namespace"], grace=0)
        self._cluster.remove_node(RESERVED)
