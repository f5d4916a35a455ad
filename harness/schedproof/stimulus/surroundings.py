"""Gives nodes, pods and namespaces what a candidate needs to schedule.

That is `spec.world` of its descriptor, and the extended resources that an extender manages, because kube-scheduler
calls an extender only for pods that request one of them.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import ExtenderSpec
from schedproof.clusters import bootstrap
from schedproof.clusters.api import Manifest, NotFound
from schedproof.clusters.cluster import Cluster
from schedproof.clusters.objects import AppliedObjects
from schedproof.clusters.spec import NodeSpec
from schedproof.documents.manifests import merged, read_manifests
from schedproof.oracle.quantity import parse_quantity
from schedproof.stimulus.variation import DEVICE, NODE_LABELS, STORAGE

_OFFERED = "1000"
"""Amount on each node: more than its number of pods, so that it keeps no pod of the suites off."""
_ASKED = "1"
_ENOUGH: Mapping[str, str] = MappingProxyType({DEVICE: _OFFERED, STORAGE: "50Gi"})
"""Amounts on each node that suffice for all varied pods which request them additionally."""


class Surroundings:
    """Gives nodes, pods and namespaces what the candidate needs; `remove` takes it back.

    `managed` is empty if the candidate manages no resource, and if nodes neither offer it nor may be changed: the
    extender is then not called, and the judge reports that.
    """

    def __init__(self, cluster: Cluster, candidate: Candidate) -> None:
        self._cluster = cluster
        self._world = candidate.world
        self._equipped: list[str] = []
        self._owners: dict[str, dict[str, str]] = {}
        self._objects = AppliedObjects(cluster.api, mine="foreign-objects" not in cluster.capabilities)
        spec = candidate.spec
        names = tuple(r.name for r in spec.config.managed_resources) if isinstance(spec, ExtenderSpec) else ()
        self.changes_nodes = "change-nodes" in cluster.capabilities
        """Whether nodes may be changed: then they have the labels that varied pods ask for (`NODE_LABELS`)."""
        self.managed = names if self.changes_nodes else tuple(filter(self._is_offered, names))
        device = {DEVICE: _OFFERED} if self.changes_nodes else {}
        self._amounts = {**device, **dict.fromkeys(self.managed, _OFFERED), **self._world.nodes.resources}
        self._labels = {**NODE_LABELS, **self._world.nodes.labels}

    def _is_offered(self, resource: str) -> bool:
        nodes = (self._cluster.api.get("nodes", name) for name in self._cluster.nodes)
        return all(resource in node["status"].get("allocatable", {}) for node in nodes)

    def namespace(self, name: str, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        """Create a namespace for pods, with these labels, unless it is there."""
        api, world = self._cluster.api, self._world
        bootstrap.namespace(api, name, labels)
        metadata = {"labels": dict(world.namespace.labels), "annotations": dict(world.namespace.annotations)}
        if any(metadata.values()):
            api.merge("namespaces", name, {"metadata": metadata})
        for path in world.namespace.objects:
            self._objects.apply(read_manifests(path), name, source=str(path))

    def owner(self, namespace: str) -> Mapping[str, str]:
        """Return the metav1.OwnerReference of a namespace, which outlives its pods."""
        if namespace not in self._owners:
            uid = self._cluster.api.get("namespaces", namespace)["metadata"]["uid"]
            self._owners[namespace] = {"apiVersion": "v1", "kind": "Namespace", "name": namespace, "uid": uid}
        return self._owners[namespace]

    def namespace_beside(self, namespace: str, name: str) -> str:
        """Create a further namespace for pods, named after `namespace`, and return its full name."""
        full_name = f"{namespace[:50]}-{name}"
        self.namespace(full_name)
        return full_name

    def equipped(self, node: NodeSpec) -> NodeSpec:
        """Return a node that is to join, complete from the start: a scheduler may read it only once."""
        world = self._world
        return dataclasses.replace(
            node,
            labels={**node.labels, **self._labels},
            annotations={**node.annotations, **world.nodes.annotations},
            capacity={**node.capacity, **self._amounts_of(node.name)},
        )

    def equip_nodes(self, nodes: Sequence[str]) -> dict[str, int]:
        """Give these nodes what the candidate needs, and return the new revision of each node that was changed."""
        if not self.changes_nodes:
            return {}
        self._equipped += nodes
        return {node: revision for node in nodes if (revision := self._equip(node))}

    def _equip(self, node: str) -> int:
        metadata = {"labels": dict(self._labels), "annotations": dict(self._world.nodes.annotations)}
        revision = _revision(self._cluster.api.merge("nodes", node, {"metadata": metadata}))
        return self._offer(node, self._amounts_of(node)) if self._amounts else revision

    def _amounts_of(self, node: str) -> dict[str, str]:
        """Return the amounts that a node offers; the number of devices differs from node to node."""
        unlike = {DEVICE: str(int(_OFFERED) + zlib.crc32(node.encode()) % 4000)} if DEVICE in self._amounts else {}
        return {**self._amounts, **unlike}

    @functools.cached_property
    def beside(self) -> frozenset[str]:
        """Resources that varied pods may request too, as all nodes offer enough. Read it after `equip_nodes`."""
        if not self.changes_nodes:
            return frozenset()
        nodes = self._cluster.api.list("nodes")["items"]
        offers = [node["status"]["allocatable"] for node in nodes if node["metadata"]["name"] in self._cluster.nodes]
        return frozenset(
            name
            for name, least in _ENOUGH.items()
            if all(parse_quantity(offer.get(name, "0")) >= parse_quantity(least) for offer in offers)
        )

    def _offer(self, node: str, amounts: Mapping[str, str | None]) -> int:
        patch = {"status": {"capacity": dict(amounts), "allocatable": dict(amounts)}}
        return _revision(self._cluster.api.merge("nodes", node, patch, subresource="status"))

    def remove(self) -> None:
        """Undo `equip_nodes` on the remaining nodes, and remove the objects from namespaces."""
        annotations = dict.fromkeys(self._world.nodes.annotations)
        metadata = {"labels": dict.fromkeys(self._labels), "annotations": annotations}
        while self._equipped:
            node = self._equipped.pop()
            with contextlib.suppress(NotFound):
                if self._amounts:
                    self._offer(node, dict.fromkeys(self._amounts))
                self._cluster.api.merge("nodes", node, {"metadata": metadata})
        self._objects.remove()

    def dress_pod(self, pod: Manifest, *, managed: bool = True) -> None:
        """Merge the candidate's pod template into a pod, whose own fields win. `managed`: request managed resources."""
        if template := self._world.pods.document():
            own = copy.deepcopy(pod)
            pod.clear()
            pod.update(merged(template, own))
        resources = pod["spec"]["containers"][0].setdefault("resources", {})
        for kind in ("requests", "limits") if managed and self.managed else ():
            # An extended resource's limit is its request.
            resources[kind] = {**resources.get(kind, {}), **dict.fromkeys(self.managed, _ASKED)}


def _revision(manifest: Manifest) -> int:
    return int(manifest["metadata"]["resourceVersion"])
