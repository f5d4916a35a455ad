"""Features that a pod uses and that a node must have declared (NodeDeclaredFeatures, KEP-5328).

Which fields need which feature: k8s.io/component-helpers/nodedeclaredfeatures/features, InferForScheduling.
"""

from __future__ import annotations

from collections.abc import Iterator

from schedproof.oracle.manifest import Manifest, containers, init_containers, status

_RESTART_ALL = "RestartAllContainersOnContainerExits"


def undeclared(pod: Manifest, node: Manifest) -> Iterator[str]:
    """Why the features that a pod uses exclude a node."""
    declared = status(node).get("declaredFeatures") or ()
    return (f"does not declare the feature {feature}" for feature in _used(pod) if feature not in declared)


def _used(pod: Manifest) -> Iterator[str]:
    rules = (
        rule
        for container in (*containers(pod), *init_containers(pod))
        for rule in container.get("restartPolicyRules") or ()
    )
    if any(rule.get("action") == "RestartAllContainers" for rule in rules):
        yield _RESTART_ALL
