"""From a history to verdicts: claims, capabilities, exclusions, levels, and clauses that were not tried."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.profiles import CLAUSE_PROFILES, profile_of
from schedproof.cli import main as cli
from schedproof.history.acts import Broken, RunCluster, Selected, Unsupported
from schedproof.history.history import History
from schedproof.judge.catalogue import BASICS, CATALOGUE
from schedproof.judge.clause import Clause
from schedproof.judge.judge import applies, judge, judge_all, shows_nothing_further
from schedproof.judge.verdict import Finding, Outcome, Verdict, failed, invalid, passed

from .histories import BY_POD_GROUPS, CAPABILITIES, CLAIMS, EXTENDER, NO_RIGHTS, NODES, HistoryBuilder, told
from .verdicts import verdict_of

CASE = "core/fit-cpu"
CLUSTER = RunCluster(name="embedded", nodes=list(NODES), device="eth0", capabilities=sorted(CAPABILITIES))


BINDING = {**EXTENDER, "bindVerb": "bind"}
LEFT_OUT = {"answered": ["node-1", "node-2", "node-3"], "failed": {"node-4": "too loud"}}


def holds(h: HistoryBuilder) -> None:
    h.pod("probe-1", cpu="1")
    h.call("filter", **LEFT_OUT)
    h.call("prioritize")
    h.bind("probe-1", "node-1")
    h.call("bind", **bind_call(h, "node-1"))
    h.expect("probe-1", "bound")


def bind_call(h: HistoryBuilder, node: str) -> dict[str, Any]:
    return {"asked": None, "answered": None, "uid": h.uid("probe-1"), "node": node}


def breaks(h: HistoryBuilder) -> None:
    h.pod("probe-1", cpu="1")
    h.bind("probe-1", "ghost")
    h.expect("probe-1", "bound")


def proves_nothing(h: HistoryBuilder) -> None:
    h.pod("probe-1", cpu="1000")
    h.expect("probe-1", "bound")


# -- the catalogue


def test_every_clause_is_filed_under_its_id_and_belongs_to_a_profile() -> None:
    for clause_id, clause in CATALOGUE.items():
        assert clause.id == clause_id
        assert clause_id.partition("/")[0] in CLAUSE_PROFILES
        assert clause.guarantee.endswith(".")
        assert clause.source
        assert not clause.features & clause.also


@pytest.mark.parametrize("clause", CATALOGUE.values(), ids=CATALOGUE)
def test_case_without_any_event_never_passes(clause: Clause) -> None:
    """Only core/alive passes: the process lived, which is all it requires.

    (`*/rbac-*` needs no pod either, but recorded rights.)
    """
    claims = dataclasses.replace(CLAIMS, features=tuple({*CLAIMS.features, *clause.features}), gang=BY_POD_GROUPS)
    extender = {**EXTENDER, "ignorable": True} if "ignorable" in clause.features else BINDING
    verdict = HistoryBuilder(clause.id, bystander=False, claims=claims, extender=extender).verdict()
    assert verdict.outcome == ("passed" if clause.id == "core/alive" else "invalid")


# -- clauses that need no trial


@pytest.mark.parametrize(
    ("change", "claims", "capabilities", "expected"),
    [
        ({}, {}, CAPABILITIES, None),
        ({}, {"profiles": ("network-aware",)}, CAPABILITIES, ("not-claimed", "not-claimed")),
        (
            {"features": frozenset({"events", "priority"})},
            {"features": ("events",)},
            CAPABILITIES,
            ("not-claimed", "not-claimed"),
        ),
        ({"features": frozenset({"events"})}, {"features": ("events", "priority")}, CAPABILITIES, None),
        (
            {"needs": frozenset({"audit", "change-nodes"})},
            {},
            {"audit"},
            ("skipped", "capability-missing"),
        ),
        ({"needs": frozenset({"audit"})}, {}, {"audit"}, None),
        ({"obstacle": lambda *_: "the moon is full"}, {}, CAPABILITIES, ("skipped", "not-possible-here")),
        # A missing capability does not matter for a clause that is not claimed.
        (
            {"features": frozenset({"priority"}), "needs": frozenset({"audit"})},
            {},
            (),
            ("not-claimed", "not-claimed"),
        ),
        # Obstacles are not evaluated where a capability is missing.
        (
            {"needs": frozenset({"audit"}), "obstacle": lambda *_: 1 / 0},
            {},
            (),
            ("skipped", "capability-missing"),
        ),
    ],
)
def test_clause_applies_if_it_is_claimed_and_can_be_tried(
    change: dict[str, Any], claims: dict[str, Any], capabilities: Any, expected: tuple[str, str] | None
) -> None:
    clause = Clause("core/example", "It holds.", "test", lambda *_: passed(""), **change)
    cluster = CLUSTER.model_copy(update={"capabilities": sorted(capabilities)})
    verdict = applies(clause, dataclasses.replace(CLAIMS, **claims), cluster)
    assert (verdict and (verdict.outcome, verdict.code)) == expected


def test_clause_that_does_not_apply_is_not_judged() -> None:
    h = HistoryBuilder(CASE, claims=dataclasses.replace(CLAIMS, profiles=("normalization",)))
    breaks(h)
    assert h.verdict().outcome == "not-claimed"


def test_clauses_that_need_the_audit_log_are_skipped_without_it() -> None:
    features = {feature for clause in CATALOGUE.values() for feature in clause.features}
    claims = dataclasses.replace(CLAIMS, features=tuple(features), gang=BY_POD_GROUPS)
    h = HistoryBuilder(CASE, claims=claims, capabilities=CAPABILITIES - {"audit"})
    holds(h)
    assert h.verdict().outcome == "passed"
    outcomes = {clause: h.verdict(clause).outcome for clause, listed in CATALOGUE.items() if "audit" in listed.needs}
    assert outcomes
    assert set(outcomes.values()) == {"skipped"}


def test_clause_is_not_claimed_without_a_claim_that_it_requires() -> None:
    clause = Clause("core/example", "It holds.", "test", lambda *_: passed(""), unclaimed=lambda _: "no promise")
    verdict = applies(clause, CLAIMS, CLUSTER)
    assert verdict is not None
    told(verdict, "not-claimed", "not-claimed", "no promise")


def test_rights_and_scores_of_extenders_are_judged_over_the_whole_run() -> None:
    names = {"rbac-sufficient", "rbac-dangerous", "rbac-minimal"}
    rights = {f"{kind}/{name}" for kind in ("controller", "extender", "plugin") for name in names}
    scores = {"extender/prioritize-integers", "extender/prioritize-no-duplicates"}
    assert rights | scores <= {clause for clause, listed in CATALOGUE.items() if listed.whole_run}


@pytest.mark.parametrize("clause", [clause for clause, listed in CATALOGUE.items() if listed.whole_run])
def test_whole_run_clause_includes_other_cases(clause: str) -> None:
    h = HistoryBuilder(clause, rbac=NO_RIGHTS, extender=BINDING)
    h.call("filter", **LEFT_OUT)
    h.call("prioritize")
    h.request("list", "nodes", "")
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.call("bind", **bind_call(h, "node-1"))
    h.end()
    assert h.verdict().outcome == "passed"
    h.begin(CASE)
    h.pod("probe-2")
    for verb in ("create", "patch"):
        h.request(verb, "pods", "probe-2", code=403, body={"spec": {"nodeName": "node-1"}})
    h.call("prioritize", scores=[["node-1", 0.5], ["node-1", 0.5]])
    h.call("filter", **{**LEFT_OUT, "failed": {}})
    h.call("bind", **bind_call(h, "node-2"))
    h.request("patch", "pods/status", "probe-1", code=403)
    h.records[0]["rbac"] = {"declared": [{"verbs": ["*"], "resources": ["configmaps"]}], "schedulers": []}
    assert h.verdict(clause).outcome == "failed"


# -- clauses that were not tried, or not to their end


def test_clause_that_was_never_tried_is_invalid() -> None:
    h = HistoryBuilder(CASE)
    verdict = h.verdict("core/taint-noschedule")
    told(verdict, "invalid", "cut-short")


def test_trial_cut_short_by_a_missed_deadline_is_invalid() -> None:
    h = HistoryBuilder(CASE)
    holds(h)
    h.end(early=True)
    verdict = h.verdict()
    told(verdict, "invalid", "cut-short")


@pytest.mark.parametrize("act", [holds, breaks], ids=["holds so far", "broken so far"])
def test_case_without_an_end_is_invalid(act: Any) -> None:
    """The missing part could have contained the decisive stimulus or the rest of the wait."""
    h = HistoryBuilder(CASE)
    act(h)
    verdict = judge(h.history(), CASE)
    told(verdict, "invalid", "cut-short")


def test_second_trial_without_an_end_is_invalid() -> None:
    h = HistoryBuilder(CASE)
    holds(h)
    h.end()
    h.begin()
    assert judge(h.history(), CASE).outcome == "invalid"


@pytest.mark.parametrize("clause", [clause for clause, listed in CATALOGUE.items() if listed.last])
def test_whole_run_clause_needs_the_end_of_the_run_and_no_case(clause: str) -> None:
    h = HistoryBuilder(CASE, rbac=NO_RIGHTS, extender=BINDING)
    holds(h)
    verdict = judge(h.history(), clause)
    told(verdict, "invalid", "cut-short")
    h.over()
    assert judge(h.history(), clause).outcome == "passed"


def test_case_with_harness_trouble_is_invalid() -> None:
    h = HistoryBuilder(CASE)
    breaks(h)
    h.trouble("cannot set up the network of a node")
    verdict = h.verdict()
    told(verdict, "invalid", "harness-trouble", "cannot set up the network of a node")


def test_harness_trouble_in_one_case_does_not_affect_another() -> None:
    h = HistoryBuilder("core/binds")
    h.trouble("no")
    h.end()
    h.begin(CASE)
    holds(h)
    assert h.verdict().outcome == "passed"


# -- exclusions


EXCLUDED = {"clause": CASE, "reason": "rounds down"}


@pytest.mark.parametrize(
    ("act", "outcome", "stale", "code"),
    [
        (breaks, "excluded", False, "infeasible-node"),
        (holds, "passed", True, "outdated-exclusion"),
        (proves_nothing, "invalid", False, "wrong-expectation"),
        (lambda h: h.trouble("no"), "invalid", False, "harness-trouble"),
    ],
    ids=["fails", "holds", "proves nothing", "trouble"],
)
def test_exclusion_covers_only_failures_and_is_stale_if_the_clause_passes(
    act: Any, outcome: str, stale: bool, code: str
) -> None:
    h = HistoryBuilder(CASE, exclusions=[EXCLUDED])
    act(h)
    verdict = h.verdict()
    assert (verdict.outcome, verdict.stale, verdict.fails_run) == (outcome, stale, stale)
    assert verdict.code == code


def test_exclusion_of_another_clause_covers_nothing() -> None:
    h = HistoryBuilder(CASE, exclusions=[{**EXCLUDED, "clause": "core/binds"}])
    breaks(h)
    assert h.verdict().outcome == "failed"


# -- levels


@pytest.mark.parametrize(
    ("finding", "level", "fails", "unproved"),
    [
        (passed("p"), "required", False, False),
        (failed("not-tried", "f"), "required", True, False),
        (invalid("not-tried", "i"), "required", False, True),
        (passed("p"), "recommended", False, False),
        (failed("not-tried", "f"), "recommended", False, False),
        (invalid("not-tried", "i"), "recommended", False, False),
    ],
)
def test_only_required_clauses_decide_a_run(
    finding: Finding, level: Any, fails: bool, unproved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clause = Clause("network/herd", "It holds.", "test", lambda *_: finding, level)
    monkeypatch.setitem(CATALOGUE, clause.id, clause)
    verdict = HistoryBuilder(clause.id).verdict()
    assert (verdict.outcome, verdict.level) == (finding.outcome, level)
    assert (verdict.fails_run, verdict.unproved) == (fails, unproved)


def test_serialized_verdict_has_stale_only_if_it_is_stale() -> None:
    verdict = verdict_of("core/binds", "required", "passed", "all well", {"measured": {"n": 1}})
    plain = {
        "id": "core/binds", "level": "required", "outcome": "passed", "summary": "all well",
        "evidence": {"measured": {"n": 1}},
    }  # fmt: skip
    assert verdict.model_dump(by_alias=True, exclude_unset=True) == plain
    stale = verdict.model_copy(update={"stale": True})
    assert stale.model_dump(by_alias=True, exclude_unset=True) == {**plain, "stale": True}


def test_judge_that_raises_makes_only_its_own_clause_invalid(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def raises(history: History, case: str) -> Finding:
        raise LookupError("a planted bug")

    # Recommended clauses otherwise never fail a run.
    broken = dataclasses.replace(CATALOGUE["core/fit-cpu"], judge=raises, level="recommended")
    monkeypatch.setitem(CATALOGUE, "core/fit-cpu", broken)
    h = HistoryBuilder("core/fit-cpu")
    h.pod("probe-1")
    h.bind("probe-1", "node-1")
    h.end()
    h.over()
    next(record for record in h.records if record["kind"] == "selected")["clauses"] = ["core/fit-cpu", "core/alive"]
    verdicts = {verdict.clause: verdict for verdict in judge_all({0: h.history()})}
    assert (verdicts["core/fit-cpu"].outcome, verdicts["core/fit-cpu"].code) == ("invalid", "judge-raised")
    assert "LookupError: a planted bug (test_judge.py:" in verdicts["core/fit-cpu"].summary
    assert verdicts["core/alive"].outcome == "passed"
    h.save(tmp_path)
    assert cli.main(["judge", str(tmp_path)]) == 3
    assert "core/fit-cpu" in capsys.readouterr().out


# -- what the candidate does not support


def test_clause_that_needs_what_is_not_supported_is_skipped_unless_it_failed_before() -> None:
    needs = {"subject": "host ports", "clause": "core/host-port"}
    h = HistoryBuilder("core/no-overcommit")
    h.add(Unsupported(case=h.case, **needs))
    verdict = h.verdict()
    assert (verdict.outcome, verdict.code, verdict.depends_on) == ("skipped", "depends-on-excluded", "core/host-port")
    assert not verdict.did_not_pass
    h = HistoryBuilder("core/fit-cpu")
    h.node("node-1", cpu="1")
    h.seen()
    h.pod("large", cpu="2")
    h.bind("large", "node-1")
    h.add(Unsupported(case=h.case, **needs))
    assert h.verdict().outcome == "failed"


# -- the ladder


def test_clause_that_depends_on_a_failed_basic_clause_is_skipped() -> None:
    h = HistoryBuilder("core/node-selector")
    h.add(Selected(clauses=["core/node-selector", "core/fit-cpu", "core/no-overcommit"]))
    h.end()
    h.add(Broken(case="core/node-selector", basic=True))
    verdicts = {verdict.clause: verdict for verdict in judge_all({0: h.history()})}
    waits = verdicts["core/fit-cpu"]
    assert (waits.outcome, waits.code, waits.depends_on) == ("skipped", "depends-on-failed", "core/node-selector")
    assert verdicts["core/no-overcommit"].depends_on == "", "it stands on nothing"
    second = HistoryBuilder("core/no-overcommit").history()
    together = {verdict.clause: verdict for verdict in judge_all({1: second, 2: h.history()})}
    assert together.get("core/fit-cpu", waits).depends_on == "core/node-selector"


def test_basic_clauses_and_their_dependencies() -> None:
    preferred, answered = "network/least-traffic", "extender/verbs-served"
    others = {"core/gang", "core/node-selector", "core/requeue-bind-refused", "core/requeue-label-changed"}
    assert {preferred, answered} | others == BASICS
    standing = {basic for basic in BASICS if CATALOGUE[basic].stands_on}
    assert standing == {"core/gang", "core/requeue-label-changed", preferred}
    assert CATALOGUE[preferred].stands_on == {answered}
    waiting = {
        profile_of(clause.id)
        for clause in CATALOGUE.values()
        if preferred in clause.stands_on and answered in clause.stands_on
    }
    assert waiting == {"extender", "network-aware", "normalization"}
    assert preferred in CATALOGUE["extender/prioritize-complete"].stands_on, "it compares scores with traffic"
    assert CATALOGUE["network/rate-not-total"].stands_on == {answered}, "it tells totals from other patterns"
    assert CATALOGUE["extender/healthz"].stands_on == frozenset()


def found(clause: str, code: str, *symptoms: str, outcome: Outcome = "failed", pattern: str | None = None) -> Verdict:
    evidence = {"symptoms": [{"kind": kind, "about": "", "text": ""} for kind in symptoms], "pattern": pattern}
    return verdict_of(clause, "required", outcome, "", evidence, code)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (found("extender/verbs-served", "call-failed"), True),
        (found("extender/verbs-served", "call-too-slow"), True),
        (found("extender/verbs-served", "infeasible-node"), False),
        (found("extender/verbs-served", "not-called", outcome="invalid"), False),
        (found("network/least-traffic", "probe-not-on-quietest", pattern="inverted"), True),
        (found("network/least-traffic", "probe-not-on-quietest", pattern="one-node"), True),
        (found("network/least-traffic", "probe-not-on-quietest", pattern="ignored"), True),
        (found("network/least-traffic", "probe-not-on-quietest", pattern="partly"), False),
        (found("network/least-traffic", "probe-not-on-quietest", "query-refused", pattern="partly"), True),
        (found("network/least-traffic", "not-bound-in-time", "query-without-result"), True),
        (found("network/least-traffic", "not-bound-in-time", "never-retried"), False),
        (found("network/least-traffic", "no-samples-seen", "query-without-result", outcome="invalid"), True),
        (found("network/least-traffic", "metric-not-served", outcome="invalid"), True),
        (found("network/least-traffic", "answered-late", "call-unanswered", outcome="invalid"), False),
        (found("network/flip", "probe-not-on-quietest", pattern="inverted"), False),
    ],
)
def test_what_a_basic_clause_shows_of_those_that_stand_on_it(verdict: Verdict, expected: bool) -> None:
    assert shows_nothing_further(verdict) is expected
