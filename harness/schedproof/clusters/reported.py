"""What a kubelet reports that makes a Node object as large as it really is, and that no scheduling rule reads."""

from __future__ import annotations

import functools
import hashlib
import zlib
from collections.abc import Sequence
from typing import Any

ANNOTATIONS = {
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
}
"""Annotations of a node by its kubelet and the node controllers."""
_IMAGES = 40
"""Kubelets report at most 50 images (nodeStatusMaxImages); with 40, a Node object has 10 to 12 kB."""
_EVERY = 4
"""Every fourth node reports images. If all did, a run of random worlds would take 15 % more CPU time, because each
state of a node is sent and recorded."""


def images(node: str) -> Sequence[dict[str, Any]]:
    """Return a node's v1.ContainerImages, the largest first. No pod of the suites uses one.

    Whether there are any depends on the node's name. The nodes that change most often have none: those of random worlds
    and the harness's own.
    """
    return _images() if zlib.crc32(node.encode()) % _EVERY == 1 else ()


@functools.cache
def _images() -> Sequence[dict[str, Any]]:
    return tuple(_image(number) for number in range(_IMAGES))


def _image(number: int) -> dict[str, Any]:
    """Return an image, by digest and by tag."""
    name = f"images.example/platform/team-{number % 7}/service-{number}"
    digest = hashlib.sha256(name.encode()).hexdigest()
    return {"names": [f"{name}@sha256:{digest}", f"{name}:v1.{number}.0"], "sizeBytes": (_IMAGES - number) * 25_000_003}
