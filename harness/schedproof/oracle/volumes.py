"""Volumes: on which nodes the volumes of a pod's claims can be used.

Rules: https://kubernetes.io/docs/concepts/storage/persistent-volumes/, the plugins VolumeBinding, VolumeZone,
VolumeRestrictions and NodeVolumeLimits, and k8s.io/component-helpers/storage/volume (FindMatchingVolume). They cover
claims that are bound, and claims that wait for their first consumer, for which a volume exists already or is
provisioned; `gaps` names the rest. Claims of generic ephemeral volumes are claims like others, but belong to their pod.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction

from schedproof.oracle.affinity import selects_node
from schedproof.oracle.manifest import Manifest, full_name, is_owned, labels, namespace, spec, status
from schedproof.oracle.quantity import parse_quantity
from schedproof.oracle.selectors import selects

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_CLASS = "volume.beta.kubernetes.io/storage-class"
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_PLACES = {
    "failure-domain.beta.kubernetes.io/zone": _ZONE, "failure-domain.beta.kubernetes.io/region": _REGION,
    _ZONE: _ZONE, _REGION: _REGION,
}  # fmt: skip
"""The topology labels of volumes and nodes, and their current names."""

_VOLUME = {
    "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
    "storageClassName", "volumeAttributesClassName", "volumeMode",
}  # fmt: skip
_SOURCES = {"csi", "fc", "hostPath", "iscsi", "local", "nfs"}
"""Volume sources of a CSI driver, or without one. Others may count against the limit of a driver that replaces them."""
_ONCE = "ReadWriteOncePod"
_IN_TREE = "kubernetes.io/"
"""How the names of provisioners begin that a CSI driver may replace."""


@dataclasses.dataclass(frozen=True)
class Storage:
    """Claims and CSIStorageCapacities by `namespace/name`; volumes, StorageClasses, CSINodes and CSIDrivers by name.

    A VolumeAttachment that no pod on a node explains counts against its limit as well, and is not known here.
    """

    claims: Mapping[str, Manifest]
    volumes: Mapping[str, Manifest]
    classes: Mapping[str, Manifest]
    nodes: Mapping[str, Manifest] = dataclasses.field(default_factory=dict)
    drivers: Mapping[str, Manifest] = dataclasses.field(default_factory=dict)
    capacities: Mapping[str, Manifest] = dataclasses.field(default_factory=dict)

    def waits(self, claim: Manifest) -> bool:
        """Whether the scheduler binds an unbound claim, for the node that it has chosen."""
        found = self.classes.get(_class_of(claim)) or {}
        return not spec(claim).get("volumeName") and found.get("volumeBindingMode") == "WaitForFirstConsumer"

    def of_class(self, claim: Manifest) -> list[Manifest]:
        """The volumes of the class that a claim requests."""
        return [volume for volume in self.volumes.values() if _class_of(volume) == _class_of(claim)]

    def attached(self, pods: Iterable[Manifest]) -> set[tuple[str, str]]:
        """Driver and handle of the CSI volumes that these pods use: one that several use counts once.

        A claim without a volume counts for the provisioner of its class.
        """
        claims = [self.claims[name] for pod in pods for name in claim_names(pod) if name in self.claims]
        return {used for claim in claims if (used := self._attached(claim))}

    def _attached(self, claim: Manifest) -> tuple[str, str] | None:
        volume = self.volumes.get(spec(claim).get("volumeName") or "")
        if volume is not None:
            csi = spec(volume).get("csi")
            return (csi["driver"], csi["volumeHandle"]) if csi else None
        provisioner = (self.classes.get(_class_of(claim)) or {}).get("provisioner")
        return (provisioner, f"{namespace(claim)}/{_name(claim)}") if provisioner else None

    def not_provisioned(self, claim: Manifest, node: Manifest) -> str:
        """Why no new volume can be provisioned for a claim and a pod on this node; "" if one can."""
        its = self.classes[_class_of(claim)]
        provisioner, places = its.get("provisioner") or "", its.get("allowedTopologies") or ()
        about = f"claim {namespace(claim)}/{_name(claim)}"
        if provisioner in ("", NO_PROVISIONER):
            return f"no volume that this node can use satisfies {about}"
        if places and not any(_is_at(place, node) for place in places):
            return f"{provisioner} provides no volume for {about} here, by the class's allowedTopologies"
        driver = self.drivers.get(provisioner)
        if driver is None or not spec(driver).get("storageCapacity"):
            return ""
        wanted = _size((spec(claim).get("resources") or {}).get("requests"))
        if any(_suffices(one, _class_of(claim), wanted, node) for one in self.capacities.values()):
            return ""
        return f"{provisioner} has too little capacity here for {about}, by its CSIStorageCapacities"

    def limits(self, node: str) -> dict[str, int]:
        """How many volumes of each CSI driver a node can have attached, for drivers with a limit."""
        drivers = spec(self.nodes.get(node) or {}).get("drivers") or ()
        counts = {driver["name"]: (driver.get("allocatable") or {}).get("count") for driver in drivers}
        return {name: count for name, count in counts.items() if count is not None}

    def is_missing(self, driver: str, node: str) -> bool:
        """Whether a CSI driver does not run on a node, and keeps pods with its volumes off such nodes."""
        there = spec(self.nodes.get(node) or {}).get("drivers") or ()
        insists = spec(self.drivers.get(driver) or {}).get("preventPodSchedulingIfMissing")
        return bool(insists) and all(each["name"] != driver for each in there)


class ClaimedVolumes:
    """The volumes of one pod's claims, as far as they decide where the pod can go."""

    def __init__(self, pod: Manifest, storage: Storage | None, placed: Collection[tuple[Manifest, Manifest]]) -> None:
        """`placed`: the other pods, each with its node."""
        self._pod, self._storage, self._placed = pod, storage, placed
        self._everywhere: list[str] = []
        self._bound: list[Manifest] = []
        self._zonal: list[Manifest] = []
        """Those of `_bound` whose zone counts: with kube-scheduler's VolumeZone, it does not for ephemeral volumes."""
        self._waiting: list[tuple[Manifest, list[Manifest]]] = []
        if storage is not None:
            for name in claim_names(pod):
                self._take(name, storage.claims.get(name), storage)
            for name in _ephemeral_names(pod):
                if (claim := storage.claims.get(name)) is not None and not is_owned(claim, pod):
                    self._everywhere.append(f"claim {name} is not of this pod's ephemeral volume")

    def _take(self, name: str, claim: Manifest | None, storage: Storage) -> None:
        if claim is None:
            self._everywhere.append(f"claim {name} does not exist")
        elif claim["metadata"].get("deletionTimestamp"):
            self._everywhere.append(f"claim {name} is being deleted")
        elif status(claim).get("phase") == "Lost":
            self._everywhere.append(f"claim {name} has lost its volume")
        elif is_bound(claim):
            volume = storage.volumes.get(spec(claim)["volumeName"])
            if volume is None:
                self._everywhere.append(f"volume {spec(claim)['volumeName']} of claim {name} does not exist")
            else:
                self._bound.append(volume)
                self._zonal += [volume] if name in _named_claims(self._pod) else []
        elif storage.waits(claim):
            self._waiting.append((claim, storage.of_class(claim)))
        else:
            self._everywhere.append(f"claim {name} has no volume")
        if claim is not None and _ONCE in (spec(claim).get("accessModes") or ()):
            users = (other for other, _ in self._placed if name in claim_names(other))
            self._everywhere += [f"claim {name} is {_ONCE}, and {full_name(other)} uses it" for other in users]

    def objections(self, node: Manifest) -> Iterator[str]:
        """Why the pod's volumes exclude a node."""
        yield from self._everywhere
        for volume in self._bound:
            if not _reaches(volume, node):
                yield f"volume {_name(volume)} cannot be used on this node, by its node affinity"
        for volume in self._zonal:
            yield from _elsewhere(volume, node)
        for claim, volumes in self._waiting:
            yield from self._not_to_be_had(claim, volumes, node)
        yield from self._not_to_be_attached(_name(node))

    def _not_to_be_had(self, claim: Manifest, volumes: list[Manifest], node: Manifest) -> Iterator[str]:
        assert self._storage is not None
        selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if selected not in (None, _name(node)):
            yield f"a volume for claim {namespace(claim)}/{_name(claim)} is being provisioned for node {selected}"
        elif selected is not None or not _can_be_had(claim, volumes, node):
            yield from filter(None, [self._storage.not_provisioned(claim, node)])

    def _not_to_be_attached(self, node: str) -> Iterator[str]:
        """The CSI drivers that are missing on the node, or of which it would have more volumes than it can have."""
        if self._storage is None:
            return
        limits = self._storage.limits(node)
        there = self._storage.attached(other for other, its in self._placed if _name(its) == node)
        its_own = self._storage.attached([self._pod])
        for driver in sorted({driver for driver, _ in its_own}):
            if self._storage.is_missing(driver, node):
                yield f"{driver} does not run here, and its CSIDriver prevents pods with its volumes from being here"
        new = its_own - there
        for driver in sorted({driver for driver, _ in new} & limits.keys()):
            count = sum(one == driver for one, _ in there | new)
            if count > limits[driver]:
                yield f"{count} volumes of {driver} would be attached, of which the node can have {limits[driver]}"


