"""What a run refuses before it starts anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.foundation.errors import UsageError
from schedproof.foundation.progress import SilentProgress
from schedproof.pytest_plugin import _from_ini
from schedproof.session import Session, Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_the_evidence_of_an_earlier_run_is_not_mixed_up_with_this_one_s(tmp_path: Path) -> None:
    (tmp_path / "candidates").mkdir()
    session = Session(Settings(report=tmp_path), SilentProgress())
    with pytest.raises(UsageError, match="holds the evidence of an earlier run") as refused:
        _ = session.cluster
    assert "--report" in refused.value.remedy
    assert list(tmp_path.iterdir()) == [tmp_path / "candidates"]


def test_a_candidate_in_an_ini_file_is_meant_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "candidate.yaml").touch()
    (tmp_path / "tests").mkdir()
    config: Any = SimpleNamespace(inipath=tmp_path / "pytest.ini")
    monkeypatch.chdir(tmp_path / "tests")
    assert _from_ini(config, "candidate.yaml") == str(tmp_path / "candidate.yaml")
    assert _from_ini(config, "stock") == "stock"
    monkeypatch.chdir(tmp_path)
    assert _from_ini(config, "candidate.yaml") == "candidate.yaml"
