"""Only the user can read evidence, whatever the umask is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedproof.foundation.private import make_private, write_private


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_created_folders_and_files_are_private(tmp_path: Path) -> None:
    make_private(tmp_path / "results" / "run")
    write_private(tmp_path / "results" / "run" / "report.json", "{}\udc1b")
    assert mode(tmp_path / "results") == mode(tmp_path / "results" / "run") == 0o700
    assert mode(tmp_path / "results" / "run" / "report.json") == 0o600


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    make_private(tmp_path / "shared")
    assert mode(tmp_path / "shared") == 0o755


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "file" / "folder")
