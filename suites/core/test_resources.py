"""core: pods are kept off nodes whose resources do not suffice. Sizes are shares of what a node has to offer."""

import pytest


def shares(case, resource):
    """Thirty-seconds of what a node has to offer: 250m, 500m, 750m, ... of 8 CPUs."""
    return lambda part: case.share(resource, part / 32)


@pytest.mark.clause("core/fit-cpu")
def test_fit_cpu(case):
    """Only one node has room for a large pod. The first takes it; for the second there is none."""
    size = shares(case, "cpu")
    roomy, *others = case.nodes
    case.fill(roomy, cpu=size(10))
    for node in others:
        case.fill(node, cpu=size(6))
    case.settle()
    case.expect_bound([case.pod("fits", cpu=size(8))])
    case.expect_pending([case.pod("exceeds", cpu=size(8)), case.pod("exceeds", cpu=size(6.1))], cpu=size(1))


@pytest.mark.clause("core/fit-memory")
def test_fit_memory(case):
    """As for CPUs, with two pods that ask for memory alone."""
    size = shares(case, "memory")
    roomy, *others = case.nodes
    case.fill(roomy, memory=size(5))
    for node in others:
        case.fill(node, memory=size(3))
    case.settle()
    case.expect_bound([case.pod("fits", memory=size(4))])
    case.expect_pending([case.pod("exceeds", memory=size(4)), case.pod("exceeds", memory=size(3.1))], memory=size(0.1))


def node_of_its_own(case, **capacity):
    """A node joins that has so much; what a pod's spec needs to select it."""
    name = f"node-{case.clause.rpartition('/')[2]}"
    case.add_node(name, **capacity)
    case.settle()
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


def fill_up(case, resource, *, of, some, too_much, rest):
    """A node offers `of` a resource. `some` of it is taken; then what is `too_much` does not fit, and the `rest` does.

    A scheduler that counts too little for the first pod binds the second; one that counts too much leaves the last.
    """
    here = node_of_its_own(case, **{resource: of})
    case.expect_bound([case.pod("fits", cpu="100m", extended={resource: some}, **here)])
    case.expect_pending([case.pod("exceeds", cpu="100m", extended={resource: too_much}, **here)])
    case.expect_bound([case.pod("fits", cpu="100m", extended={resource: rest}, **here)])


@pytest.mark.clause("core/fit-ephemeral")
def test_fit_ephemeral(case):
    """Pods that ask for local storage, on a node that has 10Gi of it."""
    fill_up(case, "ephemeral-storage", of="10Gi", some="6Gi", too_much="6Gi", rest="4Gi")


@pytest.mark.clause("core/fit-extended")
def test_fit_extended(case):
    """Pods that ask for a device, on a node that has three of them."""
    fill_up(case, "schedproof.dev/device", of="3", some="2", too_much="2", rest="1")


@pytest.mark.clause("core/fit-hugepages")
def test_fit_hugepages(case):
    """Pods that ask for huge pages, on a node that has four of them."""
    fill_up(case, "hugepages-2Mi", of="8Mi", some="6Mi", too_much="4Mi", rest="2Mi")


@pytest.mark.clause("core/fit-init")
def test_fit_init(case):
    """Init containers end before the others start: the larger of both needs counts, not their sum."""
    here = node_of_its_own(case, cpu="4")
    case.expect_bound([case.pod("fits", cpu="2", init=[{"cpu": "3"}, {"cpu": "1"}], **here)])
    exceeds = [case.pod("exceeds", cpu="100m", init=[{"cpu": "2"}], **here), case.pod("exceeds", cpu="1100m", **here)]
    case.expect_pending(exceeds)
    case.expect_bound([case.pod("fits", cpu="1", init=[{"cpu": "500m"}], **here)])


@pytest.mark.clause("core/fit-sidecar")
def test_fit_sidecar(case):
    """Sidecars run beside the containers, and beside init containers that come after them."""

    def sidecar(cpu):
        return {"cpu": cpu, "restartPolicy": "Always"}

    here = node_of_its_own(case, cpu="4")
    case.expect_bound([case.pod("fits", cpu="1", init=[sidecar("2")], **here)])
    exceeds = [
        case.pod("exceeds", cpu="600m", init=[sidecar("600m")], **here),
        case.pod("exceeds", cpu="100m", init=[sidecar("500m"), {"cpu": "600m"}], **here),
        case.pod("exceeds", cpu="1100m", **here),
    ]
    case.expect_pending(exceeds)
    # The init container has ended before this sidecar starts.
    case.expect_bound([case.pod("fits", cpu="300m", init=[{"cpu": "600m"}, sidecar("700m")], **here)])


