"""core: Bindings, and the conditions and events of pods that cannot be bound."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.stimulus.case import Case

HOST = "kubernetes.io/hostname"
CROWD, ABSENT = {"matchLabels": {"app": "crowd"}}, {"matchLabels": {"app": "absent"}}
NO_SUCH_LABEL = {"key": "schedproof.dev/no-such", "operator": "In", "values": ["node"]}
REFUSED = {"conflict": 409, "too-busy": 429, "internal-error": 500, "unavailable": 503}
NO_SUCH_NODE = {"schedproof.dev/no-such": "node"}
UNSCHEDULABLE = "Unschedulable"
"""The reason of PodScheduled that the judges ask for. A scheduler may report another one first."""


@pytest.mark.clause("core/binds")
def test_binds(case: Case) -> None:
    """Pods that fit everywhere, with and without requests; a pod of a DaemonSet, and a pod that selects its node.

    Then pods with preferences that no node meets, which keep no pod from being scheduled. No pod is varied: a
    scheduler that fails here cannot bind anything yet.
    """
    node, *_ = case.nodes.names
    for _ in range(3):
        case.pods.neighbour(node, "crowd")
    pods = [case.pod(cpu="100m", memory="64Mi", plain=True) for _ in range(5)]
    pods += [case.pod("bare", plain=True), case.pod("selects", nodeSelector={HOST: node}, plain=True)]
    if "idle-daemon-sets" in case.trial.cluster.capabilities:
        pods.append(case.pod("daemon", owner=case.objects.daemon_set(), plain=True))
    case.expect_bound(pods)
    here = {"nodeSelector": {HOST: node}, "labels": {"app": "crowd"}}
    anyway = {"topologyKey": HOST, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": CROWD}
    wishes: list[dict[str, Any]] = [
        {"affinity": {"nodeAffinity": preferred(preference={"matchExpressions": [NO_SUCH_LABEL]})}},
        {"affinity": {"podAffinity": preferred(podAffinityTerm={"topologyKey": HOST, "labelSelector": ABSENT})}},
        {"affinity": {"podAntiAffinity": preferred(podAffinityTerm={"topologyKey": HOST, "labelSelector": CROWD})}},
        {"topologySpreadConstraints": [{**anyway, "nodeAffinityPolicy": "Ignore"}]},
    ]
    case.expect_bound([case.pod("wishes", cpu="10m", plain=True, **here, **wish) for wish in wishes])


def preferred(**wish: Any) -> dict[str, Any]:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, **wish}]}


@pytest.mark.clause("core/prebound-untouched")
def test_prebound_untouched(case: Case) -> None:
    """Pods with this schedulerName are created with spec.nodeName: nothing is left to schedule."""
    for node in case.nodes.names[:4]:
        case.pod("prebound", role="prebound", node=node, cpu="100m")
    case.fence()


@pytest.mark.clause("core/no-head-of-line")
def test_no_head_of_line(case: Case) -> None:
    """Pods that fit nowhere, and a pod whose every Binding is refused, are created before others that fit."""
    with case.candidate.hold_bindings() as gate:
        gate.refuse(case.pods.next_name("erring"))
        case.pod("erring", role="erring", cpu="100m")
        blocked = [case.pod("too-large", cpu="1000"), case.pod("selects", nodeSelector=NO_SUCH_NODE)]
        case.expect_bound([case.pod("behind", cpu="100m") for _ in range(6)])
        case.expect_pending(blocked)


@pytest.mark.clause("core/failing-binding-isolated")
def test_failing_binding_isolated(case: Case) -> None:
    """A pod whose every Binding is refused is deleted. Other pods are created before and after its deletion.

    A second pod is deleted while its Binding is in flight, which then finds no pod. The room of both pods is free
    again: a pod that was pending before the second deletion gets the room that the failed Binding frees.
    """
    large = {"cpu": case.nodes.share("cpu", 0.6), "nodeSelector": {HOST: case.nodes.names[0]}}
    with case.candidate.hold_bindings() as gate:
        gate.refuse(case.pods.next_name("erring"))
        erring = case.pod("erring", role="erring", **large)
        gate.await_call(erring.name)
        beside = [case.pod("beside", cpu="100m") for _ in range(3)]
        case.delete([erring])
        case.expect_bound([*beside, *(case.pod("behind", cpu="100m") for _ in range(3))])
        room_is_free = case.pod("after", **large)
        case.expect_bound([room_is_free], case.deadlines.requeue)
        case.delete([room_is_free])
        gate.hold(case.pods.next_name("erring"))
        gone = case.pod("erring", role="erring", **large)
        if not gate.await_held():
            case.expect_bound([gone])
            return
        waiting = case.pod("after", **large)
        # A candidate that binds synchronously looks at this pod only after the held Binding.
        case.status.await_refusal(waiting)
        case.delete([gone])
        gate.release()
        case.expect_bound([waiting], case.deadlines.requeue)


@pytest.mark.clause("core/bind-uid")
def test_bind_uid(case: Case) -> None:
    """While a pod's Binding is in flight, the pod is deleted and recreated as a pod that fits nowhere.

    Then it is recreated twice under the same name, on one node.
    """
    with case.candidate.hold_bindings() as gate:
        gate.hold(case.pods.next_name("twice"))
        first = case.pod("twice", cpu="100m")
        if not gate.await_held():
            case.expect_bound([first])
            return
        second = case.pods.recreate(first, nodeSelector=NO_SUCH_NODE)
        gate.release()
        case.expect_pending([second])
        # The name stays usable: a StatefulSet's pod always has the same one.
        here = {"nodeSelector": {HOST: case.nodes.names[0]}}
        again = case.pods.recreate(second, cpu="100m", **here)
        case.expect_bound([again], case.deadlines.requeue)
        case.fence()
        case.expect_bound([case.pods.recreate(again, cpu="100m", **here)], case.deadlines.requeue)


@pytest.mark.clause("core/conflict-forgiven")
def test_conflict_forgiven(case: Case) -> None:
    """The first Binding of each pod fails. One of them took effect all the same; another pod is recreated meanwhile."""
    with case.candidate.hold_bindings() as gate:
        # First, so that a scheduler that repeats this Binding has the time of all later steps to do so.
        gate.lose_answer(case.pods.next_name("timed-out"))
        timed_out = case.pod("timed-out", role="erring", cpu="100m")
        gate.await_lost(timed_out.name)
        case.expect_bound([timed_out])
        for name, code in REFUSED.items():
            gate.refuse(case.pods.next_name(name), code, times=1)
        refused = [case.pod(name, role="erring", cpu="100m") for name in REFUSED]
        gate.await_call(refused[0].name)
        # A conflict of the apiserver's own comes with a change of the pod, and some schedulers wait for that change.
        case.pods.patch(refused[0], {"metadata": {"annotations": {"schedproof.dev/changed": "yes"}}})
        case.expect_bound(refused, case.deadlines.requeue)
        gate.hold(case.pods.next_name("stateful"))
        first = case.pod("stateful", cpu="100m")
        if gate.await_held():
            second = case.pods.recreate(first, cpu="100m")
            gate.release()
            case.expect_bound([second], case.deadlines.requeue)
        case.fence()


@pytest.mark.clause("core/unschedulable-condition")
def test_unschedulable_condition(case: Case) -> None:
    """A pod is too large for every node; two of the same name in two namespaces select a label that no node has."""
    pods = [case.pod("too-large", cpu="1000"), case.pod("selects", nodeSelector=NO_SUCH_NODE)]
    pods.append(case.pods.create_same_name(pods[-1], nodeSelector=NO_SUCH_NODE))
    case.expect_pending(pods)
    case.status.await_condition(pods, "PodScheduled", case.deadlines.reaction, reason=UNSCHEDULABLE)
    if "events" in case.trial.candidate.claims.features:
        case.status.await_event(pods, case.deadlines.reaction)


@pytest.mark.clause("core/condition-refused")
def test_condition_refused(case: Case) -> None:
    """A pod selects a label that no node has; the first write of its status fails. Then a node has another value."""
    label = "schedproof.dev/disk"
    with case.candidate.hold_bindings(statuses=True) as gate:
        gate.refuse_status(case.pods.next_name("selects"))
        pod = case.pod("selects", nodeSelector={label: "ssd"})
        gate.await_refused_status(pod.name, case.deadlines.bind.then(case.deadlines.reaction))
        case.expect_pending([pod])
        case.nodes.change(case.nodes.names[0], labels={label: "hdd"})
        due = case.deadlines.requeue.then(case.deadlines.reaction)
        case.status.await_condition([pod], "PodScheduled", due, reason=UNSCHEDULABLE)


@pytest.mark.clause("core/foreign-conditions")
def test_foreign_conditions(case: Case) -> None:
    """Gated pods get conditions of other controllers, then lose their gates. They fit nowhere: PodScheduled is set."""
    gates = [{"name": "schedproof.dev/later"}]
    spec = {"role": "conditioned", "schedulingGates": gates, "nodeSelector": NO_SUCH_NODE}
    ready, both = "schedproof.dev/ready", ("schedproof.dev/ready", "schedproof.dev/quota-granted")
    pods = [case.pod("gate", readinessGates=[{"conditionType": ready}], **spec), case.pod("two", **spec)]
    case.pods.add_conditions(pods[0], ready)
    case.pods.add_conditions(pods[1], *both)
    for pod in pods:
        case.pods.lift_gates(pod)
    case.expect_pending(pods)
    case.status.await_condition(pods, "PodScheduled", case.deadlines.reaction, reason=UNSCHEDULABLE)
