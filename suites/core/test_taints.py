"""core: taints and tolerations."""

import pytest

KEY = "schedproof.dev/reserved"
TAINT = {"key": KEY, "value": "yes", "effect": "NoSchedule"}
POOL = "schedproof.dev/pool"


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


@pytest.mark.clause("core/taint-noexecute")
def test_taint_noexecute(case):
    """A node with a taint of the effect NoExecute: only pods that tolerate key, value and this effect go there."""
    case.add_node("node-evicting")
    case.change_node("node-evicting", taints=[{**TAINT, "effect": "NoExecute"}])
    case.settle()
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-evicting"}}
    covering = {"key": KEY, "operator": "Exists", "effect": "NoExecute"}
    for toleration in (covering, {**covering, "tolerationSeconds": 3600}, {"key": KEY, "value": "yes"}):
        case.expect_bound([case.pod("tolerant", tolerations=[toleration], **here)])
    wrong = ({**covering, "effect": "NoSchedule"}, {"key": KEY, "value": "no", "effect": "NoExecute"})
    refused = [case.pod("refused", tolerations=[toleration], **here) for toleration in wrong]
    case.expect_pending([case.pod("refused", **here), *refused])


@pytest.mark.clause("core/toleration")
def test_toleration(case):
    """A node with one taint, then with a second one that has no value: what covers it, and what only seems to."""
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-tainted"}}

    def tolerant(tolerations, name="tolerant"):
        return [case.pod(name, tolerations=one if isinstance(one, list) else [one], **here) for one in tolerations]

    case.add_node("node-tainted")
    case.change_node("node-tainted", taints=[TAINT])
    case.settle()
    equal, exists = {"key": KEY, "operator": "Equal", "value": "yes"}, {"key": KEY, "operator": "Exists"}
    anything = {"operator": "Exists"}
    no_operator = {"key": KEY, "value": "yes", "effect": "NoSchedule"}
    by_effect = [{**one, "effect": "NoSchedule"} for one in (equal, exists, anything)]
    several = [{**equal, "value": "no"}, {**exists, "effect": "NoExecute"}, equal]
    case.expect_bound(tolerant([equal, exists, anything, no_operator, *by_effect, several]))
    wrong = [
        {**equal, "value": "no"}, {**no_operator, "value": "no"}, {"key": KEY}, {**equal, "value": "YES"},
        {**exists, "key": f"{KEY}-not"}, {**exists, "key": KEY[:-1]}, {**exists, "key": "reserved"},
        {**equal, "effect": "NoExecute"}, {**anything, "effect": "NoExecute"}, {**exists, "effect": "PreferNoSchedule"},
    ]  # fmt: skip
    case.expect_pending(tolerant(wrong, "refused"))
    second = {"key": f"{KEY}-2", "effect": "NoSchedule"}
    case.change_node("node-tainted", taints=[TAINT, second])
    case.settle()
    case.expect_bound(tolerant([[equal, {"key": second["key"]}], [exists, {**second, "operator": "Equal"}]]))
    case.expect_pending(tolerant([equal, second, [equal, {**second, "value": "yes"}]], "refused"))


@pytest.mark.clause("core/cordon-tolerated")
def test_cordon_tolerated(case):
    """Pods that select a cordoned node: those that tolerate that go there, and one that does not waits."""
    node, *_ = case.nodes
    case.change_node(node, unschedulable=True)
    # Not by a pod that tolerates the cordon of the harness's own node: a scheduler might never let that through.
    case.age(node)
    here = {"nodeSelector": {"kubernetes.io/hostname": node}}
    covering = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    tolerations = (covering, {**covering, "effect": "NoSchedule"}, {"operator": "Exists"})
    case.expect_bound([case.pod("tolerant", tolerations=[toleration], **here) for toleration in tolerations])
    case.expect_pending([case.pod("refused", tolerations=[{**covering, "effect": "NoExecute"}], **here)])


@pytest.mark.clause("core/freshness")
def test_freshness(case):
    """One node is tainted, one cordoned, one leaves a pool. Some time later a pod selects that pool, and only that.

    Then a node offers less than before, twice, and some time later a pod asks it for more.
    """
    for change in ({"taints": [TAINT]}, {"unschedulable": True}, {"labels": {POOL: "left"}}):
        node, other, *_ = case.nodes
        case.change_node(node, labels={POOL: "joined"})
        case.settle()
        case.change_node(node, **change)
        case.age(node)
        case.pod("late", cpu="100m", nodeSelector={POOL: "joined"})
        case.fence(nodeSelector={"kubernetes.io/hostname": other})
        case.restore()
    case.add_node("node-shrinking", cpu="20")
    case.settle()
    for left, asked in (("8", "9"), ("2", "3")):
        case.resize_node("node-shrinking", cpu=left)
        case.age("node-shrinking")
        case.pod("late", cpu=asked, nodeSelector={"kubernetes.io/hostname": "node-shrinking"})
        case.fence(nodeSelector={"kubernetes.io/hostname": case.nodes[0]})