def claim_names(pod: Manifest) -> list[str]:
    """`namespace/name` of the claims that a pod uses, with those of its ephemeral volumes."""
    return list(dict.fromkeys([*_named_claims(pod), *_ephemeral_names(pod)]))


def _named_claims(pod: Manifest) -> list[str]:
    used = [volume["persistentVolumeClaim"] for volume in spec(pod).get("volumes") or () if _is_claim(volume)]
    return [f"{namespace(pod)}/{claim['claimName']}" for claim in used]


def _ephemeral_names(pod: Manifest) -> list[str]:
    """`namespace/name` of the claims that are made for a pod's generic ephemeral volumes."""
    volumes = spec(pod).get("volumes") or ()
    return [
        f"{namespace(pod)}/{_name(pod)}-{volume['name']}" for volume in volumes if volume.get("ephemeral") is not None
    ]


def _is_claim(volume: Manifest) -> bool:
    return bool(volume.get("persistentVolumeClaim"))


def is_bound(claim: Manifest) -> bool:
    """Whether claim and volume name each other: a volumeName alone is only the claim's request."""
    annotations = claim["metadata"].get("annotations") or {}
    return bool(spec(claim).get("volumeName")) and BIND_COMPLETED in annotations


def gaps(pod: Manifest, storage: Storage) -> Iterator[str]:
    """Short names of what a pod's claims use that is not modelled here."""
    claims = [storage.claims[name] for name in claim_names(pod) if name in storage.claims]
    waiting = [claim for claim in claims if not is_bound(claim) and storage.waits(claim)]
    if len(waiting) > 1:  # which of them gets which volume is a matter of order
        yield "several claims that wait for their first consumer"
    for claim in waiting:
        provisioner = storage.classes[_class_of(claim)].get("provisioner") or ""
        if provisioner.startswith(_IN_TREE) and provisioner != NO_PROVISIONER:
            yield f"volumes that {provisioner} provides"
    for claim in claims:
        bound = storage.volumes.get(spec(claim).get("volumeName") or "")
        for volume in storage.of_class(claim) if bound is None else [bound]:
            sources = sorted(spec(volume).keys() - _VOLUME - _SOURCES)
            yield from (f"PersistentVolume.spec.{source}" for source in sources)


