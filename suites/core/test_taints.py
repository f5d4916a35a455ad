"""core: taints and tolerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import Pod

KEY = "schedproof.dev/reserved"
TAINT = {"key": KEY, "value": "yes", "effect": "NoSchedule"}
POOL = "schedproof.dev/pool"


@pytest.mark.clause("core/taint-noschedule")
def test_taint_noschedule(case: Case) -> None:
    """All nodes but one are tainted. Pods without a toleration share that node; the others may go to a tainted node."""
    open_node, tainted, *others = case.nodes.names
    for node in (tainted, *others):
        case.nodes.change(node, taints=[{"key": KEY, "value": "yes", "effect": "NoSchedule"}])
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
def test_taint_noexecute(case: Case) -> None:
    """A node has a NoExecute taint: only pods that tolerate its key, value and effect are bound there.

    tolerationSeconds decides when a pod is evicted, not whether it may be bound: 0 seconds is allowed too. Then the
    node gets a second taint with the same key and the effect NoSchedule: only pods that tolerate both are bound.
    """
    case.nodes.add("node-evicting")
    case.nodes.change("node-evicting", taints=[{**TAINT, "effect": "NoExecute"}])
    case.settle()
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-evicting"}}
    covering = {"key": KEY, "operator": "Exists", "effect": "NoExecute"}
    anything = {"operator": "Exists"}
    for toleration in (
        covering, {**covering, "tolerationSeconds": 3600}, {"key": KEY, "value": "yes"},
        anything, {**anything, "effect": "NoExecute"},
    ):  # fmt: skip
        case.expect_bound([case.pod("tolerant", tolerations=[toleration], **here)])
    # This pod is evicted as soon as it is bound: it lingers, so that the binding can be observed.
    case.expect_bound([case.pods.lingering("brief", tolerations=[{**covering, "tolerationSeconds": 0}], **here)])
    wrong = (
        {**covering, "effect": "NoSchedule"}, {"key": KEY, "value": "no", "effect": "NoExecute"},
        {**anything, "effect": "NoSchedule"},
    )  # fmt: skip
    refused = [case.pod("refused", tolerations=[toleration], **here) for toleration in wrong]
    case.expect_pending([case.pod("refused", **here), *refused])
    by_effect = {**covering, "effect": "NoSchedule"}
    for value in ("yes", "no"):
        case.nodes.change("node-evicting", taints=[{**TAINT, "effect": "NoExecute"}, {**TAINT, "value": value}])
        case.settle()
        by_value = [{"key": KEY, "value": text} for text in dict.fromkeys(("yes", value))]
        for tolerations in ([{"key": KEY, "operator": "Exists"}], [covering, by_effect], by_value):
            case.expect_bound([case.pod("tolerant", tolerations=tolerations, **here)])
        alone = [covering, by_effect, *(by_value if value == "no" else [])]
        case.expect_pending([case.pod("refused", tolerations=[one], **here) for one in alone])


@pytest.mark.clause("core/toleration")
def test_toleration(case: Case) -> None:
    """A node has one taint, then a second one without a value; pods have tolerations that match, or seem to.

    Last, the node has only PreferNoSchedule taints, which repel no pod.
    """
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-tainted"}}

    def tolerant(tolerations: Sequence[Any], name: str = "tolerant") -> list[Pod]:
        return [case.pod(name, tolerations=one if isinstance(one, list) else [one], **here) for one in tolerations]

    case.nodes.add("node-tainted")
    case.nodes.change("node-tainted", taints=[TAINT])
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
    case.nodes.change("node-tainted", taints=[TAINT, second])
    case.settle()
    case.expect_bound(tolerant([[equal, {"key": second["key"]}], [exists, {**second, "operator": "Equal"}]]))
    case.expect_pending(tolerant([equal, second, [equal, {**second, "value": "yes"}]], "refused"))
    case.nodes.change(
        "node-tainted", taints=[{**TAINT, "effect": "PreferNoSchedule"}, {**second, "effect": "PreferNoSchedule"}]
    )
    case.settle()
    case.expect_bound([case.pod("intolerant", **here)])


@pytest.mark.clause("core/cordon-tolerated")
def test_cordon_tolerated(case: Case) -> None:
    """Pods select a cordoned node: pods that tolerate its taint are bound there, and a pod that does not waits."""
    node, *_ = case.nodes.names
    case.nodes.change(node, unschedulable=True)
    # Not with a pod that tolerates the cordon of the harness's own node: a scheduler might never bind that.
    case.view.age(node)
    if case.trial.reserved is None:
        case.settle()
    here = {"nodeSelector": {"kubernetes.io/hostname": node}}
    covering = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    tolerations = (covering, {**covering, "effect": "NoSchedule"}, {"operator": "Exists"})
    case.expect_bound([case.pod("tolerant", tolerations=[toleration], **here) for toleration in tolerations])
    case.expect_pending([case.pod("refused", tolerations=[{**covering, "effect": "NoExecute"}], **here)])


@pytest.mark.clause("core/freshness")
def test_freshness(case: Case) -> None:
    """A node of a pool is tainted, or cordoned, or leaves the pool. Some time later a pod selects only that pool.

    Then a node's allocatable shrinks, twice; some time later a pod requests more than is left.
    """
    changes: dict[Subject, dict[str, Any]] = {
        Subject.TAINTS: {"taints": [TAINT]}, Subject.CORDONS: {"unschedulable": True},
        Subject.NODE_SELECTOR: {"labels": {POOL: "left"}},
    }  # fmt: skip
    for subject, change in changes.items():
        if case.leaves_out(subject):
            continue
        node, other, *_ = case.nodes.names
        case.nodes.change(node, labels={POOL: "joined"})
        case.settle()
        case.nodes.change(node, **change)
        case.view.age(node)
        case.pod("late", cpu="100m", nodeSelector={POOL: "joined"})
        case.fence(nodeSelector={"kubernetes.io/hostname": other})
        case.restore()
    case.nodes.add("node-shrinking", cpu="20")
    case.settle()
    for left, asked in (("8", "9"), ("2", "3")):
        case.nodes.resize("node-shrinking", cpu=left)
        case.view.age("node-shrinking")
        case.pod("late", cpu=asked, nodeSelector={"kubernetes.io/hostname": "node-shrinking"})
        case.fence(nodeSelector={"kubernetes.io/hostname": case.nodes.names[0]})
