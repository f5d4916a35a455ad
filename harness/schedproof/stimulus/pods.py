"""Pod manifests for cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

FILLER = "schedproof-filler"
"""The schedulerName of pods that the harness binds itself, in the place of another scheduler."""
NEVER_STARTS = {"schedproof.dev/starts": "never"}
"""The annotation of a pod that kwok leaves Pending after its Binding, like a kubelet that cannot pull the image."""
TIMESTAMP = 1.0
"""Resolution in seconds of timestamps in objects, such as creationTimestamp and startTime."""
TOLERATE_ALL = [{"operator": "Exists"}]


@dataclasses.dataclass(frozen=True)
class Pod:
    """A pod that the harness created; `rv` is the revision that created it."""

    name: str
    uid: str
    rv: int
    namespace: str

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def created(cls, answer: dict[str, Any]) -> Pod:
        """Return the pod from the apiserver's response to its creation."""
        metadata = answer["metadata"]
        return cls(metadata["name"], metadata["uid"], int(metadata["resourceVersion"]), metadata["namespace"])


def amount(resource: str, units: float) -> str:
    """Return a quantity of `units`, which are thousandths of a CPU or bytes."""
    return f"{int(units)}m" if resource == "cpu" else f"{int(units)}"


def owned_by(version: str, kind: str, owner: Mapping[str, Any]) -> dict[str, Any]:
    """The metav1.OwnerReference of pods whose controller is this object; `version` is its apiVersion."""
    known = {key: owner["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": version, "kind": kind, "controller": True, **known}


def pod_manifest(
    name: str,
    scheduler_name: str,
    *,
    image: str,
    command: Sequence[str] = (),
    cpu: str = "",
    memory: str = "",
    node: str = "",
    labels: dict[str, str] | None = None,
    annotations: Mapping[str, str] = MappingProxyType({}),
    finalizers: Sequence[str] = (),
    owner: Mapping[str, Any] | None = None,
    extended: Mapping[str, str] = MappingProxyType({}),
    ports: Sequence[Mapping[str, Any]] = (),
    more: Sequence[Mapping[str, Any]] = (),
    init: Sequence[Mapping[str, Any]] = (),
    **spec: Any,
) -> dict[str, Any]:
    """A pod whose main container runs `command`, or what its image runs.

    `cpu`, `memory` and `extended` (by resource) are its requests, and `ports` its container's; `more` are further
    containers and `init` its init containers, each with the `cpu`, `memory` and `extended` that it asks for, its
    `ports`, and its `restartPolicy` and `restartPolicyRules`, if it has any; `owner` is its controller, as a
    metav1.OwnerReference; `node` binds the pod at once; `spec` is merged in.
    """
    requests = {resource: amount for resource, amount in (("cpu", cpu), ("memory", memory)) if amount}
    manifest: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, "finalizers": list(finalizers)},
        "spec": {
            "schedulerName": scheduler_name,
            # Nothing runs here that would need a grace or a token.
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "main", "image": image,
                    "resources": {"requests": {**requests, **extended}, "limits": dict(extended)},
                    **({"command": list(command)} if command else {}),
                    **({"ports": [dict(port) for port in ports]} if ports else {}),
                },
                *_containers("more", image, more),
            ],
            **({"initContainers": _containers("init", image, init)} if init else {}),
            **spec,
        },
    }  # fmt: skip
    if annotations:
        manifest["metadata"]["annotations"] = dict(annotations)
    if owner is not None:
        manifest["metadata"]["ownerReferences"] = [dict(owner)]
    if node:
        manifest["spec"]["nodeName"] = node
    return manifest


_AS_GIVEN = ("ports", "restartPolicy", "restartPolicyRules")


def _containers(name: str, image: str, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "name": f"{name}-{number}", "image": image,
            "resources": {
                "requests": {
                    **{key: container[key] for key in ("cpu", "memory") if key in container},
                    **container.get("extended", {}),
                },
                "limits": dict(container.get("extended", {})),
            },
            **{field: container[field] for field in _AS_GIVEN if field in container},
        }
        for number, container in enumerate(asked, 1)
    ]  # fmt: skip
