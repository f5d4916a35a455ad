"""Clauses on several clusters in parallel: the same verdicts as in sequence, in one report."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

SUITES = Path(__file__).parents[2] / "suites"
STOCK_CLAUSES = ("core/no-nodes", "core/fit-cpu", "core/taint-noschedule", "core/restart", "core/freshness")
CRASHES = "supervised-crash-loop-extender"
CLAUSES = ("network/prometheus-down", *STOCK_CLAUSES)


def outcomes(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Candidate to clause to outcome."""
    return {
        candidate["name"]: {c["id"]: c["outcome"] for c in candidate["clauses"]} for candidate in report["candidates"]
    }


def test_several_clusters_give_the_verdicts_of_a_single_cluster(shells: Any) -> None:
    """An instance crashes: `core/alive` fails, and names it. (The number of instances depends on how long clauses
    take.)
    """
    found = {}
    for jobs in (1, 3):
        shell = shells()
        command = shell.start(
            "schedproof", "run", f"defects/{CRASHES}", "--jobs", str(jobs), "--seed", "7", "--report", "report",
            *(f"--clause={clause}" for clause in CLAUSES),
        )  # fmt: skip
        ended = command.ends()
        assert ended.code == 1, ended.printed
        shell.expect_nothing_left()
        report = shell.report()
        found[jobs] = outcomes(report)
        assert report["run"]["jobs"] == jobs
        again = shell.schedproof("judge", "report")
        assert again.code == 1, again.printed
    assert found[1] == found[3]
    assert {clause for clause, outcome in found[3][CRASHES].items() if outcome != "passed"} == {
        "core/alive", "extender/answers", "network/prometheus-down"
    }  # fmt: skip
    (broken,) = report["candidates"]
    alive = next(clause for clause in broken["clauses"] if clause["id"] == "core/alive")
    assert alive["instance"] >= 1
    suites = ET.parse(shell.work / "report" / "junit.xml").getroot().findall("testsuite")
    assert [int(suite.get("tests", 0)) for suite in suites] == [len(clauses) for clauses in found[3].values()]


def test_pytest_distributes_clauses_to_the_workers_of_xdist(shell: Shell) -> None:
    options = ("--sched-candidate=stock", "--sched-report=report", "--sched-seed=7", "-n2", "-p", "no:tmpdir")
    clauses = [f"--sched-clause={clause}" for clause in STOCK_CLAUSES]
    ended = shell.start("pytest", str(SUITES), *options, *clauses).ends()
    assert ended.code == 0, ended.printed
    assert set(outcomes(shell.report())["stock"].values()) == {"passed", "not-claimed"}
    shell.expect_nothing_left()


def test_a_candidate_that_cannot_be_started_is_reported_once(shell: Shell) -> None:
    (shell.work / "candidate.yaml").write_text(
        "apiVersion: schedproof/v1\nkind: Candidate\nmetadata: {name: never}\n"
        "spec:\n  schedulerName: never\n"
        '  extender: {command: [./no-such-program, "{port}"], config: {filterVerb: filter}}\n'
    )
    ended = shell.schedproof("run", "candidate.yaml", "stock", "--clause=core/binds", "--jobs=2", "--report=report")
    assert ended.code == 2, ended.printed
    never, stock = shell.report()["candidates"]
    assert "cannot start './no-such-program'" in never["error"]
    assert stock["clauses"][0]["outcome"] == "passed"
    shell.expect_nothing_left()


BROKEN = {"binds-nothing", "dies-at-every-request", "refuses-everything", "answers-late"}


def test_clauses_that_depend_on_a_binding_are_skipped_if_nothing_is_bound(shell: Shell) -> None:
    broken = [f"defects/{name}" for name in sorted(BROKEN)]
    ended = shell.schedproof("run", *broken, "--jobs=2", "--report=report")
    assert ended.code == 1, ended.printed
    for candidate in shell.report()["candidates"]:
        found = {clause["id"]: clause for clause in candidate["clauses"]}
        assert found["core/binds"]["outcome"] == "failed", ended.printed
        assert "instance" not in found["core/binds"] or found["core/binds"]["instance"] == 1
        dependent = {name for name, clause in found.items() if clause.get("depends_on") == "core/binds"}
        assert {"core/fit-cpu", "network/flip", "core/restart"} <= dependent
        tried = {name for name, clause in found.items() if clause["outcome"] in ("passed", "failed", "invalid")}
        assert not tried & dependent
        assert {"core/binds", "core/alive", "core/own-pods-only"} <= tried
        assert (found["core/alive"]["outcome"] == "failed") == (candidate["name"] == "dies-at-every-request")
    again = shell.schedproof("judge", "report")
    assert again.code == 1, again.printed
    shell.expect_nothing_left()
