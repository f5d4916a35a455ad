"""Wrong placements of fast candidates are found: handwritten final states."""

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


def test_fitting_pods_are_right() -> None:
    findings = judge_placement([node("a"), node("b")], list(zip(alike(8), ["a", "b"] * 4, strict=True)))
    assert (findings.wrong, findings.total, findings.not_judged) == ((), 0, ())


def test_overcommitted_node_is_found_by_the_sum_of_requests() -> None:
    findings = judge_placement([node("a"), node("b")], [(replica, "a") for replica in alike(5)])
    assert findings.wrong == (
        "measured/pod-4 was bound to a, which cannot hold it: cpu: needs 1000m, 0m free of 4000m",
    )


def test_node_overcommitted_in_all_resources_is_one_finding() -> None:
    small = node("a", cpu="1")
    small["status"]["allocatable"] = {"cpu": "1", "memory": "1Gi", "pods": "1"}
    pods = alike(2)
    for replica in pods:
        replica["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
    assert judge_placement([small], [(replica, "a") for replica in pods]).total == 1


def test_initial_pods_count_but_are_no_findings() -> None:
    before = [(pod(f"old-{n}"), "a") for n in range(5)]
    findings = judge_placement([node("a")], [(pod("new"), "a")], initial=before)
    assert findings.total == 1
    assert "measured/new was bound to a" in findings.wrong[0]


def test_too_many_pods_without_requests_are_found() -> None:
    findings = judge_placement([node("a")], [(pod(f"pod-{n}", cpu="0"), "a") for n in range(111)])
    assert findings.wrong == ("measured/pod-110 was bound to a, which cannot hold it: pods: 110 of 110 taken",)


def test_node_that_does_not_exist_is_found() -> None:
    findings = judge_placement([node("a")], [(pod("lost"), "b")])
    assert findings.wrong == ("measured/lost was bound to b, which does not exist",)


def test_taints_node_selectors_and_host_ports_are_checked() -> None:
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


def test_unbound_pod_is_wrong_only_if_it_fits() -> None:
    placed = [(replica, "a") for replica in alike(4)]
    fits = judge_placement([node("a"), node("b")], [*placed, (pod("late"), None)])
    assert fits.wrong == ("measured/late was not bound, although it fits on b",)
    assert judge_placement([node("a")], [*placed, (pod("late"), "")]).wrong == ()


def test_all_findings_are_counted_and_a_few_are_listed() -> None:
    findings = judge_placement([node("a")], [(replica, "b") for replica in alike(1000)])
    assert (len(findings.wrong), findings.total) == (MOST_SENTENCES, 1000)


def test_unmodelled_fields_are_not_judged_and_are_named() -> None:
    claim: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    findings = judge_placement([node("a")], [(pod("p", **claim), "a"), (pod("q", **claim), None)])
    assert findings.wrong == ()
    assert findings.not_judged == (
        "not judged: spec.volumes[].persistentVolumeClaim",
        "not judged: whether pods that were not bound (1) had room",
    )


READINGS = {"quiet": 100.0, "same": 109.0, "loud": 200.0}


def test_louder_node_used_while_a_quieter_node_has_room_is_wrong() -> None:
    nodes = [node(name) for name in READINGS]
    findings = judge_placement(nodes, [(pod("x"), "quiet"), (pod("y"), "loud")], READINGS)
    assert findings.wrong == ("loud (200 B/s) got 1 pods, while quiet (100 B/s) had room for more",)


def test_differences_below_the_resolution_and_full_nodes_do_not_count() -> None:
    nodes = [node(name) for name in READINGS]
    used = ["same"] * 4 + ["quiet"] * 4 + ["loud"]
    assert judge_placement(nodes, list(zip(alike(9), used, strict=True)), READINGS).wrong == ()
    assert judge_placement(nodes, [(pod("x"), "same")], READINGS).wrong == ()
    assert judge_placement(nodes, [(pod("x"), "same")], READINGS, resolution=0.05).total == 1


def test_room_for_a_small_pod_does_not_count_for_a_large_pod() -> None:
    nodes = [node(name) for name in READINGS]
    pods = [(pod("half", cpu="3"), "quiet"), (pod("large", cpu="2"), "same"), (pod("larger", cpu="4"), "loud")]
    assert judge_placement(nodes, pods, READINGS).wrong == ()


def test_initial_pods_have_no_network_preference() -> None:
    nodes = [node(name) for name in READINGS]
    assert judge_placement(nodes, [(pod("x"), "quiet")], READINGS, initial=[(pod("old"), "loud")]).wrong == ()


ZONES = [zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), node("nowhere")]


