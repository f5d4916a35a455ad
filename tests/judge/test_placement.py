"""Placement: what fits was bound, only where it fits, and what fits nowhere was left pending."""

from __future__ import annotations

from collections.abc import Sequence

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
    told(verdict, "failed", "infeasible-node", "wrong", "node-2", "cpu")
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
def test_several_wrong_bindings_are_named_up_to_a_few(count: int, ending: str) -> None:
    h = HistoryBuilder()
    for number in range(count):
        h.pod(f"probe-{number}")
        h.bind(f"probe-{number}", "ghost")
    assert h.verdict().summary.endswith(ending)


def test_a_pod_that_fits_and_is_not_bound_in_time_fails() -> None:
    verdict = requeued(bound=False).verdict()
    told(verdict, "failed", "not-bound-in-time", "30 s", "requeue", "node-large")


def test_a_pod_that_was_not_bound_because_the_candidate_had_ended_fails_and_says_so() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.process("candidate tested", "exited", code=2, log=["panic"])
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "failed", "not-bound-in-time", "probe-1", "candidate tested", "2")


def test_an_end_before_the_case_or_after_the_wait_explains_nothing() -> None:
    h = HistoryBuilder("core/binds")
    h.process("candidate tested", "exited", code=2, log=["panic"])
    h.end()
    h.begin("core/fit-cpu")
    h.process("candidate tested", "started")
    h.pod("probe-1")
    h.expect("probe-1", "bound")
    h.process("candidate tested", "exited", code=3, log=["panic"])
    told(h.verdict(), "failed", "not-bound-in-time", "20 s", "bind")


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
    told(verdict, "invalid", "not-decided-on", "sentinel-1")


# -- what proves nothing


def test_nothing_tried_is_invalid() -> None:
    verdict = HistoryBuilder().verdict()
    told(verdict, "invalid", "nothing-expected")


def test_to_expect_the_impossible_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", cpu="9")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "invalid", "wrong-expectation")


def test_to_expect_that_a_feasible_pod_stays_pending_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1")
    h.fence()
    h.expect("probe-1", "pending")
    verdict = h.verdict()
    told(verdict, "invalid", "wrong-expectation", *NODES)


def test_a_binding_that_no_one_can_call_wrong_makes_the_expectation_invalid() -> None:
    """It was to stay pending. But the last state in which it fitted was never shown to be outdated."""
    h = HistoryBuilder()
    h.pod("probe-1", cpu="2", nodeSelector={"kubernetes.io/hostname": "node-1"})
    h.node("node-1", taints=[TAINT])
    h.bind("probe-1", "node-1")
    h.fence()
    h.expect("probe-1", "pending")
    verdict = h.verdict()
    told(verdict, "invalid", "wrong-expectation", "probe-1")


def test_left_pending_without_a_fence_is_invalid() -> None:
    h = placed_and_refused()
    h.expect("second", "pending")
    verdict = h.verdict()
    told(verdict, "invalid", "not-decided-on", "sp-tested/second")


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
    told(verdict, "invalid", "view-not-shown", "settle-1 was bound to no node")


# Fields that no oracle of today can know.
BEYOND = {"telepathy": {"with": "node-1"}}


def test_a_binding_that_may_follow_rules_the_oracle_does_not_know_is_invalid() -> None:
    h = HistoryBuilder()
    h.pod("probe-1", **BEYOND)
    h.bind("probe-1", "node-1")
    h.expect("probe-1", "bound")
    verdict = h.verdict()
    told(verdict, "invalid", "oracle-gap", "spec.telepathy")


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
    told(verdict, "invalid", "oracle-gap", "spec.telepathy")


# -- room that is kept free


def beside_nominated(outcome: str, holder: str, *, small: Sequence[str] = NODES[1:]) -> HistoryBuilder:
    """A pod of 5 cpu, and another one nominated to node-1 with as much as `holder`; nodes have 8."""
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


def test_a_pod_waits_rightly_for_which_nothing_but_kept_room_is_left() -> None:
    told(beside_nominated("pending", "4").verdict(), "passed")
    told(beside_nominated("bound", "4").verdict(), "invalid", "wrong-expectation", "kept free")


@pytest.mark.parametrize(("holder", "small"), [("3", NODES[1:]), ("4", NODES[2:])])
def test_room_that_is_kept_for_others_excuses_no_pod_that_fits_beside_it(holder: str, small: Sequence[str]) -> None:
    verdict = beside_nominated("bound", holder, small=small).verdict()
    told(verdict, "failed", "not-bound-in-time")


def test_room_that_is_kept_for_others_does_not_matter_where_a_pod_fits_nowhere() -> None:
    told(beside_nominated("pending", "1", small=NODES).verdict(), "passed")


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
    told(verdict, "failed", "bound-against-claim", "alone", "node-1")
    (decision,) = verdict.evidence["decisions"]
    assert decision["chosen"] == "node-1"


def test_a_binding_after_the_wait_is_not_what_was_expected_not_to_happen() -> None:
    h = unwilling()
    h.bind("alone", "node-1")
    assert h.verdict().outcome == "passed"


def test_unwillingness_without_a_fence_is_invalid() -> None:
    verdict = unwilling(fenced=False).verdict()
    told(verdict, "invalid", "not-decided-on", "sp-tested/alone")


def test_unwillingness_is_no_excuse_for_what_comes_after_it() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.pod("alone")
    h.fence()
    h.expect("alone", "unwilling")
    h.pod("after")
    h.expect("after", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "after")


def test_what_could_not_be_shown_early_does_not_hide_a_later_failure() -> None:
    h = HistoryBuilder("core/fit-cpu")
    h.fence(node="")
    h.pod("after")
    h.expect("after", "bound")
    told(h.verdict(), "failed", "not-bound-in-time", "after")
