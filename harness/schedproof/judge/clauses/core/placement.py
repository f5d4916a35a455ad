"""Whether each binding was feasible, and whether every pod with a feasible node was scheduled."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from schedproof.history.acts import Expect, MadeWay, Unseen
from schedproof.history.history import History, TestPod
from schedproof.history.observations import Manifest, ProcessEvent
from schedproof.history.watched import Binding
from schedproof.history.world import RESERVED, State
from schedproof.judge.clause import CHANGE_NODES, SCRIPTED_METRICS, SEVERAL_NODES, STEERED, TRIED_AGAIN, Clause
from schedproof.judge.evidence import Evidence
from schedproof.judge.rulings.configuration import as_configured, disabled_filters
from schedproof.judge.rulings.decisions import decision_table, ruled_table
from schedproof.judge.rulings.lanes import lanes
from schedproof.judge.rulings.lateness import how_late, kept_waiting, too_busy
from schedproof.judge.rulings.ruling import Ruling, rule_binding
from schedproof.judge.rulings.timeline import log_tails, timeline
from schedproof.judge.rulings.unbound import why_unbound
from schedproof.judge.verdict import Finding, failed, gives, invalid, passed
from schedproof.oracle.coverage import as_if_bound, holders, unmodelled
from schedproof.oracle.feasibility import check, rooms
from schedproof.oracle.manifest import priority
from schedproof.oracle.reason import Reason

_AFFINITY = frozenset({"pod-affinity"})
_SPREAD = frozenset({"topology-spread"})

_AUXILIARY = {
    "settle": ("view-not-shown", "could not show that the candidate saw the world"),
    "sentinel": ("not-decided-on", "could not show that the candidate had decided on the pods before"),
    "patient": ("not-bound-in-time", "a pod that waited for the whole run was not bound at its end"),
}
"""Role of a pod by which the harness shows something: the code of the finding if such a pod is not bound, and what is
not shown then.
"""

_SHOWN = 1.0
"""Seconds after a Binding in which the watch shows the pod on its node at the latest, on a busy machine as well."""

_NAMED = 3
"""Misplaced pods that a summary names after the first; the report shows the decisions of more."""


@gives(
    "bound-against-claim", "infeasible-node", "machine-too-busy", "not-bound-in-time", "not-decided-on",
    "nothing-expected", "oracle-gap", "room-kept", "view-not-shown", "wrong-expectation",
)  # fmt: skip
def judge_placement(
    history: History, case: str, *, but_for: Collection[str] = (), only: Collection[str] | None = None
) -> Finding:
    """Every pod of the case that belongs to the candidate was placed where it could run, and only if it could.

    Every `expect` record of the case is checked against the record, and the expectation itself against the oracle: a
    test that expects the impossible is `invalid`, not a failure of the candidate.

    Args:
        history: what happened.
        case: the clause.
        but_for: uids of pods of which nothing can be expected.
        only: uids of the pods that count; None: all of them.
    """
    own = history.own_pods()
    rulings = [
        rule_binding(history, history.bindings[pod.uid])
        for pod in history.test_pods(case)
        # Where the probes that show what it has seen went, is for core/node-selector to judge.
        if pod.role != "settle" and pod.uid in own and pod.uid in history.bindings and (only is None or pod.uid in only)
    ]
    guesses = [ruling for ruling in rulings if ruling.guessed]
    wrong = [ruling for ruling in rulings if ruling.reasons and ruling not in guesses]
    if wrong:
        return _misplaced(history, wrong, Evidence())
    if gaps := sorted({gap for ruling in guesses for gap in ruling.unmodelled}):
        return invalid("oracle-gap", f"the oracle does not model {', '.join(gaps)}")
    expectations = [expect for expect in history.of(Expect, case) if only is None or expect.uid in only]
    if not expectations:
        return invalid("nothing-expected", _nothing_expected(history, case))
    pods = {pod.uid: pod for pod in history.test_pods(case)}
    findings = [
        _judge_for_case(history, expect, pods[expect.uid]) for expect in expectations if expect.uid not in but_for
    ]
    # What could not be shown early in a case does not hide what was shown later.
    for outcome in ("failed", "invalid"):
        if finding := next((finding for finding in findings if finding.outcome == outcome), None):
            return finding
    if unseen := next(history.of(Unseen, case), None):
        return invalid(
            "view-not-shown",
            f"could not show that the candidate saw the world: {unseen.reason}",
        )
    bound = sum(e.outcome == "bound" for e in expectations)
    return passed(
        f"{bound} pods bound where they fit, {len(expectations) - bound} rightly left pending",
    )


@gives("infeasible-node", "nothing-bound", "oracle-gap", "outdated-binding")
def judge_feasible(history: History, _case: str) -> Finding:
    """Every binding of the run was feasible, whichever clause was being tried, and pods that fit on no node waited.

    Pods of excluded clauses are left out.
    """
    own = history.own_pods().keys() - {pod.uid for pod in history.test_pods() if pod.case in history.excluded}
    bindings = sorted((b for uid, b in history.bindings.items() if uid in own), key=lambda binding: binding.rv)
    if not bindings:
        return invalid("nothing-bound", "no pod was bound")
    wrong = [ruling for binding in bindings if (ruling := rule_binding(history, binding)).reasons]
    if sure := [ruling for ruling in wrong if not ruling.guessed]:
        pods = history.test_pods()
        # What was decided on for another pod breaks no rule about this one.
        decided = [ruling for ruling in sure if not _outdated(history, ruling.binding, pods)]
        first = (decided or sure)[0].binding
        case = next((pod.case for pod in pods if pod.uid == first.uid), "")
        evidence = Evidence(
            timeline=timeline(history, case, first.pod), logs=log_tails(history, case), lanes=lanes(history, case)
        )
        if decided:
            return _misplaced(history, decided, evidence)
        return failed(
            "outdated-binding",
            f"{first.pod} was bound to {first.node}, where it cannot run, by a Binding that was posted before the pod "
            "existed, for an earlier pod of the same name",
            evidence | Evidence(decisions=[ruled_table(sure[0])]),
        )
    if wrong:
        return invalid(
            "oracle-gap",
            f"the oracle does not model {', '.join(wrong[0].unmodelled)}, which {wrong[0].binding.pod} uses",
        )
    waiters = history.test_pods(role="waiter")
    return passed(f"{len(bindings)} bindings of the run were feasible; {len(waiters)} pods waited for its whole length")


def _outdated(history: History, binding: Binding, pods: Sequence[TestPod]) -> bool:
    """Whether a pod was placed by a Binding in flight when the pod was created, for an earlier pod of the same name."""
    namesakes = [pod for pod in pods if pod.name == binding.pod]
    created = next((pod.at for pod in namesakes if pod.uid == binding.uid), 0.0)
    return any(
        attempt.succeeded
        and attempt.received < created < attempt.completed
        and any(pod.at < attempt.received for pod in namesakes)
        for attempt in history.attempts_at(binding.pod)
    )


def _misplaced(history: History, wrong: Sequence[Ruling], evidence: Evidence) -> Finding:
    wrong = _reserved_last(wrong)
    first = wrong[0]
    return failed(
        "infeasible-node",
        f"{first.binding.pod} was bound to {first.binding.node}, where it cannot run: {'; '.join(first.reasons)}"
        + disabled_filters(history, first.binding.manifest)
        + _others(wrong[1:]),
        evidence | Evidence(
            decisions=[ruled_table(ruling) for ruling in wrong[:5]],
            misplaced=[ruling.binding.pod for ruling in wrong], rules=_rules(wrong),
        ),
    )  # fmt: skip


def _reserved_last(wrong: Sequence[Ruling]) -> list[Ruling]:
    """Rulings about nodes of the world first, then those about the node that the harness has reserved."""
    return sorted(wrong, key=lambda ruling: ruling.binding.node == RESERVED)


def _rules(wrong: Sequence[Ruling]) -> list[str]:
    """The rules that these placements break, the rule with the most breaches first.

    The node that the harness has reserved keeps most pods away by every possible rule: of a pod that does not tolerate
    its taints, only the taints are named there. It counts only if no rule was broken elsewhere.
    """
    broken: dict[bool, collections.Counter[str]] = {True: collections.Counter(), False: collections.Counter()}
    for ruling in wrong:
        rules, reserved = {reason.rule for reason in ruling.reasons}, ruling.binding.node == RESERVED
        broken[reserved].update(["taints"] if reserved and "taints" in rules else sorted(rules))
    return [rule for rule, _ in (broken[False] or broken[True]).most_common()]


def _others(wrong: Sequence[Ruling]) -> str:
    """The other misplaced pods; the first few by name."""
    named = [f"{ruling.binding.pod} to {ruling.binding.node}" for ruling in wrong[:_NAMED]]
    named += [f"{len(wrong) - _NAMED} more"] if len(wrong) > _NAMED else []
    return f" (also {', '.join(named)})" if named else ""


def _nothing_expected(history: History, case: str) -> str:
    if not list(history.test_pods(case)):
        return "nothing was tried"
    return (
        "pods were created without an expectation: state it, for example with case.expect_bound([pod]), or "
        "case.expect_pending([pod]) for pods that fit on no node"
    )


def _judge_for_case(history: History, expectation: Expect, pod: TestPod) -> Finding:
    """The finding about an expectation; `invalid` instead of `failed` for a pod of the harness itself.

    Without such a pod something else could not be shown. `core/all-accounted` judges that it was not bound.
    """
    finding = _judge_expectation(history, expectation, pod)
    if finding.outcome == "failed" and pod.role in _AUXILIARY:
        code, text = _AUXILIARY[pod.role]
        return invalid(code, f"{text}: {finding.summary}", finding.evidence)
    return finding


def left_unbound(history: History) -> Iterator[str]:
    """A sentence for each pod of the harness itself that fitted on a node and was not bound in time.

    What follows the end of a case, when the world is restored, is not judged.
    """
    pods = {pod.uid: pod for pod in history.test_pods()}
    ends = {case: history.span(case)[1] for case in history.cases}
    for expectation in history.of(Expect):
        # What has waited since the start was created in no case, and is waited for in the last one.
        pod = dataclasses.replace(pods[expectation.uid], case=expectation.case)
        in_time = expectation.at <= ends.get(pod.case, expectation.at)
        if pod.role in _AUXILIARY and expectation.outcome == "bound" and in_time:
            finding = _judge_expectation(history, expectation, pod)
            if finding.outcome == "failed":
                yield f"{finding.summary} (while {pod.case} was tried)"


def _judge_expectation(history: History, expectation: Expect, pod: TestPod) -> Finding:
    rv = expectation.rv
    binding = history.bindings.get(pod.uid)
    bound = binding is not None and binding.rv <= rv
    if bound and expectation.outcome == "bound":
        return passed("bound")
    state = history.world.at(rv)
    manifest = state.pods.get(pod.name) or history.manifests[pod.uid]
    per_node = check_configured(history, manifest, state, state.pods.values())
    possible = sorted(node for node, why in per_node.items() if not why)
    room = _beside_holders(history, manifest, state, per_node)
    gaps: tuple[str, ...] = ()
    if not bound:
        gaps = unmodelled(
            manifest, state.pods.values(), state.nodes.values(), state.namespaces, state.storage, state.inventory
        )
    waits = expectation.outcome == "unwilling" or (expectation.outcome == "pending" and not room)
    if not bound and not gaps and waits and history.fenced(pod.case, rv) > pod.at:
        return passed("pending")
    there = rooms(manifest, state.nodes.values(), state.pods.values(), state.inventory)
    table = decision_table(history, binding, per_node, manifest=manifest, room=there)
    wrong = f"{pod.name} was expected to stay pending, but"
    if bound and expectation.outcome == "unwilling":
        text = f"{pod.name} was bound to {table.chosen}, contrary to the candidate's claims"
        finding = failed("bound-against-claim", text)
    elif bound:
        # Every binding has been ruled on before: this one was feasible, as far as the candidate can be held to know.
        finding = invalid("wrong-expectation", f"{wrong} a node was feasible")
    elif gaps:
        finding = invalid("oracle-gap", f"{pod.name} was not bound, and the oracle does not model {', '.join(gaps)}")
    elif expectation.outcome == "bound":
        finding = _judge_unbound(history, expectation, pod, possible, room)
    elif room and expectation.outcome == "pending":
        finding = invalid("wrong-expectation", f"{wrong} the oracle finds it feasible on {', '.join(room)}")
    else:
        finding = invalid("not-decided-on", f"no sentinel pod shows that the candidate decided on {pod.name}")
    return dataclasses.replace(finding, evidence=Evidence(decisions=[table]))


def _judge_unbound(
    history: History, expectation: Expect, pod: TestPod, possible: Sequence[str], room: Sequence[str]
) -> Finding:
    """The finding about a pod that was expected to be bound, and was not.

    `possible`: the nodes on which it fits; `room`: those on which it fits beside pods for which room is kept free.
    """
    if not room:
        why = "the room for it is kept free for pods with a status.nominatedNodeName" if possible else ""
        return invalid(
            "wrong-expectation",
            f"{pod.name} was expected to be bound, but {why or 'the oracle finds no feasible node for it'}",
        )
    if unshown := bound_unshown(history, pod.name, pod.uid, expectation.at):
        return invalid("record-incomplete", unshown)
    begin, _ = history.span(pod.case)
    exits = (event for event in history.of(ProcessEvent) if event.event == "exited" and not event.descendant)
    ended = [event for event in exits if begin <= event.at <= expectation.at]
    if not ended and (busy := too_busy(expectation.kept, expectation.within)):
        return invalid("machine-too-busy", f"{pod.name} was not bound, and {busy}")
    waited = f"within {expectation.within:g} s ({expectation.deadline}){kept_waiting(expectation.kept)}"
    late = f"; {how_late(history, expectation)}"
    if ended:
        waited, late = f"before {ended[0].name} ended with code {ended[0].code}", ""
    if kept_for := _kept_for(history, pod, room):
        return failed(
            "room-kept",
            f"{pod.name} was not bound while {kept_for} waited for more room on {', '.join(room)}, although it fits "
            f"there; it was bound as soon as that pod was deleted: the room was kept for it (waited {waited})",
        )
    cause = why_unbound(history, pod, expectation.at)
    text = f"{pod.name} was not bound {waited}, although it fits on {', '.join(room)}"
    text += f"; {cause}" if cause else ""
    return failed("not-bound-in-time", text + late)


def bound_unshown(history: History, pod: str, uid: str, at: float) -> str:
    """That the harness's watch had not shown by a time what the audit log has: a Binding of a pod that succeeded.

    "" if it has none, or only in the last second. A watch that lags or has stalled says nothing about the candidate.
    """
    done = (a for a in history.attempts_on(pod, uid) if a.succeeded and a.completed < at - _SHOWN)
    attempt = next(done, None)
    if attempt is None:
        return ""
    return f"{pod} was bound to {attempt.node} by the audit log, which the watch of pods has not shown"


def _kept_for(history: History, pod: TestPod, room: Sequence[str]) -> str:
    """The name of a pod for which room was kept free that this pod needed; "" if nothing shows that.

    The pod was bound once an older pod was deleted that waited, and that would fit on a node of `room` without the pods
    that are there.
    """
    way = next((way for way in history.of(MadeWay, pod.case) if pod.uid in way.unbound), None)
    binding = history.bindings.get(pod.uid)
    if way is None or binding is None or binding.at < way.at:
        return ""
    state = history.world.at(binding.rv - 1)
    for waiting in (other for other in history.test_pods(pod.case) if other.uid in way.waiting):
        alone = check_configured(history, history.manifests[waiting.uid], state, ())
        if any(not alone.get(node, ("gone",)) for node in room):
            return waiting.name
    return ""


def room_for(history: History, manifest: Manifest, state: State) -> list[str]:
    """The nodes on which a pod fits, even with all nominated pods on their nodes."""
    return _beside_holders(history, manifest, state, check_configured(history, manifest, state, state.pods.values()))


def _beside_holders(
    history: History, manifest: Manifest, state: State, per_node: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """As `room_for`; `per_node` is the oracle's result without the nominated pods."""
    others = list(state.pods.values())
    kept = {id(pod) for pod in holders(manifest, others) if _may_hold(history, dict(pod), state)}
    checked = [per_node]
    if kept:
        checked.append(
            check_configured(history, manifest, state, [as_if_bound(pod) if id(pod) in kept else pod for pod in others])
        )
    return sorted(node for node in per_node if not any(reasons[node] for reasons in checked))


