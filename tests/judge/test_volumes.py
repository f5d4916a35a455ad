"""core/volume-node-affinity: pods run where their volumes can be used, and claims are bound before their pods."""

from __future__ import annotations

import dataclasses
from typing import Any

from .histories import CLAIMS, NAMESPACE, HistoryBuilder, told

CASE = "core/volume-node-affinity"
CLAIMED = dataclasses.replace(CLAIMS, features=("volumes",))


def storage(node: str = "node-1", *, waits: bool = False) -> HistoryBuilder:
    """A volume that can be used on `node`, and its claim, which is bound unless it waits for a consumer."""
    h = HistoryBuilder(CASE, claims=CLAIMED)
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    store(h, "storageclasses", "class", provisioner="kubernetes.io/no-provisioner", volumeBindingMode=mode)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    spec = {
        "storageClassName": "class", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"],
        "local": {"path": "/"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }  # fmt: skip
    store(h, "persistentvolumes", "volume", spec=spec, status={"phase": "Available"})
    claim(h, bound=not waits)
    return h


def claim(h: HistoryBuilder, *, bound: bool) -> None:
    metadata = {"namespace": NAMESPACE, "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}}
    spec = {
        "storageClassName": "class", "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
        **({"volumeName": "volume"} if bound else {}),
    }  # fmt: skip
    store(h, "persistentvolumeclaims", "claim", metadata, spec=spec, status={"phase": "Bound" if bound else "Pending"})


def store(h: HistoryBuilder, resource: str, name: str, metadata: dict[str, Any] | None = None, **body: Any) -> None:
    h.happens(resource, "MODIFIED", {"metadata": {"name": name, **(metadata or {})}, **body})


def pod(h: HistoryBuilder, name: str = "p", **spec: Any) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}
    h.pod(name, volumes=[volume], **spec)


def bind_pod(h: HistoryBuilder, node: str = "node-1") -> HistoryBuilder:
    h.bind("p", node)
    h.expect("p", "bound")
    return h


def test_pod_on_a_node_of_its_volume_passes() -> None:
    h = storage()
    pod(h)
    told(bind_pod(h).verdict(), "passed")


def test_pod_on_another_node_than_its_volume_fails() -> None:
    h = storage()
    pod(h)
    told(bind_pod(h, "node-2").verdict(), "failed", "infeasible-node")


def test_pending_pod_whose_volume_leaves_no_node_passes() -> None:
    h = storage()
    pod(h)
    bind_pod(h)
    pod(h, "q", nodeSelector={"kubernetes.io/hostname": "node-2"})
    h.fence()
    h.expect("q", "pending")
    told(h.verdict(), "passed")


def test_claim_must_be_bound_before_its_pod() -> None:
    h = storage(waits=True)
    pod(h)
    claim(h, bound=True)
    told(bind_pod(h).verdict(), "passed")
    h = storage(waits=True)
    pod(h)
    bind_pod(h)
    claim(h, bound=True)
    told(h.verdict(), "failed", "unbound-volume-claim")


def test_unbound_pod_whose_claim_could_be_bound_fails() -> None:
    h = storage(waits=True)
    pod(h)
    h.expect("p", "bound")
    told(h.verdict(), "failed", "not-bound-in-time")


def test_history_without_a_pod_with_a_claim_is_invalid() -> None:
    h = storage()
    h.pod("p")
    told(bind_pod(h).verdict(), "invalid", "not-tried")


def test_volumes_that_the_oracle_does_not_model_are_invalid() -> None:
    h = storage()
    store(h, "persistentvolumes", "volume", spec={"storageClassName": "class", "rbd": {"pool": "d"}}, status={})
    pod(h)
    told(bind_pod(h).verdict(), "invalid", "oracle-gap")


def provisioned(amount: str, *, selected: str = "node-1") -> HistoryBuilder:
    """A claim of a driver that reports capacity on one node: the candidate selects a node, and gets a volume there."""
    h = HistoryBuilder("core/volume-capacity", claims=CLAIMED)
    store(h, "csidrivers", "driver", spec={"storageCapacity": True})
    store(h, "storageclasses", "class", provisioner="driver", volumeBindingMode="WaitForFirstConsumer")
    place = {"matchLabels": {"kubernetes.io/hostname": "node-1"}}
    store(
        h, "csistoragecapacities", "pool", {"namespace": NAMESPACE}, storageClassName="class", capacity=amount,
        nodeTopology=place,
    )  # fmt: skip
    spec = {
        "storageClassName": "class", "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
    }  # fmt: skip
    pending = {"phase": "Pending"}
    store(h, "persistentvolumeclaims", "claim", {"namespace": NAMESPACE}, spec=spec, status=pending)
    pod(h)
    annotations = {"volume.kubernetes.io/selected-node": selected}
    metadata = {"namespace": NAMESPACE, "annotations": annotations}
    store(h, "persistentvolumeclaims", "claim", metadata, spec=spec, status=pending)
    store(h, "persistentvolumes", "volume", spec={"storageClassName": "class", "local": {"path": "/"}})
    metadata = {"namespace": NAMESPACE, "annotations": {**annotations, "pv.kubernetes.io/bind-completed": "yes"}}
    store(h, "persistentvolumeclaims", "claim", metadata, spec={**spec, "volumeName": "volume"}, status={})
    return bind_pod(h, selected)


def test_a_node_is_selected_for_a_claim_where_its_driver_has_the_capacity() -> None:
    told(provisioned("1Gi").verdict(), "passed")
    told(provisioned("1Mi").verdict(), "failed", "infeasible-volume")
    told(provisioned("1Gi", selected="node-2").verdict(), "failed", "infeasible-volume")
