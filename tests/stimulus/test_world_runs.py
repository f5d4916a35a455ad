"""How the pods of a world are tried: what is created in it, what is taken for wrong, and that nothing is left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from schedproof.history.acts import Expect, PodCreated
from schedproof.oracle.feasibility import check
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.pods import FILLER, Pod
from schedproof.stimulus.worlds import runs as runs_module
from schedproof.stimulus.worlds.runs import WorldRuns
from schedproof.worlds.search import Wrong
from schedproof.worlds.world import NODES, POOL
from schedproof.worlds.world import World as Steps

from .world import CLAUSE, NAMESPACE, PREFIX, World

FIRST, SECOND = NODES[:2]
TAINT = {"key": "a", "effect": "NoSchedule"}


def pod(name: str, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    containers = [{"resources": {"requests": {"cpu": cpu}}}]
    return {"name": name, "spec": {"containers": containers, "nodeSelector": POOL, **spec}}


def steps(*what: dict[str, Any], nodes: tuple[dict[str, Any], ...] = ({"name": FIRST},)) -> Steps:
    return Steps(nodes, what)


class Runs:
    """A world without worlds, a candidate that schedules by the oracle, and runs there."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nodes = NodeChanges(world.context, world.sight)
        self.runs = WorldRuns(world.context, world.pods, self.nodes, world.sight, world.expect)

    def schedule(self, choose: Callable[[dict[str, Any], dict[str, list[Any]]], str]) -> None:
        """Have the candidate bind a pod to the node that is chosen of all nodes and what is against each.

        Of a pod for which it chooses none it says that it is unschedulable.
        """

        def node_of(manifest: dict[str, Any]) -> str:
            objects = self.world.server.snapshot()
            nodes = [one for (resource, _, _), one in objects.items() if resource == "nodes"]
            pods = [one for (resource, _, _), one in objects.items() if resource == "pods"]
            return choose(manifest, {name: list(why) for name, why in check(manifest, nodes, pods).items()})

        self.world.schedule(node_of, reason="Unschedulable")

    @contextlib.contextmanager
    def all_gone(self) -> Iterator[None]:
        before = self.world.server.names("pods")
        yield
        assert self.world.server.names("pods") == before


def rightly(_pod: dict[str, Any], nodes: dict[str, list[Any]]) -> str:
    return next((name for name, why in nodes.items() if not why), "")


@pytest.fixture
def made(make_world: Callable[..., World]) -> Runs:
    return Runs(make_world(features=("pod-affinity",)))


def test_pods_that_are_placed_rightly_are_no_find_and_nothing_is_left(made: Runs) -> None:
    made.schedule(rightly)
    fits, waits = pod("fits"), pod("waits", cpu="5")
    with made.all_gone():
        assert made.runs.run(steps({"comes": fits}, {"comes": waits}), hurried=False) is None
    assert made.runs.uids == []
    created = [record.pod for record in made.world.of(PodCreated) if "settle" not in record.pod]
    assert created[:2] == [f"{NAMESPACE}/{PREFIX}-{name}-1" for name in ("fits", "waits")]
    expected = {record.outcome for record in made.world.of(Expect)}
    assert expected >= {"bound", "pending"}


def test_a_pod_on_a_node_that_cannot_take_it_is_found_with_its_step(made: Runs) -> None:
    made.schedule(lambda manifest, _: "node-1" if "web" in manifest["metadata"]["name"] else FIRST)
    world = steps({"there": pod("filler"), "node": FIRST}, {"comes": pod("web")})
    with made.all_gone():
        wrong = made.runs.run(world, hurried=False)
    assert isinstance(wrong, Wrong)
    assert wrong.step == 1
    assert wrong.text.startswith(f"{PREFIX}-web-1 was bound to node-1, where it cannot run: ")
    created = [record.uid for record in made.world.of(PodCreated) if record.case == CLAUSE]
    assert made.runs.uids == created, "what the judge looks at"


