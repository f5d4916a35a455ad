"""Fast but wrong is shown as wrong: where pods are in the end, by hand-written states."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.benchmark.workloads.reader import load_workload
from schedproof.oracle.final_state.placement import MOST_SENTENCES, judge_placement

Manifest = dict[str, Any]


def node(name: str, *, cpu: str = "4", labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "memory": "32Gi", "pods": "110"}},
    }


def pod(name: str, *, cpu: str = "1", labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    return {
        "metadata": {"name": name, "namespace": "measured", "labels": labels or {}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}], **spec},
    }


def alike(count: int, **spec: Any) -> list[Manifest]:
    return [pod(f"pod-{n}", **spec) for n in range(count)]


def zoned(name: str, zone: str) -> Manifest:
    return node(name, labels={"zone": zone})


APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
        ]
    }
}
TOGETHER = {"podAffinity": APART["podAntiAffinity"]}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "a"}},
}


def test_pods_that_fit_are_right() -> None:
    findings = judge_placement([node("a"), node("b")], list(zip(alike(8), ["a", "b"] * 4, strict=True)))
    assert (findings.wrong, findings.total, findings.not_judged) == ((), 0, ())


def test_a_node_that_holds_too_much_is_found_by_its_sum() -> None:
    findings = judge_placement([node("a"), node("b")], [(replica, "a") for replica in alike(5)])
    assert findings.wrong == (
        "measured/pod-4 was bound to a, which cannot hold it: cpu: needs 1000m, 0m free of 4000m",
    )


def test_a_node_that_holds_too_much_of_everything_is_found() -> None:
    small = node("a", cpu="1")
    small["status"]["allocatable"] = {"cpu": "1", "memory": "1Gi", "pods": "1"}
    pods = alike(2)
    for replica in pods:
        replica["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
    assert judge_placement([small], [(replica, "a") for replica in pods]).total == 1


def test_what_was_there_before_counts_but_is_not_held_against_the_candidate() -> None:
    before = [(pod(f"old-{n}"), "a") for n in range(5)]
    findings = judge_placement([node("a")], [(pod("new"), "a")], initial=before)
    assert findings.total == 1
    assert "measured/new was bound to a" in findings.wrong[0]


def test_too_many_pods_for_a_node_are_found_where_they_ask_for_nothing() -> None:
    findings = judge_placement([node("a")], [(pod(f"pod-{n}", cpu="0"), "a") for n in range(111)])
    assert findings.wrong == ("measured/pod-110 was bound to a, which cannot hold it: pods: 110 of 110 taken",)


def test_a_node_that_does_not_exist() -> None:
    findings = judge_placement([node("a")], [(pod("lost"), "b")])
    assert findings.wrong == ("measured/lost was bound to b, which does not exist",)


def test_taints_selectors_and_host_ports() -> None:
    nodes = [node("a", taints=[{"key": "reserved", "effect": "NoSchedule"}]), node("b")]
    first, second = pod("p"), pod("q")
    for replica in (first, second):
        replica["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    findings = judge_placement(
        nodes, [(pod("t"), "a"), (pod("s", nodeSelector={"disk": "ssd"}), "b"), (first, "b"), (second, "b")]
    )
    assert findings.total == 3
    assert "taint reserved:NoSchedule is not tolerated" in findings.wrong[0]
    assert "node selector disk=ssd" in findings.wrong[1]
    assert "host port 80/TCP" in findings.wrong[2]


def test_a_pod_that_was_not_bound_is_wrong_only_where_it_fits() -> None:
    placed = [(replica, "a") for replica in alike(4)]
    fits = judge_placement([node("a"), node("b")], [*placed, (pod("late"), None)])
    assert fits.wrong == ("measured/late was not bound, although it fits on b",)
    assert judge_placement([node("a")], [*placed, (pod("late"), "")]).wrong == ()


def test_a_thousand_findings_are_counted_and_a_few_are_told() -> None:
    findings = judge_placement([node("a")], [(replica, "b") for replica in alike(1000)])
    assert (len(findings.wrong), findings.total) == (MOST_SENTENCES, 1000)


def test_what_the_oracle_does_not_know_is_said() -> None:
    claim: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    findings = judge_placement([node("a")], [(pod("p", **claim), "a"), (pod("q", **claim), None)])
    assert findings.wrong == ()
    assert findings.not_judged == (
        "not judged: spec.volumes[].persistentVolumeClaim",
        "not judged: whether pods that were not bound (1) had room",
    )


READINGS = {"quiet": 100.0, "same": 109.0, "loud": 200.0}


def test_a_louder_node_was_used_while_the_quieter_had_room() -> None:
    nodes = [node(name) for name in READINGS]
    findings = judge_placement(nodes, [(pod("x"), "quiet"), (pod("y"), "loud")], READINGS)
    assert findings.wrong == ("loud (200 B/s) got 1 pods, while quiet (100 B/s) had room for more",)


def test_differences_below_the_resolution_do_not_count_and_full_nodes_neither() -> None:
    nodes = [node(name) for name in READINGS]
    used = ["same"] * 4 + ["quiet"] * 4 + ["loud"]
    assert judge_placement(nodes, list(zip(alike(9), used, strict=True)), READINGS).wrong == ()
    assert judge_placement(nodes, [(pod("x"), "same")], READINGS).wrong == ()
    assert judge_placement(nodes, [(pod("x"), "same")], READINGS, resolution=0.05).total == 1


def test_room_for_a_small_pod_says_nothing_about_a_large_one() -> None:
    nodes = [node(name) for name in READINGS]
    pods = [(pod("half", cpu="3"), "quiet"), (pod("large", cpu="2"), "same"), (pod("larger", cpu="4"), "loud")]
    assert judge_placement(nodes, pods, READINGS).wrong == ()


def test_pods_placed_before_have_no_preference() -> None:
    nodes = [node(name) for name in READINGS]
    assert judge_placement(nodes, [(pod("x"), "quiet")], READINGS, initial=[(pod("old"), "loud")]).wrong == ()


ZONES = [zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), node("nowhere")]


def test_anti_affinity_forbids_two_in_a_zone_whoever_came_first() -> None:
    first, other = (pod(name, labels={"app": "a"}, affinity=APART) for name in ("one", "other"))
    assert judge_placement(ZONES, [(first, "a1"), (other, "b1")]).wrong == ()
    assert judge_placement(ZONES, [(first, "nowhere"), (other, "nowhere")]).wrong == ()
    findings = judge_placement(ZONES, [(first, "a1"), (other, "a2")])
    (sentence,) = findings.wrong
    assert sentence.startswith("measured/other and measured/one are both in zone=a, which the required anti-affinity")
    plain = pod("plain", labels={"app": "a"})
    assert judge_placement(ZONES, [(plain, "a1")], initial=[(first, "a2")]).total == 1
    assert judge_placement(ZONES, [], initial=[(first, "a1"), (other, "a2")]).total == 0


def test_anti_affinity_is_about_the_namespaces_that_it_names() -> None:
    first = pod("one", affinity=APART, labels={"app": "a"})
    other = pod("other", labels={"app": "a"})
    other["metadata"]["namespace"] = "elsewhere"
    assert judge_placement(ZONES, [(first, "a1"), (other, "a2")]).wrong == ()
    term = APART["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    for extra in ({"namespaces": ["elsewhere"]}, {"namespaceSelector": {"matchLabels": {"team": "x"}}}):
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{**term, **extra}]}}
        wide = pod("wide", affinity=affinity)
        findings = judge_placement(ZONES, [(wide, "a1"), (other, "a2")], namespaces={"elsewhere": {"team": "x"}})
        assert findings.total == 1


def test_affinity_allows_one_founder_and_then_wants_company() -> None:
    group = [pod(f"g{n}", labels={"app": "a"}, affinity=TOGETHER) for n in range(3)]
    assert judge_placement(ZONES, [(group[0], "a1"), (group[1], "a2"), (group[2], "a1")]).wrong == ()
    assert judge_placement(ZONES, [(group[0], "a1")]).wrong == ()
    alone = judge_placement(ZONES, [(group[0], "a1"), (group[1], "a2"), (group[2], "b1")], initial=[(group[0], "a1")])
    assert alone.wrong == ("measured/g2 is in zone=b, which has no pod that its required affinity matches",)
    assert judge_placement(ZONES, [(group[0], "nowhere")], initial=[(group[1], "a1")]).total == 1


def test_each_place_without_the_company_that_is_asked_for_is_found() -> None:
    """They do not mean themselves, so that none may be the first of a group."""
    lonely = [pod(f"p{n}", affinity=TOGETHER) for n in range(2)]
    assert judge_placement(ZONES, [(lonely[0], "a1"), (lonely[1], "b1")]).total == 2


@pytest.mark.parametrize(("used", "wrong"), [("abab", 0), ("aab", 0), ("aaab", 1), ("aa", 1)])
def test_the_skew_between_zones_is_within_its_maximum(used: str, wrong: int) -> None:
    pods = [pod(f"p{n}", labels={"app": "a"}, topologySpreadConstraints=[SPREAD]) for n in range(len(used))]
    findings = judge_placement(ZONES, [(replica, f"{zone}1") for replica, zone in zip(pods, used, strict=True)])
    assert (findings.total, findings.not_judged) == (wrong, ())


def test_where_there_is_nothing_to_spread_over_no_pod_that_spreads_may_be() -> None:
    spread = pod("p", labels={"app": "a"}, topologySpreadConstraints=[SPREAD])
    findings = judge_placement([zoned("a", "x"), node("b")], [(spread, "b")])
    assert findings.wrong == ("measured/p is on b, which lacks the topology label zone",)


def test_a_spread_over_pods_of_other_kinds_is_not_judged() -> None:
    bound = pod("bound", labels={"app": "a"}, topologySpreadConstraints=[SPREAD])
    findings = judge_placement(ZONES, [(bound, "a1"), (pod("free", labels={"app": "a"}), "a1")])
    assert findings.not_judged == (
        "not judged: topology spread over zone, where it counts other pods than those of one kind",
    )


def test_thousands_of_pods_of_a_shipped_workload_are_judged_by_kind() -> None:
    """That this ends within a test's patience is the point: 30,000 pods on 5,000 nodes."""
    workload = load_workload("basic", parameters={"nodes": 5000, "pods": 30_000})
    (group,) = workload.node_groups()
    template = workload.measured.templates[0]
    pods = [
        ({**template, "metadata": {"name": f"pod-{n}", "namespace": "measured"}}, group.names[n % 5000])
        for n in range(30_000)
    ]
    assert judge_placement(group.manifests(), pods).total == 0
