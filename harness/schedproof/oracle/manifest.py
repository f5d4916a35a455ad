"""Reading manifests: JSON objects as the API returns them; anything optional may be missing or null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Manifest: TypeAlias = Mapping[str, Any]


def spec(manifest: Manifest) -> Manifest:
    return manifest.get("spec") or {}


def status(manifest: Manifest) -> Manifest:
    return manifest.get("status") or {}


def priority(pod: Manifest) -> int:
    """Of a pod; 0 where it has none."""
    return spec(pod).get("priority") or 0


def labels(manifest: Manifest) -> Mapping[str, str]:
    return manifest["metadata"].get("labels") or {}


def namespace(manifest: Manifest) -> str:
    """The name of its namespace; "" for what has none."""
    return manifest["metadata"].get("namespace") or ""


def full_name(manifest: Manifest) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    namespace, name = manifest["metadata"].get("namespace"), manifest["metadata"]["name"]
    return f"{namespace}/{name}" if namespace else str(name)


def identity(pod: Manifest) -> str:
    """The uid, which tells a pod from one re-created under its name. Only what no API has seen has none."""
    return pod["metadata"].get("uid") or full_name(pod)


def is_owned(made: Manifest, pod: Manifest) -> bool:
    """Whether an object was made for a pod, which is its controller."""
    owners = made["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == identity(pod) for owner in owners)


def containers(pod: Manifest) -> Iterable[Manifest]:
    return spec(pod).get("containers") or ()


def init_containers(pod: Manifest) -> Iterable[Manifest]:
    return spec(pod).get("initContainers") or ()


def is_sidecar(init_container: Manifest) -> bool:
    """A restartable init container: it is started in its turn, and then runs beside the others (KEP-753)."""
    return init_container.get("restartPolicy") == "Always"


def occupants(pods: Iterable[Manifest]) -> dict[str, list[Manifest]]:
    """Node name to the pods that hold resources and ports there.

    A pod occupies a node from when spec.nodeName is set until its phase is Succeeded or Failed. A
    deletion timestamp changes nothing: a terminating pod holds what it has until it is gone. The
    scheduler's own view is the same: its informer leaves out terminal phases, its cache takes what has a
    node name (pkg/scheduler/scheduler.go, newPodInformer; pkg/scheduler/eventhandlers.go, assignedPod).
    """
    result: dict[str, list[Manifest]] = {}
    for pod in pods:
        node = spec(pod).get("nodeName")
        if node and status(pod).get("phase") not in ("Succeeded", "Failed"):
            result.setdefault(node, []).append(pod)
    return result


def located(
    occupants: Mapping[str, Iterable[Manifest]], nodes: Mapping[str, Manifest]
) -> list[tuple[Manifest, Manifest]]:
    """Pods with the nodes that they are on. Where a node is gone, its pods are at no place."""
    return [(pod, nodes[name]) for name, pods in occupants.items() if name in nodes for pod in pods]
