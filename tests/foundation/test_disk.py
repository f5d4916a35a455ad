"""A full disk is named as the cause of any error that it leads to."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from schedproof.foundation import disk
from schedproof.foundation.disk import DiskSpace, naming_full_disk
from schedproof.foundation.errors import DeadlineExceededError, HostError

EVERYTHING = 1 << 62


def test_a_disk_with_free_space_is_not_an_error(tmp_path: Path) -> None:
    assert DiskSpace(tmp_path / "not" / "there" / "yet").exit_error() is None


def test_the_error_of_a_full_disk_names_the_folder_and_a_remedy(tmp_path: Path) -> None:
    error = DiskSpace(tmp_path / "report", least=EVERYTHING).exit_error()
    assert error is not None
    assert str(tmp_path / "report") in error.message
    assert "--report" in error.remedy


def test_an_error_that_follows_from_a_full_disk_names_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk.DiskSpace.__init__, "__kwdefaults__", {"least": EVERYTHING})
    late = DeadlineExceededError("waited 60 s")
    with pytest.raises(HostError, match="is full") as raised, naming_full_disk(tmp_path):
        raise late
    assert raised.value.__cause__ is late


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_an_error_of_another_disk_names_the_file(tmp_path: Path, number: int) -> None:
    with pytest.raises(HostError, match=r"cannot write /scratch/x") as raised, naming_full_disk(tmp_path):
        raise OSError(number, os.strerror(number), "/scratch/x")
    assert raised.value.remedy


@pytest.mark.parametrize("error", [DeadlineExceededError("waited 60 s"), PermissionError(errno.EACCES, "no")])
def test_other_errors_are_unchanged(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as raised, naming_full_disk(tmp_path):
        raise error
    assert raised.value is error
