"""The world is replayed by revisions, however its watches were interleaved."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedproof.history.history import History, Seen
from schedproof.history.observations import WatchEvent
from schedproof.history.watched import WatchReader
from schedproof.history.world import World, key

from .histories import NAMESPACE, NODES, SCHEDULER, HistoryBuilder

# -- one event after the other


def event(resource: str, rv: int, name: str, kind: str = "MODIFIED", **fields: Any) -> WatchEvent:
    metadata = {"name": name} if resource == "nodes" else {"name": name, "namespace": "default", "uid": f"{name}-{rv}"}
    return WatchEvent(resource=resource, type=kind, rv=rv, object={"metadata": metadata, **fields})


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


def test_what_a_list_showed_is_there_at_once() -> None:
    assert set(World(HISTORY).at(5).nodes) == {"n1", "n2"}


def test_a_state_has_the_newest_manifest_of_everything_that_exists() -> None:
    world = World(HISTORY)
    assert world.at(9).nodes["n1"].get("version") is None
    assert world.at(10).nodes["n1"]["version"] == 2
    assert world.at(39).pods["default/p"]["version"] == 2
    assert set(world.at(40).nodes) == {"n1"}
    assert set(world.latest().pods) == {"default/default-p"}


def test_a_view_has_nodes_and_pods_of_different_revisions() -> None:
    state = World(HISTORY).view(nodes=39, pods=50)
    assert (set(state.nodes), set(state.pods)) == ({"n1", "n2"}, {"default/default-p"})


def test_the_revisions_of_all_nodes_and_of_all_pods_on_nodes_are_those_at_which_they_change() -> None:
    """A pod that waits changes nothing about where pods are."""
    here = {"spec": {"nodeName": "n1"}}
    world = World([*HISTORY, event("pods", 55, "q", "ADDED"), event("pods", 60, "q", **here), event("pods", 65, "q")])
    assert world.revisions("nodes", 5, 70) == [70, 39, 9]
    assert world.revisions("pods", 5, 70) == [70, 64, 59]
    assert world.revisions("pods", 60, 62) == [62]


def test_the_labels_of_namespaces_are_those_at_the_later_of_both_revisions() -> None:
    """Where no namespace was ever on record, they are not known."""
    assert World(HISTORY).at(50).namespaces is None
    red = event("namespaces", 20, "red", "ADDED")
    red.object["metadata"] = {"name": "red", "labels": {"team": "red"}}
    world = World([*HISTORY, red])
    assert world.at(10).namespaces == {}
    assert world.view(10, 20).namespaces == world.view(20, 10).namespaces == {"red": {"team": "red"}}


def test_the_versions_of_a_node_are_those_from_one_revision_to_another_newest_first() -> None:
    world = World([*HISTORY, event("nodes", 60, "n2", "ADDED", version=3)])
    versions = [(rv, manifest and manifest.get("version", 1)) for rv, manifest in world.node_versions("n2", 5, 70)]
    assert versions == [(70, 3), (59, None), (39, 1)]
    assert world.node_versions("n2", 45, 59) == [(59, None)]
    assert world.node_versions("ghost", 5, 70) == [(70, None)]


def test_what_was_deleted_and_created_again_is_there_as_it_is_now() -> None:
    again = [*HISTORY, event("nodes", 60, "n2", "ADDED", version=3)]
    assert "n2" not in World(again).at(59).nodes
    assert World(again).at(60).nodes["n2"]["version"] == 3


def test_events_of_other_resources_are_no_part_of_the_world() -> None:
    assert World([*HISTORY, event("events", 60, "p.1", "ADDED")]).latest() == World(HISTORY).latest()


def test_a_world_of_which_nothing_is_known_is_empty() -> None:
    state = World([]).latest()
    assert (dict(state.nodes), dict(state.pods)) == ({}, {})


def test_a_key_has_the_namespace_of_what_has_one() -> None:
    assert key({"metadata": {"name": "n1"}}) == "n1"
    assert key({"metadata": {"name": "p", "namespace": "default"}}) == "default/p"


# -- any history

# Nothing is judged by its pace.
unhurried = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def event_logs(draw: st.DrawFn) -> list[WatchEvent]:
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
        where = {"spec": {"nodeName": draw(st.sampled_from(["", "a", "b"]))}} if resource == "pods" else {}
        log.append(event(resource, revision, name, kind, version=revision, **where))
    return log


def naive(log: list[WatchEvent], rv: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The world right after a revision, worked out from nothing."""
    world: dict[str, dict[str, Any]] = {"nodes": {}, "pods": {}}
    for one in log:
        if one.rv <= rv:
            world[one.resource].pop(key(one.object), None)
            if one.type != "DELETED":
                world[one.resource][key(one.object)] = one.object
    return world["nodes"], world["pods"]


