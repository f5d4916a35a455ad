"""Repeated runs: the last line counts them, the exit code is the worst, and failures name their seeds."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.foundation.console import open_console
from schedproof.judge.verdict import Outcome
from schedproof.report.run.repeated import Repeated
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of


def run(seed: int, outcome: Outcome, folder: Path = Path("nowhere")) -> RunResult:
    verdicts = [verdict_of("core/binds", "required", "passed", ""), verdict_of("core/fit-cpu", "required", outcome, "")]
    result = RunResult(seed, "embedded", folder)
    candidate = Candidate(name="mine", scheduler_name="mine", attached=AttachedSpec(), path=Path("candidate.yaml"))
    result.candidates["mine"] = CandidateResult(candidate, ("core/binds", "core/fit-cpu"), verdicts)
    return result


def finished(*results: RunResult, times: int = 0, interrupted: bool = False) -> tuple[int, list[str]]:
    repeated = Repeated(times or len(results))
    for result in results:
        repeated.add(result.exit_code, result)
    if interrupted:
        repeated.add(130, None)
    stream = io.StringIO()
    code = repeated.finish(open_console(stream))
    return code, stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("outcomes", "code", "line"),
    [
        (["passed", "passed"], 0, "PASSED: 2 of 2 runs"),
        (["passed", "failed", "invalid"], 1, "FAILED: 1 of 3 runs (1 PASSED, 1 UNPROVED)"),
        (["passed", "invalid"], 3, "UNPROVED: 1 of 2 runs (1 PASSED)"),
    ],
)
def test_last_line_counts_runs(outcomes: list[Outcome], code: int, line: str) -> None:
    ended, lines = finished(*(run(seed, outcome) for seed, outcome in enumerate(outcomes)))
    assert (ended, lines[-1]) == (code, line)


def test_intermittent_clause_is_named_with_its_seeds() -> None:
    _, lines = finished(run(5, "failed"), run(6, "passed"), run(7, "failed"))
    assert lines[0] == "mine core/fit-cpu: failed in 2 of 3 runs, with --seed 5, 7"


def test_interrupt_ends_all_runs() -> None:
    code, lines = finished(run(1, "failed"), times=5, interrupted=True)
    assert (code, lines[-1]) == (130, "INTERRUPTED: 1 of 5 runs (1 FAILED)")


def test_first_run_with_the_worst_outcome_has_its_report_named(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir()
        (folder / "report.html").touch()
    _, lines = finished(
        *(run(1, outcome, folder) for outcome, folder in zip(("passed", "failed", "failed"), folders, strict=True))
    )
    assert lines[-1].endswith(f"; open {folders[1] / 'report.html'}")
