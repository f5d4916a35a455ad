"""What verdicts mean for a run: its exit code, its profiles, and its files."""

from __future__ import annotations

import itertools
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import CandidateError, HostError, SchedproofError
from schedproof.judge.catalogue import CATALOGUE
from schedproof.judge.verdict import Outcome, Verdict
from schedproof.report.run.changes import load_report
from schedproof.report.run.junit import junit
from schedproof.report.run.outputs import write_files
from schedproof.run.result import CandidateResult, RunResult, profile_results

from ..judge.verdicts import verdict_of

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
CLAUSES = ("core/binds", "core/fit-cpu", "core/alive", "network/flip")


def verdict(outcome: Outcome, level: Any = "required", *, clause: str = "core/binds", stale: bool = False) -> Verdict:
    return verdict_of(clause, level, outcome, f"it {outcome}", stale=stale)


EVERY = [verdict(outcome, level) for outcome in OUTCOMES for level in ("required", "recommended")]
EVERY += [verdict("passed", level, stale=True) for level in ("required", "recommended")]


def run(
    *verdicts: Verdict,
    selected: Iterable[str] = (),
    error: SchedproofError | None = None,
    run_error: SchedproofError | None = None,
    folder: Path = Path("results"),
) -> RunResult:
    """A run of one candidate with these verdicts."""
    candidate = Candidate(name="tested", scheduler_name="tested", attached=AttachedSpec(), path=Path("candidate.yaml"))
    result = RunResult(seed=7, cluster="embedded", folder=folder, error=run_error)
    result.candidates["tested"] = CandidateResult(candidate, tuple(selected), list(verdicts), error)
    return result


# -- exit codes


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([verdict("passed")], 0),
        ([verdict("passed"), verdict("skipped")], 3),
        ([verdict("passed"), verdict("skipped", "recommended")], 0),
        ([], 3),
        ([verdict("not-claimed")], 3),
        ([verdict("skipped", "recommended")], 3),
        ([verdict("excluded")], 0),
        ([verdict("passed", clause="network/flip"), verdict("not-claimed")], 3),
        ([verdict("passed"), verdict("not-claimed", clause="network/flip")], 0),
        ([verdict("failed"), verdict("skipped")], 1),
        ([verdict("passed"), verdict("not-claimed")], 0),
        ([verdict("passed"), verdict("excluded")], 0),
        ([verdict("passed"), verdict("failed", "recommended")], 0),
        ([verdict("passed"), verdict("invalid", "recommended")], 0),
        ([verdict("passed"), verdict("failed")], 1),
        ([verdict("passed", stale=True)], 1),
        ([verdict("passed", "recommended", stale=True)], 1),
        ([verdict("passed"), verdict("invalid")], 3),
        ([verdict("failed"), verdict("invalid")], 1),
    ],
)
def test_verdicts_decide_the_exit_code(verdicts: list[Verdict], code: int) -> None:
    assert run(*verdicts).exit_code == code


def test_with_allow_skipped_only_skipped_clauses_do_not_fail_a_run() -> None:
    for verdicts, code in (
        ([verdict("passed"), verdict("skipped")], 0),
        ([verdict("skipped")], 3),
        ([verdict("failed"), verdict("skipped")], 1),
        ([verdict("invalid"), verdict("skipped")], 3),
    ):
        result = run(*verdicts)
        result.allow_skipped = True
        assert result.exit_code == code


def test_a_run_without_candidates_has_exit_code_3() -> None:
    assert RunResult(seed=7, cluster="embedded", folder=Path("results")).exit_code == 3


def test_every_combination_of_verdicts_has_the_exit_code_of_its_worst_verdict() -> None:
    for size in range(4):
        for verdicts in itertools.combinations_with_replacement(EVERY, size):
            failed = any(v.stale or (v.outcome, v.level) == ("failed", "required") for v in verdicts)
            unproved = any(v.outcome in ("invalid", "skipped") and v.level == "required" for v in verdicts)
            unproved = unproved or all(v.outcome in ("skipped", "not-claimed") for v in verdicts)
            tried = ["core/binds"] * bool(verdicts)
            untried = [*tried, "core/fit-cpu"]
            assert run(*verdicts, selected=tried).exit_code == (1 if failed else 3 if unproved else 0)
            assert run(*verdicts, selected=untried).exit_code == (1 if failed else 3)
            assert run(*verdicts, selected=untried, error=CandidateError("no")).exit_code == 2
            assert run(*verdicts, selected=untried, run_error=HostError("no")).exit_code == 2


@pytest.mark.parametrize(
    ("second", "code"), [(verdict("passed"), 0), (verdict("failed"), 1), (verdict("invalid"), 3), (None, 3)]
)
def test_all_candidates_must_pass(second: Verdict | None, code: int) -> None:
    """A clause that one candidate passed has not been tried on the other."""
    result = run(verdict("passed"), selected=["core/binds"])
    other = Candidate(name="other", scheduler_name="other", attached=AttachedSpec(), path=Path("other.yaml"))
    result.candidates["other"] = CandidateResult(other, ("core/binds",), [second] if second else [])
    assert result.exit_code == code


