"""core: a pod goes only where its node selector and its required node affinity let it go."""

import pytest

ZONE, DISK, RANK = "schedproof.dev/zone", "schedproof.dev/disk", "schedproof.dev/rank"


def affinity(*terms):
    """Required node affinity. A term is a list of expressions, or a mapping as the API has it."""
    terms = [term if isinstance(term, dict) else {"matchExpressions": term} for term in terms]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def expression(key, operator, *values):
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.clause("core/node-selector")
def test_node_selector(case):
    """One label is on two nodes, another on one of these and a third: pods select the one, the other, both, none."""
    nodes = case.nodes
    first, second, third = nodes[0], nodes[1], nodes[2 % len(nodes)]
    case.change_node(first, labels={ZONE: "a"})
    case.change_node(second, labels={ZONE: "a", DISK: "ssd"})
    case.change_node(third, labels={ZONE: "b", DISK: "ssd"})
    case.settle()
    selectors = [{ZONE: "a"}, {ZONE: "a", DISK: "ssd"}, {DISK: "ssd"}, {ZONE: "b"}]
    case.expect_bound([case.pod("selects", nodeSelector=selector) for selector in selectors * 3])
    impossible = [{ZONE: "c"}, {ZONE: "A"}, {ZONE: "a", DISK: "hdd"}, {ZONE: ""}]
    case.expect_pending([case.pod("exceeds", nodeSelector=selector) for selector in impossible])


@pytest.mark.clause("core/node-affinity")
def test_node_affinity(case):
    """Every operator, terms that are ORed, expressions that are ANDed, and fields; each also where nothing matches."""
    nodes = case.nodes
    for number, node in enumerate(nodes):
        # As text "9" is the largest of these; as numbers it is not.
        case.change_node(node, labels={RANK: str(9 + 3 * number), **({ZONE: "a"} if number else {})})
    case.settle()
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
        affinity(here),
    ]
    case.expect_bound([case.pod("affine", affinity=terms) for terms in possible * 2])
    elsewhere = {**here, "matchExpressions": [expression(RANK, "In", "9")]} if len(nodes) > 1 else {"matchFields": []}
    impossible = [
        affinity([expression(RANK, "In", "none")]),
        affinity([expression(RANK, "Exists"), expression("kubernetes.io/hostname", "DoesNotExist")]),
        affinity([expression(RANK, "Gt", "1000")]),
        affinity([expression(RANK, "Lt", "9")]),
        affinity(elsewhere),
    ]
    case.expect_pending([case.pod("exceeds", affinity=terms) for terms in impossible])


@pytest.mark.clause("core/cordon")
def test_cordon(case):
    """All nodes but one are cordoned: pods go to the one, and those that select another wait."""
    _open_node, *cordoned = case.nodes
    for node in cordoned:
        case.change_node(node, unschedulable=True)
    case.settle()
    case.expect_bound([case.pod(cpu="100m") for _ in range(8)])
    case.expect_pending([case.pod("selects", nodeSelector={"kubernetes.io/hostname": cordoned[0]})])
