"""Which exits of descendants are recorded, for a simulated process tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schedproof.deploy.descendants import Descendants, OwnFiles, own_folders
from schedproof.foundation.processes.process_tree import SeenProcess

ROOT = SeenProcess(10, 1, 0.0, ("sh", "loop.sh"), "/bin/sh", "/")
"""The process that was started."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("ext.py", "watch.sh", "mine"):
        (tmp_path / name).touch()
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "main.py").touch()
    return tmp_path


class Tree:
    """A candidate whose files are in `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.known = Descendants(OwnFiles([home]))
        self.living: dict[int, SeenProcess] = {10: ROOT}
        self.records: list[dict[str, Any]] = []
        self.now = 0.0

    def born(self, pid: int, *argv: str, parent: int = 10, executable: str = "/usr/bin/python3") -> None:
        self.living[pid] = SeenProcess(pid, parent, self.now, argv, executable, str(self.home))

    def execs(self, pid: int, *argv: str) -> None:
        self.living[pid] = dataclasses.replace(self.living[pid], argv=argv)

    def look(self, *, after: float = 0.2, **ended: int | None) -> None:
        """`ended`: for example p11=1: pid 11 has exited with code 1 since the last look."""
        self.now += after
        ends = {self.living.pop(int(name[1:])).identity: code for name, code in ended.items()}
        self.records += self.known.look(self.now, list(self.living.values()), ends)

    @property
    def events(self) -> list[tuple[Any, ...]]:
        return [(r["event"], r["pid"], *([r["code"]] if "code" in r else [r["by"]])) for r in self.records]


def test_a_crash_and_its_replacement_are_recorded(home: Path) -> None:
    tree = Tree(home)
    tree.born(11, "python3", "ext.py")
    tree.look()
    tree.look(after=3.0)
    tree.look(p11=1)
    tree.born(12, "python3", "ext.py")
    tree.look(after=60)
    assert tree.events == [("exited", 11, 1), ("replaced", 11, 12)]
    assert tree.records[0]["lived"] >= 3
    assert not tree.records[0]["forked"]


def test_a_replacement_that_started_before_the_exit_was_seen_is_recorded_once(home: Path) -> None:
    tree = Tree(home)
    tree.born(11, "python3", "ext.py")
    tree.look(after=2.0)
    tree.born(12, "python3", "ext.py")
    tree.born(13, "python3", "ext.py")
    tree.look(p11=-11)
    assert tree.events == [("exited", 11, -11), ("replaced", 11, 12)]


def test_a_shell_that_executes_the_replacement_is_recorded_as_the_replacement(home: Path) -> None:
    tree = Tree(home)
    tree.born(11, "python3", "ext.py")
    tree.look(after=2.0)
    tree.born(12, "sh", "-c", "python3 ext.py")
    tree.look(p11=1)
    tree.execs(12, "python3", "ext.py")
    tree.look()
    assert tree.events == [("exited", 11, 1), ("replaced", 11, 12)]


@pytest.mark.parametrize("argv", [("curl", "-sf", "http://127.0.0.1/"), ("jq", ".items"), ("sh", "-c", "ext.py; true")])
def test_exits_of_system_programs_are_not_recorded(home: Path, argv: Sequence[str]) -> None:
    tree = Tree(home)
    for pid in range(11, 20):
        tree.born(pid, *argv, executable="/usr/bin/x")
        tree.look(after=2.0)
        tree.look(**{f"p{pid}": 22})
    assert tree.events == []


def test_of_short_processes_only_the_first_success_is_recorded(home: Path) -> None:
    tree = Tree(home)
    for pid, code in ((11, 1), (12, 0), (13, 0), (14, 1)):
        tree.born(pid, "python3", "ext.py")
        tree.look()
        tree.look(**{f"p{pid}": code})
    assert tree.events == [("exited", 12, 0)]


@pytest.mark.parametrize(
    "argv",
    [
        ("python3", "ext.py"),
        ("{home}/mine",),
        ("node", "--flag", "{home}/ext.py"),
        ("python3", "-m", "pkg.main"),
        ("python3", "/usr/bin/uvicorn", "pkg.main:app"),
    ],
)
def test_a_process_that_runs_a_file_of_the_candidate_is_recorded(home: Path, argv: Sequence[str]) -> None:
    tree = Tree(home)
    tree.born(11, *(word.format(home=home) for word in argv))
    tree.look(after=2.0)
    tree.look(p11=None)
    assert tree.events == [("exited", 11, None)]


def test_the_exit_of_a_wrapper_is_recorded_as_that_of_its_child(home: Path) -> None:
    tree = Tree(home)
    for pid in (11, 21):
        tree.born(pid, "timeout", "30", "./watch.sh")
        tree.born(pid + 1, "/bin/sh", "./watch.sh", parent=pid)
        tree.look(after=30)
        tree.look(**{f"p{pid}": 124, f"p{pid + 1}": -15})
    assert tree.events == [("exited", 12, -15), ("replaced", 12, 22), ("exited", 22, -15)]


def test_a_forked_copy_of_its_parent_is_recorded_as_forked(home: Path) -> None:
    tree = Tree(home)
    tree.born(11, "python3", "ext.py")
    tree.born(12, "python3", "ext.py", parent=11)
    tree.look(after=2.0)
    tree.look(p12=1)
    assert [(record["pid"], record["forked"]) for record in tree.records] == [(12, True)]


def test_folders_of_files_in_a_command_are_the_candidates_but_those_of_the_system_are_not(
    home: Path, tmp_path: Path
) -> None:
    command = ("python3", "pkg/main.py", "{here}/ext.py", "--config={kubeconfig}", "/bin/sh", "x" * 5000)
    assert own_folders(home / "pkg", home, command) == {home, home / "pkg"}
    assert own_folders(tmp_path, tmp_path) == {tmp_path}
