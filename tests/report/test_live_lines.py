"""Progress lines during a run."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import UsageError
from schedproof.foundation.exit_codes import EXIT_ERROR
from schedproof.report.run.live import LiveReport
from schedproof.run.events import Finished, Judged, Planned
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of


def judged(clause: str, seconds: float | None = 0.25) -> Judged:
    return Judged(candidate="stock", verdict=verdict_of(clause, "required", "passed", "it did"), seconds=seconds)


def test_each_line_counts_claimed_clauses(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = RunResult(seed=1, cluster="embedded", folder=tmp_path)
    selected = ("core/binds", "core/fit-cpu", "network/flip")  # the last one is not claimed
    result.candidates["stock"] = CandidateResult(find_candidate("stock"), selected, [])
    live = LiveReport()
    live(Planned(result))
    live(judged("network/flip", seconds=None))  # it was not tried
    for clause in ("core/binds", "core/binds", "core/fit-cpu"):  # of two instances, twice
        live(judged(clause))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 clauses to judge")
    assert [line.rpartition("; ")[2] for line in lines[2:]] == ["1 of 2", "1 of 2", "2 of 2"]


def test_clauses_of_every_run_are_counted_separately(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = RunResult(seed=1, cluster="embedded", folder=tmp_path)
    result.candidates["stock"] = CandidateResult(find_candidate("stock"), ("core/binds", "core/alive"), [])
    LiveReport()(Planned(result))
    assert capsys.readouterr().out.startswith("2 clauses to judge (1 of them in every run), ")


def test_refused_run_names_no_report_to_open(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.html").touch()  # of another run
    result = RunResult(seed=1, cluster="embedded", folder=tmp_path, error=UsageError("it is taken", remedy="another"))
    result.candidates["stock"] = CandidateResult(find_candidate("stock"), ("core/binds",), [])
    live, end = LiveReport(), Finished(result)
    live(Planned(result))
    live(end)
    assert end.exit_code == EXIT_ERROR
    assert capsys.readouterr().out.endswith("\nERROR: it is taken; nothing was judged\n")
