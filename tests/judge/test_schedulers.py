"""A compiled scheduler beside others: leader election, a second scheduler, and replacing the default scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.history.acts import Halted, Resumed
from schedproof.history.observations import LeaseHolder

from .histories import CANDIDATE_USER, CONTROL, CONTROL_USER, HistoryBuilder, told

ELECTION, SECOND, DEFAULT = "plugin/leader-election-off-on", "plugin/second-scheduler", "plugin/replaces-default"
LEASE = "sp-tested/kube-scheduler"


def elected(
    holder: str | None = "tested_1", *, bound: bool = True, writes: str = "", code: int = 201
) -> HistoryBuilder:
    """Restart the scheduler with leader election; `holder`: of its Lease, `writes`: another Lease that it creates."""
    h = HistoryBuilder(ELECTION)
    h.pod("off-1")
    h.bind("off-1", "node-1")
    h.expect("off-1", "bound")
    h.add(Halted(case=h.case))
    h.add(Resumed(case=h.case, mark=h.mark()))
    if writes:
        h.request("create", "leases", writes, code=code, body={})
    h.pod("on-1")
    if bound:
        h.bind("on-1", "node-1")
    h.expect("on-1", "bound")
    if holder is not None:
        h.add(LeaseHolder(case=h.case, name=LEASE, holder=holder))
    return h


def test_scheduler_that_holds_its_lease_and_schedules_passes() -> None:
    assert elected().verdict().outcome == "passed"


def test_scheduler_that_schedules_without_its_lease_fails() -> None:
    told(elected("").verdict(), "failed", "lease-not-taken", LEASE)


def test_scheduler_that_writes_a_lease_of_another_name_passes() -> None:
    assert elected("", writes="my-lease").verdict().outcome == "passed"
    told(elected("", writes="my-lease", code=403).verdict(), "failed", "lease-not-taken", LEASE)


def test_scheduler_that_does_not_schedule_with_leader_election_fails() -> None:
    told(elected(bound=False).verdict(), "failed", "not-bound-in-time", "on-1")


def test_history_without_a_recorded_lease_is_invalid() -> None:
    told(elected(None).verdict(), "invalid", "not-tried")


def beside(
    *, own: str = CANDIDATE_USER, other: str = CONTROL_USER, election: dict[str, Any] | None = None
) -> HistoryBuilder:
    """A pod of the candidate and one of the stock scheduler, bound by the users `own` and `other` ("": not bound)."""
    h = HistoryBuilder(SECOND)
    h.records[0]["candidate"]["schedulerConfig"] = {"leaderElection": election} if election is not None else None
    h.pod("probe-1")
    h.pod("other-1", role="other", scheduler=CONTROL)
    for pod, user in (("probe-1", own), ("other-1", other)):
        if user:
            h.bind(pod, "node-1", by=user)
    h.expect("probe-1", "bound")
    return h


def test_schedulers_that_bind_only_their_own_pods_pass() -> None:
    assert beside().verdict().outcome == "passed"


def test_binding_a_pod_of_the_stock_scheduler_fails() -> None:
    told(beside(other=CANDIDATE_USER).verdict(), "failed", "foreign-pod", "other-1")


def test_refused_attempt_on_a_pod_of_the_stock_scheduler_fails() -> None:
    h = beside()
    h.attempt("other-1", "node-2", code=409)
    told(h.verdict(), "failed", "foreign-pod", "other-1")


def test_own_pod_that_the_candidate_does_not_bind_fails() -> None:
    told(beside(own=CONTROL_USER).verdict(), "failed", "bound-without-binding", "probe-1")
    told(beside(own="").verdict(), "failed", "not-bound-in-time", "probe-1")


@pytest.mark.parametrize(
    ("election", "named"),
    [
        ({}, False),
        ({"leaderElect": True}, True),
        ({"resourceName": "kube-scheduler"}, True),
        ({"leaderElect": True, "resourceName": "mine"}, False),
        ({"leaderElect": True, "resourceNamespace": "mine"}, False),
        ({"leaderElect": False, "resourceName": "kube-scheduler"}, False),
    ],
)
def test_summary_names_a_lease_shared_with_the_default_scheduler(election: dict[str, Any], *, named: bool) -> None:
    verdict = beside(own="", election=election).verdict()
    assert (verdict.outcome, "kube-system/kube-scheduler" in verdict.summary) == ("failed", named)


def test_stock_scheduler_that_binds_nothing_is_invalid() -> None:
    told(beside(other="").verdict(), "invalid", "harness-trouble")


def replacing(*served: str, bound: bool = True) -> HistoryBuilder:
    h = HistoryBuilder(DEFAULT)
    h.records[0]["scheduler_names"] = [*served]
    h.configuration()
    h.pod("probe-1", scheduler="default-scheduler")
    if bound:
        h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    return h


def test_scheduler_that_binds_default_scheduler_pods_passes() -> None:
    assert replacing("tested", "default-scheduler").verdict().outcome == "passed"


def test_scheduler_that_does_not_bind_default_scheduler_pods_fails() -> None:
    told(replacing("default-scheduler", bound=False).verdict(), "failed", "not-bound-in-time", "probe-1")


def test_second_scheduler_and_replacement_exclude_each_other() -> None:
    assert replacing("tested").verdict().outcome == "not-claimed"
    h = beside()
    h.records[0]["scheduler_names"].append("default-scheduler")
    assert h.verdict().outcome == "not-claimed"


def test_replacement_without_expectations_is_invalid() -> None:
    h = HistoryBuilder(DEFAULT)
    h.records[0]["scheduler_names"] = ["default-scheduler"]
    h.configuration()
    told(h.verdict(), "invalid", "nothing-expected")
