"""The state of the cluster in the reference controller."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from .worlds import feasible, modules, node, pod, update, world

Change = modules.world.Change
Pod = modules.pods.Pod


class TestWorld:
    def test_an_assumed_pod_holds_resources_until_the_watch_shows_its_binding(self) -> None:
        there = world([node("n")])
        waiting = pod(requests={"cpu": "3"})
        there.apply(update("pods", waiting))
        there.assume(Pod(waiting), "n")
        assert feasible(pod(requests={"cpu": "2"}), there) == set()
        assert there.apply(update("pods", {**waiting, "status": {"phase": "Pending"}})) is Change.NONE
        assert feasible(pod(requests={"cpu": "2"}), there) == set(), "a late update must not undo the assumption"
        bound = {**waiting, "spec": {**waiting["spec"], "nodeName": "n"}}
        assert there.apply(update("pods", bound)) is Change.NONE
        assert there.node("n").used["cpu"] == 3000
        assert there.apply(update("pods", bound, gone=True)) is Change.ROOM
        assert feasible(pod(requests={"cpu": "2"}), there) == {"n"}

    def test_a_forgotten_assumption_frees_its_resources(self) -> None:
        there = world([node("n")])
        waiting = pod(requests={"cpu": "3"})
        there.apply(update("pods", waiting))
        there.assume(Pod(waiting), "n")
        assert there.forget(Pod(waiting)) is Change.ROOM
        assert feasible(pod(requests={"cpu": "2"}), there) == {"n"}
        assert there.forget(Pod(waiting)) is Change.NONE

    def test_a_pod_that_another_scheduler_bound_counts_on_its_actual_node(self) -> None:
        there = world([node("n"), node("m")])
        waiting = pod(requests={"cpu": "3"})
        there.apply(update("pods", waiting))
        there.assume(Pod(waiting), "n")
        assert there.apply(update("pods", {**waiting, "spec": {**waiting["spec"], "nodeName": "m"}})) is Change.ROOM
        assert feasible(pod(requests={"cpu": "2"}), there) == {"n"}
        assert there.forget(Pod(waiting)) is Change.NONE

    def test_pods_that_are_seen_before_their_node_count(self) -> None:
        there = world([], [pod("other", node="n", requests={"cpu": "3"})])
        assert list(there.nodes) == []
        there.apply(update("nodes", node("n")))
        assert feasible(pod(requests={"cpu": "2"}), there) == set()

    def test_a_recreated_node_has_its_current_state(self) -> None:
        there = world(
            [node("n", labels={"old": "1"}, unschedulable=True)], [pod("other", node="n", requests={"cpu": "3"})]
        )
        there.apply(update("nodes", node("n"), gone=True))
        assert feasible(pod(), there) == set()
        there.apply(update("nodes", node("n", labels={"new": "1"})))
        assert feasible(pod(nodeSelector={"new": "1"}), there) == {"n"}
        assert feasible(pod(nodeSelector={"old": "1"}), there) == set()
        assert feasible(pod(requests={"cpu": "2"}), there) == set()

    def test_changes_are_classified_by_the_pods_that_they_can_help(self) -> None:
        there = world([node("n")])
        assert there.apply(update("nodes", node("m"))) is Change.ROOM
        assert there.apply(update("nodes", node("m"))) is Change.NONE
        heartbeat = node("m")
        heartbeat["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        assert there.apply(update("nodes", heartbeat)) is Change.NONE
        assert there.apply(update("nodes", node("m", unschedulable=True))) is Change.ROOM
        assert there.apply(update("pods", pod("waiting"))) is Change.NONE
        running = pod("running", node="n")
        assert there.apply(update("pods", running)) is Change.COMPANY
        assert there.apply(update("pods", {**running, "status": {"phase": "Running", "podIP": "1"}})) is Change.NONE
        labelled = {**running, "metadata": {**running["metadata"], "labels": {"app": "web"}}}
        assert there.apply(update("pods", labelled)) is Change.COMPANY
        assert there.apply(update("pods", {**labelled, "status": {"phase": "Succeeded"}})) is Change.ROOM
        assert there.apply(update("pods", {**labelled, "status": {"phase": "Succeeded"}}, gone=True)) is Change.NONE

    def test_a_list_removes_missing_objects_and_is_applied_in_order_of_creation(self) -> None:
        there = world(
            [node("n")], [pod("gone", node="n", requests={"cpu": "3"}, uid="1"), pod("stays", node="n", uid="2")]
        )
        young, old = pod("young", uid="3"), pod("old", uid="4")
        young["metadata"]["creationTimestamp"], old["metadata"]["creationTimestamp"] = "2026-02-01", "2026-01-01"
        listed = [young, old, pod("stays", node="n", uid="2")]
        differences = list(there.differences("pods", listed))
        assert [(d.manifest["metadata"]["uid"], d.gone) for d in differences] == [
            ("1", True),
            ("2", False),
            ("4", False),
            ("3", False),
        ]
        for difference in differences:
            there.apply(difference)
        assert there.pods.keys() == {"2", "3", "4"}
        assert there.node("n").used["cpu"] == 0

    @settings(database=None, deadline=None)
    @given(
        st.lists(
            st.tuples(st.integers(0, 2), st.sampled_from(["wait", "a", "b", "done", "gone", "assume", "forget"])),
            max_size=30,
        )
    )
    def test_resources_of_a_node_always_equal_those_of_its_pods(self, steps: list[tuple[int, str]]) -> None:
        there = world([node("a"), node("b")])
        for number, what in steps:
            uid = f"p{number}"
            manifest = pod(uid, uid=uid, requests={"cpu": str(number + 1)}, node=what if what in "ab" else "")
            known = there.pods.get(uid)
            if what == "done":
                manifest["status"] = {"phase": "Succeeded"}
            if what == "assume" and known and known.waits:
                there.assume(known, "a")
            elif what == "forget" and known:
                there.forget(known)
            elif what not in ("assume", "forget"):
                there.apply(update("pods", manifest, gone=what == "gone"))
        for there_node in there.nodes:
            on_it = [p for p in there.pods.values() if there.place(p) == there_node.name]
            assert {p.uid for p in on_it} == there_node.pods.keys()
            assert there_node.used["cpu"] == sum(p.held["cpu"] for p in on_it)
