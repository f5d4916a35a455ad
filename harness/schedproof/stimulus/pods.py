"""Pod manifests for cases."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TOLERATE_ALL", "Pod", "pod_manifest"]

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
        """From the apiserver's answer to its creation."""
        metadata = answer["metadata"]
        return cls(metadata["name"], metadata["uid"], int(metadata["resourceVersion"]), metadata["namespace"])


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
    finalizers: Sequence[str] = (),
    owner: Mapping[str, Any] | None = None,
    extended: Mapping[str, str] = MappingProxyType({}),
    ports: Sequence[Mapping[str, Any]] = (),
    init: Sequence[Mapping[str, str]] = (),
    **spec: Any,
) -> dict[str, Any]:
    """A pod with one container, which runs `command`, or what its image runs.

    `cpu`, `memory` and `extended` (by resource) are its requests, and `ports` its container's; `init` are its init
    containers, each with the `cpu` that it asks for and its `restartPolicy`, if it has one; `owner` is its controller,
    as a metav1.OwnerReference; `node` binds the pod at once; `spec` is merged in.
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
                }
            ],
            **({"initContainers": [_init(n, image, one) for n, one in enumerate(init, 1)]} if init else {}),
            **spec,
        },
    }  # fmt: skip
    if owner is not None:
        manifest["metadata"]["ownerReferences"] = [dict(owner)]
    if node:
        manifest["spec"]["nodeName"] = node
    return manifest


def _init(number: int, image: str, asked: Mapping[str, str]) -> dict[str, Any]:
    policy = {"restartPolicy": asked["restartPolicy"]} if "restartPolicy" in asked else {}
    return {"name": f"init-{number}", "image": image, "resources": {"requests": {"cpu": asked["cpu"]}}, **policy}
