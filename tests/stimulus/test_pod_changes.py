"""What a case does to pods: what the apiserver then has, what is on record, and that nothing of it is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedproof.clusters.api import ApiError
from schedproof.history.acts import Lift, PodCreated, Tolerates
from schedproof.stimulus.changes.pods import HOLD
from schedproof.stimulus.pods import FILLER

from .world import CLAUSE, NAMESPACE, PREFIX, SCHEDULER, World


def test_a_pod_is_the_candidates_and_on_record(world: World) -> None:
    pod = world.pods.create("web", cpu="100m", plain=True)
    found = world.pod(pod)
    assert (pod.name, pod.namespace, found["metadata"]["uid"]) == (f"{PREFIX}-web-1", NAMESPACE, pod.uid)
    assert found["spec"]["schedulerName"] == SCHEDULER
    assert found["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "100m"}
    (record,) = world.of(PodCreated)
    assert (record.case, record.pod, record.uid, record.role) == (CLAUSE, pod.full_name, pod.uid, "probe")
    assert record.varied == []
    assert pod.uid in world.recorder.shown, "what follows relies on what the watch has shown"
    assert world.pods.present == [pod]


def test_names_are_numbered_and_each_in_its_namespace(world: World) -> None:
    world.add_namespace("other")
    names = [world.pods.create("web", namespace=namespace).full_name for namespace in ("", "", "other")]
    assert names == [f"{NAMESPACE}/{PREFIX}-web-1", f"{NAMESPACE}/{PREFIX}-web-2", f"other/{PREFIX}-web-1"]
    assert world.pods.next_name("web") == f"{PREFIX}-web-3"


def test_a_template_is_what_the_pod_is_merged_into(world: World) -> None:
    template = {"metadata": {"labels": {"group": "g", "app": "none"}}, "spec": {"priorityClassName": "low"}}
    found = world.pod(world.pods.create(template=template, labels={"app": "x"}, plain=True))
    assert (found["metadata"]["labels"], found["spec"]["priorityClassName"]) == ({"group": "g", "app": "x"}, "low")


def test_a_pod_that_the_apiserver_refuses_is_neither_on_record_nor_to_undo(world: World) -> None:
    world.server.writes = [422]
    with pytest.raises(ApiError):
        world.pods.create("web")
    assert world.of(PodCreated) == []
    assert not world.pods.undo()


def test_neighbours_and_foreign_pods_are_not_the_candidates(world: World) -> None:
    world.schedule()
    neighbour, foreign = world.pods.neighbour("node-2", "db"), world.pods.foreign()
    assert (world.pods.node_of(neighbour), world.pods.node_of(foreign)) == ("node-2", "")
    for pod in (neighbour, foreign):
        assert world.pod(pod)["spec"]["schedulerName"] == FILLER
    assert world.pod(neighbour)["metadata"]["labels"]["app"] == "db"
    world.pods.bind_elsewhere(foreign, "node-1")
    assert world.pod(foreign)["spec"]["nodeName"] == "node-1"
    assert [record.role for record in world.of(PodCreated)] == ["filler", "filler"]


def test_a_namesake_and_a_twin_have_the_name_in_another_namespace(world: World) -> None:
    pod = world.pods.create("web")
    namesake = world.pods.create_same_name(pod)
    assert (namesake.name, namesake.namespace) == (pod.name, f"{NAMESPACE}-other")
    assert world.pod(namesake)["spec"]["schedulerName"] == SCHEDULER
    world.add_namespace("twins")
    twin = world.pods.place_same_name(pod, "twins", "node-1")
    assert (twin.name, twin.namespace, world.pods.node_of(twin)) == (pod.name, "twins", "node-1")


def test_a_crowd_comes_first_by_name_and_has_no_role(world: World) -> None:
    world.pods.crowd(3)
    assert [name < PREFIX for name in world.server.names("pods")] == [True] * 3
    assert world.of(PodCreated) == []
    assert world.pods.undo()
    assert world.server.names("pods") == []


def test_a_node_is_filled_but_for_what_is_left_to_others(world: World) -> None:
    world.pods.neighbour("node-1", "db", cpu="2", memory="1Gi", plain=True)
    filler = world.pods.fill("node-1", cpu="500m", memory="3Gi")
    asked = [world.pods._held("node-1", resource) for resource in ("cpu", "memory")]
    assert asked == [7_500, 13 << 30]
    assert world.pods.node_of(filler) == "node-1"


def test_what_has_ended_takes_nothing_of_a_node(world: World) -> None:
    world.run_pods()
    ending = world.pods.fill("node-1", cpu="0", ends="Failed")
    assert world.pods._held("node-1", "cpu") == 8_000
    world.pods.finish(ending, "Failed")
    assert world.pod(ending)["status"]["phase"] == "Failed"
    assert world.pods._held("node-1", "cpu") == 0


def test_pods_that_started_are_waited_for(world: World) -> None:
    world.run_pods()
    world.pods.await_started([world.pods.neighbour("node-1", "db"), world.pods.neighbour("node-2", "db")])
    assert [pod["status"]["phase"] for pod in world.recorder.pods.values()] == ["Running", "Running"]


def test_a_pod_that_lingers_ends_when_it_is_let_go(world: World) -> None:
    pod = world.pods.fill("node-1", cpu="1", lingers=True)
    assert world.pod(pod)["metadata"]["finalizers"] == [HOLD]
    world.pods.terminate(pod)
    assert "deletionTimestamp" in world.recorder.pods[pod.uid]["metadata"]
    assert pod.name in world.server.names("pods")
    world.pods.remove_finalizers([pod])
    assert world.server.names("pods") == []


def test_a_pod_that_was_not_deleted_is_let_go_and_stays(world: World) -> None:
    pod = world.pods.lingering("probe")
    world.pods.remove_finalizers([pod])
    assert "finalizers" not in world.pod(pod)["metadata"]


def test_where_kubelets_run_pods_they_linger_and_end_by_what_they_run(make_world: Callable[..., World]) -> None:
    world = make_world(capabilities=["real-pods", "change-nodes"])
    world.run_pods()
    lingering = world.pods.fill("node-1", lingers=True)
    spec = world.pod(lingering)["spec"]
    assert spec["terminationGracePeriodSeconds"] > 0
    assert "trap" in spec["containers"][0]["command"][-1]
    assert world.pod(lingering)["metadata"]["finalizers"] == []
    world.pods.terminate(lingering)
    assert world.pod(lingering)["metadata"]["deletionGracePeriodSeconds"] == spec["terminationGracePeriodSeconds"]
    ending = world.pods.neighbour("node-2", "db", ends="Failed")
    container = world.pod(ending)["spec"]["containers"][0]
    assert (container["command"][-1], world.pod(ending)["spec"]["restartPolicy"]) == ("exit 1", "Never")
    with pytest.raises(ValueError, match="not in tuple"):
        world.pods.neighbour("node-2", "db", ends="Running")


def test_deleted_pods_are_gone_from_the_watch_also_those_that_went_before(world: World) -> None:
    first, second, third = (world.pods.create() for _ in range(3))
    world.server.delete("pods", first.name, NAMESPACE)
    world.server.delete("pods", second.name, NAMESPACE)
    again = world.server.store("pods", {"metadata": {"name": second.name}, "spec": {"schedulerName": "x"}}, NAMESPACE)
    world.pods.delete([first, second, third])
    assert world.recorder.pods.keys() <= {again["metadata"]["uid"]}
    assert world.server.names("pods") == [second.name], "one of the same name is another pod"
    assert world.pods.present == []


def test_a_pod_is_recreated_by_its_name(world: World) -> None:
    pod = world.pods.create("web")
    again = world.pods.recreate(pod, cpu="1")
    assert (again.name, again.uid != pod.uid, world.pods.present) == (pod.name, True, [again])
    assert world.of(PodCreated)[-1].role == "recreated"


def test_annotations_burst_to_their_last_value(world: World) -> None:
    pod = world.pods.create()
    world.pods.burst(pod, "note", 3)
    assert world.pod(pod)["metadata"]["annotations"]["note"] == "burst-2"
    assert [body["metadata"]["annotations"]["note"] for _, body in world.server.seen("PATCH", pod.name)] == [
        "burst-0", "burst-1", "burst-2",
    ]  # fmt: skip


def test_conditions_are_added_to_those_that_are_there(world: World) -> None:
    world.refuse()
    pod = world.pods.create()
    world.pods.add_conditions(pod, "Ready", "Seen")
    assert [c["type"] for c in world.pod(pod)["status"]["conditions"]] == ["PodScheduled", "Ready", "Seen"]


def test_conditions_are_added_to_a_pod_whose_name_only_another_namespace_has(world: World) -> None:
    world.add_namespace("other")
    pod = world.pods.create("web", namespace="other")
    world.pods.add_conditions(pod, "Seen")
    assert [condition["type"] for condition in world.pod(pod)["status"]["conditions"]] == ["Seen"]


def test_a_toleration_is_added_and_on_record(world: World) -> None:
    own, new = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}
    pod = world.pods.create(tolerations=[own], plain=True)
    world.pods.tolerate(pod, new, phase=2)
    assert world.pod(pod)["spec"]["tolerations"] == [own, new]
    ((case, uid, phase),) = [(record.case, record.uid, record.phase) for record in world.of(Tolerates)]
    assert (case, uid, phase) == (CLAUSE, pod.uid, 2)


def test_gates_are_lifted_and_on_record(world: World) -> None:
    pod = world.pods.create(schedulingGates=[{"name": "schedproof.dev/wait"}])
    world.pods.lift_gates(pod)
    assert "schedulingGates" not in world.pod(pod)["spec"]
    assert [(record.case, record.uid) for record in world.of(Lift)] == [(CLAUSE, pod.uid)]


@pytest.mark.parametrize("change", ["tolerate", "lift_gates"])
def test_what_follows_from_a_change_is_on_record_behind_it(world: World, change: str) -> None:
    pod = world.pods.create()
    seen: list[int] = []
    kind = Tolerates if change == "tolerate" else Lift
    world.server.controllers["pods"] = [lambda *_: seen.append(len(world.of(kind)))]
    arguments: list[Any] = [{"key": "b"}] if change == "tolerate" else []
    world.server.patch("pods", pod.name, {"spec": {"schedulingGates": [{"name": "g"}]}}, NAMESPACE)
    getattr(world.pods, change)(pod, *arguments)
    assert (seen[0], seen[-1]) == (0, 1)  # reads call the controller as well


def test_a_resize_is_what_the_kubelet_grants_and_what_is_asked_for(world: World) -> None:
    world.run_pods()
    pod = world.pods.neighbour("node-1", "db", cpu="1", plain=True)
    world.server.patch("pods", pod.name, {"status": {"conditions": []}}, NAMESPACE)
    world.pods.resize(pod, "3", in_force="2", pending="Deferred")
    found = world.pod(pod)
    assert found["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"
    (status,) = found["status"]["containerStatuses"]
    assert (status["allocatedResources"], status["resources"]["requests"]) == ({"cpu": "2"}, {"cpu": "2"})
    assert [c["reason"] for c in found["status"]["conditions"]] == ["Deferred"]
    status_first, then_spec = (path.rpartition("/")[2] for path, _ in world.server.seen("PATCH", pod.name))
    assert (status_first, then_spec) == ("status", "resize")


def test_what_the_watch_has_shown_of_a_pod(world: World) -> None:
    world.refuse()
    pod = world.pods.create(plain=True)
    world.await_shown(lambda: world.pods.denied(pod, "PodScheduled"), "the refusal")
    assert (world.pods.is_reported(pod), world.pods.is_pending(pod), world.pods.was_bound(pod)) == (True, True, False)
    assert world.pods.denied(pod, "Ready") == {}
    world.server.bind(NAMESPACE, pod.name, "node-2")
    world.await_shown(lambda: world.pods.was_bound(pod), "the Binding")
    assert (world.pods.node_of(pod), world.pods.denied(pod, "PodScheduled")) == ("node-2", {})
    world.pods.delete([pod])
    assert (world.pods.node_of(pod), world.pods.was_bound(pod), world.pods.is_reported(pod)) == ("", True, True)


def test_the_oracle_says_what_fits(world: World) -> None:
    small, large = world.pods.create(cpu="1", plain=True), world.pods.create(cpu="9", plain=True)
    assert (world.pods.fits(small), world.pods.fits(large)) == (True, False)
    objections = world.pods.objections(world.recorder.pods[large.uid])
    assert objections.keys() == {"node-1", "node-2"}
    assert all(objections.values())
    world.pods.delete([small])
    assert not world.pods.fits(small), "it is gone, and was never bound"


def test_pods_that_must_wait_and_were_bound_are_removed(world: World) -> None:
    bound, waiting = world.pods.create("bound"), world.pods.create("waiting")
    world.trial.waiters = {"selector": bound, "affine": waiting}
    assert not world.pods.remove_misplaced()
    world.server.bind(NAMESPACE, bound.name, "node-1")
    world.await_shown(lambda: world.pods.was_bound(bound), "the Binding")
    assert world.pods.remove_misplaced()
    assert (world.trial.waiters, world.server.names("pods")) == ({"affine": waiting}, [waiting.name])


def test_undo_leaves_nothing_in_any_namespace_not_even_what_lingers(world: World) -> None:
    world.run_pods()
    before = world.server.snapshot()
    world.pods.create()
    world.pods.neighbour("node-1", "db", lingers=True)
    world.pods.terminate(world.pods.lingering("held"))
    world.pods.finish(world.pods.foreign(node="node-1"), "Succeeded")
    assert world.pods.undo()
    assert world.server.snapshot() == before
    assert not world.pods.undo(), "there is nothing left to undo"


def test_pods_are_varied_by_the_seed_and_clause_alone(make_world: Callable[..., World]) -> None:
    one, other = make_world(), make_world()
    specs = [[world.pod(world.pods.create(cpu="1"))["spec"] for _ in range(5)] for world in (one, other)]
    assert specs[0] == specs[1]
    assert any(record.varied for record in one.of(PodCreated))
