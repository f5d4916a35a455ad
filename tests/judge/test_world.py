"""The state of the world at any revision, independent of how the watches were interleaved."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedproof.history.history import History, Seen
from schedproof.history.observations import WatchEvent
from schedproof.history.watched import WatchReader
from schedproof.history.world import ClusterState, key

from .histories import NAMESPACE, NODES, SCHEDULER, HistoryBuilder

# -- single events


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


def test_listed_objects_exist_from_the_revision_of_the_list() -> None:
    assert set(ClusterState(HISTORY).at(5).nodes) == {"n1", "n2"}


def test_state_has_the_newest_manifest_of_every_existing_object() -> None:
    world = ClusterState(HISTORY)
    assert world.at(9).nodes["n1"].get("version") is None
    assert world.at(10).nodes["n1"]["version"] == 2
    assert world.at(39).pods["default/p"]["version"] == 2
    assert set(world.at(40).nodes) == {"n1"}
    assert set(world.latest().pods) == {"default/default-p"}


def test_view_has_nodes_and_pods_of_different_revisions() -> None:
    state = ClusterState(HISTORY).view(nodes=39, pods=50)
    assert (set(state.nodes), set(state.pods)) == ({"n1", "n2"}, {"default/default-p"})


def test_revisions_are_those_between_changes_of_nodes_or_bound_pods() -> None:
    """A pending pod does not change the pods of any node."""
    here = {"spec": {"nodeName": "n1"}}
    world = ClusterState(
        [*HISTORY, event("pods", 55, "q", "ADDED"), event("pods", 60, "q", **here), event("pods", 65, "q")]
    )
    assert world.revisions("nodes", 5, 70) == [70, 39, 9]
    assert world.revisions("pods", 5, 70) == [70, 64, 59]
    assert world.revisions("pods", 60, 62) == [62]


def test_namespaces_are_those_of_the_later_revision() -> None:
    """Namespaces are unknown if none was ever recorded."""
    assert ClusterState(HISTORY).at(50).namespaces is None
    red = event("namespaces", 20, "red", "ADDED")
    red.object["metadata"] = {"name": "red", "labels": {"team": "red"}}
    world = ClusterState([*HISTORY, red])
    assert world.at(10).namespaces == {}
    assert world.view(10, 20).namespaces == world.view(20, 10).namespaces == {"red": {"team": "red"}}


def test_versions_of_a_node_between_two_revisions_are_newest_first() -> None:
    world = ClusterState([*HISTORY, event("nodes", 60, "n2", "ADDED", version=3)])
    versions = [(rv, manifest and manifest.get("version", 1)) for rv, manifest in world.node_versions("n2", 5, 70)]
    assert versions == [(70, 3), (59, None), (39, 1)]
    assert world.node_versions("n2", 45, 59) == [(59, None)]
    assert world.node_versions("ghost", 5, 70) == [(70, None)]


def test_recreated_node_has_its_new_manifest() -> None:
    again = [*HISTORY, event("nodes", 60, "n2", "ADDED", version=3)]
    assert "n2" not in ClusterState(again).at(59).nodes
    assert ClusterState(again).at(60).nodes["n2"]["version"] == 3


def test_events_of_other_resources_do_not_change_the_world() -> None:
    assert ClusterState([*HISTORY, event("events", 60, "p.1", "ADDED")]).latest() == ClusterState(HISTORY).latest()


def test_world_without_events_is_empty() -> None:
    state = ClusterState([]).latest()
    assert (dict(state.nodes), dict(state.pods)) == ({}, {})


def test_key_has_the_namespace_of_a_namespaced_object() -> None:
    assert key({"metadata": {"name": "n1"}}) == "n1"
    assert key({"metadata": {"name": "p", "namespace": "default"}}) == "default/p"


# -- any history

# Shared machines are slow, so no test has a deadline.
unhurried = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def event_logs(draw: st.DrawFn) -> list[WatchEvent]:
    """Events in the order of their revisions: a list of each resource, then consistent changes."""
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
    """The world right after a revision, computed from all events."""
    world: dict[str, dict[str, Any]] = {"nodes": {}, "pods": {}}
    for event_ in log:
        if event_.rv <= rv:
            world[event_.resource].pop(key(event_.object), None)
            if event_.type != "DELETED":
                world[event_.resource][key(event_.object)] = event_.object
    return world["nodes"], world["pods"]


@unhurried
@given(event_logs(), st.integers(0, 90))
def test_state_at_a_revision_reflects_all_events_up_to_it(log: list[WatchEvent], rv: int) -> None:
    state = ClusterState(log).at(rv)
    assert (dict(state.nodes), dict(state.pods)) == naive(log, rv)


@unhurried
@given(event_logs(), st.integers(0, 90), st.integers(0, 40), st.sampled_from("abc"))
def test_versions_of_a_node_cover_all_its_states(log: list[WatchEvent], first: int, length: int, name: str) -> None:
    versions = ClusterState(log).node_versions(name, first, first + length)
    assert versions[0][0] == first + length
    begins = [first, *(rv + 1 for rv, _ in reversed(versions[1:]))]
    for begin, (end, manifest) in zip(begins, reversed(versions), strict=True):
        assert [naive(log, rv)[0].get(name) for rv in range(begin, end + 1)] == [manifest] * (end + 1 - begin)


@unhurried
@given(event_logs(), st.lists(st.integers(0, 90), max_size=5), st.sampled_from("abc"))
def test_company_of_a_node_is_the_pods_bound_to_it(log: list[WatchEvent], asked: list[int], node: str) -> None:
    world = ClusterState(log)
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
def test_interleaving_of_watches_does_not_matter(log: list[WatchEvent], data: st.DataObject) -> None:
    """Each watch keeps its order, but may be far behind the other."""
    queues = {resource: [event_ for event_ in log if event_.resource == resource] for resource in ("nodes", "pods")}
    arrived = []
    while any(queues.values()):
        resource = data.draw(st.sampled_from([name for name, queue in queues.items() if queue]))
        arrived.append(queues[resource].pop(0))
    for rv in range(0, 100, 7):
        assert ClusterState(arrived).at(rv) == ClusterState(log).at(rv)


@unhurried
@given(event_logs(), st.lists(st.integers(0, 30), max_size=6), st.data())
def test_incremental_reading_gives_the_same_world_as_a_full_read(
    log: list[WatchEvent], lengths: list[int], data: st.DataObject
) -> None:
    """Including late events within a watch, and reads of fewer records than before."""
    arrived = data.draw(st.permutations(log)) if data.draw(st.booleans()) else log
    for event_ in arrived:
        event_.object.setdefault("spec", {})
    watched, earlier = WatchReader(), []
    for length in [*lengths, len(arrived)]:
        if {(event_.resource, event_.rv) for event_ in arrived[:length]} & {
            (event_.resource, event_.rv) for event_ in arrived[length:]
        }:
            continue  # in the middle of a list
        world, facts = watched.read(arrived, len(arrived[:length]))
        expected = ClusterState(arrived[:length])
        earlier.append((world, expected))
        for then, at_once in earlier:  # what is read later changes none of them
            assert [then.at(rv) for rv in (0, 90, 7, 30, 3)] == [at_once.at(rv) for rv in (0, 90, 7, 30, 3)]
            assert then.latest() == at_once.latest()
        _, anew = WatchReader().read(arrived, len(arrived[:length]))
        assert vars(facts) == vars(anew)


# -- facts derived from a history


def test_history_has_its_world_from_the_first_list_on() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    world = h.history().world
    assert set(world.latest().nodes) == set(NODES)
    assert set(world.latest().pods) == {f"{NAMESPACE}/bystander", f"{NAMESPACE}/probe-1"}


def test_binding_is_the_first_event_with_the_pod_on_a_node() -> None:
    h = HistoryBuilder()
    uid = h.pod("probe-1")
    h.bind("probe-1", "node-2")
    bound_at = h.rv
    h.condition("probe-1", status="True")
    binding = h.history().bindings[uid]
    assert (binding.pod, binding.node, binding.rv) == (f"{NAMESPACE}/probe-1", "node-2", bound_at)


def test_pod_created_with_a_node_has_no_binding() -> None:
    h = HistoryBuilder()
    h.pod("filler-1", role="filler", node="node-1")
    h.condition("filler-1", status="True")
    assert not h.history().bindings


def test_recreated_pod_has_its_own_binding() -> None:
    h = HistoryBuilder()
    old = h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.delete("probe-1")
    new = h.pod("probe-1")
    assert list(h.history().bindings) == [old]
    h.bind("probe-1", "node-2")
    bindings = h.history().bindings
    assert {uid: binding.node for uid, binding in bindings.items()} == {old: "node-1", new: "node-2"}


def test_own_pods_are_those_with_a_scheduler_name_of_the_candidate() -> None:
    h = HistoryBuilder()
    own = h.pod("probe-1")
    second = h.pod("probe-2", scheduler="tested-too")
    history = h.history()
    assert set(history.own_pods()) == {own}
    run = history.run.model_copy(update={"scheduler_names": [SCHEDULER, "tested-too"]})
    assert set(History([run, *history.records[1:]]).own_pods()) == {own, second}


def test_view_shown_at_a_revision_does_not_count_before_it() -> None:
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
