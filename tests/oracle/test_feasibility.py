"""The oracle as a whole: on which nodes a pod fits, and the laws that every answer obeys."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedproof.oracle.feasibility import check

Manifest = dict[str, Any]


def pod(uid: str = "probe", *, node: str = "", cpu: str = "1", **spec: Any) -> Manifest:
    return {
        "metadata": {"name": uid, "namespace": "default", "uid": uid},
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
            **({"nodeName": node} if node else {}),
            **spec,
        },
        "status": {"phase": "Running" if node else "Pending"},
    }


def node(
    name: str, *, cpu: str = "4", pods: str = "110", labels: dict[str, str] | None = None, **spec: Any
) -> Manifest:
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": {"cpu": cpu, "pods": pods}},
    }


def test_each_node_has_all_its_reasons() -> None:
    """Each node has all its reasons; an empty tuple means that the pod fits."""
    probe = pod(cpu="1500m", nodeSelector={"disk": "ssd"})
    probe["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    web = pod("web", node="worst", cpu="3")
    web["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    nodes = [
        node("best", labels={"disk": "ssd"}),
        node("worst", unschedulable=True, taints=[{"key": "reserved", "effect": "NoSchedule"}]),
    ]
    assert check(probe, nodes, [probe, web]) == {
        "best": (),
        "worst": (
            "cordoned: spec.unschedulable is set",
            "taint reserved:NoSchedule is not tolerated",
            "node selector disk=ssd: the node has no disk",
            "host port 80/TCP on 0.0.0.0 is used by default/web",
            "cpu: needs 1500m, 1000m free of 4000m",
        ),
    }


def test_pods_count_on_their_own_node_only() -> None:
    """Pods without a node, or on a node that does not exist, do not count."""
    others = [pod("a", node="n1", cpu="4"), pod("b", cpu="4"), pod("c", node="gone", cpu="4")]
    assert check(pod(), [node("n1"), node("n2")], others) == {"n1": ("cpu: needs 1000m, 0m free of 4000m",), "n2": ()}


def test_bound_pod_is_checked_as_if_it_were_unbound() -> None:
    """Its nodeName does not exclude other nodes, and it does not count against itself."""
    bound = pod(cpu="4", node="n1")
    assert check(bound, [node("n1"), node("n2")], [bound]) == {"n1": (), "n2": ()}


def test_recreated_pod_is_another_pod() -> None:
    """Pods are distinguished by uid: the old pod still uses resources."""
    old, new = pod("old", node="n1", cpu="4"), pod("new", cpu="4")
    old["metadata"]["name"] = new["metadata"]["name"] = "same"
    assert check(new, [node("n1")], [old, new])["n1"]


def test_manifests_without_a_uid_are_distinguished_by_name() -> None:
    """For example, a pod that no API server has seen."""
    probe, other = pod("probe", cpu="4", node="n1"), pod("other", cpu="4", node="n1")
    del probe["metadata"]["uid"], other["metadata"]["uid"]
    assert check(probe, [node("n1")], [probe])["n1"] == ()
    assert check(probe, [node("n1")], [probe, other])["n1"]


def test_gated_pod_fits_nowhere_for_one_reason() -> None:
    """The gates are the only reason, whatever else applies."""
    probe = pod(schedulingGates=[{"name": "quota"}, {"name": "security"}])
    nodes = [node("free"), node("full", cpu="0")]
    gated = ("waits for scheduling gates: quota, security",)
    assert check(probe, nodes, []) == {"free": gated, "full": gated}
    assert check(pod(schedulingGates=[]), nodes, [])["free"] == ()


def test_check_without_nodes_is_empty() -> None:
    """Without nodes, the answer is empty."""
    assert check(pod(), [], []) == {}
    assert check(pod(schedulingGates=[{"name": "g"}]), [], []) == {}


def test_views_and_iterators_are_accepted_and_inputs_are_not_changed() -> None:
    """The judge passes views of a state that is used elsewhere."""
    nodes, pods = {"n1": node("n1")}, {"default/a": pod("a", node="n1")}
    before = copy.deepcopy((nodes, pods))
    assert check(pod(), nodes.values(), iter(pods.values())) == {"n1": ()}
    assert (nodes, pods) == before


@pytest.mark.parametrize("missing", ["spec", "status"])
@pytest.mark.parametrize("value", [None, {}])
def test_optional_fields_may_be_missing_or_null(missing: str, value: Manifest | None) -> None:
    """A node without a status has no room for pods, not even for a pod without requests."""
    bare_node = node("n1") | {missing: value}
    bare_pod = pod() | {missing: value}
    (reasons,) = check(bare_pod, [bare_node], [bare_pod]).values()
    assert bool(reasons) is (missing == "status")


# Worlds for the laws: small alphabets, so that rules apply often.

CPU = st.sampled_from(["0", "100u", "500m", "1", "2"])
TAINTS = st.builds(
    lambda key, value, effect: {"key": key, "value": value, "effect": effect},
    st.sampled_from("ab"), st.sampled_from(["", "x"]), st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)  # fmt: skip
TOLERATIONS = st.builds(
    lambda key, operator, value, effect: {"key": key, "operator": operator, "value": value, "effect": effect},
    st.sampled_from(["", "a", "b"]), st.sampled_from(["Equal", "Exists"]), st.sampled_from(["", "x"]),
    st.sampled_from(["", "NoSchedule", "NoExecute"]),
)  # fmt: skip
LABELS = st.dictionaries(st.sampled_from("kl"), st.sampled_from("xy"))
PORTS = st.lists(
    st.builds(
        lambda port, address: {"containerPort": 1, "hostPort": port, "hostIP": address},
        st.sampled_from([0, 1, 2]), st.sampled_from(["", "10.0.0.1"]),
    ),
    max_size=1,
)  # fmt: skip
NODE_NAMES = ["n1", "n2"]


@st.composite
def pods(draw: st.DrawFn, uid: str, *, bound: bool = False) -> Manifest:
    made = pod(
        uid,
        node=draw(st.sampled_from(NODE_NAMES)) if bound else "",
        cpu=draw(CPU),
        nodeSelector=draw(LABELS) if draw(st.booleans()) else {},
        tolerations=draw(st.lists(TOLERATIONS, max_size=2)),
    )
    made["spec"]["containers"][0]["ports"] = draw(PORTS)
    made["status"]["phase"] = draw(st.sampled_from(["Running", "Running", "Pending", "Succeeded"]))
    return made


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Manifest, list[Manifest], list[Manifest]]:
    nodes = [
        node(
            name,
            cpu=draw(st.sampled_from(["1", "2", "3"])),
            pods=draw(st.sampled_from(["1", "2", "9"])),
            labels=draw(LABELS),
            unschedulable=draw(st.booleans()),
            taints=draw(st.lists(TAINTS, max_size=2)),
        )
        for name in NODE_NAMES
    ]
    others = [draw(pods(f"other-{number}", bound=True)) for number in range(draw(st.integers(0, 3)))]
    return draw(pods("probe")), nodes, others


def feasible(probe: Manifest, nodes: list[Manifest], others: list[Manifest]) -> set[str]:
    return {name for name, reasons in check(probe, nodes, others).items() if not reasons}


@given(worlds(), pods("newcomer", bound=True))
def test_additional_pod_never_adds_a_feasible_node(world: tuple[Any, ...], newcomer: Manifest) -> None:
    """Law: if a pod fits beside another pod, it also fits without it."""
    probe, nodes, others = world
    assert feasible(probe, nodes, [*others, newcomer]) <= feasible(probe, nodes, others)


@given(worlds(), TOLERATIONS)
def test_additional_toleration_never_excludes_a_node(world: tuple[Any, ...], toleration: Manifest) -> None:
    """Law: a toleration only adds nodes."""
    probe, nodes, others = world
    tolerant = copy.deepcopy(probe)
    tolerant["spec"]["tolerations"].append(toleration)
    assert feasible(probe, nodes, others) <= feasible(tolerant, nodes, others)


@given(worlds(), TAINTS)
def test_additional_taint_never_adds_a_feasible_node(world: tuple[Any, ...], taint: Manifest) -> None:
    """Law: a taint only excludes nodes."""
    probe, nodes, others = world
    tainted = copy.deepcopy(nodes)
    tainted[0]["spec"]["taints"].append(taint)
    assert feasible(probe, tainted, others) <= feasible(probe, nodes, others)


@given(worlds(), CPU)
def test_larger_request_never_adds_a_feasible_node(world: tuple[Any, ...], more: str) -> None:
    """Law: neither in another container, nor in an init container, nor as overhead."""
    probe, nodes, others = world
    extra = {"name": "more", "resources": {"requests": {"cpu": more}}}
    containers = probe["spec"]["containers"]
    for change in (
        {"containers": [*containers, extra]},
        {"initContainers": [extra]},
        {"initContainers": [{**extra, "restartPolicy": "Always"}]},
        {"overhead": {"cpu": more}},
    ):
        greedy = probe | {"spec": probe["spec"] | change}
        assert feasible(greedy, nodes, others) <= feasible(probe, nodes, others)


@given(worlds())
def test_node_is_checked_independently_of_other_nodes(world: tuple[Any, ...]) -> None:
    """Law: other nodes do not matter."""
    probe, nodes, others = world
    together = check(probe, nodes, others)
    assert together == {name: why for node_ in nodes for name, why in check(probe, [node_], others).items()}


@given(worlds(), st.randoms(use_true_random=False))
def test_order_of_nodes_and_pods_does_not_matter(world: tuple[Any, ...], shuffler: random.Random) -> None:
    """Law: the order of nodes and of pods does not matter."""
    probe, nodes, others = world
    before = feasible(probe, nodes, others)
    shuffler.shuffle(nodes)
    shuffler.shuffle(others)
    assert feasible(probe, nodes, others) == before


@given(worlds())
def test_terminated_pod_does_not_count(world: tuple[Any, ...]) -> None:
    """Law: Succeeded and Failed pods do not matter."""
    probe, nodes, others = world
    left = [other for other in others if other["status"]["phase"] != "Succeeded"]
    assert check(probe, nodes, others) == check(probe, nodes, left)


@given(worlds())
def test_answers_are_the_same_after_the_binding(world: tuple[Any, ...]) -> None:
    """Law: the answers for a pod are the same after its binding."""
    probe, nodes, others = world
    before = check(probe, nodes, others)
    for name in NODE_NAMES:
        bound = copy.deepcopy(probe)
        bound["spec"]["nodeName"] = name
        assert check(bound, nodes, [*others, bound]) == before
