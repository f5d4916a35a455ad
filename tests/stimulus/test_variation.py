"""Pods that look otherwise mean the same: the oracle, which knows every rule, tells them apart by nothing."""

from __future__ import annotations

import copy
import random
from collections.abc import Collection
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schedproof.candidate.subjects import Subject
from schedproof.oracle.affinity import selects_node
from schedproof.oracle.feasibility import check
from schedproof.oracle.quantity import parse_quantity
from schedproof.oracle.resources import held, needed
from schedproof.stimulus.pods import pod_manifest
from schedproof.stimulus.variation import DEVICE, KINDS, NODE_LABELS, STORAGE, Variation, spellings
from schedproof.worlds.world import REQUIRED

CPU, MEMORY = st.integers(0, 8_000).map(lambda m: f"{m}m"), st.integers(0, 1 << 34).map(str)
BESIDE = {DEVICE: "3", STORAGE: "64Mi"}
"""So much as a pod asks for at most."""
OWNER = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "2"}
NODES = [
    {
        "metadata": {
            "name": name,
            "labels": {**NODE_LABELS, "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name},
        },
        "spec": {},
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "10", **BESIDE}},
    }
    for name, cpu, memory in (("small", "1", "1Gi"), ("large", "16", "32Gi"))
]


def _required(*terms: dict[str, Any]) -> dict[str, Any]:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {key: {"nodeSelectorTerms": list(terms)}}}}


LARGE = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["large"]}
SELECTORS: list[dict[str, Any]] = [
    {},
    {"nodeSelector": {"kubernetes.io/hostname": "large"}},
    _required({"matchExpressions": [LARGE]}),
    _required({"matchFields": [{**LARGE, "key": "metadata.name"}]}),
    _required({}),
    _required({}, {"matchExpressions": [{**LARGE, "operator": "NotIn"}]}),
]


def variation(
    seed: int,
    *,
    without: Collection[Subject] = (),
    offered: Collection[str] = tuple(BESIDE),
    about: str = "",
    left_out: Collection[str] = (),
    **how: bool,
) -> Variation:
    how = {"labelled": True, "real": False} | how
    source = random.Random(seed)
    return Variation(
        source, without=without, offered=lambda: offered, owner=lambda: OWNER, about=about, left_out=left_out, **how
    )


def plain(**spec: Any) -> dict[str, Any]:
    manifest = pod_manifest("pod", "mine", image="pause", **spec)
    manifest["metadata"]["uid"] = "1"
    manifest["metadata"]["namespace"] = "default"
    manifest["status"] = {}
    return manifest


def as_defaulted(pod: dict[str, Any]) -> dict[str, Any]:
    """With requests where there are limits alone, as the apiserver sets them."""
    pod = copy.deepcopy(pod)
    for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        resources = container["resources"]
        resources["requests"] = {**resources.get("limits", {}), **resources.get("requests", {})}
    return pod


def refusing(pod: dict[str, Any]) -> list[str]:
    return [node for node, reasons in check(pod, NODES, ()).items() if reasons]


AMOUNTS = st.fixed_dictionaries({}, optional={"cpu": CPU, "memory": MEMORY})


@given(st.integers(), AMOUNTS, st.sampled_from(SELECTORS))
@example(387430, {"cpu": "0m"}, {})  # which is spelled as it was
def test_it_needs_the_same_and_fits_the_same_nodes(
    seed: int, amounts: dict[str, str], selector: dict[str, Any]
) -> None:
    before = plain(**amounts, **selector)
    after = copy.deepcopy(before)
    told = variation(seed).vary(after)
    assert bool(told) == (after != before)
    after = as_defaulted(after)
    some = {name: amount for name, amount in needed(before).items() if amount}
    for amounts in (needed(after), held(after)):
        assert {name: amount for name, amount in amounts.items() if amount and name not in BESIDE} == some
    assert refusing(after) == refusing(before)


def kinds(**how: Any) -> set[str]:
    """The kinds of changes that some seed makes."""
    return {kind for seed in range(200) for kind in variation(seed, **how).vary(plain(cpu="2"))}


