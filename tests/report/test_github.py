"""The summary of a job on GitHub Actions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.foundation.errors import CandidateError
from schedproof.report.run.github import annotate, append_summary

from ..judge.verdicts import verdict_of
from .run_example import NAME, result

if TYPE_CHECKING:
    import pytest

VARIABLE = "GITHUB_STEP_SUMMARY"


def test_summary_is_appended_to_the_file_of_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "summary.md"
    file.write_text("of an earlier step\n")
    monkeypatch.setenv(VARIABLE, str(file))
    append_summary(result())
    first, heading, _, head, rule, *rest = file.read_text().splitlines()
    assert first == "of an earlier step"
    assert heading.startswith("### schedproof: FAILED: 1 of ")
    assert head.count("|") == rule.count("|") == rest[0].count("|")
    assert [row.split("|")[1].strip() for row in rest[:2]] == [NAME, "stock"]
    assert any("`network/least-traffic`" in line for line in rest)
    assert not any("rbac-minimal" in line for line in rest), "what is recommended does not decide"


def test_no_summary_is_written_outside_of_github_actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for value in (None, ""):
        if value is None:
            monkeypatch.delenv(VARIABLE, raising=False)
        else:
            monkeypatch.setenv(VARIABLE, value)
        append_summary(result())
    assert not list(tmp_path.iterdir())


def test_unwritable_summary_is_reported_and_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    append_summary(result())
    assert str(tmp_path) in capsys.readouterr().err


def test_text_of_a_candidate_is_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "summary.md"
    monkeypatch.setenv(VARIABLE, str(file))
    run = result()
    nasty = "<img src=x> | [a](http://x) `b`\n# heading\n- item"
    run.candidates[NAME].verdicts = [verdict_of("core/binds", "required", "failed", nasty, code="infeasible-node")]
    run.candidates["stock"].error = CandidateError(nasty)
    append_summary(run)
    lines = file.read_text().splitlines()
    assert not [line for line in lines if line.startswith(("# ", "- item"))]
    assert "<img" not in file.read_text().replace("\\<img", "")
    assert "[a]" not in file.read_text().replace("\\[a", "")


def test_each_cause_is_an_annotation_on_github_actions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = result()
    nasty = "100%\n::error::forged"
    run.candidates[NAME].verdicts = [verdict_of("core/binds", "required", "failed", nasty, code="infeasible-node")]
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    annotate(run)
    assert not capsys.readouterr().out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    annotate(run)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sum(len(tested.causes) for tested in run.candidates.values())
    assert all(re.match(r"::(error|warning) file=[^,:]+,title=[^,:]+::", line) for line in lines)
    assert "100%25%0A::error::forged" in lines[0]
