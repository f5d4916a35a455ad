"""Placement: fitting pods are bound, only to feasible nodes, and pods that fit nowhere are left pending."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from schedproof.history.acts import MadeWay

from .histories import CONTROL, CONTROL_USER, NODES, HistoryBuilder, told

TAINT = {"key": "reserved", "value": "yes", "effect": "NoSchedule"}

# -- what must pass


def placed_and_refused() -> HistoryBuilder:
    """Room for one of two pods, only on node-1: the first is bound there, the second is correctly left pending."""
    h = HistoryBuilder("core/fit-cpu")
    for node in NODES[1:]:
        h.pod(f"filler-{node}", role="filler", scheduler="other", node=node, cpu="7")
    h.seen()
    h.pod("first", cpu="5")
    h.bind("first", "node-1")
    h.expect("first", "bound")
    h.pod("second", cpu="5")
    return h


def test_fitting_pod_bound_and_other_pod_left_pending_pass() -> None:
    h = placed_and_refused()
    h.fence(node="node-1")
    h.expect("second", "pending")
    verdict = h.verdict()
    told(verdict, "passed", "", "2", "1")


def requeued(*, bound: bool = True) -> HistoryBuilder:
    h = HistoryBuilder("core/requeue-node-added")
    h.pod("large", cpu="12")
    h.fence()
    h.expect("large", "pending")
    h.node("node-large", cpu="16")
    if bound:
        h.bind("large", "node-large")
    h.expect("large", "bound", deadline="requeue", within=30)
    return h


def test_expectation_applies_to_the_state_at_its_time() -> None:
    assert requeued().verdict().outcome == "passed"


def test_pod_is_judged_as_it_was_at_the_time_of_the_expectation() -> None:
    """The pod was gated at first; its gate was removed later."""
    h = HistoryBuilder()
    h.pod("gated", schedulingGates=[{"name": "wait"}])
    h.fence()
    h.expect("gated", "pending")
    h.change("gated", schedulingGates=[])
    h.bind("gated", "node-1")
    h.expect("gated", "bound")
    assert h.verdict().outcome == "passed"


def test_pods_of_other_schedulers_are_not_judged() -> None:
    h = placed_and_refused()
    h.pod("control-1", role="control", scheduler=CONTROL, cpu="100")
    h.bind("control-1", "ghost", by=CONTROL_USER)
    assert h.verdict().outcome == "passed"


def test_bindings_of_another_case_are_not_judged() -> None:
    h = HistoryBuilder("core/taint-noschedule")
    h.pod("wrong")
    h.bind("wrong", "ghost")
    h.pod("waiting")
    h.expect("waiting", "bound")
    h.unseen("never mind")
    h.end()
    h.begin("core/fit-cpu")
    h.pod("right")
    h.bind("right", "node-1")
    h.expect("right", "bound")
    assert h.verdict("core/taint-noschedule").outcome == "failed"
    assert h.verdict("core/fit-cpu").outcome == "passed"


# -- one planted defect each


@pytest.mark.parametrize("role", ["probe", "sentinel", "filler", "outage"])
def test_any_pod_of_the_case_on_an_infeasible_node_fails(role: str) -> None:
    h = placed_and_refused()
    h.pod("wrong", role=role, cpu="2")
    h.bind("wrong", "node-2")
    verdict = h.verdict()
    told(verdict, "failed", "infeasible-node", "wrong", "node-2", "cpu")
    (decision,) = verdict.evidence.decisions
    assert decision.chosen == "node-2"


def test_placement_of_settle_pods_is_not_judged() -> None:
    """core/node-selector reports ignored selectors, not each case that waits for the candidate's view."""
    h = placed_and_refused()
    h.pod("settle-1", role="settle", nodeSelector={"schedproof.dev/generation": "7-1"})
    h.bind("settle-1", "node-2")
    assert h.verdict().outcome == "passed"


def test_node_that_does_not_exist_fails() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.bind("probe-1", "ghost")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "failed", "infeasible-node", "ghost")


@pytest.mark.parametrize(
    ("count", "ending"),
    [
        (1, "does not exist"),
        (2, "(also sp-tested/probe-1 to ghost)"),
        (4, "probe-2 to ghost, sp-tested/probe-3 to ghost)"),
        (6, "probe-3 to ghost, 2 more)"),
    ],
)
def test_summary_names_a_few_wrong_bindings(count: int, ending: str) -> None:
    h = HistoryBuilder()
    for number in range(count):
        h.pod(f"probe-{number}")
        h.bind(f"probe-{number}", "ghost")
    assert h.verdict().summary.endswith(ending)


