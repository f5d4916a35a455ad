"""Pods that a case creates, changes and ends, each of which is gone at its end."""

from __future__ import annotations

import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from schedproof.clusters.api import ApiError, Conflict, NotFound
from schedproof.foundation.deadlines import BUDGET_IN_FORCE, OBJECT_GONE, OBJECT_SHOWN, POD_PHASE
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.oracle.quantity import milli, parse_quantity, whole
from schedproof.oracle.resources import allocatable, held
from schedproof.stimulus.node_changes import NodeChanges
from schedproof.stimulus.pods import TOLERATE_ALL, Pod, pod_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedproof.clusters.api import Manifest
    from schedproof.stimulus.trial import Trial

__all__ = ["PodChanges"]

_FILLER = "schedproof-filler"
_FINALIZER = "schedproof.dev/hold"
_ENDED = ("Succeeded", "Failed")
_DEAF = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 3600; done"]
"""A container's command that goes on when its pod is deleted, for as long as the pod's grace period lasts."""
_GRACE = 600


class PodChanges(NodeChanges):
    """What a case does to pods, besides what it does to nodes. `undo` takes it all back."""

    def __init__(self, trial: Trial, clause: str) -> None:
        super().__init__(trial)
        self.clause = clause
        self.scheduler_name = trial.candidate.scheduler_name
        self._prefix = clause.replace("/", "-")
        self._numbers: dict[str, int] = {}
        self._pods: dict[str, Pod] = {}
        self._classes: list[tuple[str, str]] = []
        """Resource and name of RuntimeClasses and PriorityClasses that are to go."""
        self._budgets: list[str] = []
        self._real = "real-pods" in trial.cluster.capabilities
        """Whether kubelets run what is bound; else kwok plays that."""

    def pod(
        self,
        name: str = "probe",
        *,
        role: str = "probe",
        scheduler_name: str = "",
        phase: int = -1,
        managed: bool = True,
        namespace: str = "",
        **spec: Any,
    ) -> Pod:
        """Create a pod for the candidate (or for `scheduler_name`); see `pod_manifest` for `spec`.

        `managed`: whether a pod for an extender asks for what that manages, without which it is not called.
        `namespace`: the trial's, if not given.
        """
        full_name = self.next_name(name)
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return self._create(full_name, role, scheduler_name, phase, managed=managed, namespace=namespace, **spec)

    def neighbour(self, node: str, app: str, **spec: Any) -> Pod:
        """A pod that is on a node from the start, with a label `app`."""
        return self.pod(
            "neighbour", role="filler", scheduler_name=_FILLER, node=node, labels={"app": app},
            tolerations=TOLERATE_ALL, **spec,
        )  # fmt: skip

    def next_name(self, name: str) -> str:
        """What the next pod of this `name` is going to be called."""
        return f"{self._prefix}-{name}-{self._numbers.get(name, 0) + 1}"

    def _create(
        self,
        name: str,
        role: str,
        scheduler_name: str = "",
        phase: int = -1,
        *,
        managed: bool = True,
        namespace: str = "",
        **spec: Any,
    ) -> Pod:
        image = self.trial.cluster.workload_image
        manifest = pod_manifest(name, scheduler_name or self.scheduler_name, image=image, **spec)
        if not scheduler_name:
            self.trial.surroundings.dress_pod(manifest, managed=managed)
        # Before the request: what follows from the pod must not come before it in the timeline.
        at = self._recorder.now()
        created = self._api.create("pods", manifest, namespace or self.trial.namespace)
        pod = Pod.created(created)
        self._pods[pod.name] = pod
        extra = {"phase": phase} if phase >= 0 else {}
        self._recorder.add(
            "pod",
            at=at,
            case=self.clause,
            pod=pod.full_name,
            uid=pod.uid,
            role=role,
            **extra,
        )
        self._await_shown(pod)
        return pod

    def _await_shown(self, pod: Pod) -> None:
        """What follows relies on what the watch has shown, which on a busy machine is behind the apiserver's answer."""

        def probe() -> None:
            self._recorder.check()
            if pod.uid not in self._recorder.shown:
                raise NotYet("the watch is behind")

        wait_for(probe, OBJECT_SHOWN, what=f"the watch to show {pod.name}", wake=self._recorder.changed)

    # -- how much of a node

    def share(self, resource: str, part: float) -> str:
        """So much of what the smallest node has to offer, of `cpu` or `memory`."""
        return _quantity(resource, min(self._offers(resource)) * part)

    def beyond(self, resource: str, factor: float) -> str:
        """So many times what the largest node has to offer."""
        return _quantity(resource, max(self._offers(resource)) * factor)

    def _offers(self, resource: str) -> list[int]:
        return [allocatable(self._recorder.nodes[node])[resource] for node in self.trial.cluster.nodes]

    def fill(self, node: str, *, ends: str = "", lingers: bool = False, **leaving: str) -> Pod:
        """Occupy a node with a pod that is bound from the start, but for `leaving`: cpu="500m", memory="1Gi".

        Args:
            node: its name. What other pods hold there is left to them.
            ends: the phase, Succeeded or Failed, in which it is going to `finish`.
            lingers: whether it is going to be there for long after `terminate`.
            leaving: what is left to others, by resource.
        """
        self.remove_misplaced()
        offered = allocatable(self._recorder.nodes[node])
        taken = {
            resource: _quantity(resource, offered[resource] - self._held(node, resource) - _units(resource, amount))
            for resource, amount in leaving.items()
        }
        spec: dict[str, Any] = {}
        if self._real and ends:
            spec = {"command": ["/bin/sh", "-c", f"exit {_ENDED.index(ends)}"], "restartPolicy": "Never"}
        elif self._real and lingers:
            spec = {"command": _DEAF, "terminationGracePeriodSeconds": _GRACE}
        elif lingers:
            spec = {"finalizers": [_FINALIZER]}
        return self.pod(
            "filler", role="filler", scheduler_name=_FILLER, node=node, tolerations=TOLERATE_ALL,
            cpu=taken.get("cpu", ""), memory=taken.get("memory", ""), **spec,
        )  # fmt: skip

    def remove_misplaced(self) -> None:
        """Delete those of the pods that must wait which the candidate has bound.

        That is on record; from here on they would only be in the way of others.
        """
        waiters, pods = self.trial.waiters, self._recorder.pods
        bound = [name for name, pod in waiters.items() if pods.get(pod.uid, {}).get("spec", {}).get("nodeName")]
        if bound:
            self.delete([waiters.pop(name) for name in bound])

    def _held(self, node: str, resource: str) -> int:
        """What pods hold of a node; a real one has pods of its own."""
        return sum(
            held(pod).get(resource, 0)
            for pod in list(self._recorder.pods.values())
            if pod["spec"].get("nodeName") == node and pod["status"].get("phase") not in _ENDED
        )

    # -- the end of pods

    def finish(self, pod: Pod, phase: str) -> None:
        """Let a pod that was made to end in `phase` do so. Needs the capability `ending-pods`."""
        if not self._real:
            # Not before kwok has played its start, which would otherwise come after its end.
            self._await_phase(pod, "Running")
            self.patch(pod, {"status": {"phase": phase}}, "status")
        self._await_phase(pod, phase)

    def terminate(self, pod: Pod) -> None:
        """Delete a pod that lingers: from here on it is terminating, and still there.

        Needs `ending-pods` where it is bound.
        """
        runs = self._real and bool(self._recorder.pods.get(pod.uid, {}).get("spec", {}).get("nodeName"))
        if runs:
            self._await_phase(pod, "Running")
        self._api.delete("pods", pod.name, pod.namespace, uid=pod.uid, grace=_GRACE if runs else 0)

        def terminating() -> None:
            self._recorder.check()
            seen = self._recorder.pods.get(pod.uid)  # the candidate may have deleted it for good
            if seen is not None and "deletionTimestamp" not in seen["metadata"]:
                raise NotYet("it is not being deleted")

        wait_for(terminating, OBJECT_GONE, what=f"{pod.name} to be terminating", wake=self._recorder.changed)

    def is_pending(self, pod: Pod) -> bool:
        """Whether its phase is still that of a pod that waits for a node."""
        return bool(self._recorder.pods.get(pod.uid, {}).get("status", {}).get("phase") == "Pending")

    def lingering_pod(self, name: str, **spec: Any) -> Pod:
        """A pod that `terminate` leaves where it is, also while it is not bound."""
        return self.pod(name, finalizers=[_FINALIZER], **spec)

    def resize(self, pod: Pod, cpu: str, *, in_force: str) -> None:
        """Ask for another amount of CPU of a pod that runs on a node without a machine, whose kubelet we play.

        `in_force`: what the kubelet still grants, and says so. Call it with both alike once the resize is done.
        """
        self._await_phase(pod, "Running")
        (status,) = self._recorder.pods[pod.uid]["status"]["containerStatuses"]
        granted = {"allocatedResources": {"cpu": in_force}, "resources": {"requests": {"cpu": in_force}}}
        # The status comes first: what is still in force is held at every moment.
        self.patch(pod, {"status": {"containerStatuses": [{**status, **granted}]}}, "status")
        containers = self._api.get("pods", pod.name, pod.namespace)["spec"]["containers"]
        containers[0]["resources"] = {"requests": {"cpu": cpu}}
        self.patch(pod, {"spec": {"containers": containers}}, "resize")

    def runtime_class(self, cpu: str) -> str:
        """Let there be a RuntimeClass whose pods take so much CPU more than they ask for; its name."""
        name = self._class_name()
        overhead = {"podFixed": {"cpu": cpu}}
        self._api.create("runtimeclasses", {"metadata": {"name": name}, "handler": "runc", "overhead": overhead})
        self._classes.append(("runtimeclasses", name))
        return name

    def priority_class(self, value: int, *, preempts: bool = False) -> str:
        """Let there be a PriorityClass of this value; its name. `preempts`: whether others are evicted for its pods."""
        name = self._class_name()
        policy = "PreemptLowerPriority" if preempts else "Never"
        self._api.create("priorityclasses", {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy})
        self._classes.append(("priorityclasses", name))
        image = self.trial.cluster.workload_image
        pod = pod_manifest(f"{self._prefix}-of-class", _FILLER, image=image, priorityClassName=name)

        def known() -> None:
            # The apiserver's admission has its own watch of PriorityClasses, and refuses pods of those unknown to it.
            try:
                self._api.try_create("pods", pod, self.trial.namespace)
            except ApiError as error:
                if error.status != HTTPStatus.FORBIDDEN:
                    raise
                raise NotYet(str(error)) from error

        wait_for(known, OBJECT_SHOWN, what=f"the apiserver to know the PriorityClass {name}")
        return name

    def disruption_budget(self, app: str) -> None:
        """Let a PodDisruptionBudget allow no disruption of the one pod that is labelled with this `app`, and runs."""
        name = f"{self._prefix}-{app}"
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        self._api.create("poddisruptionbudgets", budget, self.trial.namespace)
        self._budgets.append(name)

        def in_force() -> None:
            status = self._api.get("poddisruptionbudgets", name, self.trial.namespace).get("status") or {}
            if status.get("currentHealthy") != 1 or status.get("disruptionsAllowed") != 0:
                raise NotYet(f"its status is {status}")

        wait_for(in_force, BUDGET_IN_FORCE, what=f"the PodDisruptionBudget {name}", poll=0.1)

    def _class_name(self) -> str:
        return f"{self.trial.namespace}-{self._prefix}-{len(self._classes)}"

    def _await_phase(self, pod: Pod, phase: str) -> None:
        def probe() -> None:
            self._recorder.check()
            status = self._recorder.pods.get(pod.uid, {}).get("status", {})
            if status.get("phase") != phase:
                raise NotYet(f"its status is {status}")

        wait_for(probe, POD_PHASE, what=f"{pod.name} to be {phase}", wake=self._recorder.changed)

    def delete(self, pods: Sequence[Pod]) -> None:
        """Delete pods, and wait until the watch has shown that they are gone."""
        for pod in pods:
            with contextlib.suppress(NotFound, Conflict):
                self._api.delete("pods", pod.name, pod.namespace, uid=pod.uid)
            self._pods.pop(pod.name, None)
        uids = {pod.uid for pod in pods}

        def gone() -> None:
            self._recorder.check()
            if left := uids & self._recorder.pods.keys():
                raise NotYet(f"{len(left)} pods are still there")

        wait_for(gone, OBJECT_GONE, what="deleted pods to go", wake=self._recorder.changed)

    def recreate(self, pod: Pod, **spec: Any) -> Pod:
        """Delete a pod, and create one of the same name as soon as it is gone."""
        self.delete([pod])
        return self._create(pod.name, "recreated", **spec)

    # -- changes

    def bind_elsewhere(self, pod: Pod, node: str) -> None:
        """Bind one of the candidate's pods in its place, as another replica or another scheduler would."""
        self._api.bind(self.trial.namespace, pod.name, node, uid=pod.uid)

    def patch(self, pod: Pod, patch: Manifest, subresource: str = "") -> None:
        """Change a pod; its `status` by its subresource."""
        self._api.merge("pods", pod.name, patch, pod.namespace, subresource)

    def add_conditions(self, pod: Pod, *types: str) -> None:
        """Write conditions into a pod's status, as controllers of their own do, beside those that are there."""
        there = self._api.get("pods", pod.name, self.trial.namespace)["status"].get("conditions", [])
        more = [{"type": kind, "status": "True", "reason": "WrittenByOthers"} for kind in types]
        self.patch(pod, {"status": {"conditions": [*there, *more]}}, "status")

    def lift_gates(self, pod: Pod) -> None:
        """Remove a pod's scheduling gates."""
        # Noted before the request: any action on the pod from now on may follow from seeing it without gates.
        mark = self._recorder.mark()
        self._recorder.add("lift", case=self.clause, pod=pod.full_name, uid=pod.uid, **mark)
        self.patch(pod, {"spec": {"schedulingGates": None}})

    def undo(self) -> bool:
        """Delete the pods, change back the nodes; whether there was anything to do."""
        pods = list(self._pods.values())
        for pod in pods:
            # Finalizers would keep it for ever.
            if self._recorder.pods.get(pod.uid, {}).get("metadata", {}).get("finalizers"):
                self.patch(pod, {"metadata": {"finalizers": None}})
        self.delete(pods)
        while self._budgets:
            self._api.delete_if_there("poddisruptionbudgets", self._budgets.pop(), self.trial.namespace)
        while self._classes:
            self._api.delete_if_there(*self._classes.pop())
        return super().undo() or bool(pods)


def _units(resource: str, amount: str) -> int:
    """In the scheduler's units: thousandths of a CPU, bytes."""
    exact = parse_quantity(amount)
    return milli(exact) if resource == "cpu" else whole(exact)


def _quantity(resource: str, units: float) -> str:
    return f"{int(units)}m" if resource == "cpu" else f"{int(units)}"
