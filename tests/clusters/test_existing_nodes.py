"""What is read from the nodes of an existing cluster."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.clusters.existing.cluster import _template
from schedproof.clusters.existing.survey import common_pause, usable_nodes
from schedproof.clusters.spec import minor_version
from schedproof.foundation.errors import UsageError

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def node(name: str, *, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {}}, "spec": spec or {}, "status": {**READY, **status}}


def test_only_ready_schedulable_untainted_nodes_are_used() -> None:
    nodes = [
        node("b"),
        node("a"),
        node("control-plane", spec={"taints": [{"key": "node-role.kubernetes.io/control-plane"}]}),
        node("cordoned", spec={"unschedulable": True}),
        node("down", conditions=[{"type": "Ready", "status": "Unknown"}]),
    ]
    assert [found["metadata"]["name"] for found in usable_nodes(nodes)] == ["a", "b"]
    with pytest.raises(UsageError, match="none of the cluster's 3 nodes"):
        usable_nodes(nodes[2:])


def test_the_template_of_new_nodes_copies_an_existing_node_without_its_hostname_and_hugepages() -> None:
    like = node("a", allocatable={"cpu": "8", "memory": "16Gi", "pods": "110", "hugepages-2Mi": "0"})
    like["metadata"]["labels"] = {"topology.kubernetes.io/zone": "z", "kubernetes.io/hostname": "a"}
    template = _template(like, "ens192")
    assert template.capacity == {"cpu": "8", "memory": "16Gi", "pods": "110"}
    assert template.labels == {"topology.kubernetes.io/zone": "z"}
    assert template.device == "ens192"


def test_the_pause_image_is_an_image_that_every_node_has() -> None:
    def having(*names: str) -> dict[str, Any]:
        return node("n", images=[{"names": list(names)}])

    own = "mirror.example.com/pause:3.10.1"
    assert common_pause([having(own, "other:1"), having("mirror.example.com/pause:3.9", own)]) == own
    assert common_pause([having(own), having()]) == "registry.k8s.io/pause:3.10"
    assert common_pause([node("played")]) == "registry.k8s.io/pause:3.10"


@pytest.mark.parametrize("version", ["v1.36.3", "v1.36.0-rc.1", "v1.36.3-vendor.100", "v1.36+"])
def test_the_minor_version_is_read_from_any_version_of_kubernetes(version: str) -> None:
    assert minor_version(version) == "1.36"
