"""What a scheduler needs around it: on pods and nodes, and taken back from them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from schedproof.candidate.kinds import ControllerSpec, WorldSpec
from schedproof.clusters.api import NotFound
from schedproof.stimulus.surroundings import Surroundings
from schedproof.stimulus.variation import DEVICE, NODE_LABELS, STORAGE


class PlayedApi:
    """Nodes as merge patches leave them."""

    def __init__(self, *nodes: str) -> None:
        self.nodes: dict[str, dict[str, Any]] = {name: {"metadata": {}, "status": {}} for name in nodes}
        self.revision = 0

    def list(self, _resource: str) -> dict[str, Any]:
        return {"items": [{**node, "metadata": {"name": name}} for name, node in self.nodes.items()]}

    def merge(self, _resource: str, name: str, patch: dict[str, Any], **_: str) -> dict[str, Any]:
        if name not in self.nodes:
            raise NotFound("PATCH", name, 404, b"{}")
        for part, fields in patch.items():
            for field, values in fields.items():
                kept = {**self.nodes[name][part].get(field, {}), **values}
                self.nodes[name][part][field] = {key: value for key, value in kept.items() if value is not None}
        self.revision += 1
        return {"metadata": {"resourceVersion": str(self.revision)}}


def surroundings(api: PlayedApi, world: WorldSpec, *capabilities: str) -> Surroundings:
    cluster: Any = SimpleNamespace(api=api, name="embedded", capabilities=frozenset(capabilities), nodes=[*api.nodes])
    candidate: Any = SimpleNamespace(world=world, spec=ControllerSpec(command=("a",), workdir=None))  # type: ignore[arg-type]
    return Surroundings(cluster, candidate)


WORLD = WorldSpec(
    node_labels={"zone": "a"}, node_annotations={"note": "b"}, node_resources={"example.com/gpu": "8"},
    pod={
        "metadata": {"labels": {"queue": "main", "app": "none"}},
        "spec": {
            "priorityClassName": "low",
            "tolerations": [{"key": "gpu"}],
            "containers": [{"resources": {"limits": {"example.com/gpu": "1", "cpu": "5"}}}],
        },
    },
)  # fmt: skip


def test_nodes_have_it_and_give_it_back() -> None:
    api = PlayedApi("one", "two")
    around = surroundings(api, WORLD, "change-nodes")
    assert set(around.dress_nodes(["one", "two"])) == {"one", "two"}
    assert api.nodes["one"]["metadata"] == {"labels": {"zone": "a", **NODE_LABELS}, "annotations": {"note": "b"}}
    assert api.nodes["two"]["status"]["allocatable"].items() >= {"example.com/gpu": "8"}.items()
    del api.nodes["two"]
    around.remove()
    assert api.nodes["one"] == {
        "metadata": {"labels": {}, "annotations": {}}, "status": {"capacity": {}, "allocatable": {}},
    }  # fmt: skip


def test_nodes_stay_as_they_are_where_they_may_not_be_changed() -> None:
    api = PlayedApi("one")
    assert surroundings(api, WORLD).dress_nodes(["one"]) == {}
    assert api.nodes["one"] == {"metadata": {}, "status": {}}


def test_nodes_bear_what_varied_pods_ask_for() -> None:
    api = PlayedApi("one")
    around = surroundings(api, WorldSpec(), "change-nodes")
    around.dress_nodes(["one"])
    assert around.changes_nodes
    assert api.nodes["one"]["metadata"] == {"labels": dict(NODE_LABELS), "annotations": {}}
    assert int(api.nodes["one"]["status"]["allocatable"][DEVICE]) >= 1000


def test_varied_pods_ask_for_what_all_nodes_offer_enough_of() -> None:
    api = PlayedApi("one", "two")
    around = surroundings(api, WorldSpec(), "change-nodes")
    around.dress_nodes(["one", "two"])
    assert api.nodes["one"]["status"]["allocatable"] != api.nodes["two"]["status"]["allocatable"]
    assert around.beside == {DEVICE}
    for name, storage in (("one", "50Gi"), ("two", "100Gi")):
        api.nodes[name]["status"]["allocatable"][STORAGE] = storage
    around = surroundings(api, WorldSpec(), "change-nodes")
    assert around.beside == {DEVICE, STORAGE}
    assert surroundings(api, WorldSpec()).beside == set()


def test_a_pod_s_own_fields_come_first() -> None:
    pod: dict[str, Any] = {
        "metadata": {"name": "a", "labels": {"app": "test"}},
        "spec": {
            "priorityClassName": "high",
            "tolerations": [{"key": "own"}],
            "containers": [{"name": "one", "resources": {"limits": {"cpu": "1"}}}, {"name": "two"}],
        },
    }
    surroundings(PlayedApi(), WORLD).dress_pod(pod)
    assert pod["metadata"] == {"name": "a", "labels": {"queue": "main", "app": "test"}}
    assert pod["spec"]["priorityClassName"] == "high"
    assert pod["spec"]["tolerations"] == [{"key": "gpu"}, {"key": "own"}]
    one, two = pod["spec"]["containers"]
    assert one == {"name": "one", "resources": {"limits": {"example.com/gpu": "1", "cpu": "1"}}}
    assert two == {"name": "two", "resources": {"limits": {"example.com/gpu": "1", "cpu": "5"}}}


def test_the_template_is_no_pod_s_own() -> None:
    around, pods = surroundings(PlayedApi(), WORLD), []
    for name in ("a", "b"):
        pod: dict[str, Any] = {"metadata": {"name": name}, "spec": {"containers": [{"name": "one"}]}}
        around.dress_pod(pod)
        pod["metadata"]["labels"]["app"] = name
        pod["spec"]["tolerations"].append(name)
        pods.append(pod)
    assert [pod["metadata"]["labels"]["app"] for pod in pods] == ["a", "b"]
    assert pods[1]["spec"]["tolerations"] == [{"key": "gpu"}, "b"]
