"""The oracle reports fields that it does not model, and only those."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.coverage import kept_free, rules_about_others, unmodelled
from schedproof.oracle.dra import Inventory

Manifest = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(
    name: str = "probe", *, status: Manifest | None = None, labels: dict[str, str] | None = None,
    namespace: str = "default", **spec: Any,
) -> Manifest:  # fmt: skip
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}},
        "spec": {"containers": [{"name": "main", "image": "i", "resources": {}}], **spec},
        "status": status or {},
    }


NODE = {
    "metadata": {"name": "n1"},
    "spec": {"podCIDR": "10.0.0.0/24", "providerID": "x", "taints": [], "unschedulable": True},
}

AS_THE_API_RETURNS_IT = pod(
    status={"phase": "Pending", "qosClass": "BestEffort", "conditions": [{"type": "PodScheduled", "status": "False"}]},
    affinity={
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}},
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]},
    },
    containers=[{
        "name": "main", "image": "i", "imagePullPolicy": "Always", "resources": {"requests": {"x.io/gpu": "1"}},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "volumeMounts": [{"name": "token", "mountPath": "/token"}], "restartPolicyRules": [{"action": "Restart"}],
        "ports": [{"containerPort": 80, "hostPort": 80}],
    }],
    initContainers=[{"name": "sidecar", "restartPolicy": "Always"}],
    dnsPolicy="ClusterFirst", enableServiceLinks=True, hostNetwork=True, hostUsers=True, nodeName="n1",
    nodeSelector={"a": "b"}, os={"name": "linux"}, overhead={"cpu": "1m"}, preemptionPolicy="PreemptLowerPriority",
    priority=7, resources={"requests": {"cpu": "1"}}, restartPolicy="Always", runtimeClassName="r",
    schedulerName="s", schedulingGates=[{"name": "g"}], securityContext={}, serviceAccount="default",
    serviceAccountName="default", terminationGracePeriodSeconds=30,
    tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, {"key": "b"}],
    topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    volumes=[
        {"name": "token", "projected": {"sources": []}}, {"name": "scratch", "emptyDir": {}},
        {"name": "host", "hostPath": {"path": "/"}}, {"name": "settings", "configMap": {"name": "c"}},
        {"name": "driver", "csi": {"driver": "inline"}},
    ],
)  # fmt: skip


def test_modelled_and_irrelevant_fields_are_not_reported() -> None:
    """A pod with every field that the oracle models has no gap."""
    neighbour = AS_THE_API_RETURNS_IT | {"metadata": {"name": "other", "namespace": "default", "uid": "other"}}
    assert unmodelled(AS_THE_API_RETURNS_IT, [AS_THE_API_RETURNS_IT, neighbour], [NODE]) == ()


def claim(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "data", **source}]}


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"affinity": {"podAffinity": {REQUIRED: [{"mood": "good"}]}}}, "spec.affinity.podAffinity[].mood"),
        ({"affinity": {"podAntiAffinity": {REQUIRED: [{"mood": "bad"}]}}}, "spec.affinity.podAntiAffinity[].mood"),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{"namespaceSelector": {"matchLabels": {"a": "b"}}}]}}},
            "the namespaceSelector of default/probe",
        ),
        ({"affinity": {"rackAffinity": {REQUIRED: [{}]}}}, "spec.affinity.rackAffinity (required)"),
        (
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule", "mood": "even"}]},
            "spec.topologySpreadConstraints[].mood",
        ),
        (
            {"topologySpreadConstraints": [{"labelSelector": {"matchLabels": {}}}]},
            "spec.topologySpreadConstraints[] with an empty labelSelector",
        ),
        (claim(persistentVolumeClaim={"claimName": "c"}), "spec.volumes[].persistentVolumeClaim"),
        (claim(ephemeral={"volumeClaimTemplate": {}}), "spec.volumes[].ephemeral"),
        (claim(gcePersistentDisk={"pdName": "d"}), "spec.volumes[].gcePersistentDisk"),
        (claim(iscsi={"iqn": "q"}), "spec.volumes[].iscsi"),
        (claim(tape={}), "spec.volumes[].tape"),
        ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims"),
        ({"workloadRef": {"name": "w"}}, "spec.workloadRef"),
        ({"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]}, "spec.tolerations[] with operator Gt"),
        ({"hostNetwork": True, "hostUsers": False}, "declared node feature UserNamespacesHostNetworkSupport"),
        ({"containers": [{"name": "m", "warpDrive": {"speed": 9}}]}, "spec.containers[].warpDrive"),
        ({"initContainers": [{"name": "m", "warpDrive": True}]}, "spec.initContainers[].warpDrive"),
        ({"somethingOfTomorrow": 1}, "spec.somethingOfTomorrow"),
        (
            {"containers": [{"name": "m", "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}}]},
            "a DeviceClass behind deviceclass.resource.kubernetes.io/gpu",
        ),
    ],
)
def test_unmodelled_field_is_named(spec: dict[str, Any], named: str) -> None:
    """Known fields that are not modelled, and unknown fields."""
    assert unmodelled(pod(**spec), [], [NODE]) == (named,)


@pytest.mark.parametrize("empty", [None, [], {}, "", False])
def test_unused_field_is_not_named(empty: object) -> None:
    """A client may write unused fields with empty values."""
    assert unmodelled(pod(resourceClaims=empty, somethingOfTomorrow=empty), [], [NODE]) == ()


def test_unknown_field_of_a_node_spec_is_named() -> None:
    """Like taints, such a field may repel pods."""
    node = {"metadata": {"name": "n1"}, "spec": {"moonPhase": "full"}, "status": {"somethingElse": 1}}
    assert unmodelled(pod(), [], [node]) == ("spec.moonPhase of node n1",)


def test_each_gap_is_named_once() -> None:
    """Even if several constraints use the field."""
    constraint = {"whenUnsatisfiable": "DoNotSchedule", "mood": "even"}
    assert unmodelled(pod(topologySpreadConstraints=[constraint, constraint]), [], []) == (
        "spec.topologySpreadConstraints[].mood",
    )


def guarded(*, namespace: str = "default", node: str = "n1", phase: str = "Running", **term: Any) -> Manifest:
    affinity = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", **term}]}}
    return pod("guard", namespace=namespace, affinity=affinity, nodeName=node, status={"phase": phase})


WEB = {"labelSelector": {"matchLabels": {"app": "web"}}}


@pytest.mark.parametrize(
    ("described", "neighbour", "named"),
    [
        ("selects the pod", guarded(**WEB), True),
        (
            "selects it by an expression",
            guarded(labelSelector={"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
            True,
        ),
        ("selects all pods", guarded(labelSelector={}), True),
        ("has no selector, which selects none", guarded(), False),
        ("selects other pods", guarded(labelSelector={"matchLabels": {"app": "db"}}), False),
        (
            "selects other pods by an expression",
            guarded(labelSelector={"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
            False,
        ),
        ("applies to its own namespace", guarded(namespace="elsewhere", **WEB), False),
        ("names the pod's namespace", guarded(namespace="elsewhere", namespaces=["default"], **WEB), True),
        ("names another namespace", guarded(namespaces=["elsewhere"], **WEB), False),
        (
            "may select the pod's namespace by its labels",
            guarded(namespace="elsewhere", namespaceSelector={"matchLabels": {"a": "b"}}, **WEB),
            True,
        ),
        ("is not bound", guarded(node="", **WEB), False),
        ("has terminated", guarded(phase="Succeeded", **WEB), False),
    ],
)
def test_anti_affinity_of_bound_pods_is_named_if_it_may_apply_to_the_pod(
    described: str, neighbour: Manifest, named: bool
) -> None:
    """Required anti-affinity is symmetric: it also repels pods that do not have it."""
    expected = ("required anti-affinity of " + f"{neighbour['metadata']['namespace']}/guard",) if named else ()
    assert rules_about_others(pod(labels={"app": "web"}), [neighbour]) == expected, described


def test_anti_affinity_of_the_pod_itself_is_named_once() -> None:
    """A bound pod is not its own neighbour."""
    own = guarded(**WEB)
    own["metadata"]["labels"] = {"app": "web"}
    assert rules_about_others(own, [own]) == ("spec.affinity.podAntiAffinity (required)",)


def test_namespace_selector_of_a_neighbour_is_named_if_labels_are_unknown() -> None:
    """The oracle decides once the labels are known."""
    selecting = {"namespaceSelector": {"matchLabels": {"a": "b"}}, **WEB}
    here, neighbour = pod(labels={"app": "web"}), guarded(namespace="elsewhere", **selecting)
    assert unmodelled(here, [neighbour], [NODE]) == ("the namespaceSelector of elsewhere/guard",)
    assert unmodelled(here, [neighbour], [NODE], {"default": {}}) == ()
    assert unmodelled(pod(labels={"app": "db"}), [neighbour], [NODE]) == ()


@pytest.mark.parametrize(
    ("described", "other", "named"),
    [
        ("nominated, higher priority", pod("n", priority=5, status={"nominatedNodeName": "n1"}), True),
        ("nominated, same priority", pod("n", priority=1, status={"nominatedNodeName": "n1"}), True),
        ("nominated, lower priority", pod("n", priority=0, status={"nominatedNodeName": "n1"}), False),
        ("bound since", pod("n", priority=5, nodeName="n1", status={"nominatedNodeName": "n1"}), False),
        ("failed since", pod("n", priority=5, status={"nominatedNodeName": "n1", "phase": "Failed"}), False),
        ("not nominated", pod("n", priority=5), False),
    ],
)
def test_nominated_pod_of_no_lower_priority_is_named(described: str, other: Manifest, named: bool) -> None:
    """Pods of the same or a lower priority leave these resources free, although the node appears to have room."""
    expected = ("status.nominatedNodeName of default/n",) if named else ()
    assert kept_free(pod(priority=1), [other]) == expected, described
    assert unmodelled(pod(priority=1), [other], [NODE]) == ()


def test_extended_resource_of_a_device_class_is_named() -> None:
    """A device allocated to another pod shows that the amount on the node does not decide alone."""
    mapping = {"containerName": "main", "resourceName": "x.io/gpu", "requestName": "r"}
    served = pod("served", nodeName="n1", status={"extendedResourceClaimStatus": {"requestMappings": [mapping]}})
    wants = pod(containers=[{"name": "main", "resources": {"requests": {"x.io/gpu": "1"}}}])
    assert unmodelled(wants, [served], [NODE]) == ("a DeviceClass behind x.io/gpu",)
    assert unmodelled(pod(), [served], [NODE]) == ()
    assert unmodelled(wants, [served], [NODE], inventory=Inventory({}, {}, {})) == ()


def test_node_resources_allocated_by_claims_are_named() -> None:
    """Otherwise the oracle would count too little usage (feature gate DRANodeAllocatableResources)."""
    user = pod("user", nodeName="n1", status={"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "c"}]})
    assert unmodelled(pod(), [user], [NODE]) == ("status.nodeAllocatableResourceClaimStatuses of default/user",)
