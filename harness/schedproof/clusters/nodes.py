"""States of Node objects: Ready, cordoned, gone."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.clusters.api import Api, NotFound
from schedproof.foundation.deadlines import NODE_READY, OBJECT_GONE
from schedproof.foundation.waiting import NotYet, Watched, wait_for

CORDONED = "node.kubernetes.io/unschedulable"
"""The key of the taint that the node controller puts on cordoned nodes (spec.unschedulable)."""


def is_ready(node: Mapping[str, Any]) -> bool:
    """Whether a node is Ready, and the node lifecycle controller has removed the taint that admission puts on new
    nodes.
    """
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", ()))
    return ready and not any(t["key"] == "node.kubernetes.io/not-ready" for t in node["spec"].get("taints", ()))


def wait_ready(api: Api, names: Sequence[str], *, watching: Sequence[Watched] = ()) -> None:
    """Wait until all these nodes are Ready."""

    def probe() -> None:
        ready = {node["metadata"]["name"] for node in api.list("nodes")["items"] if is_ready(node)}
        if missing := set(names) - ready:
            raise NotYet(f"not Ready, or still tainted: {', '.join(sorted(missing))}")

    wait_for(probe, NODE_READY, what="nodes to be Ready", watching=watching)


def wait_gone(api: Api, name: str) -> None:
    """Wait until a node does not exist."""

    def probe() -> None:
        with contextlib.suppress(NotFound):
            api.get("nodes", name)
            raise NotYet(f"node {name} still exists")

    wait_for(probe, OBJECT_GONE, what=f"node {name} to be gone")
