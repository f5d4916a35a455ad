"""core: pods are bound only to nodes with sufficient resources. Sizes are fractions of a node's allocatable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.clusters.spec import version
from schedproof.stimulus.case import Case
from schedproof.stimulus.changes.binding_webhook import BindingWebhook
from schedproof.stimulus.pods import NEVER_STARTS

MANY = 70
"""Pods of others: more than a small cache holds."""
_RESTART_POLICIES = (1, 35)
"""The Kubernetes version since which each container may have a restart policy of its own (KEP-5307)."""


def shares(case: Case, resource: str) -> Callable[[float], str]:
    """Return a function from thirty-seconds of a node's allocatable to a quantity: 250m, 500m, ... of 8 CPUs."""
    return lambda part: case.nodes.share(resource, part / 32)


@pytest.mark.clause("core/fit-cpu")
def test_fit_cpu(case: Case) -> None:
    """Only one node has room for a large pod. The first large pod takes it, and the second waits.

    Then, if nodes can join, on a new node: pods of two containers, of which one may have no request; a pod that is
    labelled while it runs; a pod that another scheduler binds later and that never starts; millicores that add up; and
    three tenths of a CPU, which binary floating point sums inexactly.
    """
    size = shares(case, "cpu")
    roomy, *others = case.nodes.names
    case.pods.fill(roomy, cpu=size(10))
    for node in others:
        case.pods.fill(node, cpu=size(6))
    case.settle()
    case.expect_bound([case.pod("fits", cpu=size(8))])
    case.expect_pending([case.pod("exceeds", cpu=size(8)), case.pod("exceeds", cpu=size(6.1))], cpu=size(1))
    if "change-nodes" not in case.trial.cluster.capabilities:
        return
    case.restore()
    here = node_of_its_own(case, cpu="8")
    elsewhere = {"nodeSelector": {"kubernetes.io/hostname": roomy}}
    foreign = case.pods.foreign(cpu="4", annotations=NEVER_STARTS)
    labelled = case.pod("fits", cpu="1", more=[{"cpu": "1"}], **here)
    case.expect_bound([labelled])
    large: list[dict[str, Any]] = [{"cpu": "5", "more": [{"cpu": "2"}]}, {"more": [{"cpu": "7"}]}]
    case.expect_pending([case.pod("exceeds", **asked, **here) for asked in large], **elsewhere)
    for number in range(2):
        case.pods.patch(labelled, {"metadata": {"labels": {"schedproof.dev/labelled": str(number)}}})
    case.pods.bind_elsewhere(foreign, here["nodeSelector"]["kubernetes.io/hostname"])
    case.settle()
    case.expect_pending([case.pod("exceeds", cpu="3", **here)], **elsewhere)
    case.expect_bound([case.pod("fits", cpu="500m", more=[{"cpu": "500m"}, {"cpu": "1"}], **here)])
    case.restore()
    here = node_of_its_own(case, cpu="300m")
    small = [case.pod("fits", cpu="104m", **here) for _ in range(2)]
    case.expect_bound(small)
    exceeds = case.pod("exceeds", cpu="93m", **here)
    case.expect_pending([exceeds], **elsewhere)
    case.delete([exceeds, *small])
    for _ in range(3):
        case.expect_bound([case.pod("fits", cpu="100m", **here)])


@pytest.mark.clause("core/fit-overcommitted")
def test_fit_overcommitted(case: Case) -> None:
    """Another scheduler binds more to a node than it has. Then pods select it that request no CPU, or 0 of it."""
    here = node_of_its_own(case, cpu="300m")
    case.pods.bind_elsewhere(case.pods.foreign(cpu="500m"), here["nodeSelector"]["kubernetes.io/hostname"])
    case.settle()
    case.expect_bound([case.pod("fits", **asked, **here) for asked in ({"memory": "1Mi"}, {"cpu": "0"})])