@pytest.mark.clause("core/fit-overhead")
def test_fit_overhead(case):
    """Pods whose RuntimeClass takes two CPUs more than they ask for."""
    here = node_of_its_own(case, cpu="4")
    boxed = {"runtimeClassName": case.runtime_class(cpu="2"), **here}
    case.expect_bound([case.pod("fits", cpu="1", **boxed)])
    case.expect_pending([case.pod("exceeds", cpu="100m", **boxed), case.pod("exceeds", cpu="1100m", **here)])
    case.expect_bound([case.pod("fits", cpu="1", **here)])


@pytest.mark.clause("core/fit-pod-level")
def test_fit_pod_level(case):
    """Pods that ask for CPUs as a whole: what their containers ask for is part of that."""
    here = node_of_its_own(case, cpu="4")

    def whole(cpu):
        return {"cpu": "100m", "resources": {"requests": {"cpu": cpu}}, **here}

    case.expect_bound([case.pod("fits", **whole("3"))])
    case.expect_pending([case.pod("exceeds", **whole("2")), case.pod("exceeds", cpu="1100m", **here)])
    case.expect_bound([case.pod("fits", **whole("1"))])


@pytest.mark.clause("core/fit-resize")
def test_fit_resize(case):
    """A pod is to be made smaller, and its kubelet has not done that yet; then it has."""
    here = node_of_its_own(case, cpu="4")
    resized = case.pod("fits", cpu="3", **here)
    case.expect_bound([resized])
    case.resize(resized, "1", in_force="3")
    case.settle()
    waits = case.pod("exceeds", cpu="2", **here)
    case.expect_pending([waits])
    case.resize(resized, "1", in_force="1")
    case.expect_bound([waits], case.deadlines.requeue)


@pytest.mark.clause("core/host-port")
def test_host_port(case):
    """Pods that open ports of one node: the same one at the same address, at any, at another, and other ports."""
    here = node_of_its_own(case)

    def opens(port, address="", protocol="TCP"):
        at = {"hostIP": address} if address else {}
        return {"ports": [{"containerPort": port, "hostPort": port, "protocol": protocol, **at}], **here}

    one, other = "192.0.2.1", "192.0.2.2"
    case.expect_bound([case.pod("holds", **opens(8080, one)), case.pod("holds", **opens(9090))])
    apart = [opens(8080, other), opens(8080, one, "UDP"), opens(8081, one), opens(9090, protocol="UDP")]
    case.expect_bound([case.pod("fits", **spec) for spec in apart])
    taken = [opens(8080, one), opens(8080), opens(9090, one), opens(9090)]
    case.expect_pending([case.pod("exceeds", **spec) for spec in taken])


@pytest.mark.clause("core/fit-pods")
def test_fit_pods(case):
    """A node that takes two pods gets two, though they ask for nothing."""
    case.add_node("node-few", pods="2")
    case.settle()
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-few"}}
    case.expect_bound([case.pod("fits", **here) for _ in range(2)])
    case.expect_pending([case.pod("exceeds", **here)])


@pytest.mark.clause("core/fit-terminated")
def test_fit_terminated(case):
    """All nodes are full. On one the pod succeeds, then on one it fails; then on one it is only terminating."""
    large, small = case.share("cpu", 0.6), case.share("cpu", 1 / 16)
    for phase in ("Succeeded", "Failed"):
        ending, *full = case.nodes
        filler = case.fill(ending, ends=phase, cpu=small)
        for node in full:
            case.fill(node, cpu=small)
        case.finish(filler, phase)
        case.settle()
        case.expect_bound([case.pod("fits", cpu=large)])
        case.restore()
    filler, *_ = [case.fill(node, lingers=True, cpu=small) for node in case.nodes]
    case.terminate(filler)
    case.settle()
    case.expect_pending([case.pod("exceeds", cpu=large)], cpu=case.share("cpu", 1 / 80))


@pytest.mark.clause("core/no-overcommit")
def test_no_overcommit(case):
    """Each node has room for two of these pods. There are three for each node, all at once."""
    nodes = case.nodes
    for node in nodes:
        case.fill(node, cpu=case.share("cpu", 1 / 8))
    case.settle()
    burst = [case.pod("burst", cpu=case.share("cpu", 1 / 20)) for _ in range(3 * len(nodes))]
    case.expect_so_many_bound(burst, 2 * len(nodes))
