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
