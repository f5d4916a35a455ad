"""The last line of a run: its verdict, counts, and what to look at first."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.claims import Claims
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.foundation.console import open_console
from schedproof.foundation.errors import CandidateError, HostError
from schedproof.judge.verdict import Verdict
from schedproof.report.run.conclusion import conclude, counts
from schedproof.report.run.gaps import gaps
from schedproof.report.run.terminal import print_conclusion
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of


def verdict(clause: str, outcome: Any, level: Any = "required", **more: Any) -> Verdict:
    return verdict_of(clause, level, outcome, f"it {outcome}; and more", **more)


PASSED = verdict("core/binds", "passed")
FAILED = verdict("core/fit-cpu", "failed")
INVALID = verdict("core/fit-memory", "invalid")
SKIPPED = verdict("core/cordon", "skipped")
UNCLAIMED = verdict("network/flip", "not-claimed")


def run(
    *verdicts: Verdict, names: tuple[str, ...] = ("mine",), untried: tuple[str, ...] = (), **more: Any
) -> RunResult:
    result = RunResult(7, "embedded", Path("results"), **more)
    for name in names:
        candidate = Candidate(
            name=name, scheduler_name=name, attached=AttachedSpec(), path=Path("candidate.yaml"), claims=Claims()
        )
        selected = (*(found.clause for found in verdicts), *untried)
        result.candidates[name] = CandidateResult(candidate, selected, list(verdicts))
    return result


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (run(PASSED, UNCLAIMED), "PASSED: 1 of 1 claimed clauses"),
        (run(PASSED, names=("a", "b")), "PASSED: all 2 claimed clauses of 2 candidates"),
        (run(PASSED, SKIPPED, allow_skipped=True), "PASSED: 1 of 2 claimed clauses (1 skipped)"),
        (
            run(PASSED, verdict("core/cordon", "excluded"), verdict("core/fit-cpu", "failed", "recommended")),
            "PASSED: 1 of 3 claimed clauses (1 excluded, 1 recommended failed)",
        ),
        (run(PASSED, FAILED, UNCLAIMED), "FAILED: 1 of 2 claimed clauses; first: core/fit-cpu: it failed"),
        (
            run(PASSED, FAILED, INVALID, SKIPPED, untried=("core/fit-pods", "network/flip")),
            "FAILED: 1 of 5 claimed clauses (1 invalid, 1 skipped, 1 not tried); first: core/fit-cpu: it failed",
        ),
        (
            run(FAILED, names=("a", "b")),
            "FAILED: 2 of 2 claimed clauses of 2 candidates; first: core/fit-cpu of a: it failed",
        ),
        (
            run(verdict("core/binds", "passed", stale=True)),
            "FAILED: 1 of 1 claimed clauses (1 stale exclusion); first: core/binds: it passed",
        ),
        (
            run(PASSED, SKIPPED, INVALID),
            "UNPROVED: 1 of 3 claimed clauses passed (1 invalid, 1 skipped); first: core/fit-memory: it invalid",
        ),
        (
            run(PASSED, untried=("core/cordon",)),
            "UNPROVED: 1 of 2 claimed clauses passed (1 not tried); first: core/cordon: not tried",
        ),
        (run(UNCLAIMED), "UNPROVED: nothing was judged"),
        (
            run(PASSED, FAILED, error=HostError("the disk is full", remedy="make room")),
            "ERROR: the disk is full; 1 of 2 claimed clauses passed (1 failed); first: core/fit-cpu: it failed",
        ),
    ],
)  # fmt: skip
def test_last_line_has_the_verdict_of_the_run(result: RunResult, line: str) -> None:
    assert str(conclude(result)) == line


def test_a_candidate_that_could_not_be_brought_up_is_named() -> None:
    result = run(PASSED, names=("a", "b"))
    result.candidates["b"].error = CandidateError("no such command")
    result.candidates["b"].verdicts = []
    assert str(conclude(result)).startswith("ERROR: b did not start; 1 of 2 claimed clauses")


def test_no_gaps_are_listed_for_a_candidate_that_could_not_be_brought_up() -> None:
    result = run(verdict("core/fit-pod-level", "not-claimed"), untried=("core/binds",))
    assert "mine: it claims the profile core, but none of the selected clauses of this profile applies" in gaps(result)
    result.candidates["mine"].error = CandidateError("no such command")
    assert not any("profile" in text for text in gaps(result))


def test_last_line_of_an_interrupted_run_has_its_counts() -> None:
    line = str(conclude(run(PASSED, FAILED, untried=("core/cordon",)), interrupted=True))
    assert line == (
        "INTERRUPTED: 1 of 3 claimed clauses passed (1 failed, 1 not tried); first: core/fit-cpu: it failed"
    )  # fmt: skip
    assert str(conclude(RunResult(7, "embedded", Path()), interrupted=True)) == "INTERRUPTED: nothing was judged"


def test_last_line_names_what_was_tried_before_what_depends_on_it() -> None:
    assert f"first: {INVALID.clause}" in str(conclude(run(SKIPPED, INVALID)))


def test_last_line_ends_with_the_file_to_open() -> None:
    assert str(conclude(run(PASSED), report=Path("a/report.html"))).endswith("; open a/report.html")


def test_long_finding_is_shortened() -> None:
    long = verdict_of("core/binds", "required", "failed", "pods " * 100)
    assert len(str(conclude(run(long)))) < 200


def test_every_claimed_clause_is_counted_once() -> None:
    assert counts(run(PASSED, FAILED, INVALID, SKIPPED, UNCLAIMED, untried=("core/fit-pods",))) == {
        "passed": 1, "failed": 1, "invalid": 1, "skipped": 1, "not tried": 1
    }  # fmt: skip


@pytest.mark.parametrize(("cluster", "told"), [("existing", True), ("embedded", False)])
def test_gaps_state_that_deadlines_include_all_time_on_existing_clusters(cluster: str, told: bool) -> None:
    result = run(PASSED)
    result.cluster = cluster
    assert any("deadlines include time" in line for line in gaps(result)) == told


def test_clause_found_not_applicable_is_counted_as_claimed() -> None:
    result = run(PASSED, verdict("core/fit-cpu", "not-claimed"), UNCLAIMED)
    assert counts(result) == {"passed": 1, "not applicable": 1}
    assert str(conclude(result)) == "PASSED: 1 of 2 claimed clauses (1 not applicable)"
    assert any("core/fit-cpu" in line for line in gaps(result))


def test_refused_run_counts_nothing() -> None:
    result = run(untried=("core/binds",), error=HostError("the folder is not empty", remedy="choose another"))
    assert str(conclude(result)) == "ERROR: the folder is not empty; nothing was judged"


def test_conclusion_is_printed_unchanged_on_one_line() -> None:
    result = run(verdict_of("core/binds", "required", "failed", "[bold]x[/bold] " * 5))
    stream = io.StringIO()
    print_conclusion(conclude(result), open_console(stream))
    assert stream.getvalue() == f"{conclude(result)}\n"
