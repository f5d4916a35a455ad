"""extender: the HTTP contract, as kube-scheduler relies on it and as it would not notice that it is broken."""

import pytest

GARBAGE = {
    "no JSON": b"not json",
    "nothing": b"",
    "cut off": b'{"Pod": {"metadata": {"name": "half',
    "a list": b"[]",
    "a number for a pod": b'{"Pod": 5, "Nodes": 7, "NodeNames": {}}',
}


@pytest.mark.clause("extender/verbs-served")
def test_verbs_served(case):
    """Pods with several nodes to choose from, so that every verb of a scheduling cycle is called."""
    case.expect_bound([case.pod(cpu="100m") for _ in range(3)])


@pytest.mark.clause("extender/cache-capable")
def test_cache_capable(case):
    """kube-scheduler asks in the mode that the configuration claims."""
    case.expect_bound([case.pod(cpu="100m") for _ in range(3)])


@pytest.mark.clause("extender/filter-subset")
def test_filter_subset(case):
    """Pods for which kube-scheduler has ruled out other nodes before it asks."""
    nodes = case.nodes
    for node in nodes[1:]:
        case.change_node(node, labels={"schedproof.dev/asked": "yes"})
    case.settle()
    asked = {"nodeSelector": {"schedproof.dev/asked": "yes"}}
    one = {"nodeSelector": {"kubernetes.io/hostname": nodes[0]}}
    case.expect_bound([case.pod(**spec) for spec in (asked, one, {}) * 2])


@pytest.mark.clause("extender/prioritize-range")
def test_prioritize_range(case):
    """More nodes than there are scores."""
    case.add_idle_nodes(14 - len(case.nodes))
    case.settle()
    case.expect_bound([case.pod(cpu="100m") for _ in range(3)])


@pytest.mark.clause("extender/malformed")
def test_malformed(case):
    """What no kube-scheduler would send, to every verb. Then pods."""
    for name, body in GARBAGE.items():
        for verb in case.verbs:
            case.call(verb, body, what=name)
    case.expect_bound([case.pod(cpu="100m")])


@pytest.mark.clause("extender/rbac-minimal")
def test_rbac_minimal(case):
    """All that was done to it in this run is the stimulus."""