@pytest.mark.clause("core/fit-memory")
def test_fit_memory(case: Case) -> None:
    """Like core/fit-cpu, with pods that request only memory.

    Then, if nodes can join, on a new node: pods of the same name in two namespaces, a pod in kube-system, quantities
    with decimal suffixes and with an exponent, and a request that exceeds the free memory by a byte.
    """
    size = shares(case, "memory")
    roomy, *others = case.nodes.names
    case.pods.fill(roomy, memory=size(5))
    for node in others:
        case.pods.fill(node, memory=size(3))
    case.settle()
    case.expect_bound([case.pod("fits", memory=size(4))])
    case.expect_pending([case.pod("exceeds", memory=size(4)), case.pod("exceeds", memory=size(3.1))], memory=size(0.1))
    if "change-nodes" not in case.trial.cluster.capabilities:
        return
    case.restore()
    here = node_of_its_own(case, memory="8500Mi")
    name = here["nodeSelector"]["kubernetes.io/hostname"]
    (other,) = case.objects.namespaces(other={})
    case.pods.place_same_name(case.pods.neighbour(name, "twin", memory="100Mi"), other, name, memory="3900Mi")
    case.pods.neighbour(name, "system", namespace="kube-system", memory="500Mi")
    case.settle()
    elsewhere = {"nodeSelector": {"kubernetes.io/hostname": roomy}}
    case.expect_pending([case.pod("exceeds", memory=amount, **here) for amount in ("4100Mi", "9e9")], **elsewhere)
    # Together 3814.7Mi: if k meant 1024, they would need 4096Mi and not fit.
    pods = [case.pod("fits", memory=amount, **here) for amount in ("2G", "2000M")]
    case.expect_bound(pods)
    case.delete(pods)
    room = 4000 << 20
    case.expect_bound([case.pod("fits", memory=str(room - 2_000_000_001), **here)])
    case.expect_pending([case.pod("exceeds", memory="2000000002", **here)], **elsewhere)
    case.expect_bound([case.pod("fits", memory="2000000001", **here)])


def node_of_its_own(case: Case, /, kind: str = "", **capacity: str) -> dict[str, Any]:
    """Add a node with this capacity, and return the spec fields by which a pod selects it."""
    name = "-".join(filter(None, ("node", case.clause.rpartition("/")[2], kind)))
    case.nodes.add(name, **capacity)
    case.settle()
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


def fill_up(case: Case, resource: str, *, of: str, some: str, too_much: str, rest: str) -> None:
    """On a node with `of` a resource, bind a pod with `some`; then `too_much` does not fit, and the `rest` does.

    A scheduler that counts too little for the first pod binds the second; if too much, the last pod stays pending.
    Nor does an init container fit that requests `too_much`, or a sidecar with the `rest` beside a container with it.
    """
    here = node_of_its_own(case, **{resource: of})
    case.expect_bound([case.pod("fits", cpu="100m", extended={resource: some}, **here)])
    init = {"cpu": "10m", "extended": {resource: too_much}}
    sidecar = {"cpu": "10m", "extended": {resource: rest}, "restartPolicy": "Always"}
    exceeds: list[dict[str, Any]] = [{"extended": {resource: too_much}}]
    exceeds += [{"init": [init]}] if not case.leaves_out(Subject.INIT_CONTAINERS) else []
    exceeds += [{"extended": {resource: rest}, "init": [sidecar]}] if not case.leaves_out(Subject.SIDECARS) else []
    case.expect_pending([case.pod("exceeds", cpu="100m", **asked, **here) for asked in exceeds])
    case.expect_bound([case.pod("fits", cpu="100m", extended={resource: rest}, **here)])


@pytest.mark.clause("core/fit-ephemeral")
def test_fit_ephemeral(case: Case) -> None:
    """Pods request ephemeral storage, on a node that has 10Gi of it."""
    fill_up(case, "ephemeral-storage", of="10Gi", some="6Gi", too_much="6Gi", rest="4Gi")


@pytest.mark.clause("core/fit-extended")
def test_fit_extended(case: Case) -> None:
    """Pods request an extended resource, of which the node has 3; a pod requests 0 of a resource that it lacks."""
    fill_up(case, "schedproof.dev/device", of="3", some="2", too_much="2", rest="1")
    case.expect_bound([case.pod("fits", cpu="100m", extended={"schedproof.dev/other": "0"})])


@pytest.mark.clause("core/fit-hugepages")
def test_fit_hugepages(case: Case) -> None:
    """Pods request huge pages, on a node that has four of them."""
    fill_up(case, "hugepages-2Mi", of="8Mi", some="6Mi", too_much="4Mi", rest="2Mi")


