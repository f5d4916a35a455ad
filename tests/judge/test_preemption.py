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
