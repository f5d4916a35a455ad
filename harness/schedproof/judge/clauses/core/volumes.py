"""Whether pods run where their volumes are usable, and their claims were bound before.

Source: https://kubernetes.io/docs/concepts/storage/persistent-volumes/ and storage-limits/, the plugins VolumeBinding,
VolumeZone, VolumeRestrictions and NodeVolumeLimits.
"""

from __future__ import annotations

from schedproof.history.history import History
from schedproof.history.observations import WatchEvent
from schedproof.history.watched import Binding
from schedproof.history.world import key
from schedproof.judge.clause import CHANGE_NODES, SEVERAL_NODES, STEERED, Clause
from schedproof.judge.clauses.core.placement import check_configured, judge_placement
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.volumes import SELECTED_NODE, claim_names, is_bound


@gives("not-tried", "unbound-volume-claim", also=[judge_placement])
def judge_volumes(history: History, case: str) -> Finding:
    """No pod was bound to a node where one of its volumes is unusable, or before each of its claims had a volume.

    The scheduler binds a claim that waits for its first consumer; a kubelet starts no pod with an unbound claim.
    """
    bound = [history.bindings[pod.uid] for pod in history.test_pods(case, "probe") if pod.uid in history.bindings]
    users = [binding for binding in bound if claim_names(binding.manifest)]
    if (finding := judge_placement(history, case)).outcome == "failed":
        return finding
    if early := next((text for binding in users if (text := _unbound_claim(history, binding))), ""):
        return failed("unbound-volume-claim", early)
    if finding.outcome != "passed":
        return finding
    if not users:
        return invalid("not-tried", "no pod with a claim was bound")
    return passed(f"{len(users)} pods were bound where their volumes are usable")


def _unbound_claim(history: History, binding: Binding) -> str:
    """The sentence that a claim of a pod had no volume when the pod was bound; "" if each had one."""
    storage = history.world.storage(binding.rv - 1)
    for name in claim_names(binding.manifest):
        claim = storage.claims.get(name) if storage is not None else None
        if claim is not None and not is_bound(claim):
            return f"{binding.pod} was bound to {binding.node} while its claim {name} had no volume"
    return ""


@gives("infeasible-volume", also=[judge_volumes])
def judge_capacity(history: History, case: str) -> Finding:
    """No node was selected for a claim on which its pod could not run, or for which no volume can be provisioned.

    A scheduler selects the node by an annotation of the claim, and binds the pod once there is a volume.
    """
    manifests = [history.manifests[pod.uid] for pod in history.test_pods(case, "probe")]
    users = {name: manifest for manifest in manifests for name in claim_names(manifest)}
    seen: set[str] = set()
    for event in history.of(WatchEvent):
        name = key(event.object) if event.resource == "persistentvolumeclaims" else ""
        node = (event.object["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        if name not in users or name in seen or node is None:
            continue
        seen.add(name)
        state = history.world.at(event.rv - 1)
        found = check_configured(history, users[name], state, state.pods.values())
        if why := found.get(node, ("there is no such node",)):
            return failed("infeasible-volume", f"{node} was selected for claim {name}, although {'; '.join(why)}")
    return judge_volumes(history, case)


CLAUSES = (
    Clause(
        "core/volume-node-affinity",
        "A pod is bound only where the volumes of its claims are usable, and only after claims that wait for it are "
        "bound.",
        "Kubernetes: persistent volumes, node affinity and volume binding mode; VolumeBinding and VolumeZone plugins",
        judge_volumes, needs=CHANGE_NODES | SEVERAL_NODES, features=frozenset({"volumes"}), stands_on=STEERED,
        hint=(
            "Before the Binding: compare the node with node affinity and zone labels of the claims' volumes, and bind "
            "claims whose class has the binding mode WaitForFirstConsumer."
        ),
    ),
    Clause(
        "core/volume-limits",
        "A pod is bound only to a node that can have its volumes attached, beside those of the pods there.",
        "Kubernetes: node-specific volume limits, CSINode; NodeVolumeLimits plugin",
        judge_volumes, needs=CHANGE_NODES | SEVERAL_NODES, features=frozenset({"volumes"}),
        stands_on=STEERED,
        hint=(
            "Count the distinct CSI volumes of the pods of a node by driver, and compare with the CSINode's "
            "spec.drivers[].allocatable.count."
        ),
    ),
    Clause(
        "core/volume-driver",
        "A pod is kept off nodes without the CSI driver of its volumes, if the driver asks for that.",
        "Kubernetes: CSIDriverSpec.preventPodSchedulingIfMissing (KEP-5030), CSINode; NodeVolumeLimits plugin",
        judge_volumes, needs=CHANGE_NODES | SEVERAL_NODES, features=frozenset({"volumes"}), gate="VolumeLimitScaling",
        stands_on=STEERED,
        hint=(
            "If the CSIDriver of a volume has spec.preventPodSchedulingIfMissing, leave out nodes whose CSINode does "
            "not list it in spec.drivers. Watch CSINodes: a driver that starts on a node can make a waiting pod fit."
        ),
    ),
    Clause(
        "core/volume-capacity",
        "A node is selected for a claim only if its driver can provision the volume there; else the pod waits until it "
        "can.",
        "Kubernetes: storage capacity, CSIStorageCapacity, allowedTopologies of StorageClasses; VolumeBinding plugin",
        judge_capacity, needs=CHANGE_NODES | SEVERAL_NODES, features=frozenset({"volumes"}), stands_on=STEERED,
        hint=(
            "If a claim's CSIDriver has storageCapacity, a CSIStorageCapacity of the claim's class whose nodeTopology "
            "selects the node must have maximumVolumeSize, or else capacity, of at least the request."
        ),
    ),
    Clause(
        "core/volume-once",
        "A pod whose volume only one pod may use waits until no other pod uses it.",
        "Kubernetes: persistent volumes, access mode ReadWriteOncePod; VolumeRestrictions plugin",
        judge_volumes, needs=CHANGE_NODES, features=frozenset({"volumes"}),
        hint=(
            "Before the Binding: look for a pod, on any node, that uses a claim with the access mode ReadWriteOncePod."
        ),
    ),
)  # fmt: skip
