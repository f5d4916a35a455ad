"""Cluster definitions, as in clusters/*.yaml."""

from __future__ import annotations

import dataclasses
import math
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from kubernetes.utils.quantity import parse_quantity
from pydantic import Field

from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.clusters.reported import ANNOTATIONS, images
from schedproof.daemons.scrape_defaults import Machine
from schedproof.documents.json_schema import DRAFT, Schema, schema_of
from schedproof.documents.model import (
    AnyText,
    AsWritten,
    Camel,
    Duration,
    File,
    Flag,
    Listed,
    Mapped,
    Such,
    Text,
    Whole,
    Wrong,
    rule,
)
from schedproof.documents.problems import DescriptorError, Problem
from schedproof.documents.reading import dump, located, read
from schedproof.documents.yaml_source import Value, read_document
from schedproof.foundation.errors import UsageError

REAL_EXPORTERS = 16
"""The most nodes that each have a namespace and an exporter; in larger clusters all readings are pushed."""

MOST_NODES = 5_000
MOST_WORKERS = 16
SIMULATED_RUNTIME = "kwok"
"""The container runtime that is reported by nodes that run no containers."""
_KUBELET_PORT = 10250
_MACHINES = uuid.UUID("0d2a8f0a-6a53-4f0b-9a5e-7f6a1c0e5b11")


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
    feature_gates: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Of all of Kubernetes' programs, where they differ from the defaults."""
    apis: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """By group and version: whether kube-apiserver serves it, where that differs from the default."""


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


def minor_version(patch: str) -> str:
    """Return `1.36` for `v1.36.3-vendor.100`."""
    found = re.match(r"v(\d+\.\d+)", patch)
    return found[1] if found else patch


def version(kubernetes: str) -> tuple[int, ...]:
    """A minor version of Kubernetes, such as 1.36, as numbers that can be compared."""
    return tuple(map(int, kubernetes.split(".")))


_Scalar = Annotated[Text, AsWritten()]
_Switches = Mapping[str, Flag]
_Scalars = Annotated[Mapping[str, Annotated[AnyText, Such("text")]], AsWritten()]


@dataclasses.dataclass(frozen=True)
class Taint(Mapped):
    key: Annotated[_Scalar, Such("reserved")]
    """its key"""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """its effect"""
    value: Annotated[_Scalar, Such('"yes"')] | None = None
    """its value"""


@dataclasses.dataclass(frozen=True)
class NodeFields(Mapped):
    """A node in a file: the differences from another one."""

    name: Annotated[_Scalar, Such("node-{n}")] | None = None
    """`{n}` stands for the node's number; `node-{n}` if absent"""
    capacity: Annotated[_Scalars, Such('{cpu: "8"}')] = dataclasses.field(default_factory=dict)
    """quantities of resources, such as `cpu` and `memory`, in the API's notation"""
    labels: Annotated[_Scalars, Such("{disk: ssd}")] = dataclasses.field(default_factory=dict)
    """labels of the node"""
    taints: Annotated[tuple[Taint, ...], Such("{key: a, effect: NoSchedule}")] | None = None
    """taints of the node"""
    device: Annotated[_Scalar, Such("eth0")] | None = None
    """its traffic interface"""

    def of(self, node: NodeSpec) -> NodeSpec:
        """The node with these differences."""
        taints = node.taints if self.taints is None else tuple(dump(taint, exclude_none=True) for taint in self.taints)
        return dataclasses.replace(
            node, name=self.name or node.name, capacity={**node.capacity, **self.capacity},
            labels={**node.labels, **self.labels}, taints=taints, device=self.device or node.device,
        )  # fmt: skip


_Interval = Annotated[float, Duration("250ms", minimum=0.001, units=MappingProxyType({"ms": 0.001, "s": 1.0}))]


@dataclasses.dataclass(frozen=True)
class Settings(Camel):
    """The `spec` of an embedded cluster."""

    kubernetes: Annotated[_Scalar, Such(f'"{DEFAULT_KUBERNETES}"')] = DEFAULT_KUBERNETES
    """the minor version of Kubernetes"""
    scrape_interval: _Interval | None = None
    """how often Prometheus scrapes: 250ms, or on kind 500ms, if absent"""
    device: Annotated[_Scalar, Such("eth0")] = "eth0"
    """embedded: the traffic interface inside each node"""
    count: Annotated[Whole, Field(ge=1, le=MOST_NODES), Such("4")] | None = None
    """the number of nodes like `node`: 4, or on kind 3, if absent"""
    node: NodeFields = dataclasses.field(default_factory=NodeFields)
    """the properties of nodes; on kind only `labels`"""
    nodes: Annotated[Listed[NodeFields], Such("[{name: node-1}]")] = ()
    """embedded: the nodes, each with its differences from `node`; excludes `count`"""
    feature_gates: Annotated[_Switches, Such("{GenericWorkload: true}")] = dataclasses.field(default_factory=dict)
    """embedded: feature gates of kube-apiserver, kube-controller-manager and every kube-scheduler, that of the
    candidate too
    """
    runtime_config: Annotated[_Switches, Such('{"scheduling.k8s.io/v1beta1": true}')] = dataclasses.field(
        default_factory=dict
    )
    """embedded: APIs that kube-apiserver serves or not, against its default (its flag `--runtime-config`)"""

    @rule
    def _so_many(self, _: object) -> Iterator[Wrong]:
        if len(self.nodes) > MOST_NODES:
            message = f"{len(self.nodes)} nodes: a cluster has 1 to {MOST_NODES}"
            yield Wrong("wrong-number", message, "list fewer", ("nodes",))


