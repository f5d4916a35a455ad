"""core: a pod is bound only to nodes where its volumes can be used."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.stimulus.case import Case
from schedproof.stimulus.changes.volumes import ZONE

HOSTNAME = "kubernetes.io/hostname"


@pytest.mark.clause("core/volume-node-affinity")
def test_volume_node_affinity(case: Case) -> None:
    """Volumes are bound to one node or to one zone; pods claim them, also with a selector that leaves no node.

    Some claims are already bound, and some wait for their first consumer.
    """
    nodes = case.nodes.names
    zones = {"a": nodes[: len(nodes) // 2], "b": nodes[len(nodes) // 2 :]}
    for zone, there in zones.items():
        for node in there:
            case.nodes.change(node, labels={ZONE: zone})
    case.settle()
    at_once, later = case.volumes.storage_class(waits=False), case.volumes.storage_class(waits=True)
    local = [case.volumes.claim(at_once, volume=case.volumes.volume(at_once, node=node)) for node in nodes]
    zonal = [case.volumes.claim(at_once, volume=case.volumes.volume(at_once, zone=zone)) for zone in zones]
    case.sight.await_freshness()
    case.expect_bound([case.pod(volumes=[claim]) for claim in (*local, *zonal) * 2])
    elsewhere = [(local[0], nodes[-1]), (local[-1], nodes[0]), (zonal[0], zones["b"][0]), (zonal[1], zones["a"][0])]
    case.expect_pending([case.pod("exceeds", volumes=[claim], **on(node)) for claim, node in elsewhere])
    for node in nodes[:2]:
        case.volumes.volume(later, node=node)
    case.sight.await_freshness()
    # One after the other: while a claim is being bound, kube-scheduler reserves room for its pod by nominatedNodeName.
    for spec in (on(nodes[0]), {}):
        case.expect_bound([case.pod(volumes=[case.volumes.claim(later)], **spec)])
    case.expect_pending([case.pod("exceeds", volumes=[case.volumes.claim(later)])])


def on(node: str) -> dict[str, Any]:
    """Return the spec fields by which a pod selects a node."""
    return {"nodeSelector": {HOSTNAME: node}}
