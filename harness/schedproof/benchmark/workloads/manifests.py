"""Checks the manifests in a workload while it is read, and refuses fields that the harness sets itself.

Both schedproof's workloads and upstream's templates are checked here, so that later code handles a single form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedproof.documents.model import Wrong, refuse
from schedproof.oracle.quantity import parse_quantity
from schedproof.oracle.resources import needed


def pod_template(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Check a Pod template. It has no name, namespace, scheduler or node: the harness sets these."""
    _is_a(manifest, "Pod")
    metadata, spec = _mapping(manifest, "metadata"), _mapping(manifest, "spec")
    for field, found in (("metadata.name", metadata.get("name")), ("metadata.namespace", metadata.get("namespace"))):
        if found:
            _refuse(f"{field} is set, but many pods are created from this template", "leave it out")
    for field in ("schedulerName", "nodeName"):
        if spec.get(field):
            _refuse(f"spec.{field} is set, but the harness sets it itself", "leave it out")
    if spec.get("priority") is not None:
        _refuse(
            "spec.priority is set, which the apiserver refuses unless it follows from a PriorityClass",
            "create a PriorityClass with createObjects, and name it in spec.priorityClassName",
        )
    if not spec.get("containers"):
        _refuse("it has no containers", "spec: {containers: [{name: main, image: pause}]}")
    try:
        needed(manifest)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        _refuse(f"its requests cannot be read: {error}", "such as `requests: {cpu: 100m}`")
    return {**manifest, "metadata": metadata}


def node_template(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Check a Node template. `allocatable` defaults to `capacity`, as in the API (SetDefaults_NodeStatus).

    The node is Ready unless its conditions say otherwise.
    """
    _is_a(manifest, "Node")
    metadata, status = _mapping(manifest, "metadata"), _mapping(manifest, "status")
    offered = {**_mapping(status, "capacity"), **_mapping(status, "allocatable")}
    if "pods" not in offered:
        _refuse("status.capacity does not set the number of pods", 'status: {capacity: {cpu: "4", pods: "110"}}')
    try:
        for quantity in offered.values():
            parse_quantity(quantity)
    except (ValueError, TypeError) as error:
        _refuse(f"its capacity cannot be read: {error}", 'such as `cpu: "4"`')
    return {
        **manifest,
        "metadata": metadata,
        "spec": _mapping(manifest, "spec"),
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            **status,
            "capacity": status.get("capacity") or offered,
            "allocatable": offered,
        },
    }


def other_object(manifest: Mapping[str, Any], *, named: bool = True) -> dict[str, Any]:
    """Check an object of any other kind; it must have a name if `named`, and none otherwise."""
    for field in ("apiVersion", "kind"):
        if not isinstance(manifest.get(field), str) or not manifest[field]:
            _refuse(f"it has no {field}", "write the object as for kubectl apply")
    metadata = _mapping(manifest, "metadata")
    if named and not metadata.get("name"):
        _refuse("it has no metadata.name", "write the object as for kubectl apply")
    if not named and metadata.get("name"):
        _refuse("metadata.name is set, but many objects are created from this template", "leave it out")
    return {**manifest, "metadata": metadata}


def churned(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Check a template of any kind, without a name."""
    match manifest.get("kind"):
        case "Pod":
            return pod_template(manifest)
        case "Node":
            return node_template(manifest)
    return other_object(manifest, named=False)


def _refuse(message: str, fix: str) -> None:
    refuse([Wrong("invalid-manifest", message, fix)])


def _is_a(manifest: Mapping[str, Any], kind: str) -> None:
    found = manifest.get("apiVersion"), manifest.get("kind")
    if found != ("v1", kind):
        _refuse(f"expected a {kind} of apiVersion v1, found {found[1]} of {found[0]}", f"kind: {kind}")


def _mapping(manifest: Mapping[str, Any], field: str) -> dict[str, Any]:
    found = manifest.get(field) or {}
    if not isinstance(found, dict):
        _refuse(f"expected a mapping in {field}", f"{field}: {{...}}")
    return found
