"""Converts upstream's template files to manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from schedproof.benchmark.workloads.manifests import churned, node_template, other_object, pod_template
from schedproof.benchmark.workloads.operations import CreateObjects, Manifest
from schedproof.documents.model import Wrong, plain, refuse, shown
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.reading import raw
from schedproof.documents.yaml_source import read_document

_ROOM: Final = {"cpu": "4", "memory": "32Gi", "pods": "110"}
BASE_NODE: Final[Manifest] = node_template({"apiVersion": "v1", "kind": "Node", "status": {"capacity": _ROOM}})
"""Upstream's default node template (util.go, makeBaseNode)."""

_SMALL: Final = {"cpu": "100m", "memory": "500Mi"}
_PAUSE: Final = {
    "name": "pause", "image": "pause", "ports": [{"containerPort": 80}],
    "resources": {"limits": _SMALL, "requests": _SMALL},
}  # fmt: skip
BASE_POD: Final[Manifest] = pod_template({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [_PAUSE]}})
"""Upstream's default pod template (test/utils/runners.go, MakePodSpec)."""

_FREE_KEYS = ("labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "capacity", "allocatable")
_FIX = "run this case with upstream's own scheduler_perf"


class Templates:
    """Reads the template files of a case, by paths relative to the case's file, for a model of `documents.reading`.

    Upstream's apiserver runs without the admission plugin Priority, so that its pods may set `priority: 10`; other
    apiservers refuse that. A PriorityClass of that value has the same effect on any cluster.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._priorities: set[int] = set()

    def priority_classes(self) -> list[CreateObjects]:
        """Return the PriorityClasses that the templates read so far refer to."""
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        priorities = sorted(self._priorities)
        classes = tuple({**kind, "metadata": {"name": _class_of(value)}, "value": value} for value in priorities)
        return [CreateObjects(classes)] if classes else []

    def node(self, path: str) -> Manifest:
        return node_template(_unnamed(self._read(path, "Node"), keep_name=True))

    def pod(self, path: str) -> Manifest:
        return pod_template(self._with_class(_unnamed(self._read(path, "Pod"))))

    def namespace(self, path: str) -> Manifest:
        return self._read(path, "Namespace")

    def churned(self, path: str) -> Manifest:
        """Read a template of any kind, for churn."""
        manifest = _unnamed(self._read(path))
        return churned(self._with_class(manifest) if manifest.get("kind") == "Pod" else manifest)

    def single(self, path: str) -> Manifest:
        """Read a single object, named after its generateName if it has no name."""
        manifest = self._read(path)
        if str(manifest.get("apiVersion", "")).startswith("resource.k8s.io/"):
            message = f"dynamic resource allocation is not supported: found a {manifest.get('kind')}"
            refuse([Wrong("not-supported", message, _FIX)])
        metadata = dict(manifest.get("metadata") or {})
        prefix = metadata.pop("generateName", "")
        return other_object({**manifest, "metadata": {"name": f"{prefix}0", **metadata}})

    def _read(self, path: str, kind: str = "") -> dict[str, Any]:
        """Read a template without conversion. `kind`: the required kind; "" for any."""
        file = self._folder / path
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            message = f"{shown(path)} cannot be read: {error}"
            refuse([Wrong("unreadable-file", message, "write the path relative to this file")])
            raise
        if "{{" in text:
            message = "templates that differ between objects ({{...}}) are not supported"
            refuse([Wrong("not-supported", message, _FIX)])
        problems: list[Problem] = []
        try:
            found = plain(raw(read_document(file, problems)))
        except DescriptorError as error:
            refuse(error.problems)
            raise
        refuse(problems)
        if not isinstance(found, dict) or (kind and found.get("kind") != kind):
            message = f"expected one {kind or 'object'} in {shown(path)}"
            refuse([Wrong("invalid-manifest", message, "name another template")])
        spec = _as_go_reads(found.get("spec"))
        return {**found, "spec": spec} if spec else found

    def _with_class(self, manifest: dict[str, Any]) -> dict[str, Any]:
        spec = dict(manifest.get("spec") or {})
        priority = spec.pop("priority", None)
        if not isinstance(priority, int):
            return manifest
        self._priorities.add(priority)
        return {**manifest, "spec": {**spec, "priorityClassName": _class_of(priority)}}


def _unnamed(manifest: dict[str, Any], *, keep_name: bool = False) -> dict[str, Any]:
    """Remove generateName, and the name unless `keep_name`: pods may select a node by its name."""
    drop = ("generateName",) if keep_name else ("generateName", "name")
    metadata = {key: value for key, value in (manifest.get("metadata") or {}).items() if key not in drop}
    return {**manifest, "metadata": metadata}


def _class_of(priority: int) -> str:
    return f"workload-{priority}" if priority >= 0 else f"workload-minus-{-priority}"


def _as_go_reads(value: Any) -> Any:
    """Lower-case the first letter of field names: upstream writes `NodeAffinityPolicy`, which Go's decoder accepts and
    the API does not.
    """
    if isinstance(value, list):
        return [_as_go_reads(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name[:1].lower() + name[1:]: item if name in _FREE_KEYS else _as_go_reads(item) for name, item in value.items()
    }
