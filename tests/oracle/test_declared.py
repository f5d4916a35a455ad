"""Features that a pod uses and that a node must have declared."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.oracle.feasibility import check

FEATURE = "RestartAllContainersOnContainerExits"


def node(*features: str) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "status": {"allocatable": {"pods": "9"}, "declaredFeatures": list(features)}}


def pod(kind: str, action: str) -> dict[str, Any]:
    container = {"name": "m", "restartPolicy": "Never", "restartPolicyRules": [{"action": action}]}
    return {"metadata": {"name": "p", "namespace": "n", "uid": "p"}, "spec": {"containers": [], kind: [container]}}


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_rule_that_restarts_all_containers_needs_a_node_that_declares_the_feature(kind: str) -> None:
    def reasons(asked: dict[str, Any], *features: str) -> list[str]:
        return [reason.rule for reason in check(asked, [node(*features)], ())["a"]]

    assert reasons(pod(kind, "RestartAllContainers")) == ["declared-features"]
    assert reasons(pod(kind, "RestartAllContainers"), "Another") == ["declared-features"]
    assert reasons(pod(kind, "RestartAllContainers"), "Another", FEATURE) == []
    assert reasons(pod(kind, "Restart")) == []
