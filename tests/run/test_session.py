"""A session: what it refuses before it starts anything, and how it closes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import SchedproofError, UsageError
from schedproof.foundation.progress import SilentProgress
from schedproof.pytest_plugin.starting import from_ini
from schedproof.run.launch import Settings
from schedproof.run.result import CandidateResult, RunResult
from schedproof.run.session import Session


def test_a_report_folder_with_evidence_of_an_earlier_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "candidates").mkdir()
    session = Session(Settings(report=tmp_path), SilentProgress())
    with pytest.raises(UsageError, match="holds the evidence of an earlier run") as refused:
        _ = session.cluster
    assert "--report" in refused.value.remedy
    assert list(tmp_path.iterdir()) == [tmp_path / "candidates"]


def test_a_candidate_in_an_ini_file_is_relative_to_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "candidate.yaml").touch()
    (tmp_path / "tests").mkdir()
    config: Any = SimpleNamespace(inipath=tmp_path / "pytest.ini")
    monkeypatch.chdir(tmp_path / "tests")
    assert from_ini(config, "candidate.yaml") == str(tmp_path / "candidate.yaml")
    assert from_ini(config, "stock") == "stock"
    monkeypatch.chdir(tmp_path)
    assert from_ini(config, "candidate.yaml") == "candidate.yaml"


class FailingCluster:
    """A cluster on which a required clause has failed, and whose closing fails."""

    def __init__(self) -> None:
        self.exported: list[Path] = []

    timings: ClassVar = {"total": 1.0}
    host = SimpleNamespace(sandbox=SimpleNamespace(hide=lambda _: None))

    def versions(self) -> dict[str, str]:
        return {}

    def export_logs(self, folder: Path) -> None:
        self.exported.append(folder)

    def close(self) -> None:
        raise SchedproofError("something is left")


@pytest.mark.parametrize(
    ("names", "needed"), [((), True), (("stock",), False), (("stock", "least-traffic-extender"), True)]
)
def test_the_cluster_has_readings_if_any_selected_candidate_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], needed: bool
) -> None:
    readings_requested: list[bool] = []

    def launch(*_: object, readings: bool) -> FailingCluster:
        readings_requested.append(readings)
        return FailingCluster()

    monkeypatch.setattr("schedproof.run.session.launch", launch)
    session = Session(Settings(report=tmp_path), SilentProgress())
    for name in names:
        session.result.candidates[name] = CandidateResult(find_candidate(name), ("core/binds",))
    assert session.cluster
    assert readings_requested == [needed]


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_a_failed_run_exports_logs_of_the_cluster_and_a_failed_close_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    cluster = FailingCluster()
    monkeypatch.setattr("schedproof.run.session.launch", lambda *_, **__: cluster)
    session = Session(Settings(report=tmp_path), SilentProgress())
    assert session.cluster is cluster  # type: ignore[comparison-overlap]
    with monkeypatch.context() as found:
        found.setattr(RunResult, "exit_code", code)
        session.close()
    assert cluster.exported == ([tmp_path / "cluster" / "exported"] if code in (1, 2) else [])
    assert session.result.error is not None
    assert session.result.exit_code == 2
    session.close()