def _can_be_had(claim: Manifest, volumes: list[Manifest], node: Manifest) -> bool:
    """Whether a claim can be bound to one of the volumes of its class for a pod on this node.

    If a volume is reserved for the claim, only that one is taken.
    """
    possible = [volume for volume in volumes if _may_be_bound(claim, volume)]
    reserved = [volume for volume in possible if spec(volume).get("claimRef")]
    if reserved:
        return _reaches(reserved[0], node)
    return any(_is_free(claim, volume) and _reaches(volume, node) for volume in possible)


def _is_at(place: Manifest, node: Manifest) -> bool:
    """Whether a term of a class's allowedTopologies selects a node; a term without expressions selects none."""
    expressions = place.get("matchLabelExpressions") or ()
    return bool(expressions) and all(labels(node).get(one["key"]) in one["values"] for one in expressions)


def _suffices(capacity: Manifest, storage_class: str, wanted: Fraction, node: Manifest) -> bool:
    """Whether by a CSIStorageCapacity a volume of a class and this size can be provisioned for a node."""
    offered, reachable = capacity.get("maximumVolumeSize") or capacity.get("capacity"), capacity.get("nodeTopology")
    return (
        capacity.get("storageClassName") == storage_class
        and offered is not None
        and parse_quantity(offered) >= wanted
        and reachable is not None
        and selects(reachable, labels(node))
    )


