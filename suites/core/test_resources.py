"""core: pods are kept off nodes whose resources do not suffice."""

import pytest

FINALIZER = "schedproof.dev/hold"


@pytest.mark.clause("core/fit-cpu")
def test_fit_cpu(case):
    """Only one node has 2 CPUs free. The first pod that wants them gets them; for the second there is no room."""
    roomy, *others = case.nodes
    case.fill(roomy, cpu="2500m")
    for node in others:
        case.fill(node, cpu="1500m")
    case.settle()
    case.expect_bound([case.pod("fits", cpu="2")])
    case.expect_pending([case.pod("exceeds", cpu="2"), case.pod("exceeds", cpu="1501m")], cpu="250m")


@pytest.mark.clause("core/fit-memory")
def test_fit_memory(case):
    """As for CPUs, with two pods that ask for memory alone."""
    roomy, *others = case.nodes
    case.fill(roomy, memory="2560Mi")
    for node in others:
        case.fill(node, memory="1536Mi")
    case.settle()
    case.expect_bound([case.pod("fits", memory="2Gi")])
    case.expect_pending([case.pod("exceeds", memory="2Gi"), case.pod("exceeds", memory="1537Mi")], memory="64Mi")


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
    large = case.share("cpu", 0.6)
    for phase in ("Succeeded", "Failed"):
        filler, *_ = [case.fill(node, cpu="500m") for node in case.nodes]
        case.patch(filler, {"status": {"phase": phase}}, "status")
        case.settle()
        case.expect_bound([case.pod("fits", cpu=large)])
        case.restore()
    filler, *_ = [case.fill(node, finalizers=[FINALIZER], cpu="500m") for node in case.nodes]
    case.terminate(filler)
    case.settle()
    case.expect_pending([case.pod("exceeds", cpu=large)], cpu="100m")


@pytest.mark.clause("core/no-overcommit")
def test_no_overcommit(case):
    """Each node has room for two of these pods. There are three for each node, all at once."""
    nodes = case.nodes
    for node in nodes:
        case.fill(node, cpu="1")
    case.settle()
    burst = [case.pod("burst", cpu="400m") for _ in range(3 * len(nodes))]
    case.expect_so_many_bound(burst, 2 * len(nodes))
