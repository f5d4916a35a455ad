"""Volumes that a case makes: classes, volumes that are there from the start, and claims to them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from schedproof.clusters.api import Manifest, NotFound
from schedproof.foundation.deadlines import OBJECT_GONE, OBJECT_SHOWN, VOLUME_READY
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.oracle.volumes import NO_PROVISIONER, is_bound
from schedproof.stimulus.context import Context

ZONE = "topology.kubernetes.io/zone"
_HOSTNAME = "kubernetes.io/hostname"
_DIRECTORY = "/tmp"  # noqa: S108 - which is on every node; no container mounts it
_SIZE = "1Gi"
_MODES = ["ReadWriteMany"]


class VolumeChanges:
    """What a case does to storage. No volume is made by a provisioner. `undo` removes all of it."""

    def __init__(self, context: Context) -> None:
        self._api, self._recorder = context.api, context.recorder
        self._namespace = context.trial.namespace
        self._there: list[tuple[str, str, str]] = []
        """Resource, name and namespace of what is to go, in the order of its creation."""
        self._prefix = f"{self._namespace}-{context.prefix}"

    def storage_class(self, *, waits: bool) -> str:
        """Let there be a StorageClass; its name. `waits`: its claims are bound for the first pod that uses them."""
        mode = "WaitForFirstConsumer" if waits else "Immediate"
        return self._store("storageclasses", {"provisioner": NO_PROVISIONER, "volumeBindingMode": mode})

    def volume(self, storage_class: str, *, node: str = "", zone: str = "") -> str:
        """Let there be a volume that can be used on a `node`, or in a `zone`; its name."""
        spec: dict[str, Any] = {
            "capacity": {"storage": _SIZE}, "accessModes": _MODES, "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
        }  # fmt: skip
        if node:
            here = {"matchExpressions": [{"key": _HOSTNAME, "operator": "In", "values": [node]}]}
            spec |= {"local": {"path": _DIRECTORY}, "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}}}
        else:
            spec["hostPath"] = {"path": _DIRECTORY}
        name = self._store("persistentvolumes", {"spec": spec}, labels={ZONE: zone} if zone else {})
        self._await_ready(name, "", lambda found: (found.get("status") or {}).get("phase") == "Available")
        return name

    def claim(self, storage_class: str, *, volume: str = "") -> dict[str, Any]:
        """Let there be a claim, and be bound to `volume` where one is given; it, as an item of a pod's `volumes`."""
        spec: dict[str, Any] = {
            "accessModes": _MODES, "storageClassName": storage_class, "resources": {"requests": {"storage": _SIZE}},
            **({"volumeName": volume} if volume else {}),
        }  # fmt: skip
        name = self._store("persistentvolumeclaims", {"spec": spec}, self._namespace)
        if volume:
            self._await_ready(name, self._namespace, is_bound)
        return {"name": "data", "persistentVolumeClaim": {"claimName": name}}

    def _store(
        self, resource: str, body: Manifest, namespace: str = "", *, labels: dict[str, str] | None = None
    ) -> str:
        name = f"{self._prefix}-{len(self._there) + 1}"
        self._api.create(resource, {"metadata": {"name": name, "labels": labels or {}}, **body}, namespace)
        self._there.append((resource, name, namespace))
        return name

    def _await_ready(self, name: str, namespace: str, is_ready: Callable[[Manifest], bool]) -> None:
        """The controllers of volumes have to do their part."""
        resource = "persistentvolumeclaims" if namespace else "persistentvolumes"

        def probe() -> None:
            self._recorder.check()
            found = self._api.get(resource, name, namespace)
            if not is_ready(found):
                raise NotYet(f"its status is {found.get('status')}")

        wait_for(probe, VOLUME_READY, what=f"{resource} {name}", poll=0.1)

    def await_recorded(self) -> None:
        """What became of volumes and claims is judged by the record, and the watch of them may be behind the others."""

        def probe() -> None:
            for resource, name, namespace in self._there:
                self._recorder.require_shown(resource, self._api.get(resource, name, namespace))

        wait_for(probe, OBJECT_SHOWN, what="the watches to show volumes and claims", wake=self._recorder.changed)

    def undo(self) -> bool:
        """Remove claims, volumes and classes, in this order; whether there were any."""
        changed = bool(self._there)
        while self._there:
            resource, name, namespace = self._there.pop()
            self._api.delete_if_there(resource, name, namespace)
            self._await_removed(resource, name, namespace)
        return changed

    def _await_removed(self, resource: str, name: str, namespace: str) -> None:
        """Finalizers keep what is in use, and their controllers take their time."""

        def probe() -> None:
            with contextlib.suppress(NotFound):
                self._api.get(resource, name, namespace)
                raise NotYet("it is still there")

        wait_for(probe, OBJECT_GONE, what=f"{resource} {name} to go", poll=0.1)