def _may_hold(history: History, holder: Manifest, state: State) -> bool:
    """Whether a pod could run on the node that it is nominated for, once the pods of lower priority are gone."""
    node = holder["status"]["nominatedNodeName"]
    others = [
        pod
        for pod in state.pods.values()
        if not (pod["spec"].get("nodeName") == node and priority(pod) < priority(holder))
    ]
    return not check_configured(history, holder, state, others).get(node, ("is gone",))


def check_configured(
    history: History, manifest: Manifest, state: State, others: Collection[Mapping[str, Any]]
) -> dict[str, tuple[Reason, ...]]:
    """Why a pod cannot run on each node of a state beside other pods, by its profile's configuration as well."""
    return check(
        as_configured(history, manifest), state.nodes.values(), others, state.namespaces,
        storage=state.storage, inventory=state.inventory,
    )  # fmt: skip


_REQUEUE_HINT = "Retry pending pods when nodes or pods change, not only when they are created."


_ROOM_HINT = (
    "Per node: allocatable minus the requests of all pods bound to it, of every scheduler; the number of pods "
    "counts too."
)


_TAINT_HINT = "A pod must tolerate every NoSchedule and NoExecute taint: key, operator, value and effect."


CLAUSES = (
    Clause(
        "core/feasible",
        "In the whole run, every binding is to a feasible node, and a pod that fits on no node stays pending to the "
        "end.",
        "Kubernetes: the default Filter plugins", judge_feasible, always=True,
        hint="Filter at the time of the decision, with the newest nodes and pods, and count pods that were just bound.",
    ),
    Clause(
        "core/no-overcommit", "A burst of pods never takes more of a node than its allocatable resources.",
        "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        hint="Count pods as soon as they are decided on (assume them), not when the watch shows them bound.",
    ),
    Clause(
        "core/fit-cpu", "A pod is not bound to a node that has less free CPU than the pod requests.",
        "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        stands_on=STEERED,
        hint=_ROOM_HINT,
    ),
    # No document promises it: the sum of the requests on such a node exceeds what it has.
    Clause(
        "core/fit-overcommitted", "A pod that requests no CPU can be bound to a node whose CPU is overcommitted.",
        "kube-scheduler: NodeResourcesFit compares only what a pod requests", judge_placement, level="recommended",
        needs=CHANGE_NODES, stands_on=STEERED,
        hint="Compare a resource with the free amount only if the pod requests more than 0 of it.",
    ),
    Clause(
        "core/fit-memory", "A pod is not bound to a node that has less free memory than the pod requests.",
        "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        stands_on=STEERED,
        hint=_ROOM_HINT,
    ),
    Clause(
        "core/fit-ephemeral",
        "A pod is not bound to a node that has less free ephemeral storage than the pod requests.",
        "Kubernetes: NodeStatus.allocatable, ephemeral-storage", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint=_ROOM_HINT,
    ),
    Clause(
        "core/fit-extended",
        "A pod is not bound to a node that has less free of an extended resource than the pod requests.",
        "e2e sig-scheduling: validates resource limits of pods that are allowed to run", judge_placement,
        needs=CHANGE_NODES, stands_on=STEERED,
        hint=_ROOM_HINT,
    ),
    Clause(
        "core/fit-hugepages", "A pod is not bound to a node that has fewer free huge pages than the pod requests.",
        "Kubernetes: NodeStatus.allocatable, hugepages-*", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint=_ROOM_HINT,
    ),
    Clause(
        "core/fit-init",
        "The request of a pod is the larger of its largest init container's and the sum of its containers'.",
        "Kubernetes: resource sharing within init containers", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint="A pod needs the larger of its largest init container and the sum of its containers.",
    ),
    Clause(
        "core/fit-sidecar",
        "Requests of sidecars (restartable init containers) add to those of containers and of later init containers.",
        "Kubernetes: sidecar containers (KEP-753)", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint="Add requests of init containers with restartPolicy Always to those of containers and later inits.",
    ),
    Clause(
        "core/fit-overhead", "The overhead of a pod's RuntimeClass adds to the pod's requests.",
        "Kubernetes: PodSpec.overhead (KEP-688)", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint="Add spec.overhead to the requests of a pod, pending or bound.",
    ),
    Clause(
        "core/fit-pod-level", "Pod-level resource requests replace the sum of the containers' requests.",
        "Kubernetes: PodSpec.resources (KEP-2837)", judge_placement, needs=CHANGE_NODES,
        features=frozenset({"pod-level-resources"}), stands_on=STEERED,
        hint="If spec.resources.requests has cpu or memory, it replaces the sum of the containers.",
    ),
    Clause(
        "core/fit-resize",
        "A pod that is being resized to less counts with its old requests until the kubelet has applied the resize.",
        "Kubernetes: in-place resize (KEP-1287)", judge_placement, needs=CHANGE_NODES,
        features=frozenset({"in-place-resize"}), stands_on=STEERED,
        hint=(
            "A pod holds the largest of spec, status.allocatedResources and status.resources of each container."
        ),
    ),
    Clause(
        "core/fit-resize-pod-level",
        "A pod whose pod-level request is being resized to less counts with the old one until the kubelet has applied "
        "the resize.",
        "Kubernetes: in-place resize of pod-level resources (KEP-5419)", judge_placement, needs=CHANGE_NODES,
        features=frozenset({"in-place-resize", "pod-level-resources"}), gate="InPlacePodLevelResourcesVerticalScaling",
        stands_on=STEERED,
        hint="A pod holds the largest of spec.resources, status.allocatedResources and status.resources of the pod.",
    ),
    Clause(
        "core/fit-pods", "A node never gets more pods than its allocatable number of pods, whatever they request.",
        "Kubernetes: NodeStatus.allocatable, pods", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint=_ROOM_HINT,
    ),
    Clause(
        "core/fit-terminated",
        "Succeeded and Failed pods free their resources; terminating pods hold theirs until they are gone.",
        "e2e sig-scheduling: validates that there is no conflict with pods in Succeeded or Failed phase",
        judge_placement, needs=frozenset({"ending-pods"}),
        hint="Free the requests of Succeeded and Failed pods, and keep those of terminating pods.",
    ),
    Clause(
        "core/node-selector", "A pod is bound only to a node that has every label of the pod's nodeSelector.",
        "e2e sig-scheduling: validates that NodeSelector is respected", judge_placement,
        needs=CHANGE_NODES | SEVERAL_NODES,
        hint="Every label of spec.nodeSelector must be on the node, with that value.",
    ),
    Clause(
        "core/node-affinity",
        "A pod is bound only to a node that matches its required node affinity: one term of it, with all expressions.",
        "e2e sig-scheduling: validates that required NodeAffinity setting is respected", judge_placement,
        needs=CHANGE_NODES | SEVERAL_NODES,
        hint="Terms are ORed, the expressions and fields of one term ANDed; NotIn also matches an absent label.",
    ),
    Clause(
        "core/declared-features",
        "A pod is bound only to a node that declares the features that the pod needs of its kubelet.",
        "Kubernetes: NodeStatus.declaredFeatures (KEP-5328); NodeDeclaredFeatures plugin", judge_placement,
        needs=CHANGE_NODES, features=frozenset({"declared-features"}), gate="NodeDeclaredFeatures",
        stands_on=STEERED,
        hint="Compare what the pod's fields need with the node's status.declaredFeatures, and try again if that grows.",
    ),
    Clause(
        "core/taint-noschedule", "A NoSchedule taint keeps away every pod that does not tolerate it, and no other pod.",
        "e2e sig-scheduling: validates that taints-tolerations is respected", judge_placement,
        needs=CHANGE_NODES | SEVERAL_NODES,
        hint=_TAINT_HINT,
    ),
    Clause(
        "core/taint-noexecute", "A NoExecute taint keeps away every pod that does not tolerate it.",
        "Kubernetes: taints and tolerations; TaintToleration plugin", judge_placement, needs=CHANGE_NODES,
        stands_on=STEERED,
        hint=_TAINT_HINT,
    ),
    Clause(
        "core/toleration",
        "A toleration matches a taint by key, operator, value and effect, as the Kubernetes API defines.",
        "Kubernetes: Toleration.ToleratesTaint", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint="No operator means Equal; no key, with Exists, covers every taint; no effect covers every effect.",
    ),
    Clause(
        "core/cordon", "A cordoned node gets no pod that does not tolerate node.kubernetes.io/unschedulable.",
        "Kubernetes: NodeSpec.unschedulable; NodeUnschedulable plugin", judge_placement,
        needs=CHANGE_NODES | SEVERAL_NODES,
        hint="Treat spec.unschedulable like the taint node.kubernetes.io/unschedulable:NoSchedule.",
    ),
    Clause(
        "core/cordon-tolerated",
        "A pod that tolerates node.kubernetes.io/unschedulable can be bound to a cordoned node.",
        "Kubernetes: NodeUnschedulable plugin", judge_placement, needs=CHANGE_NODES | SEVERAL_NODES, stands_on=STEERED,
        hint="A cordon acts as a taint: a pod that tolerates it may go there.",
    ),
    Clause(
        "core/host-port",
        "No two pods on a node use the same hostPort and protocol at the same hostIP; 0.0.0.0 overlaps every address.",
        "e2e sig-scheduling: validates that there exists conflict between pods with same hostPort and protocol",
        judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint="Compare hostPort, protocol and hostIP with those of pods on the node; 0.0.0.0 overlaps all addresses.",
    ),
    Clause(
        "core/pod-affinity",
        "A pod is bound only where pods match all terms of its required affinity; the first pod of a group may go "
        "anywhere.",
        "e2e sig-scheduling: validates that required pod affinity is respected; InterPodAffinity plugin",
        judge_placement, needs=CHANGE_NODES, features=_AFFINITY, stands_on=STEERED,
        hint=(
            "A single pod must match all terms, and all expressions of each (NotIn also matches an absent label); "
            "pods that have ended do not count; a node needs the label of each topologyKey, also for the first pod of "
            "a group."
        ),
    ),
    Clause(
        "core/pod-anti-affinity",
        "A pod is not bound into a topology domain, such as a zone, with a pod that its required anti-affinity "
        "matches.",
        "Kubernetes: inter-pod affinity and anti-affinity; InterPodAffinity plugin",
        judge_placement, needs=CHANGE_NODES, features=_AFFINITY, stands_on=STEERED,
        hint="Compare the values of the topologyKey's label, not the names of nodes.",
    ),
    Clause(
        "core/anti-affinity-symmetry",
        "A pod is not bound into a topology domain with a pod whose own required anti-affinity matches it.",
        "Kubernetes: inter-pod affinity and anti-affinity; InterPodAffinity plugin",
        judge_placement, needs=CHANGE_NODES, features=_AFFINITY, stands_on=STEERED,
        hint="Check the required anti-affinity of the pods on the nodes too, not only the new pod's.",
    ),
    Clause(
        "core/affinity-namespaces",
        "An affinity term matches pods of its pod's namespace, or of the namespaces that it lists or selects by "
        "labels.",
        "Kubernetes: PodAffinityTerm.namespaces, namespaceSelector (KEP-2249)",
        judge_placement, needs=CHANGE_NODES, features=_AFFINITY, stands_on=STEERED,
        hint=(
            "No namespaces and no namespaceSelector: the namespace of the pod. An empty namespaceSelector: all "
            "namespaces. The first pod of a group must itself be in a selected namespace."
        ),
    ),
    Clause(
        "core/topology-spread",
        "With DoNotSchedule, no domain exceeds the least-filled eligible domain by more than maxSkew, at any binding.",
        "Kubernetes: pod topology spread constraints (KEP-895, 3022, 3094, 3243); PodTopologySpread plugin",
        judge_placement, needs=CHANGE_NODES, features=_SPREAD, stands_on=STEERED,
        hint=(
            "Per domain, count the selected pods that are not terminating, on all nodes that the pod's policies "
            "include; then count + 1 - minimum <= maxSkew."
        ),
    ),
    Clause(
        "core/requeue-node-added", "An unschedulable pod is scheduled once a node is added on which it fits.",
        "scheduler framework: EventsToRegister (Node/Add)", judge_placement, needs=CHANGE_NODES,
        stands_on=STEERED | TRIED_AGAIN,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/requeue-pod-deleted",
        "An unschedulable pod is scheduled once the deletion of another pod frees the room that it needs.",
        "scheduler framework: EventsToRegister (AssignedPod/Delete)", judge_placement,
        stands_on=TRIED_AGAIN,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/requeue-taint-removed", "An unschedulable pod is scheduled once the taint that keeps it away is removed.",
        "scheduler framework: EventsToRegister (Node/UpdateTaint)", judge_placement, needs=CHANGE_NODES | SEVERAL_NODES,
        stands_on=STEERED | TRIED_AGAIN,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/requeue-uncordon",
        "An unschedulable pod is scheduled once a node on which it fits is uncordoned.",
        "scheduler framework: EventsToRegister (Node/UpdateTaint)", judge_placement, needs=CHANGE_NODES | SEVERAL_NODES,
        stands_on=STEERED | TRIED_AGAIN,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/requeue-label-changed",
        "An unschedulable pod is scheduled once a node gets the label that the pod selects.",
        "scheduler framework: EventsToRegister (Node/UpdateLabel)", judge_placement, needs=CHANGE_NODES | SEVERAL_NODES,
        stands_on=STEERED,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/requeue-node-resized",
        "An unschedulable pod is scheduled once a node's allocatable grows to what the pod requests.",
        "scheduler framework: EventsToRegister (Node/UpdateNodeAllocatable); device plugins register late",
        judge_placement, needs=CHANGE_NODES, stands_on=STEERED | TRIED_AGAIN,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/requeue-pod-added",
        "A pod with unmet required affinity is scheduled once a matching pod is bound, whichever client binds it.",
        "scheduler framework: EventsToRegister (AssignedPod/Add)", judge_placement, features=_AFFINITY,
        stands_on=TRIED_AGAIN,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/requeue-spread",
        "A pod that topology spread keeps off is scheduled once a change of pods, or of the nodes that count, lets it "
        "fit.",
        "scheduler framework: EventsToRegister (PodTopologySpread: Node/Add, Delete, UpdateNodeLabel, UpdateNodeTaint; "
        "AssignedPod)",
        judge_placement, features=_SPREAD, needs=CHANGE_NODES | SEVERAL_NODES, stands_on=STEERED | TRIED_AGAIN,
        hint=(
            "Retry pending pods also when a node loses a label or is deleted, and when any pod with matching labels "
            "comes, goes or is relabelled: domains may disappear, or fill up."
        ),
    ),
    Clause(
        "core/requeue-affinity",
        "A pod that its affinity or anti-affinity keeps off is scheduled once a change of pods or of a node's labels "
        "lets it fit.",
        "scheduler framework: EventsToRegister (InterPodAffinity: Node/UpdateNodeLabel; AssignedPod)",
        judge_placement, features=_AFFINITY, needs=CHANGE_NODES | SEVERAL_NODES, stands_on=STEERED | TRIED_AGAIN,
        hint=(
            "Retry pending pods also when a node loses a label or moves to another domain, be it the node of the "
            "other pod."
        ),
    ),
    Clause(
        "core/requeue-pod-updated", "An unschedulable pod is scheduled once the pod itself is changed so that it fits.",
        "Kubernetes: tolerations can be added to a pod; scheduler framework: EventsToRegister (Pod/UpdateToleration)",
        judge_placement, needs=CHANGE_NODES, stands_on=STEERED | TRIED_AGAIN,
        hint=_REQUEUE_HINT,
    ),
    Clause(
        "core/bind-existing-node", "No Binding names a node that was deleted before the decision.",
        "Kubernetes: pods/binding takes any name of a node", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint="Remove a node from the cache when the watch delivers its deletion.",
    ),
    Clause(
        "core/node-recreated",
        "A node that is deleted and created again under its name counts with its new properties only.",
        "Kubernetes: names of nodes are used again", judge_placement, needs=CHANGE_NODES, stands_on=STEERED,
        hint="Replace the cached node by the delivered node; do not merge them.",
    ),
    Clause(
        "network/feasible-first", "An infeasible node is never chosen, however little traffic it has.",
        "scheduler framework: scores rank only what passed the filters", judge_placement,
        needs=SCRIPTED_METRICS | CHANGE_NODES,
        hint="Rank only the nodes that passed the filters.",
    ),
)  # fmt: skip
