"""Topology spread constraints with DoNotSchedule: which nodes are left, one world for each rule."""

from __future__ import annotations

from typing import Any

from schedproof.oracle.feasibility import check

Manifest = dict[str, Any]
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}}


def node(name: str, labels: dict[str, str], **spec: Any) -> Manifest:
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": {"pods": "99"}}}


NODES = [node("a1", {"zone": "a"}), node("a2", {"zone": "a"}), node("b1", {"zone": "b"}), node("c1", {"zone": "c"})]
TAINT = {"key": "reserved", "effect": "NoSchedule"}


def pods(count: int, where: str, *, app: str = "web", namespace: str = "default", **metadata: Any) -> list[Manifest]:
    return [
        {
            "metadata": {
                "name": f"{where}-{app}-{number}", "namespace": namespace, "labels": {"app": app, "version": "1"},
                **metadata,
            },
            "spec": {"containers": [], "nodeName": where},
            "status": {"phase": "Running"},
        }
        for number in range(count)
    ]  # fmt: skip


def probe(*constraints: Manifest, app: str = "web", **spec: Any) -> Manifest:
    spread = [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **constraint}
        for constraint in constraints
    ]
    return {
        "metadata": {"name": "probe", "namespace": "default", "labels": {"app": app, "version": "2"}},
        "spec": {"containers": [], "topologySpreadConstraints": spread, **spec},
    }


def nodes_left(pod: Manifest, others: list[Manifest], nodes: list[Manifest] = NODES, **arguments: Any) -> list[str]:
    return sorted(name for name, why in check(pod, nodes, others, {}, **arguments).items() if not why)


def test_domain_may_exceed_the_least_filled_by_max_skew() -> None:
    """The pod itself counts, and all nodes of a domain count together."""
    assert nodes_left(probe(WEB), [*pods(1, "a1"), *pods(1, "b1")]) == ["c1"]
    assert nodes_left(probe({**WEB, "maxSkew": 2}), [*pods(1, "a1"), *pods(2, "b1")]) == ["a1", "a2", "c1"]
    assert nodes_left(probe(WEB), []) == ["a1", "a2", "b1", "c1"]


def test_pod_not_selected_by_its_own_constraint_does_not_count() -> None:
    assert nodes_left(probe(WEB, app="db"), [*pods(1, "a1"), *pods(2, "b1")]) == ["a1", "a2", "c1"]


def test_only_selected_running_pods_of_the_same_namespace_count() -> None:
    elsewhere = [*pods(5, "a1", namespace="other"), *pods(5, "a1", app="db")]
    going = pods(5, "a1", deletionTimestamp="2026-01-01T00:00:00Z")
    assert nodes_left(probe(WEB), [*elsewhere, *going]) == ["a1", "a2", "b1", "c1"]
    assert nodes_left(probe({}), pods(5, "a1")) == ["a1", "a2", "b1", "c1"]


def test_node_without_the_topology_label_belongs_to_no_domain() -> None:
    """Such a node gets no pod, and its pods do not count. A node must have the labels of all constraints."""
    nodes = [*NODES, node("nowhere", {})]
    assert nodes_left(probe(WEB), pods(5, "nowhere"), nodes) == ["a1", "a2", "b1", "c1"]
    racked = [node("a1", {"zone": "a", "rack": "1"}), node("b1", {"zone": "b"}), node("c1", {"zone": "c", "rack": "1"})]
    constraints = (WEB, {**WEB, "topologyKey": "rack", "maxSkew": 9})
    assert nodes_left(probe(*constraints), [*pods(1, "a1"), *pods(1, "c1")], racked) == ["a1", "c1"]


def test_fewer_domains_than_min_domains_make_the_minimum_zero() -> None:
    one_each = [*pods(1, "a1"), *pods(1, "b1"), *pods(1, "c1")]
    assert nodes_left(probe({**WEB, "minDomains": 3}), one_each) == ["a1", "a2", "b1", "c1"]
    assert nodes_left(probe({**WEB, "minDomains": 4}), one_each) == []
    assert nodes_left(probe({**WEB, "minDomains": 4}), pods(1, "a1")) == ["b1", "c1"]


def test_match_label_keys_count_pods_with_the_same_values() -> None:
    """The other pods have another version; a key that the pod lacks is ignored."""
    old = [*pods(3, "a1"), *pods(1, "b1")]
    assert nodes_left(probe({**WEB, "matchLabelKeys": ["version"]}), old) == ["a1", "a2", "b1", "c1"]
    assert nodes_left(probe({**WEB, "matchLabelKeys": ["absent"]}), old) == ["c1"]


def test_nodes_that_the_pod_does_not_select_count_only_with_policy_ignore() -> None:
    selecting = {"nodeSelector": {"pool": "x"}}
    nodes = [node("a1", {"zone": "a", "pool": "x"}), node("b1", {"zone": "b", "pool": "x"}), node("c1", {"zone": "c"})]
    one_each = [*pods(1, "a1"), *pods(1, "b1")]
    assert nodes_left(probe(WEB, **selecting), one_each, nodes) == ["a1", "b1"]
    assert nodes_left(probe({**WEB, "nodeAffinityPolicy": "Ignore"}, **selecting), one_each, nodes) == []


def test_nodes_with_untolerated_taints_count_unless_policy_is_honor() -> None:
    """A cordon without the taint of the node controller does not count."""
    nodes = [node("a1", {"zone": "a"}), node("b1", {"zone": "b"}), node("c1", {"zone": "c"}, taints=[TAINT])]
    one_each = [*pods(1, "a1"), *pods(1, "b1")]
    assert nodes_left(probe(WEB), one_each, nodes) == []
    assert nodes_left(probe({**WEB, "nodeTaintsPolicy": "Honor"}), one_each, nodes) == ["a1", "b1"]
    cordoned = [*nodes[:2], node("c1", {"zone": "c"}, unschedulable=True)]
    assert nodes_left(probe({**WEB, "nodeTaintsPolicy": "Honor"}), one_each, cordoned) == []


def test_schedule_anyway_excludes_no_node() -> None:
    assert nodes_left(probe({**WEB, "whenUnsatisfiable": "ScheduleAnyway"}), pods(9, "a1")) == ["a1", "a2", "b1", "c1"]


def test_pods_being_bound_count_in_other_domains_only() -> None:
    """They may raise the minimum of the domains, but never fill the pod's own domain."""
    coming = [*pods(1, "b1"), *pods(1, "c1")]
    assert nodes_left(probe(WEB), pods(1, "a1"), under_way=coming) == ["a1", "a2", "b1", "c1"]
    assert nodes_left(probe(WEB), pods(2, "a1"), under_way=pods(1, "a2")) == ["b1", "c1"]
