"""The causes of many findings, in the order in which to fix them."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.judge import causes
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.causes import causes_of
from schedproof.judge.codes import CODES
from schedproof.judge.symptoms import KINDS
from schedproof.judge.verdict import Verdict

from ..judge.verdicts import verdict_of


def verdict(clause: str, *symptoms: tuple[str, str], code: str = "not-bound-in-time", **more: Any) -> Verdict:
    listed = [{"kind": kind, "about": about, "text": f"{kind} in {clause}"} for kind, about in symptoms]
    rules = [about for kind, about in symptoms if kind == "rule-ignored"]
    evidence = {"symptoms": listed, "rules": rules}
    return verdict_of(clause, "required", more.pop("outcome", "failed"), "so", evidence, code=code, **more)


def found(*verdicts: Verdict) -> list[tuple[str, str, list[str]]]:
    return [(cause.kind, cause.about, cause.clauses) for cause in causes_of(verdicts)]


def test_findings_with_one_symptom_have_one_cause() -> None:
    ended = ("process-ended", "ValueError")
    assert found(
        verdict("core/binds", ended), verdict("core/fit-cpu", ended, ("never-retried", "")),
        verdict("core/alive", ended, code="process-exited"),
        verdict("core/requeue-uncordon", ended, outcome="invalid", code="not-decided-on"),
    ) == [(*ended, ["core/binds", "core/fit-cpu", "core/alive", "core/requeue-uncordon"])]  # fmt: skip


def test_pods_that_are_not_bound_because_of_a_field_are_shown_by_the_clause_about_it() -> None:
    with_affinity = ("unbound-with", "node affinity")
    (cause,) = causes_of([verdict("core/fit-cpu", with_affinity), verdict("core/node-affinity", with_affinity)])
    assert "node affinity" in cause.title
    assert cause.shown_by.clause == "core/node-affinity"
    (elsewhere,) = causes_of([verdict("core/fit-cpu", with_affinity)])
    assert elsewhere.shown_by.clause == "core/fit-cpu"


def test_findings_without_a_symptom_have_one_cause_where_they_have_one_code() -> None:
    assert found(verdict("core/bind-uid", code="outdated-binding"), verdict("core/binds"), verdict("core/fit-cpu")) == [
        ("not-bound-in-time", "", ["core/binds", "core/fit-cpu"]),
        ("outdated-binding", "", ["core/bind-uid"]),
    ]


def test_passed_excluded_and_recommended_clauses_have_no_cause() -> None:
    without_cause = [
        verdict("core/cordon", outcome=outcome) for outcome in ("passed", "excluded", "skipped", "not-claimed")
    ]
    assert found(*without_cause, verdict_of("core/cordon", "recommended", "failed", "", code="not-tried")) == []


def test_a_placement_that_breaks_several_rules_counts_for_each_of_them() -> None:
    taints, cpu = ("rule-ignored", "taints"), ("rule-ignored", "resources")
    causes = causes_of([
        verdict("core/no-overcommit", taints, cpu, code="infeasible-node"),
        verdict("core/fit-cpu", cpu, code="infeasible-node"),
        verdict("core/fit-memory", cpu, taints, code="infeasible-node"),
        verdict("core/taint-noschedule", taints, code="infeasible-node"),
        verdict("core/taint-noexecute", taints, code="infeasible-node"),
    ])  # fmt: skip
    assert [(cause.about, len(cause.clauses)) for cause in causes] == [("resources", 3), ("taints", 4)]
    assert [cause.shown_by.clause for cause in causes] == ["core/fit-cpu", "core/taint-noschedule"]


@pytest.mark.parametrize(
    ("patterns", "about"),
    [
        ({"network/least-traffic": "inverted", "network/flip": "inverted"}, "inverted"),
        (
            {"network/least-traffic": "ignored", "network/flip": "one-node", "network/real-traffic": "ignored"},
            "ignored",
        ),
        ({"network/least-traffic": "ignored", "network/rate-not-total": "one-node"}, "totals"),
        ({"network/least-traffic": "one-node", "network/rate-not-total": "one-node"}, "one-node"),
        (
            {"network/least-traffic": "ignored", "network/flip": "ignored", "network/rate-not-total": "inverted"},
            "totals",
        ),
        (
            {"network/least-traffic": "inverted", "network/flip": "inverted", "network/rate-not-total": "inverted"},
            "inverted",
        ),
        ({"network/before-capacity": "outweighed", "network/before-preferences": "outweighed"}, "outweighed"),
        (
            {"network/flip": "one-node", "network/rate-not-total": "one-node", "network/before-capacity": "outweighed"},
            "one-node",
        ),
        ({"network/many-nodes": "partly", "network/before-capacity": "outweighed"}, "partly"),
    ],
)
def test_a_preference_that_is_not_met_is_one_cause(patterns: dict[str, str], about: str) -> None:
    verdicts = [
        verdict(clause, ("preference", pattern), code="probe-not-on-quietest") for clause, pattern in patterns.items()
    ]
    (cause,) = causes_of(verdicts)
    assert (cause.kind, cause.about) == ("preference", about)
    assert {*cause.clauses} == {*patterns}
    assert cause.text.startswith("preference in")


def test_a_wrong_configuration_comes_first_and_explains_a_failed_start() -> None:
    assert found(
        verdict("core/binds"), verdict("core/fit-cpu"),
        verdict("core/alive", ("process-ended", "code 1"), code="does-not-start"),
        verdict("plugin/config-version", code="config-version-not-served"),
    ) == [
        ("config-version-not-served", "", ["plugin/config-version", "core/alive"]),
        ("not-bound-in-time", "", ["core/binds", "core/fit-cpu"]),
    ]  # fmt: skip


def test_causes_of_plain_pods_come_before_frequent_causes_and_unproved_clauses_come_last() -> None:
    refused, rule = ("request-refused", "create pods/binding: 403"), ("rule-ignored", "taints")
    assert [kind for kind, _, _ in found(
        verdict("core/no-nodes", code="not-tried", outcome="invalid"),
        verdict("core/no-overcommit", code="not-tried", outcome="invalid"),
        verdict("core/taint-noschedule", rule, code="infeasible-node"),
        verdict("core/taint-noexecute", rule, code="infeasible-node"),
        verdict("core/bind-uid", code="outdated-binding"),
        verdict("core/binds", refused),
    )] == ["request-refused", "rule-ignored", "outdated-binding", "not-tried"]  # fmt: skip


def test_clauses_skipped_because_of_a_clause_count_for_its_cause() -> None:
    skipped = [
        verdict_of(clause, "required", "skipped", "", code="depends-on-failed", depends_on="core/watch-versions")
        for clause in ("core/fit-cpu", "core/fit-memory")
    ]
    taints, ended = ("rule-ignored", "taints"), ("process-ended", "OSError")
    assert [kind for kind, _, _ in found(
        verdict("core/binds", taints, code="infeasible-node"), verdict("core/cordon", taints, code="infeasible-node"),
        verdict("core/watch-versions", ended, outcome="invalid", code="not-tried"), *skipped,
    )] == ["process-ended", "rule-ignored"]  # fmt: skip


@pytest.mark.parametrize("by_chance", ["resources", "taints", "host-ports"])
def test_the_order_of_rules_does_not_depend_on_rules_that_random_placements_break(by_chance: str) -> None:
    own = {
        "core/host-port": "host-ports", "core/taint-noschedule": "taints", "core/taint-noexecute": "taints",
        "core/fit-cpu": "resources",
    }  # fmt: skip
    verdicts = [verdict(clause, ("rule-ignored", rule), code="infeasible-node") for clause, rule in own.items()]
    verdicts += [
        verdict(clause, ("rule-ignored", by_chance), code="infeasible-node")
        for clause in ("core/binds", "core/restart", "core/watch-expired", "core/bind-uid")
    ]
    skipped = [
        verdict_of(clause, "required", "skipped", "", code="depends-on-failed", depends_on="core/requeue-label-changed")
        for clause in ("core/requeue-uncordon", "core/requeue-node-added", "core/requeue-pod-deleted")
    ]
    verdicts.append(verdict("core/requeue-label-changed", ("never-retried", "")))
    order = [about or kind for kind, about, _ in found(*verdicts, *skipped)]
    assert order == ["resources", "taints", "host-ports", "never-retried"]


@pytest.mark.parametrize("seen", [[("query-without-result", "")], []])
def test_an_unproved_clause_that_others_depend_on_is_the_first_cause(seen: list[tuple[str, str]]) -> None:
    skipped = [
        verdict_of(clause, "required", "skipped", "", code="depends-on-failed", depends_on="network/least-traffic")
        for clause in ("network/flip", "network/window")
    ]
    unproved = verdict("network/least-traffic", *seen, code="no-samples-seen", outcome="invalid")
    other = verdict("core/bind-uid", code="outdated-binding")
    assert [kind for kind, _, _ in found(other, unproved, *skipped)] == [
        seen[0][0] if seen else "no-samples-seen", "outdated-binding"
    ]  # fmt: skip


def test_a_process_that_ends_comes_first_whichever_clause_found_it() -> None:
    taints, ended = ("rule-ignored", "taints"), ("process-ended", "OSError")
    skipped = [
        verdict_of(clause, "required", "skipped", "", code="depends-on-failed", depends_on="core/binds")
        for clause in ("core/fit-cpu", "core/fit-memory")
    ]
    assert [kind for kind, _, _ in found(
        verdict("core/binds", taints, code="infeasible-node"), verdict("core/alive", ended, code="process-exited"),
        *skipped,
    )] == ["process-ended", "rule-ignored"]  # fmt: skip


def test_a_rule_broken_in_a_single_clause_comes_after_a_cause_that_others_depend_on() -> None:
    skipped = verdict_of(
        "core/requeue-uncordon", "required", "skipped", "", code="depends-on-failed",
        depends_on="core/requeue-label-changed",
    )  # fmt: skip
    assert [kind for kind, _, _ in found(
        verdict("core/random-worlds", ("rule-ignored", "resources"), code="infeasible-node"),
        verdict("core/requeue-label-changed", ("never-retried", "")), skipped,
    )] == ["never-retried", "rule-ignored"]  # fmt: skip


def test_each_cause_has_a_title_and_a_remedy() -> None:
    abouts = {"rule-ignored": "taints", "preference": "ignored"}
    for kind in KINDS:
        (cause,) = causes_of([verdict("core/binds", (kind, abouts.get(kind, "")), code="infeasible-node")])
        assert cause.title
        assert cause.remedy


def test_rules_and_configurations_refer_to_existing_clauses_and_codes() -> None:
    assert {clause for _, clause in causes._RULES.values()} <= CATALOGUE.keys()
    assert {*causes._CONFIGURATION} <= CODES.keys()
