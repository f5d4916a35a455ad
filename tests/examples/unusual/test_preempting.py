"""The unusual controller that preempts: for what it evicts pods, and who gets the room that is freed."""

from __future__ import annotations

import copy
import time
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes import client

from schedproof.foundation.content import content

from ..loading import load
from ..reference_controller.rig import Rig, bound_to, clock  # noqa: F401 - clock is a fixture
from ..reference_controller.worlds import Manifest, app, modules, node, pod, required

UNUSUAL = content("fixtures", "candidates", "unusual")
preempting_controller = load(UNUSUAL, "preempting_controller", beside=vars(modules)).preempting_controller


@pytest.fixture(autouse=True)
def same_clock(clock: list[Rig], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811 - the fixture
    monkeypatch.setattr(preempting_controller, "time", SimpleNamespace(monotonic=lambda: clock[-1].now, time=time.time))


class Budgeted(preempting_controller.Preempting):  # type: ignore[misc]
    """In a cluster with the PodDisruptionBudgets of the rig."""

    def budgets(self) -> list[Manifest]:
        budgets: list[Manifest] = self._binder.budgets
        return budgets


class PreemptingRig(Rig):
    """Evicted pods terminate: they are on their nodes until a test lets them end."""

    def __init__(self, *nodes: Manifest, pods: list[Manifest] | None = None) -> None:
        super().__init__(*nodes, pods=pods, scheduling=Budgeted)
        self._api = self
        self.evicted: list[str] = []
        self.refuses_evictions = False
        self.budgets: list[Manifest] = []
        self.nominated: list[tuple[str, str | None]] = []

    def patch_namespaced_pod_status(self, _name: str, _namespace: str, body: Manifest, **_: Any) -> Any:
        if "nominatedNodeName" in body["status"]:
            self.nominated.append((body["metadata"]["uid"], body["status"]["nominatedNodeName"]))
        return SimpleNamespace(data=b"")

    def delete_namespaced_pod(self, _name: str, _namespace: str, body: Any, **_: Any) -> Any:
        if self.refuses_evictions:
            raise client.ApiException(status=429, reason="too many requests")
        uid = body.preconditions.uid
        self.evicted.append(uid)
        manifest = copy.deepcopy(self.scheduling.world.pods[uid].manifest)
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.see("pods", manifest)
        return SimpleNamespace(data=b"")

    def end(self, uid: str) -> list[tuple[str, str]]:
        """Let a pod end; return the bindings that follow."""
        self.see("pods", self.scheduling.world.pods[uid].manifest, gone=True)
        return self.run()


def held(uid: str, priority: int, name: str = "a", **more: Any) -> Manifest:
    return pod(uid, uid=uid, node=name, priority=priority, **{"requests": {"cpu": "4"}, **more})


def waiting(uid: str, priority: int, cpu: str = "4", **more: Any) -> Manifest:
    return pod(uid, uid=uid, priority=priority, requests={"cpu": cpu}, **more)


class TestNominations:
    def test_the_room_of_victims_is_kept_for_the_preemptor(self) -> None:
        rig = PreemptingRig(node("a"), pods=[held("victim", 1)])
        assert rig.arrive(waiting("high", 100)) == []
        assert (rig.evicted, rig.nominated) == (["victim"], [("high", "a")])
        # The preemptor rests when the victim ends, and a pod of lower priority does not.
        rig.outcomes = [modules.binding.Outcome.REFUSED]
        assert rig.end("victim") == [("high", "a")]
        assert rig.arrive(waiting("low", 2)) == []
        assert rig.run(after=10) == [("high", "a")]

    def test_a_pod_of_higher_priority_gets_the_room(self) -> None:
        rig = PreemptingRig(node("a"), pods=[held("victim", 1)])
        rig.arrive(waiting("high", 100))
        assert rig.arrive(waiting("higher", 200)) == []
        assert rig.end("victim") == [("higher", "a")]

    def test_pods_that_fit_beside_the_preemptor_are_bound(self) -> None:
        rig = PreemptingRig(node("a", offers={"cpu": "5"}), pods=[held("victim", 1)])
        rig.arrive(waiting("high", 100))
        assert rig.arrive(waiting("large", 2, "2")) == rig.arrive(waiting("small", 2, "1")) == []
        assert rig.end("victim") == [("high", "a"), ("small", "a")]

    def test_the_room_is_free_once_the_preemptor_is_gone(self) -> None:
        rig = PreemptingRig(node("a"), pods=[held("victim", 1)])
        rig.arrive(waiting("high", 100))
        rig.outcomes = [modules.binding.Outcome.REFUSED]
        rig.end("victim")
        assert rig.arrive(waiting("low", 2)) == []
        assert rig.end("high") == [("low", "a")]

    def test_the_room_is_free_once_the_preemptor_is_bound_elsewhere(self) -> None:
        rig = PreemptingRig(node("a"), pods=[held("victim", 1)])
        rig.arrive(waiting("high", 100))
        assert rig.arrive(waiting("low", 2, "1")) == []
        rig.see("nodes", node("b", offers={"cpu": "4"}))
        assert rig.run(after=1) == [("high", "b")]
        assert rig.end("victim") == [("low", "a")]

    def test_a_preemptor_whose_node_no_longer_suffices_preempts_on_another(self) -> None:
        rig = PreemptingRig(node("a"), node("b"), pods=[held("victim", 1), held("dear", 50, "b")])
        rig.arrive(waiting("high", 100))
        rig.see("nodes", node("a", unschedulable=True))
        assert rig.run(after=1) == []
        assert (rig.evicted, rig.nominated[-1]) == (["victim", "dear"], ("high", "b"))

    def test_nothing_is_kept_for_a_pod_that_evictions_no_longer_help(self) -> None:
        rig = PreemptingRig(node("a", labels={"zone": "a"}), pods=[held("victim", 1)])
        rig.arrive(waiting("high", 100, nodeSelector={"zone": "a"}))
        assert rig.end("victim") == [("high", "a")]
        rig = PreemptingRig(node("a", labels={"zone": "a"}), pods=[held("victim", 1)])
        rig.arrive(waiting("high", 100, nodeSelector={"zone": "a"}))
        assert rig.arrive(waiting("low", 2)) == []
        rig.see("nodes", node("a", labels={"zone": "b"}))
        rig.run(after=1)
        assert ("high", None) in rig.nominated
        assert rig.end("victim") == [("low", "a")]

    def test_no_more_pods_are_evicted_while_victims_terminate(self) -> None:
        rig = PreemptingRig(node("a"), pods=[held(uid, 1, requests={"cpu": "2"}) for uid in "12"])
        rig.arrive(waiting("high", 100, "2"))
        assert len(rig.evicted) == 1
        rig.arrive(held("bystander", 0, requests={}))
        rig.see("pods", held("bystander", 0, requests={}), gone=True)
        assert (rig.run(after=20), len(rig.evicted)) == ([], 1)

    def test_a_terminating_pod_elsewhere_does_not_prevent_a_preemption(self) -> None:
        stuck = held("stuck", 1, "b", deleted=True)
        rig = PreemptingRig(node("a"), node("b", unschedulable=True), pods=[held("victim", 1), stuck])
        rig.arrive(waiting("high", 100))
        assert rig.evicted == ["victim"]

    def test_nominations_are_known_after_a_restart(self) -> None:
        high = waiting("high", 100, status={"phase": "Pending", "nominatedNodeName": "a"})
        leaving = held("victim", 1, requests={"cpu": "3"}, deleted=True)
        rig = PreemptingRig(node("a"), pods=[leaving, high, waiting("low", 2, "1")])
        assert (rig.run(), rig.evicted) == ([], [])
        assert rig.end("victim") == [("high", "a")]

    def test_an_eviction_that_was_refused_is_tried_again(self) -> None:
        rig = PreemptingRig(node("a"), pods=[held("victim", 1)])
        rig.refuses_evictions = True
        rig.arrive(waiting("high", 100))
        rig.refuses_evictions = False
        rig.run(after=1)
        assert rig.evicted == ["victim"]


class TestWhatEvictionsHelp:
    @pytest.mark.parametrize(
        ("holder", "preemptor"),
        [
            ({"requests": {"cpu": "4"}}, {"requests": {"cpu": "1"}}),
            ({"ports": [{"hostPort": 80}]}, {"ports": [{"hostPort": 80}]}),
            ({"labels": app("x")["matchLabels"]}, {"affinity": {"podAntiAffinity": required(
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": app("x")})}}),
            ({"affinity": {"podAntiAffinity": required(
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": app("x")})}},
             {"labels": app("x")["matchLabels"]}),
        ],
        ids=["cpu", "host port", "own anti-affinity", "anti-affinity of the other pod"],
    )  # fmt: skip
    def test_a_pod_in_the_way_is_evicted(self, holder: Manifest, preemptor: Manifest) -> None:
        there = [held("victim", 1, **{"requests": {}, **holder}), held("bystander", 1, requests={})]
        rig = PreemptingRig(node("a"), pods=there)
        high = pod("high", uid="high", priority=100, **copy.deepcopy(preemptor))
        assert rig.arrive(high) == []
        assert rig.evicted == ["victim"]
        assert rig.end("victim") == [("high", "a")]

    def test_too_many_pods_are_helped_by_an_eviction(self) -> None:
        rig = PreemptingRig(node("a", offers={"pods": "1"}), pods=[held("victim", 1, requests={})])
        rig.arrive(pod("high", uid="high", priority=100))
        assert rig.evicted == ["victim"]

    def test_topology_spread_is_helped_by_an_eviction(self) -> None:
        spread = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app("x")}
        there = [held("victim", 1, requests={}, labels=app("x")["matchLabels"])]
        rig = PreemptingRig(
            node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, unschedulable=True), pods=there
        )
        rig.arrive(
            pod("high", uid="high", priority=9, labels=app("x")["matchLabels"], topologySpreadConstraints=[spread])
        )
        assert rig.evicted == ["victim"]

    @pytest.mark.parametrize(
        "spec",
        [{"nodeSelector": {"zone": "b"}}, {"preemptionPolicy": "Never"}, {"resourceClaims": [{"name": "x"}]}],
        ids=str,
    )
    def test_nothing_is_evicted_if_that_does_not_help_or_is_not_allowed(self, spec: Manifest) -> None:
        rig = PreemptingRig(node("a"), pods=[held("victim", 1)])
        assert rig.arrive(waiting("high", 100, **spec)) == []
        assert rig.evicted == []

    def test_taints_and_equal_priorities_are_not_overcome(self) -> None:
        taint = {"key": "x", "effect": "NoSchedule"}
        rig = PreemptingRig(node("a", taints=[taint]), node("b"), pods=[held("victim", 1), held("equal", 100, "b")])
        assert rig.arrive(waiting("high", 100)) == []
        assert rig.evicted == []

    def test_bound_pods_of_the_world_are_as_before_once_victims_were_chosen(self) -> None:
        there = [held(uid, 1, requests={"cpu": "1"}) for uid in "1234"]
        rig = PreemptingRig(node("a"), pods=there)
        rig.refuses_evictions = True
        rig.arrive(waiting("high", 100, "2"))
        (only,) = rig.scheduling.world.nodes
        assert sorted(only.pods) == ["1", "2", "3", "4"]
        assert only.used["cpu"] == 4000


class TestBudgets:
    def budget(
        self, allowed: int, *disrupted: str, namespace: str = "default", selector: Manifest | None = None
    ) -> Manifest:
        status = {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, "now")}
        spec = {"selector": app("x") if selector is None else selector}
        return {"metadata": {"namespace": namespace}, "spec": spec, "status": status}

    def evicted(self, *budgets: Manifest) -> list[str]:
        """One of two pods: the less important one has the label of the budgets."""
        labelled = {"requests": {"cpu": "2"}, "labels": app("x")["matchLabels"]}
        rig = PreemptingRig(node("a"), pods=[held("1", 1, **labelled), held("2", 2, requests={"cpu": "2"})])
        rig.budgets = list(budgets)
        rig.arrive(waiting("high", 100, "2"))
        return rig.evicted

    def test_a_pod_whose_budget_allows_no_disruption_is_spared_first(self) -> None:
        assert self.evicted() == ["1"]
        assert self.evicted(self.budget(0)) == ["2"]
        assert self.evicted(self.budget(1)) == ["1"]
        assert self.evicted(self.budget(1), self.budget(0)) == ["2"]

    def test_budgets_of_others_do_not_count(self) -> None:
        assert self.evicted(self.budget(0, namespace="other")) == ["1"]
        assert self.evicted(self.budget(0, selector={})) == ["1"]
        assert self.evicted(self.budget(0, "1")) == ["1"]

    def test_a_budget_that_allows_one_disruption_does_not_allow_two(self) -> None:
        pair = [held(uid, 1, requests={"cpu": "2"}, labels=app("x")["matchLabels"]) for uid in "12"]
        rig = PreemptingRig(node("a"), node("b"), pods=[*pair, held("dear", 50, "b")])
        rig.budgets = [self.budget(1)]
        rig.arrive(waiting("high", 100))
        assert rig.evicted == ["dear"]
