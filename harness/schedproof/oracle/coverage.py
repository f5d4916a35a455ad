"""The limits of the oracle: a caller must know when its result would be a guess.

The list follows the plugins that kube-scheduler 1.36 enables by default and their feature gates
(pkg/scheduler/apis/config/v1/default_plugins.go). Not modelled: disks of VolumeRestrictions, in-tree
volumes of NodeVolumeLimits, and TopologyAwareWorkloadScheduling; groups of pods are in `oracle.groups`.

Unknown fields of a pod's spec are named too, so that with a newer Kubernetes the oracle gives no verdict instead of a
wrong one. Fields of status.* are not: a rule that reads them needs a pod that requests it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from schedproof.oracle import dra, volumes
from schedproof.oracle.dra import Inventory
from schedproof.oracle.manifest import (
    Manifest,
    containers,
    full_name,
    identity,
    init_containers,
    occupants,
    priority,
    spec,
    status,
)
from schedproof.oracle.resources import needed
from schedproof.oracle.selectors import hard_constraints, means, required_terms
from schedproof.oracle.spread import counted_by
from schedproof.oracle.volumes import Storage

_MODELLED = {
    "affinity", "containers", "hostNetwork", "initContainers", "nodeSelector", "overhead", "resources",
    "schedulingGates", "tolerations", "topologySpreadConstraints", "volumes",
}  # fmt: skip
_NO_EFFECT = {
    "activeDeadlineSeconds", "automountServiceAccountToken", "dnsConfig", "dnsPolicy",
    "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostPID", "hostUsers",
    "hostname", "hostnameOverride", "imagePullSecrets", "nodeName", "os", "preemptionPolicy",
    "priority", "priorityClassName", "readinessGates", "restartPolicy", "runtimeClassName",
    "schedulerName", "schedulingGroup", "securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN",
    "shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds",
}  # fmt: skip
"""Fields that no filter of nodes reads. (An `os` is for admission and the kubelet; admission turns a runtime class into
overhead, node selector and tolerations; priority acts through the queue and preemption; a `schedulingGroup` lets its
pods wait for one another: `core/gang` is about that.)
"""

_CONTAINER = {
    "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe",
    "name", "ports", "readinessProbe", "resizePolicy", "resources", "restartPolicy",
    "restartPolicyRules", "securityContext", "startupProbe", "stdin", "stdinOnce",
    "terminationMessagePath", "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts",
    "workingDir",
}  # fmt: skip
_AFFINITY = {"nodeAffinity", "podAffinity", "podAntiAffinity"}
_TERM = {
    "labelSelector", "matchLabelKeys", "mismatchLabelKeys", "namespaceSelector", "namespaces", "topologyKey",
}  # fmt: skip
_CONSTRAINT = {
    "labelSelector", "matchLabelKeys", "maxSkew", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy",
    "topologyKey", "whenUnsatisfiable",
}  # fmt: skip
_NODE = {"configSource", "externalID", "podCIDR", "podCIDRs", "providerID", "taints", "unschedulable"}
_FREE_VOLUMES = {
    "cephfs", "configMap", "csi", "downwardAPI", "emptyDir", "fc", "flexVolume", "flocker", "gitRepo",
    "glusterfs", "hostPath", "image", "nfs", "projected", "quobyte", "scaleIO", "secret", "storageos",
}  # fmt: skip
"""Volume sources that can be used anywhere. The others are claims, disks that exclude one another
(VolumeRestrictions), or in-tree volumes that count against a CSI driver's limit (NodeVolumeLimits)."""


def unmodelled(
    pod: Manifest,
    pods: Iterable[Manifest],
    nodes: Iterable[Manifest],
    namespaces: Mapping[str, Mapping[str, str]] | None = None,
    storage: Storage | None = None,
    inventory: Inventory | None = None,
) -> tuple[str, ...]:
    """Short names of things in use that could change where the pod may go, and that `check` does not model.

    If empty, the result of `check` for the same arguments is reliable. Invisible settings are assumed: the scheduler's
    plugin arguments and feature gates are the defaults, and without an inventory no DeviceClass stands for an extended
    resource.
    """
    others = [other for other in pods if identity(other) != identity(pod)]
    found = [
        *_fields(pod, inventory),
        *_volumes(pod, storage),
        *_claims(pod, others, inventory),
        *_features(pod),
        *_inter_pod(pod),
        *([] if namespaces is not None else _unknown_namespaces(pod, others)),
    ]
    for node in nodes:
        name = node["metadata"]["name"]
        found += [f"spec.{field} of node {name}" for field in sorted(_used(spec(node)) - _NODE)]
    return tuple(dict.fromkeys(found))


def _used(fields: Manifest) -> set[str]:
    return {name for name, value in fields.items() if value not in (None, "", [], {}, False)}


def _fields(pod: Manifest, inventory: Inventory | None) -> Iterator[str]:
    modelled = _MODELLED if inventory is None else _MODELLED | {"resourceClaims"}
    # Here what is to come turns up.
    yield from (f"spec.{field}" for field in sorted(_used(spec(pod)) - modelled - _NO_EFFECT))
    if inventory is not None:
        yield from dra.gaps(pod, inventory)
    for kind, listed in (("containers", containers(pod)), ("initContainers", init_containers(pod))):
        for container in listed:
            yield from (f"spec.{kind}[].{field}" for field in sorted(_used(container) - _CONTAINER))
    for toleration in spec(pod).get("tolerations") or ():
        operator = toleration.get("operator") or "Equal"
        if operator not in ("Equal", "Exists"):  # Lt and Gt: feature gate TaintTolerationComparisonOperators
            yield f"spec.tolerations[] with operator {operator}"


