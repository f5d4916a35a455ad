"""StorageClasses, PersistentVolumes and PersistentVolumeClaims of a case."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from schedproof.clusters.api import Manifest, NotFound
from schedproof.clusters.objects import wait_gone
from schedproof.foundation.deadlines import OBJECT_SHOWN, VOLUME_READY, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.oracle.volumes import NO_PROVISIONER, SELECTED_NODE, is_bound
from schedproof.stimulus.context import Context

ZONE = "topology.kubernetes.io/zone"
_HOSTNAME = "kubernetes.io/hostname"
_DIRECTORY = "/tmp"  # noqa: S108 - exists on every node; no container mounts it
_SIZE = "1Gi"
_MANY, ONCE = "ReadWriteMany", "ReadWriteOncePod"
DRIVER = "volumes.schedproof.dev"
"""A CSI driver without a plugin on any node: pods with such a volume would not start on nodes with kubelets."""


class VolumeChanges:
    """Creates and removes storage objects. Only `provide` creates volumes for claims. `undo` removes everything."""

    def __init__(self, context: Context) -> None:
        self._api, self._recorder = context.api, context.recorder
        self._namespace = context.trial.namespace
        self._created: list[tuple[str, str, str]] = []
        """Resource, name and namespace of created objects, in the order of their creation."""
        self._prefix = f"{self._namespace}-{context.prefix}"
        self._limits = contextlib.ExitStack()
        """What removes the driver, and its limits on nodes."""
        self._limited: list[str] = []
        self._registered = False

    def storage_class(self, *, waits: bool, driver: str = NO_PROVISIONER, node: str = "") -> str:
        """Create a StorageClass, and return its name. `waits`: claims are bound for the first pod that uses them.

        `driver`: it provisions volumes, on all nodes or on `node`.
        """
        body: Manifest = {
            "provisioner": driver, "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
        }  # fmt: skip
        if node:
            body["allowedTopologies"] = [{"matchLabelExpressions": [{"key": _HOSTNAME, "values": [node]}]}]
        return self._store("storageclasses", body)

    def provisioner(self) -> str:
        """Create a CSI driver that reports how much it can provision, and return its name."""
        return self._store("csidrivers", {"spec": {"attachRequired": False, "storageCapacity": True}})

    def capacity(self, storage_class: str, amount: str, *, node: str = "", largest: str = "") -> str:
        """Report how much of a class can be provisioned for `node`, and return the name of the object.

        Without `node`, no node can use it. `largest`: the largest volume.
        """
        body = {
            "storageClassName": storage_class, "capacity": amount,
            **({"maximumVolumeSize": largest} if largest else {}),
            **({"nodeTopology": {"matchLabels": {_HOSTNAME: node}}} if node else {}),
        }  # fmt: skip
        return self._store("csistoragecapacities", body, self._namespace)

    def grow(self, capacity: str, amount: str) -> None:
        """Report another amount."""
        self._api.merge("csistoragecapacities", capacity, {"capacity": amount}, self._namespace)

    def provide(self, claim: Manifest, deadline: Deadline) -> None:
        """Play the provisioner: once the candidate has selected a node for a claim, create a volume there for it.

        Nothing if no node is selected by the deadline: the pod is not bound then.
        """
        name = claim["persistentVolumeClaim"]["claimName"]

        def selected() -> Manifest:
            self._recorder.check()
            found = self._api.get("persistentvolumeclaims", name, self._namespace)
            if SELECTED_NODE not in found["metadata"].get("annotations", {}):
                raise NotYet("no node is selected for it")
            return found

        with contextlib.suppress(DeadlineExceededError):
            found = wait_for(selected, deadline, what=f"claim {name} to have a selected node", poll=0.1)
            node = found["metadata"]["annotations"][SELECTED_NODE]
            reference = {"name": name, "namespace": self._namespace, "uid": found["metadata"]["uid"]}
            spec = _local(node) | {
                "capacity": found["spec"]["resources"]["requests"], "accessModes": found["spec"]["accessModes"],
                "storageClassName": found["spec"]["storageClassName"], "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": reference,
            }  # fmt: skip
            # Before the claim in the list: a volume goes only once its claim is gone.
            self._store("persistentvolumes", {"spec": spec})
            made = self._created.pop()
            self._created.insert(self._created.index(("persistentvolumeclaims", name, self._namespace)), made)

    def volume(self, storage_class: str, *, node: str = "", zone: str = "", driver: str = "", mode: str = _MANY) -> str:
        """Create a volume that can be used on a `node` or in a `zone`, or is of a CSI `driver`, and return its name."""
        spec: dict[str, Any] = {
            "capacity": {"storage": _SIZE}, "accessModes": [mode], "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
        }  # fmt: skip
        if node:
            spec |= _local(node)
        elif driver:
            spec["csi"] = {"driver": driver, "volumeHandle": f"{self._prefix}-{len(self._created)}"}
        else:
            spec["hostPath"] = {"path": _DIRECTORY}
        name = self._store("persistentvolumes", {"spec": spec}, labels={ZONE: zone} if zone else {})
        self._await_ready(name, "", lambda found: (found.get("status") or {}).get("phase") == "Available")
        return name

    def register(self, *, prevents: bool = False) -> None:
        """Create the CSIDriver of `DRIVER`. `prevents`: pods with its volumes are kept off nodes without it."""
        # Otherwise a controller would attach volumes: a VolumeAttachment counts, too, until it is gone.
        spec = {"attachRequired": False, **({"preventPodSchedulingIfMissing": True} if prevents else {})}
        self._api.create("csidrivers", {"metadata": {"name": DRIVER}, "spec": spec})
        self._limits.callback(self._api.delete_if_there, "csidrivers", DRIVER)
        self._registered = True

    def limit(self, node: str, count: int) -> None:
        """Let a node have at most so many volumes of `DRIVER` attached, as its plugin would report."""
        if not self._registered:
            self.register()
        spec = {"drivers": [{"name": DRIVER, "nodeID": node, "allocatable": {"count": count}}]}
        try:
            self._api.merge("csinodes", node, {"spec": spec})
            self._limits.callback(self._api.merge, "csinodes", node, {"spec": {"drivers": []}})
        except NotFound:  # only a kubelet makes one
            self._api.create("csinodes", {"metadata": {"name": node}, "spec": spec})
            self._limits.callback(self._api.delete_if_there, "csinodes", node)
        self._limited.append(node)

    def ephemeral(self, storage_class: str) -> dict[str, Any]:
        """Return an item of a pod's `volumes` for which Kubernetes makes a claim that the pod owns."""
        spec = {
            "accessModes": [_MANY], "storageClassName": storage_class, "resources": {"requests": {"storage": _SIZE}},
        }  # fmt: skip
        return {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}

    def claim(self, storage_class: str, *, volume: str = "", mode: str = _MANY, size: str = _SIZE) -> dict[str, Any]:
        """Create a claim, bound to `volume` if it is given, and return it as an item of a pod's `volumes`."""
        spec: dict[str, Any] = {
            "accessModes": [mode], "storageClassName": storage_class, "resources": {"requests": {"storage": size}},
            **({"volumeName": volume} if volume else {}),
        }  # fmt: skip
        name = self._store("persistentvolumeclaims", {"spec": spec}, self._namespace)
        if volume:
            self._await_ready(name, self._namespace, is_bound)
        return {"name": f"data-{len(self._created)}", "persistentVolumeClaim": {"claimName": name}}

    def _store(
        self, resource: str, body: Manifest, namespace: str = "", *, labels: dict[str, str] | None = None
    ) -> str:
        name = f"{self._prefix}-{len(self._created) + 1}"
        self._api.create(resource, {"metadata": {"name": name, "labels": labels or {}}, **body}, namespace)
        self._created.append((resource, name, namespace))
        return name

    def _await_ready(self, name: str, namespace: str, is_ready: Callable[[Manifest], bool]) -> None:
        """Wait until the volume controllers have processed an object."""
        resource = "persistentvolumeclaims" if namespace else "persistentvolumes"

        def probe() -> None:
            self._recorder.check()
            found = self._api.get(resource, name, namespace)
            if not is_ready(found):
                raise NotYet(f"its status is {found.get('status')}")

        wait_for(probe, VOLUME_READY, what=f"{resource} {name}", poll=0.1)

    def await_recorded(self) -> None:
        """Wait until the watches of volumes and claims, which may be behind others, show all: the record is judged."""
        limits = [("csinodes", node, "") for node in self._limited]

        def probe() -> None:
            for resource, name, namespace in (*self._created, *limits):
                self._recorder.require_shown(resource, self._api.get(resource, name, namespace))

        wait_for(probe, OBJECT_SHOWN, what="the watches to show volumes and claims", wake=self._recorder.changed)

    def undo(self) -> bool:
        """Remove claims, volumes and classes, in this order. Return whether there were any."""
        changed = bool(self._created)
        self._limits.close()
        self._limited, self._registered = [], False
        while self._created:
            resource, name, namespace = self._created.pop()
            self._api.delete_if_there(resource, name, namespace)
            wait_gone(self._api, resource, name, namespace)
        return changed


def _local(node: str) -> Manifest:
    """The fields of a volume's spec by which it can be used on one node."""
    here = {"matchExpressions": [{"key": _HOSTNAME, "operator": "In", "values": [node]}]}
    return {"local": {"path": _DIRECTORY}, "nodeAffinity": {"required": {"nodeSelectorTerms": [here]}}}
