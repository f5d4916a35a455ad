"""Required pod affinity and anti-affinity: which nodes are left, one world for each rule."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.feasibility import check

Manifest = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NAMESPACES = {"default": {}, "red": {"team": "red"}, "blue": {"team": "blue"}}
NODES = [
    {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {"allocatable": {"pods": "9"}}}
    for name, labels in {
        "a1": {"zone": "a", "rack": "1"}, "a2": {"zone": "a", "rack": "2"}, "b1": {"zone": "b", "rack": "1"},
        "nowhere": {},
    }.items()
]  # fmt: skip


def pod(name: str = "probe", node: str = "", *, app: str = "web", namespace: str = "default", **kinds: Any) -> Manifest:
    """A pod; `together` and `apart` are the required terms of its affinity and anti-affinity."""
    affinity = {
        kind: {REQUIRED: [{"topologyKey": "zone", **term} for term in kinds[short]]}
        for short, kind in (("together", "podAffinity"), ("apart", "podAntiAffinity"))
        if short in kinds
    }
    return {
        "metadata": {
            "name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": {"app": app},
            **kinds.get("metadata", {}),
        },
        "spec": {"containers": [], "affinity": affinity, **({"nodeName": node} if node else {})},
        "status": {"phase": kinds.get("phase", "Running" if node else "Pending")},
    }  # fmt: skip


def selecting(app: str, **term: Any) -> Manifest:
    return {"labelSelector": {"matchLabels": {"app": app}}, **term}


def nodes_left(probe: Manifest, *others: Manifest, **arguments: Any) -> list[str]:
    return sorted(name for name, why in check(probe, NODES, others, NAMESPACES, **arguments).items() if not why)


DB = selecting("db")
WEB = selecting("web")
EVERYWHERE = ["a1", "a2", "b1", "nowhere"]


def test_affinity_leaves_the_domains_of_matching_pods() -> None:
    """A node without the topology label belongs to no domain."""
    assert nodes_left(pod(together=[DB]), pod("db", "a1", app="db")) == ["a1", "a2"]
    assert nodes_left(pod(together=[DB]), pod("db", "nowhere", app="db")) == []
    assert nodes_left(pod(together=[DB])) == []


def test_one_pod_must_match_all_affinity_terms() -> None:
    """Two pods that each match one term are not enough."""
    both = [selecting("db"), {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}]
    assert nodes_left(pod(together=both), pod("db", "a1", app="db")) == ["a1", "a2"]
    assert nodes_left(pod(together=[DB, WEB]), pod("db", "a1", app="db"), pod("web", "a2")) == []


def test_each_term_has_its_own_topology() -> None:
    """One term is about the zone, the other about the rack."""
    terms = [DB, selecting("db", topologyKey="rack")]
    assert nodes_left(pod(together=terms), pod("db", "a1", app="db")) == ["a1"]


def test_first_pod_of_a_group_may_run_in_any_domain() -> None:
    """The second pod must follow the first."""
    assert nodes_left(pod(together=[WEB])) == ["a1", "a2", "b1"]
    assert nodes_left(pod(together=[WEB]), pod("first", "b1")) == ["b1"]
    assert nodes_left(pod(together=[WEB, DB])) == []


def test_anti_affinity_excludes_the_domains_of_matching_pods() -> None:
    """A node without the topology label is left, as it belongs to no domain."""
    assert nodes_left(pod(apart=[DB]), pod("db", "a1", app="db")) == ["b1", "nowhere"]
    assert nodes_left(pod(apart=[DB]), pod("db", "nowhere", app="db")) == EVERYWHERE


def test_anti_affinity_is_symmetric() -> None:
    """A pod without anti-affinity is repelled by a pod that has it."""
    assert nodes_left(pod(), pod("guard", "a1", app="db", apart=[WEB])) == ["b1", "nowhere"]
    assert nodes_left(pod(app="other"), pod("guard", "a1", app="db", apart=[WEB])) == EVERYWHERE


def test_affinity_is_not_symmetric() -> None:
    """Affinity of a bound pod does not restrict other pods."""
    assert nodes_left(pod(), pod("lonely", "a1", app="db", together=[WEB])) == EVERYWHERE


@pytest.mark.parametrize(
    ("described", "term", "namespace", "matches"),
    [
        ("no namespaces: the pod's own", {}, "default", True),
        ("no namespaces: not another", {}, "red", False),
        ("named", {"namespaces": ["red"]}, "red", True),
        ("named: the pod's own is not among them", {"namespaces": ["red"]}, "default", False),
        ("selected", {"namespaceSelector": {"matchLabels": {"team": "red"}}}, "red", True),
        ("selected: another is not", {"namespaceSelector": {"matchLabels": {"team": "red"}}}, "blue", False),
        ("empty selector: all", {"namespaceSelector": {}}, "blue", True),
        (
            "named or selected",
            {"namespaces": ["blue"], "namespaceSelector": {"matchLabels": {"team": "red"}}},
            "blue",
            True,
        ),
        (
            "selected by a missing label",
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
            "default",
            True,
        ),
        (
            "not selected, as it has the label",
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
            "red",
            False,
        ),
    ],
)
def test_terms_apply_to_named_or_selected_namespaces(
    described: str, term: Manifest, namespace: str, matches: bool
) -> None:
    """The same holds for affinity, anti-affinity, and anti-affinity of the other pod."""
    other = pod("db", "a1", app="db", namespace=namespace)
    assert (nodes_left(pod(together=[{**DB, **term}]), other) == ["a1", "a2"]) is matches, described
    assert (nodes_left(pod(apart=[{**DB, **term}]), other) == ["b1", "nowhere"]) is matches, described
    guard = pod("guard", "a1", app="db", apart=[{**WEB, **term}])
    assert (nodes_left(pod(namespace=namespace), guard) == ["b1", "nowhere"]) is matches, described


@pytest.mark.parametrize(
    ("expressions", "matches"),
    [
        ([("tier", "NotIn", "front")], True),  # the pod has no such label
        ([("tier", "DoesNotExist")], True),
        ([("app", "NotIn", "web")], True),
        ([("app", "NotIn", "web", "db")], False),
        ([("app", "DoesNotExist")], False),
        ([("tier", "Exists")], False),
        ([("tier", "In", "front")], False),
        ([("app", "Exists"), ("app", "In", "db")], True),
        ([("app", "Exists"), ("app", "In", "web")], False),
        ([("app", "In", "web"), ("app", "Exists")], False),
    ],
)
@pytest.mark.parametrize("named", [{}, {"matchLabels": {"app": "db"}}])
def test_label_selector_expressions_are_anded(
    expressions: list[tuple[str, ...]], matches: bool, named: Manifest
) -> None:
    """Expressions are ANDed, also with matchLabels, in all three kinds of rules."""
    chosen = [{"key": key, "operator": operator, "values": values} for key, operator, *values in expressions]
    term = {"labelSelector": {**named, "matchExpressions": chosen}}
    other = pod("db", "a1", app="db")
    assert (nodes_left(pod(together=[term], app="web"), other) == ["a1", "a2"]) is matches
    assert (nodes_left(pod(apart=[term], app="web"), other) == ["b1", "nowhere"]) is matches
    assert (nodes_left(pod(app="db"), pod("guard", "a1", app="x", apart=[term])) == ["b1", "nowhere"]) is matches


def test_first_pod_of_a_group_must_match_its_own_terms_and_namespaces() -> None:
    """With a term about another namespace only, the first pod waits for a pod there."""
    red = {"namespaces": ["red"]}
    assert nodes_left(pod(together=[{**WEB, **red}])) == []
    assert nodes_left(pod(together=[{**WEB, "namespaceSelector": {"matchLabels": {"team": "red"}}}])) == []
    assert nodes_left(pod(together=[WEB, {**WEB, **red}])) == []
    assert nodes_left(pod(together=[{**WEB, "namespaces": ["default", "red"]}])) == ["a1", "a2", "b1"]
    assert nodes_left(pod(together=[{**WEB, "namespaceSelector": {}}])) == ["a1", "a2", "b1"]


@pytest.mark.parametrize("selector", [None, {}])
def test_missing_selector_matches_no_pod_and_empty_selector_matches_all(selector: Manifest | None) -> None:
    term = {} if selector is None else {"labelSelector": selector}
    expected = EVERYWHERE if selector is None else ["b1", "nowhere"]
    assert nodes_left(pod(apart=[term]), pod("db", "a1", app="db")) == expected


def test_terminating_pods_count_and_terminated_pods_do_not() -> None:
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert nodes_left(pod(apart=[DB]), pod("db", "a1", app="db", metadata=going)) == ["b1", "nowhere"]
    for phase in ("Succeeded", "Failed"):
        assert nodes_left(pod(apart=[DB]), pod("db", "a1", app="db", phase=phase)) == EVERYWHERE
        assert nodes_left(pod(together=[DB]), pod("db", "a1", app="db", phase=phase)) == []
        assert nodes_left(pod(), pod("guard", "a1", app="db", apart=[WEB], phase=phase)) == EVERYWHERE


def test_pods_being_bound_count_for_affinity_only() -> None:
    """Such pods may count for affinity, but never for anti-affinity."""
    coming = pod("coming", "a1", app="db")
    assert nodes_left(pod(together=[DB]), under_way=[coming]) == ["a1", "a2"]
    assert nodes_left(pod(apart=[DB]), under_way=[coming]) == EVERYWHERE
    assert nodes_left(pod(together=[WEB]), under_way=[pod("coming", "a1")]) == ["a1", "a2", "b1"]