# -- profiles


@pytest.mark.parametrize(
    ("verdicts", "result"),
    [
        ([verdict("passed")], "success"),
        ([verdict("passed"), verdict("failed", "recommended")], "success"),
        ([verdict("passed"), verdict("not-claimed")], "success"),
        ([verdict("passed"), verdict("skipped")], "partial"),
        ([verdict("passed"), verdict("invalid")], "partial"),
        ([verdict("passed"), verdict("excluded")], "partial"),
        ([verdict("passed"), verdict("failed")], "failure"),
        ([verdict("invalid"), verdict("failed")], "failure"),
        ([verdict("passed", stale=True)], "failure"),
    ],
)
def test_a_profile_is_as_good_as_its_worst_required_clause(verdicts: list[Verdict], result: str) -> None:
    assert profile_results(verdicts)["core"].result == result


def test_profiles_are_reported_separately_and_count_every_outcome() -> None:
    verdicts = [verdict("passed"), verdict("passed"), verdict("not-claimed"), verdict("failed", clause="network/flip")]
    assert {profile: found.model_dump() for profile, found in profile_results(verdicts).items()} == {
        "core": {"result": "success", "statistics": {"passed": 2, "not-claimed": 1}},
        "network-aware": {"result": "failure", "statistics": {"failed": 1}},
    }


def test_a_profile_that_is_not_claimed_is_not_reported() -> None:
    assert profile_results([verdict("not-claimed"), verdict("not-claimed")]) == {}


# -- report.json


def read_report(result: RunResult) -> Any:
    """Read the report as a strict JSON parser does."""
    write_files(result)
    text = (result.folder / "report.json").read_text()
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_the_report_has_the_documented_form(tmp_path: Path) -> None:
    evidence = {"measured": {"probes": 12}, "timeline": ["+0.1s  it began"]}
    result = run(verdict_of("core/binds", "required", "passed", "all well", evidence), folder=tmp_path / "new" / "run")
    result.versions = {"kubernetes": "v1.36.3"}
    result.timings = {"cluster": 1.23456}
    assert read_report(result) == {
        "schema": "schedproof.report/v1",
        "run": {
            "seed": 7,
            "cluster": "embedded",
            "jobs": 1,
            "versions": {"kubernetes": "v1.36.3"},
            "timings": {"cluster": 1.235},
            "exit_code": 0,
        },
        "candidates": [
            {
                "name": "tested",
                "kind": "attached",
                "profiles": {"core": {"result": "success", "statistics": {"passed": 1}}},
                "clauses": [
                    {
                        "id": "core/binds",
                        "level": "required",
                        "outcome": "passed",
                        "summary": "all well",
                        "evidence": evidence,
                    }
                ],
            }
        ],
    }


def test_errors_are_in_the_report_with_their_remedy(tmp_path: Path) -> None:
    error = CandidateError("it ended with exit code 1", remedy="read its log")
    report = read_report(run(error=error, run_error=HostError("the disk is full"), folder=tmp_path))
    assert report["run"]["error"] == "the disk is full"
    assert report["run"]["exit_code"] == 2
    assert report["candidates"][0]["error"] == "it ended with exit code 1\n  fix: read its log"


def test_numbers_without_a_json_form_are_written_as_prometheus_writes_them(tmp_path: Path) -> None:
    numbers = {"nan": float("nan"), "inf": float("inf"), "whole": 12}
    node = {"node": "a", "reading": "1", "scores": [float("-inf"), 1.5]}
    scoring = {"surface": "python", "holds": True, "cases": 1, "questions": [{"nodes": [node]}]}
    row = {"node": "a", "feasible": True, "reasons": [], "traffic": None, "expected": False, "chosen": True}
    decision = {"pod": "p", "requests": [], "expected": "", "chosen": "a", "query": "", "nodes": [row]}
    evidence = {"measured": numbers, "scorings": [scoring], "decisions": [decision]}
    result = run(verdict_of("core/binds", "required", "passed", "", evidence), folder=tmp_path)
    (clause,) = read_report(result)["candidates"][0]["clauses"]
    assert clause["evidence"] == {
        "measured": {"nan": "NaN", "inf": "+Inf", "whole": 12},
        "scorings": [{**scoring, "questions": [{"nodes": [{**node, "scores": ["-Inf", 1.5]}]}]}],
        "decisions": [decision],
    }
    assert math.isnan(load_report(tmp_path).candidates[0].clauses[0].evidence.measured["nan"])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match=r"cannot write the report to .*file"):
        write_files(run(verdict("passed"), folder=tmp_path / "file"))


# -- report.html


def test_text_of_a_candidate_is_escaped_in_the_html_report(tmp_path: Path) -> None:
    markup = "<script>alert('x')</script> & \"quoted\" größer"
    evidence = {"timeline": [markup], "logs": {markup: [markup]}}
    write_files(run(verdict_of("core/alive", "required", "failed", markup, evidence), folder=tmp_path))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<script") == 1, "the page's own"
    assert text.count("&lt;script&gt;alert") >= 4
    assert "größer" in text


