"""Placement: what fits was bound, only where it fits, and what fits nowhere was left pending."""

from __future__ import annotations

import pytest

from .histories import CONTROL, CONTROL_USER, NODES, HistoryBuilder, told

TAINT = {"key": "reserved", "value": "yes", "effect": "NoSchedule"}

# -- what must pass


def placed_and_refused() -> HistoryBuilder:
    """Room for one of two pods, and only on node-1: the first is bound there, the second rightly left pending."""
    h = HistoryBuilder("core/fit-cpu")
    for node in NODES[1:]:
        h.pod(f"filler-{node}", role="filler", scheduler="other", node=node, cpu="7")
    h.seen()
    h.pod("first", cpu="5")
    h.bind("first", "node-1")
    h.expect("first", "bound")
    h.pod("second", cpu="5")
    return h


def test_what_fits_was_bound_and_what_does_not_was_left_pending() -> None:
    h = placed_and_refused()
    h.fence(node="node-1")
    h.expect("second", "pending")
    verdict = h.verdict()
    assert (verdict.outcome, verdict.summary) == ("passed", "2 pods bound where they fit, 1 rightly left pending")


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


def test_an_expectation_is_about_the_world_of_its_moment() -> None:
    assert requeued().verdict().outcome == "passed"


def test_a_pod_is_taken_as_it_was_at_the_moment_of_the_expectation() -> None:
    """It was gated then, and went nowhere; later its gate was gone."""
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


def test_what_another_case_did_is_not_judged() -> None:
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
def test_any_pod_of_the_case_on_a_node_where_it_cannot_run_fails(role: str) -> None:
    h = placed_and_refused()
    h.pod("wrong", role=role, cpu="2")
    h.bind("wrong", "node-2")
    verdict = h.verdict()
    assert verdict.outcome == "failed"
    assert "wrong was bound to node-2, where it cannot run: cpu" in verdict.summary
    (decision,) = verdict.evidence["decisions"]
    assert decision["chosen"] == "node-2"


def test_where_the_probes_of_its_view_went_is_no_part_of_the_case() -> None:
    """Who has no regard for selectors is told so by core/node-selector, not by each case that waits for its view."""
    h = placed_and_refused()
    h.pod("settle-1", role="settle", nodeSelector={"schedproof.dev/generation": "7-1"})
    h.bind("settle-1", "node-2")
    assert h.verdict().outcome == "passed"


def test_an_invented_node_fails() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.bind("probe-1", "ghost")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    assert verdict.outcome == "failed"
    assert "node 'ghost' does not exist" in verdict.summary


@pytest.mark.parametrize(
    ("count", "ending"),
    [
        (1, "does not exist"),
        (2, "(also sp-tested/probe-1 to ghost)"),
        (4, "probe-2 to ghost, sp-tested/probe-3 to ghost)"),
        (6, "probe-3 to ghost, 2 more)"),
    ],
)
def test_several_wrong_bindings_are_named_up_to_a_few(count: int, ending: str) -> None:
    h = HistoryBuilder()
    for number in range(count):
        h.pod(f"probe-{number}")
        h.bind(f"probe-{number}", "ghost")
    assert h.verdict().summary.endswith(ending)


def test_a_pod_that_fits_and_is_not_bound_in_time_fails() -> None:
    verdict = requeued(bound=False).verdict()
    assert verdict.outcome == "failed"
    assert "was not bound within 30 s (requeue), although it fits on node-large" in verdict.summary


def test_a_pod_that_was_not_bound_because_the_candidate_had_ended_fails_and_says_so() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.process("candidate tested", "exited", code=2, log=["panic"])
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    assert verdict.outcome == "failed"
    assert "probe-1 was not bound before candidate tested ended with code 2, although it fits on" in verdict.summary


def test_an_end_before_the_case_or_after_the_wait_explains_nothing() -> None:
    h = HistoryBuilder("core/binds")
    h.process("candidate tested", "exited", code=2, log=["panic"])
    h.end()
    h.begin("core/fit-cpu")
    h.process("candidate tested", "started")
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    h.process("candidate tested", "exited", code=3, log=["panic"])
    assert "was not bound within 20 s (bind)" in h.verdict().summary


def test_a_pod_that_was_gone_before_it_was_bound_fails() -> None:
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


def test_a_pod_that_fits_nowhere_and_is_bound_fails() -> None:
    h = placed_and_refused()
    h.bind("second", "node-1")
    h.fence(node="node-1")
    h.expect("second", "pending")
    assert h.verdict().outcome == "failed"


def test_an_unbound_sentinel_shows_nothing() -> None:
    """The guarantee is not about it: core/all-accounted says that it fits."""
    h = placed_and_refused()
    h.fence(node="")
    h.expect("second", "pending")
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "sentinel-1 was not bound" in verdict.summary


# -- what proves nothing


def test_nothing_tried_is_invalid() -> None:
    verdict = HistoryBuilder().verdict()
    assert (verdict.outcome, verdict.summary) == ("invalid", "nothing was tried")


def test_to_expect_the_impossible_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu="9")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "the oracle finds no node for it" in verdict.summary


