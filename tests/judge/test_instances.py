"""Several instances of a candidate, each with a history: one verdict for each clause."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.history.history import History
from schedproof.history.observations import ApiRequest
from schedproof.judge.judge import judge, judge_all, merge, pool
from schedproof.judge.verdict import Outcome, Verdict
from schedproof.run.rejudge import rejudge

from .histories import HistoryBuilder
from .verdicts import verdict_of

SELECTED = ["core/fit-cpu", "core/fit-memory", "network/flip", "core/feasible"]


def instance(case: str, *, node: str = "node-1") -> HistoryBuilder:
    """A run of one of the selected clauses, in which the probe is bound to `node`."""
    h = HistoryBuilder(case)
    h.pod("probe-1", cpu="1")
    h.bind("probe-1", node)
    h.expect("probe-1", "bound")
    h.end()
    next(record for record in h.records if record["kind"] == "selected")["clauses"] = SELECTED
    h.over()
    return h


def verdict(outcome: Outcome, number: int, *, stale: bool = False) -> Verdict:
    return verdict_of("core/alive", "required", outcome, f"said by {number}", stale=stale, instance=number)


def unread() -> list[History]:
    pytest.fail("the histories were read, although the verdicts decide")


def with_request(verb: str) -> HistoryBuilder:
    """A run of a candidate that declares the verbs get and delete of nodes, and uses this one."""
    rights = {"apiGroups": [""], "verbs": ["get", "delete"], "resources": ["nodes"]}
    h = HistoryBuilder("controller/rbac-minimal", rbac={"declared": [rights], "schedulers": []})
    h.records[0]["candidate"]["kind"] = "controller"
    h.request(verb, "nodes", "node-1")
    h.end()
    h.over()
    return h


def test_clause_is_judged_by_the_instance_that_tried_it() -> None:
    histories = {1: instance("core/fit-cpu").history(), 2: instance("core/fit-memory", node="ghost").history()}
    outcomes = {judged.clause: (judged.outcome, judged.instance) for judged in judge_all(histories)}
    assert outcomes["core/fit-cpu"] == ("passed", 1)
    assert outcomes["core/fit-memory"] == ("failed", 2)
    assert outcomes["network/flip"][0] == "invalid", "no instance was tried on it"


def test_whole_run_clause_is_judged_over_all_instances() -> None:
    histories = {1: instance("core/fit-cpu").history(), 2: instance("core/fit-memory", node="ghost").history()}
    feasible = judge_all(histories)[-1]
    assert (feasible.outcome, feasible.instance) == ("failed", 2)


@pytest.mark.parametrize(
    ("outcomes", "expected", "number"),
    [
        (["passed", "failed", "invalid"], "failed", 2),
        (["invalid", "passed"], "invalid", 1),
        (["passed", "passed"], "passed", 0),
        (["not-claimed", "passed"], "passed", 0),
        (["not-claimed", "not-claimed"], "not-claimed", 0),
        (["excluded", "passed"], "excluded", 1),
        (["failed"], "failed", 1),
    ],
)
def test_worst_outcome_of_all_instances_counts(outcomes: list[Outcome], expected: Outcome, number: int) -> None:
    merged = merge([verdict(outcome, n) for n, outcome in enumerate(outcomes, 1)], unread)
    assert (merged.outcome, merged.instance) == (expected, number)


def test_order_of_instances_does_not_matter() -> None:
    verdicts = [verdict("passed", 1), verdict("passed", 2), verdict("passed", 3)]
    assert merge(verdicts, unread) == merge(verdicts[::-1], unread)


def test_exclusion_needed_by_one_instance_is_not_stale() -> None:
    merged = merge([verdict("passed", 1, stale=True), verdict("excluded", 2)], unread)
    assert (merged.outcome, merged.stale) == ("excluded", False)


def test_exclusion_that_no_instance_needs_is_stale() -> None:
    assert merge([verdict("passed", 1, stale=True), verdict("passed", 2, stale=True)], unread).stale


def test_requests_of_all_instances_are_pooled() -> None:
    first, second = instance("core/fit-cpu").history(), instance("core/fit-memory").history()
    pooled = pool([first, second])
    assert len(list(pooled.of(ApiRequest))) == len(list(first.of(ApiRequest))) + len(list(second.of(ApiRequest)))
    assert len(list(pooled.up_to_end().of(ApiRequest))) == len(list(pooled.of(ApiRequest)))


def test_right_that_another_instance_uses_is_not_unused() -> None:
    histories = [with_request("get").history(), with_request("delete").history()]
    apart = [judge(history, "controller/rbac-minimal") for history in histories]
    assert [found.outcome for found in apart] == ["failed", "failed"]
    assert merge(apart, lambda: histories).outcome == "passed"


def test_right_that_no_instance_uses_is_unused() -> None:
    histories = [with_request("get").history()] * 2
    assert merge([judge(history, "controller/rbac-minimal") for history in histories], lambda: histories).outcome == (
        "failed"
    )


def test_verdict_survives_serialization() -> None:
    sent = verdict_of("core/alive", "required", "passed", "well", {"measured": {"probes": 1.5}}, stale=True, instance=3)
    assert Verdict.model_validate_json(sent.model_dump_json(by_alias=True, exclude_unset=True)) == sent


def test_saved_instances_are_judged_again_as_one_candidate(tmp_path: Path) -> None:
    home = tmp_path / "candidates" / "tested"
    (home / "2").mkdir(parents=True)
    instance("core/fit-cpu").save(home)
    instance("core/fit-memory", node="ghost").save(home / "2")
    (result,) = rejudge(tmp_path).candidates.values()
    assert {v.clause: (v.outcome, v.instance) for v in result.verdicts if v.clause.startswith("core/fit")} == {
        "core/fit-cpu": ("passed", 1),
        "core/fit-memory": ("failed", 2),
    }
