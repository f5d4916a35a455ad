"""core: a pod that could not be scheduled is retried when the cluster changes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.candidate.surroundings import RbacSpec
from schedproof.clusters.nodes import CORDONED
from schedproof.normalization.surfaces.scheduler import confined
from schedproof.stimulus.case import Case
from schedproof.stimulus.exclusive import one_for_each_node
from schedproof.stimulus.pods import Pod

REFUSALS = {500: 3, 409: 2}
"""HTTP status to how often a pod's Binding fails with it."""
RESTS = 4
SEVERAL = 6
MANY = 12
CROWD = 72
"""Pods that wait for the same: more than a queue with a round limit takes at once."""
PAGES = {"pods": 1200, "nodes": 600}
"""Objects for three pages, and for two: client-go's pager requests 500 at a time (defaultPageSize)."""
POOL = "schedproof.dev/pool"
JOINED = "node-large"
TOLERANT = {"tolerations": [{"operator": "Exists"}]}
GATES = [{"name": "schedproof.dev/first"}, {"name": "schedproof.dev/second"}]


def requeue(case: Case, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Change a node so that a pod fits nowhere, then so that it fits there."""
    node, *_ = case.nodes.names
    case.nodes.change(node, **before)
    case.settle()
    pod = case.pod("waits", cpu="100m", nodeSelector={"kubernetes.io/hostname": node})
    case.expect_pending([pod])
    case.nodes.change(node, **after)
    case.expect_bound([pod], case.deadlines.requeue)


def requeue_anywhere(case: Case, before: dict[str, Any], after: dict[str, Any], taint: str) -> None:
    """Change all nodes so that no pod fits that does not tolerate `taint`, then one so that all do.

    No rule but that of the taint keeps the pod off. One that selects a node is kept off the others by its selector, and
    kube-scheduler, for example, tries it again for that reason after any change of taints.
    """
    for node in case.nodes.names:
        case.nodes.change(node, **before)
    case.settle()
    pod = case.pod("waits", cpu="100m")
    case.expect_pending([pod], tolerations=[{"key": taint, "operator": "Exists"}])
    case.nodes.change(case.nodes.names[-1], **after)
    case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/requeue-node-added")
def test_requeue_node_added(case: Case) -> None:
    """A pod is larger than every node, one selects a label that none has, and others find one like them on each node.

    Then a node joins that suits all. All but the first tolerate all taints: only the new node can cause a retry. Last,
    many idle nodes join at once, and a pod waits for each.
    """
    case.need(Subject.TAINTS)  # which each node has from its creation until it is ready
    pods = [case.pod("large", cpu=case.nodes.beyond("cpu", 1.5))]
    pods.append(case.pod("selects", nodeSelector={"kubernetes.io/hostname": JOINED}, **TOLERANT))
    if not case.leaves_out(Subject.NODE_AFFINITY):
        confine = confined([*case.nodes.names[:2], JOINED])
        for spec in one_for_each_node(case):
            spec["affinity"] = confine | spec.get("affinity", {})
            case.expect_bound([case.pod("holds", **spec, **TOLERANT) for _ in case.nodes.names[:2]])
            pods.append(case.pod("waits", **spec, **TOLERANT))
    case.expect_pending(pods)
    case.nodes.add(JOINED, cpu=case.nodes.beyond("cpu", 2))
    case.expect_bound(pods, case.deadlines.requeue)
    network = case.trial.candidate.claims.network
    if "idle-nodes" not in case.trial.cluster.capabilities or (network is not None and network.on_missing == "reject"):
        return
    names = [f"node-many-{number:02}" for number in range(MANY)]
    pods = [case.pod("selects", nodeSelector={"kubernetes.io/hostname": name}) for name in names]
    case.expect_pending(pods)
    case.nodes.add_named(dict.fromkeys(names, ""))
    case.expect_bound(pods, case.deadlines.requeue)


@pytest.mark.clause("core/requeue-pod-deleted")
def test_requeue_pod_deleted(case: Case) -> None:
    """All nodes are full. Then a pod is deleted whose room a pending pod needs."""
    leaving, *_ = [case.pods.fill(node, cpu=case.nodes.share("cpu", 1 / 16)) for node in case.nodes.names]
    case.settle()
    pod = case.pod("waits", cpu=case.nodes.share("cpu", 1 / 4))
    case.expect_pending([pod], cpu=case.nodes.share("cpu", 1 / 80))
    case.delete([leaving])
    case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/idle")
def test_idle(case: Case) -> None:
    """A pod waits for room. Small pods are deleted, one after the other: it is tried again, and still fits nowhere.

    After each deletion nothing happens for a moment, in which the candidate only has to let the pod's back-off pass.
    """
    node, *_ = case.nodes.names
    small = [case.pods.neighbour(node, "small", cpu="1m") for _ in range(RESTS)]
    case.pods.fill(node, cpu=case.nodes.share("cpu", 1 / 16))
    case.settle()
    waits = case.pod("waits", cpu=case.nodes.share("cpu", 1 / 4), nodeSelector={"kubernetes.io/hostname": node})
    case.expect_pending([waits])
    for pod in small:
        case.delete([pod])
        case.rest()
    case.expect_pending([waits])


@pytest.mark.clause("core/requeue-taint-removed")
def test_requeue_taint_removed(case: Case) -> None:
    """A pod selects a tainted node. Then the taint is removed; later, its effect becomes one that repels no pod.

    Last, a pod waits while all nodes are tainted.
    """
    taint = {"key": "schedproof.dev/reserved", "effect": "NoSchedule"}
    requeue(case, {"taints": [taint]}, {"taints": []})
    requeue(case, {"taints": [taint]}, {"taints": [{**taint, "effect": "PreferNoSchedule"}]})
    requeue_anywhere(case, {"taints": [taint]}, {"taints": []}, taint["key"])


@pytest.mark.clause("core/requeue-uncordon")
def test_requeue_uncordon(case: Case) -> None:
    """A pod selects a cordoned node. Then the node is uncordoned. Another pod waits while all nodes are cordoned."""
    requeue(case, {"unschedulable": True}, {"unschedulable": False})
    requeue_anywhere(case, {"unschedulable": True}, {"unschedulable": False}, CORDONED)


@pytest.mark.clause("core/requeue-label-changed")
def test_requeue_label_changed(case: Case) -> None:
    """Pods select a value of a label of which a node has another value. Then the node gets the selected value.

    Two of them have the same name, in two namespaces. Then a node changes while the candidate writes why a pod
    waits. Last, a crowd waits for another value: all of it is tried again.
    """
    label = "schedproof.dev/disk"
    node, *_ = case.nodes.names
    case.nodes.change(node, labels={label: "hdd"})
    case.settle()
    wants = {"cpu": "100m", "nodeSelector": {label: "ssd"}}
    pods = [case.pod("waits", **wants) for _ in range(2)]
    pods.append(case.pods.create_same_name(pods[0], **wants))
    case.expect_pending(pods)
    case.nodes.change(node, labels={label: "ssd"})
    case.expect_bound(pods, case.deadlines.requeue)
    if "hold-bindings" in case.trial.cluster.capabilities:
        with case.candidate.hold_bindings(statuses=True) as gate:
            gate.hold_status(case.pods.next_name("meanwhile"))
            pod = case.pod("meanwhile", cpu="1m", nodeSelector={label: "tape"})
            gate.await_held_status()
            case.nodes.change(node, labels={label: "tape"})
            case.view.await_freshness()
            gate.release()
            case.expect_bound([pod], case.deadlines.requeue)
    count = SEVERAL if "real-pods" in case.trial.cluster.capabilities else CROWD
    crowd = [case.pod("waits", cpu="1m", nodeSelector={label: "nvme"}) for _ in range(count)]
    case.expect_pending(crowd)
    case.nodes.change(node, labels={label: "nvme"})
    for begin in range(0, count, SEVERAL):
        case.expect_bound(crowd[begin : begin + SEVERAL], case.deadlines.requeue)


@pytest.mark.clause("core/requeue-node-resized")
def test_requeue_node_resized(case: Case) -> None:
    """A node joins that has too little CPU, and no device. Then its allocatable CPU grows, and it gets devices."""
    case.nodes.add("node-growing", cpu="1")
    case.settle()
    device = "schedproof.dev/device"
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-growing"}}
    large, wants = case.pod("large", cpu="2", **here), list[Pod]()
    if not case.leaves_out(Subject.EXTENDED_RESOURCES):
        wants.append(case.pod("wants", cpu="100m", extended={device: "1"}, **here))
    case.expect_pending([large, *wants])
    case.nodes.resize("node-growing", cpu="3")
    case.expect_bound([large], case.deadlines.requeue)
    case.nodes.resize("node-growing", **{device: "1"})
    case.expect_bound(wants, case.deadlines.requeue)


@pytest.mark.clause("core/requeue-pod-updated")
def test_requeue_pod_updated(case: Case) -> None:
    """Pods select a tainted node without tolerating the taint. Then one of them gets a matching toleration.

    Then the node is cordoned, and a pod waits until it tolerates that.
    """
    node, *_ = case.nodes.names
    case.nodes.change(node, taints=[{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}])
    case.settle()
    pods = [case.pod("waits", cpu="100m", nodeSelector={"kubernetes.io/hostname": node}) for _ in range(2)]
    case.expect_pending(pods)
    case.pods.tolerate(pods[0], {"key": "schedproof.dev/reserved", "operator": "Exists"})
    case.expect_bound(pods[:1], case.deadlines.requeue)
    case.expect_pending(pods[1:])
    if case.leaves_out(Subject.CORDONS):
        return
    case.restore()
    case.nodes.change(node, unschedulable=True)
    case.settle()
    waits = case.pod("waits", cpu="100m", nodeSelector={"kubernetes.io/hostname": node})
    case.expect_pending([waits])
    case.pods.tolerate(waits, {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})
    case.expect_bound([waits], case.deadlines.requeue)


@pytest.mark.clause("core/deleted-while-pending")
def test_deleted_while_pending(case: Case) -> None:
    """Of pods that fit nowhere, some are deleted, and some are terminating. Later, all of them would fit."""
    node, *_ = case.nodes.names
    here = {"nodeSelector": {"schedproof.dev/late": "yes"}}
    # Every 20 s, Kubernetes' pod garbage collector fails terminating pods without a node: then once more.
    for _ in range(3):
        stay = [case.pod("stays", **here) for _ in range(2)]
        gone = [case.pod("gone", role="deleted", **here) for _ in range(2)]
        terminating = [case.pods.lingering("terminating", role="deleted", **here) for _ in range(3)]
        case.expect_pending([*gone, *terminating, *stay])
        for pod in terminating:
            case.pods.terminate(pod)
        case.delete(gone)
        case.view.age()
        case.nodes.change(node, labels={"schedproof.dev/late": "yes"})
        case.expect_bound(stay, case.deadlines.requeue)
        case.fence(**here)
        if any(map(case.pods.is_pending, terminating)):
            break
        case.nodes.change(node, labels={"schedproof.dev/late": None})
        case.settle()


@pytest.mark.clause("core/bind-existing-node")
def test_bind_existing_node(case: Case) -> None:
    """A node joins, gets a pod, and leaves. Then pods are created that select it, and pods that fit anywhere."""
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-leaving"}}
    case.nodes.add("node-leaving")
    case.settle()
    known = [case.pod("known", cpu="100m", **here)]
    case.expect_bound(known)
    case.delete(known)
    case.nodes.remove("node-leaving")
    case.settle()
    case.expect_bound([case.pod(cpu="100m") for _ in range(2 * len(case.nodes.names))])
    case.expect_pending([case.pod("selects", cpu="100m", **here) for _ in range(2)])


@pytest.mark.clause("core/node-recreated")
def test_node_recreated(case: Case) -> None:
    """A node is deleted and comes back under its name at once: smaller, with another label, and without its taint."""
    case.nodes.add("node-again", cpu="8")
    reserved = {"key": "schedproof.dev/reserved", "effect": "NoSchedule"}
    case.nodes.change("node-again", labels={POOL: "first"}, taints=[reserved])
    case.settle()
    first, second = {"nodeSelector": {POOL: "first"}}, {"nodeSelector": {POOL: "second"}}
    known = [case.pod("known", cpu="6", tolerations=[{"operator": "Exists"}], **first)]
    case.expect_bound(known)
    case.delete(known)
    case.nodes.recreate("node-again", labels={POOL: "second"}, cpu="2")
    case.settle()
    case.expect_bound([case.pod("fits", cpu="500m", **second)])
    tolerant = {"tolerations": [{"operator": "Exists"}]}
    exceeds = [case.pod("exceeds", cpu="100m", **tolerant, **first), case.pod("exceeds", cpu="3", **second)]
    case.expect_pending(exceeds)


@pytest.mark.clause("core/requeue-bind-refused")
def test_requeue_bind_refused(case: Case) -> None:
    """The apiserver refuses a pod's Binding with an error three times, and another pod's with a conflict twice.

    Then it refuses those of several pods for one node, once each: resources that are reserved for a Binding and not
    released add up. After each error a candidate has its claimed time for a retry.
    """
    with case.candidate.hold_bindings() as gate:
        erring = {}
        for code, times in REFUSALS.items():
            gate.refuse(case.pods.next_name("erring"), code, times=times)
            erring[code] = case.pod("erring", role="erring", cpu="100m")
        for code, times in REFUSALS.items():
            for number in range(1, times + 1):
                if not gate.await_calls(erring[code].name, number, case.deadlines.requeue):
                    case.were_due([erring[code]], case.deadlines.requeue)
                if code == HTTPStatus.CONFLICT:
                    # A conflict of the apiserver's own comes with a change of the pod, and some schedulers wait for
                    # that change.
                    changed = {"schedproof.dev/changed": str(number)}
                    case.pods.patch(erring[code], {"metadata": {"annotations": changed}})
            case.expect_bound([erring[code]], case.deadlines.requeue)
        here = {"nodeSelector": {"kubernetes.io/hostname": case.nodes.names[0]}}
        several = []
        for _ in range(SEVERAL):
            gate.refuse(case.pods.next_name("several"), times=1)
            several.append(case.pod("several", role="erring", cpu="10m", **here))
        for pod in several:
            case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/scheduling-gates")
def test_scheduling_gates(case: Case) -> None:
    """Pods lose their two gates one after the other. Meanwhile some get a node selector, as a queue's quota sets it."""
    gated, placed, nowhere = (case.pod("gated", cpu="100m", schedulingGates=GATES) for _ in range(3))
    case.fence()
    for pod in (gated, placed, nowhere):
        case.pods.patch(pod, {"spec": {"schedulingGates": GATES[:1]}})
    case.pods.patch(placed, {"spec": {"nodeSelector": {"kubernetes.io/hostname": case.nodes.names[-1]}}})
    case.pods.patch(nowhere, {"spec": {"nodeSelector": {"schedproof.dev/no-such": "node"}}})
    case.fence()
    for pod in (gated, placed, nowhere):
        case.pods.lift_gates(pod)
    case.expect_bound([gated, placed], case.deadlines.requeue)
    case.expect_pending([nowhere])


@pytest.mark.clause("core/no-nodes")
def test_no_nodes(case: Case) -> None:
    """All nodes are removed. A pod is created, and waits. Then a node joins."""
    case.need(Subject.TAINTS)  # which a node has until it is ready
    case.nodes.remove_all()
    pod = case.view.nowhere_pod("early", cpu="100m")
    case.nodes.rejoin(case.nodes.names[0])
    case.expect_bound([pod], case.deadlines.requeue)


@pytest.mark.clause("core/restart")
def test_restart(case: Case) -> None:
    """Some pods are bound, one fits nowhere, and some are created while the scheduler is down; then it is restarted.

    First, pods are bound that leave no room for another of their kind on their node, and it is restarted once more.

    If the candidate may list objects by itself (a kube-scheduler reads all pages), there are more objects than
    clients request at once, and these come first in a list: pods of another scheduler, and nodes on which no pod
    fits.
    """
    here = {"nodeSelector": {"kubernetes.io/hostname": case.nodes.names[-1]}}
    alone = [{"cpu": case.nodes.share("cpu", 0.6)}, *one_for_each_node(case)]
    known = [case.pod("before", **spec, **here) for spec in alone]
    case.expect_bound(known)
    with case.candidate.down():
        exceeds = [case.pod("exceeds", **spec, **here) for spec in alone]
    case.expect_pending(exceeds)
    case.delete([*known, *exceeds])
    candidate = case.trial.candidate
    if candidate.kind == "attached" or candidate.rbac != RbacSpec():
        case.pods.crowd(PAGES["pods"])
        if "idle-nodes" in case.trial.cluster.capabilities - {"real-pods"} and not case.leaves_out(Subject.CORDONS):
            case.nodes.crowd(PAGES["nodes"])
    for _ in range(3):
        case.expect_bound([case.pod("before", cpu="100m")])
    selects = case.pod("selects", nodeSelector={"schedproof.dev/late": "yes"})
    case.fence()
    with case.candidate.down():
        pods = [case.pod("meanwhile", cpu="100m") for _ in range(3)]
    case.expect_bound(pods)
    case.nodes.change(case.nodes.names[0], labels={"schedproof.dev/late": "yes"})
    case.expect_bound([selects], case.deadlines.requeue)
