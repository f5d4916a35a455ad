"""The reference controller's loop: its decisions on pods, with a simulated apiserver, Prometheus and clock."""

from __future__ import annotations

from typing import Any

import pytest

from .rig import BOUND, REFUSED, UNKNOWN, Rig, bound_to, clock  # noqa: F401 - clock is a fixture
from .worlds import Manifest, app, modules, node, pod, required, update


class TestPlacing:
    def test_the_quietest_node_gets_the_pod_after_a_single_query(self) -> None:
        rig = Rig(node("a"), node("b"), node("c"))
        rig.traffic = {"a": 300.0, "b": 100.0, "c": 200.0}
        assert rig.arrive(pod(uid="1")) == [("1", "b")]
        assert (rig.queries, rig.events) == (1, [("1", "Scheduled")])

    def test_an_infeasible_node_is_not_chosen_however_little_its_traffic(self) -> None:
        rig = Rig(node("a"), node("b", unschedulable=True), node("c"))
        rig.traffic = {"a": 300.0, "b": 100.0, "c": 200.0}
        assert rig.arrive(pod(uid="1")) == [("1", "c")]

    def test_a_single_feasible_node_is_chosen_without_a_query(self) -> None:
        rig = Rig(node("a"))
        assert rig.arrive(pod(uid="1")) == [("1", "a")]
        assert rig.queries == 0

    def test_nothing_is_decided_before_all_resources_are_listed(self) -> None:
        rig = Rig(node("a"))
        listings = [rig.inbox.get() for _ in range(3)]
        for number, listing in enumerate(listings):
            assert rig.scheduling.ready is False
            rig.inbox.put(listing)
            if number < 2:
                rig.see("pods", pod(uid="1"))
            assert rig.run() == ([("1", "a")] if number == 2 and listing.kind != "pods" else [])
        assert rig.scheduling.ready is True

    @pytest.mark.parametrize(
        "manifest",
        [
            pod(schedulerName="other"),
            pod(node="a"),
            pod(deleted=True),
            pod(schedulingGates=[{"name": "wait"}]),
            pod(status={"phase": "Failed"}),
        ],
    )
    def test_pods_that_need_no_scheduling_are_ignored(self, manifest: Manifest) -> None:
        rig = Rig(node("a"))
        assert (rig.arrive(manifest), rig.conditions) == ([], [])

    def test_a_burst_does_not_overcommit_before_the_watch_shows_the_bindings(self) -> None:
        rig = Rig(node("a"), node("b"))
        for number in range(6):
            rig.see("pods", pod(uid=str(number), requests={"cpu": "2"}))
        assert sorted(name for _, name in rig.run()) == ["a", "a", "b", "b"]
        assert [uid for uid, _ in rig.conditions] == ["4", "5"]

    def test_pods_of_higher_priority_are_scheduled_before_older_pods(self) -> None:
        rig = Rig(node("a"))
        for uid, priority in (("old", 0), ("important", 10), ("young", 0)):
            rig.see("pods", pod(uid=uid, priority=priority))
        assert [uid for uid, _ in rig.run()] == ["important", "old", "young"]

    def test_late_updates_of_a_bound_pod_cause_no_second_binding(self) -> None:
        rig = Rig(node("a"))
        manifest = pod(uid="1")
        rig.arrive(manifest)
        assert rig.arrive({**manifest, "metadata": {**manifest["metadata"], "labels": {"late": "1"}}}) == []
        rig.inbox.put(modules.watching.Listing("pods", [manifest]))
        assert rig.run(after=60) == []
        assert rig.arrive(bound_to(manifest, "a")) == []

    def test_a_recreated_pod_is_scheduled_as_a_new_pod(self) -> None:
        rig = Rig(node("a", offers={"cpu": "1"}))
        old, new = pod("same", uid="old", requests={"cpu": "2"}), pod("same", uid="new")
        rig.arrive(old)
        rig.see("pods", old, gone=True)
        assert rig.arrive(new) == [("new", "a")]


