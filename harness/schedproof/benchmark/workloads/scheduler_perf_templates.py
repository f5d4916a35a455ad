"""Converts upstream's template files to manifests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from schedproof.benchmark.workloads.manifests import ManifestError, node_template, other_object, pod_template
from schedproof.benchmark.workloads.operations import CreateObjects, Manifest
from schedproof.documents.fields import Field, shown
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.yaml_source import read_document

_ROOM: Final = {"cpu": "4", "memory": "32Gi", "pods": "110"}
BASE_NODE: Final[Manifest] = node_template({"apiVersion": "v1", "kind": "Node", "status": {"capacity": _ROOM}})
"""Upstream's default node template (util.go, makeBaseNode)."""

_SMALL: Final = {"cpu": "100m", "memory": "500Mi"}
BASE_POD: Final[Manifest] = pod_template(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "containers": [
                {
                    "name": "pause",
                    "image": "pause",
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": _SMALL, "requests": _SMALL},
                }
            ]
        },
    }
)
"""Upstream's default pod template (test/utils/runners.go, MakePodSpec)."""

_FREE_KEYS = ("labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "capacity", "allocatable")
_FIX = "run this case with upstream's own scheduler_perf"


class Templates:
    """Reads the template files of a case, relative to the case's file; reports problems at the field with the path.

    Upstream's apiserver runs without the admission plugin Priority, so that its pods may set `priority: 10`; other
    apiservers refuse that. A PriorityClass of that value has the same effect on any cluster.
    """

    def __init__(self, folder: Path, problems: list[Problem]) -> None:
        self._folder, self._problems = folder, problems
        self._priorities: set[int] = set()

    def priority_classes(self) -> list[CreateObjects]:
        """Return the PriorityClasses that the templates read so far refer to."""
        return [
            CreateObjects(
                tuple(
                    {
                        "apiVersion": "scheduling.k8s.io/v1",
                        "kind": "PriorityClass",
                        "metadata": {"name": _class_of(priority)},
                        "value": priority,
                    }
                    for priority in sorted(self._priorities)
                )
            )
        ] if self._priorities else []  # fmt: skip

    def node(self, path: Field) -> Manifest:
        return self._checked(path, self._unnamed(self.plain(path, "Node"), keep_name=True), node_template)

    def pod(self, path: Field) -> Manifest:
        return self._checked(path, self._with_class(self._unnamed(self.plain(path, "Pod"))), pod_template)

    def churned(self, path: Field) -> Manifest:
        """Read a template of any kind, for churn."""
        manifest = self._unnamed(self.plain(path, ""))
        match manifest.get("kind"):
            case "Pod":
                return self._checked(path, self._with_class(manifest), pod_template)
            case "Node":
                return self._checked(path, manifest, node_template)
        return self._checked(path, manifest, lambda other: other_object(other, named=False))

    def named(self, path: Field, namespace: str) -> Manifest:
        """Read a single object, named after its generateName if it has no name; empty if it is refused."""
        manifest = self.plain(path, "")
        if not manifest:
            return manifest
        if str(manifest.get("apiVersion", "")).startswith("resource.k8s.io/"):
            path.complain(
                "not-supported", f"dynamic resource allocation is not supported: found a {manifest.get('kind')}", _FIX
            )
            return {}
        metadata = dict(manifest.get("metadata") or {})
        prefix = metadata.pop("generateName", "")
        own = {"name": f"{prefix}0", **metadata, **({"namespace": namespace} if namespace else {})}
        return self._checked(path, {**manifest, "metadata": own}, other_object)

    def plain(self, path: Field, kind: str) -> dict[str, Any]:
        """Read a template without conversion; empty if it is invalid. `kind`: the required kind; "" for any."""
        name = path.text("../templates/pod-default.yaml")
        if not name:
            return {}
        file = self._folder / name
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            path.complain(
                "unreadable-file",
                f"{shown(name)} cannot be read: {error}",
                "write the path relative to this file",
            )
            return {}
        if "{{" in text:
            path.complain("not-supported", "templates that differ between objects ({{...}}) are not supported", _FIX)
            return {}
        problems: list[Problem] = []
        try:
            document = read_document(file, problems)
        except DescriptorError as error:
            problems += error.problems
        if problems:
            self._problems += problems
            return {}
        found = Field(problems, "", document.place, document).plain()
        if not isinstance(found, dict) or (kind and found.get("kind") != kind):
            path.complain(
                "invalid-manifest", f"expected one {kind or 'object'} in {shown(name)}", "name another template"
            )
            return {}
        spec = _as_go_reads(found.get("spec"))
        return {**found, "spec": spec} if spec else found

    def _unnamed(self, manifest: dict[str, Any], *, keep_name: bool = False) -> dict[str, Any]:
        """Remove generateName, and the name unless `keep_name`: pods may select a node by its name."""
        drop = ("generateName",) if keep_name else ("generateName", "name")
        metadata = {key: value for key, value in (manifest.get("metadata") or {}).items() if key not in drop}
        return {**manifest, "metadata": metadata} if manifest else manifest

    def _with_class(self, manifest: dict[str, Any]) -> dict[str, Any]:
        spec = dict(manifest.get("spec") or {})
        priority = spec.pop("priority", None)
        if not isinstance(priority, int):
            return manifest
        self._priorities.add(priority)
        return {**manifest, "spec": {**spec, "priorityClassName": _class_of(priority)}}

    def _checked(self, path: Field, manifest: dict[str, Any], check: Callable[[dict[str, Any]], Manifest]) -> Manifest:
        if not manifest:
            return manifest
        try:
            return check(manifest)
        except ManifestError as error:
            path.complain("invalid-manifest", str(error), error.fix)
            return manifest


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
