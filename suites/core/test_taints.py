"""core: taints and tolerations."""

import pytest

KEY = "schedproof.dev/reserved"


@pytest.mark.clause("core/taint-noschedule")
def test_taint_noschedule(case):
    """All nodes but one are tainted. Who does not tolerate it shares the one; who does may go to a tainted one."""
    open_node, tainted, *others = case.nodes
    for node in (tainted, *others):
        case.change_node(node, taints=[{"key": KEY, "value": "yes", "effect": "NoSchedule"}])
    case.settle()
    here = {"nodeSelector": {"kubernetes.io/hostname": tainted}}
    case.expect_bound([case.pod("intolerant", cpu="100m") for _ in range(6)])
    equal = {"key": KEY, "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
    exists = {"key": KEY, "operator": "Exists"}
    case.expect_bound([case.pod("tolerant", tolerations=[toleration], **here) for toleration in (equal, exists)])
    other_value = {**equal, "value": "no"}
    other_effect = {**exists, "effect": "NoExecute"}
    refused = [case.pod("refused", **here)]
    refused += [case.pod("refused", tolerations=[toleration], **here) for toleration in (other_value, other_effect)]
    case.expect_pending(refused, nodeSelector={"kubernetes.io/hostname": open_node})