def _may_be_bound(claim: Manifest, volume: Manifest) -> bool:
    wanted, offered = spec(claim), spec(volume)
    return (
        _is_for(claim, offered.get("claimRef"))
        and _size(offered.get("capacity")) >= _size((wanted.get("resources") or {}).get("requests"))
        and (wanted.get("volumeMode") or "Filesystem") == (offered.get("volumeMode") or "Filesystem")
        and (wanted.get("volumeAttributesClassName") or "") == (offered.get("volumeAttributesClassName") or "")
        and not volume["metadata"].get("deletionTimestamp")
    )


def _is_for(claim: Manifest, reference: Manifest | None) -> bool:
    """Whether a volume is reserved for no other claim."""
    if not reference:
        return True
    mine = claim["metadata"]
    named = (reference.get("namespace") or "", reference.get("name")) == (namespace(claim), mine["name"])
    return named and reference.get("uid") in (None, "", mine.get("uid"))


def _is_free(claim: Manifest, volume: Manifest) -> bool:
    selector = spec(claim).get("selector")
    return (
        status(volume).get("phase") == "Available"
        and (selector is None or selects(selector, labels(volume)))
        and set(spec(claim).get("accessModes") or ()) <= set(spec(volume).get("accessModes") or ())
    )


def _reaches(volume: Manifest, node: Manifest) -> bool:
    """Whether a volume can be used on a node, by its node affinity: of that, only labels count, and not the name."""
    required = (spec(volume).get("nodeAffinity") or {}).get("required")
    nameless = {"metadata": {"name": "", "labels": labels(node)}}
    return required is None or any(selects_node(term, nameless) for term in required.get("nodeSelectorTerms") or ())


def _elsewhere(volume: Manifest, node: Manifest) -> Iterator[str]:
    """Topology labels of a volume whose value a node does not have; a node without any of the labels matches all."""
    own = labels(node)
    if not own.keys() & _PLACES.keys():
        return
    for label, name in _PLACES.items():
        # Several are separated by __.
        places = {place.strip() for place in labels(volume).get(label, "").split("__")}
        if "" not in places and own.get(label, own.get(name)) not in places:
            yield f"volume {_name(volume)} is at {label}={labels(volume)[label]}"


def _class_of(manifest: Manifest) -> str:
    """The spec of a claim, or of a volume."""
    annotations = manifest["metadata"].get("annotations") or {}
    return str(annotations.get(_CLASS, spec(manifest).get("storageClassName") or ""))


def _size(amounts: Manifest | None) -> Fraction:
    return parse_quantity((amounts or {}).get("storage") or "0")


def _name(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])
