"""The world is replayed by revisions, however its watches were interleaved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedproof.history.history import History
from schedproof.history.world import World, key

from .histories import NAMESPACE, NODES, SCHEDULER, HistoryBuilder

if TYPE_CHECKING:
    from schedproof.history.record import Record
    from schedproof.history.world import State

# -- one event after the other


def event(resource: str, rv: int, name: str, kind: str = "MODIFIED", **spec: Any) -> Record:
    metadata = {"name": name} if resource == "nodes" else {"name": name, "namespace": "default", "uid": f"{name}-{rv}"}
    return {"kind": "object", "resource": resource, "type": kind, "rv": rv, "object": {"metadata": metadata, **spec}}


def revisions(states: list[State]) -> list[int]:
    return [state.rv for state in states]


HISTORY = [
    event("nodes", 5, "n1", "LISTED"),
    event("nodes", 5, "n2", "LISTED"),
    event("pods", 7, "default-p", "LISTED"),
    event("nodes", 10, "n1", version=2),
    event("pods", 20, "p", "ADDED"),
    event("pods", 30, "p", version=2),
    event("nodes", 40, "n2", "DELETED"),
    event("pods", 50, "p", "DELETED"),
]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (10, 31, [10, 20, 30]),
        (10, 30, [10, 20]),  # the last revision is not included
        (15, 31, [10, 20, 30]),  # what is as of 15, is what 10 made it
        (30, 31, [30]),
        (35, 38, [30]),
        (50, 99, [50]),
        (5, 6, [5]),
    ],
)
def test_states_are_those_between_two_revisions(first: int, last: int, expected: list[int]) -> None:
    assert revisions(list(World(HISTORY).states(first, last))) == expected


def test_what_a_list_showed_is_there_at_once() -> None:
    first, *_ = World(HISTORY).states(5, 100)
    assert set(first.nodes) == {"n1", "n2"}


def test_a_state_has_the_newest_manifest_of_everything_that_exists() -> None:
    world = World(HISTORY)
    assert world.at(9).nodes["n1"].get("version") is None
    assert world.at(10).nodes["n1"]["version"] == 2
    assert world.at(39).pods["default/p"]["version"] == 2
    assert set(world.at(40).nodes) == {"n1"}
    assert set(world.latest().pods) == {"default/default-p"}


def test_states_already_yielded_do_not_change() -> None:
    states = World(HISTORY).states(5, 100)
    first = next(states)
    list(states)
    assert set(first.nodes) == {"n1", "n2"}
    assert first.nodes["n1"].get("version") is None


def test_what_was_deleted_and_created_again_is_there_as_it_is_now() -> None:
    again = [*HISTORY, event("nodes", 60, "n2", "ADDED", version=3)]
    assert "n2" not in World(again).at(59).nodes
    assert World(again).at(60).nodes["n2"]["version"] == 3


def test_events_of_other_resources_are_no_part_of_the_world() -> None:
    assert World([*HISTORY, event("events", 60, "p.1", "ADDED")]).latest().rv == 50


def test_a_world_of_which_nothing_is_known_is_empty() -> None:
    state = World([]).latest()
    assert (state.rv, dict(state.nodes), dict(state.pods)) == (0, {}, {})


def test_a_key_has_the_namespace_of_what_has_one() -> None:
    assert key({"metadata": {"name": "n1"}}) == "n1"
    assert key({"metadata": {"name": "p", "namespace": "default"}}) == "default/p"


# -- any history

# Nothing is judged by its pace.
unhurried = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def event_logs(draw: st.DrawFn) -> list[Record]:
    """Events in the order of their revisions: a list of each resource, then changes that make sense."""
    revision = draw(st.integers(1, 5))
    log, existing = [], set()
    for resource in ("nodes", "pods"):
        for name in sorted(draw(st.sets(st.sampled_from("abc")))):
            log.append(event(resource, revision, name, "LISTED", version=revision))
            existing.add((resource, name))
        revision += draw(st.integers(0, 3))
    for resource, name, delete in draw(
        st.lists(st.tuples(st.sampled_from(["nodes", "pods"]), st.sampled_from("abc"), st.booleans()), max_size=25)
    ):
        revision += draw(st.integers(1, 3))
        target = (resource, name)
        kind = "MODIFIED" if target in existing else "ADDED"
        if delete and target in existing:
            kind = "DELETED"
            existing.remove(target)
        else:
            existing.add(target)
        log.append(event(resource, revision, name, kind, version=revision))
    return log


def naive(log: list[Record], rv: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The world right after a revision, worked out from nothing."""
    world: dict[str, dict[str, Any]] = {"nodes": {}, "pods": {}}
    for one in log:
        if one["rv"] <= rv:
            world[one["resource"]].pop(key(one["object"]), None)
            if one["type"] != "DELETED":
                world[one["resource"]][key(one["object"])] = one["object"]
    return world["nodes"], world["pods"]


