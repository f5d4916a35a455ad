"""Classes, budgets and owners that a case makes: there when they are returned, and gone once they are undone."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.clusters.api import ApiError
from schedproof.stimulus.changes.objects import ObjectChanges

from ..fake_apiserver.storing import RefusalError
from .world import NAMESPACE, PREFIX, World


@pytest.fixture
def objects(world: World) -> ObjectChanges:
    return ObjectChanges(world.context)


def test_namespaces_have_their_labels_and_stay(world: World, objects: ObjectChanges) -> None:
    red, blue = objects.namespaces(red={"colour": "red"}, blue={"colour": "blue"})
    assert (red, blue) == (f"{NAMESPACE}-red", f"{NAMESPACE}-blue")
    assert world.server.read("namespaces", red)["metadata"]["labels"]["colour"] == "red"
    objects.undo()
    assert {red, blue} < {*world.server.names("namespaces")}


def test_the_candidate_has_the_time_that_it_claims_to_see_namespaces(world: World) -> None:
    passed: list[float] = []
    world.trial.usable_time = type("Passing", (), {"let_pass": staticmethod(passed.append)})
    objects = ObjectChanges(world.context)
    objects.namespaces(red={})
    assert passed == [world.context.freshness]


def test_a_runtime_class_has_an_overhead(world: World, objects: ObjectChanges) -> None:
    with world.changed_back(objects.undo):
        name = objects.runtime_class({"cpu": "250m"})
        assert world.server.read("runtimeclasses", name)["overhead"] == {"podFixed": {"cpu": "250m"}}


@pytest.mark.parametrize(("preempts", "policy"), [(True, "PreemptLowerPriority"), (False, "Never")])
def test_a_priority_class_is_known_to_admission(
    world: World, objects: ObjectChanges, preempts: bool, policy: str
) -> None:
    refusals = [RefusalError(403, "Forbidden", "no PriorityClass with that name") for _ in range(2)]
    world.server.refusals["POST", "pods"] = refusals
    with world.changed_back(objects.undo):
        name = objects.priority_class(1000, preempts=preempts)
        found = world.server.read("priorityclasses", name)
        assert (found["value"], found["preemptionPolicy"]) == (1000, policy)
        assert refusals == [], "it asks until pods of the class are admitted"
        assert objects.priority_class(2000) != name
    assert world.server.names("pods") == [], "it only asked"


def test_another_refusal_than_admissions_is_an_error(world: World, objects: ObjectChanges) -> None:
    world.server.refusals["POST", "pods"] = [RefusalError(422, "Invalid", "no image")]
    with pytest.raises(ApiError, match="no image"):
        objects.priority_class(1000)
    assert world.server.names("priorityclasses") != []
    objects.undo()
    assert world.server.names("priorityclasses") == []


def test_a_class_that_is_refused_is_not_there_to_be_removed(world: World, objects: ObjectChanges) -> None:
    world.server.writes = [422]
    with pytest.raises(ApiError):
        objects.runtime_class({"cpu": "nonsense"})
    objects.undo()
    assert world.server.seen("DELETE") == []


def test_pods_of_a_daemon_set_have_it_as_their_controller(world: World, objects: ObjectChanges) -> None:
    owner = objects.daemon_set()
    assert owner["name"].startswith(f"{PREFIX}-daemons-")
    made = world.server.read("daemonsets", owner["name"], NAMESPACE)
    assert owner == {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "controller": True,
        "name": owner["name"], "uid": made["metadata"]["uid"],
    }  # fmt: skip
    selected = made["spec"]["selector"]["matchLabels"]
    assert selected.items() <= made["spec"]["template"]["metadata"]["labels"].items()
    found = world.pod(world.pods.create(owner=owner))
    assert found["metadata"]["ownerReferences"] == [owner]


def test_a_budget_is_in_force(world: World, objects: ObjectChanges) -> None:
    states: list[dict[str, Any]] = [
        {"currentHealthy": 1, "disruptionsAllowed": 0}, {"currentHealthy": 2, "disruptionsAllowed": 1},
        {"currentHealthy": 2, "disruptionsAllowed": 0},
    ]  # fmt: skip
    world.become("poddisruptionbudgets", lambda _: {"status": states.pop(0)} if states else None, reads=1)
    with world.changed_back(objects.undo):
        objects.disruption_budget("db", 2)
        found = world.server.read("poddisruptionbudgets", f"{PREFIX}-app-db", NAMESPACE)
        assert found["spec"] == {"minAvailable": 2, "selector": {"matchLabels": {"app": "db"}}}
        assert states == [], "it waited until no disruption is allowed"


def test_budgets_go_before_classes_and_what_is_gone_is_no_error(world: World, objects: ObjectChanges) -> None:
    status = {"currentHealthy": 1, "disruptionsAllowed": 0}
    world.become("poddisruptionbudgets", lambda _: {"status": status}, reads=1)
    objects.disruption_budget("db")
    first, second = objects.runtime_class({"cpu": "1"}), objects.priority_class(7)
    world.server.delete("priorityclasses", second)
    objects.undo()
    assert [path.rpartition("/")[2] for path, _ in world.server.seen("DELETE")] == [f"{PREFIX}-app-db", second, first]