def test_fitting_pod_not_bound_in_time_fails() -> None:
    verdict = requeued(bound=False).verdict()
    told(verdict, "failed", "not-bound-in-time", "30 s", "requeue", "node-large")


def test_unbound_pod_after_the_candidate_exited_fails_with_the_exit_code() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.process("candidate tested", "exited", code=2, log=["panic"])
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "failed", "not-bound-in-time", "probe-1", "candidate tested", "2")


def test_exit_before_the_case_or_after_the_wait_is_not_named() -> None:
    h = HistoryBuilder("core/binds")
    h.process("candidate tested", "exited", code=2, log=["panic"])
    h.end()
    h.begin("core/fit-cpu")
    h.process("candidate tested", "started")
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    h.process("candidate tested", "exited", code=3, log=["panic"])
    told(h.verdict(), "failed", "not-bound-in-time", "20 s", "bind")


def test_pod_deleted_before_it_was_bound_fails() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.delete("probe-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "failed"


def test_a_pod_bound_only_after_the_wait_fails() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    h.bind("probe-1", "node-1")
    assert h.verdict().outcome == "failed"


def test_bound_pod_that_fits_nowhere_fails() -> None:
    h = placed_and_refused()
    h.bind("second", "node-1")
    h.fence(node="node-1")
    h.expect("second", "pending")
    assert h.verdict().outcome == "failed"


def test_unbound_sentinel_is_invalid() -> None:
    """The guarantee does not cover the sentinel: core/all-accounted states that it fits."""
    h = placed_and_refused()
    h.fence(node="")
    h.expect("second", "pending")
    verdict = h.verdict()
    told(verdict, "invalid", "not-decided-on", "sentinel-1")


# -- invalid histories


def test_history_without_expectations_is_invalid() -> None:
    verdict = HistoryBuilder().verdict()
    told(verdict, "invalid", "nothing-expected")


def test_expecting_an_infeasible_pod_to_be_bound_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu="9")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "invalid", "wrong-expectation")


def test_expecting_a_feasible_pod_to_stay_pending_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.fence()
    h.expect("probe-1", "pending")
    verdict = h.verdict()
    told(verdict, "invalid", "wrong-expectation", *NODES)


def test_binding_possible_by_an_older_view_makes_the_expectation_invalid() -> None:
    """The pod should stay pending, but the last state in which it fitted was never shown to be outdated."""
    h = HistoryBuilder()
    h.pod("probe-1", cpu="2", nodeSelector={"kubernetes.io/hostname": "node-1"})
    h.node("node-1", taints=[TAINT])
    h.bind("probe-1", "node-1")
    h.fence()
    h.expect("probe-1", "pending")
    verdict = h.verdict()
    told(verdict, "invalid", "wrong-expectation", "probe-1")


def test_pending_pod_without_a_fence_is_invalid() -> None:
    h = placed_and_refused()
    h.expect("second", "pending")
    verdict = h.verdict()
    told(verdict, "invalid", "not-decided-on", "sp-tested/second")


def test_fence_before_the_pod_was_created_does_not_count() -> None:
    h = placed_and_refused()
    h.fence(node="node-1")
    h.pod("third", cpu="5")
    h.expect("third", "pending")
    assert h.verdict().outcome == "invalid"


def test_sentinel_without_a_fence_does_not_count() -> None:
    h = placed_and_refused()
    h.fence(node="node-1")
    h.pod("third", cpu="5")
    h.pod("sentinel-2", role="sentinel")
    h.bind("sentinel-2", "node-1")
    h.expect("third", "pending")
    assert h.verdict().outcome == "invalid"


def test_fence_whose_sentinel_is_unbound_does_not_count() -> None:
    h = placed_and_refused()
    h.fence(node="")
    h.records = [r for r in h.records if not (r["kind"] == "expect" and r["pod"].endswith("/sentinel-1"))]
    h.expect("second", "pending")
    assert h.verdict().outcome == "invalid"


def test_fence_after_the_expectation_does_not_count() -> None:
    h = placed_and_refused()
    h.expect("second", "pending")
    h.fence(node="node-1")
    assert h.verdict().outcome == "invalid"


def test_state_not_shown_to_be_seen_is_invalid() -> None:
    h = placed_and_refused()
    h.unseen("settle-1 was bound to no node")
    verdict = h.verdict()
    told(verdict, "invalid", "view-not-shown", "settle-1 was bound to no node")


# Fields that no current oracle can know.
BEYOND = {"telepathy": {"with": "node-1"}}


def test_binding_of_a_pod_with_unknown_fields_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", **BEYOND)
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "invalid", "oracle-gap", "spec.telepathy")


def test_infeasible_binding_of_a_pod_with_unknown_fields_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu="9", **BEYOND)
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "invalid"


