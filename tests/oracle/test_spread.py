"""Topology spread constraints with DoNotSchedule: which nodes they leave, one world for each rule."""

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
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **one} for one in constraints]
    return {
        "metadata": {"name": "probe", "namespace": "default", "labels": {"app": app, "version": "2"}},
        "spec": {"containers": [], "topologySpreadConstraints": spread, **spec},
    }


def left(pod: Manifest, others: list[Manifest], nodes: list[Manifest] = NODES, **arguments: Any) -> list[str]:
    return sorted(name for name, why in check(pod, nodes, others, {}, **arguments).items() if not why)


def test_a_place_may_be_ahead_of_the_emptiest_by_the_maximal_skew() -> None:
    """The pod itself counts, and all nodes of a place are that place."""
    assert left(probe(WEB), [*pods(1, "a1"), *pods(1, "b1")]) == ["c1"]
    assert left(probe({**WEB, "maxSkew": 2}), [*pods(1, "a1"), *pods(2, "b1")]) == ["a1", "a2", "c1"]
    assert left(probe(WEB), []) == ["a1", "a2", "b1", "c1"]


def test_a_pod_that_its_own_constraint_does_not_count_adds_nothing() -> None:
    assert left(probe(WEB, app="db"), [*pods(1, "a1"), *pods(2, "b1")]) == ["a1", "a2", "c1"]


def test_only_pods_of_its_namespace_that_are_selected_and_stay_are_counted() -> None:
    elsewhere = [*pods(5, "a1", namespace="other"), *pods(5, "a1", app="db")]
    going = pods(5, "a1", deletionTimestamp="2026-01-01T00:00:00Z")
    assert left(probe(WEB), [*elsewhere, *going]) == ["a1", "a2", "b1", "c1"]
    assert left(probe({}), pods(5, "a1")) == ["a1", "a2", "b1", "c1"]


def test_a_node_without_the_label_is_no_place() -> None:
    """It gets no such pod, and what is on it does not count. One constraint's label is all constraints' label."""
    nodes = [*NODES, node("nowhere", {})]
    assert left(probe(WEB), pods(5, "nowhere"), nodes) == ["a1", "a2", "b1", "c1"]
    racked = [node("a1", {"zone": "a", "rack": "1"}), node("b1", {"zone": "b"}), node("c1", {"zone": "c", "rack": "1"})]
    constraints = (WEB, {**WEB, "topologyKey": "rack", "maxSkew": 9})
    assert left(probe(*constraints), [*pods(1, "a1"), *pods(1, "c1")], racked) == ["a1", "c1"]


def test_fewer_places_than_min_domains_make_the_emptiest_one_that_is_not_there_yet() -> None:
    one_each = [*pods(1, "a1"), *pods(1, "b1"), *pods(1, "c1")]
    assert left(probe({**WEB, "minDomains": 3}), one_each) == ["a1", "a2", "b1", "c1"]
    assert left(probe({**WEB, "minDomains": 4}), one_each) == []
    assert left(probe({**WEB, "minDomains": 4}), pods(1, "a1")) == ["b1", "c1"]


def test_match_label_keys_count_pods_with_the_same_values() -> None:
    """The others are of another version; a key that the pod does not bear is left out."""
    old = [*pods(3, "a1"), *pods(1, "b1")]
    assert left(probe({**WEB, "matchLabelKeys": ["version"]}), old) == ["a1", "a2", "b1", "c1"]
    assert left(probe({**WEB, "matchLabelKeys": ["absent"]}), old) == ["c1"]


def test_nodes_that_the_pod_does_not_select_count_only_by_policy() -> None:
    selecting = {"nodeSelector": {"pool": "x"}}
    nodes = [node("a1", {"zone": "a", "pool": "x"}), node("b1", {"zone": "b", "pool": "x"}), node("c1", {"zone": "c"})]
    one_each = [*pods(1, "a1"), *pods(1, "b1")]
    assert left(probe(WEB, **selecting), one_each, nodes) == ["a1", "b1"]
    assert left(probe({**WEB, "nodeAffinityPolicy": "Ignore"}, **selecting), one_each, nodes) == []


def test_nodes_whose_taints_the_pod_does_not_tolerate_count_unless_by_policy() -> None:
    """A cordon that the node controller has not made a taint of is none."""
    nodes = [node("a1", {"zone": "a"}), node("b1", {"zone": "b"}), node("c1", {"zone": "c"}, taints=[TAINT])]
    one_each = [*pods(1, "a1"), *pods(1, "b1")]
    assert left(probe(WEB), one_each, nodes) == []
    assert left(probe({**WEB, "nodeTaintsPolicy": "Honor"}), one_each, nodes) == ["a1", "b1"]
    cordoned = [*nodes[:2], node("c1", {"zone": "c"}, unschedulable=True)]
    assert left(probe({**WEB, "nodeTaintsPolicy": "Honor"}), one_each, cordoned) == []


def test_schedule_anyway_keeps_no_pod_off() -> None:
    assert left(probe({**WEB, "whenUnsatisfiable": "ScheduleAnyway"}), pods(9, "a1")) == ["a1", "a2", "b1", "c1"]


def test_pods_under_way_count_in_other_places_only() -> None:
    """By them a place may be no longer the emptiest; they never fill one up."""
    coming = [*pods(1, "b1"), *pods(1, "c1")]
    assert left(probe(WEB), pods(1, "a1"), under_way=coming) == ["a1", "a2", "b1", "c1"]
    assert left(probe(WEB), pods(2, "a1"), under_way=pods(1, "a2")) == ["b1", "c1"]