def test_anti_affinity_forbids_two_pods_in_a_zone_in_any_order() -> None:
    first, other = (pod(name, labels={"app": "a"}, affinity=APART) for name in ("one", "other"))
    assert judge_placement(ZONES, [(first, "a1"), (other, "b1")]).wrong == ()
    assert judge_placement(ZONES, [(first, "nowhere"), (other, "nowhere")]).wrong == ()
    findings = judge_placement(ZONES, [(first, "a1"), (other, "a2")])
    (sentence,) = findings.wrong
    assert sentence.startswith("measured/other and measured/one are both in zone=a, which the required anti-affinity")
    plain = pod("plain", labels={"app": "a"})
    assert judge_placement(ZONES, [(plain, "a1")], initial=[(first, "a2")]).total == 1
    assert judge_placement(ZONES, [], initial=[(first, "a1"), (other, "a2")]).total == 0


def test_anti_affinity_applies_to_its_own_or_the_named_namespaces() -> None:
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


def test_affinity_allows_a_first_pod_and_later_pods_must_follow() -> None:
    group = [pod(f"g{n}", labels={"app": "a"}, affinity=TOGETHER) for n in range(3)]
    assert judge_placement(ZONES, [(group[0], "a1"), (group[1], "a2"), (group[2], "a1")]).wrong == ()
    assert judge_placement(ZONES, [(group[0], "a1")]).wrong == ()
    alone = judge_placement(ZONES, [(group[0], "a1"), (group[1], "a2"), (group[2], "b1")], initial=[(group[0], "a1")])
    assert alone.wrong == ("measured/g2 is in zone=b, which has no pod that its required affinity matches",)
    assert judge_placement(ZONES, [(group[0], "nowhere")], initial=[(group[1], "a1")]).total == 1


def test_each_domain_without_a_matching_pod_is_found() -> None:
    """The pods do not match their own term, so none may be the first of a group."""
    lonely = [pod(f"p{n}", affinity=TOGETHER) for n in range(2)]
    assert judge_placement(ZONES, [(lonely[0], "a1"), (lonely[1], "b1")]).total == 2


@pytest.mark.parametrize(("used", "wrong"), [("abab", 0), ("aab", 0), ("aaab", 1), ("aa", 1)])
def test_skew_between_zones_must_not_exceed_max_skew(used: str, wrong: int) -> None:
    pods = [pod(f"p{n}", labels={"app": "a"}, topologySpreadConstraints=[SPREAD]) for n in range(len(used))]
    findings = judge_placement(ZONES, [(replica, f"{zone}1") for replica, zone in zip(pods, used, strict=True)])
    assert (findings.total, findings.not_judged) == (wrong, ())


def test_node_without_the_topology_label_must_not_get_a_spread_pod() -> None:
    spread = pod("p", labels={"app": "a"}, topologySpreadConstraints=[SPREAD])
    findings = judge_placement([zoned("a", "x"), node("b")], [(spread, "b")])
    assert findings.wrong == ("measured/p is on b, which lacks the topology label zone",)


def test_spread_that_counts_other_kinds_of_pods_is_not_judged() -> None:
    bound = pod("bound", labels={"app": "a"}, topologySpreadConstraints=[SPREAD])
    findings = judge_placement(ZONES, [(bound, "a1"), (pod("free", labels={"app": "a"}), "a1")])
    assert findings.not_judged == (
        "not judged: topology spread over zone, where it counts other pods than those of one kind",
    )


def test_thousands_of_equal_pods_are_judged_together() -> None:
    """It must be fast for 30,000 pods on 5,000 nodes."""
    workload = load_workload("basic", parameters={"nodes": 5000, "pods": 30_000})
    (group,) = workload.node_groups()
    template = workload.measured.templates[0]
    pods = [
        ({**template, "metadata": {"name": f"pod-{n}", "namespace": "measured"}}, group.names[n % 5000])
        for n in range(30_000)
    ]
    assert judge_placement(group.manifests(), pods).total == 0