@unhurried
@given(event_logs(), st.integers(0, 90))
def test_the_state_at_a_revision_is_what_happened_up_to_it(log: list[WatchEvent], rv: int) -> None:
    state = World(log).at(rv)
    assert (dict(state.nodes), dict(state.pods)) == naive(log, rv)


@unhurried
@given(event_logs(), st.integers(0, 90), st.integers(0, 40), st.sampled_from("abc"))
def test_the_versions_of_a_node_are_all_that_it_had(log: list[WatchEvent], first: int, length: int, name: str) -> None:
    versions = World(log).node_versions(name, first, first + length)
    assert versions[0][0] == first + length
    begins = [first, *(rv + 1 for rv, _ in reversed(versions[1:]))]
    for begin, (end, manifest) in zip(begins, reversed(versions), strict=True):
        assert [naive(log, rv)[0].get(name) for rv in range(begin, end + 1)] == [manifest] * (end + 1 - begin)


@unhurried
@given(event_logs(), st.lists(st.integers(0, 90), max_size=5), st.sampled_from("abc"))
def test_the_company_on_a_node_is_those_who_are_there(log: list[WatchEvent], asked: list[int], node: str) -> None:
    world = World(log)
    for rv in asked:  # in whatever order
        there = {n: pod for n, pod in naive(log, rv)[1].items() if pod.get("spec", {}).get("nodeName") == node}
        assert world.company(node, rv) == there
    changes = world.company_changes(node, 0, 100)
    assert changes[0] == 100
    last = -1
    for end in sorted(changes):
        companies = [world.company(node, rv) for rv in range(max(0, last + 1), end + 1)]
        assert all(company == companies[-1] for company in companies)
        last = end


@unhurried
@given(event_logs(), st.data())
def test_the_order_in_which_different_watches_arrive_means_nothing(log: list[WatchEvent], data: st.DataObject) -> None:
    """Each watch keeps its order; one may be far behind the other."""
    queues = {resource: [one for one in log if one.resource == resource] for resource in ("nodes", "pods")}
    arrived = []
    while any(queues.values()):
        resource = data.draw(st.sampled_from([name for name, queue in queues.items() if queue]))
        arrived.append(queues[resource].pop(0))
    for rv in range(0, 100, 7):
        assert World(arrived).at(rv) == World(log).at(rv)


@unhurried
@given(event_logs(), st.lists(st.integers(0, 30), max_size=6), st.data())
def test_what_was_read_in_parts_is_what_is_read_at_once(
    log: list[WatchEvent], lengths: list[int], data: st.DataObject
) -> None:
    """Also where an event is late within its own watch, and where fewer records are asked for than before."""
    arrived = data.draw(st.permutations(log)) if data.draw(st.booleans()) else log
    for one in arrived:
        one.object.setdefault("spec", {})
    watched, earlier = WatchReader(), []
    for length in [*lengths, len(arrived)]:
        if {(one.resource, one.rv) for one in arrived[:length]} & {(one.resource, one.rv) for one in arrived[length:]}:
            continue  # in the middle of a list
        world, facts = watched.read(arrived, len(arrived[:length]))
        whole = World(arrived[:length])
        earlier.append((world, whole))
        for then, at_once in earlier:  # what is read later changes none of them
            assert [then.at(rv) for rv in (0, 90, 7, 30, 3)] == [at_once.at(rv) for rv in (0, 90, 7, 30, 3)]
            assert then.latest() == at_once.latest()
        _, anew = WatchReader().read(arrived, len(arrived[:length]))
        assert vars(facts) == vars(anew)


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
    run = history.run.model_copy(update={"scheduler_names": [SCHEDULER, "tested-too"]})
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
    assert history.seen_before(shown) == Seen(start, start)
    assert history.seen_before(shown + 1) == Seen(changed, changed)
