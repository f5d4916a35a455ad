"""core: a pod is bound only to nodes that match its node selector and its required node affinity."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.stimulus.case import Case

HOST = "kubernetes.io/hostname"
WELL_KNOWN = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type")
DECLARED = ("RestartAllContainersOnContainerExits",)
ZONE, DISK, RANK = "schedproof.dev/zone", "schedproof.dev/disk", "schedproof.dev/rank"


def affinity(*terms: Any) -> dict[str, Any]:
    """Return required node affinity. A term is a list of expressions, or a mapping as in the API."""
    required = {"nodeSelectorTerms": [term if isinstance(term, dict) else {"matchExpressions": term} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.clause("core/node-selector")
def test_node_selector(case: Case) -> None:
    """Two nodes have one label; one of these and a third have another: pods select either, both, or what no node has.

    Then nodes join: one whose hostname label is not its name, one that has the same, and one without that label.
    """
    nodes = case.nodes.names
    first, second, third = nodes[0], nodes[1], nodes[2 % len(nodes)]
    case.nodes.change(first, labels={ZONE: "a"})
    case.nodes.change(second, labels={ZONE: "a", DISK: "ssd"})
    case.nodes.change(third, labels={ZONE: "b", DISK: "ssd"})
    case.settle()
    selectors = [{ZONE: "a"}, {ZONE: "a", DISK: "ssd"}, {DISK: "ssd"}, {ZONE: "b"}]
    case.expect_bound([case.pod("selects", nodeSelector=selector) for selector in selectors * 3])
    impossible = [{ZONE: "c"}, {ZONE: "A"}, {ZONE: "a", DISK: "hdd"}, {ZONE: ""}]
    case.expect_pending([case.pod("exceeds", nodeSelector=selector) for selector in impossible])
    case.nodes.add("node-named.zone")
    case.nodes.change("node-named.zone", labels={HOST: "node-named"})
    case.nodes.add("node-alike")
    case.nodes.change("node-alike", labels={HOST: "node-named", ZONE: "alike"})
    case.nodes.add("node-nameless")
    case.nodes.change("node-nameless", labels={HOST: None, ZONE: "nameless"})
    case.settle()
    selectors = [{HOST: "node-named"}, {HOST: "node-named", ZONE: "alike"}, {ZONE: "nameless"}]
    case.expect_bound([case.pod("selects", nodeSelector=selector) for selector in selectors])
    impossible = [
        {HOST: "node-named.zone"},
        {HOST: "node-alike"},
        {HOST: "node-nameless"},
        {HOST: "node-nameless", ZONE: "nameless"},
    ]
    case.expect_pending([case.pod("exceeds", nodeSelector=selector) for selector in impossible])


@pytest.mark.clause("core/declared-features")
def test_declared_features(case: Case) -> None:
    """Two nodes join, of which one declares the feature that a container's restart rule needs, and one does not.

    Pods with the rule that may go to either are bound to the first, and others wait for the second until it declares
    the feature. A pod whose rule needs no feature fits there at once.
    """
    declares, silent = "node-declares", "node-silent"
    for node in (declares, silent):
        case.nodes.add(node)
        case.nodes.change(node, labels={ZONE: "declared"})
    case.nodes.declare(declares, *DECLARED)
    case.nodes.declare(silent)
    case.settle()

    def restarting(action: str) -> list[dict[str, Any]]:
        rule = {"action": action, "exitCodes": {"operator": "In", "values": [42]}}
        return [{"restartPolicy": "Never", "restartPolicyRules": [rule]}]

    needs = restarting("RestartAllContainers")
    case.expect_bound([case.pod(more=needs, nodeSelector={ZONE: "declared"}) for _ in range(3)])
    waits = [case.pod("waits", nodeSelector={HOST: silent}, **{kind: needs}) for kind in ("more", "init")]
    case.expect_pending(waits)
    case.expect_bound([case.pod(more=restarting("Restart"), nodeSelector={HOST: silent})])
    case.nodes.declare(silent, *DECLARED)
    case.expect_bound(waits, case.deadlines.requeue)


@pytest.mark.clause("core/node-affinity")
def test_node_affinity(case: Case) -> None:
    """Every operator, ORed terms, ANDed expressions, matchFields, and the empty term, which matches no node.

    Each also where nothing matches; with labels that a node lacks, such as those of region and zone, or whose values
    are no numbers; and with a node selector, which is ANDed.
    """
    nodes = case.nodes.names
    for number, node in enumerate(nodes):
        # As text, "9" is the largest of these; as a number it is not.
        case.nodes.change(node, labels={RANK: str(9 + 3 * number), **({ZONE: "a"} if number else {})})
    case.nodes.change(nodes[0], labels={DISK: "ssd", **dict.fromkeys(WELL_KNOWN)})
    case.settle()
    first = {"nodeSelector": {RANK: "9"}}
    second = {"nodeSelector": {RANK: "12"}} if len(nodes) > 1 else first
    here = {"matchFields": [expression("metadata.name", "In", nodes[-1])]}
    possible = [
        affinity([expression(RANK, "In", "9", "12")]),
        affinity([expression(RANK, "NotIn", "9")]),
        affinity([expression(ZONE, "Exists")]),
        affinity([expression(ZONE, "DoesNotExist")]),
        affinity([expression(RANK, "Gt", "9")]),
        affinity([expression(RANK, "Lt", "10")]),
        affinity([expression(RANK, "Gt", "8"), expression(ZONE, "DoesNotExist")]),
        affinity([expression(RANK, "In", "none")], [expression(RANK, "In", "9")]),
        affinity({}, [expression(RANK, "In", "9")]),
        affinity([expression(RANK, "In", "none", "other", "9")]),
        affinity(here),
    ]
    case.expect_bound([case.pod("affine", affinity=terms) for terms in possible * 2])
    # No decision so far has made the node gain one of these labels.
    bare = [affinity([expression(key, "DoesNotExist")]) for key in WELL_KNOWN]
    case.expect_bound([case.pod("affine", affinity=terms, **first) for terms in bare])
    not_last = affinity({"matchFields": [expression("metadata.name", "NotIn", nodes[-1])]})
    not_ssd = affinity([expression(DISK, "NotIn", "hdd", "ssd")])
    if len(nodes) > 1:
        case.expect_bound([case.pod("affine", affinity=terms, **second) for terms in (not_ssd, not_last)])
    elsewhere = {**here, "matchExpressions": [expression(RANK, "In", "9")]} if len(nodes) > 1 else {"matchFields": []}
    impossible = [
        affinity([expression(RANK, "In", "none")]),
        affinity({}),
        affinity([expression(RANK, "Exists"), expression("kubernetes.io/hostname", "DoesNotExist")]),
        affinity([expression(RANK, "Gt", "1000")]),
        affinity([expression(RANK, "Lt", "9")]),
        affinity([expression(DISK, "Gt", "0")]),
        affinity(elsewhere),
    ]
    exceeds = [case.pod("exceeds", affinity=terms) for terms in impossible]
    exceeds += [
        case.pod("exceeds", affinity=terms, **first) for terms in (not_ssd, affinity([expression(RANK, "In", "12")]))
    ]
    case.expect_pending(exceeds)


@pytest.mark.clause("core/cordon")
def test_cordon(case: Case) -> None:
    """All nodes but one are cordoned: pods are bound to that node, and pods that select another node wait."""
    _open_node, *cordoned = case.nodes.names
    for node in cordoned:
        case.nodes.change(node, unschedulable=True)
    case.settle()
    case.expect_bound([case.pod(cpu="100m") for _ in range(8)])
    case.expect_pending([case.pod("selects", nodeSelector={"kubernetes.io/hostname": cordoned[0]})])
