"""core: a pod that could not be scheduled gets another chance when the world changes."""

import pytest

from schedproof.foundation.deadlines import REQUEUE

GATES = [{"name": "schedproof.dev/first"}, {"name": "schedproof.dev/second"}]


@pytest.mark.clause("core/requeue-node-added")
def test_requeue_node_added(case):
    """A pod is larger than every node. Then a node joins that is large enough."""
    pod = case.pod("large", cpu=case.beyond("cpu", 1.5))
    case.expect_pending([pod])
    case.add_node("node-large", cpu=case.beyond("cpu", 2))
    case.expect_bound([pod], REQUEUE)


@pytest.mark.clause("core/requeue-pod-deleted")
def test_requeue_pod_deleted(case):
    """All nodes are full. Then a pod is deleted that took what another one needs."""
    leaving, *_ = [case.fill(node, cpu=case.share("cpu", 1 / 16)) for node in case.nodes]
    case.settle()
    pod = case.pod("waits", cpu=case.share("cpu", 1 / 4))
    case.expect_pending([pod], cpu=case.share("cpu", 1 / 80))
    case.delete([leaving])
    case.expect_bound([pod], REQUEUE)


@pytest.mark.clause("core/requeue-bind-refused")
def test_requeue_bind_refused(case):
    """The apiserver answers a pod's Binding with an error. Then it does no more."""
    with case.hold_bindings() as gate:
        gate.refuse(case.next_name("erring"))
        pod = case.pod("erring", role="erring", cpu="100m")
        gate.await_call(pod.name)
        gate.accept()
        case.expect_bound([pod], REQUEUE)


@pytest.mark.clause("core/scheduling-gates")
def test_scheduling_gates(case):
    """A pod with two gates loses one, then the other."""
    gated = case.pod("gated", cpu="100m", schedulingGates=GATES)
    case.fence()
    case.patch(gated, {"spec": {"schedulingGates": GATES[:1]}})
    case.fence()
    case.lift_gates(gated)
    case.expect_bound([gated], REQUEUE)


@pytest.mark.clause("core/no-nodes")
def test_no_nodes(case):
    """All nodes go. A pod is created, and waits. Then a node joins."""
    case.remove_all_nodes()
    pod = case.nowhere_pod("early", cpu="100m")
    case.rejoin(case.nodes[0])
    case.expect_bound([pod], REQUEUE)


@pytest.mark.clause("core/restart")
def test_restart(case):
    """Some pods are bound, one fits nowhere, some are created while the scheduler is down; then it is back."""
    case.expect_bound([case.pod("before", cpu="100m") for _ in range(3)])
    selects = case.pod("selects", nodeSelector={"schedproof.dev/late": "yes"})
    case.fence()
    with case.candidate_down():
        pods = [case.pod("meanwhile", cpu="100m") for _ in range(3)]
    case.expect_bound(pods)
    case.change_node(case.nodes[0], labels={"schedproof.dev/late": "yes"})
    case.expect_bound([selects], REQUEUE)
