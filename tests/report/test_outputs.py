"""The outputs of a run, and when they write."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.report.run.live import LiveReport
from schedproof.report.run.outputs import outputs
from schedproof.run.events import Finished, Judged, Planned
from schedproof.run.result import RunResult

from .run_example import NAME, result

FILES = {"junit.xml", "report.html", "report.json"}


def test_files_are_written_when_all_has_ended(tmp_path: Path) -> None:
    run = result()
    run.folder = tmp_path
    for output in outputs():
        output(Planned(run))
        output(Judged(candidate=NAME, verdict=run.candidates[NAME].verdicts[0], seconds=1.0))
    assert not list(tmp_path.iterdir())
    for output in outputs():
        output(Finished(run))
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_a_run_of_which_nothing_came_has_no_files(tmp_path: Path) -> None:
    for output in outputs():
        output(Finished(RunResult(1, "embedded", tmp_path)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verbosity", [None, -1, 0])
def test_the_terminal_comes_last_unless_pytest_has_one(verbosity: int | None) -> None:
    *files, last = outputs(verbosity)
    assert isinstance(last, LiveReport) is (verbosity is not None)
    assert not any(isinstance(output, LiveReport) for output in files)
