"""core: a pod is bound only to nodes where its volumes can be used."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.stimulus.case import Case
from schedproof.stimulus.changes.volumes import DRIVER, ONCE, ZONE

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
    case.view.await_freshness()
    case.expect_bound([case.pod(volumes=[claim]) for claim in (*local, *zonal) * 2])
    elsewhere = [(local[0], nodes[-1]), (local[-1], nodes[0]), (zonal[0], zones["b"][0]), (zonal[1], zones["a"][0])]
    case.expect_pending([case.pod("exceeds", volumes=[claim], **on(node)) for claim, node in elsewhere])
    for node in nodes[:2]:
        case.volumes.volume(later, node=node)
    case.view.await_freshness()
    # One after the other: while a claim is being bound, kube-scheduler reserves room for its pod by nominatedNodeName.
    for spec in (on(nodes[0]), {}):
        case.expect_bound([case.pod(volumes=[case.volumes.claim(later)], **spec)])
    case.expect_pending([case.pod("exceeds", volumes=[case.volumes.claim(later)])])


@pytest.mark.clause("core/volume-limits")
def test_volume_limits(case: Case) -> None:
    """A node can have two volumes attached. Pods use one, the same one, and a second one; other pods need a third.

    One of these fits on another node. Of the others, one fits once the pod of the second volume is deleted. Last, a
    generic ephemeral volume uses up the limit of a node until its pod is deleted.
    """
    node, other = case.nodes.names[:2]
    case.volumes.limit(node, 2)
    at_once = case.volumes.storage_class(waits=False)
    volumes = [case.volumes.volume(at_once, driver=DRIVER) for _ in range(5)]
    first, second, third, fourth, fifth = (case.volumes.claim(at_once, volume=volume) for volume in volumes)
    case.view.await_freshness()
    case.expect_bound([case.pod(volumes=[first], **on(node)) for _ in range(2)])
    both = case.pod(volumes=[first, second], **on(node))
    case.expect_bound([both])
    case.expect_bound([case.pod(volumes=[third], **on(other))])
    waits = [case.pod("exceeds", volumes=[claim], **on(node)) for claim in (fourth, fifth)]
    case.expect_pending(waits)
    case.delete([both])
    case.expect_so_many_bound(waits, 1)
    case.volumes.limit(other, 2)
    passing = case.volumes.storage_class(waits=False)
    case.volumes.volume(passing, driver=DRIVER)
    case.view.await_freshness()
    scratch = case.pod("scratch", plain=True, volumes=[case.volumes.ephemeral(passing)], **on(other))
    case.expect_bound([scratch], case.deadlines.requeue)
    last = case.pod("exceeds", volumes=[first], **on(other))
    case.expect_pending([last])
    case.delete([scratch])
    case.expect_bound([last], case.deadlines.requeue)


@pytest.mark.clause("core/volume-driver")
def test_volume_driver(case: Case) -> None:
    """A driver runs on one node, and prevents pods with its volumes from being on others; another driver does not.

    One pod waits for the driver on its node, until it runs there, too.
    """
    node, other = case.nodes.names[:2]
    case.volumes.register(prevents=True)
    case.volumes.limit(other, 10)
    at_once = case.volumes.storage_class(waits=False)
    volumes = [*(case.volumes.volume(at_once, driver=DRIVER) for _ in range(3)), case.volumes.volume(at_once)]
    volumes.append(case.volumes.volume(at_once, driver=f"other.{DRIVER}"))
    first, second, third, *others = (case.volumes.claim(at_once, volume=volume) for volume in volumes)
    case.view.await_freshness()
    waits = case.pod("exceeds", volumes=[first], **on(node))
    case.expect_pending([waits])
    case.expect_bound([case.pod(volumes=[claim]) for claim in (second, third)])
    case.expect_bound([case.pod(volumes=[claim], **on(node)) for claim in others])
    case.volumes.limit(node, 10)
    case.expect_bound([waits], case.deadlines.requeue)


@pytest.mark.clause("core/volume-capacity")
def test_volume_capacity(case: Case) -> None:
    """A driver provisions volumes, and reports how much it can for each of two nodes, and for none.

    A pod needs more than one of the nodes has; the next more than the largest volume, and waits until the other node
    has more. The harness plays the driver. Another driver reports nothing, and provides volumes of one class for one
    node only.
    """
    small, large = case.nodes.names[:2]
    driver = case.volumes.provisioner()
    pooled = case.volumes.storage_class(waits=True, driver=driver)
    growing = case.volumes.capacity(pooled, "1Gi", node=small)
    case.volumes.capacity(pooled, "10Gi", node=large, largest="2Gi")
    case.volumes.capacity(pooled, "100Gi")
    everywhere = case.volumes.storage_class(waits=True, driver=DRIVER)
    placed = case.volumes.storage_class(waits=True, driver=DRIVER, node=large)
    case.view.await_freshness()

    def provided(storage_class: str, size: str, **spec: Any) -> None:
        claim = case.volumes.claim(storage_class, size=size)
        pod = case.pod(volumes=[claim], **spec)
        case.volumes.provide(claim, case.deadlines.bind)
        case.expect_bound([pod])

    provided(pooled, "2Gi")
    provided(everywhere, "500Gi", **on(small))
    provided(placed, "500Gi")
    claim = case.volumes.claim(pooled, size="3Gi")
    waits = case.pod("exceeds", volumes=[claim])
    elsewhere = case.pod("exceeds", volumes=[case.volumes.claim(placed)], **on(small))
    case.expect_pending([waits, elsewhere])
    case.volumes.grow(growing, "3Gi")
    case.volumes.provide(claim, case.deadlines.requeue)
    case.expect_bound([waits], case.deadlines.requeue)


@pytest.mark.clause("core/volume-once")
def test_volume_once(case: Case) -> None:
    """Two pods claim a volume that one pod at a time may use. The second waits until the first is gone."""
    at_once = case.volumes.storage_class(waits=False)
    claim = case.volumes.claim(at_once, volume=case.volumes.volume(at_once, mode=ONCE), mode=ONCE)
    case.view.await_freshness()
    user = case.pods.lingering("user", volumes=[claim])
    case.expect_bound([user])
    waits = case.pod("exceeds", volumes=[claim])
    case.expect_pending([waits])
    case.pods.terminate(user)
    case.fence()
    case.pods.remove_finalizers([user])
    case.expect_bound([waits], case.deadlines.requeue)


def on(node: str) -> dict[str, Any]:
    """Return the spec fields by which a pod selects a node."""
    return {"nodeSelector": {HOSTNAME: node}}
