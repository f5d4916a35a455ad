"""core: how a scheduler binds, and what it says when it cannot."""

import pytest

NO_SUCH_NODE = {"schedproof.dev/no-such": "node"}


@pytest.mark.clause("core/binds")
def test_binds(case):
    """Pods that fit everywhere, with and without requests, and one that names its node by its labels."""
    node, *_ = case.nodes
    pods = [case.pod(cpu="100m", memory="64Mi") for _ in range(5)]
    pods += [case.pod("bare"), case.pod("selects", nodeSelector={"kubernetes.io/hostname": node})]
    case.expect_bound(pods)


@pytest.mark.clause("core/prebound-untouched")
def test_prebound_untouched(case):
    """Pods that name their node at their creation, and this scheduler: there is nothing left to schedule."""
    for node in case.nodes[:4]:
        case.pod("prebound", role="prebound", node=node, cpu="100m")
    case.fence()


@pytest.mark.clause("core/no-head-of-line")
def test_no_head_of_line(case):
    """Pods that fit nowhere, and one whose every Binding is refused, were there first."""
    with case.hold_bindings() as gate:
        gate.refuse(case.next_name("erring"))
        case.pod("erring", role="erring", cpu="100m")
        blocked = [case.pod("too-large", cpu="1000"), case.pod("selects", nodeSelector=NO_SUCH_NODE)]
        case.expect_bound([case.pod("behind", cpu="100m") for _ in range(6)])
        case.expect_pending(blocked)


@pytest.mark.clause("core/failing-binding-isolated")
def test_failing_binding_isolated(case):
    """A pod whose every Binding is refused is deleted. Pods are created before that, and after."""
    with case.hold_bindings() as gate:
        gate.refuse(case.next_name("erring"))
        erring = case.pod("erring", role="erring", cpu="100m")
        gate.await_call(erring.name)
        beside = [case.pod("beside", cpu="100m") for _ in range(3)]
        case.delete([erring])
        case.expect_bound([*beside, *(case.pod("behind", cpu="100m") for _ in range(3))])


@pytest.mark.clause("core/bind-uid")
def test_bind_uid(case):
    """While its Binding is under way, the pod is deleted and created anew, as one that fits nowhere."""
    with case.hold_bindings() as gate:
        gate.hold(case.next_name("twice"))
        first = case.pod("twice", cpu="100m")
        if not gate.await_held():
            case.expect_bound([first])
            return
        second = case.recreate(first, nodeSelector=NO_SUCH_NODE)
        gate.release()
        case.expect_pending([second])
        # The name is not lost: a StatefulSet's pod has it for good.
        case.expect_bound([case.recreate(second, cpu="100m")], case.deadlines.requeue)


@pytest.mark.clause("core/conflict-forgiven")
def test_conflict_forgiven(case):
    """Each pod's first Binding is answered with an error; one has taken effect; one's pod is created anew meanwhile."""
    with case.hold_bindings() as gate:
        # First, so that a scheduler that repeats it has the time of all that follows to do so.
        gate.lose_answer(case.next_name("timed-out"))
        timed_out = case.pod("timed-out", role="erring", cpu="100m")
        gate.await_lost(timed_out.name)
        case.expect_bound([timed_out])
        for name, code in (("conflict", 409), ("internal-error", 500), ("unavailable", 503)):
            gate.refuse(case.next_name(name), code, times=1)
        refused = [case.pod(name, role="erring", cpu="100m") for name in ("conflict", "internal-error", "unavailable")]
        gate.await_call(refused[0].name)
        # With every conflict of the API's own comes a change of the pod, and some wait for that.
        case.patch(refused[0], {"metadata": {"annotations": {"schedproof.dev/changed": "yes"}}})
        case.expect_bound(refused, case.deadlines.requeue)
        gate.hold(case.next_name("stateful"))
        first = case.pod("stateful", cpu="100m")
        if gate.await_held():
            second = case.recreate(first, cpu="100m")
            gate.release()
            case.expect_bound([second], case.deadlines.requeue)
        case.fence()


@pytest.mark.clause("core/unschedulable-condition")
def test_unschedulable_condition(case):
    """One pod is too large for every node, one selects a label that no node has."""
    pods = [case.pod("too-large", cpu="1000"), case.pod("selects", nodeSelector=NO_SUCH_NODE)]
    case.expect_pending(pods)
    case.await_condition(pods, "PodScheduled", case.deadlines.reaction)
    if "events" in case.trial.candidate.claims.features:
        case.await_event(pods, case.deadlines.reaction)


@pytest.mark.clause("core/foreign-conditions")
def test_foreign_conditions(case):
    """Gated pods get conditions of other controllers, then lose their gates. They fit nowhere, which is written too."""
    gates = [{"name": "schedproof.dev/later"}]
    spec = {"role": "conditioned", "schedulingGates": gates, "nodeSelector": NO_SUCH_NODE}
    ready, both = "schedproof.dev/ready", ("schedproof.dev/ready", "schedproof.dev/quota-granted")
    pods = [case.pod("gate", readinessGates=[{"conditionType": ready}], **spec), case.pod("two", **spec)]
    case.add_conditions(pods[0], ready)
    case.add_conditions(pods[1], *both)
    for pod in pods:
        case.lift_gates(pod)
    case.expect_pending(pods)
    case.await_condition(pods, "PodScheduled", case.deadlines.reaction, reason="Unschedulable")
