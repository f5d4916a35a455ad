"""Creates, changes and ends the pods of a case, and deletes them at its end."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import random
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from schedproof.candidate.subjects import Subject, subjects_of
from schedproof.clusters.api import Conflict, Manifest, NotFound, side_by_side
from schedproof.documents.manifests import merged
from schedproof.foundation.deadlines import OBJECT_GONE, OBJECT_SHOWN, POD_PHASE
from schedproof.foundation.waiting import until
from schedproof.history.acts import Lift, PodCreated, Tolerates
from schedproof.history.history import History
from schedproof.judge.rulings.configuration import as_configured
from schedproof.oracle.feasibility import check
from schedproof.oracle.quantity import milli, parse_quantity, whole
from schedproof.oracle.reason import Reason
from schedproof.oracle.resources import allocatable, held, needed
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import FILLER, TIMESTAMP, TOLERATE_ALL, Pod, amount, pod_manifest
from schedproof.stimulus.variation import Variation

HOLD = "schedproof.dev/hold"
"""A finalizer that keeps a deleted pod terminating until `remove_finalizers` removes it."""
_ENDED = ("Succeeded", "Failed")
_DEAF = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 3600; done"]
"""A container's command that ignores SIGTERM: it runs until the grace period of its deleted pod ends."""
_GRACE = 600
_STATUS = MappingProxyType({"image": "", "imageID": "", "ready": True, "started": True, "restartCount": 0})
"""Status fields of a running container (v1.ContainerStatus)."""


