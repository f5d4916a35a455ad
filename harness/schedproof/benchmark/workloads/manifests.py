"""What a manifest in a workload must be, and what the harness leaves to no one else.

Both our own files and upstream's templates go through here, so that there is one form to create and to judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedproof.oracle.quantity import parse_quantity
from schedproof.oracle.resources import needed


class ManifestError(ValueError):
    """A manifest that cannot be taken. `fix` says what to do about it."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def pod_template(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A Pod without a name, a namespace, a scheduler and a node: those are the harness' to give."""
    _is_a(manifest, "Pod")
    metadata, spec = _mapping(manifest, "metadata"), _mapping(manifest, "spec")
    for field, found in (("metadata.name", metadata.get("name")), ("metadata.namespace", metadata.get("namespace"))):
        if found:
            raise ManifestError(f"{field} is given, but many pods are made from this template", "leave it out")
    for field in ("schedulerName", "nodeName"):
        if spec.get(field):
            raise ManifestError(f"spec.{field} is given, but the harness sets it", "leave it out")
    if spec.get("priority") is not None:
        raise ManifestError(
            "spec.priority is given, which the apiserver refuses where it does not follow from a class",
            "create a PriorityClass with createObjects, and name it in spec.priorityClassName",
        )
    if not spec.get("containers"):
        raise ManifestError("it has no containers", "spec: {containers: [{name: main, image: pause}]}")
    try:
        needed(manifest)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ManifestError(f"its requests cannot be read: {error}", "such as `requests: {cpu: 100m}`") from None
    return {**manifest, "metadata": metadata}


def node_template(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A Node; what it can allocate is its capacity, unless said otherwise, as the API has it (SetDefaults_NodeStatus).

    It is Ready, unless its conditions say otherwise.
    """
    _is_a(manifest, "Node")
    metadata, status = _mapping(manifest, "metadata"), _mapping(manifest, "status")
    offered = {**_mapping(status, "capacity"), **_mapping(status, "allocatable")}
    if "pods" not in offered:
        raise ManifestError(
            "status.capacity does not set the number of pods", 'status: {capacity: {cpu: "4", pods: "110"}}'
        )
    try:
        for quantity in offered.values():
            parse_quantity(quantity)
    except (ValueError, TypeError) as error:
        raise ManifestError(f"its capacity cannot be read: {error}", 'such as `cpu: "4"`') from None
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
    """Any object; unless not `named`, with the name that it will have."""
    for field in ("apiVersion", "kind"):
        if not isinstance(manifest.get(field), str) or not manifest[field]:
            raise ManifestError(f"it has no {field}", "write the object as for kubectl apply")
    metadata = _mapping(manifest, "metadata")
    if named and not metadata.get("name"):
        raise ManifestError("it has no metadata.name", "write the object as for kubectl apply")
    if not named and metadata.get("name"):
        raise ManifestError("metadata.name is given, but many objects are made from this template", "leave it out")
    return {**manifest, "metadata": metadata}


def _is_a(manifest: Mapping[str, Any], kind: str) -> None:
    found = manifest.get("apiVersion"), manifest.get("kind")
    if found != ("v1", kind):
        raise ManifestError(f"expected a {kind} of apiVersion v1, found {found[1]} of {found[0]}", f"kind: {kind}")


def _mapping(manifest: Mapping[str, Any], field: str) -> dict[str, Any]:
    found = manifest.get(field) or {}
    if not isinstance(found, dict):
        raise ManifestError(f"{field} is not a mapping", f"{field}: {{...}}")
    return found