class TestChangesWhileDeciding:
    """Events that the watches deliver during the query count."""

    def test_a_pod_that_is_deleted_during_the_query_is_not_bound(self) -> None:
        rig = Rig(node("a"), node("b"))
        manifest = pod(uid="1")
        rig.during_query = [update("pods", manifest, gone=True)]
        assert (rig.arrive(manifest), rig.queries) == ([], 1)

    def test_a_node_that_is_deleted_or_cordoned_during_the_query_is_not_chosen(self) -> None:
        rig = Rig(node("a"), node("b"), node("c"))
        rig.traffic = {"a": 100.0, "b": 200.0, "c": 300.0}
        rig.during_query = [update("nodes", node("a"), gone=True), update("nodes", node("b", unschedulable=True))]
        assert rig.arrive(pod(uid="1")) == [("1", "c")]

    def test_a_pod_whose_last_node_is_deleted_during_the_query_waits(self) -> None:
        rig = Rig(node("a"), node("b"))
        rig.during_query = [update("nodes", node(name), gone=True) for name in "ab"]
        assert rig.arrive(pod(uid="1")) == []
        rig.see("nodes", node("b"))
        assert rig.run() == [("1", "b")]


class TestUnschedulable:
    def test_the_condition_of_an_unschedulable_pod_is_written_again_only_if_the_reason_changes(self) -> None:
        rig = Rig(node("a"))
        rig.arrive(pod(uid="1", requests={"cpu": "8"}))
        message = "Unschedulable: 0/1 nodes are available: 1 insufficient cpu"
        assert (rig.conditions, rig.events) == ([("1", message)], [("1", "FailedScheduling")])
        rig.see("nodes", node("a", labels={"changed": "1"}))
        rig.run(after=60)
        assert len(rig.conditions) == 1
        rig.see("nodes", node("b"))
        rig.run(after=60)
        assert rig.conditions[1:] == [("1", "Unschedulable: 0/2 nodes are available: 2 insufficient cpu")]

    def test_a_changed_reason_is_written_at_most_once_in_a_backoff(self) -> None:
        rig = Rig(node("a"))
        rig.arrive(pod(uid="1", requests={"cpu": "8"}))
        for number in range(20):
            rig.see("nodes", node(f"more-{number}"))
            rig.run(after=0.01)
        assert len(rig.conditions) == 1
        rig.run(after=1.0)
        assert rig.conditions[1:] == [("1", "Unschedulable: 0/21 nodes are available: 21 insufficient cpu")]

    def test_an_unschedulable_pod_is_not_retried_without_a_change(self) -> None:
        rig = Rig(node("a"))
        rig.arrive(pod(uid="1", requests={"cpu": "8"}))
        assert rig.scheduling.backlog.sleeps_until() is None

    def test_the_controller_s_own_condition_does_not_cause_a_retry(self) -> None:
        rig = Rig(node("a"))
        manifest = pod(uid="1", requests={"cpu": "8"})
        rig.arrive(manifest)
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "..."}
        rig.see("pods", {**manifest, "status": {"phase": "Pending", "conditions": [condition]}})
        rig.scheduling.absorb(wait=False)
        assert rig.scheduling.step() is False

    def test_without_nodes_a_pod_is_unschedulable_until_a_node_is_added(self) -> None:
        rig = Rig()
        assert rig.arrive(pod(uid="1")) == []
        assert rig.conditions == [("1", "Unschedulable: 0/0 nodes are available")]
        rig.see("nodes", node("a"))
        assert rig.run() == [("1", "a")]

    def test_an_unschedulable_pod_does_not_block_other_pods(self) -> None:
        rig = Rig(node("a"))
        rig.see("pods", pod(uid="large", requests={"cpu": "8"}, priority=100))
        rig.see("pods", pod(uid="small"))
        assert rig.run() == [("small", "a")]

    @pytest.mark.parametrize(
        ("before", "spec", "change"),
        [
            (node("a", offers={"cpu": "1"}), {"requests": {"cpu": "2"}}, update("nodes", node("a"))),
            (node("a", unschedulable=True), {}, update("nodes", node("a"))),
            (node("a", taints=[{"key": "k", "effect": "NoSchedule"}]), {}, update("nodes", node("a"))),
            (node("a"), {"nodeSelector": {"new": "1"}}, update("nodes", node("a", labels={"new": "1"}))),
            (node("b", unschedulable=True), {}, update("nodes", node("a"))),
        ],
    )
    def test_a_change_of_nodes_retries_an_unschedulable_pod_at_once(
        self, before: Manifest, spec: Any, change: Any
    ) -> None:
        rig = Rig(before)
        assert rig.arrive(pod(uid="1", **spec)) == []
        rig.inbox.put(change)
        assert rig.run() == [("1", "a")]

    def test_a_deleted_or_finished_pod_retries_an_unschedulable_pod_at_once(self) -> None:
        others = [pod(f"other-{number}", node="a", requests={"cpu": "2"}) for number in range(2)]
        rig = Rig(node("a"), pods=others)
        assert rig.arrive(pod(uid="1", requests={"cpu": "2"})) == []
        rig.see("pods", others[0], gone=True)
        assert rig.run() == [("1", "a")]
        assert rig.arrive(pod(uid="2", requests={"cpu": "2"})) == []
        assert rig.arrive({**others[1], "status": {"phase": "Succeeded"}}) == [("2", "a")]

    def test_a_pod_that_meets_an_affinity_retries_an_unschedulable_pod_at_once(self) -> None:
        rig = Rig(node("a"))
        near = {"podAffinity": required({"topologyKey": "kubernetes.io/hostname", "labelSelector": app("web")})}
        assert rig.arrive(pod(uid="1", affinity=near)) == []
        assert rig.arrive(pod(uid="web", labels={"app": "web"})) == [("web", "a"), ("1", "a")]

    def test_removed_scheduling_gates_schedule_a_pod_at_once(self) -> None:
        rig = Rig(node("a"))
        gated = pod(uid="1", schedulingGates=[{"name": "wait"}])
        assert rig.arrive(gated) == []
        assert rig.arrive({**gated, "spec": {**gated["spec"], "schedulingGates": []}}) == [("1", "a")]

    def test_freed_resources_go_to_the_pod_of_higher_priority(self) -> None:
        other = pod("other", node="a", requests={"cpu": "4"})
        rig = Rig(node("a"), pods=[other])
        for uid, priority in (("lesser", 0), ("greater", 10)):
            assert rig.arrive(pod(uid=uid, priority=priority, requests={"cpu": "4"})) == []
        rig.see("pods", other, gone=True)
        assert rig.run() == [("greater", "a")]


