"""Changes of nodes, each of which can be undone."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType

from schedproof.candidate.subjects import Subject
from schedproof.clusters.api import Manifest, NotFound, side_by_side
from schedproof.clusters.nodes import CORDONED, is_ready
from schedproof.clusters.spec import NodeSpec
from schedproof.daemons.kwok import UNPLAYED
from schedproof.foundation.deadlines import NODE_READY, OBJECT_GONE
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.acts import Emptied
from schedproof.oracle.resources import allocatable
from schedproof.stimulus.context import Context
from schedproof.stimulus.pods import amount
from schedproof.stimulus.reserved import GENERATION
from schedproof.stimulus.view import CandidateView
from schedproof.traffic.readings import node_labels

LOOKALIKES: Mapping[str, str] = MappingProxyType(
    {"alike-1": "198.51.100.1", "alike-11": "198.51.100.11", "alike-1.zone": "198.51.100.111"}
)
"""Node names and addresses (of TEST-NET-2, RFC 5737): one of them is a prefix of the others."""
_LONGEST = 253
"""Characters of a node's name: a DNS subdomain (RFC 1123)."""
UNUSUAL_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "v1.zone": "198.51.100.2", "v1-zone": "198.51.100.22", "v1xzone": "198.51.100.222",
        **{"long.".ljust(_LONGEST - 1, "n") + end: f"198.51.100.{3 + n}" for n, end in enumerate("ab")},
    }
)  # fmt: skip
"""Node names and addresses: one name is a regular expression that fully matches others; two differ at the end."""
_LEASES = "kube-node-lease"
"""The namespace of the Leases of nodes."""