def test_a_pod_that_fits_and_is_said_not_to_is_found(made: Runs) -> None:
    made.schedule(lambda manifest, nodes: "" if "web" in manifest["metadata"]["name"] else rightly(manifest, nodes))
    wrong = made.runs.run(steps({"comes": pod("web")}), hurried=True)
    assert wrong == Wrong(f"{PREFIX}-web-1 was not bound, although it fits on {FIRST}", 0)


def test_a_pod_that_was_to_wait_and_is_bound_is_found_at_the_step_it_came_by(made: Runs) -> None:
    made.schedule(
        lambda manifest, nodes: FIRST if "large" in manifest["metadata"]["name"] else rightly(manifest, nodes)
    )
    wrong = made.runs.run(steps({"comes": pod("large", cpu="5")}, {"comes": pod("small")}), hurried=False)
    assert wrong is not None
    assert wrong.step == 0
    assert wrong.text.startswith(f"{PREFIX}-large-1 was bound to {FIRST}, where it cannot run: ")


def beside(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def bind_before_deletion(made: Runs, *, of: str, names: Sequence[str]) -> None:
    """Bind pods when one of them is about to be deleted, as a scheduler may at any time."""
    delete = made.world.pods.delete

    def too_late(pods: Sequence[Pod]) -> None:
        for waiting in names if any(of in pod.name for pod in pods) else ():
            name = f"{PREFIX}-{waiting}-1"
            uid = made.world.server.read("pods", name, NAMESPACE)["metadata"]["uid"]
            made.world.server.bind(NAMESPACE, name, FIRST)
            made.world.await_shown(lambda uid=uid: uid in made.world.recorder.placed, "the Binding")
        delete(pods)

    made.world.pods.delete = too_late  # type: ignore[method-assign]


def test_pods_that_fit_beside_a_waiting_pod_that_was_bound_after_all_are_no_find(made: Runs) -> None:
    made.schedule(rightly)
    bind_before_deletion(made, of="second", names=("second", "third"))
    comes = (
        {**pod("third", **beside("second"))},
        {**pod("second", **beside("first")), "labels": {"app": "second"}},
        {**pod("first"), "labels": {"app": "first"}},
    )
    with made.all_gone():
        assert made.runs.run(steps(*({"comes": one} for one in comes)), hurried=False) is None
    assert {record.outcome for record in made.world.of(Expect) if "third" in record.pod} == set()


@pytest.mark.parametrize("held", ["5", "1"])
def test_a_pod_that_requests_nothing_need_not_be_bound_where_a_node_is_overcommitted(made: Runs, held: str) -> None:
    """As by a scheduler that compares what is free with 0."""
    made.schedule(lambda manifest, nodes: "" if "web" in manifest["metadata"]["name"] else rightly(manifest, nodes))
    filled = steps({"there": pod("filler", cpu=held), "node": FIRST}, {"comes": pod("web", cpu="0")})
    with made.all_gone():
        wrong = made.runs.run(filled, hurried=False)
    assert (wrong is None) == (held == "5")


def test_pods_that_fit_beside_one_that_was_bound_on_an_overcommitted_node_are_no_find(made: Runs) -> None:
    made.schedule(lambda manifest, nodes: "" if "web" in manifest["metadata"]["name"] else rightly(manifest, nodes))
    bind_before_deletion(made, of="web", names=("web", "beside"))
    near = {**pod("beside", cpu="0", **beside("web"))}
    web = {**pod("web", cpu="0"), "labels": {"app": "web"}}
    filled = steps({"there": pod("filler", cpu="5"), "node": FIRST}, {"comes": near}, {"comes": web})
    with made.all_gone():
        assert made.runs.run(filled, hurried=False) is None
    assert {record.outcome for record in made.world.of(Expect) if "beside" in record.pod} == set()


def test_while_a_world_is_made_smaller_nothing_is_expected_on_record(made: Runs) -> None:
    made.schedule(rightly)
    assert made.runs.run(steps({"comes": pod("web")}, {"comes": pod("large", cpu="5")}), hurried=True) is None
    assert [record.pod for record in made.world.of(Expect) if record.outcome == "pending"] == []
    assert not any("web" in record.pod for record in made.world.of(Expect))


def test_nodes_stay_and_are_changed_into_those_of_the_next_world(made: Runs) -> None:
    made.schedule(rightly)
    tainted = {"name": FIRST, "labels": {"disk": "ssd"}, "taints": [TAINT], "allocatable": {"cpu": "2"}}
    assert (
        made.runs.run(steps({"comes": pod("web", tolerations=[{"operator": "Exists"}])}, nodes=(tainted,)), False)
        is None
    )
    node = made.world.server.read("nodes", FIRST)
    assert (node["metadata"]["labels"]["disk"], node["status"]["allocatable"]["cpu"]) == ("ssd", "2")
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["a"]

    usual = ({"name": FIRST}, {"name": SECOND})
    assert made.runs.run(steps({"comes": pod("web")}, nodes=usual), hurried=False) is None
    again = made.world.server.read("nodes", FIRST)
    assert again["metadata"]["uid"] == node["metadata"]["uid"]
    assert "disk" not in again["metadata"]["labels"]
    assert not again["spec"].get("taints")
    assert again["status"]["allocatable"]["cpu"] == "4"

    assert made.runs.run(steps({"comes": pod("web")}, nodes=({"name": SECOND},)), hurried=False) is None
    gone = made.world.server.read("nodes", FIRST)
    assert not POOL.keys() & gone["metadata"]["labels"].keys(), "it has no part in the last one"


def test_what_others_do_is_done_step_by_step(made: Runs) -> None:
    made.world.run_pods()
    made.schedule(rightly)
    seen: list[tuple[str, Any]] = []
    change = made.runs._change

    def watched(step: dict[str, Any]) -> None:
        change(step)
        pods = {key[2]: one for key, one in made.world.server.snapshot().items() if key[0] == "pods"}
        seen.append((next(iter(step)), pods.get(f"{PREFIX}-db-1")))

    made.runs._change = watched  # type: ignore[method-assign]
    world = steps(
        {"there": pod("db"), "node": FIRST, "late": True},
        {"labelled": "db", "labels": {"app": "db"}},
        {"ended": "db", "phase": "Succeeded"},
        {"deleted": "db"},
        {"changed": {"name": FIRST, "labels": {"disk": "hdd"}}},
        {"comes": pod("web", nodeSelector={**POOL, "disk": "hdd"})},
    )
    assert made.runs.run(world, hurried=False) is None
    assert [kind for kind, _ in seen] == ["there", "labelled", "ended", "deleted", "changed"]
    there, labelled, ended, deleted, _ = (one for _, one in seen)
    assert (there["spec"]["schedulerName"], there["spec"]["nodeName"]) == (FILLER, FIRST)
    assert labelled["metadata"]["labels"] == {"app": "db"}
    assert ended["status"]["phase"] == "Succeeded"
    assert deleted is None


def test_a_pod_that_a_taint_may_evict_is_deleted_once_it_is_bound(made: Runs) -> None:
    made.schedule(rightly)
    leaving = pod("leaving", tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}])
    with made.all_gone():
        assert made.runs.run(steps({"comes": leaving}, {"comes": pod("web", cpu="4")}), hurried=False) is None


def test_no_pod_comes_to_a_node_where_its_port_is_taken(made: Runs) -> None:
    made.schedule(rightly)
    ports = [{"ports": [{"containerPort": 80, "hostPort": 80}]}]
    world = steps(
        {"there": pod("one", containers=ports), "node": FIRST}, {"there": pod("two", containers=ports), "node": FIRST},
        {"comes": pod("web")},
    )  # fmt: skip
    assert made.runs.run(world, hurried=False) is None
    created = [record.pod for record in made.world.of(PodCreated)]
    assert f"{NAMESPACE}/{PREFIX}-one-1" in created
    assert f"{NAMESPACE}/{PREFIX}-two-1" not in created


def test_pods_are_gone_also_when_a_run_is_given_up(made: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    made.schedule(rightly)
    monkeypatch.setattr(runs_module.WorldRuns, "_comes", lambda *_, **__: 1 / 0)
    with made.all_gone(), pytest.raises(ZeroDivisionError):
        made.runs.run(steps({"there": pod("db"), "node": FIRST}, {"comes": pod("web")}), hurried=False)
