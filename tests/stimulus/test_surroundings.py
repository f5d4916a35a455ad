"""What a scheduler needs around it: on pods and nodes, and taken back from them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.kinds import ControllerSpec
from schedproof.candidate.points import PartOfMetadata
from schedproof.candidate.surroundings import NamespaceSurroundings, NodeSurroundings, PodSurroundings, WorldSpec
from schedproof.clusters.api import Api
from schedproof.clusters.spec import NodeSpec
from schedproof.foundation.errors import UsageError
from schedproof.stimulus.surroundings import Surroundings
from schedproof.stimulus.variation import DEVICE, NODE_LABELS, STORAGE

from ..fake_apiserver.storing import Storing


@pytest.fixture
def server() -> Iterator[Storing]:
    with contextlib.closing(Storing()) as server:
        yield server


def surroundings(server: Storing, world: WorldSpec, *capabilities: str, name: str = "embedded") -> Surroundings:
    cluster: Any = SimpleNamespace(
        api=Api(server.url, None), name=name, capabilities=frozenset(capabilities), nodes=server.names("nodes")
    )
    candidate: Any = SimpleNamespace(world=world, spec=ControllerSpec(command=("a",), workdir=None))  # type: ignore[arg-type]
    return Surroundings(cluster, candidate)


def add(server: Storing, *nodes: str) -> None:
    for node in nodes:
        server.store("nodes", {"metadata": {"name": node}, "status": {}})


def labels(server: Storing, node: str) -> Any:
    return server.read("nodes", node)["metadata"]["labels"]


def offers(server: Storing, node: str) -> Any:
    return server.read("nodes", node)["status"]["allocatable"]


WORLD = WorldSpec(
    NodeSurroundings({"zone": "a"}, {"note": "b"}, {"example.com/gpu": "8"}),
    PodSurroundings(
        PartOfMetadata({"queue": "main", "app": "none"}),
        {
            "priorityClassName": "low",
            "tolerations": [{"key": "gpu"}],
            "containers": [{"resources": {"limits": {"example.com/gpu": "1", "cpu": "5"}}}],
        },
    ),
)  # fmt: skip


def test_nodes_have_it_and_give_it_back(server: Storing) -> None:
    add(server, "one", "two")
    own = {"labels": {"own": "1"}, "annotations": {"own": "2"}}
    server.patch("nodes", "one", {"metadata": own, "status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}}})
    before = server.snapshot()
    around = surroundings(server, WORLD, "change-nodes")
    revisions = around.equip_nodes(["one", "two"])
    for node, revision in revisions.items():
        assert int(server.read("nodes", node)["metadata"]["resourceVersion"]) == revision, "as it then is"
    assert labels(server, "one") == {"own": "1", "zone": "a", **NODE_LABELS}
    assert server.read("nodes", "one")["metadata"]["annotations"] == {"own": "2", "note": "b"}
    assert offers(server, "two").items() >= {"example.com/gpu": "8"}.items()
    server.delete("nodes", "two")
    around.remove()
    assert server.snapshot() == {key: found for key, found in before.items() if "two" not in key}


def test_nodes_stay_as_they_are_where_they_may_not_be_changed(server: Storing) -> None:
    add(server, "one")
    before = server.snapshot()
    around = surroundings(server, WORLD)
    assert around.equip_nodes(["one"]) == {}
    around.remove()
    assert server.snapshot() == before


def test_a_node_that_is_to_join_has_it_from_the_start(server: Storing) -> None:
    spec = surroundings(server, WORLD, "change-nodes").equipped(NodeSpec("new", {"cpu": "8"}, {"own": "1"}))
    add(server, "new")
    surroundings(server, WORLD, "change-nodes").equip_nodes(["new"])
    assert (spec.labels, spec.annotations) == ({"own": "1", **labels(server, "new")}, {"note": "b"})
    assert spec.capacity == {"cpu": "8", **offers(server, "new")}


def test_nodes_bear_what_varied_pods_ask_for(server: Storing) -> None:
    add(server, "one")
    around = surroundings(server, WorldSpec(), "change-nodes")
    around.equip_nodes(["one"])
    assert around.changes_nodes
    assert labels(server, "one") == dict(NODE_LABELS)
    assert int(offers(server, "one")[DEVICE]) >= 1000


def test_varied_pods_ask_for_what_all_nodes_offer_enough_of(server: Storing) -> None:
    add(server, "one", "two")
    around = surroundings(server, WorldSpec(), "change-nodes")
    around.equip_nodes(["one", "two"])
    assert offers(server, "one") != offers(server, "two")
    assert around.beside == {DEVICE}
    for name, storage in (("one", "50Gi"), ("two", "100Gi")):
        server.patch("nodes", name, {"status": {"allocatable": {STORAGE: storage}}})
    around = surroundings(server, WorldSpec(), "change-nodes")
    assert around.beside == {DEVICE, STORAGE}
    assert surroundings(server, WorldSpec()).beside == set()


NAMESPACE = {"labels": {"team": "a"}, "annotations": {"quota": "b"}}


def test_a_namespace_can_have_pods_at_once_and_what_they_need(server: Storing, tmp_path: Path) -> None:
    queue = tmp_path / "queue.yaml"
    queue.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: queue}, data: {a: b}}")
    server.kinds["v1"] = [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]
    spec = WorldSpec(namespace=NamespaceSurroundings(NAMESPACE["labels"], NAMESPACE["annotations"], (queue,)))
    around = surroundings(server, spec)
    around.namespace("sp-tested")
    around.namespace("sp-tested")
    beside = around.namespace_beside("sp-tested", "other")
    assert beside == "sp-tested-other"
    for name in ("sp-tested", beside):
        found = server.read("namespaces", name)["metadata"]
        assert found["labels"].items() >= NAMESPACE["labels"].items()
        assert found["annotations"] == NAMESPACE["annotations"]
        server.read("serviceaccounts", "default", name)
        assert server.read("configmaps", "queue", name)["data"] == {"a": "b"}
    around.remove()
    assert server.names("configmaps") == []


def test_in_a_cluster_of_others_what_is_there_is_not_touched(server: Storing, tmp_path: Path) -> None:
    queue = tmp_path / "queue.yaml"
    queue.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: queue}, data: {a: b}}")
    server.kinds["v1"] = [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}]
    server.store("configmaps", {"metadata": {"name": "queue"}, "data": {"own": "1"}}, "sp-tested")
    around = surroundings(server, WorldSpec(namespace=NamespaceSurroundings(objects=(queue,))), "foreign-objects")
    with pytest.raises(UsageError, match="ConfigMap queue"):
        around.namespace("sp-tested")
    around.remove()
    assert server.read("configmaps", "queue", "sp-tested")["data"] == {"own": "1"}


def test_the_names_of_namespaces_are_not_too_long(server: Storing) -> None:
    assert len(surroundings(server, WorldSpec()).namespace_beside("n" * 63, "fillers")) <= 63


def test_a_pod_s_own_fields_come_first(server: Storing) -> None:
    pod: dict[str, Any] = {
        "metadata": {"name": "a", "labels": {"app": "test"}},
        "spec": {
            "priorityClassName": "high",
            "tolerations": [{"key": "own"}],
            "containers": [{"name": "one", "resources": {"limits": {"cpu": "1"}}}, {"name": "two"}],
        },
    }
    surroundings(server, WORLD).dress_pod(pod)
    assert pod["metadata"] == {"name": "a", "labels": {"queue": "main", "app": "test"}}
    assert pod["spec"]["priorityClassName"] == "high"
    assert pod["spec"]["tolerations"] == [{"key": "gpu"}, {"key": "own"}]
    one, two = pod["spec"]["containers"]
    assert one == {"name": "one", "resources": {"limits": {"example.com/gpu": "1", "cpu": "1"}}}
    assert two == {"name": "two", "resources": {"limits": {"example.com/gpu": "1", "cpu": "5"}}}


def test_the_template_is_no_pod_s_own(server: Storing) -> None:
    around, pods = surroundings(server, WORLD), []
    for name in ("a", "b"):
        pod: dict[str, Any] = {"metadata": {"name": name}, "spec": {"containers": [{"name": "one"}]}}
        around.dress_pod(pod)
        pod["metadata"]["labels"]["app"] = name
        pod["spec"]["tolerations"].append(name)
        pods.append(pod)
    assert [pod["metadata"]["labels"]["app"] for pod in pods] == ["a", "b"]
    assert pods[1]["spec"]["tolerations"] == [{"key": "gpu"}, "b"]
