"""core/preemption-*: who is evicted, for whom, and what becomes of that pod."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from .histories import CLAIMS, HARNESS_USER, HistoryBuilder

SPARES, CONDITION = "core/preemption-spares", "core/preemption-condition"
CLAIMED = dataclasses.replace(CLAIMS, features=("preemption",))
HERE = {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}


def contest(case: str = SPARES, *, roles: dict[str, str] | None = None, **holders: tuple[int, int]) -> HistoryBuilder:
    """A node with four CPUs, and pods on it, each with its priority and as many CPUs."""
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


def wait(h: HistoryBuilder, priority: int = 1000, cpus: int = 3, **more: Any) -> None:
    h.pod("p", role="preemptor", cpu=str(cpus), priority=priority, **HERE, **more)


def land(h: HistoryBuilder, node: str = "node-1") -> HistoryBuilder:
    h.bind("p", node)
    h.expect("p", "bound")
    return h


def stay(h: HistoryBuilder) -> HistoryBuilder:
    h.fence()
    h.expect("p", "pending")
    return h


def evicted(*names: str, **options: Any) -> HistoryBuilder:
    h = contest(small=(10, 1), large=(20, 3))
    wait(h)
    evict(h, *names, **options)
    return h


def test_who_is_in_the_way_is_evicted_and_the_pod_is_bound() -> None:
    assert land(evicted("large")).verdict().outcome == "passed"


@pytest.mark.parametrize("names", [("small", "large"), ("large", "small")])
def test_who_could_have_stayed_is_not_to_be_evicted(names: tuple[str, ...]) -> None:
    assert land(evicted(*names)).verdict().outcome == "failed"


def test_two_that_had_to_go_both_are_no_fault() -> None:
    h = contest(a=(10, 2), b=(20, 2))
    wait(h)
    evict(h, "a", "b")
    assert land(h).verdict().outcome == "passed"


def test_a_pod_that_is_never_bound_fails_whether_or_not_others_were_evicted() -> None:
    for names in ((), ("large",)):
        h = evicted(*names)
        h.expect("p", "bound")
        assert h.verdict().outcome == "failed"


@pytest.mark.parametrize(
    ("priority", "more"), [(20, {}), (5, {}), (1000, {"preemptionPolicy": "Never"})], ids=["equal", "lower", "never"]
)
def test_nobody_is_evicted_for_whom_may_not_preempt(priority: int, more: dict[str, Any]) -> None:
    h = contest(large=(20, 3))
    wait(h, priority, **more)
    assert stay(h).verdict().outcome == "passed"
    h = contest(large=(20, 3))
    wait(h, priority, **more)
    evict(h, "large")
    assert land(h).verdict().outcome == "failed"


def test_who_is_evicted_from_another_node_is_evicted_in_vain() -> None:
    h = contest(large=(20, 3))
    h.node("node-2", cpu="4")
    h.pod("other", role="holder", cpu="1", priority=10)
    h.bind("other", "node-2")
    h.expect("other", "bound")
    wait(h)
    evict(h, "large", "other")
    assert land(h).verdict().outcome == "failed"


def test_a_protected_pod_is_not_evicted_where_another_would_do() -> None:
    h = contest(roles={"kept": "protected"}, kept=(10, 2), other=(20, 2))
    wait(h, cpus=2)
    evict(h, "kept")
    assert land(h).verdict("core/preemption-spares").outcome == "failed"


@pytest.mark.parametrize("request_", [{"by": HARNESS_USER}, {"code": 403}, {"dry_run": True}], ids=str)
def test_what_others_delete_and_what_is_refused_is_no_eviction(request_: dict[str, Any]) -> None:
    assert land(evicted("large", **request_)).verdict().outcome == "invalid"


def test_evictions_by_the_subresource_count() -> None:
    h = contest(small=(10, 1), large=(20, 3))
    wait(h)
    for name in ("small", "large"):
        h.request("create", "pods/eviction", name, code=201)
        h.delete(name)
    assert land(h).verdict().outcome == "failed"


def test_without_a_preemptor_nothing_is_shown() -> None:
    assert contest(small=(10, 1)).verdict().outcome == "invalid"


@pytest.mark.parametrize(("told", "outcome"), [(True, "passed"), (False, "failed")])
def test_who_is_evicted_is_told_in_its_conditions(told: bool, outcome: str) -> None:
    h = contest(CONDITION, large=(20, 3))
    wait(h)
    evict(h, "large", told=told)
    assert land(h).verdict().outcome == outcome


def test_a_condition_that_was_taken_back_had_been_there() -> None:
    h = contest(CONDITION, large=(20, 3))
    wait(h)
    h.conditions("large", [{"type": "DisruptionTarget", "status": "True"}])
    h.conditions("large", [{"type": "DisruptionTarget", "status": "False"}])
    evict(h, "large", told=False)
    assert land(h).verdict().outcome == "passed"


def test_conditions_of_a_preemption_that_failed_prove_nothing() -> None:
    h = contest(CONDITION, large=(20, 3))
    wait(h)
    h.expect("p", "bound")
    assert h.verdict().outcome == "invalid"
