"""Objects of a cluster: applied in order, awaited, and only those that were created are removed."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.clusters.api import ApiError, NotFound
from schedproof.clusters.objects import AppliedObjects
from schedproof.foundation.errors import UsageError

CRDS = "apiextensions.k8s.io/v1"
QUEUES = "batch.example.com/v1"


class PlayedApi:
    """An apiserver with ConfigMaps and definitions, which serves a defined kind from the third request for it."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.discoveries = 0
        self.removed: list[str] = []

    def discovered(self, version: str) -> list[dict[str, Any]]:
        crds = [path for path in self.objects if "customresourcedefinitions" in path]
        self.discoveries += bool(crds) and version == QUEUES
        if version == QUEUES and self.discoveries > 2:
            return [{"name": "queues/status", "kind": "Queue", "namespaced": True}, _kind("queues", "Queue")]
        if version == CRDS:
            return [_kind("customresourcedefinitions", "CustomResourceDefinition", namespaced=False)]
        if version == "v1":
            return [_kind("configmaps", "ConfigMap")]
        raise NotFound("GET", version, 404, b"{}")

    def object_path(self, version: str, resource: str, namespace: str, name: str) -> str:
        return "/".join(filter(None, (version, resource, namespace, name))).replace("/cust", "//cust")

    def read(self, path: str) -> dict[str, Any]:
        if path not in self.objects:
            raise NotFound("GET", path, 404, b"{}")
        # A definition's conditions are null for a moment.
        states: list[Any] = [{"status": {"conditions": None}}, {"status": {"conditions": _established("False")}}]
        self.objects[path] += 1
        return (states + [{"status": {"conditions": _established("True")}}] * 99)[self.objects[path] - 1]

    def apply(self, path: str, manifest: dict[str, Any]) -> None:
        if manifest["metadata"]["name"] == "refused":
            raise ApiError("PATCH", path, 422, b'{"message": "spec.x: unknown"}')
        self.objects.setdefault(path, 0)

    def remove(self, path: str) -> None:
        self.removed.append(path)
        if self.objects.pop(path, None) is None:
            raise NotFound("DELETE", path, 404, b"{}")


def _kind(name: str, kind: str, *, namespaced: bool = True) -> dict[str, Any]:
    return {"name": name, "kind": kind, "namespaced": namespaced}


def _established(status: str) -> list[dict[str, str]]:
    return [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": status}]


def manifest(version: str, kind: str, name: str, **metadata: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}


DEFINITION = manifest(CRDS, "CustomResourceDefinition", "queues.batch.example.com")
QUEUE = manifest(QUEUES, "Queue", "main")


@pytest.fixture
def api() -> PlayedApi:
    return PlayedApi()


def applied(api: Any, *, mine: bool = True) -> AppliedObjects:
    return AppliedObjects(api, mine=mine)


def test_a_definition_is_established_before_objects_of_its_kind_are_applied(api: PlayedApi) -> None:
    objects = applied(api)
    objects.apply([DEFINITION, QUEUE, manifest(QUEUES, "Queue", "b", namespace="other")], "here", source="it.yaml")
    paths = [f"{CRDS}//customresourcedefinitions/queues.batch.example.com", f"{QUEUES}/queues/here/main",
             f"{QUEUES}/queues/other/b"]  # fmt: skip
    assert [*api.objects] == paths
    objects.remove()
    objects.remove()
    assert api.removed == paths[::-1]
    assert not api.objects


def test_an_object_that_already_exists_is_not_removed(api: PlayedApi) -> None:
    api.objects["v1/configmaps/here/old"] = 0
    objects = applied(api)
    objects.apply([manifest("v1", "ConfigMap", "old"), manifest("v1", "ConfigMap", "new")], "here", source="it.yaml")
    objects.remove()
    assert api.removed == ["v1/configmaps/here/new"]


def test_in_an_existing_cluster_an_object_that_already_exists_is_refused(api: PlayedApi) -> None:
    api.objects["v1/configmaps/here/old"] = 0
    with pytest.raises(UsageError, match=r"it\.yaml: this cluster already has a ConfigMap old"):
        applied(api, mine=False).apply([manifest("v1", "ConfigMap", "old")], "here", source="it.yaml")


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [(QUEUE, "serves no Queue"), (manifest("v1", "Queue", "a"), "serves no Queue"),
     (manifest("v1", "ConfigMap", "refused"), "spec.x: unknown")],
)  # fmt: skip
def test_an_object_that_cannot_be_applied_is_named_with_its_file(
    api: PlayedApi, wrong: dict[str, Any], expected: str
) -> None:
    with pytest.raises(UsageError, match=r"it\.yaml") as caught:
        applied(api).apply([wrong], "here", source="it.yaml")
    assert expected in caught.value.message
    assert caught.value.remedy
