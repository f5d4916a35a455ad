"""The template of a controller and the oracle must agree on nodes, apart from what the template's README leaves out."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings

from schedproof.foundation.content import content
from schedproof.oracle.feasibility import check

from .loading import load
from .reference_controller.test_against_oracle import worlds

Manifest = dict[str, Any]
template = load(content("fixtures", "templates", "controller"))


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
