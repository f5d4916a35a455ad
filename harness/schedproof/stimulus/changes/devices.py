"""Devices that a case publishes, as a DRA driver would, and ResourceClaims for them."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schedproof.clusters.api import Manifest, NotFound
from schedproof.foundation.deadlines import CLAIM_RELEASED, OBJECT_GONE, OBJECT_SHOWN, Deadline
from schedproof.foundation.errors import DeadlineExceededError
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import Pod

DRIVER = "devices.schedproof.dev"
"""A driver without a kubelet plugin: pods with such a device would not start on nodes with kubelets."""
MEMORY = f"{DRIVER}/memory"
"""A capacity of devices that several claims share."""
_CLAIMS, _RULES = "resourceclaims", "devicetaintrules"


class DraChanges:
    """Creates objects of dynamic resource allocation (resource.k8s.io/v1). `undo` removes them."""

    def __init__(self, context: Context) -> None:
        self._api, self._recorder = context.api, context.recorder
        self._namespace = context.trial.namespace
        self._created: list[tuple[str, str, str]] = []
        """Resource, name and namespace of created objects, in the order of their creation."""
        self._prefix = context.prefix

    def device_class(self, kind: str, *, extended: str = "") -> str:
        """Create a DeviceClass for the devices of a kind, and return its name.

        `extended`: an extended resource that it stands for, beside `deviceclass.resource.kubernetes.io/` and its name.
        """
        name = self._next_name(f"{self._namespace}-")
        spec = {"selectors": [_where("kind", kind)], **({"extendedResourceName": extended} if extended else {})}
        return self._store("deviceclasses", {"spec": spec}, name=name)

    def publish(self, node: str, *devices: tuple[str, str], **fields: Any) -> str:
        """Give a node devices, each of a kind and a model, in a ResourceSlice that is a pool of its own.

        `fields`: further fields of each device. Returns the slice's name, for `untaint`.
        """
        return self._publish(node, {"devices": [{**each, **fields} for each in _devices(devices)]})[0]

    def partition(self, node: str, memory: Mapping[str, int], *parts: tuple[str, str, int]) -> None:
        """Give a node devices that are parts of others: each of a kind and a model, and its part of the model's memory.

        The memory of each model is a counter, in a ResourceSlice of its own, as Kubernetes requires.
        """
        counters = [{"name": model, "counters": _memory(amount)} for model, amount in memory.items()]
        devices = [
            {**each, "consumesCounters": [{"counterSet": model, "counters": _memory(amount)}]}
            for each, (_, model, amount) in zip(_devices([part[:2] for part in parts]), parts, strict=True)
        ]
        self._publish(node, {"sharedCounters": counters}, {"devices": devices})

    def _publish(self, node: str, *contents: Manifest) -> list[str]:
        """Store the ResourceSlices of a pool, and return their names."""
        pool = {"name": self._next_name(f"{self._namespace}-"), "generation": 1, "resourceSliceCount": len(contents)}
        of_pool = {"driver": DRIVER, "nodeName": node, "pool": pool}
        return [
            self._store("resourceslices", {"spec": {**of_pool, **each}}, name=self._next_name(f"{self._namespace}-"))
            for each in contents
        ]

    def untaint(self, published: str) -> None:
        """Remove all taints from the devices of a ResourceSlice, whose pool has a new generation from then on."""
        spec = self._api.get("resourceslices", published)["spec"]
        pool = {**spec["pool"], "generation": spec["pool"]["generation"] + 1}
        devices = [{**device, "taints": None} for device in spec["devices"]]
        self._api.merge("resourceslices", published, {"spec": {"pool": pool, "devices": devices}})

    def taint_by_rule(self, published: str, taint: Mapping[str, str], *, device: str = "") -> str:
        """Create a DeviceTaintRule, and return its name. It taints all devices of a ResourceSlice's pool, or one."""
        found = self._api.get("resourceslices", published)["spec"]
        selector = {"driver": DRIVER, "pool": found["pool"]["name"], **({"device": device} if device else {})}
        body = {"spec": {"deviceSelector": selector, "taint": dict(taint)}}
        return self._store(_RULES, body, name=self._next_name(f"{self._namespace}-"))

    def withdraw(self, rule: str) -> None:
        """Delete a DeviceTaintRule."""
        self._api.delete_if_there(_RULES, rule)

    def claim(self, device_class: str, model: str, *, count: int = 1, **fields: Any) -> dict[str, Any]:
        """Create a ResourceClaim for devices of a class and a model, and return it as an item of a pod's
        `resourceClaims`.

        `fields`: further fields of the request, which is an ExactDeviceRequest.
        """
        return self._claim({"exactly": {**_wanted(device_class, model, count), **fields}})

    def claim_first(self, *alternatives: tuple[str, str, int]) -> dict[str, Any]:
        """As `claim`, for the first of several alternatives, each a class, a model and a count."""
        listed = [{"name": f"alternative-{at}", **_wanted(*each)} for at, each in enumerate(alternatives, 1)]
        return self._claim({"firstAvailable": listed})

    def _claim(self, request: Manifest) -> dict[str, Any]:
        name = self._store(_CLAIMS, {"spec": _claim_spec(request)}, self._namespace)
        return {"name": name, "resourceClaimName": name}

    def template(self, device_class: str, model: str, *, count: int = 1) -> dict[str, Any]:
        """Create a ResourceClaimTemplate, from which each pod gets its own claim, and return it as for `claim`."""
        body = {"spec": {"spec": _claim_spec({"exactly": _wanted(device_class, model, count)})}}
        name = self._store("resourceclaimtemplates", body, self._namespace)
        return {"name": name, "resourceClaimTemplateName": name}

    def _store(self, resource: str, body: Manifest, namespace: str = "", *, name: str = "") -> str:
        name = name or self._next_name()
        self._api.create(resource, {"metadata": {"name": name}, **body}, namespace)
        self._created.append((resource, name, namespace))
        return name

    def _next_name(self, beginning: str = "") -> str:
        """Return a new name. `beginning`: a prefix for objects without a namespace, which other runs may share."""
        return f"{beginning}{self._prefix}-{len(self._created) + 1}"

    def await_released(self, pods: Sequence[Pod]) -> None:
        """Wait until kube-controller-manager has released the devices of these deleted pods."""
        gone = {pod.uid for pod in pods}

        def probe() -> None:
            self._recorder.check()
            for claim in self._claims():
                consumers = (claim.get("status") or {}).get("reservedFor") or ()
                if any(consumer["uid"] in gone for consumer in consumers):
                    raise NotYet(f"claim {claim['metadata']['name']} is still reserved for a deleted pod")

        wait_for(probe, CLAIM_RELEASED, what="the devices of deleted pods to be released", poll=0.1)

    def await_allocated(self, claim: Mapping[str, Any], deadline: Deadline) -> bool:
        """Wait until the candidate has allocated devices to a claim, on which no driver has reported yet.

        Returns whether it has: what else is expected of it shows that it has not.
        """

        def probe() -> None:
            self._recorder.check()
            status = self._status_of(claim)
            if not status.get("allocation") or status.get("devices"):
                raise NotYet(f"claim {claim['resourceClaimName']} has no new allocation")

        with contextlib.suppress(DeadlineExceededError):
            wait_for(probe, deadline, what="devices to be allocated", poll=0.1)
            return True
        return False

    def report(self, claim: Mapping[str, Any], condition: str) -> None:
        """Set a condition of the devices that are allocated to a claim to True, as their driver does."""
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        told = {"type": condition, "status": "True", "reason": "Reported", "message": "", "lastTransitionTime": now}
        devices = [
            {**{key: result[key] for key in ("driver", "pool", "device")}, "conditions": [told]}
            for result in self._status_of(claim)["allocation"]["devices"]["results"]
        ]
        body = {"status": {"devices": devices}}
        self._api.merge(_CLAIMS, claim["resourceClaimName"], body, self._namespace, "status")

    def _status_of(self, claim: Mapping[str, Any]) -> Manifest:
        return dict(self._api.get(_CLAIMS, claim["resourceClaimName"], self._namespace).get("status") or {})

    def _claims(self) -> list[Manifest]:
        """Return all claims, including those made from templates."""
        return list(self._api.list(_CLAIMS, self._namespace)["items"])

    def await_recorded(self) -> None:
        """Wait until the watch of claims, which may be behind others, shows them all: clauses judge the record."""
        if not self._created:
            return

        def probe() -> None:
            for claim in self._claims():
                self._recorder.require_shown(_CLAIMS, claim)

        wait_for(probe, OBJECT_SHOWN, what="the watch to show ResourceClaims", wake=self._recorder.changed)

    def undo(self) -> bool:
        """Remove claims, templates, slices and classes, after their pods. Return whether there were any."""
        changed = bool(self._created)
        while self._created:
            self._api.delete_if_there(*self._created.pop())
        if changed:
            self._remove_claims()
        return changed

    def _remove_claims(self) -> None:
        """Remove all claims together with the finalizer of allocated claims.

        kube-controller-manager removes the finalizer only once nothing uses the claim. It may not notice that if a
        candidate has reserved a claim for no pod.
        """

        def probe() -> None:
            left = [claim["metadata"]["name"] for claim in self._claims()]
            for name in left:
                with contextlib.suppress(NotFound):
                    self._api.merge(_CLAIMS, name, {"metadata": {"finalizers": None}}, self._namespace)
                self._api.delete_if_there(_CLAIMS, name, self._namespace)
            if left:
                raise NotYet(f"{len(left)} are still there")

        wait_for(probe, OBJECT_GONE, what="ResourceClaims to be deleted", poll=0.1)


def _claim_spec(request: Manifest) -> Manifest:
    return {"devices": {"requests": [{"name": "wanted", **request}]}}


def _wanted(device_class: str, model: str, count: int) -> Manifest:
    return {
        "deviceClassName": device_class, "selectors": [_where("model", model)],
        "allocationMode": "ExactCount", "count": count,
    }  # fmt: skip


def _devices(described: Iterable[tuple[str, str]]) -> list[Manifest]:
    """Devices of a kind and a model each."""
    return [
        {"name": f"device-{number}", "attributes": {"kind": {"string": kind}, "model": {"string": model}}}
        for number, (kind, model) in enumerate(described)
    ]


def _memory(amount: int) -> dict[str, Manifest]:
    return {"memory": {"value": str(amount)}}


def _where(attribute: str, value: str) -> Manifest:
    """Return a CEL selector for this driver's devices with an attribute. It reads only the driver of other devices."""
    attributes = f'device.attributes["{DRIVER}"]'
    return {"cel": {"expression": f'device.driver == "{DRIVER}" && {attributes}.{attribute} == "{value}"'}}