def _volumes(pod: Manifest, storage: Storage | None) -> Iterator[str]:
    modelled = _FREE_VOLUMES if storage is None else _FREE_VOLUMES | {"persistentVolumeClaim", "ephemeral"}
    for volume in spec(pod).get("volumes") or ():
        # An empty source ({}) is a source: `emptyDir: {}`.
        yield from (f"spec.volumes[].{source}" for source in sorted(volume.keys() - {"name"} - modelled))
    if storage is not None:
        yield from volumes.gaps(pod, storage)


def _claims(pod: Manifest, others: Iterable[Manifest], inventory: Inventory | None) -> Iterator[str]:
    """Extended resources that an unknown DeviceClass stands for (DRAExtendedResource, on in 1.36).

    If a node does not offer such a resource, DynamicResources decides the fit. The class shows in the resource's name,
    or in the status of pods that use it.
    """
    if inventory is None:
        given = [status(user).get("extendedResourceClaimStatus") or {} for user in (pod, *others)]
        mapped = {mapping["resourceName"] for claim in given for mapping in claim.get("requestMappings") or ()}
        for resource in needed(pod):
            if resource in mapped or resource.startswith(dra.IMPLICIT):
                yield f"a DeviceClass behind {resource}"
    for user in (pod, *others):  # feature gate DRANodeAllocatableResources
        if status(user).get("nodeAllocatableResourceClaimStatuses"):
            yield f"status.nodeAllocatableResourceClaimStatuses of {full_name(user)}"


def _features(pod: Manifest) -> Iterator[str]:
    """What a pod uses that a node must have declared, behind a gate that is off (see `oracle.declared`)."""
    if spec(pod).get("hostNetwork") and spec(pod).get("hostUsers") is False:
        yield "declared node feature UserNamespacesHostNetworkSupport"


def _inter_pod(pod: Manifest) -> Iterator[str]:
    affinity = spec(pod).get("affinity") or {}
    for kind in sorted(affinity.keys() - _AFFINITY):
        if (affinity[kind] or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
            yield f"spec.affinity.{kind} (required)"
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in required_terms(pod, kind):
            yield from (f"spec.affinity.{kind}[].{field}" for field in sorted(_used(term) - _TERM))
    for constraint in hard_constraints(pod):
        yield from (f"spec.topologySpreadConstraints[].{field}" for field in sorted(_used(constraint) - _CONSTRAINT))
        selector = counted_by(constraint, pod)
        if selector is not None and not _used(selector):
            # The API says that an empty selector selects all; kube-scheduler counts no pod by it, but the new one
            # itself (podtopologyspread/common.go, countPodsMatchSelector).
            yield "spec.topologySpreadConstraints[] with an empty labelSelector"


def _unknown_namespaces(pod: Manifest, others: Iterable[Manifest]) -> Iterator[str]:
    """Affinity terms that select namespaces by labels, if these are not known."""
    own = [(pod, term) for kind in ("podAffinity", "podAntiAffinity") for term in required_terms(pod, kind)]
    for owner, term in (*own, *_guards(pod, others)):
        if _used(term.get("namespaceSelector") or {}):
            yield f"the namespaceSelector of {full_name(owner)}"


def _guards(pod: Manifest, others: Iterable[Manifest]) -> Iterator[tuple[Manifest, Manifest]]:
    """Pods on nodes whose required anti-affinity may match the pod, and the term: it repels new pods, too."""
    for neighbours in occupants(others).values():
        for neighbour in neighbours:
            for term in required_terms(neighbour, "podAntiAffinity"):
                if means(term, neighbour, pod, None):
                    yield neighbour, term


def rules_about_others(pod: Manifest, pods: Iterable[Manifest]) -> tuple[str, ...]:
    """Short names of the rules in use by which pods on other nodes than the pod's own matter."""
    found = [
        f"spec.affinity.{kind} (required)" for kind in ("podAffinity", "podAntiAffinity") if required_terms(pod, kind)
    ]
    found += ["spec.topologySpreadConstraints (DoNotSchedule)"] if hard_constraints(pod) else []
    found += ["spec.volumes[].persistentVolumeClaim (ReadWriteOncePod)"] if volumes.claim_names(pod) else []
    others = (other for other in pods if identity(other) != identity(pod))
    found += [f"required anti-affinity of {full_name(guard)}" for guard, _ in _guards(pod, others)]
    return tuple(dict.fromkeys(found))


def kept_free(pod: Manifest, pods: Iterable[Manifest]) -> tuple[str, ...]:
    """Short names of the pods in `holders`, whose room pods of no higher priority leave free."""
    return tuple(f"status.nominatedNodeName of {full_name(other)}" for other in holders(pod, pods))


def holders(pod: Manifest, pods: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Those of `pods` that are about to be bound, and whose room `pod` leaves free, having no higher priority.

    It fits if it fits both without them, and with them on the nodes that they name: `as_if_bound`.
    (pkg/scheduler/framework/runtime, RunFilterPluginsWithNominatedPods. Besides preemptors, pods of a scheduler with
    slow Permit or PreBind plugins are nominated: schedule_one.go, NominatedNodeNameForExpectation.)
    """
    return tuple(
        other
        for other in pods
        if identity(other) != identity(pod)
        and not spec(other).get("nodeName")
        and status(other).get("phase") not in ("Succeeded", "Failed")
        and status(other).get("nominatedNodeName")
        and priority(other) >= priority(pod)
    )


def as_if_bound(holder: Manifest) -> Manifest:
    """A nominated pod as if it were bound to its node."""
    return {**holder, "spec": {**spec(holder), "nodeName": status(holder)["nominatedNodeName"]}}
