"""The template of a controller, the tutorial and the oracle agree on nodes, apart from what the two leave out."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from kubernetes import client

from schedproof.foundation.content import content
from schedproof.oracle.feasibility import check

from .loading import load
from .reference_controller.test_against_oracle import worlds
from .test_templates import functions

Manifest = dict[str, Any]
template = load(content("fixtures", "templates", "controller"))
tutorial = functions("14-without-readings")
tutorial["CORDON"] = client.V1Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
read = client.ApiClient()._ApiClient__deserialize


def supported(manifest: Manifest) -> Manifest:
    """A pod without affinity to pods, topology spread, and resizes."""
    manifest = copy.deepcopy(manifest)
    spec, status = manifest["spec"], manifest["status"]
    manifest["status"] = {"phase": status["phase"]}
    spec["affinity"] = {kind: terms for kind, terms in spec["affinity"].items() if kind == "nodeAffinity"}
    spec["topologySpreadConstraints"] = []
    return manifest


@settings(database=None, deadline=None)
@given(worlds())
def test_the_template_and_the_oracle_agree_on_every_node(
    case: tuple[Manifest, list[Manifest], list[Manifest]],
) -> None:
    probe, there, others = supported(case[0]), case[1], [supported(other) for other in case[2]]
    placed = [template.world.Pod(other) for other in others]
    expected = check(probe, there, others)
    found = {
        node["metadata"]["name"]: template.rules.objection(
            template.world.Pod(probe),
            node,
            [pod for pod in placed if pod.node == node["metadata"]["name"] and not pod.finished],
        )
        for node in there
    }
    assert {name: not why for name, why in expected.items()} == {name: not why for name, why in found.items()}, found


@settings(database=None, deadline=None, max_examples=50)
@given(worlds())
def test_the_tutorial_and_the_oracle_agree_on_every_node(
    case: tuple[Manifest, list[Manifest], list[Manifest]],
) -> None:
    probe, there, others = served(case[0]), case[1], [served(other) for other in case[2]]
    pods = [read(other, "V1Pod") for other in others]
    expected = check(probe, there, others)
    found = {
        node["metadata"]["name"]: tutorial["may_run"](read(probe, "V1Pod"), read(node, "V1Node"), pods)
        for node in there
    }
    assert {name: not why for name, why in expected.items()} == found, expected


def served(manifest: Manifest) -> Manifest:
    """A pod as the apiserver serves it, with the default of a port's protocol; without requests of the whole pod."""
    manifest = supported(manifest)
    manifest["spec"].pop("resources", None)
    for container in (*manifest["spec"]["containers"], *manifest["spec"]["initContainers"]):
        for port in container.get("ports", ()):
            port.setdefault("protocol", "TCP")
    return manifest
