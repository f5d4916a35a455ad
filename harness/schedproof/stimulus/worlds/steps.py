"""Does the steps of a world: pods that come, changes of nodes and pods, and absences of the candidate."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from schedproof.clusters.api import ApiError
from schedproof.foundation.deadlines import OBJECT_SHOWN
from schedproof.oracle.manifest import occupants
from schedproof.oracle.ports import port_conflicts
from schedproof.stimulus.changes.binding_webhook import BindingWebhook
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.pods import HOLD, PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import FILLER, NEVER_STARTS, TOLERATE_ALL, Pod
from schedproof.worlds.kinds import kind_of
from schedproof.worlds.words import node_manifest
from schedproof.worlds.world import (
    BESIDE,
    DEVICE,
    LOST,
    NODES,
    POOL,
    REQUIRED,
    USUAL,
    Manifest,
    World,
    gates,
    pod_spec,
    required,
)

_CAPACITY = {"cpu": "45", "memory": "45Gi", "ephemeral-storage": "410Gi", DEVICE: "40"}
"""Capacity of the nodes; their allocatable amounts are smaller."""
HOSTNAME = "kubernetes.io/hostname"


class WorldSteps:
    """The nodes and pods of a world on a cluster. Nodes stay for the next world: adding nodes is slow.

    Each step returns when the harness's watch has shown its effect. A step about what is not there does nothing.
    `between` is called in the middle of a step that takes several requests: a pod may fit only then.
    """

    def __init__(
        self,
        context: Context,
        pods: PodChanges,
        nodes: NodeChanges,
        candidate: CandidateChanges,
        between: Callable[[], object],
    ) -> None:
        self._trial, self._recorder, self._pods, self._nodes = context.trial, context.recorder, pods, nodes
        self._candidate, self._between = candidate, between
        self._absence, self._until_end = contextlib.ExitStack(), contextlib.ExitStack()
        """What ends the absence of the candidate, and what ends with the world."""
        self._gate: BindingWebhook | None = None
        self.absence = ""
        """The kind of the step by which the candidate is away; "" if it is not."""
        self._shapes: dict[str, Manifest] = {}
        """The nodes' manifests as they are now."""
        self._named: dict[str, Pod] = {}
        self._own: dict[str, Manifest] = {}
        """The candidate's pods by their names in the world, as they are described there."""
        self._kinds: Mapping[str, Callable[[Manifest], None]] = {
            "changed": self._is_changed, "gone": self._is_gone, "back": self._is_back,
            "stopped": self._goes_away, "cut_off": self._goes_away,
            "there": self._is_there, "deleted": self._is_deleted, "ended": self._has_ended,
            "labelled": self._is_labelled, "ungated": self._is_ungated, "tolerant": self._is_tolerant,
            "resized": self._is_resized,
        }  # fmt: skip

    relabelled: Mapping[str, str | None] = MappingProxyType({})
    """The labels that the node has got, lost (None) or that have another value, of the last step that changed one."""
    retainted = False
    """Whether that step changed the node's taints."""
    most_anti_terms = 0
    """How many required terms of anti-affinity a pod of the world has, at most."""

    def begin(self, world: World) -> None:
        """Forget the pods of the world before, and make the nodes what they are in this one."""
        self._named, self._own = {}, {}
        self.most_anti_terms = max((len(required(pod, "podAntiAffinity")) for pod in world.pods), default=0)
        for name in self._nodes.absent:
            self._nodes.rejoin(name)
        for name in NODES:
            self._shape(name, next((node for node in world.nodes if node["name"] == name), None))
        if any("refused" in step for step in world.steps):
            self._gate = self._until_end.enter_context(self._candidate.hold_bindings())

    def end(self) -> None:
        """Let the candidate return, and refuse no more Bindings."""
        self.end_absence()
        self._until_end.close()
        self._gate = None

    def do(self, step: Manifest) -> None:
        """Do a step, other than that a pod of the candidate comes or is created again."""
        self._kinds[kind_of(step).name](step)

    def end_absence(self) -> None:
        """Let the candidate return; nothing if it is not away."""
        self.absence = ""
        self._absence.close()

    # -- pods of the candidate

    def comes(self, step: Manifest) -> Pod:
        """Create a pod for the candidate. If the step says so, its first Binding is refused, or its answer is lost."""
        described, code = step["comes"], step.get("refused")
        if code and self._gate is not None:
            name = self._pods.next_name(described["name"])
            self._gate.lose_answer(name) if code == LOST else self._gate.refuse(name, code, times=1)
        pod = self._pods.create(described["name"], plain=True, **self._spec(described), **gates(step))
        self._named[described["name"]], self._own[described["name"]] = pod, described
        return pod

    def refuse_none(self) -> None:
        """Refuse no Binding of the pods that have come."""
        if self._gate is not None:
            self._gate.accept()

    def recreated(self, name: str) -> tuple[Pod, Manifest] | None:
        """Delete a pod of the candidate, and create one of the same name as soon as it is gone.

        Returns it, and its description; None if it is no longer there.
        """
        described, present = self._own.get(name), self._present(name)
        if described is None or not present:
            return None
        self._pods.remove_finalizers(present)
        self._pods.delete(present)
        self._between()
        self._named[name] = self._pods.recreate(present[0], plain=True, **self._spec(described))
        return self._named[name], described

    @property
    def placed(self) -> dict[str, str]:
        """The candidate's pods that are on a node, by their names in the world, and that node."""
        return {name: node for name in self._own if (node := self._pods.node_of(self._named[name]))}

    # -- nodes

    def _shape(self, name: str, node: Manifest | None) -> None:
        """Make a node what it is in the world: whatever a user could `kubectl apply`. None: it is not in the world."""
        if name not in self._shapes:
            if node is None:
                return
            self._nodes.add(name, **_CAPACITY)
            self._shapes[name] = {"metadata": {"labels": {HOSTNAME: name}}, "status": {}}
        now, before = node_manifest(node or {"name": name}), self._shapes[name]
        labels: dict[str, str | None] = {**dict.fromkeys(before["metadata"]["labels"]), **now["metadata"]["labels"]}
        if node is None:
            now["metadata"]["labels"] = {HOSTNAME: name}
            labels |= dict.fromkeys(POOL)
        changes: dict[str, Any] = {}
        if now["metadata"]["labels"] != before["metadata"]["labels"]:
            changes["labels"] = labels
        if now.get("spec") != before.get("spec"):
            # A cordon is a taint as well, which must not be removed with the others.
            changes["taints"] = now.get("spec", {}).get("taints", [])
            changes["unschedulable"] = now.get("spec", {}).get("unschedulable", False)
        if changes:
            self._nodes.change(name, **changes)
            self._between()
        if now["status"] != before["status"]:
            self._nodes.resize(name, **{**dict.fromkeys(USUAL), **now["status"]["allocatable"]})
        self._shapes[name] = now

    def _is_changed(self, step: Manifest) -> None:
        name = step["changed"]["name"]
        self.relabelled, self.retainted = {}, False
        if name in self._nodes.absent:
            return
        before = self._shapes[name]
        self._shape(name, step["changed"])
        now, was = self._shapes[name]["metadata"]["labels"], before["metadata"]["labels"]
        self.relabelled = {key: now.get(key) for key in {**was, **now} if now.get(key) != was.get(key)}
        self.retainted = self._shapes[name].get("spec") != before.get("spec")

    def _is_gone(self, step: Manifest) -> None:
        if step["gone"] not in self._nodes.absent:
            self._nodes.deregister([step["gone"]])

    def _is_back(self, step: Manifest) -> None:
        if step["back"] in self._nodes.absent:
            self._nodes.rejoin(step["back"])

    # -- the candidate

    def _goes_away(self, step: Manifest) -> None:
        if not self.absence:
            kind = kind_of(step).name
            away = self._candidate.down if kind == "stopped" else self._candidate.apiserver_unreachable
            self._absence.enter_context(away())
            self.absence = kind

    # -- pods of others, and what becomes of pods

    def _present(self, name: str) -> list[Pod]:
        """Return the pod of this name as a list; empty if it is gone or never came."""
        pod = self._named.get(name)
        return [pod] if pod is not None and pod.uid in self._recorder.pods else []

    def _is_deleted(self, step: Manifest) -> None:
        for pod in self._present(step["deleted"]):
            if self._recorder.pods[pod.uid]["metadata"].get("finalizers"):
                self._pods.terminate(pod)
            else:
                self._pods.delete([pod])

    def _has_ended(self, step: Manifest) -> None:
        for pod in self._present(step["ended"]):
            node = self._pods.node_of(pod)
            if node and node not in self._nodes.absent:  # kwok ends pods of nodes that are there
                self._pods.finish(pod, step["phase"])

    def _is_labelled(self, step: Manifest) -> None:
        for pod in self._present(step["labelled"]):
            self._pods.relabel(pod, step.get("labels", {}))

    def _is_ungated(self, step: Manifest) -> None:
        for pod in self._present(step["ungated"]):
            if self._recorder.pods[pod.uid]["spec"].get("schedulingGates"):
                self._pods.lift_gates(pod)

    def _is_tolerant(self, step: Manifest) -> None:
        for pod in self._present(step["tolerant"]):
            if not self._pods.node_of(pod):
                self._pods.tolerate(pod, step["toleration"])

    def _is_resized(self, step: Manifest) -> None:
        """Resize a running pod, unless its node has too little room for it."""
        for pod in self._present(step["resized"]):
            seen = self._recorder.pods[pod.uid]
            if seen["status"].get("phase") == "Running" and "deletionTimestamp" not in seen["metadata"]:
                for resource, amount in step["requests"].items():
                    if self._pods.can_request(pod, resource, amount):
                        self._resize(pod, resource, amount)

    def _resize(self, pod: Pod, resource: str, amount: str) -> None:
        try:
            self._pods.resize(pod, amount, in_force=amount, resource=resource)
        except ApiError as error:
            # The apiserver decides by a cache of nodes, which may be behind a change of the node a moment ago.
            if error.status != HTTPStatus.FORBIDDEN:
                raise

    def _is_there(self, step: Manifest) -> None:
        """Create a pod of another scheduler, unless its node is gone, or its kubelet would reject it for its ports.

        kube-scheduler treats a port as free once one of two pods with it is gone: see docs/kubernetes.md.
        """
        there = occupants(list(self._recorder.pods.values())).get(step["node"], ())
        if step["node"] in self._nodes.absent or port_conflicts({"spec": step["there"].get("spec", {})}, there):
            return
        name, late, namesake = step["there"]["name"], step.get("late"), self._named.get(step.get("namesake", ""))
        spec: dict[str, Any] = {
            **self._spec(step["there"]), "tolerations": TOLERATE_ALL, "plain": True,
            "namespace": self._namespace(step.get("elsewhere", "")), "node": "" if late else step["node"],
            "annotations": NEVER_STARTS if step.get("unstarted") else {},
            "finalizers": [HOLD] if step.get("lingers") else [],
        }  # fmt: skip
        if namesake is not None:
            pod = self._pods.place_same_name(namesake, **spec)
        else:
            pod = self._pods.create(name, role="filler", scheduler_name=FILLER, **spec)
        if late:
            self._pods.bind_elsewhere(pod, step["node"])
            self._await_placed(pod)
        self._named[name] = pod

    def _await_placed(self, pod: Pod) -> None:
        """Wait until the watch has shown a pod on its node: the step that ends a pod skips pods without one."""
        self._recorder.await_shown(
            lambda: "" if self._pods.was_bound(pod) else "it has not", OBJECT_SHOWN,
            f"the watch to show {pod.name} on its node",
        )  # fmt: skip

    def _namespace(self, elsewhere: str) -> str:
        return self._beside if elsewhere == BESIDE else elsewhere

    @functools.cached_property
    def _beside(self) -> str:
        return self._trial.surroundings.namespace_beside(self._trial.namespace, "fillers")

    def _spec(self, pod: Manifest) -> dict[str, Any]:
        spec = pod_spec(pod, self._trial.cluster.workload_image)
        for kind in ("podAffinity", "podAntiAffinity"):
            for term in spec.get("affinity", {}).get(kind, {}).get(REQUIRED, ()):
                if "namespaces" in term:
                    term["namespaces"] = list(map(self._namespace, term["namespaces"]))
        return {"labels": dict(pod.get("labels", {})), **spec}
