"""Devices that a case publishes, as the driver of some hardware would, and claims to them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from schedproof.clusters.api import Manifest, NotFound
from schedproof.foundation.deadlines import CLAIM_RELEASED, OBJECT_GONE, OBJECT_SHOWN
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import Pod

DRIVER = "devices.schedproof.dev"
"""No kubelet has a plugin of it: where kubelets are real, no pod with such a device would start."""
_CLAIMS = "resourceclaims"


class DraChanges:
    """What a case does to devices (resource.k8s.io/v1). `undo` removes all of it."""

    def __init__(self, context: Context) -> None:
        self._api, self._recorder = context.api, context.recorder
        self._namespace = context.trial.namespace
        self._there: list[tuple[str, str, str]] = []
        """Resource, name and namespace of what is to go, in the order of its creation."""
        self._prefix = context.prefix

    def device_class(self, kind: str) -> str:
        """Let there be a DeviceClass of the devices of a kind; its name."""
        name = self._next_name(f"{self._namespace}-")
        return self._store("deviceclasses", {"spec": {"selectors": [_where("kind", kind)]}}, name=name)

    def publish(self, node: str, *devices: tuple[str, str]) -> None:
        """Let a node have devices, each of a kind and a model: a ResourceSlice, which is a pool of its own."""
        name = self._next_name(f"{self._namespace}-")
        spec = {
            "driver": DRIVER, "nodeName": node, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"device-{number}", "attributes": {"kind": {"string": kind}, "model": {"string": model}}}
                for number, (kind, model) in enumerate(devices)
            ],
        }  # fmt: skip
        self._store("resourceslices", {"spec": spec}, name=name)

    def claim(self, device_class: str, model: str, *, count: int = 1) -> dict[str, Any]:
        """Let there be a claim to devices of a class and a model; it, as an item of a pod's `resourceClaims`."""
        name = self._store(_CLAIMS, {"spec": _claim_spec(device_class, model, count)}, self._namespace)
        return {"name": name, "resourceClaimName": name}

    def template(self, device_class: str, model: str, *, count: int = 1) -> dict[str, Any]:
        """Likewise for a template, from which each pod that names it is made a claim of its own."""
        body = {"spec": {"spec": _claim_spec(device_class, model, count)}}
        name = self._store("resourceclaimtemplates", body, self._namespace)
        return {"name": name, "resourceClaimTemplateName": name}

    def _store(self, resource: str, body: Manifest, namespace: str = "", *, name: str = "") -> str:
        name = name or self._next_name()
        self._api.create(resource, {"metadata": {"name": name}, **body}, namespace)
        self._there.append((resource, name, namespace))
        return name

    def _next_name(self, beginning: str = "") -> str:
        """`beginning`: of what is outside of a namespace, which other runs may share."""
        return f"{beginning}{self._prefix}-{len(self._there) + 1}"

    def await_released(self, pods: Sequence[Pod]) -> None:
        """Pods are gone: wait until kube-controller-manager has taken their devices back."""
        gone = {pod.uid for pod in pods}

        def probe() -> None:
            self._recorder.check()
            for claim in self._claims():
                consumers = (claim.get("status") or {}).get("reservedFor") or ()
                if any(consumer["uid"] in gone for consumer in consumers):
                    raise NotYet(f"claim {claim['metadata']['name']} is reserved for a pod that is gone")

        wait_for(probe, CLAIM_RELEASED, what="the devices of pods that are gone", poll=0.1)

    def _claims(self) -> list[Manifest]:
        """Those that were made from templates as well."""
        return list(self._api.list(_CLAIMS, self._namespace)["items"])

    def await_recorded(self) -> None:
        """What became of claims is judged by the record, and the watch of them may be behind the others."""
        if not self._there:
            return

        def probe() -> None:
            for claim in self._claims():
                self._recorder.require_shown(_CLAIMS, claim)

        wait_for(probe, OBJECT_SHOWN, what="the watch to show ResourceClaims", wake=self._recorder.changed)

    def undo(self) -> bool:
        """Remove claims, templates, slices and classes; whether there were any. The pods that used them are gone."""
        changed = bool(self._there)
        while self._there:
            self._api.delete_if_there(*self._there.pop())
        if changed:
            self._remove_claims()
        return changed

    def _remove_claims(self) -> None:
        """With the finalizer of what is allocated: kube-controller-manager takes it off only once nothing uses a claim,
        and may not see that where a candidate has reserved it for nothing.
        """

        def probe() -> None:
            left = [claim["metadata"]["name"] for claim in self._claims()]
            for name in left:
                with contextlib.suppress(NotFound):
                    self._api.merge(_CLAIMS, name, {"metadata": {"finalizers": None}}, self._namespace)
                self._api.delete_if_there(_CLAIMS, name, self._namespace)
            if left:
                raise NotYet(f"there are {len(left)}")

        wait_for(probe, OBJECT_GONE, what="ResourceClaims to go", poll=0.1)


def _claim_spec(device_class: str, model: str, count: int) -> Manifest:
    exactly: Manifest = {
        "deviceClassName": device_class, "selectors": [_where("model", model)],
        "allocationMode": "ExactCount", "count": count,
    }  # fmt: skip
    return {"devices": {"requests": [{"name": "wanted", "exactly": exactly}]}}


def _where(attribute: str, value: str) -> Manifest:
    """A selector of our devices that have this attribute: of others only the driver is looked at."""
    attributes = f'device.attributes["{DRIVER}"]'
    return {"cel": {"expression": f'device.driver == "{DRIVER}" && {attributes}.{attribute} == "{value}"'}}