class TestFailedBindings:
    def test_a_refused_binding_is_retried_after_its_backoff_and_a_read_of_the_pod(self) -> None:
        rig = Rig(node("a"))
        rig.outcomes = [REFUSED]
        assert rig.arrive(pod(uid="1")) == [("1", "a")]
        assert rig.run(after=0.9) == []
        assert rig.run(after=0.2) == [("1", "a")]
        assert (rig.looks, rig.conditions) == (1, [("1", "SchedulerError: binding to a failed: said no")])

    def test_a_refused_binding_frees_its_resources_at_once(self) -> None:
        rig = Rig(node("a"))
        rig.outcomes = [REFUSED]
        rig.arrive(pod(uid="1", requests={"cpu": "3"}))
        assert rig.arrive(pod(uid="2", requests={"cpu": "3"})) == [("2", "a")]

    def test_changes_of_nodes_do_not_shorten_the_backoff_of_a_refused_binding(self) -> None:
        rig = Rig(node("a"))
        rig.outcomes = [REFUSED] * 3
        rig.arrive(pod(uid="1"))
        for number in range(20):
            rig.see("nodes", node(f"more-{number}"))
            assert rig.run(after=0.01) == []

    @pytest.mark.parametrize("outcome", [REFUSED, UNKNOWN, RuntimeError("a bug")])
    def test_a_failed_binding_that_took_effect_is_not_repeated(self, outcome: Any) -> None:
        rig = Rig(node("a"))
        manifest = pod(uid="1")
        rig.outcomes = [outcome]
        rig.looked_at["1"] = bound_to(manifest, "a")
        rig.arrive(manifest)
        assert rig.run(after=60) == []
        assert (rig.looks, rig.conditions) == (1, [])
        assert rig.arrive(bound_to(manifest, "a")) == []

    def test_a_binding_of_unknown_outcome_holds_its_resources(self) -> None:
        rig = Rig(node("a"))
        manifest = pod(uid="1", requests={"cpu": "3"})
        rig.outcomes = [UNKNOWN]
        rig.arrive(manifest)
        assert rig.arrive(pod(uid="2", requests={"cpu": "3"})) == []
        assert rig.arrive({**manifest, "metadata": {**manifest["metadata"], "labels": {"late": "1"}}}) == []
        # The look shows that it was not: whose turn it is then, gets the room.
        assert len(rig.run(after=1.0)) == 1

    @pytest.mark.parametrize("shown", [None, pod(deleted=True)])
    def test_a_deleted_or_terminating_pod_is_not_retried(self, shown: Manifest | None) -> None:
        rig = Rig(node("a"))
        rig.outcomes = [REFUSED]
        rig.looked_at["1"] = shown
        rig.arrive(pod(uid="1"))
        assert rig.run(after=60) == []

    def test_a_pod_of_unknown_binding_is_not_retried_while_it_cannot_be_read(self) -> None:
        rig = Rig(node("a"))
        rig.outcomes = [UNKNOWN]
        rig.arrive(pod(uid="1"))
        look, broken = rig.look, OSError("no connection")

        def fail(_: Any) -> None:
            raise broken

        rig.look = fail  # type: ignore[method-assign,assignment]
        assert rig.run(after=1.0) == []
        assert rig.run(after=2.0) == []
        rig.look = look  # type: ignore[method-assign]
        assert rig.run(after=4.0) == [("1", "a")]

    def test_an_error_with_a_pod_does_not_block_other_pods(self) -> None:
        rig = Rig(node("a"))
        rig.outcomes = [RuntimeError("a bug")]
        rig.see("pods", pod(uid="1"))
        rig.see("pods", pod(uid="2"))
        assert rig.run() == [("1", "a"), ("2", "a")]
        assert rig.run(after=1.0) == [("1", "a")]


