"""The values of fields of pods and nodes that a run must have: those that matter to feasibility, and those that do not.

`FIELDS` has each field with its values, and `REASONS` says why a value occurs in no run, and what it needs. Besides
values of the API, these words are used: see `ABSENT` and those below it, `NAMES`, `RESOURCES`, and `relations`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any

ABSENT, EMPTY, ANY, POSITIVE = "absent", "empty", "any", "above 0"
"""Its parent is there and it is not; it is "", [] or {}; it is there and not empty; it is a number above 0."""
RESOURCES = ("cpu", "memory", "ephemeral-storage", "hugepages-*", "extended")
NAMES = "of a deleted one"
"""A name that an earlier object had, in the same namespace."""
_HOSTNAME = "kubernetes.io/hostname"
OTHER_SPELLING = "0:0:0:0:0:0:0:1"
LEAST_SIZE, MOST_SIZE = 10_000, 20_000
"""Bytes of JSON: the size of Node objects that kubelets register and update."""
REAL_SIZE = "10 to 20 kB"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_TERMS = f"Pod.spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
_SPREAD = "Pod.spec.topologySpreadConstraints[]"
_TOLERATION = "Pod.spec.tolerations[]"
SIDECAR = "Pod.spec.initContainers[restartPolicy: Always]"
_CONTAINERS = ("Pod.spec.containers[]", "Pod.spec.initContainers[]", SIDECAR)
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_REPORTED_RESOURCES = ("cpu", "memory", "hugepages-*", "extended")
"""Others occur by chance: a pod of a world that is resized may request ephemeral storage as well."""
_REPORTED = ("Pod.status.containerStatuses[]", "Pod.status.initContainerStatuses[]")


def _selector(path: str) -> dict[str, Sequence[str]]:
    return {
        path: (ABSENT, EMPTY),
        f"{path}.matchLabels.*": (ANY,),
        f"{path}.matchExpressions[].key": (ANY,),
        f"{path}.matchExpressions[].operator": _OPERATORS,
        f"{path}.matchExpressions[].values": (ANY, ABSENT),
    }


def _about_pods(kind: str) -> dict[str, Sequence[str]]:
    term = f"Pod.spec.affinity.{kind}.{_REQUIRED}[]"
    return {
        f"{term}.topologyKey": (_HOSTNAME, ANY),
        **_selector(f"{term}.labelSelector"),
        f"{term}.namespaces": (ABSENT, EMPTY, ANY),
        **_selector(f"{term}.namespaceSelector"),
        f"{term}.matchLabelKeys": (ABSENT, ANY),
        f"{term}.mismatchLabelKeys": (ABSENT, ANY),
        f"Pod.spec.affinity.{kind}.{_PREFERRED}": (ANY,),
    }


def _container(path: str) -> dict[str, Sequence[str]]:
    return {
        f"{path}.name": (ANY,),
        f"{path}.resources.requests.*": RESOURCES,
        f"{path}.resources.limits.*": RESOURCES,
        f"{path}.ports[].protocol": ("TCP", "UDP", "SCTP"),
        f"{path}.ports[].hostIP": (ABSENT, "0.0.0.0", "127.0.0.1", "::", "::1", OTHER_SPELLING),
        f"{path}.ports[].hostPort": (ABSENT, ANY),
    }


FIELDS: Mapping[str, Sequence[str]] = MappingProxyType({
    # -- nodes
    "Node": (REAL_SIZE,),
    "Node.metadata.name": (NAMES,),
    f"Node.metadata.labels.{_HOSTNAME}": ("the node's name", "another name", "that of another node", ABSENT),
    "Node.metadata.labels.*": (ANY, EMPTY, "that of another node", "another than on another node"),
    "Node.metadata.annotations.*": (ANY,),
    "Node.status.declaredFeatures": (ABSENT, ANY),
    "Node.spec.taints[].key": (ANY,),
    "Node.spec.taints[].value": (ANY, EMPTY, ABSENT),
    "Node.spec.taints[].effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "Node.spec.taints[].timeAdded": (ANY, ABSENT),
    "Node.spec.unschedulable": ("True", ABSENT),
    "Node.spec.podCIDR": (ANY, ABSENT),
    "Node.spec.podCIDRs": (ANY, ABSENT),
    "Node.spec.providerID": (ANY, ABSENT),
    "Node.status.allocatable.*": (*RESOURCES, "pods"),
    "Node.status.capacity.*": (*RESOURCES, "pods"),
    "Node.status.addresses[].type": ("InternalIP", "ExternalIP", "Hostname"),
    "Node.status.addresses[].address": ("IPv4", "IPv6"),
    "Node.status.conditions[].type": (
        "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable",
    ),
    "Node.status.conditions[].status": ("True", "False", "Unknown"),
    "Node.status.images": (ANY, ABSENT),
    "Node.status.nodeInfo.kubeletVersion": (ANY,),
    # -- which node a pod wants
    "Pod.spec.nodeName": (ANY, ABSENT),
    "Pod.spec.nodeSelector.*": (ANY, EMPTY),
    f"{_NODE_TERMS}[].matchExpressions[].key": (ANY,),
    f"{_NODE_TERMS}[].matchExpressions[].operator": (*_OPERATORS, "Gt", "Lt"),
    f"{_NODE_TERMS}[].matchExpressions[].values": (ANY, ABSENT),
    f"{_NODE_TERMS}[].matchFields[].key": ("metadata.name",),
    f"{_NODE_TERMS}[].matchFields[].operator": ("In", "NotIn"),
    f"{_NODE_TERMS}[].matchFields[].values": (ANY,),
    f"{_NODE_TERMS}[]": (EMPTY,),
    f"Pod.spec.affinity.nodeAffinity.{_PREFERRED}": (ANY,),
    # -- taints
    f"{_TOLERATION}.key": (ANY, ABSENT),
    f"{_TOLERATION}.operator": ("Equal", "Exists", ABSENT, "Gt", "Lt"),
    f"{_TOLERATION}.value": (ANY, EMPTY, ABSENT),
    f"{_TOLERATION}.effect": ("NoSchedule", "PreferNoSchedule", "NoExecute", ABSENT),
    f"{_TOLERATION}.tolerationSeconds": ("0", POSITIVE, ABSENT),
    # -- other pods
    **_about_pods("podAffinity"),
    **_about_pods("podAntiAffinity"),
    f"{_SPREAD}.topologyKey": (_HOSTNAME, ANY),
    f"{_SPREAD}.whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    f"{_SPREAD}.maxSkew": ("1", POSITIVE),
    f"{_SPREAD}.minDomains": (ABSENT, POSITIVE),
    f"{_SPREAD}.nodeAffinityPolicy": (ABSENT, "Honor", "Ignore"),
    f"{_SPREAD}.nodeTaintsPolicy": (ABSENT, "Honor", "Ignore"),
    f"{_SPREAD}.matchLabelKeys": (ABSENT, ANY),
    **_selector(f"{_SPREAD}.labelSelector"),
    "Pod.metadata.namespace": ("kube-system", ANY),
    "Pod.metadata.name": (NAMES, "that of a pod in another namespace"),
    "Pod.metadata.labels.*": (ANY, EMPTY),
    "Pod.metadata.deletionTimestamp": (ANY, ABSENT),
    "Pod.status.phase": ("Pending", "Running", "Succeeded", "Failed", "Unknown"),
    # -- resources and ports
    **dict(chain.from_iterable(_container(path).items() for path in _CONTAINERS)),
    "Pod.spec.initContainers[].restartPolicy": (ABSENT, "Always", "OnFailure", "Never"),
    "Pod.spec.containers[].restartPolicyRules[].action": ("Restart", "RestartAllContainers"),
    "Pod.spec.initContainers[].restartPolicyRules[].action": ("RestartAllContainers",),
    "Pod.spec.resources.requests.*": RESOURCES,
    "Pod.spec.resources.limits.*": RESOURCES,
    "Pod.spec.overhead.*": RESOURCES,
    "Pod.spec.hostNetwork": ("True", ABSENT),
    **{f"{path}.name": (ANY,) for path in _REPORTED},
    **{f"{path}.resources.requests.*": _REPORTED_RESOURCES for path in _REPORTED},
    **{f"{path}.allocatedResources.*": _REPORTED_RESOURCES for path in _REPORTED},
    "Pod.status.resources.requests.*": (ANY,),
    "Pod.status.allocatedResources.*": (ANY,),
    "Pod.status.conditions[].type": ("PodScheduled", "PodResizePending"),
    "Pod.status.conditions[].reason": ("Unschedulable", "SchedulingGated", "Deferred", "Infeasible"),
    # -- gates, volumes, claims
    "Pod.spec.schedulingGates[].name": (ANY,),
    "Pod.spec.volumes[].persistentVolumeClaim.claimName": (ANY,),
    "Pod.spec.volumes[].ephemeral": (ANY,),
    "Pod.spec.volumes[].emptyDir": (EMPTY,),
    "Pod.spec.resourceClaims[].name": (ANY,),
    "Pod.spec.resourceClaims[].resourceClaimName": (ANY,),
    "Pod.spec.resourceClaims[].resourceClaimTemplateName": (ANY,),
    "Pod.status.resourceClaimStatuses[].name": (ANY,),
    "Pod.status.resourceClaimStatuses[].resourceClaimName": (ANY,),
    # -- what must not matter
    "Pod.metadata.annotations.*": (ANY, EMPTY),
    "Pod.metadata.finalizers": (ANY, ABSENT),
    "Pod.metadata.ownerReferences": (ANY, ABSENT),
    "Pod.metadata.ownerReferences[].controller": ("True", ABSENT),
    "Pod.spec.activeDeadlineSeconds": (ABSENT, POSITIVE),
    "Pod.spec.automountServiceAccountToken": ("False", ABSENT),
    "Pod.spec.containers[].env": (ANY, ABSENT),
    "Pod.spec.containers[].imagePullPolicy": ("IfNotPresent", "Always", "Never"),
    "Pod.spec.containers[].livenessProbe": (ANY, ABSENT),
    "Pod.spec.containers[].securityContext": (ANY, ABSENT),
    "Pod.spec.containers[].volumeMounts": (ANY, ABSENT),
    "Pod.spec.dnsPolicy": ("ClusterFirst", "Default"),
    "Pod.spec.enableServiceLinks": ("True", "False"),
    "Pod.spec.hostAliases": (ANY, ABSENT),
    "Pod.spec.hostname": (ANY, ABSENT),
    "Pod.spec.preemptionPolicy": ("PreemptLowerPriority", "Never"),
    "Pod.spec.priority": ("0", POSITIVE),
    "Pod.spec.priorityClassName": (ANY, ABSENT),
    "Pod.spec.restartPolicy": ("Always", "OnFailure", "Never"),
    "Pod.spec.serviceAccountName": (ANY,),
    "Pod.spec.shareProcessNamespace": ("True", ABSENT),
    "Pod.spec.terminationGracePeriodSeconds": ("0", POSITIVE),
})  # fmt: skip
"""Fields, and the values that they must have. `[restartPolicy: Always]` selects items of a list."""


def _each(why: str, fields: Sequence[str], *values: str) -> dict[tuple[str, str], str]:
    return {(field, value): why for field in fields for value in values}


_ABOUT_PODS = [f"Pod.spec.affinity.{kind}.{_REQUIRED}[]" for kind in ("podAffinity", "podAntiAffinity")]
_NO_RESIZE = ("hugepages-*", "extended")
REASONS: Mapping[tuple[str, str], str] = MappingProxyType({
    **_each(
        "the apiserver leaves it out, so it is absent",
        ["Node.spec.taints[].value", f"{_TOLERATION}.value", *(f"{term}.namespaces" for term in _ABOUT_PODS)], EMPTY,
    ),
    **_each(
        "route and cloud controllers of a real cluster act on it",
        ["Node.spec.podCIDR", "Node.spec.podCIDRs", "Node.spec.providerID"], ANY,
    ),
    **_each(
        "the node controller taints such a node; it needs a kubelet that stops",
        ["Node.status.conditions[].status"], "Unknown",
    ),
    **_each(
        "it needs the feature gate TaintTolerationComparisonOperators, which is alpha",
        [f"{_TOLERATION}.operator"], "Gt", "Lt",
    ),
    **_each(
        "kube-scheduler counts no pod, the API means all pods: judges give no verdict",
        [f"{_SPREAD}.labelSelector"], EMPTY,
    ),
    **_each("no component of Kubernetes sets it", ["Pod.status.phase"], "Unknown"),
    **_each(
        "kube-scheduler compares text, another scheduler may compare addresses",
        [f"{path}.ports[].hostIP" for path in _CONTAINERS], OTHER_SPELLING,
    ),
    **_each(
        "the apiserver takes only CPU, memory and huge pages",
        ["Pod.spec.resources.requests.*", "Pod.spec.resources.limits.*"], "ephemeral-storage", "extended",
    ),
    **_each(
        "only CPU and memory can be resized",
        [f"{path}.{kind}.*" for path in _REPORTED for kind in ("resources.requests", "allocatedResources")],
        *_NO_RESIZE,
    ),
    **_each(
        "it needs a kubelet that resizes pods as a whole",
        ["Pod.status.resources.requests.*", "Pod.status.allocatedResources.*"], ANY,
    ),
})  # fmt: skip
"""Fields and values that occur in no run, and why not."""


# -- what is found

_KINDS: Mapping[str, str] = MappingProxyType({"Node": "nodes", "Pod": "pods"})


def _tree(fields: Sequence[str]) -> dict[str, Any]:
    """Fields as a tree of the parts of their paths; below the last part, "" leads to the path."""
    tree: dict[str, Any] = {}
    for path in fields:
        below = tree
        # A label's key has dots of its own.
        for part in path.removesuffix(f".{_HOSTNAME}").split("."):
            name, bracket, only = part.partition("[")
            below = below.setdefault(name, {})
            if bracket:
                below = below.setdefault(f"[{only}", {})
        below.setdefault("", path)
    return tree


_TREES = {
    kind: _tree([path for path in FIELDS if path.partition(".")[0] == kind and not path.endswith(_HOSTNAME)])[kind]
    for kind in _KINDS
}


def values_in(manifest: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a Pod or Node (`kind`), each with what is to be said of its value; more than once."""
    yield from _below(manifest, _TREES[kind])