@unhurried
@given(event_logs(), st.integers(0, 90))
def test_the_state_at_a_revision_is_what_happened_up_to_it(log: list[Record], rv: int) -> None:
    state = World(log).at(rv)
    assert (dict(state.nodes), dict(state.pods)) == naive(log, rv)


@unhurried
@given(event_logs(), st.integers(0, 90), st.integers(1, 40))
def test_states_are_all_that_were_in_force_between_two_revisions(log: list[Record], first: int, length: int) -> None:
    last = first + length
    states = [(dict(state.nodes), dict(state.pods)) for state in World(log).states(first, last)]
    changes = sorted({one["rv"] for one in log if first < one["rv"] < last})
    assert states == [naive(log, rv) for rv in (first, *changes)]


@unhurried
@given(event_logs(), st.data())
def test_the_order_in_which_different_watches_arrive_means_nothing(log: list[Record], data: st.DataObject) -> None:
    """Each watch keeps its order; one may be far behind the other."""
    queues = {resource: [one for one in log if one["resource"] == resource] for resource in ("nodes", "pods")}
    arrived = []
    while any(queues.values()):
        resource = data.draw(st.sampled_from([name for name, queue in queues.items() if queue]))
        arrived.append(queues[resource].pop(0))
    expected = [(state.rv, state.nodes, state.pods) for state in World(log).states(0, 100)]
    assert [(state.rv, state.nodes, state.pods) for state in World(arrived).states(0, 100)] == expected


# -- what a history tells of it


def test_a_history_knows_its_world_from_the_first_list_on() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    world = h.history().world
    assert set(world.latest().nodes) == set(NODES)
    assert set(world.latest().pods) == {f"{NAMESPACE}/bystander", f"{NAMESPACE}/probe-1"}


def test_a_binding_is_the_first_sight_of_a_pod_on_a_node() -> None:
    h = HistoryBuilder()
    uid = h.pod("probe-1")
    h.bind("probe-1", "node-2")
    bound_at = h.rv
    h.condition("probe-1", status="True")
    binding = h.history().bindings[uid]
    assert (binding.pod, binding.node, binding.rv) == (f"{NAMESPACE}/probe-1", "node-2", bound_at)


def test_a_pod_that_was_created_on_its_node_was_not_bound() -> None:
    h = HistoryBuilder()
    h.pod("filler-1", role="filler", node="node-1")
    h.condition("filler-1", status="True")
    assert not h.history().bindings


def test_a_pod_created_again_under_its_name_has_a_binding_of_its_own() -> None:
    h = HistoryBuilder()
    old = h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.delete("probe-1")
    new = h.pod("probe-1")
    assert list(h.history().bindings) == [old]
    h.bind("probe-1", "node-2")
    bindings = h.history().bindings
    assert {uid: binding.node for uid, binding in bindings.items()} == {old: "node-1", new: "node-2"}


def test_own_pods_are_those_that_bear_one_of_the_candidates_names() -> None:
    h = HistoryBuilder()
    own = h.pod("probe-1")
    second = h.pod("probe-2", scheduler="tested-too")
    history = h.history()
    assert set(history.own_pods()) == {own}
    run = {**history.run, "scheduler_names": [SCHEDULER, "tested-too"]}
    assert set(History([run, *history.records[1:]]).own_pods()) == {own, second}


def test_what_was_shown_after_a_revision_was_not_known_before_it() -> None:
    h = HistoryBuilder()
    start = h.rv
    h.node("node-1", labels={"a": "b"})
    changed = h.rv
    h.pod("settle-1", role="settle")
    h.seen(rv=changed)
    shown = h.rv
    history = h.history()
    assert history.seen_rv(before=shown) == start
    assert history.seen_rv(before=shown + 1) == changed
