"""Runs a world: lets the candidate schedule its pods on a few nodes of the clause, and returns what went wrong."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.foundation.deadlines import AGAIN, OBJECT_SHOWN
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import PodCreated
from schedproof.oracle.manifest import occupants
from schedproof.oracle.ports import port_conflicts
from schedproof.oracle.reason import Reason
from schedproof.oracle.resources import held, is_overcommitted
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.changes.pods import HOLD, PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.pods import FILLER, NEVER_STARTS, TOLERATE_ALL, Pod
from schedproof.stimulus.sight import Sight
from schedproof.worlds.search import Wrong
from schedproof.worlds.words import node_manifest
from schedproof.worlds.world import BESIDE, DEVICE, NODES, POOL, REQUIRED, USUAL, Manifest, World, pod_spec

_CAPACITY = {"cpu": "45", "memory": "45Gi", "ephemeral-storage": "410Gi", DEVICE: "40"}
"""Capacity of the nodes; their allocatable amounts are smaller."""
_HOSTNAME = "kubernetes.io/hostname"
_HURRIED = AGAIN
"""The deadline of a pod to be bound while a world is made smaller; milliseconds are usual."""


class WorldRuns:
    """Runs worlds, one after the other, on the same nodes, which are changed for each: adding nodes is slow.

    Pods come one after the other. When a pod comes, the oracle decides whether it fits. A pod that fits must be
    bound. The others wait until a fence has shown that they were left pending; that is before each change that could
    make one of them fit, so there is no back-off to wait for. The candidate is shown to have seen all changes before
    the next pod comes.
    """

    def __init__(
        self, context: Context, pods: PodChanges, nodes: NodeChanges, sight: Sight, expect: Expectations
    ) -> None:
        self._context, self._trial, self._recorder = context, context.trial, context.recorder
        self._pods, self._nodes, self._sight, self._expect = pods, nodes, sight, expect
        self._shapes: dict[str, Manifest] = {}
        """The nodes' manifests as they are now."""
        self._named: dict[str, Pod] = {}
        self._settled = False
        """Whether the candidate has seen all changes."""
        self._waiting: list[tuple[Pod, int, Mapping[str, tuple[Reason, ...]]]] = []
        """Waiting pods that fit on no node, each with the number of its step and node to the reasons against it."""
        self.uids: list[str] = []
        """Uids of all pods of the last world, if something went wrong in it and it was not hurried."""

    def run(self, world: World, hurried: bool) -> Wrong | None:
        """Run a world, and return the first thing that goes wrong; None if nothing does.

        `hurried`: no expectations are recorded, and a pod that is reported as waiting is not waited for.

        Raises:
            CaseOver: the candidate could not be shown to have seen the world, or to have decided on its pods.
        """
        before, first = {pod.uid for pod in self._pods.present}, len(self._recorder.records)
        self._named, self._waiting, self.uids = {}, [], []
        try:
            for name in NODES:
                self._shape(name, next((node for node in world.nodes if node["name"] == name), None))
            self._settled = False
            wrong = self._steps(world, hurried=hurried)
        finally:
            pods = [pod for pod in self._pods.present if pod.uid not in before]
            self._pods.let_go(pods)
            self._pods.delete(pods)
        if wrong is not None and not hurried:
            created = (record for record in self._recorder.records[first:] if isinstance(record, PodCreated))
            self.uids = [record.uid for record in created if record.case == self._context.clause]
        return wrong

    def _steps(self, world: World, *, hurried: bool) -> Wrong | None:
        for number, step in enumerate(world.steps):
            makes_room = "comes" not in step or _may_leave(step["comes"])
            if makes_room and (wrong := self._left_pending(hurried=hurried)):
                return wrong
            if "comes" in step:
                text = self._comes(step["comes"], number, hurried=hurried)
                if text:
                    return Wrong(text, number)
                continue
            self._change(step)
            self._settled = False
        return self._left_pending(hurried=hurried)

    # -- nodes, and actions of others

    def _shape(self, name: str, node: Manifest | None) -> None:
        """Make a node what it is in the world: whatever a user could `kubectl apply`. None: it is not in the world."""
        if name not in self._shapes:
            if node is None:
                return
            self._nodes.add(name, **_CAPACITY)
            self._shapes[name] = {"metadata": {"labels": {}}, "status": {}}
        now, before = node_manifest(node or {"name": name}), self._shapes[name]
        labels: dict[str, str | None] = {**dict.fromkeys(before["metadata"]["labels"]), **now["metadata"]["labels"]}
        if node is None:
            now["metadata"]["labels"] = {_HOSTNAME: name}
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
        if now["status"] != before["status"]:
            self._nodes.resize(name, **{**dict.fromkeys(USUAL), **now["status"]["allocatable"]})
        self._shapes[name] = now

    def _change(self, step: Manifest) -> None:
        if "changed" in step:
            self._shape(step["changed"]["name"], step["changed"])
        elif "there" in step:
            self._is_there(step)
        elif "deleted" in step:
            self._delete(self._present(step["deleted"]))
        elif "ended" in step:
            for pod in self._present(step["ended"]):
                if self._pods.node_of(pod):
                    self._pods.finish(pod, step["phase"])
        else:
            for pod in self._present(step["labelled"]):
                before = self._recorder.pods[pod.uid]["metadata"].get("labels", {})
                self._pods.patch(pod, {"metadata": {"labels": {**dict.fromkeys(before), **step.get("labels", {})}}})

    def _present(self, name: str) -> list[Pod]:
        """Return the pod of this name as a list; empty if it is gone or never came."""
        pod = self._named.get(name)
        return [pod] if pod is not None and pod.uid in self._recorder.pods else []

    def _delete(self, pods: list[Pod]) -> None:
        for pod in pods:
            if self._recorder.pods[pod.uid]["metadata"].get("finalizers"):
                self._pods.terminate(pod)
            else:
                self._pods.delete([pod])

    def _is_there(self, step: Manifest) -> None:
        """Create a pod of another scheduler, unless its kubelet would reject it because its ports are taken.

        kube-scheduler treats a port as free once one of two pods with it is gone: see docs/kubernetes.md.
        """
        there = occupants(list(self._recorder.pods.values())).get(step["node"], ())
        if port_conflicts({"spec": step["there"].get("spec", {})}, there):
            return
        name, late, namesake = step["there"]["name"], step.get("late"), self._named.get(step.get("namesake", ""))
        spec: dict[str, Any] = {
            **self._spec(step["there"]), "tolerations": TOLERATE_ALL, "plain": True,
            "namespace": self._namespace(step.get("elsewhere", "")), "node": "" if late else step["node"],
            "annotations": NEVER_STARTS if step.get("unstarted") else {},
            "finalizers": [HOLD] if step.get("lingers") else [],
        }  # fmt: skip
        if namesake is not None:
            pod = self._pods.twin(namesake, **spec)
        else:
            pod = self._pods.create(name, role="filler", scheduler_name=FILLER, **spec)
        if late:
            self._pods.bind_elsewhere(pod, step["node"])
            self._await_placed(pod)
        self._named[name] = pod

    def _await_placed(self, pod: Pod) -> None:
        """Wait until the watch has shown a pod on its node: the step that ends a pod skips pods without one."""

        def probe() -> None:
            self._recorder.check()
            if not self._pods.was_bound(pod):
                raise NotYet("the watch is behind")

        wait_for(probe, OBJECT_SHOWN, what=f"the watch to show {pod.name} on its node", wake=self._recorder.changed)

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

    # -- the candidate's pods

    def _comes(self, described: Manifest, number: int, *, hurried: bool) -> str:
        """Create a pod, and return what goes wrong if it fits; "" if nothing does, or if it has to wait."""
        if not self._settled:
            self._sight.settle()
            self._settled = True
        pod = self._pods.create(described["name"], plain=True, **self._spec(described))
        self._named[described["name"]] = pod
        seen = self._recorder.pods.get(pod.uid)
        if seen is None:  # bound where a taint evicts it, or deleted by the candidate
            return "" if _may_leave(described) and self._pods.was_bound(pod) else f"{pod.name} is gone"
        nodes = self._pods.objections(seen)
        room = sorted(node for node, why in nodes.items() if not why)
        if not room:
            self._waiting.append((pod, number, nodes))
            return ""
        if all(self._is_overcommitted(node) for node in room):
            # Whether such a node takes a pod that requests none of what it lacks is for core/fit-overcommitted.
            self._drop([pod])
            self._settled = False
            return ""
        if not self._is_bound(pod, hurried=hurried):
            return f"{pod.name} was not bound, although it fits on {', '.join(room)}"
        if _may_leave(described):
            # A taint may evict it now, or may have evicted it already. The judge sees where it was.
            self._pods.delete([pod])
            self._settled = False
            return ""
        self._drop_those_that_fit()
        return self._misplaced(pod, nodes)

    def _is_overcommitted(self, node: str) -> bool:
        """Return whether the pods on a node request more of a resource than it has."""
        there = occupants(list(self._recorder.pods.values())).get(node, ())
        return is_overcommitted(self._recorder.nodes[node], map(held, there))

    def _is_bound(self, pod: Pod, *, hurried: bool) -> bool:
        """Return whether a pod is bound in the claimed time or, if `hurried`, before it is reported as waiting."""
        if hurried:

            def decided() -> None:
                if not (self._pods.was_bound(pod) or self._pods.is_reported(pod)):
                    raise NotYet("no condition or event reports on it")

            self._expect.patiently(decided, _HURRIED, "a pod to be decided on")
            return self._pods.was_bound(pod)
        return self._expect.bound_in_time([pod])

    def _misplaced(self, pod: Pod, nodes: Mapping[str, tuple[Reason, ...]]) -> str:
        node = self._pods.node_of(pod)
        if node in nodes and not nodes[node]:
            return ""
        why = "; ".join(nodes[node]) if node in nodes else "it is gone"
        return f"{pod.name} was bound to {node or 'a node'}, where it cannot run: {why}"

    def _drop_those_that_fit(self) -> None:
        """Delete waiting pods that fit now, beside the pod bound last: whether they are retried is not judged."""
        dropped = [pod for pod, _, _ in self._waiting if self._fits(pod)]
        self._waiting = [entry for entry in self._waiting if entry[0] not in dropped]
        self._drop(dropped)

    def _drop(self, pods: Sequence[Pod]) -> None:
        """Delete pods of which nothing is expected.

        If one of them was bound before it was deleted, waiting pods may have come to fit beside it: all are deleted
        then.
        """
        self._pods.delete(pods)
        if any(map(self._pods.was_bound, pods)):
            self._pods.delete([pod for pod, _, _ in self._waiting])
            self._waiting, self._settled = [], False

    def _fits(self, pod: Pod) -> bool:
        """Return whether a pod is there and fits on some node now."""
        shown = self._recorder.pods.get(pod.uid)
        return shown is not None and not all(self._pods.objections(shown).values())

    def _left_pending(self, *, hurried: bool) -> Wrong | None:
        """Let the candidate decide on the waiting pods, and delete them; return the first of them that is bound."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return None
        pods, sentinel = [pod for pod, _, _ in waiting], {_HOSTNAME: self._nodes.names[0]}
        if hurried:
            self._expect.let_decide(pods, nodeSelector=sentinel)
        else:
            self._expect.pending(pods, nodeSelector=sentinel)
        for pod, step, nodes in waiting:
            if self._pods.was_bound(pod):
                return Wrong(self._misplaced(pod, nodes), step)
        self._pods.delete(pods)
        return None


def _may_leave(pod: Manifest) -> bool:
    """Whether a taint may evict the pod as soon as it is bound: it tolerates one for zero seconds."""
    return any(toleration.get("tolerationSeconds") == 0 for toleration in pod.get("spec", {}).get("tolerations", ()))
