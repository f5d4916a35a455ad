"""The extended resources that an extender manages: kube-scheduler calls it only for pods that ask for one of them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from schedproof.candidates.kinds import ExtenderSpec
from schedproof.clusters.api import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedproof.candidates.descriptor.descriptor import Candidate
    from schedproof.clusters.api import Manifest
    from schedproof.clusters.cluster import Cluster

__all__ = ["ManagedResources"]

_OFFERED = "1000"
"""Of each node: more than it takes pods, so that no pod of the suites is kept off for want of it."""
_ASKED = "1"


class ManagedResources:
    """What pods for a candidate ask for besides cpu and memory, and nodes offer.

    `names` is empty where the candidate manages nothing, and where nodes neither offer it nor may be changed: then its
    extender is not called, and the judge says so.
    """

    def __init__(self, cluster: Cluster, candidate: Candidate) -> None:
        self._cluster = cluster
        self._offering: list[str] = []
        spec = candidate.spec
        names = tuple(r.name for r in spec.config.managed_resources) if isinstance(spec, ExtenderSpec) else ()
        self._may_change = "change-nodes" in cluster.capabilities
        self.names = names if self._may_change else tuple(filter(self._is_offered, names))

    def _is_offered(self, resource: str) -> bool:
        nodes = (self._cluster.api.get("nodes", name) for name in self._cluster.nodes)
        return all(resource in node["status"].get("allocatable", {}) for node in nodes)

    def offer(self, nodes: Sequence[str]) -> dict[str, int]:
        """Let these nodes offer it; the revision of each that was changed, as their status then is."""
        if not self.names or not self._may_change:
            return {}
        amounts = dict.fromkeys(self.names, _OFFERED)
        self._offering += nodes
        return {node: self._patch(node, amounts) for node in nodes}

    def withdraw(self) -> None:
        """Take it back from the nodes that are left."""
        while self._offering:
            with contextlib.suppress(NotFound):
                self._patch(self._offering.pop(), dict.fromkeys(self.names))

    def _patch(self, node: str, amounts: dict[str, str] | dict[str, None]) -> int:
        patch = {"status": {"capacity": amounts, "allocatable": amounts}}
        changed = self._cluster.api.merge("nodes", node, patch, subresource="status")
        return int(changed["metadata"]["resourceVersion"])

    def ask(self, pod: Manifest) -> None:
        """Let a pod ask for it, so that its extender is called. An extended resource's limit is its request."""
        resources = pod["spec"]["containers"][0].setdefault("resources", {})
        for kind in ("requests", "limits") if self.names else ():
            resources[kind] = {**resources.get(kind, {}), **dict.fromkeys(self.names, _ASKED)}
