"""Cluster definitions, as in clusters/*.yaml."""

from __future__ import annotations

import dataclasses
import math
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kubernetes.utils.quantity import parse_quantity

from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.clusters.reported import ANNOTATIONS, images
from schedproof.daemons.scrape_defaults import Machine
from schedproof.documents.fields import Field, Section
from schedproof.documents.json_schema import API_VERSION
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.yaml_source import read_document
from schedproof.foundation.errors import UsageError

REAL_EXPORTERS = 16
"""The most nodes that each have a namespace and an exporter; in larger clusters all readings are pushed."""

MOST_NODES = 5_000
MOST_WORKERS = 16
SPEC_KEYS = ("kubernetes", "scrapeInterval", "device", "count", "node", "nodes")
KIND_KEYS = ("kubernetes", "scrapeInterval", "count", "node")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

NODE_KEYS = ("name", "capacity", "labels", "taints", "device")


SIMULATED_RUNTIME = "kwok"
"""The container runtime that is reported by nodes that run no containers."""
_KUBELET_PORT = 10250
_MACHINES = uuid.UUID("0d2a8f0a-6a53-4f0b-9a5e-7f6a1c0e5b11")

C = TypeVar("C")


@dataclasses.dataclass(frozen=True)
class NodeSpec:
    """A node: `capacity` is its allocatable resources, `device` its traffic interface."""

    name: str
    capacity: Mapping[str, str]
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    device: str = "eth0"
    annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def machine(self) -> Machine:
        """What an exporter on it reports."""
        return machine_of(_with_reservations(self.capacity))

    def manifest(self, address: str, version: str) -> dict[str, Any]:
        """Return the Node object as its kubelet registers and updates it, except conditions.

        Args:
            address: its InternalIP, which identifies its exporter.
            version: of the kubelet, for example `v1.36.3`.
        """
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {
                    # A label's value has at most 63 characters: kubelets truncate longer names as well.
                    "kubernetes.io/hostname": self.name[:63].rstrip("-."), "kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64", **self.labels,
                },
                "annotations": {**ANNOTATIONS, **self.annotations},
            },
            "spec": {"taints": [dict(taint) for taint in self.taints]} if self.taints else {},
            "status": {
                "capacity": _with_reservations(self.capacity),
                "allocatable": dict(self.capacity),
                "addresses": [
                    {"type": "InternalIP", "address": address}, {"type": "Hostname", "address": self.name},
                ],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": _KUBELET_PORT}},
                "nodeInfo": self._info(version),
                "features": {"supplementalGroupsPolicy": True},
                "declaredFeatures": list(_DECLARED),
                "images": list(images(self.name)),
            },
        }  # fmt: skip

    def _info(self, version: str) -> dict[str, str]:
        machine, boot = (str(uuid.uuid5(_MACHINES, f"{kind}/{self.name}")) for kind in ("machine", "boot"))
        return {
            "architecture": "amd64", "operatingSystem": "linux", "osImage": "Debian GNU/Linux 13 (trixie)",
            "kernelVersion": "6.1.0", "kubeletVersion": version, "containerRuntimeVersion": f"{SIMULATED_RUNTIME}://1.0.0",
            "machineID": machine.replace("-", ""), "systemUUID": machine, "bootID": boot,
            "kubeProxyVersion": "",  # kubelets leave it empty since Kubernetes 1.33
        }  # fmt: skip


