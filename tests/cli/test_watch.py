"""`schedproof run --watch`: which changes count, and which clauses they try again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, ControllerSpec, PluginSpec
from schedproof.cli import watch
from schedproof.cli.main import main
from schedproof.cli.watch import Changes, sources, to_try_again
from schedproof.run.result import CandidateResult, RunResult

from ..judge.verdicts import verdict_of


def changed_by(folder: Path, change: Any, *, but: Path = Path("/nowhere")) -> list[Path]:
    changes = Changes([folder], but=but)
    timer = threading.Timer(0.1, change)
    timer.start()
    try:
        return changes.wait()
    finally:
        timer.join()


def test_a_file_that_is_created_changed_or_removed_is_a_change(tmp_path: Path) -> None:
    file = tmp_path / "below" / "mine.py"
    file.parent.mkdir()
    assert changed_by(tmp_path, lambda: file.write_text("new")) == [file]
    assert changed_by(tmp_path, lambda: file.write_text("other")) == [file]
    assert changed_by(tmp_path, file.unlink) == [file]


def test_several_files_that_are_written_together_are_one_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = files = [tmp_path / str(number) for number in range(3)]
    left = iter(others)

    def write_another(_moment: float) -> None:
        if (file := next(left, None)) is not None:
            file.write_text("new")

    monkeypatch.setattr(watch, "until", write_another)
    assert changed_by(tmp_path, lambda: first.write_text("new")) == files


def test_files_that_are_not_sources_are_ignored(tmp_path: Path) -> None:
    report = tmp_path / "report"
    for name in ("__pycache__", ".git", "report", "schedproof-results"):
        (tmp_path / name).mkdir()

    def write() -> None:
        for name in ("__pycache__", ".git", "report", "schedproof-results"):
            (tmp_path / name / "new").write_text("new")
        (tmp_path / "mine.py").write_text("new")

    assert changed_by(tmp_path, write, but=report) == [tmp_path / "mine.py"]


def test_the_folders_of_a_candidate_s_files_are_watched(tmp_path: Path) -> None:
    yaml = tmp_path / "a" / "candidate.yaml"
    candidates = [
        Candidate(name="a", scheduler_name="a", controller=ControllerSpec(("./run",), tmp_path / "b"), path=yaml),
        Candidate(name="b", scheduler_name="b", plugin=PluginSpec(package=str(tmp_path / "c")), path=yaml),
        Candidate(name="c", scheduler_name="c", plugin=PluginSpec(package="example.com/plugin@v1"), path=yaml),
        Candidate(name="d", scheduler_name="d", attached=AttachedSpec(), path=yaml),
    ]
    assert sources(candidates) == {tmp_path / "a", tmp_path / "b", tmp_path / "c"}


def test_clauses_that_did_not_pass_are_tried_again_and_those_that_depend_on_them() -> None:
    result = RunResult(7, "embedded", Path())
    verdicts = [
        verdict_of("core/binds", "required", "passed", ""),
        verdict_of("core/fit-cpu", "required", "failed", ""),
        verdict_of("core/fit-memory", "required", "invalid", ""),
        verdict_of("core/fit-pods", "required", "skipped", "", depends_on="core/fit-cpu"),
        verdict_of("core/cordon", "required", "skipped", ""),
        verdict_of("core/restart", "recommended", "failed", ""),
        verdict_of("core/no-nodes", "required", "excluded", ""),
        verdict_of("core/freshness", "required", "passed", "", stale=True),
    ]
    candidate = Candidate(name="mine", scheduler_name="mine", attached=AttachedSpec(), path=Path("candidate.yaml"))
    result.candidates["mine"] = CandidateResult(candidate, (), verdicts)
    assert to_try_again(result) == {"core/fit-cpu", "core/fit-memory", "core/fit-pods", "core/freshness"}


@pytest.mark.parametrize("option", ["--repeat=2", "--jobs=2", "--cluster=kind"])
def test_watch_refuses_options_that_it_cannot_be_combined_with(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "stock", "--watch", option]) == 2
    assert "\n  fix: " in capsys.readouterr().err
