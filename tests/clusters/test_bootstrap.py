"""The identities that the harness creates, and their rights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedproof.clusters import bootstrap
from schedproof.clusters.cluster import NamespacedRules, Rbac

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


class Kept:
    """Keeps what would be created."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any], str]] = []

    def create_or_keep(self, resource: str, manifest: dict[str, Any], namespace: str = "") -> None:
        self.made.append((resource, manifest, namespace))

    def token(self, _namespace: str, _name: str) -> str:
        return "token"


def test_rules_for_a_namespace_are_bound_in_that_namespace_only(tmp_path: Path) -> None:
    api: Any = Kept()
    roles = (NamespacedRules("kube-system", (RULE,)), NamespacedRules("other", (RULE,)))
    bootstrap.identity(api, "demo", Rbac(roles=roles), directory=tmp_path, server="https://a", ca=None)

    bound = [(manifest, namespace) for resource, manifest, namespace in api.made if resource == "rolebindings"]
    made = [manifest for resource, manifest, _ in api.made if resource == "clusterroles"]
    rules = {role["metadata"]["name"]: role["rules"] for role in made}
    assert [namespace for _, namespace in bound] == ["kube-system", "other"]
    assert [rules[manifest["roleRef"]["name"]] for manifest, _ in bound] == [[RULE], [RULE]]
    assert {manifest["roleRef"]["kind"] for manifest, _ in bound} == {"ClusterRole"}
    assert not [resource for resource, _, _ in api.made if resource == "clusterrolebindings"]
