"""Changes of nodes, each of which can be undone."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import TYPE_CHECKING

from schedproof.clusters.nodes import is_ready
from schedproof.foundation.deadlines import NODE_READY, OBJECT_GONE
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.stimulus.reserved import CORDONED, GENERATION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from schedproof.clusters.api import Manifest
    from schedproof.stimulus.trial import Trial

__all__ = ["LOOKALIKES", "UNUSUAL_NAMES", "NodeChanges"]


LOOKALIKES: Mapping[str, str] = MappingProxyType(
    {"alike-1": "198.51.100.1", "alike-11": "198.51.100.11", "alike-1.zone": "198.51.100.111"}
)
"""Nodes and addresses (of TEST-NET-2, RFC 5737) of which one is how the others begin."""
_LONGEST = 253
"""Characters of a node's name: a DNS subdomain (RFC 1123)."""
UNUSUAL_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "v1.zone": "198.51.100.2", "v1-zone": "198.51.100.22", "v1xzone": "198.51.100.222",
        **{"long.".ljust(_LONGEST - 1, "n") + end: f"198.51.100.{3 + n}" for n, end in enumerate("ab")},
    }
)  # fmt: skip
"""Nodes and addresses: one is a regular expression that matches others whole, and two differ at their ends only."""


class NodeChanges:
    """What was done to the nodes of a cluster. `undo` makes them what they were."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._cluster = trial.cluster
        self._api = trial.cluster.api
        self._recorder = trial.recorder
        self._restore: dict[str, Manifest] = {}
        self._added: list[str] = []
        self._absent: dict[str, Manifest] = {}

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
        self._merge(node, patch, cordoned=unschedulable)

    def _merge(self, node: str, patch: Manifest, *, cordoned: bool | None = None) -> None:
        """Returns when the change is on record: what follows must not come before it there.

        Where it was `cordoned` or not, the node controller answers with a taint, or takes it away; until then the
        world is not what it is going to be.
        """
        version = int(self._api.merge("nodes", node, patch)["metadata"]["resourceVersion"])

        def wanted(seen: Manifest) -> bool:
            settled = cordoned is None or (CORDONED in _taints(seen)) == cordoned
            return settled and int(seen["metadata"]["resourceVersion"]) >= version

        self._await_recorded(node, wanted)

    def _await_recorded(self, node: str, wanted: Callable[[Manifest], bool]) -> None:
        def probe() -> None:
            self._recorder.check()
            seen = self._recorder.nodes.get(node)
            if seen is None or not wanted(seen):
                raise NotYet("there is no such node" if seen is None else f"its taints are {sorted(_taints(seen))}")

        wait_for(probe, NODE_READY, what=f"node {node} to be as it should", wake=self._recorder.changed)

    def _await_gone(self, nodes: Collection[str]) -> None:
        def probe() -> None:
            self._recorder.check()
            if left := sorted(self._recorder.nodes.keys() & set(nodes)):
                raise NotYet(f"there are {', '.join(left)}")

        wait_for(probe, OBJECT_GONE, what="nodes to go", wake=self._recorder.changed)

    def add_node(self, name: str, **capacity: str) -> None:
        """Let a node join, like the others but for `capacity`."""
        template = self._cluster.node_template
        self._added.append(name)
        self._cluster.add_node(name, like=dataclasses.replace(template, capacity={**template.capacity, **capacity}))
        self._await_recorded(name, is_ready)
        self._dress([name])

    def remove_node(self, name: str) -> None:
        """Let a node leave that joined by `add_node`."""
        self._added.remove(name)
        self._restore.pop(name, None)
        self._cluster.remove_node(name)
        self._await_gone([name])

    def resize_node(self, name: str, **allocatable: str) -> None:
        """Have a node that joined offer another amount of resources, as after its kubelet was given reservations."""
        patch = {"status": {"allocatable": allocatable}}
        version = int(self._api.merge("nodes", name, patch, subresource="status")["metadata"]["resourceVersion"])
        self._await_recorded(name, lambda seen: int(seen["metadata"]["resourceVersion"]) >= version)

    def recreate_node(self, name: str, *, labels: Mapping[str, str], **capacity: str) -> None:
        """Delete the Node object of one that joined, and create another one of its name at once.

        It has no taints of the first one's, those of its labels that Kubernetes knows, and what is given here.
        """
        node = self._node(name)
        known = {key: value for key, value in node["metadata"]["labels"].items() if "kubernetes.io/" in key}
        metadata = {"name": name, "labels": {**known, **labels}}
        metadata["annotations"] = node["metadata"].get("annotations")
        status = {key: {**node["status"][key], **capacity} for key in ("capacity", "allocatable")}
        again = {**node, "metadata": metadata, "spec": {}, "status": {**node["status"], **status}}
        self._api.delete("nodes", name)
        uid = self._api.create("nodes", again)["metadata"]["uid"]
        self._await_recorded(name, lambda seen: seen["metadata"]["uid"] == uid and is_ready(seen))
        self._dress([name])

    def add_idle_nodes(self, count: int) -> list[str]:
        """Let nodes join that exist in the API only, with no device and no exporter; their names.

        Needs the capability `idle-nodes`.
        """
        names = [f"node-idle-{number}" for number in range(count)]
        self._added += names
        self._cluster.add_idle_nodes(names)
        for name in names:
            self._await_recorded(name, is_ready)
        self._dress(names)
        return names

    def add_named(self, addresses: Mapping[str, str]) -> list[str]:
        """Let idle nodes of these names and addresses join; their names. Needs the capability `idle-nodes`."""
        names = list(addresses)
        self._added += names
        self._cluster.add_idle_nodes(names, addresses)
        for name in names:
            self._await_recorded(name, is_ready)
        self._dress(names)
        return names

    def _dress(self, nodes: Sequence[str]) -> None:
        """Give nodes that joined what those of the cluster have been given for the candidate."""
        for node, version in self.trial.surroundings.dress_nodes(nodes).items():
            self._await_version(node, version)

    def _await_version(self, node: str, version: int) -> None:
        self._await_recorded(node, lambda seen: int(seen["metadata"]["resourceVersion"]) >= version)

    def remove_all_nodes(self) -> None:
        """Take all nodes away. `rejoin` gives one back; what is still missing at the end comes back by itself."""
        for node in self._api.list("nodes")["items"]:
            metadata = {key: node["metadata"].get(key) for key in ("name", "labels", "annotations")}
            self._absent[node["metadata"]["name"]] = {**node, "metadata": metadata}
        for name in self._absent:
            self._api.delete("nodes", name)
        self._await_gone(self._absent)

    def rejoin(self, name: str) -> None:
        """Let a node that was taken away join again, as it was."""
        self._api.create("nodes", self._absent.pop(name))
        self._await_recorded(name, is_ready)

    def undo(self) -> bool:
        """Change back what was changed; whether anything was."""
        changed = bool(self._restore or self._added or self._absent)
        for name in list(self._absent):
            self.rejoin(name)
        while self._added:
            self.remove_node(self._added[-1])
        while self._restore:
            name, before = self._restore.popitem()
            labels = before["metadata"]["labels"]
            gone = self._node(name)["metadata"]["labels"].keys() - labels.keys() - {GENERATION}
            spec = {key: before["spec"].get(key) for key in ("taints", "unschedulable")}
            self._merge(name, {"metadata": {"labels": dict.fromkeys(gone)}, "spec": spec}, cordoned=False)
        return changed


def _taints(node: Manifest) -> set[str]:
    return {taint["key"] for taint in node["spec"].get("taints", ())}
