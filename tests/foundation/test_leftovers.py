"""`clean` removes directories that a power cut left; directories in use and foreign directories are not touched."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from schedproof.foundation.processes.leftovers import remove_leftovers


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def sandbox(folder: Path, name: str = "schedproof-abc123", *, owner: bool = True) -> Path:
    """A sandbox's scratch directory as it looks in use."""
    directory = folder / name
    (directory / "etcd" / "member").mkdir(parents=True)
    (directory / "etcd" / "member" / "db").write_text("data")
    (directory / "pki.key").write_text("secret")
    if owner:
        (directory / ".owner").touch()
    return directory


def test_without_leftovers_nothing_is_removed() -> None:
    assert remove_leftovers() == []


def test_directories_without_a_live_owner_are_removed_with_their_content(scratch: Path) -> None:
    left = [sandbox(scratch, f"schedproof-{name}") for name in "abc"]
    assert remove_leftovers() == left
    assert list(scratch.iterdir()) == []


def test_the_directory_of_a_live_sandbox_is_not_removed(scratch: Path) -> None:
    alive = sandbox(scratch)
    with (alive / ".owner").open("r+") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        assert remove_leftovers() == []
        assert (alive / "etcd" / "member" / "db").read_text() == "data"
    assert remove_leftovers() == [alive]


def test_a_live_sandbox_does_not_protect_other_directories(scratch: Path) -> None:
    first, second, third = (sandbox(scratch, f"schedproof-{name}") for name in "abc")
    with (second / ".owner").open("r+") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        assert remove_leftovers() == [first, third]
    assert second.is_dir()


def link_to_a_sandbox(folder: Path) -> Path:
    sandbox(folder, "elsewhere")
    (folder / "schedproof-link").symlink_to(folder / "elsewhere")
    return folder / "elsewhere"


def file_of_the_name(folder: Path) -> Path:
    (folder / "schedproof-notes.txt").write_text("mine")
    return folder / "schedproof-notes.txt"


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: sandbox(folder, owner=False),
        lambda folder: sandbox(folder, "another-tool-abc"),
        link_to_a_sandbox,
        file_of_the_name,
    ],
    ids=["no owner file", "another name", "a link", "a file"],
)
def test_files_and_directories_that_are_not_sandboxes_are_not_removed(
    scratch: Path, make: Callable[[Path], Path]
) -> None:
    there = make(scratch)
    before = sorted(scratch.rglob("*"))
    assert remove_leftovers() == []
    assert there.exists()
    assert sorted(scratch.rglob("*")) == before


def test_the_directory_of_another_user_is_not_removed(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = sandbox(scratch)
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert remove_leftovers() == []
    assert directory.is_dir()
