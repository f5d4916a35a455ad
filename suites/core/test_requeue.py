"""core: a pod that could not be scheduled gets another chance when the world changes."""

import pytest

POOL = "schedproof.dev/pool"
GATES = [{"name": "schedproof.dev/first"}, {"name": "schedproof.dev/second"}]


def requeue(case, before, after, **spec):
    """One node is changed, so that a pod fits nowhere, and later so that it fits there."""
    node, *_ = case.nodes
    case.change_node(node, **before)
    case.settle()
    pod = case.pod("waits", cpu="100m", **(spec or {"nodeSelector": {"kubernetes.io/hostname": node}}))
    case.expect_pending([pod])
    case.change_node(node, **after)
    case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/requeue-node-added")
def test_requeue_node_added(case):
    """A pod is larger than every node. Then a node joins that is large enough."""
    pod = case.pod("large", cpu=case.beyond("cpu", 1.5))
    case.expect_pending([pod])
    case.add_node("node-large", cpu=case.beyond("cpu", 2))
    case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/requeue-pod-deleted")
def test_requeue_pod_deleted(case):
    """All nodes are full. Then a pod is deleted that took what another one needs."""
    leaving, *_ = [case.fill(node, cpu=case.share("cpu", 1 / 16)) for node in case.nodes]
    case.settle()
    pod = case.pod("waits", cpu=case.share("cpu", 1 / 4))
    case.expect_pending([pod], cpu=case.share("cpu", 1 / 80))
    case.delete([leaving])
    case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/requeue-taint-removed")
def test_requeue_taint_removed(case):
    """A pod selects a node that is tainted. Then the taint goes."""
    requeue(case, {"taints": [{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}]}, {"taints": []})


@pytest.mark.clause("core/requeue-uncordon")
def test_requeue_uncordon(case):
    """A pod selects a node that is cordoned. Then it is no more."""
    requeue(case, {"unschedulable": True}, {"unschedulable": False})


@pytest.mark.clause("core/requeue-label-changed")
def test_requeue_label_changed(case):
    """A pod selects a value of a label that a node has with another value. Then it has that one."""
    label = "schedproof.dev/disk"
    requeue(case, {"labels": {label: "hdd"}}, {"labels": {label: "ssd"}}, nodeSelector={label: "ssd"})


@pytest.mark.clause("core/deleted-while-pending")
def test_deleted_while_pending(case):
    """Of pods that fit nowhere some are deleted, and some are being deleted. Some time later all of them would fit."""
    here = {"nodeSelector": {"schedproof.dev/late": "yes"}}
    stay = [case.pod("stays", **here) for _ in range(2)]
    # Every 20 s Kubernetes' garbage collector lets pods fail that are terminating and have no node: then once more.
    for _ in range(3):
        gone = [case.pod("gone", role="deleted", **here) for _ in range(2)]
        terminating = [case.lingering_pod("terminating", role="deleted", **here) for _ in range(3)]
        case.expect_pending([*gone, *terminating, *stay])
        for pod in terminating:
            case.terminate(pod)
        case.delete(gone)
        case.await_heeded()
        if any(map(case.is_pending, terminating)):
            break
    case.change_node(case.nodes[0], labels={"schedproof.dev/late": "yes"})
    case.expect_bound(stay, case.deadlines.requeue)
    case.fence(**here)


@pytest.mark.clause("core/bind-existing-node")
def test_bind_existing_node(case):
    """A node joins, gets a pod, and leaves. Then pods are created that select it, and pods that fit anywhere."""
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-leaving"}}
    case.add_node("node-leaving")
    case.settle()
    known = [case.pod("known", cpu="100m", **here)]
    case.expect_bound(known)
    case.delete(known)
    case.remove_node("node-leaving")
    case.settle()
    case.expect_bound([case.pod(cpu="100m") for _ in range(2 * len(case.nodes))])
    case.expect_pending([case.pod("selects", cpu="100m", **here) for _ in range(2)])


@pytest.mark.clause("core/node-recreated")
def test_node_recreated(case):
    """A node is deleted and comes back under its name at once: smaller, with another label, and without its taint."""
    case.add_node("node-again", cpu="8")
    reserved = {"key": "schedproof.dev/reserved", "effect": "NoSchedule"}
    case.change_node("node-again", labels={POOL: "first"}, taints=[reserved])
    case.settle()
    first, second = {"nodeSelector": {POOL: "first"}}, {"nodeSelector": {POOL: "second"}}
    known = [case.pod("known", cpu="6", tolerations=[{"operator": "Exists"}], **first)]
    case.expect_bound(known)
    case.delete(known)
    case.recreate_node("node-again", labels={POOL: "second"}, cpu="2")
    case.settle()
    case.expect_bound([case.pod("fits", cpu="500m", **second)])
    tolerant = {"tolerations": [{"operator": "Exists"}]}
    exceeds = [case.pod("exceeds", cpu="100m", **tolerant, **first), case.pod("exceeds", cpu="3", **second)]
    case.expect_pending(exceeds)


@pytest.mark.clause("core/requeue-bind-refused")
def test_requeue_bind_refused(case):
    """The apiserver answers a pod's Binding with an error. Then it does no more."""
    with case.hold_bindings() as gate:
        gate.refuse(case.next_name("erring"))
        pod = case.pod("erring", role="erring", cpu="100m")
        gate.await_call(pod.name)
        gate.accept()
        case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/scheduling-gates")
def test_scheduling_gates(case):
    """Pods with two gates lose one, then the other. Meanwhile some get a node selector, as a queue's quota gives it."""
    gated, placed, nowhere = (case.pod("gated", cpu="100m", schedulingGates=GATES) for _ in range(3))
    case.fence()
    for pod in (gated, placed, nowhere):
        case.patch(pod, {"spec": {"schedulingGates": GATES[:1]}})
    case.patch(placed, {"spec": {"nodeSelector": {"kubernetes.io/hostname": case.nodes[-1]}}})
    case.patch(nowhere, {"spec": {"nodeSelector": {"schedproof.dev/no-such": "node"}}})
    case.fence()
    for pod in (gated, placed, nowhere):
        case.lift_gates(pod)
    case.expect_bound([gated, placed], case.deadlines.requeue)
    case.expect_pending([nowhere])


@pytest.mark.clause("core/no-nodes")
def test_no_nodes(case):
    """All nodes go. A pod is created, and waits. Then a node joins."""
    case.remove_all_nodes()
    pod = case.nowhere_pod("early", cpu="100m")
    case.rejoin(case.nodes[0])
    case.expect_bound([pod], case.deadlines.requeue)


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
    case.expect_bound([selects], case.deadlines.requeue)