def _below(value: Any, tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part, below in tree.items():
        if part == "":
            yield from ((below, word) for word in _words(value))
        elif part.startswith("["):
            field, _, wanted = part.strip("[]").partition(": ")
            for item in value:
                if not field or item.get(field) == wanted:
                    yield from _below(item, below)
        elif part == "*":
            for key, item in value.items():
                yield from ((below[""], word) for word in (_resource(key), *_words(item)))
        elif part in value:
            yield from _below(value[part], below)
        elif "" in below:
            yield below[""], ABSENT


def _words(value: Any) -> Iterator[str]:
    if value in ("", [], {}):
        yield EMPTY
        return
    yield ANY
    if isinstance(value, int) and value > 0:
        yield POSITIVE
    if not isinstance(value, dict | list):
        yield str(value)
        yield "IPv6" if ":" in str(value) else "IPv4"


def _resource(key: str) -> str:
    return "hugepages-*" if key.startswith("hugepages-") else "extended" if "/" in key else key


class Relations:
    """Finds what is so because of other objects, from the objects of a history in their order."""

    def __init__(self) -> None:
        self._uids: dict[tuple[str, str, str], str] = {}
        """Kind, namespace and name to the uid of the last object."""
        self._pods: dict[str, set[str]] = {}
        """Name to the namespaces in which pods have it now."""
        self._labels: dict[str, Mapping[str, str]] = {}
        """Node to its labels now."""

    def seen(self, manifest: Mapping[str, Any], kind: str, *, gone: bool) -> Iterator[tuple[str, str]]:
        """Take an object as a watch shows it, and yield its fields, with words about their values."""
        metadata = manifest["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        before = self._uids.setdefault((kind, namespace, name), metadata["uid"])
        if before != metadata["uid"]:
            yield f"{kind}.metadata.name", NAMES
        if kind == "Pod":
            places = self._pods.setdefault(name, set())
            (places.discard if gone else places.add)(namespace)
            if len(places) > 1:
                yield "Pod.metadata.name", "that of a pod in another namespace"
        elif gone:
            self._labels.pop(name, None)
        else:
            yield from self._node(name, metadata.get("labels") or {})
            if LEAST_SIZE <= len(json.dumps(manifest, separators=(",", ":"))) <= MOST_SIZE:
                yield "Node", REAL_SIZE

    def _node(self, name: str, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        field, hostname = f"Node.metadata.labels.{_HOSTNAME}", labels.get(_HOSTNAME)
        yield field, ABSENT if hostname is None else "the node's name" if hostname == name else "another name"
        self._labels[name] = labels
        for other in (other for node, other in self._labels.items() if node != name):
            if hostname is not None and hostname == other.get(_HOSTNAME):
                yield field, "that of another node"
            for key in labels.keys() & other.keys() - {_HOSTNAME}:
                same = "that of another node" if labels[key] == other[key] else "another than on another node"
                yield "Node.metadata.labels.*", same
