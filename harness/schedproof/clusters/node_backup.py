"""Records the original state of an existing cluster's nodes in an annotation, so that any run can restore it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schedproof.clusters.api import Api, Manifest
from schedproof.clusters.run_lease import RunLease
from schedproof.foundation.errors import UsageError

if TYPE_CHECKING:
    from kubernetes.client.rest import RESTResponse

NOTE = "schedproof.dev/before"
"""An annotation: the changed fields of a node with their original values, as JSON."""

_CONTROLLED = "node.kubernetes.io/"
"""The prefix of taints that node controllers set and remove; restoring a node keeps the current ones."""
_FIELDS = ("taints", "unschedulable")


def note(node: Manifest, patch: Manifest) -> dict[str, Any]:
    """Return the annotation for a node after this patch is applied. Recorded values stay."""
    noted: dict[str, Any] = json.loads((node["metadata"].get("annotations") or {}).get(NOTE, "{}"))
    labels = node["metadata"].get("labels") or {}
    changed = (patch.get("metadata") or {}).get("labels") or {}
    if before := {key: labels.get(key) for key in changed} | noted.get("labels", {}):
        noted["labels"] = before
    for field in _FIELDS:
        if field in (patch.get("spec") or {}):
            noted.setdefault(field, node["spec"].get(field))
    return noted


def restoring(node: Manifest) -> Manifest | None:
    """Return the patch that restores a node by its annotation; None if it has none."""
    text = (node["metadata"].get("annotations") or {}).get(NOTE)
    if text is None:
        return None
    noted = json.loads(text)
    spec = {field: noted[field] for field in _FIELDS if field in noted}
    if "taints" in spec:
        own = [taint for taint in spec["taints"] or () if not taint["key"].startswith(_CONTROLLED)]
        now = [taint for taint in node["spec"].get("taints") or () if taint["key"].startswith(_CONTROLLED)]
        spec["taints"] = [*own, *now] or None
    return {"metadata": {"labels": noted.get("labels", {}), "annotations": {NOTE: None}}, "spec": spec}


class NotingApi(Api):
    """An `Api` that records the original state of nodes that it changes; if `nodes` is False, it refuses to change
    them.
    """

    nodes = False
    """Whether nodes may be changed."""
    lease: RunLease | None = None
    """Without it, nothing is written any more."""

    def _call(self, verb: str, path: str, body: Any = None, **options: Any) -> RESTResponse:
        if self.lease is not None and verb != "GET":
            self.lease.require()
        return super()._call(verb, path, body, **options)

    def create(self, resource: str, body: Manifest, namespace: str = "") -> Manifest:
        self._require(resource)
        return super().create(resource, body, namespace)

    def delete(self, resource: str, name: str, namespace: str = "", *, uid: str = "", grace: int = 0) -> None:
        self._require(resource)
        super().delete(resource, name, namespace, uid=uid, grace=grace)

    def merge(self, resource: str, name: str, patch: Manifest, namespace: str = "", subresource: str = "") -> Manifest:
        if resource == "nodes":
            self._require(resource)
            noted = json.dumps(note(self.get("nodes", name), patch), separators=(",", ":"))
            metadata = patch.get("metadata") or {}
            # In the same write, so that every change is recorded.
            annotations = {**(metadata.get("annotations") or {}), NOTE: noted}
            patch = {**patch, "metadata": {**metadata, "annotations": annotations}}
        return super().merge(resource, name, patch, namespace, subresource)

    def _require(self, resource: str) -> None:
        if resource == "nodes" and not self.nodes:
            raise UsageError(
                "changes to this cluster's nodes are not allowed", remedy="allow them with --allow-node-changes"
            )
