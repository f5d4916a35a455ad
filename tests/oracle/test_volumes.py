"""Volumes of a pod's claims: which nodes are left, one world for each rule."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.coverage import unmodelled
from schedproof.oracle.feasibility import check
from schedproof.oracle.volumes import Storage

Manifest = dict[str, Any]
ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
NODES = [
    {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": {"pods": "9"}}}
    for name, labels in {
        "a1": {"disk": "ssd", ZONE: "a"}, "b1": {"disk": "hdd", ZONE: "b"}, "nowhere": {"disk": "ssd"},
    }.items()
]  # fmt: skip
EVERYWHERE = ["a1", "b1", "nowhere"]
CLASSES = {
    "now": {"metadata": {"name": "now"}, "volumeBindingMode": "Immediate"},
    "later": {
        "metadata": {"name": "later"}, "volumeBindingMode": "WaitForFirstConsumer",
        "provisioner": "kubernetes.io/no-provisioner",
    },
    "made": {
        "metadata": {"name": "made"}, "volumeBindingMode": "WaitForFirstConsumer", "provisioner": "example.com/disks",
    },
    "placed": {
        "metadata": {"name": "placed"}, "volumeBindingMode": "WaitForFirstConsumer", "provisioner": "example.com/disks",
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}, {"key": "disk", "values": ["hdd"]}]},
            {"matchLabelExpressions": [{"key": ZONE, "values": ["b", "c"]}]}, {"matchLabelExpressions": []},
        ],
    },
    "in-tree": {
        "metadata": {"name": "in-tree"}, "volumeBindingMode": "WaitForFirstConsumer",
        "provisioner": "kubernetes.io/aws-ebs",
    },
}  # fmt: skip
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def pod(*claims: str) -> Manifest:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    metadata = {"name": "probe", "namespace": "default", "uid": "probe"}
    return {"metadata": metadata, "spec": {"containers": [], "volumes": volumes}, "status": {"phase": "Pending"}}


def volume(storage_class: str = "later", *, disk: str = "", size: str = "1Gi", **more: Any) -> Manifest:
    """A volume for nodes with this `disk`, else for any; `more`: fields of its metadata and spec, and its `phase`."""
    terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]}]
    metadata = {"name": "v", **{key: more.pop(key) for key in ("labels", "deletionTimestamp") if key in more}}
    return {
        "metadata": metadata, "status": {"phase": more.pop("phase", "Available")},
        "spec": {
            "storageClassName": storage_class, "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "local": {"path": "/"}, **({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if disk else {}),
            **more,
        },
    }  # fmt: skip


def claim(storage_class: str = "later", *, phase: str = "Bound", **more: Any) -> Manifest:
    metadata = {"name": "c", "namespace": "default", "uid": "c"}
    metadata |= {key: more.pop(key) for key in ("annotations", "deletionTimestamp") if key in more}
    spec = {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"]}
    spec["resources"] = {"requests": {"storage": "1Gi"}}
    return {"metadata": metadata, "spec": {**spec, **more}, "status": {"phase": phase}}


def bound(**more: Any) -> Manifest:
    return claim("now", volumeName="v", annotations=BOUND, **more)


def nodes_left(claimed: Manifest | None, *volumes: Manifest) -> list[str]:
    claims = {} if claimed is None else {"default/c": claimed}
    numbered = {f"v{number or ''}": manifest for number, manifest in enumerate(volumes)}
    found = check(pod("c"), NODES, (), storage=Storage(claims, numbered, CLASSES))
    return sorted(name for name, why in found.items() if not why)


def test_bound_volume_leaves_the_nodes_of_its_affinity() -> None:
    assert nodes_left(bound(), volume("now", disk="hdd")) == ["b1"]
    assert nodes_left(bound(), volume("now")) == EVERYWHERE


@pytest.mark.parametrize("label", [ZONE, OLD_ZONE])
def test_bound_volume_leaves_nodes_of_its_zones_and_nodes_without_a_zone(label: str) -> None:
    """The deprecated zone label counts, too."""
    assert nodes_left(bound(), volume("now", labels={label: "a"})) == ["a1", "nowhere"]
    assert nodes_left(bound(), volume("now", labels={label: "a__ b"})) == EVERYWHERE
    assert nodes_left(bound(), volume("now", labels={label: "c"})) == ["nowhere"]


@pytest.mark.parametrize(
    "claimed",
    [
        None, claim("now"), claim("gone"), claim("", volumeName="v"), claim(volumeName="v"), bound(phase="Lost"),
        bound(deletionTimestamp="2026-01-01T00:00:00Z"), claim(volumeName="other", annotations=BOUND),
    ],
    ids=[
        "missing", "unbound", "missing class", "names a volume", "waits, and names a volume", "lost", "terminating",
        "missing volume",
    ],
)  # fmt: skip
def test_claim_without_its_volume_leaves_no_node(claimed: Manifest | None) -> None:
    assert nodes_left(claimed, volume("now"), volume()) == []


def test_waiting_claim_leaves_the_nodes_of_available_volumes() -> None:
    assert nodes_left(claim()) == []
    assert nodes_left(claim(), volume(disk="hdd")) == ["b1"]
    assert nodes_left(claim(), volume(disk="hdd"), volume(disk="ssd")) == EVERYWHERE


@pytest.mark.parametrize(
    "other",
    [
        volume("now"), volume(size="1Mi"), volume(phase="Released"), volume(accessModes=["ReadOnlyMany"]),
        volume(volumeMode="Block"), volume(claimRef={"name": "c", "namespace": "other"}),
        volume(claimRef={"name": "c", "namespace": "default", "uid": "earlier"}), volume(volumeAttributesClassName="x"),
        volume(deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
    ids=[
        "class", "size", "phase", "modes", "mode", "claim of another namespace", "earlier claim of the same name",
        "attributes", "terminating",
    ],
)  # fmt: skip
def test_waiting_claim_takes_no_unsuitable_volume(other: Manifest) -> None:
    assert nodes_left(claim(), other) == []


def test_a_claim_may_select_volumes_by_labels() -> None:
    selector = {"matchLabels": {"tier": "gold"}}
    assert nodes_left(claim(selector=selector), volume(), volume(disk="hdd", labels={"tier": "gold"})) == ["b1"]


def test_volume_reserved_for_a_claim_is_its_only_choice() -> None:
    reserved = volume(disk="hdd", phase="Bound", claimRef={"name": "c", "namespace": "default"})
    assert nodes_left(claim(), volume(), reserved) == ["b1"]


@pytest.mark.parametrize(
    ("claims", "volumes", "named"),
    [
        ([claim("in-tree")], [], "volumes that kubernetes.io/aws-ebs provides"),
        ([claim(), claim()], [], "several claims that wait for their first consumer"),
        ([bound()], [volume("now", rbd={"pool": "d"})], "PersistentVolume.spec.rbd"),
        ([claim()], [volume(rbd={"pool": "d"})], "PersistentVolume.spec.rbd"),
    ],
    ids=["provisioned", "several", "bound to another source", "waits for another source"],
)  # fmt: skip
def test_unmodelled_claims_and_volumes_are_named(claims: list[Manifest], volumes: list[Manifest], named: str) -> None:
    by_name = {f"default/c{number}": manifest for number, manifest in enumerate(claims)}
    storage = Storage(by_name, dict(zip("v", volumes, strict=False)), CLASSES)
    assert unmodelled(pod(*(f"c{number}" for number in range(len(claims)))), (), NODES, {}, storage) == (named,)


def test_modelled_and_missing_claims_are_not_named() -> None:
    storage = Storage({"default/c": bound()}, {"v": volume("now")}, CLASSES)
    assert unmodelled(pod("c"), (), NODES, {}, storage) == ()
    assert unmodelled(pod("missing"), (), NODES, {}, storage) == ()


def csi(handle: str, driver: str = "disks") -> Manifest:
    made = volume("now")
    made["spec"] = {**made["spec"], "csi": {"driver": driver, "volumeHandle": handle}}
    del made["spec"]["local"]
    return made


def user(name: str, *claims: str) -> Manifest:
    """A pod on node `a1` that uses these claims."""
    used = pod(*claims)
    return {
        **used,
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {**used["spec"], "nodeName": "a1"},
    }


@pytest.mark.parametrize(
    ("wanted", "there", "limit", "fits"),
    [
        ("x", [], 0, False), ("x", [], 1, True), ("x", ["y"], 1, False), ("x", ["x"], 1, True),
        ("x", ["y", "y"], 2, True), ("x", ["y", "other"], 2, True), ("x", ["y", "z"], None, True),
    ],
    ids=["none", "one", "full", "the same volume", "one twice", "another driver's", "no limit"],
)  # fmt: skip
def test_csi_volumes_count_once_for_a_node_and_driver(
    wanted: str, there: list[str], limit: int | None, fits: bool
) -> None:
    """What is on a node is counted by driver and handle, and compared with its CSINode."""
    volumes = {name: csi(name, "others" if name == "other" else "disks") for name in ("x", "y", "z", "other")}
    claims = {f"default/{name}": claim("now", volumeName=name, annotations=BOUND) for name in volumes}
    driver = {"name": "disks", "allocatable": {} if limit is None else {"count": limit}}
    storage = Storage(claims, volumes, CLASSES, {"a1": {"spec": {"drivers": [driver]}}})
    users = [user(f"user-{number}", name) for number, name in enumerate(there)]
    found = check(pod(wanted), NODES, users, storage=storage)
    assert sorted(name for name, why in found.items() if not why) == (EVERYWHERE if fits else ["b1", "nowhere"])


@pytest.mark.parametrize(("mode", "fits"), [("ReadWriteOncePod", False), ("ReadWriteOnce", True)])
def test_a_claim_for_one_pod_leaves_no_node_to_another(mode: str, fits: bool) -> None:
    storage = Storage({"default/c": bound(accessModes=[mode])}, {"v": volume("now")}, CLASSES)
    found = check(pod("c"), NODES, [user("other", "c")], storage=storage)
    assert [name for name, why in found.items() if not why] == (EVERYWHERE if fits else [])
    assert all(not why for why in check(pod("c"), NODES, [], storage=storage).values())


def capacity(amount: str | None, place: Manifest | None = {}, of: str = "made", **more: Any) -> Manifest:  # noqa: B006
    return {
        "storageClassName": of, **({} if amount is None else {"capacity": amount}),
        **({} if place is None else {"nodeTopology": place}), **more,
    }  # fmt: skip


SSD = {"matchLabels": {"disk": "ssd"}}


@pytest.mark.parametrize(
    ("capacities", "left"),
    [
        ([], []), ([capacity("1Gi")], EVERYWHERE), ([capacity("1023Mi")], []), ([capacity(None)], []),
        ([capacity("2Gi", SSD)], ["a1", "nowhere"]), ([capacity("2Gi", None)], []),
        ([capacity("2Gi", of="placed")], []), ([capacity("9Gi", maximumVolumeSize="1Mi")], []),
        ([capacity("1Mi", maximumVolumeSize="9Gi")], EVERYWHERE),
        ([capacity("1Mi", SSD), capacity("1Gi", {"matchLabels": {"disk": "hdd"}})], ["b1"]),
    ],
    ids=["none", "enough", "too little", "no amount", "of some nodes", "of no node", "of another class",
         "the largest volume", "the largest alone", "several"],
)  # fmt: skip
def test_a_driver_that_reports_capacity_provisions_where_there_is_enough(
    capacities: list[Manifest], left: list[str]
) -> None:
    by_name = {f"default/{number}": one for number, one in enumerate(capacities)}
    for reports in (True, False, None):
        drivers = {} if reports is None else {"example.com/disks": {"spec": {"storageCapacity": reports}}}
        storage = Storage({"default/c": claim("made")}, {}, CLASSES, {}, drivers, by_name)
        found = check(pod("c"), NODES, (), storage=storage)
        assert [name for name, why in found.items() if not why] == (left if reports else EVERYWHERE)
        assert unmodelled(pod("c"), (), NODES, {}, storage) == ()


def test_a_class_may_limit_its_topologies() -> None:
    assert nodes_left(claim("placed")) == ["b1"]
    assert nodes_left(claim("placed"), volume("placed", disk="ssd")) == EVERYWHERE


def test_a_claim_that_is_being_provisioned_has_its_node() -> None:
    selected = claim("made", annotations={"volume.kubernetes.io/selected-node": "b1"})
    assert nodes_left(selected) == ["b1"]
    assert nodes_left(selected, volume("made", disk="ssd")) == ["b1"]


@pytest.mark.parametrize(
    ("owner", "left"), [({"uid": "probe", "controller": True}, EVERYWHERE), ({"uid": "other", "controller": True}, []),
                        ({"uid": "probe"}, []), (None, [])],
    ids=["the pod", "another pod", "not its controller", "no claim"],
)  # fmt: skip
def test_an_ephemeral_volume_is_a_claim_of_its_pod(owner: Manifest | None, left: list[str]) -> None:
    """Its zone does not count, as with kube-scheduler; and it counts against limits."""
    own = pod()
    own["spec"]["volumes"] = [{"name": "own", "ephemeral": {}}]
    made = bound()
    made["metadata"] |= {"name": "probe-own", "ownerReferences": [owner]}
    claims = {} if owner is None else {"default/probe-own": made}
    disk = {**csi("v", "disks"), "metadata": {"name": "v", "labels": {ZONE: "elsewhere"}}}
    for limit in (0, 1):
        driver = {"name": "disks", "allocatable": {"count": limit}}
        limits = {node["metadata"]["name"]: {"spec": {"drivers": [driver]}} for node in NODES}
        storage = Storage(claims, {"v": disk}, CLASSES, limits)
        found = check(own, NODES, (), storage=storage)
        assert [name for name, why in found.items() if not why] == (left if limit else [])
        assert unmodelled(own, (), NODES, {}, storage) == ()


def test_a_volume_to_be_provisioned_counts_against_the_limit_of_its_driver() -> None:
    limits = {"a1": {"spec": {"drivers": [{"name": "example.com/disks", "allocatable": {"count": 1}}]}}}
    claims = {f"default/{name}": {**claim("made"), "metadata": {"name": name, "namespace": "default"}} for name in "xy"}
    storage = Storage(claims, {}, CLASSES, limits)
    found = check(pod("x"), NODES, [user("other", "y")], storage=storage)
    assert [name for name, why in found.items() if not why] == ["b1", "nowhere"]


@pytest.mark.parametrize(
    ("prevents", "there", "left"),
    [(True, [], []), (True, ["a1"], ["a1"]), (False, [], EVERYWHERE), (None, ["a1"], EVERYWHERE)],
)
def test_a_driver_can_keep_pods_off_nodes_without_it(prevents: bool | None, there: list[str], left: list[str]) -> None:
    """`prevents`: None if there is no CSIDriver object."""
    nodes = {name: {"spec": {"drivers": [{"name": "disks", "nodeID": name}]}} for name in there}
    drivers = {} if prevents is None else {"disks": {"spec": {"preventPodSchedulingIfMissing": prevents}}}
    storage = Storage({"default/data": bound()}, {"v": csi("v", "disks")}, CLASSES, nodes, drivers)
    found = check(pod("data"), NODES, (), storage=storage)
    assert [name for name, why in found.items() if not why] == left