class NodeChanges:
    """Changes the nodes of a cluster. `undo` restores them."""

    def __init__(self, context: Context, view: CandidateView) -> None:
        self._context, self._view = context, view
        self._cluster = context.trial.cluster
        self._api, self._recorder = context.api, context.recorder
        self._restore: dict[str, Manifest] = {}
        self._added: list[str] = []
        self._absent: dict[str, Manifest] = {}
        self._images: dict[str, Sequence[Manifest]] = {}
        """The images that nodes reported before."""
        self._addresses: dict[str, str] = {}
        """Addresses of nodes that no Prometheus of the cluster scrapes."""
        self._crowd: list[str] = []
        """Nodes that exist only in the API, and take no pod."""
        self._left: dict[str, float] = {}
        """The moment, on the monotonic clock, at which each node that had joined left."""

    @property
    def absent(self) -> list[str]:
        """The nodes that `deregister` has deleted and `rejoin` has not registered again."""
        return list(self._absent)

    @property
    def targets(self) -> dict[str, Mapping[str, str]]:
        """The labels in the readings of idle nodes, which no Prometheus of the cluster scrapes."""
        return {node: node_labels(node, address) for node, address in self._addresses.items()}

    @property
    def names(self) -> list[str]:
        """The cluster's nodes, in a new random order at each access."""
        return self._context.random.sample(list(self._cluster.nodes), len(self._cluster.nodes))

    def share(self, resource: str, part: float) -> str:
        """Return `part` of what the smallest node offers of `cpu` or `memory`."""
        return amount(resource, min(self._offers(resource)) * part)

    def beyond(self, resource: str, factor: float) -> str:
        """Return `factor` times what the largest node offers."""
        return amount(resource, max(self._offers(resource)) * factor)

    def _offers(self, resource: str) -> list[int]:
        return [allocatable(self._recorder.nodes[node])[resource] for node in self._cluster.nodes]

    @property
    def _template(self) -> NodeSpec:
        return self._context.trial.surroundings.equipped(self._cluster.node_template)

    def _node(self, name: str) -> Manifest:
        return self._api.get("nodes", name)

    def change(
        self,
        node: str,
        *,
        taints: Sequence[Mapping[str, str]] | None = None,
        labels: Mapping[str, str | None] | None = None,
        unschedulable: bool | None = None,
    ) -> None:
        """Replace taints, add labels (None: remove), cordon. Call `settle` after the last change."""
        self._context.require([*([Subject.TAINTS] if taints else ()), *([Subject.CORDONS] if unschedulable else ())])
        self._restore.setdefault(node, self._node(node))
        patch: Manifest = {}
        if labels is not None:
            patch["metadata"] = {"labels": dict(labels)}
        if taints is not None:
            patch.setdefault("spec", {})["taints"] = [dict(taint) for taint in taints]
        if unschedulable is not None:
            patch.setdefault("spec", {})["unschedulable"] = unschedulable
        self._merge(node, patch, cordoned=unschedulable)

    def burst(self, node: str, label: str, count: int, *, last: str) -> None:
        """Write `count` values of a label of a node one after the other, without pauses; then `last`."""
        self._restore.setdefault(node, self._node(node))
        for number in range(count):
            self._api.merge("nodes", node, {"metadata": {"labels": {label: f"burst-{number}"}}})
        self.change(node, labels={label: last})

    def hold_image(self, node: str, image: str) -> None:
        """Make a node report an image of a gigabyte. If a kubelet reports its own, nothing is done."""
        if "real-pods" in self._cluster.capabilities:
            return
        self._images.setdefault(node, self._node(node)["status"].get("images") or [])
        self._report(node, {"images": [{"names": [image], "sizeBytes": 10**9}]})

    def _report(self, node: str, status: Manifest) -> None:
        """Write a node's status as its kubelet would, and wait until the change is recorded."""
        changed = self._api.merge("nodes", node, {"status": status}, subresource="status")
        self._await_version(node, int(changed["metadata"]["resourceVersion"]))

    def _merge(self, node: str, patch: Manifest, *, cordoned: bool | None = None) -> None:
        """Patch a node, and wait until the change is recorded, so that later events follow it there.

        If the patch cordons or uncordons, the node controller then adds or removes a taint; this is waited for, too.
        """
        version = int(self._api.merge("nodes", node, patch)["metadata"]["resourceVersion"])

        def wanted(seen: Manifest) -> bool:
            settled = cordoned is None or (CORDONED in _taints(seen)) == cordoned
            return settled and int(seen["metadata"]["resourceVersion"]) >= version

        self._await_recorded(node, wanted)

    def _await_recorded(self, node: str, wanted: Callable[[Manifest], bool]) -> None:
        def missing() -> str:
            seen = self._recorder.nodes.get(node)
            if seen is None:
                return "it does not exist"
            return "" if wanted(seen) else f"its taints are {sorted(_taints(seen))}"

        self._recorder.await_shown(missing, NODE_READY, f"node {node} to have the expected state")

    def _await_gone(self, nodes: Collection[str]) -> None:
        def left() -> str:
            return ", ".join(sorted(self._recorder.nodes.keys() & set(nodes)))

        self._recorder.await_shown(left, OBJECT_GONE, "nodes to be deleted")

    def add(self, name: str, **capacity: str) -> None:
        """Add a node like the others except for `capacity`; wait for its readings if the candidate needs them.

        Call `settle` before creating pods for it.
        """
        template = self._template
        self._context.scarce.update(capacity)
        self._added.append(name)
        self._cluster.add_node(name, like=dataclasses.replace(template, capacity={**template.capacity, **capacity}))
        self._await_recorded(name, is_ready)
        self._equip([name])
        self._view.joined(name, left=self._left.get(name))

    def remove(self, name: str) -> None:
        """Remove a node that was added by `add`."""
        self._added.remove(name)
        self._addresses.pop(name, None)
        self._restore.pop(name, None)
        self._cluster.remove_node(name)
        self._await_gone([name])
        self._left[name] = time.monotonic()

    def resize(self, name: str, **allocatable: str | None) -> None:
        """Make a node that joined offer other amounts of resources, as after a change of its kubelet's reservations.

        None: it no longer offers the resource.
        """
        self._report(name, {"allocatable": allocatable})

    def declare(self, name: str, *features: str) -> None:
        """Make a node that joined declare these features of its kubelet, and no others."""
        self._report(name, {"declaredFeatures": list(features)})

    def recreate(self, name: str, *, labels: Mapping[str, str], **capacity: str) -> None:
        """Delete the Node object of a node that joined, and create another object of the same name at once.

        It keeps the labels that Kubernetes defines, loses the taints, and gets what is given here.
        """
        node = self._node(name)
        known = {key: value for key, value in node["metadata"]["labels"].items() if "kubernetes.io/" in key}
        metadata = {"name": name, "labels": {**known, **self._template.labels, **labels}}
        metadata["annotations"] = node["metadata"].get("annotations")
        status = {key: {**node["status"][key], **capacity} for key in ("capacity", "allocatable")}
        again = {**node, "metadata": metadata, "spec": {}, "status": {**node["status"], **status}}
        self._api.delete("nodes", name)
        uid = self._api.create("nodes", again)["metadata"]["uid"]
        self._await_recorded(name, lambda seen: seen["metadata"]["uid"] == uid and is_ready(seen))
        self._equip([name])

    def add_idle(self, count: int) -> list[str]:
        """Add nodes that exist only in the API, without a device and without an exporter, and return their names.

        Needs the capability `idle-nodes`.
        """
        return self.add_named({f"node-idle-{number}": f"203.0.113.{number + 1}" for number in range(count)})

    def up_to(self, count: int) -> list[str]:
        """Add idle nodes until there are `count` nodes, and return the names of all, in the order of creation.

        Their order by name differs. Needs the capability `idle-nodes`.
        """
        numbers = range(max(0, count - len(self._cluster.nodes)))
        names = [f"many-{number:02}" for number in self._context.random.sample(numbers, len(numbers))]
        joined = self.add_named({name: f"203.0.113.{number + 1}" for number, name in enumerate(names)})
        return [*self._cluster.nodes, *joined]

    def add_named(self, addresses: Mapping[str, str]) -> list[str]:
        """Add idle nodes with these names and addresses, and return the names. Needs the capability `idle-nodes`."""
        names = list(addresses)
        self._added += names
        self._addresses |= addresses
        self._cluster.add_idle_nodes(addresses, like=self._template)
        for number, name in enumerate(names):
            self._await_recorded(name, is_ready)
            # The order of types is not guaranteed. Of two InternalIPs, the first is of the node's primary address
            # family.
            listed = [
                ("Hostname", name), ("ExternalIP", f"192.0.2.{number + 1}"), ("InternalIP", addresses[name]),
                ("InternalIP", f"2001:db8::{number + 1:x}"),
            ]  # fmt: skip
            self._report(name, {"addresses": [{"type": kind, "address": address} for kind, address in listed]})
        self._equip(names)
        return names

    def crowd(self, count: int) -> None:
        """Add `count` cordoned nodes that exist only in the API. Their names sort first in lists.

        Needs the capability `idle-nodes`, and a cluster whose controllers create no pods for each node.
        """
        self._crowd, version = [f"0-crowd-{number}" for number in range(count)], self._api.version()
        template = self._template
        # As the node controller would leave them, so that it changes nothing.
        spec = dataclasses.replace(
            template, labels={**template.labels, UNPLAYED: ""}, taints=({"key": CORDONED, "effect": "NoSchedule"},)
        )
        ready = {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}

        def create(name: str) -> None:
            node = dataclasses.replace(spec, name=name).manifest("203.0.113.1", version)
            node["spec"]["unschedulable"] = True
            self._api.create("nodes", {**node, "status": {**node["status"], **ready}})

        side_by_side(create, self._crowd)
        for name in self._crowd:
            self._await_recorded(name, lambda _: True)

    def _disperse(self) -> None:
        side_by_side(lambda name: self._api.delete_if_there("nodes", name), self._crowd)
        self._await_gone(self._crowd)
        self._crowd = []

    def _equip(self, nodes: Sequence[str]) -> None:
        """Give joined nodes what the cluster's nodes were given for the candidate."""
        for node, version in self._context.trial.surroundings.equip_nodes(nodes).items():
            self._await_version(node, version)

    def _await_version(self, node: str, version: int) -> None:
        self._await_recorded(node, lambda seen: int(seen["metadata"]["resourceVersion"]) >= version)

    def remove_all(self) -> None:
        """Remove all nodes. `rejoin` adds one again; `undo` restores the others."""
        self._recorder.add(Emptied(case=self._context.clause))
        self._deregister(self._api.list("nodes")["items"])

    def deregister(self, names: Sequence[str]) -> None:
        """Delete Node objects, and leave the pods on them. `rejoin` adds one again; `undo` restores the others."""
        self._deregister([self._node(name) for name in names])

    def _deregister(self, nodes: Sequence[Manifest]) -> None:
        names = [node["metadata"]["name"] for node in nodes]
        for name, node in zip(names, nodes, strict=True):
            metadata = {key: node["metadata"].get(key) for key in ("name", "labels", "annotations")}
            self._absent[name] = {**node, "metadata": metadata}
        for name in names:
            # Kubernetes removes it later, after a new one may have begun to use it.
            self._api.delete_if_there("leases", name, _LEASES)
            self._api.delete("nodes", name)
        self._await_gone(names)

    def rejoin(self, name: str) -> None:
        """Register a removed node again, as it was; a node that joined also runs pods again."""
        node = self._api.create("nodes", self._absent.pop(name))
        self._await_recorded(name, is_ready)
        if name in self._added and UNPLAYED not in node["metadata"].get("labels", {}):
            self._await_played(name)

    def _await_played(self, name: str) -> None:
        """Wait until kwok holds the Lease of a node: before, it runs none of its pods."""

        def probe() -> None:
            self._recorder.check()
            try:
                self._api.get("leases", name, _LEASES)
            except NotFound:
                raise NotYet("it has no Lease") from None

        wait_for(probe, NODE_READY, what=f"kwok to run pods of node {name}", poll=0.05)

    def undo(self) -> bool:
        """Undo all changes, and return whether there were any."""
        changed = bool(self._restore or self._added or self._absent or self._images or self._crowd)
        self._disperse()
        for name in list(self._absent):
            self.rejoin(name)
        while self._added:
            self.remove(self._added[-1])
        while self._images:
            name, images = self._images.popitem()
            self._report(name, {"images": images})
        while self._restore:
            name, before = self._restore.popitem()
            labels = before["metadata"]["labels"]
            gone = self._node(name)["metadata"]["labels"].keys() - labels.keys() - {GENERATION}
            kept = {key: value for key, value in labels.items() if key != GENERATION}
            spec = {key: before["spec"].get(key) for key in ("taints", "unschedulable")}
            self._merge(name, {"metadata": {"labels": {**kept, **dict.fromkeys(gone)}}, "spec": spec}, cordoned=False)
        return changed


def _taints(node: Manifest) -> set[str]:
    return {taint["key"] for taint in node["spec"].get("taints", ())}
