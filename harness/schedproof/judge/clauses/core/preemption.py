"""Which pods are evicted for a pod of higher priority, and whether that pod is bound.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/, the plugin DefaultPreemption.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schedproof.history.acts import Expect
from schedproof.history.history import History, TestPod
from schedproof.history.observations import WatchEvent
from schedproof.history.world import State
from schedproof.judge.clause import AUDIT, CHANGE_NODES, STEERED, Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.rulings.configuration import as_configured
from schedproof.judge.rulings.evictions import given_away, in_vain, shortened_grace
from schedproof.judge.rulings.removals import Removal, removals
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.feasibility import check
from schedproof.oracle.manifest import priority

FEATURE = frozenset({"preemption"})
_TARGET = "DisruptionTarget"


@gives(
    "evicted-despite-budget", "evicted-without-priority", "grace-period-shortened", "needless-eviction", "not-tried",
    "nothing-evicted", "preemptor-not-bound", "room-given-away", also=[judge_placement],
)  # fmt: skip
def judge_preemption(history: History, case: str) -> Finding:
    """Pods were evicted only for a pod of higher priority that may preempt and was bound, and none that could have
    stayed.

    No pod is evicted if that helps no waiting pod, nor in addition to victims that are terminating; victims keep their
    grace periods, and their room is not given to a new pod of lower priority. If a PodDisruptionBudget protects a pod
    (role `protected`), the eviction of another pod suffices.
    """
    causes = _removals(history, case)
    evicted = [pod for pod, _ in causes]
    preemptors = history.test_pods(case, "preemptor")
    expected = {expect.uid: expect.outcome for expect in history.of(Expect, case)}
    entitled = [pod for pod in preemptors if expected.get(pod.uid) == "bound"]
    if finding := _wrong_eviction(history, case, causes, preemptors):
        return finding
    for pod in entitled:
        if pod.uid not in history.bindings:
            gone = f"{len(evicted)} pods were evicted" if evicted else "no pod was evicted"
            return failed(
                "preemptor-not-bound",
                f"{named(history, pod)} was not bound, although pods of lower priority could be evicted for it: {gone}",
            )
    if kept := next((pod for pod in evicted if pod.role == "protected"), None):
        return failed(
            "evicted-despite-budget",
            f"{named(history, kept)} was evicted, although a PodDisruptionBudget protects it and the eviction of "
            "another pod would have sufficed",
        )
    if wrong := next((text for pod in entitled if (text := _needless(history, pod, evicted))), ""):
        return failed("needless-eviction", wrong)
    placed = judge_placement(history, case)
    if placed.outcome != "passed":
        return placed
    if not preemptors:
        return invalid("not-tried", "no pod waited for the room of others")
    if entitled and not evicted:
        return invalid("nothing-evicted", "no pod had to be evicted")
    return passed(
        f"{len(evicted)} pods were evicted for {len(entitled)}, and none for {len(preemptors) - len(entitled)} others",
    )


def _wrong_eviction(
    history: History, case: str, causes: Sequence[tuple[TestPod, Removal]], preemptors: Sequence[TestPod]
) -> Finding | None:
    """What is wrong with one of the evictions, or with what became of the room; None if nothing is.

    Whether a victim could have been spared, the node of the preemptor shows: see `_needless`.
    """
    for victim, _ in causes:
        if not any(_may_evict(history, pod, victim) for pod in preemptors):
            return failed(
                "evicted-without-priority",
                f"{named(history, victim)} was evicted, but no pod with a higher priority that may preempt was "
                f"waiting ({', '.join(named(history, pod) for pod in preemptors)})",
            )
    everything = removals(history)
    for victim, removal in causes:
        if why := in_vain(history, removal, everything):
            return failed("needless-eviction", f"{named(history, victim)} was evicted, without need: {why}")
        if shorter := shortened_grace(history, removal):
            return failed("grace-period-shortened", f"{named(history, victim)} was evicted {shorter}")
    for pod in history.test_pods(case):
        binding = history.bindings.get(pod.uid)
        if causes and binding is not None and (loser := given_away(history, binding, everything)):
            return failed(
                "room-given-away",
                f"{named(history, pod)} was bound to {binding.node}, where pods were evicted for {loser}, which waited "
                "for this room and has a higher priority",
            )
    return None


@gives("no-disruption-target", also=[judge_preemption])
def judge_disruption_target(history: History, case: str) -> Finding:
    """Each evicted pod had the condition DisruptionTarget at some time before it was gone.

    (The disruption controller removes a condition whose lastTransitionTime is missing or minutes old.)
    """
    finding = judge_preemption(history, case)
    if finding.outcome != "passed":
        return finding if finding.outcome == "invalid" else invalid(finding.code, finding.summary, finding.evidence)
    evicted = all_evicted(history, case)
    marked = {
        event.object["metadata"]["uid"]
        for event in history.of(WatchEvent)
        for condition in event.object.get("status", {}).get("conditions") or ()
        if event.resource == "pods" and (condition["type"], condition["status"]) == (_TARGET, "True")
    }
    if unmarked := [pod for pod in evicted if pod.uid not in marked]:
        return failed(
            "no-disruption-target",
            f"{unmarked[0].name} was evicted without the condition {_TARGET}",
        )
    return passed(f"{len(evicted)} evicted pods had the condition {_TARGET}")


def all_evicted(history: History, case: str) -> list[TestPod]:
    """The pods of the case whose end the candidate has caused, in the order in which they ended."""
    return [pod for pod, _ in _removals(history, case)]


def _removals(history: History, case: str) -> list[tuple[TestPod, Removal]]:
    pods = {pod.uid: pod for pod in history.test_pods(case)}
    return [(pods[removal.uid], removal) for removal in removals(history) if removal.uid in pods]


def _needless(history: History, preemptor: TestPod, evicted: Sequence[TestPod]) -> str:
    """Why an eviction for this pod was not needed; "" if all were.

    Each victim is checked by itself: with the other victims gone and this victim in place, the pod fits on the node
    that it was bound to.
    """
    binding = history.bindings[preemptor.uid]
    gone, before = evicted_for(history, preemptor, evicted)
    manifest = as_configured(history, history.manifests[preemptor.uid])
    others = [pod for name, pod in before.pods.items() if name not in {victim.name for victim in gone}]
    for victim in gone:
        kept = before.pods[victim.name]
        node = kept["spec"].get("nodeName")
        names = f"{named(history, victim)} was evicted for {named(history, preemptor)}"
        if node != binding.node:
            return f"{names} from {node}, and that was bound to {binding.node}"
        found = check(
            manifest, before.nodes.values(), [*others, kept], before.namespaces,
            storage=before.storage, inventory=before.inventory,
        )  # fmt: skip
        if not found[node]:
            return f"{names}, without need: with the other victims gone there was room for both on {node}"
    return ""


def evicted_for(history: History, preemptor: TestPod, evicted: Sequence[TestPod]) -> tuple[list[TestPod], State]:
    """The victims that ended while the preemptor, bound by now, waited, and the world before the first of them ended.

    Without such victims, it is the world before the preemptor was bound.
    """
    binding, first = history.bindings[preemptor.uid], _first(history, preemptor)
    ends = {uid: event.rv for uid, event in history.endings.items()}
    gone = [pod for pod in evicted if pod.at < binding.at and first < ends.get(pod.uid, binding.rv) < binding.rv]
    return gone, history.world.at(min((ends[pod.uid] for pod in gone), default=binding.rv) - 1)


def _first(history: History, pod: TestPod) -> int:
    """The revision at which a pod was first seen."""
    events = (event for event in history.of(WatchEvent) if event.resource == "pods")
    return next((int(event.rv) for event in events if event.object["metadata"]["uid"] == pod.uid), 0)


def _may_evict(history: History, preemptor: TestPod, victim: TestPod) -> bool:
    spec: dict[str, Any] = history.manifests[preemptor.uid]["spec"]
    return spec.get("preemptionPolicy") != "Never" and _priority(history, preemptor) > _priority(history, victim)


def _priority(history: History, pod: TestPod) -> int:
    return priority(history.manifests[pod.uid])


def named(history: History, pod: TestPod) -> str:
    may_not = pod.role == "preemptor" and history.manifests[pod.uid]["spec"].get("preemptionPolicy") == "Never"
    never = ", preemptionPolicy Never" if may_not else ""
    return f"{pod.name} (priority {_priority(history, pod)}{never})"


CLAUSES = (
    Clause(
        "core/preemption-lands",
        "A pod that fits on no node is bound to a node from which pods of lower priority are evicted.",
        "Kubernetes: pod priority and preemption; DefaultPreemption plugin", judge_preemption, features=FEATURE,
        needs=CHANGE_NODES | AUDIT,
        hint="Try the pod again when its victims are gone. RBAC: delete pods.",
    ),
    Clause(
        "core/preemption-lower", "Only pods of lower priority are evicted, and none of the same priority.",
        "Kubernetes: pod priority and preemption", judge_preemption, features=FEATURE, needs=CHANGE_NODES | AUDIT,
        hint="Compare spec.priority: only a lower priority may be evicted; an equal one is not lower.",
    ),
    Clause(
        "core/preemption-spares",
        "Preemption evicts no pod that could have stayed, and none that helps no pod; victims have their grace period, "
        "and new pods of lower priority do not get their room.",
        "DefaultPreemption plugin: SelectVictimsOnNode, PodEligibleToPreemptOthers; Kubernetes: pod priority and "
        "preemption", judge_preemption, features=FEATURE,
        needs=CHANGE_NODES | AUDIT, stands_on=STEERED,
        hint="Remove all pods of lower priority, then add back those that still fit, the highest priority first.",
    ),
    Clause(
        "core/preemption-never", "No pod is evicted for a pod whose preemptionPolicy is Never.",
        "Kubernetes: PodSpec.preemptionPolicy", judge_preemption, features=FEATURE, needs=CHANGE_NODES | AUDIT,
        hint="Evict no pod for a pod whose spec.preemptionPolicy is Never.",
    ),
    Clause(
        "core/preemption-budget",
        "A pod that a PodDisruptionBudget protects is not evicted if the eviction of another pod suffices.",
        "Kubernetes: PodDisruptionBudget is supported, but not guaranteed (preemption)", judge_preemption,
        features=FEATURE, needs=CHANGE_NODES | AUDIT,
        hint="First evict pods that no PodDisruptionBudget with status.disruptionsAllowed: 0 protects.",
    ),
    Clause(
        "core/preemption-condition", "Evicted pods have the condition DisruptionTarget.",
        "Kubernetes: pod disruption conditions (KEP-3329)", judge_disruption_target, level="recommended",
        features=FEATURE, needs=CHANGE_NODES | AUDIT,
        hint="PATCH pods/status with DisruptionTarget=True (PreemptionByScheduler), then DELETE.",
    ),
)  # fmt: skip