@pytest.mark.clause("core/fit-init")
def test_fit_init(case: Case) -> None:
    """Init containers end before the others start: the larger of both requests counts, not their sum.

    So do those with a restart policy of their own, other than that of sidecars.
    """
    here = node_of_its_own(case, cpu="4", memory="4Gi")
    case.expect_bound(
        [case.pod("fits", cpu="2", memory="1Gi", init=[{"cpu": "3"}, {"cpu": "1", "memory": "2Gi"}], **here)]
    )
    exceeds = [case.pod("exceeds", cpu="100m", init=[{"cpu": "2"}], **here), case.pod("exceeds", cpu="1100m", **here)]
    if not case.leaves_out(Subject.MEMORY):
        exceeds.append(case.pod("exceeds", memory="1Gi", init=[{"memory": "2500Mi"}], **here))
    case.expect_pending(exceeds)
    case.expect_bound([case.pod("fits", cpu="1", memory="2Gi", init=[{"cpu": "500m", "memory": "2Gi"}], **here)])
    if version(case.trial.cluster.kubernetes) < _RESTART_POLICIES:
        return
    here = node_of_its_own(case, "policies", cpu="2")
    for policy in ("Never", "OnFailure"):
        ends = case.pod("fits", cpu="1500m", init=[{"cpu": "1500m", "restartPolicy": policy}], **here)
        case.expect_bound([ends])
        case.delete([ends])


@pytest.mark.clause("core/fit-sidecar")
def test_fit_sidecar(case: Case) -> None:
    """Sidecars run beside the containers, and beside later init containers: their requests are added."""

    def sidecar(cpu: str) -> dict[str, str]:
        return {"cpu": cpu, "restartPolicy": "Always"}

    here = node_of_its_own(case, cpu="4")
    case.expect_bound([case.pod("fits", cpu="1", init=[sidecar("2")], **here)])
    exceeds = [
        case.pod("exceeds", cpu="600m", init=[sidecar("600m")], **here),
        case.pod("exceeds", cpu="1100m", **here),
    ]
    if case.leaves_out(Subject.INIT_CONTAINERS):
        case.expect_pending(exceeds)
        return
    case.expect_pending([*exceeds, case.pod("exceeds", cpu="100m", init=[sidecar("500m"), {"cpu": "600m"}], **here)])
    # The init container has ended before this sidecar starts.
    case.expect_bound([case.pod("fits", cpu="300m", init=[{"cpu": "600m"}, sidecar("700m")], **here)])


@pytest.mark.clause("core/fit-overhead")
def test_fit_overhead(case: Case) -> None:
    """Pods whose RuntimeClass has an overhead of half of a node's CPUs; then others with as much of each resource."""
    resources = {
        "cpu": ("4", "2", "1", Subject.CPU), "memory": ("4Gi", "2Gi", "1Gi", Subject.MEMORY),
        "ephemeral-storage": ("4Gi", "2Gi", "1Gi", Subject.EPHEMERAL_STORAGE),
        "schedproof.dev/device": ("4", "2", "1", Subject.EXTENDED_RESOURCES),
        "hugepages-2Mi": ("8Mi", "4Mi", "2Mi", Subject.HUGE_PAGES),
    }  # fmt: skip
    here = node_of_its_own(case, **{resource: amounts[0] for resource, amounts in resources.items()})
    for resource, (_, half, quarter, subject) in resources.items():
        if case.leaves_out(subject):
            continue
        # Huge pages come with CPU or memory.
        half_of_it, quarter_of_it = ({"cpu": "10m", resource: amount} for amount in (half, quarter))
        boxed = {"runtimeClassName": case.objects.runtime_class(half_of_it), **here}
        pods = [case.pod("fits", extended=quarter_of_it, **boxed)]
        case.expect_bound(pods)
        exceeds = [case.pod("exceeds", cpu="10m", **boxed), case.pod("exceeds", extended=half_of_it, **here)]
        case.expect_pending(exceeds)
        pods.append(case.pod("fits", extended=quarter_of_it, **here))
        case.expect_bound(pods)
        case.delete([*pods, *exceeds])


