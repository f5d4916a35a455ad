"""What a failure says of the deadline that was missed: which, whose, and by how much."""

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


def test_a_pod_that_is_bound_after_its_deadline_fails_and_is_said_to_be_late_by_so_much() -> None:
    h = unbound()
    h.pass_time(3.2)
    h.bind("probe-1", "node-1")
    verdict = h.verdict()
    told(verdict, "failed", "not-bound-in-time", "3.2 s")


def test_a_pod_that_is_never_bound_is_not_said_to_be_late() -> None:
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
def test_a_failure_names_the_claim_that_sets_its_deadline(claimed: bool, deadline: str, words: str) -> None:
    assert words in unbound(claimed=claimed, deadline=deadline).verdict().summary


def found_unschedulable(deadline: str, reason: str = "Unschedulable") -> HistoryBuilder:
    h = HistoryBuilder("core/binds")
    h.pod("probe-1")
    h.condition("probe-1", reason=reason)
    h.expect("probe-1", "bound", deadline=deadline, within=20)
    return h


def test_of_a_pod_that_was_found_unschedulable_no_other_deadline_is_suggested() -> None:
    summary = found_unschedulable("bind").verdict().summary
    assert "decided on in time" in summary
    assert "claim it" not in summary


def test_one_that_is_bound_later_all_the_same_was_late() -> None:
    h = found_unschedulable("bind")
    h.bind("probe-1", "node-1")
    assert "claim it in spec.claims.timing.bind" in h.verdict().summary


@pytest.mark.parametrize(("deadline", "reason"), [("requeue", "Unschedulable"), ("bind", "SchedulerError")])
def test_what_a_change_made_fit_or_an_error_held_up_may_need_more_time(deadline: str, reason: str) -> None:
    assert f"spec.claims.timing.{deadline}" in found_unschedulable(deadline, reason).verdict().summary


def test_a_condition_that_was_waited_for_in_vain_is_said_with_its_deadline() -> None:
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


def test_a_failure_says_for_how_long_which_process_waited_for_a_processor() -> None:
    verdict = kept(candidate=0.3, etcd=0.1).verdict()
    told(verdict, "failed", "not-bound-in-time", "20 s", "0.4 s", "candidate 0.3 s", "etcd 0.1 s")


def test_a_wait_that_is_as_long_as_it_may_get_says_nothing_of_the_candidate() -> None:
    told(kept(candidate=25, etcd=16).verdict(), "invalid", "machine-too-busy", "20 s", "candidate 25.0 s")
    told(kept(candidate=25, etcd=14).verdict(), "failed", "not-bound-in-time")


def test_a_process_that_has_ended_waited_for_no_processor() -> None:
    h = HistoryBuilder("core/binds")
    h.pod("probe-1")
    h.process("candidate", "exited", code=1)
    h.expect("probe-1", "bound", within=20, etcd=50)
    told(h.verdict(), "failed", "not-bound-in-time")


@pytest.mark.parametrize(("etcd", "outcome"), [(10, "failed"), (40, "invalid")])
def test_a_condition_that_was_missed_on_a_busy_machine(etcd: float, outcome: str) -> None:
    h = HistoryBuilder("core/unschedulable-condition")
    h.pod("probe-1", cpu="1000")
    h.fence()
    h.expect("probe-1", "pending")
    h.add(Missed(case=h.case, what="the condition", within=20, deadline="reaction", kept={"etcd": etcd}))
    assert h.verdict().outcome == outcome


def test_a_condition_that_came_after_all_is_there() -> None:
    h = HistoryBuilder("core/unschedulable-condition")
    h.pod("probe-1", cpu="1000")
    h.fence()
    h.expect("probe-1", "pending")
    h.add(Missed(case=h.case, what="the condition", within=20, deadline="reaction", kept={"etcd": 40}))
    h.condition("probe-1", reason="Unschedulable")
    assert h.verdict().outcome == "passed"
