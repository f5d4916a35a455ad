"""What clauses are about, as far as pods and nodes of other clauses may have it too: one table for the whole harness.

A candidate that excludes a clause, or does not claim its feature, does not support the clause's subject. Pods of other
clauses then do without it: in suites, in their variation, in random worlds, and among the pods of a whole run. Where a
clause cannot do without it, it is not judged.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from schedproof.candidate.claims import Claims, Exclusion

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NATIVE = frozenset({"cpu", "memory", "pods"})
_STORAGE, _HUGE = "ephemeral-storage", "hugepages-"


class Subject(enum.StrEnum):
    """What a pod needs, or a node has. The value completes "needs ..."."""

    CPU = "CPU"
    MEMORY = "memory"
    EPHEMERAL_STORAGE = "ephemeral storage"
    EXTENDED_RESOURCES = "an extended resource"
    HUGE_PAGES = "huge pages"
    NUMBER_OF_PODS = "a node's number of pods"
    SEVERAL_CONTAINERS = "several containers"
    INIT_CONTAINERS = "an init container"
    SIDECARS = "sidecars"
    OVERHEAD = "a RuntimeClass with overhead"
    POD_LEVEL_RESOURCES = "pod-level resources"
    LIMITS = "limits"
    UNITS = "amounts in other units"
    LABELS = "more labels"
    ANNOTATIONS = "an annotation"
    OWNERS = "an owner that other pods have too"
    UNREAD_FIELDS = "fields that no rule reads"
    NODE_SELECTOR = "a node selector"
    NODE_AFFINITY = "node affinity"
    TAINTS = "taints"
    TOLERATIONS = "tolerations"
    CORDONS = "a cordoned node"
    HOST_PORTS = "host ports"
    ENDED_PODS = "pods that have ended, or are terminating"
    POD_AFFINITY = "affinity to other pods"
    TOPOLOGY_SPREAD = "topology spread"
    GATES = "scheduling gates"
    IN_PLACE_RESIZE = "an in-place resize"
    RETRIES = "another attempt for a pod that comes to fit"
    RESTARTS = "a restart of the scheduler"
    BROKEN_CONNECTIONS = "connections to the apiserver that end"
    REFUSED_BINDINGS = "a Binding that is refused"
    RETURNING_NODES = "a node that is deleted, or registers again"


CLAUSES: Mapping[Subject, tuple[str, ...]] = MappingProxyType(
    {
        Subject.CPU: ("core/fit-cpu",),
        Subject.MEMORY: ("core/fit-memory",),
        Subject.EPHEMERAL_STORAGE: ("core/fit-ephemeral",),
        Subject.EXTENDED_RESOURCES: ("core/fit-extended",),
        Subject.HUGE_PAGES: ("core/fit-hugepages",),
        Subject.NUMBER_OF_PODS: ("core/fit-pods",),
        Subject.SEVERAL_CONTAINERS: ("core/fit-cpu",),
        Subject.INIT_CONTAINERS: ("core/fit-init",),
        Subject.SIDECARS: ("core/fit-sidecar",),
        Subject.OVERHEAD: ("core/fit-overhead",),
        Subject.POD_LEVEL_RESOURCES: ("core/fit-pod-level",),
        Subject.LIMITS: ("core/fit-cpu",),
        Subject.UNITS: ("core/fit-cpu",),
        Subject.LABELS: ("core/binds",),
        Subject.ANNOTATIONS: ("core/binds",),
        Subject.OWNERS: ("core/binds",),
        Subject.UNREAD_FIELDS: ("core/binds",),
        Subject.NODE_SELECTOR: ("core/node-selector",),
        Subject.NODE_AFFINITY: ("core/node-affinity",),
        Subject.TAINTS: ("core/taint-noschedule", "core/taint-noexecute", "core/toleration"),
        Subject.TOLERATIONS: ("core/toleration",),
        Subject.CORDONS: ("core/cordon", "core/cordon-tolerated"),
        Subject.HOST_PORTS: ("core/host-port",),
        Subject.ENDED_PODS: ("core/fit-terminated",),
        Subject.POD_AFFINITY: (
            "core/pod-affinity", "core/pod-anti-affinity", "core/anti-affinity-symmetry", "core/affinity-namespaces",
        ),
        Subject.TOPOLOGY_SPREAD: ("core/topology-spread",),
        Subject.GATES: ("core/scheduling-gates",),
        Subject.IN_PLACE_RESIZE: ("core/fit-resize",),
        Subject.RETRIES: (
            "core/requeue-label-changed", "core/requeue-pod-deleted", "core/requeue-node-added",
            "core/requeue-taint-removed", "core/requeue-uncordon", "core/requeue-node-resized",
            "core/requeue-pod-added", "core/requeue-spread", "core/requeue-affinity",
        ),
        Subject.RESTARTS: ("core/restart",),
        Subject.BROKEN_CONNECTIONS: ("core/watch-reconnect",),
        Subject.REFUSED_BINDINGS: ("core/conflict-forgiven",),
        Subject.RETURNING_NODES: ("core/node-recreated", "core/bind-existing-node"),
    }
)  # fmt: skip
"""The clauses about each subject."""
_FEATURES = {
    Subject.POD_LEVEL_RESOURCES: "pod-level-resources",
    Subject.IN_PLACE_RESIZE: "in-place-resize",
    Subject.POD_AFFINITY: "pod-affinity",
    Subject.TOPOLOGY_SPREAD: "topology-spread",
}
"""The feature that a candidate claims for a subject; others need none."""


def left_out(claims: Claims, exclusions: Sequence[Exclusion], clause: str = "") -> Mapping[Subject, str]:
    """Return each subject that pods of `clause` do without, and the clause about it that does not apply.

    `clause`: the clause to be tried, whose own subject its pods have; "" for pods of no clause.
    """
    excluded = {exclusion.clause for exclusion in exclusions}
    found = {}
    for subject, clauses in CLAUSES.items():
        unclaimed = _FEATURES.get(subject, "") not in ("", *claims.features)
        without = clauses if unclaimed else tuple(one for one in clauses if one in excluded)
        if without and clause not in clauses:
            found[subject] = without[0]
    return found


def subjects_of(spec: Mapping[str, Any]) -> frozenset[Subject]:
    """Return what a pod with this `spec` needs, as far as a scheduler has to support it to place the pod.

    Requests of CPU and memory, labels and tolerations are left out: a pod with them may fit everywhere.
    """
    return frozenset(_subjects_of(spec))


def _subjects_of(spec: Mapping[str, Any]) -> Iterator[Subject]:
    containers, inits = spec.get("containers") or (), spec.get("initContainers") or ()
    sidecars = [container for container in inits if container.get("restartPolicy") == "Always"]
    resources = [
        *(container.get("resources") or {} for container in (*containers, *inits)),
        spec.get("resources") or {},
    ]
    requested = {
        name for one in resources for kind in ("requests", "limits") for name in one.get(kind) or ()
    } - _NATIVE  # fmt: skip
    huge = {name for name in requested if name.startswith(_HUGE)}
    ports = [port for container in (*containers, *inits) for port in container.get("ports") or ()]
    affinity = spec.get("affinity") or {}
    about_pods = (affinity.get(kind) or {} for kind in ("podAffinity", "podAntiAffinity"))
    needs = {
        Subject.EPHEMERAL_STORAGE: _STORAGE in requested,
        Subject.EXTENDED_RESOURCES: bool(requested - {_STORAGE} - huge),
        Subject.HUGE_PAGES: bool(huge),
        Subject.INIT_CONTAINERS: len(inits) > len(sidecars),
        Subject.SIDECARS: bool(sidecars),
        Subject.OVERHEAD: bool(spec.get("runtimeClassName")),
        Subject.POD_LEVEL_RESOURCES: bool(spec.get("resources")),
        Subject.NODE_AFFINITY: bool((affinity.get("nodeAffinity") or {}).get(_REQUIRED)),
        Subject.HOST_PORTS: any(port.get("hostPort") or spec.get("hostNetwork") for port in ports),
        Subject.POD_AFFINITY: any(terms.get(_REQUIRED) for terms in about_pods),
        Subject.TOPOLOGY_SPREAD: any(
            constraint.get("whenUnsatisfiable") == "DoNotSchedule"
            for constraint in spec.get("topologySpreadConstraints") or ()
        ),
        Subject.GATES: bool(spec.get("schedulingGates")),
    }
    yield from (subject for subject, needed in needs.items() if needed)