def test_node_that_does_not_exist_fails_even_with_unknown_fields() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", **BEYOND)
    h.bind("probe-1", "ghost")
    assert h.verdict().outcome == "failed"


@pytest.mark.parametrize(("outcome", "cpu"), [("bound", "1"), ("pending", "9")])
def test_unbound_pod_with_unknown_fields_is_invalid(outcome: str, cpu: str) -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu=cpu, **BEYOND)
    h.fence()
    h.expect("probe-1", outcome)
    verdict = h.verdict()
    told(verdict, "invalid", "oracle-gap", "spec.telepathy")


# -- resources reserved for nominated pods


def beside_nominated(outcome: str, holder: str, *, small: Sequence[str] = NODES[1:]) -> HistoryBuilder:
    """A pod of 5 cpu beside a pod of `holder` cpu that is nominated to node-1; nodes have 8 cpu, `small` ones 4."""
    h = HistoryBuilder()
    h.pod("holder", cpu=holder)
    h.nominate("holder", "node-1")
    for node in small:
        h.node(node, cpu="4")
    h.seen()
    h.pod("probe-1", cpu="5")
    h.fence(node="node-1")
    h.expect("probe-1", outcome)
    return h


def test_pod_that_fits_only_into_nominated_resources_may_stay_pending() -> None:
    told(beside_nominated("pending", "4").verdict(), "passed")
    told(beside_nominated("bound", "4").verdict(), "invalid", "wrong-expectation", "kept free")


@pytest.mark.parametrize(("holder", "small"), [("3", NODES[1:]), ("4", NODES[2:])])
def test_pod_that_fits_beside_a_nominated_pod_must_be_bound(holder: str, small: Sequence[str]) -> None:
    verdict = beside_nominated("bound", holder, small=small).verdict()
    told(verdict, "failed", "not-bound-in-time")


def test_nominated_pod_does_not_matter_if_a_pod_fits_nowhere() -> None:
    told(beside_nominated("pending", "1", small=NODES).verdict(), "passed")


# -- pods that a candidate claims not to schedule


def unwilling(*, bound: bool = False, fenced: bool = True) -> HistoryBuilder:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("alone")
    if bound:
        h.bind("alone", "node-1")
    if fenced:
        h.fence()
    h.expect("alone", "unwilling")
    return h


def test_fitting_pod_not_scheduled_as_claimed_passes() -> None:
    assert unwilling().verdict().outcome == "passed"


def test_scheduling_a_pod_claimed_not_to_be_scheduled_fails() -> None:
    verdict = unwilling(bound=True).verdict()
    told(verdict, "failed", "bound-against-claim", "alone", "node-1")
    (decision,) = verdict.evidence.decisions
    assert decision.chosen == "node-1"


def test_binding_after_the_wait_does_not_break_the_claim() -> None:
    h = unwilling()
    h.bind("alone", "node-1")
    assert h.verdict().outcome == "passed"


def test_unscheduled_pod_without_a_fence_is_invalid() -> None:
    verdict = unwilling(fenced=False).verdict()
    told(verdict, "invalid", "not-decided-on", "sp-tested/alone")


def test_unscheduled_pod_does_not_excuse_a_later_unbound_pod() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("alone")
    h.fence()
    h.expect("alone", "unwilling")
    h.pod("after")
    h.expect("after", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "after")


def test_unbound_sentinel_does_not_hide_a_later_failure() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.fence(node="")
    h.pod("after")
    h.expect("after", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "after")


@pytest.mark.parametrize(
    ("waiting", "later", "code"),
    [("8", True, "room-kept"), ("8", False, "not-bound-in-time"), ("9", True, "not-bound-in-time")],
)
def test_pod_that_is_bound_once_a_waiting_pod_is_gone_was_kept_off_for_it(waiting: str, later: bool, code: str) -> None:
    """`waiting`: the CPUs that it requests, of a node with eight; `later`: whether the other was bound at once then."""
    h = HistoryBuilder("core/fit-cpu")
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}
    h.node("node-1", cpu="8")
    h.pod("there", role="filler", scheduler="others", node="node-1", cpu="4")
    h.seen()
    h.pod("large", cpu=waiting, **here)
    h.pod("small", cpu="1", **here)
    h.expect("small", "bound")
    h.add(MadeWay(case=h.case, waiting=[h.uid("large")], unbound=[h.uid("small")]))
    h.delete("large")
    if later:
        h.bind("small", "node-1")
    verdict = h.verdict()
    assert (verdict.outcome, verdict.code) == ("failed", code), verdict.summary
    assert ("large waited" in verdict.summary) == (code == "room-kept")