@pytest.mark.clause("core/fit-pod-level")
def test_fit_pod_level(case: Case) -> None:
    """Pods with pod-level CPU requests, which include those of their containers, except for devices and storage.

    Then pods with pod-level limits alone, which are requests, too; and with requests of memory, and of huge pages.
    """
    device, storage, pages = "schedproof.dev/device", "ephemeral-storage", "hugepages-2Mi"
    here = node_of_its_own(case, **{"cpu": "4", device: "3", storage: "10Gi", "memory": "4Gi", pages: "8Mi"})
    subjects = {device: Subject.EXTENDED_RESOURCES, storage: Subject.EPHEMERAL_STORAGE}
    held = {device: "2", storage: "6Gi"}
    asked = {name: amount for name, amount in held.items() if not case.leaves_out(subjects[name])}

    def whole(cpu: str, **extended: str) -> dict[str, Any]:
        return {"cpu": "100m", "resources": {"requests": {"cpu": cpu}}, "extended": extended, **here}

    pods = [case.pod("fits", **whole("3", **asked))]
    case.expect_bound(pods)
    exceeds = [whole("2"), {"cpu": "1100m", **here}]
    exceeds += [whole("100m", **{name: amount}) for name, amount in asked.items()]
    pods += [case.pod("exceeds", **spec) for spec in exceeds]
    case.expect_pending(pods[1:])
    pods.append(case.pod("fits", **whole("1")))
    case.expect_bound(pods[-1:])
    case.delete(pods)
    # Limits of its containers would have to be lower.
    limited = [case.pod("fits", resources={"limits": {"cpu": "3"}}, plain=True, **here)]
    case.expect_bound(limited)
    limited.append(case.pod("exceeds", cpu="1100m", **here))
    case.expect_pending(limited[1:])
    case.delete(limited)
    amounts = {"memory": ("3Gi", "2Gi", "1Gi", Subject.MEMORY), pages: ("6Mi", "4Mi", "2Mi", Subject.HUGE_PAGES)}
    for resource, (some, too_much, rest, subject) in amounts.items():
        if case.leaves_out(subject):
            continue
        fits, exceeds_it, last = (
            # Huge pages come with CPU or memory, and need a limit.
            {"requests": {"cpu": "100m", resource: amount}, "limits": {resource: amount}}
            for amount in (some, too_much, rest)
        )
        case.expect_bound([case.pod("fits", cpu="100m", resources=fits, **here)])
        case.expect_pending([case.pod("exceeds", cpu="100m", resources=exceeds_it, **here)])
        case.expect_bound([case.pod("fits", cpu="100m", resources=last, **here)])


@pytest.mark.clause("core/fit-resize")
def test_fit_resize(case: Case) -> None:
    """A pod is resized to a smaller request, which its kubelet has not applied yet; then the kubelet applies it.

    Then it is resized to a larger request, which is first Deferred, then Infeasible; and a request of memory is made
    smaller. Last, a sidecar is.
    """
    here = node_of_its_own(case, cpu="4", memory="4Gi")
    resized = case.pod("fits", cpu="3", plain=True, **here)
    case.expect_bound([resized])
    case.pods.resize(resized, "1", in_force="3")
    case.settle()
    waits = case.pod("exceeds", cpu="2", **here)
    case.expect_pending([waits])
    case.pods.resize(resized, "1", in_force="1")
    case.expect_bound([waits], case.deadlines.requeue)
    case.pods.resize(resized, "2", in_force="1", pending="Deferred")
    case.settle()
    exceeds = case.pod("exceeds", cpu="500m", **here)
    case.expect_pending([exceeds])
    case.delete([exceeds])
    case.pods.resize(resized, "2", in_force="1", pending="Infeasible")
    case.settle()
    fits = case.pod("fits", cpu="500m", **here)
    case.expect_bound([fits])
    case.delete([resized, waits, fits])
    if not case.leaves_out(Subject.MEMORY):
        resized = case.pod("fits", cpu="100m", memory="3Gi", plain=True, **here)
        case.expect_bound([resized])
        case.pods.resize(resized, "1Gi", in_force="3Gi", resource="memory")
        case.settle()
        waits = case.pod("exceeds", memory="2Gi", **here)
        case.expect_pending([waits])
        case.pods.resize(resized, "1Gi", in_force="1Gi", resource="memory")
        case.expect_bound([waits], case.deadlines.requeue)
        case.delete([resized, waits])
    if case.leaves_out(Subject.SIDECARS):
        return
    sidecar = {"cpu": "2500m", "memory": "64Mi", "restartPolicy": "Always"}
    beside = case.pod("fits", cpu="500m", init=[sidecar], plain=True, **here)
    case.expect_bound([beside])
    case.pods.resize(beside, "1", in_force="2500m", sidecar=True)
    case.settle()
    exceeds = case.pod("exceeds", cpu="2", **here)
    case.expect_pending([exceeds])
    case.pods.resize(beside, "1", in_force="1", sidecar=True)
    case.expect_bound([exceeds], case.deadlines.requeue)