# -- junit.xml


def junit_of(result: RunResult) -> ET.Element:
    """Read the JUnit file as an XML parser does."""
    return ET.fromstring(ET.tostring(junit(result)))


@pytest.mark.parametrize(
    ("judged", "child"),
    [
        (verdict("passed"), None),
        (verdict("failed"), "failure"),
        (verdict("passed", stale=True), "failure"),
        (verdict("invalid"), "error"),
        (verdict("excluded"), "skipped"),
        (verdict("skipped"), "skipped"),
        (verdict("not-claimed"), "skipped"),
        (verdict("failed", "recommended"), None),
        (verdict("invalid", "recommended"), None),
    ],
)
def test_a_testcase_has_the_outcome_of_its_clause(judged: Verdict, child: str | None) -> None:
    result = run(judged)
    result.timings["tested core/binds"] = 1.5
    (case,) = junit_of(result).iter("testcase")
    assert (case.get("classname"), case.get("name"), case.get("time")) == ("tested.core", "core/binds", "1.500")
    assert [element.tag for element in case] == ([child] if child else [])
    if child:
        assert str(case[0].get("message")).splitlines()[-1] == judged.summary
        assert "guarantee: " + CATALOGUE["core/binds"].guarantee in (case[0].text or "")


def test_a_testsuite_counts_its_testcases_failures_and_errors() -> None:
    result = run(
        verdict("passed"), verdict("failed"), verdict("invalid"), verdict("skipped"), verdict("excluded"),
        error=CandidateError("it ended with exit code 1"),
    )  # fmt: skip
    (suite,) = junit_of(result)
    assert suite.get("name") == "tested"
    assert len(suite.findall("testcase")) == 6
    for name, tag in (("tests", "testcase"), ("failures", ".//failure"), ("errors", ".//error")):
        assert int(suite.get(name, "")) == len(suite.findall(tag))
    assert int(suite.get("skipped", "")) == len(suite.findall(".//skipped")) == 2
    attach = next(case for case in suite if case.get("name") == "attach")
    assert attach[0].get("message") == "it ended with exit code 1"


@settings(deadline=None, database=None)
@given(st.text(st.characters(exclude_categories=())))
@example("\x00\x1b[31mred\x1b[0m\x7f\x85\r\n\t")
@example("\ufffe\uffff\ud800")
def test_any_text_of_a_candidate_leaves_the_report_files_readable(tmp_path_factory: Any, text: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "junit"
    judged = verdict_of("core/alive", "required", "failed", text, {"logs": {"candidate": [text]}})
    write_files(run(judged, error=CandidateError(text), folder=folder))
    assert len(list(ET.parse(folder / "junit.xml").iter("testcase"))) == 2
    json.loads((folder / "report.json").read_text())
    assert (folder / "report.html").read_text(encoding="utf-8").endswith("</html>\n")


# -- the commands that try a clause again


def of_clauses(*clauses: str, instances: tuple[int, ...] = (), selected: tuple[str, ...] = ()) -> RunResult:
    result = RunResult(7, "embedded", Path("results"))
    candidate = find_candidate("stock")
    verdicts = [
        verdict_of(clause, "required", "failed", "it failed", instance=instance)
        for clause, instance in zip(clauses, instances or [0] * len(clauses), strict=True)
    ]
    result.candidates["stock"] = CandidateResult(candidate, selected or tuple(CATALOGUE), verdicts)
    return result


def commands(result: RunResult, clause: str) -> tuple[str, str]:
    candidate = result.candidates["stock"].candidate
    alone, among = result.reproduce(candidate, clause), result.reproduce_among(candidate, clause)
    return tuple(text.replace(str(candidate.path), "stock") for text in (alone, among))  # type: ignore[return-value]


def test_a_clause_that_ran_after_others_has_a_second_command_that_includes_them() -> None:
    alone = "schedproof run stock --clause core/fit-cpu --seed 7"
    all_of_it = "schedproof run stock --seed 7 --jobs 1"
    assert commands(of_clauses("core/fit-cpu", "core/alive"), "core/fit-cpu") == (alone, "")
    assert commands(of_clauses("core/binds", "core/fit-cpu"), "core/fit-cpu") == (alone, all_of_it)
    # On another instance it cannot have mattered.
    assert commands(of_clauses("core/binds", "core/fit-cpu", instances=(1, 2)), "core/fit-cpu") == (alone, "")


def test_a_clause_on_the_whole_run_is_reproduced_with_all_selected_clauses() -> None:
    assert commands(of_clauses("core/alive"), "core/alive") == ("schedproof run stock --seed 7 --jobs 1", "")
    always = tuple(clause for clause in CATALOGUE if CATALOGUE[clause].always)
    selected = of_clauses("core/alive", selected=("core/binds", "core/fit-cpu", *always))
    command = "schedproof run stock --clause=core/binds --clause=core/fit-cpu --seed 7 --jobs 1"
    assert commands(selected, "core/alive")[0] == command
