"""`core/feasible`: every binding of a run is checked, whichever case it belongs to."""

from __future__ import annotations

from schedproof.judge.clauses.core.placement import judge_feasible

from .histories import BYSTANDER, CONTROL, CONTROL_USER, HistoryBuilder, told

CLAUSE = "core/feasible"
NOWHERE = {"no-such": "label"}


def run() -> HistoryBuilder:
    """A pod that fits nowhere exists from the start; a pod that fits is bound."""
    h = HistoryBuilder("core/binds")
    h.pod("waits", role="waiter", nodeSelector=NOWHERE)
    h.pod("probe-1", cpu="1")
    h.bind("probe-1", "node-1")
    return h


def test_feasible_bindings_pass() -> None:
    told(run().verdict(CLAUSE), "passed", "", "1")


def test_pod_of_no_case_on_an_infeasible_node_fails() -> None:
    h = run()
    h.bind("waits", "node-2")
    told(h.verdict(CLAUSE), "failed", "infeasible-node", "waits", "node-2")


def test_binding_between_two_cases_is_checked() -> None:
    h = run()
    h.end()
    h.bind("waits", "node-2")
    h.begin("core/fit-cpu")
    told(h.verdict(CLAUSE), "failed", "infeasible-node", "waits")
    assert h.verdict("core/fit-cpu").outcome == "invalid"  # that clause has nothing to do with it


def test_binding_decided_on_for_an_earlier_pod_of_the_same_name_breaks_no_rule() -> None:
    h = run()
    h.pod("twice")
    h.pass_time(0.01)
    received = h.now
    h.delete("twice")
    h.pod("twice", role="recreated", nodeSelector=NOWHERE)
    h.attempt("twice", "node-1", code=201, received=received)
    h.place("twice", "node-1")
    told(h.verdict(CLAUSE), "failed", "outdated-binding", "twice")
    assert "rules" not in h.verdict(CLAUSE).evidence.model_fields_set
    h.bind("waits", "node-2")
    told(h.verdict(CLAUSE), "failed", "infeasible-node", "waits")


def test_settle_pod_is_checked() -> None:
    h = run()
    h.pod("settle-1", role="settle", nodeSelector=NOWHERE)
    h.bind("settle-1", "node-3")
    told(h.verdict(CLAUSE), "failed", "infeasible-node", "settle-1")


def test_binding_to_a_node_seen_to_be_full_fails() -> None:
    h = run()
    h.pod("filler-1", role="filler", scheduler=BYSTANDER, node="node-1", cpu="7")
    h.seen()
    h.pod("probe-2", cpu="1")
    h.bind("probe-2", "node-1")
    told(h.verdict(CLAUSE), "failed", "infeasible-node", "cpu")


def test_pods_of_an_excluded_clause_are_not_checked() -> None:
    def broken(exclusions: list[dict[str, str]]) -> str:
        h = HistoryBuilder("core/binds", exclusions=exclusions)
        h.pod("probe-1", cpu="1")
        h.bind("probe-1", "node-1")
        h.end()
        h.begin("core/host-port")
        h.pod("port", nodeSelector=NOWHERE)
        h.bind("port", "node-1")
        return h.verdict(CLAUSE).outcome

    assert broken([]) == "failed"
    assert broken([{"clause": "core/host-port", "reason": "ports are left out"}]) == "passed"
    assert broken([{"clause": "core/fit-cpu", "reason": "something else"}]) == "failed"


def test_pods_of_other_schedulers_are_not_checked() -> None:
    h = run()
    h.pod("control-1", scheduler=CONTROL, nodeSelector=NOWHERE)
    h.bind("control-1", "node-1", by=CONTROL_USER)
    assert h.verdict(CLAUSE).outcome == "passed"


def test_binding_that_the_oracle_cannot_judge_is_invalid() -> None:
    h = run()
    h.pod("probe-2", nodeSelector=NOWHERE, resourceClaims=[{"name": "device"}])
    h.bind("probe-2", "node-1")
    told(h.verdict(CLAUSE), "invalid", "oracle-gap", "spec.resourceClaims")


def test_wrong_binding_is_not_hidden_by_an_unjudgeable_binding() -> None:
    h = run()
    h.pod("probe-2", nodeSelector=NOWHERE, resourceClaims=[{"name": "device"}])
    h.bind("probe-2", "node-1")
    h.bind("waits", "node-1")
    told(h.verdict(CLAUSE), "failed", "infeasible-node", "waits")


def test_history_without_bindings_is_invalid() -> None:
    told(HistoryBuilder("core/binds").verdict(CLAUSE), "invalid", "nothing-bound")


def test_long_run_is_judged_in_one_pass() -> None:
    """Each binding is ruled at its revision, without replaying all earlier events."""
    h = run()
    for number in range(1_000):
        h.pod(f"many-{number}", cpu="1")
        h.bind(f"many-{number}", f"node-{1 + number % 4}")
        h.delete(f"many-{number}")
    history = h.history()
    taken = 0
    company = history.world.company

    def counted(node: str, rv: int) -> object:
        nonlocal taken
        taken += 1
        return company(node, rv)

    history.world.company = counted  # type: ignore[method-assign,assignment]
    assert judge_feasible(history, CLAUSE).outcome == "passed"
    assert taken <= 2 * 1_001
