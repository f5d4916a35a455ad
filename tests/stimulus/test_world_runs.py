"""How the pods of a world are tried: what is created in it, what is taken for wrong, and that nothing is left."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.history.acts import Expect, PodCreated
from schedproof.oracle.feasibility import check
from schedproof.stimulus.changes.candidate import CandidateChanges
from schedproof.stimulus.changes.nodes import NodeChanges
from schedproof.stimulus.pods import FILLER, Pod
from schedproof.stimulus.worlds import runs as runs_module
from schedproof.stimulus.worlds.runs import WorldRuns
from schedproof.stimulus.worlds.steps import HOSTNAME
from schedproof.worlds.search import Wrong
from schedproof.worlds.world import NODES, POOL
from schedproof.worlds.world import World as Steps

from .world import CLAUSE, IN_TIME, NAMESPACE, PREFIX, SCHEDULER, World

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
        self.nodes = NodeChanges(world.context, world.view)
        world.server.controllers.setdefault("nodes", []).append(self._play)
        candidate = CandidateChanges(world.context, world.expect)
        self.runs = WorldRuns(world.context, world.pods, self.nodes, world.view, world.expect, candidate)

    def _play(self, what: str, node: dict[str, Any]) -> None:
        """Hold the Lease of a node that registers, as kwok does."""
        name = node["metadata"]["name"]
        if what == "ADDED" and name not in self.world.server.names("leases"):
            self.world.server.store("leases", {"metadata": {"name": name}}, "kube-node-lease")

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

    def retry(self, choose: Callable[[dict[str, Any], dict[str, list[Any]]], str]) -> None:
        """As `schedule`; pods that wait are tried again after each change of a node, and each end of a pod."""

        def again(what: str, changed: dict[str, Any]) -> None:
            if what == "READ" or (what == "ADDED" and "schedulerName" in changed["spec"]):
                return
            objects = self.world.server.snapshot()
            pods = [one for (resource, _, _), one in objects.items() if resource == "pods"]
            nodes = [one for (resource, _, _), one in objects.items() if resource == "nodes"]
            for waiting in pods:
                if waiting["spec"]["schedulerName"] == SCHEDULER and not waiting["spec"].get("nodeName"):
                    against = {name: list(why) for name, why in check(waiting, nodes, pods).items()}
                    if node := choose(waiting, against):
                        metadata = waiting["metadata"]
                        self.world.server.bind(metadata["namespace"], metadata["name"], node)
                        return

        self.schedule(choose)
        for resource in ("nodes", "pods"):
            self.world.server.controllers.setdefault(resource, []).append(again)

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
    wrong = made.runs.run(steps({"comes": pod("large", cpu="5")}, {"deleted": "large"}), hurried=False)
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


FILLS, WANTS_ROOM = pod("fills", cpu="3"), pod("wants-room", cpu="2")


def test_a_pod_that_waits_is_bound_once_it_fits(made: Runs) -> None:
    made.retry(rightly)
    world = steps({"there": FILLS, "node": FIRST}, {"comes": WANTS_ROOM}, {"deleted": "fills"})
    with made.all_gone():
        assert made.runs.run(world, hurried=False) is None
    assert made.runs.freed == {"resources, deleted": 1}
    expected = [(e.outcome, e.deadline) for e in made.world.of(Expect) if "wants-room" in e.pod]
    assert expected == [("pending", "bind"), ("bound", "requeue")]


def test_a_pod_that_has_come_to_fit_and_is_not_bound_is_found_with_the_step_that_freed_it(
    make_world: Callable[..., World],
) -> None:
    made = Runs(make_world(timing=dataclasses.replace(IN_TIME, requeue=0.0)))
    made.schedule(rightly)
    world = steps({"there": FILLS, "node": FIRST}, {"comes": WANTS_ROOM}, {"deleted": "fills"}, {"comes": pod("web")})
    with made.all_gone():
        wrong = made.runs.run(world, hurried=False)
    assert wrong == Wrong(f"{PREFIX}-wants-room-1 was not bound, although it has come to fit on {FIRST}", 2)
    assert [e.outcome for e in made.world.of(Expect) if "wants-room" in e.pod] == ["pending", "bound"]


def test_of_pods_that_come_to_fit_only_so_many_are_bound_as_there_is_room_for(made: Runs) -> None:
    made.retry(rightly)
    comes = ({"comes": pod(name, cpu="2500m")} for name in ("one", "two"))
    world = steps({"there": FILLS, "node": FIRST}, *comes, {"deleted": "fills"})
    assert made.runs.run(world, hurried=False) is None
    bound = [e.pod for e in made.world.of(Expect) if e.outcome == "bound" and e.deadline == "requeue"]
    assert len(bound) == 1
    assert made.runs.freed == {"resources, deleted": 1}


def test_a_candidate_that_claims_no_further_attempts_owes_none(make_world: Callable[..., World]) -> None:
    made = Runs(make_world())
    made.world.context.left_out[Subject.RETRIES] = "core/requeue-pod-deleted"  # type: ignore[index]
    made = Runs(made.world)
    made.schedule(rightly)
    world = steps({"there": FILLS, "node": FIRST}, {"comes": WANTS_ROOM}, {"deleted": "fills"})
    with made.all_gone():
        assert made.runs.run(world, hurried=False) is None


def test_a_waiting_pod_that_a_later_step_leads_to_a_wrong_node_is_found(made: Runs) -> None:
    made.retry(
        lambda manifest, nodes: (
            FIRST
            if "wants" in manifest["metadata"]["name"] and made.world.server.read("nodes", FIRST)["spec"].get("taints")
            else rightly(manifest, nodes)
        )
    )
    world = steps(
        {"there": FILLS, "node": FIRST}, {"comes": WANTS_ROOM}, {"changed": {"name": FIRST, "taints": [TAINT]}},
        {"comes": pod("web")},
    )  # fmt: skip
    wrong = made.runs.run(world, hurried=False)
    assert wrong is not None
    assert wrong.step in (2, 3), "the Binding may show a step later"
    assert wrong.text.startswith(f"{PREFIX}-wants-room-1 was bound to {FIRST}, where it cannot run: ")


def test_a_pod_that_fits_in_the_middle_of_a_step_may_be_bound_or_not(made: Runs) -> None:
    made.retry(rightly)
    selective = pod("web", cpu="2", nodeSelector={**POOL, "disk": "ssd"})
    shrinks = {"changed": {"name": FIRST, "labels": {"disk": "ssd"}, "allocatable": {"cpu": "1"}}}
    with made.all_gone():
        assert made.runs.run(steps({"comes": selective}, shrinks), hurried=False) is None
    assert [e.outcome for e in made.world.of(Expect) if "web" in e.pod] == ["pending"], "of before the step"


def test_pods_that_come_together_are_created_before_the_first_is_expected(made: Runs) -> None:
    made.retry(rightly)
    one, two = ({"comes": pod(name, cpu="3")} for name in ("one", "two"))
    world = steps(one, {**two, "together": True}, {"deleted": "one"})
    with made.all_gone():
        assert made.runs.run(world, hurried=False) is None
    records = [r for r in made.world.recorder.records if isinstance(r, PodCreated | Expect)]
    shown = [(type(r).__name__, r.pod.removeprefix(f"{NAMESPACE}/{PREFIX}-")) for r in records]
    own = [entry for entry in shown if entry[1] in ("one-1", "two-1")]
    assert own[:2] == [("PodCreated", "one-1"), ("PodCreated", "two-1")]


def test_a_pod_is_created_again_under_its_name_and_must_be_bound_again(made: Runs) -> None:
    made.retry(rightly)
    with made.all_gone():
        world = steps({"comes": pod("web")}, {"recreated": "web"}, {"recreated": "nobody"})
        assert made.runs.run(world, hurried=False) is None
    created = [record.pod for record in made.world.of(PodCreated)]
    assert created.count(f"{NAMESPACE}/{PREFIX}-web-1") == 2


def test_a_node_goes_without_its_pods_and_registers_again(made: Runs) -> None:
    made.retry(rightly)
    there: list[bool] = []
    comes = made.runs._world.comes

    def watched(described: dict[str, Any]) -> Pod:
        there.append(("nodes", "", FIRST) in made.world.server.snapshot())
        return comes(described)

    made.runs._world.comes = watched  # type: ignore[method-assign]
    world = steps(
        {"comes": pod("web", cpu="3")}, {"gone": FIRST}, {"there": pod("nowhere"), "node": FIRST},
        {"changed": {"name": FIRST, "taints": [TAINT]}}, {"comes": pod("late", cpu="1")}, {"back": FIRST},
        {"comes": pod("too-many", cpu="1")}, {"gone": FIRST},
    )  # fmt: skip
    with made.all_gone():
        assert made.runs.run(world, hurried=False) is None
    assert there == [True, False, True]
    assert made.runs.freed == {"existence, back": 1}
    assert not any("nowhere" in record.pod for record in made.world.of(PodCreated))
    assert made.runs.run(steps({"comes": pod("next")}), hurried=False) is None, "it is back for the next world"


def test_a_gated_pod_waits_until_its_gate_is_removed(made: Runs) -> None:
    made.retry(rightly)
    gated = {"comes": pod("web"), "gated": True}
    with made.all_gone():
        assert made.runs.run(steps(gated, {"comes": pod("next")}, {"ungated": "web"}), hurried=False) is None
    assert made.runs.freed == {"scheduling-gates, ungated": 1}


def test_a_gated_pod_that_is_bound_is_a_find(made: Runs) -> None:
    made.schedule(lambda manifest, nodes: rightly(manifest, {name: [] for name in nodes}))
    wrong = made.runs.run(steps({"comes": pod("web"), "gated": True}), hurried=False)
    assert wrong is not None
    assert "gates" in wrong.text


def test_a_pod_that_comes_to_tolerate_a_taint_is_expected_on_its_node(made: Runs) -> None:
    made.retry(rightly)
    tainted = {"name": FIRST, "taints": [TAINT]}
    tolerates = {"tolerant": "web", "toleration": {"key": "a", "operator": "Exists"}}
    with made.all_gone():
        assert (
            made.runs.run(steps({"comes": pod("web")}, tolerates, tolerates, nodes=(tainted,)), hurried=False) is None
        )
    assert made.runs.freed == {"taints, tolerant": 1}


@pytest.mark.parametrize(("cpu", "freed"), [("1", 1), ("3500m", 0), ("9", 0)])
def test_a_pod_is_resized_if_it_runs_and_its_node_has_room(made: Runs, cpu: str, freed: int) -> None:
    made.world.run_pods()
    made.retry(rightly)
    world = steps(
        {"there": pod("fills", cpu="3"), "node": FIRST}, {"comes": pod("web", cpu="2")},
        {"resized": "fills", "requests": {"cpu": cpu}}, {"resized": "web", "requests": {"cpu": "1"}},
    )  # fmt: skip
    with made.all_gone():
        assert made.runs.run(world, hurried=False) is None
    assert sum(made.runs.freed.values()) == freed


@pytest.mark.parametrize("away", ["stopped", "cut_off"])
def test_the_candidate_is_away_until_the_next_pod_comes_or_to_the_end(made: Runs, away: str) -> None:
    line = SimpleNamespace(cut=lambda: made.world.attachment.acts.append("halt") or 0,
                           mend=lambda: made.world.attachment.acts.append("resume"))  # fmt: skip
    made.world.attachment.apiserver = line
    made.retry(rightly)
    acts = made.world.attachment.acts
    world = steps(
        {"there": FILLS, "node": FIRST}, {"comes": WANTS_ROOM}, {away: True}, {"deleted": "fills"},
        {"comes": pod("web")}, {away: True}, {away: True},
    )  # fmt: skip
    with made.all_gone():
        assert made.runs.run(world, hurried=False) is None
    assert [act for act in acts if act in ("halt", "resume")] == ["halt", "resume"] * 2


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


def far_from(app: str, *more: dict[str, Any]) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term, *more]}}}


NOT_FIRST = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [FIRST]}]}
ELSEWHERE = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NOT_FIRST]}}}
AMONG_ITS_OWN = {"affinity": {**beside("web")["affinity"], **ELSEWHERE}}
OTHER_TERM = {"labelSelector": {"matchLabels": {"app": "none"}}, "topologyKey": "kubernetes.io/hostname"}


@pytest.mark.parametrize(
    ("there", "waits", "owed"),
    [
        ({}, AMONG_ITS_OWN, False), (far_from("web", OTHER_TERM), {}, False), (far_from("web"), {}, True),
    ],
    ids=["first of its group", "several terms", "one term"],
)  # fmt: skip
def test_a_pod_that_kube_scheduler_does_not_try_again_is_owed_nothing(
    make_world: Callable[..., World], there: dict[str, Any], waits: dict[str, Any], owed: bool
) -> None:
    made = Runs(make_world(timing=dataclasses.replace(IN_TIME, requeue=0.0), features=("pod-affinity",)))
    made.schedule(rightly)
    world = steps(
        {"there": {**pod("db", **there), "labels": {"app": "web"}}, "node": FIRST},
        {"comes": {**pod("web", **waits), "labels": {"app": "web"}}}, {"deleted": "db"},
        nodes=({"name": FIRST}, {"name": SECOND}) if waits else ({"name": FIRST},),
    )  # fmt: skip
    with made.all_gone():
        assert (made.runs.run(world, hurried=False) is not None) == owed


ZONE = "schedproof.dev/zone"
OVER_ZONES = {
    "labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE, "maxSkew": 1,
    "whenUnsatisfiable": "DoNotSchedule",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "owed"),
    [
        ({"labels": {"disk": "ssd", ZONE: "a"}}, True), ({"labels": {"disk": "ssd"}}, True),
        ({"labels": {ZONE: "b"}}, False), ({"labels": {"disk": "ssd", ZONE: "b"}}, False),
    ],
    ids=["another zone", "no zone", "not selected", "as it was"],
)  # fmt: skip
def test_a_pod_that_is_spread_is_owed_a_node_once_the_zones_change(
    make_world: Callable[..., World], changed: dict[str, Any], owed: bool
) -> None:
    """The second node is full, and its zone empty: the pod fits on the first once that zone does not count."""
    made = Runs(make_world(timing=dataclasses.replace(IN_TIME, requeue=0.0), features=("topology-spread",)))
    made.schedule(rightly)
    labels = {"labels": {"app": "web"}}
    waits = pod("web", topologySpreadConstraints=[OVER_ZONES])
    waits["spec"]["nodeSelector"] = {**POOL, "disk": "ssd"}
    world = steps(
        {"there": {**pod("db"), **labels}, "node": FIRST}, {"there": pod("fills", cpu="4"), "node": SECOND},
        {"comes": {**waits, **labels}}, {"changed": {"name": SECOND, **changed}},
        nodes=tuple(
            {"name": name, "labels": {"disk": "ssd", ZONE: zone}} for name, zone in ((FIRST, "a"), (SECOND, "b"))
        ),
    )  # fmt: skip
    with made.all_gone():
        assert (made.runs.run(world, hurried=False) is not None) == owed


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


def test_a_node_lacks_its_hostname_in_the_first_world_and_has_it_again_in_the_next(made: Runs) -> None:
    made.schedule(rightly)
    for hostname, labels in ((None, {}), ("shared", {HOSTNAME: "shared"}), (FIRST, {HOSTNAME: FIRST})):
        described = {"name": FIRST, "labels": {HOSTNAME: hostname}} if hostname != FIRST else {"name": FIRST}
        assert made.runs.run(steps({"comes": pod("fits")}, nodes=(described,)), hurried=False) is None
        now = made.world.recorder.nodes[FIRST]["metadata"]["labels"]
        assert {key: value for key, value in now.items() if key == HOSTNAME} == labels


def test_what_others_do_is_done_step_by_step(made: Runs) -> None:
    made.world.run_pods()
    made.schedule(rightly)
    seen: list[tuple[str, Any]] = []
    change = made.runs._world.do

    def watched(step: dict[str, Any]) -> None:
        change(step)
        pods = {key[2]: one for key, one in made.world.server.snapshot().items() if key[0] == "pods"}
        seen.append((next(iter(step)), pods.get(f"{PREFIX}-db-1")))

    made.runs._world.do = watched  # type: ignore[method-assign]
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
