"""Statements of a failure about the missed deadline: which it is, which claim sets it, and the delay."""

from __future__ import annotations

import dataclasses

import pytest

from schedproof.candidate.timing import RECOVERY, Timing
from schedproof.history.acts import Missed

from .histories import CLAIMS, HistoryBuilder, told

CLAIMED = dataclasses.replace(CLAIMS, timing=Timing(bind=45.0))


def unbound(*, claimed: bool = False, deadline: str = "bind") -> HistoryBuilder:
    h = HistoryBuilder("core/binds", claims=CLAIMED if claimed else CLAIMS)
    h.pod("probe-1")
    h.expect("probe-1", "bound", deadline=deadline, within=45 if claimed else 20)
    return h


def test_pod_bound_after_its_deadline_fails_with_the_delay() -> None:
    h = unbound()
    h.pass_time(3.2)
    h.bind("probe-1", "node-1")
    verdict = h.verdict()
    told(verdict, "failed", "not-bound-in-time", "3.2 s")


def test_pod_that_is_never_bound_has_no_delay() -> None:
    assert " s later" not in unbound().verdict().summary


@pytest.mark.parametrize(
    ("claimed", "deadline", "words"),
    [
        (False, "bind", "default: if the design needs more time, claim it in spec.claims.timing.bind"),
        (False, "requeue", "claim it in spec.claims.timing.requeue"),
        (False, "takeover", "claim it in spec.claims.timing.takeover"),
        (True, "bind", "claimed, in spec.claims.timing.bind"),
        (False, RECOVERY, "spec.claims.network.recovers-within"),
    ],
)
def test_failure_names_the_claim_that_sets_the_deadline(claimed: bool, deadline: str, words: str) -> None:
    assert words in unbound(claimed=claimed, deadline=deadline).verdict().summary


def found_unschedulable(deadline: str, reason: str = "Unschedulable") -> HistoryBuilder:
    h = HistoryBuilder("core/binds")
    h.pod("probe-1")
    h.condition("probe-1", reason=reason)
    h.expect("probe-1", "bound", deadline=deadline, within=20)
    return h


def test_no_other_deadline_is_suggested_for_an_unschedulable_pod() -> None:
    summary = found_unschedulable("bind").verdict().summary
    assert "decided on in time" in summary
    assert "claim it" not in summary


def test_deadline_claim_is_suggested_for_a_pod_that_is_bound_late() -> None:
    h = found_unschedulable("bind")
    h.bind("probe-1", "node-1")
    assert "claim it in spec.claims.timing.bind" in h.verdict().summary


@pytest.mark.parametrize(("deadline", "reason"), [("requeue", "Unschedulable"), ("bind", "SchedulerError")])
def test_deadline_claim_is_suggested_after_a_requeue_or_an_error(deadline: str, reason: str) -> None:
    assert f"spec.claims.timing.{deadline}" in found_unschedulable(deadline, reason).verdict().summary


def test_missing_condition_is_reported_with_its_deadline() -> None:
    h = HistoryBuilder("core/unschedulable-condition")
    h.pod("probe-1", cpu="1000")
    h.fence()
    h.expect("probe-1", "pending")
    h.add(Missed(case=h.case, what="the condition PodScheduled", within=20, deadline="reaction"))
    verdict = h.verdict()
    told(verdict, "failed", "pending-without-reason", "20 s", "spec.claims.timing.reaction")


def test_claims_of_an_older_history_have_the_default_timing() -> None:
    h = unbound()
    del h.records[0]["candidate"]["claims"]["timing"]
    assert h.history().claims.timing == Timing()


# -- on a busy machine


def kept(**seconds: float) -> HistoryBuilder:
    h = HistoryBuilder("core/binds")
    h.pod("probe-1")
    h.expect("probe-1", "bound", within=20, **seconds)
    return h


def test_failure_states_how_long_each_process_waited_for_a_processor() -> None:
    verdict = kept(candidate=0.3, etcd=0.1).verdict()
    told(verdict, "failed", "not-bound-in-time", "20 s", "0.4 s", "candidate 0.3 s", "etcd 0.1 s")


def test_missed_deadline_on_an_overloaded_machine_is_invalid() -> None:
    told(kept(candidate=25, etcd=16).verdict(), "invalid", "machine-too-busy", "20 s", "candidate 25.0 s")
    told(kept(candidate=25, etcd=14).verdict(), "failed", "not-bound-in-time")


def test_overloaded_machine_is_no_excuse_after_the_candidate_exited() -> None:
    h = HistoryBuilder("core/binds")
    h.pod("probe-1")
    h.process("candidate", "exited", code=1)
    h.expect("probe-1", "bound", within=20, etcd=50)
    told(h.verdict(), "failed", "not-bound-in-time")


@pytest.mark.parametrize(("etcd", "outcome"), [(10, "failed"), (40, "invalid")])
def test_missed_condition_on_an_overloaded_machine_is_invalid(etcd: float, outcome: str) -> None:
    h = HistoryBuilder("core/unschedulable-condition")
    h.pod("probe-1", cpu="1000")
    h.fence()
    h.expect("probe-1", "pending")
    h.add(Missed(case=h.case, what="the condition", within=20, deadline="reaction", kept={"etcd": etcd}))
    assert h.verdict().outcome == outcome


def test_condition_written_after_the_deadline_counts() -> None:
    h = HistoryBuilder("core/unschedulable-condition")
    h.pod("probe-1", cpu="1000")
    h.fence()
    h.expect("probe-1", "pending")
    h.add(Missed(case=h.case, what="the condition", within=20, deadline="reaction", kept={"etcd": 40}))
    h.condition("probe-1", reason="Unschedulable")
    assert h.verdict().outcome == "passed"
