"""Whether pods run where their volumes are usable, and their claims were bound before.

Source: https://kubernetes.io/docs/concepts/storage/persistent-volumes/ and storage-limits/, the plugins VolumeBinding,
VolumeZone, VolumeRestrictions and NodeVolumeLimits.
"""

from __future__ import annotations

from schedproof.history.history import History
from schedproof.history.watched import Binding
from schedproof.judge.clause import CHANGE_NODES, SEVERAL_NODES, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.volumes import claim_names, is_bound


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
        "core/volume-once",
        "A pod whose volume only one pod may use waits until no other pod uses it.",
        "Kubernetes: persistent volumes, access mode ReadWriteOncePod; VolumeRestrictions plugin",
        judge_volumes, needs=CHANGE_NODES, features=frozenset({"volumes"}),
        hint=(
            "Before the Binding: look for a pod, on any node, that uses a claim with the access mode ReadWriteOncePod."
        ),
    ),
)  # fmt: skip
