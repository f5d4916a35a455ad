"""Where the instances of a candidate leave their evidence."""

from __future__ import annotations

import stat
from pathlib import Path

from schedproof.run.folders import new_folder
from schedproof.run.launch import Settings


def test_further_instances_have_numbered_private_folders_below_the_first(tmp_path: Path) -> None:
    home = tmp_path / "report" / "candidates" / "tested"
    made = [new_folder(Settings(report=tmp_path / "report", cluster_number=number), "tested") for number in (2, 1, 3)]
    assert made == [(home, 1), (home / "2", 2), (home / "3", 3)]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder, _ in made} == {0o700}


def test_the_only_instance_has_no_number_and_makes_its_folder_itself(tmp_path: Path) -> None:
    assert new_folder(Settings(report=tmp_path), "tested") == (tmp_path / "candidates" / "tested", 0)
    assert list(tmp_path.iterdir()) == []