class TestReadings:
    def test_without_prometheus_pods_are_scheduled_or_wait_according_to_on_outage(self) -> None:
        rig = Rig(node("a"), node("b"))
        rig.outage = "Prometheus cannot be read"
        assert len(rig.arrive(pod())) == 1
        rig = Rig(node("a"), node("b"), on_outage="wait")
        rig.outage = "Prometheus cannot be read"
        assert rig.arrive(pod(uid="1")) == []
        assert "Prometheus cannot be read" in rig.conditions[0][1]
        rig.outage = ""
        assert rig.run(after=1.0) == [("1", rig.bound[0][1])]

    def test_with_on_missing_reject_a_node_is_infeasible_until_it_has_a_reading(self) -> None:
        rig = Rig(node("a"), on_missing="reject")
        rig.traffic = {"elsewhere": 1.0}
        assert rig.arrive(pod(uid="1")) == []
        assert rig.conditions == [("1", "Unschedulable: 0/1 nodes are available: 1 no reading of its traffic")]
        rig.traffic = {"a": 1.0}
        assert rig.run(after=1.0) == [("1", "a")]

    def test_a_decision_is_one_query_for_any_number_of_nodes(self) -> None:
        rig = Rig(*(node(f"n{number}") for number in range(50)))
        rig.arrive(pod())
        assert rig.queries == 1


class TestRestart:
    def test_after_a_restart_pending_pods_are_scheduled_oldest_first_and_bound_pods_are_ignored(self) -> None:
        pods = [pod(uid="bound", node="a"), pod(uid="young"), pod(uid="old"), pod(schedulerName="other")]
        for manifest, created in zip(pods, ("2026-01-01", "2026-01-03", "2026-01-02", "2026-01-01"), strict=True):
            manifest["metadata"]["creationTimestamp"] = created
        assert Rig(node("a"), pods=pods).run() == [("old", "a"), ("young", "a")]

    def test_after_a_restart_an_unchanged_condition_is_not_written_again(self) -> None:
        message = "0/1 nodes are available: 1 insufficient cpu"
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        waiting = pod(uid="1", requests={"cpu": "8"}, status={"phase": "Pending", "conditions": [condition]})
        rig = Rig(node("a"), pods=[waiting])
        rig.run()
        assert (rig.conditions, rig.events) == ([], [])