@pytest.mark.clause("core/fit-resize-pod-level")
def test_fit_resize_pod_level(case: Case) -> None:
    """A pod is resized to a smaller pod-level request, which its kubelet applies later; then to a larger one."""
    here = node_of_its_own(case, cpu="4")
    resized = case.pod("fits", cpu="100m", resources={"requests": {"cpu": "3"}}, plain=True, **here)
    case.expect_bound([resized])
    case.pods.resize_whole(resized, "1", in_force="3")
    case.settle()
    waits = case.pod("exceeds", cpu="2", **here)
    case.expect_pending([waits])
    case.pods.resize_whole(resized, "1", in_force="1")
    case.expect_bound([waits], case.deadlines.requeue)
    case.pods.resize_whole(resized, "2", in_force="1")
    case.settle()
    case.expect_pending([case.pod("exceeds", cpu="500m", **here)])


@pytest.mark.clause("core/host-port")
def test_host_port(case: Case) -> None:
    """Pods open host ports of a node: the same port on the same hostIP, on all, on another, and other ports.

    Addresses are of both families. All IPv6 addresses (`::`) are only tried beside the same text and 0.0.0.0:
    kube-scheduler and kubelets compare other addresses with it as text.

    Ports of sidecars and of all containers count, and all container ports of a pod with hostNetwork. Ports of a
    succeeded pod do not count; ports of a terminating pod still do.
    """
    here = node_of_its_own(case)

    def opens(port: int, address: str = "", protocol: str = "TCP") -> dict[str, Any]:
        at = {"hostIP": address} if address else {}
        return {"ports": [{"containerPort": port, "hostPort": port, "protocol": protocol, **at}], **here}

    address, other = "192.0.2.1", "192.0.2.2"
    held = [opens(8080, address), opens(9090), opens(8088, "::"), opens(8089, "::1")]
    case.expect_bound([case.pod("holds", **spec) for spec in held])
    apart = [opens(8080, other), opens(8080, address, "UDP"), opens(8081, address), opens(9090, protocol="UDP")]
    apart += [opens(8080, "::1"), opens(8080, address, "SCTP"), opens(8088, "::", "UDP"), opens(8089, other)]
    apart.append({"ports": [{"containerPort": 9090}], **here})
    case.expect_bound([case.pod("fits", **spec) for spec in apart])
    beside = [{"ports": [{"containerPort": 7070, "hostPort": 7070}]}]
    at_address = [{"containerPort": 7071, "hostPort": 7071, "hostIP": address}]
    in_pod = [{"containerPort": 9090}, {"containerPort": 7072, "hostPort": 7072, "hostIP": "::"}]
    asked = (beside[0], {"ports": at_address}, {"ports": in_pod})
    sidecars = [{"restartPolicy": "Always", **ports} for ports in asked]
    without_sidecars = case.leaves_out(Subject.SIDECARS)
    if not without_sidecars:
        case.expect_bound([case.pod("holds", init=sidecars, **here)])
        case.expect_bound([case.pod("fits", **opens(7071, other))])
    # With hostNetwork, every containerPort is also a host port.
    hosted = {"hostNetwork": True, "ports": [{"containerPort": 9090}], **here}
    taken = [opens(8080, address), opens(8080), opens(9090, address), opens(9090), hosted]
    taken += [opens(8088, "::"), opens(8088), opens(8089, "::1"), opens(8089)]
    if not without_sidecars:
        taken += [opens(7070), opens(7071, address), opens(7072, "::"), {"more": beside, **here}]
    case.expect_pending([case.pod("exceeds", **spec) for spec in taken])
    # Where kubelets run pods, the test does not choose when a pod ends.
    if "ending-pods" not in case.trial.cluster.capabilities or "real-pods" in case.trial.cluster.capabilities:
        return
    if case.leaves_out(Subject.ENDED_PODS):
        return
    ended, leaving = case.pod("holds", **opens(6060)), case.pods.lingering("holds", **opens(6061))
    case.expect_bound([ended, leaving])
    case.pods.finish(ended, "Succeeded")
    case.pods.terminate(leaving)
    case.settle()
    case.expect_bound([case.pod("fits", **opens(6060))])
    case.expect_pending([case.pod("exceeds", **opens(6061))])