@dataclasses.dataclass(frozen=True)
class LabelsAlone(Mapped):
    labels: Annotated[_Scalars, Such("{disk: ssd}")] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class KindSettings(Camel):
    """The `spec` of a kind cluster."""

    kubernetes: Annotated[_Scalar, Such(f'"{DEFAULT_KUBERNETES}"')] = DEFAULT_KUBERNETES
    scrape_interval: _Interval = 0.5
    count: Annotated[Whole, Field(ge=1, le=MOST_WORKERS), Such("3")] = 3
    node: LabelsAlone = dataclasses.field(default_factory=LabelsAlone)


@dataclasses.dataclass(frozen=True)
class Metadata(Mapped):
    name: Annotated[_Scalar, Such("my-cluster")]
    """the definition's name"""


@dataclasses.dataclass(frozen=True)
class ClusterFile(File):
    """The cluster in which candidates are tested."""

    kind: Literal["Cluster"]
    """what the file describes"""
    metadata: Metadata
    spec: Annotated[Settings, Such("{kubernetes: ...}")]


@dataclasses.dataclass(frozen=True)
class KindFile(File):
    """A kind cluster in which candidates are tested."""

    kind: Literal["Cluster"]
    metadata: Metadata
    spec: Annotated[KindSettings, Such("{kubernetes: ...}")]


def cluster_schema() -> Schema:
    """The JSON Schema of both kinds' definitions."""
    return {"$schema": DRAFT, **schema_of(ClusterFile), "title": "Cluster (schedproof/v1)"}


def load_spec(path: Path, *, count: int | None = None, kubernetes: str | None = None) -> ClusterSpec:
    """Read a cluster definition.

    Args:
        path: the file.
        count: a number of identical nodes, instead of the file's nodes.
        kubernetes: the minor version, instead of the file's.

    Raises:
        UsageError: lists all problems, each with its line, field and expected value.
    """
    document, spec = _read(ClusterFile, path, "clusters/embedded.yaml", count, MOST_NODES)
    settings = spec.spec
    plain = NodeSpec(
        "node-{n}", {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}, device=settings.device
    )
    template = settings.node.of(plain)
    if settings.nodes and count is None:
        nodes = tuple(node.of(_numbered(template, number)) for number, node in enumerate(settings.nodes, 1))
    else:
        nodes = tuple(_numbered(template, number) for number in range(1, (count or settings.count or 4) + 1))
    if len({node.name for node in nodes}) != len(nodes):
        fix = "use unique names, or {n} for the node's number"
        raise DescriptorError([located(document, Wrong("duplicate", "two nodes have the same name", fix, ("spec",)))])
    interval = settings.scrape_interval or 0.25
    return ClusterSpec(
        kubernetes or settings.kubernetes, interval, settings.device, nodes, template, settings.feature_gates,
        settings.runtime_config,
    )  # fmt: skip


def load_kind_spec(path: Path, *, count: int | None = None, kubernetes: str | None = None) -> KindSpec:
    """Read the definition of a kind cluster, as `load_spec`, but `count` is the number of workers.

    Raises:
        UsageError: lists all problems, each with its line, field and expected value.
    """
    _, spec = _read(KindFile, path, "clusters/kind.yaml", count, MOST_WORKERS)
    settings = spec.spec
    return KindSpec(
        kubernetes or settings.kubernetes, settings.scrape_interval, count or settings.count, settings.node.labels
    )


F = TypeVar("F", ClusterFile, KindFile)


def _read(model: type[F], path: Path, example: str, count: int | None, most: int) -> tuple[Value, F]:
    if count is not None and not 1 <= count <= most:
        raise UsageError(f"--nodes {count}: expected 1 to {most}", remedy=f"for example --nodes {min(4, most)}")
    if not path.is_file():
        raise UsageError(
            f"{path}: the cluster definition does not exist",
            remedy=f"give an existing file; {example} is a commented example",
        )
    problems: list[Problem] = []
    document = read_document(path, problems)
    return document, read(model, document, problems, context=path)


def _numbered(template: NodeSpec, number: int) -> NodeSpec:
    return dataclasses.replace(template, name=template.name.replace("{n}", str(number)))