def test_every_kind_is_made_by_some_seed_and_none_that_is_excluded() -> None:
    assert kinds() == KINDS.keys()
    without = {Subject.NODE_AFFINITY, Subject.TOLERATIONS, Subject.NODE_SELECTOR}
    assert kinds(without=without) == KINDS.keys() - without
    devices = {"an extended resource"}
    assert kinds() - kinds(without=[Subject.EXTENDED_RESOURCES], offered={STORAGE, DEVICE}) == devices
    assert kinds() - kinds(offered=()) == {*devices, "ephemeral storage"}


def test_kinds_that_are_left_out_are_not_taken_also_if_they_are_found_later() -> None:
    left_out: set[str] = set()
    varied = variation(1, left_out=left_out)
    left_out |= {"node affinity", "limits"}
    assert {kind for _ in range(200) for kind in varied.vary(plain(cpu="2"))} == KINDS.keys() - left_out


def test_the_clause_about_a_kind_that_is_left_out_has_it_in_full_in_each_pod() -> None:
    left_out = ["a node selector", "limits"]
    varied = variation(1, left_out=left_out, about="core/node-selector")
    for _ in range(20):
        pod = plain(cpu="2")
        assert {"a node selector", "limits"} & varied.vary(pod).keys() == {"a node selector"}
        assert pod["spec"]["nodeSelector"] == dict(NODE_LABELS)


def test_in_full_neither_the_first_nor_the_last_term_decides() -> None:
    pod = plain(cpu="2")
    assert variation(1).vary_fully(pod, "node affinity")
    terms = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [selects_node(term, NODES[0]) for term in terms] == [False, True, False]


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_kind_by_itself_changes_the_pod_in_this_way_only(kind: str) -> None:
    before = plain(cpu="2")
    pod = copy.deepcopy(before)
    assert variation(1).vary_fully(pod, kind)
    others = [field for field in ("metadata", "spec") if pod[field] != before[field]]
    assert len(others) == 1
    assert refusing(as_defaulted(pod)) == refusing(before)


def test_a_kind_in_full_has_all_that_some_seed_adds() -> None:
    selected = plain()
    variation(1).vary_fully(selected, "a node selector")
    assert selected["spec"]["nodeSelector"] == dict(NODE_LABELS)
    operators = set(variation(1).vary_fully(plain(), "node affinity").split("(")[1].rstrip(")").split(", "))
    assert operators >= {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}


@pytest.mark.parametrize("seed", range(20))
def test_what_a_pod_asks_for_is_left_as_it_is(seed: int) -> None:
    asked = {DEVICE: "2", STORAGE: "1Gi"}
    pod = plain(extended=asked)
    variation(seed).vary(pod)
    requests = [one["resources"]["requests"] for one in pod["spec"]["containers"]]
    assert {name: amount for one in requests for name, amount in one.items() if name in asked} == asked


@pytest.mark.parametrize("seed", range(50))
def test_where_kubelets_run_pods_there_are_few_containers_that_can_run(seed: int) -> None:
    pod = plain(cpu="100m", memory="100Mi")
    variation(seed, real=True).vary(pod)
    assert len(pod["spec"]["containers"]) <= 2
    assert "initContainers" not in pod["spec"]
    limits = [one["resources"].get("limits", {}) for one in pod["spec"]["containers"]]
    assert all(parse_quantity(one["cpu"]) >= Fraction(1, 100) for one in limits if "cpu" in one)
    assert all(parse_quantity(one["memory"]) >= 32 << 20 for one in limits if "memory" in one)


@given(st.sampled_from(["cpu", "memory"]), st.fractions(0, 1 << 40, max_denominator=1000))
def test_every_spelling_is_the_same_amount(name: str, amount: Fraction) -> None:
    exact = parse_quantity(str(float(amount))) if name == "cpu" else Fraction(int(amount))
    for text in spellings(name, exact):
        assert parse_quantity(text) == exact, text


def test_amounts_are_spelled_in_many_ways() -> None:
    assert {"2", "2000m", "2000e-3", "2000000u", "2.0"} <= set(spellings("cpu", Fraction(2)))
    assert {"3000000000", "3G", "3000M", "3000E6", "3000000k"} <= set(spellings("memory", Fraction(3 * 10**9)))
    assert {"2Gi", "2048Mi"} <= set(spellings("memory", Fraction(2 << 30)))
