"""Taints, tolerations and cordons."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.taints import repulsions, tolerates

GPU = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
BARE = {"key": "dedicated", "effect": "NoExecute"}
CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("toleration", "taint", "covered"),
    [
        ({"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}, GPU, True),
        ({"key": "dedicated", "value": "gpu"}, GPU, True),  # Equal is the default, no effect means every effect
        ({"key": "dedicated", "operator": "", "value": "gpu", "effect": ""}, GPU, True),
        ({"key": "dedicated", "value": "cpu"}, GPU, False),
        ({"key": "dedicated"}, GPU, False),  # Equal to the empty value
        ({"key": "dedicated"}, BARE, True),
        ({"key": "other", "value": "gpu"}, GPU, False),
        ({"key": "dedicated", "value": "gpu", "effect": "NoExecute"}, GPU, False),
        ({"key": "dedicated", "operator": "Exists"}, GPU, True),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}, GPU, True),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}, BARE, False),
        ({"key": "other", "operator": "Exists"}, GPU, False),
        ({"operator": "Exists"}, GPU, True),
        ({"operator": "Exists", "effect": "NoExecute"}, GPU, False),
        ({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}, BARE, True),
    ],
)
def test_toleration_matches_key_operator_value_and_effect(
    toleration: dict[str, Any], taint: dict[str, str], covered: bool
) -> None:
    """Key, operator, value and effect, each with its default."""
    assert tolerates(toleration, taint) is covered


@pytest.mark.parametrize("operator", ["Lt", "Gt"])
def test_numeric_operators_tolerate_nothing(operator: str) -> None:
    """Their gate, TaintTolerationComparisonOperators, is off in 1.36."""
    taint = {"key": "failure-rate", "value": "5", "effect": "NoSchedule"}
    for value in ("4", "5", "6"):
        assert not tolerates({"key": "failure-rate", "operator": operator, "value": value}, taint)


def pod(*tolerations: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"tolerations": list(tolerations)}}


def node(*taints: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "n"}, "spec": {"taints": list(taints), **spec}}


def test_each_untolerated_taint_is_a_reason() -> None:
    """With key, value and effect, as kubectl writes them."""
    assert repulsions(pod(), node(GPU, BARE)) == (
        "taint dedicated=gpu:NoSchedule is not tolerated",
        "taint dedicated:NoExecute is not tolerated",
    )
    assert repulsions(pod({"key": "dedicated"}), node(GPU, BARE)) == (
        "taint dedicated=gpu:NoSchedule is not tolerated",
    )


def test_each_of_two_taints_with_the_same_key_must_be_tolerated() -> None:
    """The taints differ by effect; their values may be equal."""
    by_effect = {"key": "dedicated", "operator": "Exists"}
    for value in ("gpu", "cpu"):
        second = {**GPU, "value": value, "effect": "NoExecute"}
        for taints in ((GPU, second), (second, GPU)):
            for effect in ("NoSchedule", "NoExecute"):
                assert len(repulsions(pod({**by_effect, "effect": effect}), node(*taints))) == 1
            assert repulsions(pod(by_effect), node(*taints)) == ()
    assert len(repulsions(pod({"key": "dedicated", "value": "gpu"}), node(GPU, {**GPU, "effect": "NoExecute"}))) == 0
    assert len(repulsions(pod({"key": "dedicated", "value": "gpu"}), node(GPU, BARE))) == 1


def test_prefer_no_schedule_repels_no_pod() -> None:
    """The taint only lowers the node's score."""
    assert repulsions(pod(), node({"key": "dedicated", "effect": "PreferNoSchedule"})) == ()


def test_cordon_repels_pods_before_its_taint_is_added() -> None:
    """spec.unschedulable suffices; the taint of the node controller is another reason."""
    taint = {"key": CORDON, "effect": "NoSchedule"}
    assert repulsions(pod(), node(unschedulable=True)) == ("cordoned: spec.unschedulable is set",)
    assert repulsions(pod(), node(unschedulable=False)) == ()
    assert repulsions(pod(), node(taint, unschedulable=True)) == (
        "cordoned: spec.unschedulable is set",
        f"taint {CORDON}:NoSchedule is not tolerated",
    )


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        ({"key": CORDON, "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": CORDON}, True),
        ({"operator": "Exists"}, True),
        ({"key": CORDON, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": CORDON, "operator": "Equal", "value": "true"}, False),
    ],
)
def test_cordon_is_tolerated_like_its_taint(toleration: dict[str, str], covered: bool) -> None:
    """node.kubernetes.io/unschedulable:NoSchedule, without a value."""
    assert (repulsions(pod(toleration), node(unschedulable=True)) == ()) is covered


@pytest.mark.parametrize("empty", [{}, {"spec": None}, {"spec": {"taints": None, "tolerations": None}}])
def test_manifests_without_taints_and_tolerations_have_no_reason(empty: dict[str, Any]) -> None:
    """Optional fields may be missing or null in pod and node."""
    assert repulsions({"metadata": {"name": "p"}, **empty}, {"metadata": {"name": "n"}, **empty}) == ()
