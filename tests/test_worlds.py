"""Worlds at random: what the apiserver takes, that they are the same by one seed, and that both outcomes occur."""

from __future__ import annotations

import random
from typing import Any

import pytest

from schedproof.oracle.feasibility import check
from schedproof.stimulus.pods import pod_manifest
from schedproof.stimulus.worlds import POOL, Worlds

NAMES = [f"node-{number}" for number in range(4)]


def drawn(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes, pods that are particular about them, and pods that ask for resources."""
    worlds = Worlds(random.Random(seed))
    nodes = list(worlds.nodes(len(NAMES)))
    return nodes, [worlds.particular(NAMES) for _ in range(36)], [worlds.demanding("image") for _ in range(24)]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["containers"], *pod.get("initContainers", ())]


@pytest.mark.parametrize("seed", range(20))
def test_pods_fit_somewhere_and_nowhere(seed: int) -> None:
    nodes, particular, _ = drawn(seed)
    assert drawn(seed) == (nodes, particular, drawn(seed)[2])
    manifests = [
        {
            "metadata": {"name": name, "labels": node["labels"]}, "spec": {"taints": node["taints"]},
            "status": {"allocatable": {"pods": "110"}},
        }
        for name, node in zip(NAMES, nodes, strict=True)
    ]  # fmt: skip
    pods = [pod_manifest(f"p-{number}", "any", image="image", **spec) for number, spec in enumerate(particular)]
    fitting = [pod for pod in pods if not all(check(pod, manifests, ()).values())]
    assert 4 <= len(fitting) <= len(pods) - 4
    # Pods keep to the pool, whichever way they say so.
    outside = {**manifests[0], "metadata": {"name": NAMES[0], "labels": {"kubernetes.io/hostname": NAMES[0]}}}
    assert all(check(pod, [{**outside, "spec": {}}], ())[NAMES[0]] for pod in pods)
    assert all(node["labels"].items() >= POOL.items() for node in nodes)


@pytest.mark.parametrize("seed", range(20))
def test_no_pod_opens_a_port_of_its_node_twice(seed: int) -> None:
    """The apiserver refuses it."""
    for pod in drawn(seed)[2]:
        ports = [(port["hostPort"], port["protocol"]) for one in containers(pod) for port in one.get("ports", ())]
        assert len(ports) == len(set(ports))


@pytest.mark.parametrize("seed", range(20))
def test_what_cannot_be_overcommitted_has_its_limit(seed: int) -> None:
    for one in (one for pod in drawn(seed)[2] for one in containers(pod)):
        asked = {**one["resources"]["limits"], **one["resources"]["requests"]}
        assert {name for name in asked if "/" in name} <= one["resources"]["limits"].keys()
