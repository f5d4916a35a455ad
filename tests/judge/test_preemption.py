"""core/preemption-*: which pods are evicted, for which preemptor, and whether the preemptor is bound."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .histories import CLAIMS, HARNESS_USER, HistoryBuilder

SPARES, CONDITION = "core/preemption-spares", "core/preemption-condition"
CLAIMED = dataclasses.replace(CLAIMS, features=("preemption",))
HERE = {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}


def contest(case: str = SPARES, *, roles: dict[str, str] | None = None, **holders: tuple[int, int]) -> HistoryBuilder:
    """A node with four CPUs and pods on it, given by name as (priority, CPUs)."""
    h = HistoryBuilder(case, claims=CLAIMED)
    h.node("node-1", cpu="4")
    h.seen()
    for name, (priority, cpus) in holders.items():
        h.pod(name, role=(roles or {}).get(name, "holder"), cpu=str(cpus), priority=priority, **HERE)
        h.bind(name, "node-1")
        h.expect(name, "bound")
    return h


def evict(h: HistoryBuilder, *names: str, told: bool = True, **request: Any) -> None:
    for name in names:
        if told:
            h.conditions(name, [{"type": "DisruptionTarget", "status": "True"}])
        h.request("delete", "pods", name, **request)
        h.delete(name)


def add_preemptor(h: HistoryBuilder, priority: int = 1000, cpus: int = 3, **more: Any) -> None:
    h.pod("p", role="preemptor", cpu=str(cpus), priority=priority, **HERE, **more)


def bind_preemptor(h: HistoryBuilder, node: str = "node-1") -> HistoryBuilder:
    h.bind("p", node)
    h.expect("p", "bound")
    return h


def leave_pending(h: HistoryBuilder) -> HistoryBuilder:
    h.fence()
    h.expect("p", "pending")
    return h


def evicted(*names: str, **options: Any) -> HistoryBuilder:
    h = contest(small=(10, 1), large=(20, 3))
    add_preemptor(h)
    evict(h, *names, **options)
    return h


def test_necessary_eviction_and_a_bound_preemptor_pass() -> None:
    assert bind_preemptor(evicted("large")).verdict().outcome == "passed"


@pytest.mark.parametrize("names", [("small", "large"), ("large", "small")])
def test_unnecessary_eviction_fails(names: tuple[str, ...]) -> None:
    assert bind_preemptor(evicted(*names)).verdict().outcome == "failed"


def test_two_necessary_evictions_pass() -> None:
    h = contest(a=(10, 2), b=(20, 2))
    add_preemptor(h)
    evict(h, "a", "b")
    assert bind_preemptor(h).verdict().outcome == "passed"


def test_unbound_preemptor_fails_with_or_without_evictions() -> None:
    for names in ((), ("large",)):
        h = evicted(*names)
        h.expect("p", "bound")
        assert h.verdict().outcome == "failed"


@pytest.mark.parametrize(
    ("priority", "more"), [(20, {}), (5, {}), (1000, {"preemptionPolicy": "Never"})], ids=["equal", "lower", "never"]
)
def test_eviction_for_a_pod_that_may_not_preempt_fails(priority: int, more: dict[str, Any]) -> None:
    h = contest(large=(20, 3))
    add_preemptor(h, priority, **more)
    assert leave_pending(h).verdict().outcome == "passed"
    h = contest(large=(20, 3))
    add_preemptor(h, priority, **more)
    evict(h, "large")
    assert bind_preemptor(h).verdict().outcome == "failed"


def test_eviction_from_another_node_fails() -> None:
    h = contest(large=(20, 3))
    h.node("node-2", cpu="4")
    h.pod("other", role="holder", cpu="1", priority=10)
    h.bind("other", "node-2")
    h.expect("other", "bound")
    add_preemptor(h)
    evict(h, "large", "other")
    assert bind_preemptor(h).verdict().outcome == "failed"


def test_eviction_of_a_protected_pod_fails_if_another_pod_suffices() -> None:
    h = contest(roles={"kept": "protected"}, kept=(10, 2), other=(20, 2))
    add_preemptor(h, cpus=2)
    evict(h, "kept")
    assert bind_preemptor(h).verdict("core/preemption-spares").outcome == "failed"


@pytest.mark.parametrize("request_", [{"by": HARNESS_USER}, {"code": 403}, {"dry_run": True}], ids=str)
def test_deletions_by_others_and_refused_deletions_are_no_evictions(request_: dict[str, Any]) -> None:
    assert bind_preemptor(evicted("large", **request_)).verdict().outcome == "invalid"


def test_evictions_by_the_eviction_subresource_count() -> None:
    h = contest(small=(10, 1), large=(20, 3))
    add_preemptor(h)
    for name in ("small", "large"):
        h.request("create", "pods/eviction", name, code=201)
        h.delete(name)
    assert bind_preemptor(h).verdict().outcome == "failed"


def test_history_without_a_preemptor_is_invalid() -> None:
    assert contest(small=(10, 1)).verdict().outcome == "invalid"


@pytest.mark.parametrize(("told", "outcome"), [(True, "passed"), (False, "failed")])
def test_evicted_pod_must_have_the_disruption_target_condition(told: bool, outcome: str) -> None:
    h = contest(CONDITION, large=(20, 3))
    add_preemptor(h)
    evict(h, "large", told=told)
    assert bind_preemptor(h).verdict().outcome == outcome


def test_disruption_target_condition_that_was_reset_counts() -> None:
    h = contest(CONDITION, large=(20, 3))
    add_preemptor(h)
    h.conditions("large", [{"type": "DisruptionTarget", "status": "True"}])
    h.conditions("large", [{"type": "DisruptionTarget", "status": "False"}])
    evict(h, "large", told=False)
    assert bind_preemptor(h).verdict().outcome == "passed"


def test_conditions_of_a_failed_preemption_are_invalid() -> None:
    h = contest(CONDITION, large=(20, 3))
    add_preemptor(h)
    h.expect("p", "bound")
    assert h.verdict().outcome == "invalid"


LOWER = "core/preemption-lower"


def terminating(h: HistoryBuilder, name: str, *, grace: int = 0, given: int = 0) -> None:
    """Evict a pod that stays until it is deleted. `grace`, `given`: seconds that it has, and that the request left."""
    h._pods[name]["spec"]["terminationGracePeriodSeconds"] = grace
    h.request("delete", "pods", name)
    h._pods[name]["metadata"]["deletionGracePeriodSeconds"] = given
    h.terminate(name)


@pytest.mark.parametrize(
    ("spec", "outcome"),
    [({}, "passed"), ({"cpus": 4}, "failed"), ({"nodeSelector": {"absent": "yes"}}, "failed")],
    ids=["fits", "too-large", "not-selected"],
)
def test_eviction_fails_if_no_pod_that_waits_fits_without_pods_of_lower_priority(
    spec: dict[str, Any], outcome: str
) -> None:
    h = contest(LOWER, high=(1000, 1), low=(10, 3))
    h.seen()
    h.pod("p", **{"role": "preemptor", "cpu": str(spec.pop("cpus", 3)), "priority": 500, **HERE, **spec})
    evict(h, "low")
    finished = bind_preemptor(h) if outcome == "passed" else leave_pending(h)
    verdict = finished.verdict()
    assert (verdict.outcome, verdict.code) == (outcome, "needless-eviction" if outcome == "failed" else "")


def test_eviction_that_made_room_before_another_pod_took_it_passes() -> None:
    h = contest(LOWER, low=(10, 3))
    h.seen()
    add_preemptor(h, 500)
    h.pod("rival", role="filler", scheduler="others", cpu="4", priority=2000)
    h.place("rival", "node-1")  # the candidate may not have seen it
    evict(h, "low")
    assert leave_pending(h).verdict().code != "needless-eviction"


@pytest.mark.parametrize(("seconds", "outcome"), [(1, ""), (5, "needless-eviction")])
def test_eviction_while_earlier_victims_make_enough_room_fails_once_that_is_known(seconds: float, outcome: str) -> None:
    h = contest(LOWER, first=(10, 3), second=(10, 1))
    add_preemptor(h, cpus=1)
    terminating(h, "first")
    h.pass_time(seconds)
    h.seen()
    terminating(h, "second")
    h.delete("first")
    h.delete("second")
    assert ("earlier victims" in bind_preemptor(h).verdict().summary) == bool(outcome)


def test_eviction_for_a_second_pod_while_victims_of_the_first_terminate_passes() -> None:
    h = contest(LOWER, first=(10, 3), second=(10, 1))
    add_preemptor(h, cpus=3)
    terminating(h, "first")
    h.pass_time(5)
    h.seen()
    h.pod("q", role="preemptor", cpu="1", priority=1000, **HERE)
    terminating(h, "second")
    h.delete("first")
    h.delete("second")
    bind_preemptor(h)
    h.bind("q", "node-1")
    assert h.verdict("core/all-accounted").outcome == "passed"


def test_eviction_that_helps_no_pod_fails_whatever_is_tried() -> None:
    h = contest("core/fit-cpu", high=(1000, 1), low=(10, 3))
    h.seen()
    add_preemptor(h, 500, cpus=4)
    h.condition("p", reason="Unschedulable")
    evict(h, "low")
    verdict = h.verdict("core/all-accounted")
    assert (verdict.outcome, verdict.code) == ("failed", "pod-removed")


@pytest.mark.parametrize(("grace", "given", "code"), [(30, 30, ""), (0, 0, ""), (30, 0, "grace-period-shortened")])
def test_victims_keep_their_grace_period(grace: int, given: int, code: str) -> None:
    h = contest(LOWER, low=(10, 3))
    add_preemptor(h)
    terminating(h, "low", grace=grace, given=given)
    h.delete("low")
    assert bind_preemptor(h).verdict().code == code


@pytest.mark.parametrize(
    ("seconds", "priority", "cpus", "code"),
    [(5, 10, 2, "room-given-away"), (1, 10, 2, ""), (5, 2000, 2, ""), (5, 10, 1, "")],
    ids=["lower", "not-yet-known", "higher", "beside"],
)
def test_room_of_victims_is_not_given_to_a_new_pod_of_lower_priority(
    seconds: float, priority: int, cpus: int, code: str
) -> None:
    h = contest(LOWER, first=(10, 2), second=(10, 2))
    add_preemptor(h, 1000, 3)
    terminating(h, "first")
    terminating(h, "second")
    h.pass_time(seconds)
    h.seen()
    h.pod("new", role="latecomer", cpu=str(cpus), priority=priority, **HERE)
    h.delete("first")
    h.bind("new", "node-1")
    h.delete("second")
    assert (bind_preemptor(h).verdict().code == "room-given-away") == bool(code)
