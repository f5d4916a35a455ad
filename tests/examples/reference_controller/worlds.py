"""The modules of the reference controller, and small worlds for them."""

from __future__ import annotations

import itertools
from typing import Any

from schedproof.foundation.content import content

from ..loading import load

FOLDER = content("fixtures", "candidates", "least-traffic-controller")
Manifest = dict[str, Any]


modules = load(FOLDER)
_numbers = itertools.count(1)


def pod(name: str = "probe", *, node: str = "", namespace: str = "default", **more: Any) -> Manifest:
    """A pod for the scheduler `own`. `labels`, `requests`, `ports`, `status`, `deleted`, `uid`; the rest is spec."""
    number = next(_numbers)
    container: Manifest = {"name": "main", "resources": {"requests": more.pop("requests", {})}}
    container["ports"] = more.pop("ports", [])
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": more.pop("uid", f"{name}-{number}"),
        "labels": more.pop("labels", {}),
        "resourceVersion": str(number),
    }
    if more.pop("deleted", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = more.pop("status", {"phase": "Running" if node else "Pending"})
    spec = {"schedulerName": "own", "containers": [container], **({"nodeName": node} if node else {}), **more}
    return {"metadata": metadata, "spec": spec, "status": status}


def node(
    name: str, *, labels: dict[str, str] | None = None, offers: dict[str, str] | None = None, **spec: Any
) -> Manifest:
    """A node with 4 cpus, 8 GiB and room for 110 pods, unless `offers` changes that."""
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", **(offers or {})}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {"metadata": metadata, "spec": spec, "status": {"allocatable": allocatable}}


def namespace(name: str, **labels: str) -> Manifest:
    return {"metadata": {"name": name, "labels": labels}}


def world(nodes: list[Manifest], pods: list[Manifest] = [], namespaces: list[Manifest] = []) -> Any:  # noqa: B006
    result = modules.world.World()
    for kind, manifests in (("namespaces", namespaces), ("nodes", nodes), ("pods", pods)):
        for manifest in manifests:
            result.apply(update(kind, manifest))
    return result


def update(kind: str, manifest: Manifest, *, gone: bool = False) -> Any:
    return modules.watching.Update(kind, manifest, gone)


def feasible(candidate: Manifest, in_world: Any) -> set[str]:
    """The names of the nodes that the controller considers feasible for the pod."""
    objections = modules.feasibility.check(modules.pods.Pod(candidate), in_world)
    return {name for name, objection in objections.items() if not objection}


def required(*terms: Manifest) -> Manifest:
    """Required terms of pod affinity or anti-affinity."""
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def app(name: str) -> Manifest:
    """A selector of the pods with that app label."""
    return {"matchLabels": {"app": name}}
