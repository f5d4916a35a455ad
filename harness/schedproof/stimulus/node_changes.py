"""Changes of nodes, each of which can be undone."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from schedproof.foundation.deadlines import NODE_READY, OBJECT_GONE
from schedproof.foundation.waiting import NotYet, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schedproof.clusters.api import Manifest
    from schedproof.clusters.cluster import Cluster

__all__ = ["GENERATION", "NodeChanges"]

GENERATION = "schedproof.dev/generation"
"""A label by whose value it is shown which state of the nodes somebody has seen. It is never taken back."""

_CORDONED = "node.kubernetes.io/unschedulable"
_NOT_READY = "node.kubernetes.io/not-ready"


class NodeChanges:
    """What was done to the nodes of a cluster. `undo` makes them what they were."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._api = cluster.api
        self._restore: dict[str, Manifest] = {}
        self._added: list[str] = []
        self._absent: dict[str, Manifest] = {}
        self._idle: list[str] = []

    def _node(self, name: str) -> Manifest:
        return self._api.get("nodes", name)

    def change_node(
        self,
        node: str,
        *,
        taints: Sequence[Mapping[str, str]] | None = None,
        labels: Mapping[str, str] | None = None,
        unschedulable: bool | None = None,
    ) -> None:
        """Replace taints, add labels, cordon. Call `settle` once all changes are made."""
        self._restore.setdefault(node, self._node(node))
        patch: Manifest = {}
        if labels is not None:
            patch["metadata"] = {"labels": dict(labels)}
        if taints is not None:
            patch.setdefault("spec", {})["taints"] = [dict(taint) for taint in taints]
        if unschedulable is not None:
            patch.setdefault("spec", {})["unschedulable"] = unschedulable
        self._api.merge("nodes", node, patch)
        if unschedulable:
            # The node controller answers with a taint; until then the world is not what it is going to be.
            self._await_taints(node, lambda keys: _CORDONED in keys)

    def _await_taints(self, node: str, wanted: Callable[[set[str]], bool]) -> None:
        def probe() -> None:
            keys = {taint["key"] for taint in self._node(node)["spec"].get("taints", ())}
            if not wanted(keys):
                raise NotYet(f"taints {sorted(keys)}")

        wait_for(probe, NODE_READY, what=f"the node controller to taint {node} as it should")

    def add_node(self, name: str, **capacity: str) -> None:
        """Let a node join, like the others but for `capacity`."""
        template = self._cluster.node_template
        self._added.append(name)
        self._cluster.add_node(name, like=dataclasses.replace(template, capacity={**template.capacity, **capacity}))

    def add_idle_nodes(self, count: int) -> list[str]:
        """Let nodes join that exist in the API only, with no device and no exporter; their names.

        Needs the capability `idle-nodes`.
        """
        like = self._node(self._cluster.nodes[0])
        names = [f"node-idle-{number}" for number in range(count)]
        for name in names:
            labels = {**like["metadata"]["labels"], "kubernetes.io/hostname": name}
            labels.pop(GENERATION, None)
            self._api.create("nodes", {**like, "metadata": {"name": name, "labels": labels}})
            self._idle.append(name)
        for name in names:
            self._await_taints(name, lambda keys: _NOT_READY not in keys)
        return names

    def remove_all_nodes(self) -> None:
        """Take all nodes away. `rejoin` gives one back; what is still missing at the end comes back by itself."""
        for node in self._api.list("nodes")["items"]:
            metadata = {key: node["metadata"].get(key) for key in ("name", "labels", "annotations")}
            self._absent[node["metadata"]["name"]] = {**node, "metadata": metadata}
        for name in self._absent:
            self._api.delete("nodes", name)

        def gone() -> None:
            if left := [node["metadata"]["name"] for node in self._api.list("nodes")["items"]]:
                raise NotYet(f"there are {', '.join(left)}")

        wait_for(gone, OBJECT_GONE, what="all nodes to go")

    def rejoin(self, name: str) -> None:
        """Let a node that was taken away join again, as it was."""
        self._api.create("nodes", self._absent.pop(name))
        self._await_taints(name, lambda keys: _NOT_READY not in keys)

    def undo(self) -> bool:
        """Change back what was changed; whether anything was."""
        changed = bool(self._restore or self._added or self._absent or self._idle)
        for name in list(self._absent):
            self.rejoin(name)
        while self._idle:
            self._api.delete("nodes", self._idle.pop())
        while self._added:
            self._cluster.remove_node(self._added.pop())
        while self._restore:
            name, before = self._restore.popitem()
            labels = before["metadata"]["labels"]
            gone = self._node(name)["metadata"]["labels"].keys() - labels.keys() - {GENERATION}
            spec = {key: before["spec"].get(key) for key in ("taints", "unschedulable")}
            self._api.merge("nodes", name, {"metadata": {"labels": dict.fromkeys(gone)}, "spec": spec})
            self._await_taints(name, lambda keys: _CORDONED not in keys)
        return changed
