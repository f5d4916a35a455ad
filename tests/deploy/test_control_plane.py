"""The control plane's scheduler is replaced and restored, also after a kill. The kubelet is simulated."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.deploy.control_plane import restore_scheduler
from schedproof.deploy.manifests import COMPONENT_LABEL, NODE_FILE

OURS = {"metadata": {"name": "kube-scheduler-n", "labels": {COMPONENT_LABEL: "p"}}}
THEIRS = {"metadata": {"name": "kube-scheduler-n"}, "status": {"containerStatuses": [{"ready": True}]}}


class Node:
    """A control plane's node with its kubelet: pods follow manifests, one look late."""

    def __init__(self, manifests: dict[str, str]) -> None:
        self.manifests = manifests
        self.files = {NODE_FILE: "{}"}
        self.pods: list[dict[str, Any]] = [OURS]
        self.log: list[str] = []

    def read(self, name: str) -> str:
        return self.manifests.get(name, "")

    def write(self, name: str, manifest: str) -> None:
        self.log.append(f"write {name}")
        self.manifests[name] = manifest

    def remove(self, name: str) -> None:
        self.log.append(f"remove {name}")
        del self.manifests[name]

    def delete(self, path: str) -> None:
        self.log.append(f"delete {path}")
        self.files.pop(path, None)

    def list(self, resource: str, namespace: str, *, labelSelector: str) -> dict[str, Any]:  # noqa: N803 - the API's
        assert (resource, namespace) == ("pods", "kube-system")
        ours = labelSelector == COMPONENT_LABEL
        found = [pod for pod in self.pods if (COMPONENT_LABEL in pod["metadata"].get("labels", {})) is ours]
        if self.manifests.get("kube-scheduler") == "original":
            self.pods = [THEIRS]
        return {"items": found}


@pytest.mark.parametrize("left", [{"kube-scheduler": "ours"}, {}], ids=["exchanged", "halted"])
def test_the_original_manifest_is_restored_before_its_backup_is_removed(left: dict[str, str]) -> None:
    node = Node({**left, ".schedproof-kube-scheduler": "original"})
    restore_scheduler(node, node)  # type: ignore[arg-type]
    assert node.manifests == {"kube-scheduler": "original"}
    assert not node.files
    assert node.pods == [THEIRS]
    assert node.log[0] == "write kube-scheduler"
    assert node.log[-1] == "remove .schedproof-kube-scheduler", (
        "a run that is killed before that leaves what restores it"
    )


def test_without_a_backup_nothing_is_changed() -> None:
    node = Node({"kube-scheduler": "original"})
    restore_scheduler(node, node)  # type: ignore[arg-type]
    assert node.log == []