@pytest.mark.clause("core/fit-pods")
def test_fit_pods(case: Case) -> None:
    """A node with capacity for two pods gets two, though they request nothing; also after many later pods.

    Then one of the two has ended, and its place is free.
    """
    case.nodes.add("node-few", pods="2")
    case.settle()
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-few"}}
    ends, stays = (case.pod("fits", **here) for _ in range(2))
    case.expect_bound([ends, stays])
    waits = case.pod("exceeds", **here)
    case.expect_pending([waits])
    # Where kubelets run pods, starting so many takes half a minute.
    if "real-pods" not in case.trial.cluster.capabilities:
        nodes = case.nodes.names
        for number in range(MANY):
            case.pods.neighbour(nodes[number % len(nodes)], "many")
        case.settle()
        exceeds = case.pod("exceeds", **here)
        case.expect_pending([exceeds])
        case.delete([exceeds])
        if "ending-pods" in case.trial.cluster.capabilities and not case.leaves_out(Subject.ENDED_PODS):
            case.pods.finish(ends, "Succeeded")
            case.expect_bound([waits], case.deadlines.requeue)
            case.expect_pending([case.pod("exceeds", **here)])


@pytest.mark.clause("core/fit-terminated")
def test_fit_terminated(case: Case) -> None:
    """All nodes are full. The pod that fills a node succeeds, then such a pod fails; last, such a pod is terminating.

    For the first, a pod waits before the room is free; for the second, a pod is created afterwards.
    """
    large, small = case.nodes.share("cpu", 0.6), case.nodes.share("cpu", 1 / 16)
    for phase in ("Succeeded", "Failed"):
        ending, *full = case.nodes.names
        filler = case.pods.fill(ending, ends=phase, cpu=small)
        for node in full:
            case.pods.fill(node, cpu=small)
        # Where kubelets run pods, the test does not choose when a pod ends.
        if phase == "Succeeded" and "real-pods" not in case.trial.cluster.capabilities:
            case.settle()
            waits = case.pod("waits", cpu=large)
            case.expect_pending([waits], cpu=case.nodes.share("cpu", 1 / 80))
            case.pods.finish(filler, phase)
            case.expect_bound([waits], case.deadlines.requeue)
        else:
            case.pods.finish(filler, phase)
            case.settle()
            case.expect_bound([case.pod("fits", cpu=large)])
        case.restore()
    filler, *_ = [case.pods.fill(node, lingers=True, cpu=small) for node in case.nodes.names]
    case.pods.terminate(filler)
    case.settle()
    case.expect_pending([case.pod("exceeds", cpu=large)], cpu=case.nodes.share("cpu", 1 / 80))


@pytest.mark.clause("core/no-overcommit")
def test_no_overcommit(case: Case) -> None:
    """Each node has room for two pods, by CPU, then by memory. Three pods per node are created in a burst.

    Then all pods want the same host port, with two pods per node. What the candidate excludes is left out. Last, a pod
    is changed while its Binding is in flight, and another pod wants its room.
    """
    nodes = case.nodes.names
    for resource in ("cpu",) if case.leaves_out(Subject.MEMORY) else ("cpu", "memory"):
        for node in nodes:
            leaving: dict[str, Any] = {resource: case.nodes.share(resource, 1 / 8)}
            case.pods.fill(node, **leaving)
        case.settle()
        burst = [case.pod("burst", **{resource: case.nodes.share(resource, 1 / 20)}) for _ in range(3 * len(nodes))]
        case.expect_so_many_bound(burst, 2 * len(nodes))
        case.restore()
    if not case.leaves_out(Subject.HOST_PORTS):
        port = [{"containerPort": 9393, "hostPort": 9393}]
        burst = [case.pod("burst", ports=port) for _ in range(2 * len(nodes))]
        case.expect_so_many_bound(burst, len(nodes))
        case.delete(burst)
    if "hold-bindings" in case.trial.cluster.capabilities:
        with case.candidate.hold_bindings() as gate:
            changed_in_flight(case, gate)


def changed_in_flight(case: Case, gate: BindingWebhook) -> None:
    """Change a pod while its Binding is in flight. Another pod comes that would fit only on its node, without it."""
    for node in case.nodes.names[1:]:
        case.pods.fill(node, cpu=case.nodes.share("cpu", 1 / 80))
    case.settle()
    large = {"cpu": case.nodes.share("cpu", 0.6)}
    gate.hold(case.pods.next_name("in-flight"))
    first = case.pod("in-flight", **large)
    if not gate.await_held():
        case.expect_bound([first])
        return
    case.pods.patch(first, {"metadata": {"annotations": {"schedproof.dev/changed": "yes"}}})
    case.view.await_freshness()
    second = case.pod("exceeds", **large)
    # A candidate that binds synchronously looks at this pod only after the held Binding.
    case.status.await_refusal(second)
    gate.release()
    case.expect_bound([first])
    case.expect_pending([second], cpu=case.nodes.share("cpu", 1 / 80))
