"""Cluster definitions: what clusters/*.yaml says."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import yaml

from schedproof.foundation.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["REAL_EXPORTERS", "ClusterSpec", "KindSpec", "NodeSpec", "load_kind_spec", "load_spec"]

REAL_EXPORTERS = 16
"""Up to so many nodes each has a namespace and an exporter of its own; in larger clusters all readings are pushed."""

_MOST_NODES = 5_000
_MOST_WORKERS = 16
_SPEC_KEYS = ("kubernetes", "scrapeInterval", "device", "count", "node", "nodes")
_KIND_KEYS = ("kubernetes", "scrapeInterval", "count", "node")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_NODE_KEYS = ("name", "capacity", "labels", "taints", "device")


@dataclasses.dataclass(frozen=True)
class NodeSpec:
    """One node: `capacity` is also its allocatable; `device` its traffic interface."""

    name: str
    capacity: Mapping[str, str]
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    device: str = "eth0"

    def manifest(self, address: str) -> dict[str, Any]:
        """The Node object as it registers, with the address that the exporter is known by, if it has one."""
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {
                    "kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64", **self.labels,
                },
            },
            "spec": {"taints": [dict(taint) for taint in self.taints]} if self.taints else {},
            "status": {
                "capacity": dict(self.capacity),
                "allocatable": dict(self.capacity),
                "addresses": [
                    *([{"type": "InternalIP", "address": address}] if address else []),
                    {"type": "Hostname", "address": self.name},
                ],
            },
        }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ClusterSpec:
    """A cluster to start. `scrape_interval` is in seconds."""

    kubernetes: str
    scrape_interval: float
    device: str
    nodes: tuple[NodeSpec, ...]
    template: NodeSpec
    """What a node that joins later looks like; its name has {n} for a number."""


@dataclasses.dataclass(frozen=True)
class KindSpec:
    """A kind cluster to create: one control plane, and `count` identical workers that bear `labels`.

    Without workers it has room for thousands of nodes that are objects alone: nobody expects a sign of life of them.
    `scrape_interval` is in seconds. `audited`: whether the apiserver writes an audit log.
    """

    kubernetes: str
    scrape_interval: float
    count: int
    labels: Mapping[str, str]
    audited: bool = True


def load_spec(path: Path, *, count: int | None = None) -> ClusterSpec:
    """Read a cluster definition. `count`, if given, is the number of identical nodes instead of its own.

    Raises:
        UsageError: names the file, the field and what it should be.
    """
    return _Reader(path, "clusters/embedded.yaml", _MOST_NODES).read(count)


def load_kind_spec(path: Path, *, count: int | None = None) -> KindSpec:
    """Read the definition of a kind cluster. `count`, if given, is the number of workers instead of its own.

    Raises:
        UsageError: names the file, the field and what it should be.
    """
    return _Reader(path, "clusters/kind.yaml", _MOST_WORKERS).read_kind(count)


class _Reader:
    def __init__(self, path: Path, example: str, most: int) -> None:
        self._path, self._example, self._most = path, example, most

    def read_kind(self, count: int | None) -> KindSpec:
        spec = self._spec(_KIND_KEYS)
        node = self._mapping(spec.get("node") or {}, "spec.node", ("labels",))
        labels = self._mapping(node.get("labels") or {}, "spec.node.labels")
        return KindSpec(
            str(spec.get("kubernetes", "1.36")),
            self._interval(spec, "500ms"),
            self._count(spec, count, 3),
            {key: str(label) for key, label in labels.items()},
        )

    def _spec(self, keys: Sequence[str]) -> dict[str, Any]:
        try:
            document = yaml.safe_load(self._path.read_text())
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise self._wrong("the file", str(error)) from error
        spec = self._mapping(document, "the document", ("apiVersion", "kind", "metadata", "spec"))
        return self._mapping(spec.get("spec"), "spec", keys)

    def read(self, count: int | None) -> ClusterSpec:
        spec = self._spec(_SPEC_KEYS)
        device = str(spec.get("device", "eth0"))
        plain = NodeSpec("node-{n}", {"cpu": "8", "memory": "16Gi", "pods": "110"}, device=device)
        template = self._node(spec.get("node", {}), plain, "spec.node")
        if "nodes" in spec and count is None:
            nodes = self._listed(spec["nodes"], template)
        else:
            nodes = tuple(_numbered(template, n) for n in range(1, self._count(spec, count, 4) + 1))
        if len({node.name for node in nodes}) != len(nodes):
            raise self._wrong("spec.nodes", "two nodes have the same name")
        interval = self._interval(spec, "250ms")
        return ClusterSpec(str(spec.get("kubernetes", "1.36")), interval, device, nodes, template)

    def _wrong(self, field: str, problem: str) -> UsageError:
        return UsageError(f"{self._path}: {field}: {problem}", remedy=f"{self._example} is a commented example")

    def _mapping(self, value: Any, field: str, keys: Sequence[str] = ()) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(field, f"expected a mapping, found {value!r}")
        for key in value:
            if keys and key not in keys:
                raise self._wrong(f"{field}.{key}", f"no such field; there are {', '.join(keys)}")
        return value

    def _count(self, spec: dict[str, Any], count: int | None, default: int) -> int:
        wanted = spec.get("count", default) if count is None else count
        if count is not None and not 1 <= count <= self._most:
            raise UsageError(f"{count} nodes: a cluster has 1 to {self._most}", remedy="choose another --nodes")
        if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= self._most:
            raise self._wrong("spec.count", f"expected 1 to {self._most} nodes, found {wanted!r}")
        return wanted

    def _interval(self, spec: dict[str, Any], default: str) -> float:
        text = str(spec.get("scrapeInterval", default))
        found = re.fullmatch(r"([1-9][0-9]*)(ms|s)", text)
        if found is None:
            raise self._wrong("spec.scrapeInterval", f"expected a duration such as 250ms or 1s, found {text!r}")
        return int(found[1]) / (1000 if found[2] == "ms" else 1)

    def _listed(self, listed: Any, template: NodeSpec) -> tuple[NodeSpec, ...]:
        if not isinstance(listed, list) or not 1 <= len(listed) <= self._most:
            raise self._wrong("spec.nodes", f"expected a list of 1 to {self._most} nodes")
        return tuple(
            self._node(node, _numbered(template, n), f"spec.nodes[{n - 1}]") for n, node in enumerate(listed, 1)
        )

    def _node(self, value: Any, default: NodeSpec, field: str) -> NodeSpec:
        given = self._mapping(value, field, _NODE_KEYS)
        capacity = self._mapping(given.get("capacity") or {}, f"{field}.capacity")
        labels = self._mapping(given.get("labels") or {}, f"{field}.labels")
        taints = given.get("taints", default.taints) or ()
        if not isinstance(taints, (list, tuple)):
            raise self._wrong(f"{field}.taints", "expected a list of mappings with key, value and effect")
        for n, taint in enumerate(taints):
            self._mapping(taint, f"{field}.taints[{n}]", ("key", "value", "effect"))
            if taint.get("effect") not in _EFFECTS or not taint.get("key"):
                raise self._wrong(f"{field}.taints[{n}]", f"expected a key, and an effect out of {', '.join(_EFFECTS)}")
        return dataclasses.replace(
            default,
            name=str(given.get("name", default.name)),
            capacity={**default.capacity, **{key: str(amount) for key, amount in capacity.items()}},
            labels={**default.labels, **{key: str(label) for key, label in labels.items()}},
            taints=tuple(taints),
            device=str(given.get("device", default.device)),
        )


def _numbered(template: NodeSpec, number: int) -> NodeSpec:
    return dataclasses.replace(template, name=template.name.replace("{n}", str(number)))
