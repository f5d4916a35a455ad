"""Pod manifests for cases."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Pod", "pod_manifest"]


@dataclasses.dataclass(frozen=True)
class Pod:
    """A pod that the harness created; `rv` is the revision that created it."""

    name: str
    uid: str
    rv: int

    @classmethod
    def created(cls, answer: dict[str, Any]) -> Pod:
        """From the apiserver's answer to its creation."""
        metadata = answer["metadata"]
        return cls(metadata["name"], metadata["uid"], int(metadata["resourceVersion"]))


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
    **spec: Any,
) -> dict[str, Any]:
    """A pod with one container, which runs `command`, or what its image runs.

    `cpu` and `memory` are its requests; `node` binds it at once; `spec` is merged in.
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
                    "name": "main", "image": image, "resources": {"requests": requests},
                    **({"command": list(command)} if command else {}),
                }
            ],
            **spec,
        },
    }  # fmt: skip
    if node:
        manifest["spec"]["nodeName"] = node
    return manifest