def test_to_expect_that_a_feasible_pod_stays_pending_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.fence()
    h.expect("probe-1", "pending")
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "expected to stay pending, but the oracle finds node-1, node-2, node-3, node-4" in verdict.summary


def test_a_binding_that_no_one_can_call_wrong_makes_the_expectation_invalid() -> None:
    """It was to stay pending. But the last state in which it fitted was never shown to be outdated."""
    h = HistoryBuilder()
    h.pod("probe-1", cpu="2", nodeSelector={"kubernetes.io/hostname": "node-1"})
    h.node("node-1", taints=[TAINT])
    h.bind("probe-1", "node-1")
    h.fence()
    h.expect("probe-1", "pending")
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "probe-1 was expected to stay pending" in verdict.summary


def test_left_pending_without_a_fence_is_invalid() -> None:
    h = placed_and_refused()
    h.expect("second", "pending")
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "no fence shows that sp-tested/second was decided on" in verdict.summary


def test_a_fence_from_before_the_pod_says_nothing_of_it() -> None:
    h = placed_and_refused()
    h.fence(node="node-1")
    h.pod("third", cpu="5")
    h.expect("third", "pending")
    assert h.verdict().outcome == "invalid"


def test_a_sentinel_that_no_fence_is_about_does_not_count() -> None:
    h = placed_and_refused()
    h.fence(node="node-1")
    h.pod("third", cpu="5")
    h.pod("sentinel-2", role="sentinel")
    h.bind("sentinel-2", "node-1")
    h.expect("third", "pending")
    assert h.verdict().outcome == "invalid"


def test_a_fence_whose_sentinel_was_not_bound_is_none() -> None:
    h = placed_and_refused()
    h.fence(node="")
    h.records = [r for r in h.records if not (r["kind"] == "expect" and r["pod"].endswith("/sentinel-1"))]
    h.expect("second", "pending")
    assert h.verdict().outcome == "invalid"


def test_a_fence_after_the_expectation_says_nothing_of_it() -> None:
    h = placed_and_refused()
    h.expect("second", "pending")
    h.fence(node="node-1")
    assert h.verdict().outcome == "invalid"


def test_a_world_that_was_not_shown_as_seen_is_invalid() -> None:
    h = placed_and_refused()
    h.unseen("settle-1 was bound to no node")
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "could not show that the candidate saw the world: settle-1 was bound to no node" in verdict.summary


# Fields that no oracle of today can know.
BEYOND = {"telepathy": {"with": "node-1"}}


def test_a_binding_that_may_follow_rules_the_oracle_does_not_know_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", **BEYOND)
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "the oracle does not model spec.telepathy" in verdict.summary


def test_a_wrong_looking_binding_that_may_follow_unknown_rules_is_invalid_not_failed() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu="9", **BEYOND)
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    assert h.verdict().outcome == "invalid"


def test_no_unknown_rule_makes_an_invented_node_right() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", **BEYOND)
    h.bind("probe-1", "ghost")
    assert h.verdict().outcome == "failed"


@pytest.mark.parametrize(("outcome", "cpu"), [("bound", "1"), ("pending", "9")])
def test_an_unbound_pod_that_may_follow_unknown_rules_is_invalid(outcome: str, cpu: str) -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu=cpu, **BEYOND)
    h.fence()
    h.expect("probe-1", outcome)
    verdict = h.verdict()
    assert verdict.outcome == "invalid"
    assert "the oracle does not model spec.telepathy" in verdict.summary


# -- what a candidate claims not to schedule


def unwilling(*, bound: bool = False, fenced: bool = True) -> HistoryBuilder:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("alone")
    if bound:
        h.bind("alone", "node-1")
    if fenced:
        h.fence()
    h.expect("alone", "unwilling")
    return h


def test_what_fits_and_is_not_scheduled_as_claimed_passes() -> None:
    assert unwilling().verdict().outcome == "passed"


def test_to_schedule_what_is_claimed_not_to_be_scheduled_fails() -> None:
    verdict = unwilling(bound=True).verdict()
    assert verdict.outcome == "failed"
    assert "alone was bound to node-1, which the candidate claims not to do" in verdict.summary
    (decision,) = verdict.evidence["decisions"]
    assert decision["chosen"] == "node-1"


def test_a_binding_after_the_wait_is_not_what_was_expected_not_to_happen() -> None:
    h = unwilling()
    h.bind("alone", "node-1")
    assert h.verdict().outcome == "passed"


def test_unwillingness_without_a_fence_is_invalid() -> None:
    verdict = unwilling(fenced=False).verdict()
    assert verdict.outcome == "invalid"
    assert "no fence shows that sp-tested/alone was decided on" in verdict.summary


def test_unwillingness_is_no_excuse_for_what_comes_after_it() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("alone")
    h.fence()
    h.expect("alone", "unwilling")
    h.pod("after")
    h.expect("after", "bound")
    told(h.verdict(), "failed", "after was not bound")


def test_what_could_not_be_shown_early_does_not_hide_a_later_failure() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.fence(node="")
    h.pod("after")
    h.expect("after", "bound")
    told(h.verdict(), "failed", "after was not bound")