_DECLARED = (
    "ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)  # fmt: skip
"""The features that a kubelet of Kubernetes 1.36 declares (k8s.io/component-helpers/nodedeclaredfeatures)."""


def machine_of(capacity: Mapping[str, str]) -> Machine:
    """Return the machine of a Node object with this capacity; what that does not say is as usual."""
    usual = Machine()
    cpus, memory, storage = (
        float(parse_quantity(capacity.get(resource, other)))  # type: ignore[no-untyped-call]
        for resource, other in (("cpu", usual.cpus), ("memory", usual.memory), ("ephemeral-storage", usual.storage))
    )
    return Machine(max(1, math.ceil(cpus)), memory, storage)


def _with_reservations(offered: Mapping[str, str]) -> dict[str, str]:
    """Return the capacity of a node that reserves half of it: a scheduler that uses capacity finds too much room."""
    return {
        resource: amount if resource == "pods" else str(2 * parse_quantity(amount))  # type: ignore[no-untyped-call]
        for resource, amount in offered.items()
    }


@dataclasses.dataclass(frozen=True)
class ClusterSpec:
    """A cluster to start. `scrape_interval` is in seconds."""

    kubernetes: str
    scrape_interval: float
    device: str
    nodes: tuple[NodeSpec, ...]
    template: NodeSpec
    """The specification of nodes that join later; {n} in the name stands for a number."""


@dataclasses.dataclass(frozen=True)
class KindSpec:
    """A kind cluster to create: one control plane, and `count` identical workers with `labels`.

    Without workers it has room for thousands of nodes that are only objects and do not renew Leases.
    `scrape_interval` is in seconds. `audited`: whether the apiserver writes an audit log.
    """

    kubernetes: str
    scrape_interval: float
    count: int
    labels: Mapping[str, str]
    audited: bool = True


def version(kubernetes: str) -> tuple[int, ...]:
    """A minor version of Kubernetes, such as 1.36, as numbers that can be compared."""
    return tuple(map(int, kubernetes.split(".")))


def load_spec(path: Path, *, count: int | None = None, kubernetes: str | None = None) -> ClusterSpec:
    """Read a cluster definition.

    Args:
        path: the file.
        count: a number of identical nodes, instead of the file's nodes.
        kubernetes: the minor version, instead of the file's.

    Raises:
        UsageError: lists all problems, each with its line, field and expected value.
    """
    return _Reader(path, "clusters/embedded.yaml", MOST_NODES).read(count, kubernetes)


def load_kind_spec(path: Path, *, count: int | None = None, kubernetes: str | None = None) -> KindSpec:
    """Read the definition of a kind cluster, as `load_spec`, but `count` is the number of workers.

    Raises:
        UsageError: lists all problems, each with its line, field and expected value.
    """
    return _Reader(path, "clusters/kind.yaml", MOST_WORKERS).read_kind(count, kubernetes)


class _Reader:
    """Reads a file, and reports all its problems together."""

    def __init__(self, path: Path, example: str, most: int) -> None:
        self._path, self._example, self._most = path, example, most
        self._problems: list[Problem] = []

    def read(self, count: int | None, kubernetes: str | None) -> ClusterSpec:
        section = self._spec(SPEC_KEYS, count)
        device = _as_written(section["device"], "eth0") if "device" in section else "eth0"
        plain = NodeSpec(
            "node-{n}", {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}, device=device
        )
        template = _node(section["node"], plain) if "node" in section else plain
        if "nodes" in section and count is None:
            nodes = self._listed(section["nodes"], template)
        else:
            nodes = tuple(_numbered(template, n) for n in range(1, self._count(section, count, 4) + 1))
        if section.sound and len({node.name for node in nodes}) != len(nodes):
            section.complain(
                "duplicate", "two nodes have the same name", "use unique names, or {n} for the node's number"
            )
        return self._whole(
            ClusterSpec(_kubernetes(section, kubernetes), _interval(section, 0.25), device, nodes, template)
        )

    def read_kind(self, count: int | None, kubernetes: str | None) -> KindSpec:
        section = self._spec(KIND_KEYS, count)
        labels: dict[str, str] = {}
        if "node" in section:
            node = section["node"].section("labels")
            labels = _labels(node)
        return self._whole(
            KindSpec(_kubernetes(section, kubernetes), _interval(section, 0.5), self._count(section, count, 3), labels)
        )

    def _spec(self, keys: Sequence[str], count: int | None) -> Section:
        if count is not None and not 1 <= count <= self._most:
            raise UsageError(
                f"--nodes {count}: expected 1 to {self._most}", remedy=f"for example --nodes {min(4, self._most)}"
            )
        if not self._path.is_file():
            raise UsageError(
                f"{self._path}: the cluster definition does not exist",
                remedy=f"give an existing file; {self._example} is a commented example",
            )
        document = read_document(self._path, self._problems)
        top = Field(self._problems, "", document.place, document).section("apiVersion", "kind", "metadata", "spec")
        top["apiVersion"].choice((API_VERSION,))
        top["kind"].choice(("Cluster",))
        top["metadata"].section("name")["name"].text("my-cluster")
        return top["spec"].section(*keys)

    def _whole(self, spec: C) -> C:
        if self._problems:
            raise DescriptorError(self._problems)
        return spec

    def _count(self, section: Section, count: int | None, default: int) -> int:
        if count is not None:
            return count
        return section["count"].integer(1, self._most, str(default)) if "count" in section else default

    def _listed(self, field: Field, template: NodeSpec) -> tuple[NodeSpec, ...]:
        items = field.items("[{name: node-1}]")
        if len(items) > self._most:
            field.complain("wrong-number", f"{len(items)} nodes: a cluster has 1 to {self._most}", "list fewer")
        return tuple(_node(item, _numbered(template, number)) for number, item in enumerate(items, 1))


def _kubernetes(section: Section, chosen: str | None) -> str:
    written = _as_written(section["kubernetes"], f'"{DEFAULT_KUBERNETES}"') if "kubernetes" in section else ""
    return chosen or written or DEFAULT_KUBERNETES


def _interval(section: Section, default: float) -> float:
    if "scrapeInterval" not in section:
        return default
    return section["scrapeInterval"].duration("250ms", minimum=0.001, units={"ms": 0.001, "s": 1.0})


def _node(field: Field, default: NodeSpec) -> NodeSpec:
    section = field.section(*NODE_KEYS)
    return dataclasses.replace(
        default,
        name=_as_written(section["name"], "node-{n}") if "name" in section else default.name,
        capacity={**default.capacity, **_texts(section, "capacity", '{cpu: "8"}')},
        labels={**default.labels, **_labels(section)},
        taints=tuple(_taint(item) for item in section["taints"].items("{key: a, effect: NoSchedule}", empty=True))
        if "taints" in section
        else default.taints,
        device=_as_written(section["device"], "eth0") if "device" in section else default.device,
    )


def _labels(section: Section) -> dict[str, str]:
    return _texts(section, "labels", "{disk: ssd}")


def _taint(field: Field) -> dict[str, str]:
    section = field.section("key", "value", "effect")
    value = {"value": _as_written(section["value"], '"yes"')} if "value" in section else {}
    return {"key": _as_written(section["key"], "reserved"), **value, "effect": section["effect"].choice(EFFECTS)}


def _texts(section: Section, name: str, example: str) -> dict[str, str]:
    fields = section[name].entries(example) if name in section else {}
    return {key: _as_written(value, "text", empty=True) for key, value in fields.items()}


def _as_written(field: Field, example: str, *, empty: bool = False) -> str:
    """Return a field's text: numbers and booleans as written, because labels and quantities are text in Kubernetes."""
    if isinstance(field.value.data, (bool, int, float)):
        return field.value.written
    return field.text(example, empty=empty)


def _numbered(template: NodeSpec, number: int) -> NodeSpec:
    return dataclasses.replace(template, name=template.name.replace("{n}", str(number)))