class PodChanges:
    """What a case does to pods. `undo` deletes them."""

    def __init__(self, context: Context) -> None:
        self._context, self._trial = context, context.trial
        self._api, self._recorder = context.api, context.recorder
        self._numbers: Counter[tuple[str, str]] = Counter()
        """By namespace and name: how many pods were created."""
        self._pods: dict[str, Pod] = {}
        self._varied: dict[str, tuple[str, ...]] = {}
        """By uid of each pod, deleted or not: the kinds of its changes."""
        self._real = "real-pods" in context.trial.cluster.capabilities
        """Whether kubelets run bound pods; otherwise kwok simulates them."""
        self._variation = Variation(
            random.Random(f"{context.trial.seed}:{context.clause}:looks"),  # noqa: S311 - reproducible by its seed
            without=context.left_out.keys(), labelled=context.trial.surroundings.changes_nodes, real=self._real,
            offered=lambda: context.trial.surroundings.beside - context.scarce,
            owner=lambda: context.trial.surroundings.owner(context.trial.namespace),
            about=context.clause, left_out=context.trial.shown.left_out,
        )  # fmt: skip

    def create(
        self,
        name: str = "probe",
        *,
        role: str = "probe",
        scheduler_name: str = "",
        phase: int = -1,
        managed: bool = True,
        plain: bool = False,
        claimed: bool = False,
        namespace: str = "",
        template: Mapping[str, Any] = MappingProxyType({}),
        **spec: Any,
    ) -> Pod:
        """Create a pod for the candidate (or for `scheduler_name`); see `pod_manifest` for `spec`.

        `managed`: whether the pod requests the extender's managed resources, without which the extender is not called.
        `plain`: whether the manifest is left as it is; else it is varied without changing its meaning (`Variation`).
        `claimed`: whether the candidate's own claims describe the pod; else the case ends if the pod needs what the
        candidate does not support. `namespace`: by default the trial's. `template`: what the pod is merged into.
        """
        full_name = self.next_name(name, namespace)
        self._numbers[namespace, name] += 1
        return self._create(
            full_name, role, scheduler_name, phase, managed=managed, plain=plain, claimed=claimed,
            namespace=namespace, template=template, **spec,
        )  # fmt: skip

    def neighbour(self, node: str, app: str, *, ends: str = "", lingers: bool = False, **spec: Any) -> Pod:
        """Create a pod that is on a node from the start, with a label `app`. For `ends` and `lingers` see `fill`.

        `lingers` needs a cluster without kubelets.
        """
        if lingers:
            spec["finalizers"] = [HOLD]
        return self.create(
            "neighbour", role="filler", scheduler_name=FILLER, node=node, labels={"app": app},
            tolerations=TOLERATE_ALL, **self._ending(ends), **spec,
        )  # fmt: skip

    def place_same_name(self, pod: Pod, namespace: str, node: str, **spec: Any) -> Pod:
        """Create a pod of the same name in another namespace, which is on a node from the start."""
        return self._create(pod.name, "filler", FILLER, namespace=namespace, node=node, **spec)

    def create_same_name(self, pod: Pod, **spec: Any) -> Pod:
        """Create a pod for the candidate with the same name as `pod`, in another namespace."""
        namespace = self._trial.surroundings.namespace_beside(self._trial.namespace, "other")
        return self._create(pod.name, "probe", namespace=namespace, **spec)

    def foreign(self, **spec: Any) -> Pod:
        """Create a pod of another scheduler, which stays pending until `bind_elsewhere` binds it."""
        return self.create("foreign", role="filler", scheduler_name=FILLER, **spec)

    def crowd(self, count: int) -> None:
        """Create `count` pods of another scheduler, which stay pending. Their names sort first in lists.

        They have no role: of them, only what the watch shows is recorded.
        """
        image = self._trial.cluster.workload_image
        manifests = [pod_manifest(f"0-crowd-{n}", FILLER, image=image) for n in range(count)]
        for pod in side_by_side(self._create_from, manifests):
            self._await_shown(pod)

    def _create_from(self, manifest: Manifest) -> Pod:
        pod = Pod.created(self._api.create("pods", manifest, self._trial.namespace))
        self._pods[pod.uid] = pod
        return pod

    def next_name(self, name: str, namespace: str = "") -> str:
        """Return the full name that the next pod of this `name` will get, in a namespace or the trial's."""
        return f"{self._context.prefix}-{name}-{self._numbers[namespace, name] + 1}"

    def _create(
        self,
        name: str,
        role: str,
        scheduler_name: str = "",
        phase: int = -1,
        *,
        managed: bool = True,
        plain: bool = False,
        claimed: bool = False,
        namespace: str = "",
        template: Mapping[str, Any] = MappingProxyType({}),
        **spec: Any,
    ) -> Pod:
        image = self._trial.cluster.workload_image
        manifest = pod_manifest(name, scheduler_name or self._trial.candidate.scheduler_name, image=image, **spec)
        if not claimed:
            self._context.require(subjects_of(manifest["spec"]))
        manifest = merged(dict(template), manifest)
        if not scheduler_name:
            self._trial.surroundings.dress_pod(manifest, managed=managed)
        varied = {} if plain else self._variation.vary(manifest)
        # Taken before the request: consequences of the pod must not precede it in the timeline.
        at = self._recorder.now()
        created = self._api.create("pods", manifest, namespace or self._trial.namespace)
        pod = Pod.created(created)
        self._pods[pod.uid] = pod
        self._varied[pod.uid] = tuple(varied)
        self._recorder.add(
            PodCreated(
                at=at,
                case=self._context.clause,
                pod=pod.full_name,
                uid=pod.uid,
                role=role,
                phase=phase,
                varied=list(varied.values()),
            )
        )
        self._await_shown(pod)
        return pod

    def _await_shown(self, pod: Pod) -> None:
        """Wait until the watch shows the pod; on a busy machine it is behind the apiserver's response."""
        shown = self._recorder.shown
        self._recorder.await_shown(
            lambda: "" if pod.uid in shown else "it has not", OBJECT_SHOWN, f"the watch to show {pod.name}"
        )

    def fill(self, node: str, *, ends: str = "", lingers: bool = False, **leaving: str) -> Pod:
        """Fill a node, except for the amounts in `leaving` (cpu="500m", memory="1Gi"), with a pod bound from the start.

        If nodes may be changed, the pod is in one of two namespaces that share pod names.

        Args:
            node: its name. Requests of the pods that are already there are subtracted.
            ends: the phase, Succeeded or Failed, with which it will `finish`.
            lingers: whether it stays terminating after `terminate`.
            leaving: resource to the amount that stays free.
        """
        self.remove_misplaced()
        offered = allocatable(self._recorder.nodes[node])
        taken = {
            resource: amount(resource, offered[resource] - self._held(node, resource) - _units(resource, left))
            for resource, left in leaving.items()
        }
        spec = self._ending(ends)
        if self._real and lingers:
            spec = {"command": _DEAF, "terminationGracePeriodSeconds": _GRACE}
        elif lingers:
            spec = {"finalizers": [HOLD]}
        return self.create(
            "filler", role="filler", scheduler_name=FILLER, node=node, tolerations=TOLERATE_ALL,
            cpu=taken.get("cpu", ""), memory=taken.get("memory", ""), namespace=self._filler_namespace(), **spec,
        )  # fmt: skip

    def _filler_namespace(self) -> str:
        surroundings = self._trial.surroundings
        if not surroundings.changes_nodes or self._variation.toss():
            return ""
        return surroundings.namespace_beside(self._trial.namespace, "fillers")

    def _ending(self, phase: str) -> dict[str, Any]:
        """Return the spec that lets a kubelet end a pod in this phase; empty without kubelets, or for no phase."""
        if not (self._real and phase):
            return {}
        return {"command": ["/bin/sh", "-c", f"exit {_ENDED.index(phase)}"], "restartPolicy": "Never"}

    def remove_misplaced(self) -> bool:
        """Delete the run's waiting pods that the candidate has wrongly bound, and return whether there were any.

        The record has their Bindings; on their nodes they would only take room from other pods.
        """
        waiters, pods = self._trial.waiters, self._recorder.pods
        bound = [name for name, pod in waiters.items() if pods.get(pod.uid, {}).get("spec", {}).get("nodeName")]
        if bound:
            self.delete([waiters.pop(name) for name in bound])
        return bool(bound)

    def _held(self, node: str, resource: str) -> int:
        """Return how much of a resource is requested by the pods on a node; a real node has system pods, too."""
        return sum(
            held(pod).get(resource, 0)
            for pod in list(self._recorder.pods.values())
            if pod["spec"].get("nodeName") == node and pod["status"].get("phase") not in _ENDED
        )

    def can_request(self, pod: Pod, resource: str, amount: str) -> bool:
        """Return whether a pod can be resized so that its first container requests this amount of a resource.

        The apiserver refuses it if the pod requests more CPU or memory than the node offers, also if the node has come
        to offer less (plugin/pkg/admission/podresize). What is more than is free would be deferred.
        """
        seen, node = self._recorder.pods[pod.uid], self._recorder.nodes.get(self.node_of(pod))
        if node is None:
            return False
        after = copy.deepcopy(seen)
        after["spec"]["containers"][0]["resources"].setdefault("requests", {})[resource] = amount
        offered, wanted = allocatable(node), needed(after)
        free = offered.get(resource, 0) - self._held(node["metadata"]["name"], resource)
        more = wanted[resource] - needed(seen).get(resource, 0)
        return more <= max(0, free) and all(wanted.get(name, 0) <= offered.get(name, 0) for name in ("cpu", "memory"))

    # -- the end of pods

    def await_started(self, pods: Sequence[Pod]) -> None:
        """Wait until pods run, and pods that start later have a later status.startTime, which is in whole seconds."""
        for pod in pods:
            self._await_phase(pod, "Running")
        until(time.monotonic() + TIMESTAMP)

    def finish(self, pod: Pod, phase: str) -> None:
        """End a pod that was created to end in `phase`. Needs the capability `ending-pods`."""
        self._context.require([Subject.ENDED_PODS])
        if not self._real:
            # Wait for kwok to set Running first, or it would overwrite the final phase.
            self._await_phase(pod, "Running")
            self.patch(pod, {"status": {"phase": phase}}, "status")
        self._await_phase(pod, phase)

    def terminate(self, pod: Pod) -> None:
        """Delete a pod that lingers, so that it is terminating from now on. If bound, this needs `ending-pods`."""
        runs = self._real and bool(self._recorder.pods.get(pod.uid, {}).get("spec", {}).get("nodeName"))
        if runs:
            self._await_phase(pod, "Running")
        self._api.delete("pods", pod.name, pod.namespace, uid=pod.uid, grace=_GRACE if runs else 0)

        def missing() -> str:
            seen = self._recorder.pods.get(pod.uid)  # None: the candidate has deleted it without grace period
            is_there = seen is not None and "deletionTimestamp" not in seen["metadata"]
            return "it has no deletionTimestamp" if is_there else ""

        self._recorder.await_shown(missing, OBJECT_GONE, f"{pod.name} to be terminating")

    # -- as the watch has shown them

    def node_of(self, pod: Pod) -> str:
        """Return the node on which the watch has shown the pod; "" while it is not bound."""
        return str(self._recorder.pods.get(pod.uid, {}).get("spec", {}).get("nodeName", ""))

    def was_bound(self, pod: Pod) -> bool:
        """Return whether the watch has ever shown the pod on a node, even if it is gone, for example evicted."""
        return pod.uid in self._recorder.placed

    def fits(self, pod: Pod) -> bool:
        """Return whether the oracle finds a feasible node for a pod now. A pod that is gone fits if it was bound."""
        if pod.uid not in self._recorder.pods:
            return self.was_bound(pod)
        return not all(self.objections(self._recorder.pods[pod.uid]).values())

    def objections(
        self, manifest: Mapping[str, Any], about: Collection[str] | None = None
    ) -> dict[str, tuple[Reason, ...]]:
        """Return node to the oracle's reasons against it for a pod, in the current state; empty where the pod fits.

        The rules are those of kube-scheduler with the candidate's configuration. `about`: only these nodes.
        """
        manifest, nodes = as_configured(self._history, manifest), list(self._recorder.nodes.values())
        return check(dict(manifest), nodes, list(self._recorder.pods.values()), about=about)

    @functools.cached_property
    def _history(self) -> History:
        """The history at first use, from which the candidate's configuration is read."""
        return self._trial.history()

    def is_reported(self, pod: Pod) -> bool:
        """Return whether a condition reports that the pod waits for a node, or the pod no longer waits."""
        seen = self._recorder.pods.get(pod.uid)
        if seen is None or seen["spec"].get("nodeName") or seen["metadata"].get("deletionTimestamp"):
            return True
        return bool(self.denied(pod, "PodScheduled"))

    def denied(self, pod: Pod, condition: str) -> Mapping[str, str]:
        """Return the condition of this type if its status is False; otherwise an empty mapping."""
        conditions = self._recorder.pods.get(pod.uid, {}).get("status", {}).get("conditions", ())
        return next((c for c in conditions if (c["type"], c["status"]) == (condition, "False")), {})

    def is_pending(self, pod: Pod) -> bool:
        """Return whether the pod's phase is Pending."""
        return bool(self._recorder.pods.get(pod.uid, {}).get("status", {}).get("phase") == "Pending")

    def lingering(self, name: str, **spec: Any) -> Pod:
        """Create a pod that stays terminating after its deletion, bound or not, until `remove_finalizers`.

        If a kubelet runs it, its containers end at the deletion, and its resources are free from then on.
        """
        return self.create(name, finalizers=[HOLD], **spec)

    def remove_finalizers(self, pods: Sequence[Pod]) -> None:
        """Remove the finalizers of these pods: terminating pods end, and the others no longer linger."""
        for pod in pods:
            if self._recorder.pods.get(pod.uid, {}).get("metadata", {}).get("finalizers"):
                self.patch(pod, {"metadata": {"finalizers": None}})

    def resize(
        self, pod: Pod, asked: str, *, in_force: str, pending: str = "", sidecar: bool = False, resource: str = "cpu"
    ) -> None:
        """Resize a request of a running pod in place, and write its status as the kubelet of its node would.

        It changes the pod's first container, or its first init container, a `sidecar`. The node has no kubelet (kwok).
        `in_force`: the amount that the kubelet reports as still allocated; once the resize is done, equal to `asked`.
        `pending`: why the resize has not begun, as the reason of the condition PodResizePending.
        """
        self._await_phase(pod, "Running")
        field = "initContainers" if sidecar else "containers"
        reported = f"{field.removesuffix('s')}Statuses"
        seen = self._api.get("pods", pod.name, pod.namespace)
        containers = seen["spec"][field]
        resources = containers[0]["resources"]
        force = {**resources["requests"], resource: in_force}
        granted = {"allocatedResources": force, "resources": {**resources, "requests": force}}
        # The status is written first, so that the amount in force counts at every moment.
        changed: dict[str, Any] = {"containerStatuses": _in_force(seen)}
        # kwok writes no status for sidecars.
        statuses = changed.get(reported) or seen["status"].get(reported) or [{**_STATUS, "name": containers[0]["name"]}]
        changed[reported] = [
            {**status, **(granted if status["name"] == containers[0]["name"] else {})} for status in statuses
        ]
        if pending:
            condition = {"type": "PodResizePending", "status": "True", "reason": pending}
            changed["conditions"] = [c for c in seen["status"]["conditions"] if c["type"] != condition["type"]]
            changed["conditions"].append(condition)
        self.patch(pod, {"status": changed}, "status")
        containers[0]["resources"] = {**resources, "requests": {**resources["requests"], resource: asked}}
        self._await_version(pod, self.patch(pod, {"spec": {field: containers}}, "resize"))

    def resize_whole(self, pod: Pod, asked: str, *, in_force: str) -> None:
        """Resize the pod-level CPU request of a running pod in place, and write its status as its kubelet would.

        `in_force`: the amount that the kubelet reports as still allocated; once the resize is done, equal to `asked`.
        """
        self._await_phase(pod, "Running")
        seen = self._api.get("pods", pod.name, pod.namespace)
        force = {**seen["spec"]["resources"]["requests"], "cpu": in_force}
        granted = {"allocatedResources": force, "resources": {"requests": force}}
        self.patch(pod, {"status": {"containerStatuses": _in_force(seen), **granted}}, "status")
        self._await_version(pod, self.patch(pod, {"spec": {"resources": {"requests": {"cpu": asked}}}}, "resize"))

    def _await_phase(self, pod: Pod, phase: str) -> None:
        def missing() -> str:
            status = self._recorder.pods.get(pod.uid, {}).get("status", {})
            return "" if status.get("phase") == phase else f"its status is {status}"

        self._recorder.await_shown(missing, POD_PHASE, f"{pod.name} to be {phase}")

    @property
    def unbound_variations(self) -> set[str]:
        """The kinds of changes of those pods that were never bound."""
        unbound = (kinds for uid, kinds in self._varied.items() if uid not in self._recorder.placed)
        return {kind for kinds in unbound for kind in kinds}

    @property
    def present(self) -> list[Pod]:
        """The pods that were created and not deleted."""
        return list(self._pods.values())

    def waiting_before(self, pod: Pod) -> list[Pod]:
        """The candidate's pods of the case that are older than `pod`, and are reported as waiting for a node."""
        older = itertools.takewhile(lambda other: other.uid != pod.uid, self.present)
        return [other for other in older if other.uid in self._recorder.pods and self.denied(other, "PodScheduled")]

    def delete(self, pods: Sequence[Pod]) -> None:
        """Delete pods, and wait until the watch has shown that they are gone."""
        side_by_side(self._delete_pod, pods)
        uids = {pod.uid for pod in pods}

        def left() -> str:
            still = uids & self._recorder.pods.keys()
            return f"{len(still)} pods are still there" if still else ""

        self._recorder.await_shown(left, OBJECT_GONE, "deleted pods to go")

    def _delete_pod(self, pod: Pod) -> None:
        with contextlib.suppress(NotFound, Conflict):
            self._api.delete("pods", pod.name, pod.namespace, uid=pod.uid)
        self._pods.pop(pod.uid, None)

    def recreate(self, pod: Pod, **spec: Any) -> Pod:
        """Delete a pod, and create a pod of the same name as soon as it is gone."""
        self.delete([pod])
        return self._create(pod.name, "recreated", **spec)

    # -- changes

    def bind_elsewhere(self, pod: Pod, node: str) -> None:
        """Bind a pod in the place of another scheduler or, if the pod is the candidate's, of another replica."""
        self._api.bind(pod.namespace, pod.name, node, uid=pod.uid)

    def patch(self, pod: Pod, patch: Manifest, subresource: str = "") -> Manifest:
        """Merge a patch into a pod or into a subresource of it, such as `status`. Returns the pod."""
        return self._api.merge("pods", pod.name, patch, pod.namespace, subresource)

    def relabel(self, pod: Pod, labels: Mapping[str, str]) -> None:
        """Give a pod these labels and no others, and wait until the watch has shown them."""
        before = self._recorder.pods[pod.uid]["metadata"].get("labels", {})
        self._await_version(pod, self.patch(pod, {"metadata": {"labels": {**dict.fromkeys(before), **labels}}}))

    def _await_version(self, pod: Pod, changed: Manifest) -> None:
        """Wait until the watch has shown a change of a pod, or that the pod is gone."""
        version = int(changed["metadata"]["resourceVersion"])

        def missing() -> str:
            seen = self._recorder.pods.get(pod.uid)
            is_behind = seen is not None and int(seen["metadata"]["resourceVersion"]) < version
            return f"it shows {seen['metadata']['resourceVersion']}" if seen is not None and is_behind else ""

        self._recorder.await_shown(missing, OBJECT_SHOWN, f"the watch to show version {version} of {pod.name}")

    def burst(self, pod: Pod, annotation: str, count: int) -> None:
        """Write `count` values of an annotation of a pod one after the other, without pauses."""
        for number in range(count):
            self.patch(pod, {"metadata": {"annotations": {annotation: f"burst-{number}"}}})

    def add_conditions(self, pod: Pod, *types: str) -> None:
        """Write conditions into a pod's status, as controllers of their own do, beside those that are there."""
        present = self._api.get("pods", pod.name, pod.namespace)["status"].get("conditions", [])
        more = [{"type": kind, "status": "True", "reason": "WrittenByOthers"} for kind in types]
        self.patch(pod, {"status": {"conditions": [*present, *more]}}, "status")

    def tolerate(self, pod: Pod, toleration: Mapping[str, Any], *, phase: int = -1) -> None:
        """Add a toleration to a pending pod; of its spec, only tolerations and gates may change. `phase`: of load."""
        present = self._api.get("pods", pod.name, pod.namespace)["spec"].get("tolerations", [])
        # Recorded before the request: its consequences must not precede it in the timeline.
        self._recorder.add(Tolerates(case=self._context.clause, pod=pod.full_name, uid=pod.uid, phase=phase))
        self._await_version(pod, self.patch(pod, {"spec": {"tolerations": [*present, dict(toleration)]}}))

    def lift_gates(self, pod: Pod) -> None:
        """Remove a pod's scheduling gates."""
        # Recorded before the request: from now on, actions on the pod may follow from seeing it without gates.
        mark = self._recorder.mark()
        self._recorder.add(Lift(case=self._context.clause, pod=pod.full_name, uid=pod.uid, mark=mark))
        self._await_version(pod, self.patch(pod, {"spec": {"schedulingGates": None}}))

    def undo(self) -> bool:
        """Delete the pods, and return whether there were any."""
        pods = list(self._pods.values())
        self.remove_finalizers(pods)
        self.delete(pods)
        return bool(pods)


def _in_force(pod: Manifest) -> list[Manifest]:
    """The statuses of a pod's containers, with the resources in force.

    The apiserver refuses to resize a pod whose status does not report them.
    """
    spec_of = {container["name"]: container for container in pod["spec"]["containers"]}
    return [
        {"resources": spec_of[status["name"]]["resources"], **status} for status in pod["status"]["containerStatuses"]
    ]


def _units(resource: str, quantity: str) -> int:
    """Return a quantity in the scheduler's units: thousandths of a CPU, or bytes."""
    exact = parse_quantity(quantity)
    return milli(exact) if resource == "cpu" else whole(exact)
