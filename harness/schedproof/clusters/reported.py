"""What a kubelet reports that makes a Node object as large as it really is, and that no scheduling rule reads."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

_IMAGES = 40
"""Kubelets report at most 50 images (nodeStatusMaxImages); with 40, a Node object has 10 to 12 kB."""
ANNOTATIONS = {
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
}
"""Annotations of a node by its kubelet and the node controllers."""


@functools.cache
def images() -> tuple[dict[str, Any], ...]:
    """Return v1.ContainerImages, each by digest and by tag, the largest first. No pod of the suites uses one."""
    return tuple(_image(number) for number in range(_IMAGES))


def _image(number: int) -> dict[str, Any]:
    name = f"images.example/platform/team-{number % 7}/service-{number}"
    digest = hashlib.sha256(name.encode()).hexdigest()
    return {"names": [f"{name}@sha256:{digest}", f"{name}:v1.{number}.0"], "sizeBytes": (_IMAGES - number) * 25_000_003}
