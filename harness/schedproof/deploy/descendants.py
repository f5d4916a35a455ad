"""Determines which descendants of a candidate's process ended, and which processes replaced them, from snapshots.

A supervisor, such as a shell loop, hides crashes of its children from a watch on the started process. A descendant
counts as the candidate's own by files, not by names of known programs: its executable or one of its arguments is a
file of the candidate.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof.candidate.placeholders import fill_known
from schedproof.foundation.processes.process_tree import SeenProcess

Identity = tuple[int, float]
"""A pid and its start time, in seconds since boot."""

LONG = 2.0
"""Seconds: a process that lived for less may be a helper, of which only a result is expected.

Time spent waiting for a CPU does not count: on a busy machine helpers live longer.
"""


def own_folders(home: Path, workdir: Path, command: Sequence[str] = ()) -> set[Path]:
    """Return the folders of a candidate's own files: that of candidate.yaml, its working directory, and those of the
    files that its command names as arguments, except for the folders of PATH, which belong to the machine.

    Args:
        home: the folder of candidate.yaml.
        workdir: the working directory.
        command: as written, because values of placeholders (credentials, an interpreter) are not the candidate's files.
    """
    shared = {Path(folder).resolve() for folder in os.get_exec_path()}
    written = [fill_known(word, {"here": str(home)}) for word in command[1:]]
    words = [os.path.realpath(workdir / word) for word in written if "{" not in word]
    named = {Path(word).parent for word in words if os.path.isfile(word)}  # noqa: PTH113 - a word may be too long
    return {home.resolve(), workdir.resolve()} | (named - shared)


class OwnFiles:
    """Finds the files of the candidate that a process executes or has as arguments."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = frozenset(str(folder.resolve()) for folder in folders)
        self._known: dict[tuple[Any, ...], frozenset[str]] = {}

    def of(self, seen: SeenProcess) -> frozenset[str]:
        """Return their resolved paths; empty if the process is not a program of the candidate."""
        key = (seen.argv, seen.executable, seen.folder)
        if key not in self._known:
            named = [seen.executable, *(path for word in seen.argv for path in _paths(word, seen.folder))]
            resolved = {os.path.realpath(path) for path in named if os.path.lexists(path)}
            self._known[key] = frozenset(path for path in resolved if self._is_own(path))
        return self._known[key]

    def _is_own(self, path: str) -> bool:
        return any(os.path.commonpath((path, folder)) == folder for folder in self._folders)


def _paths(word: str, folder: str) -> tuple[str, ...]:
    """Return the paths an argument may name: a file, or a module as in `python3 -m pkg.main`, `uvicorn main:app`."""
    module = word.partition(":")[0].replace(".", "/") + ".py"
    return (f"{Path(folder, word)}", f"{Path(folder, module)}") if word else ()


@dataclasses.dataclass
class _Life:
    seen: SeenProcess
    last: float
    files: frozenset[str]
    passed_on: frozenset[str] = frozenset()
    """Those of its files that a child runs with: the process passes the child's exit code on, as `timeout` does."""
    forked: bool = False
    """Whether it has its parent's argv: a worker, or a part of a shell pipeline."""


class Descendants:
    """Tracks descendants from snapshot to snapshot, and returns the fields of `process` records."""

    def __init__(self, own: OwnFiles) -> None:
        self._own = own
        self._lives: dict[Identity, _Life] = {}
        self._places: dict[tuple[str, ...], list[int]] = {}
        """argv to the pids of processes that ended with a code other than 0, and were not replaced yet."""
        self._answered: set[tuple[str, ...]] = set()

    def look(
        self, at: float, seen: Collection[SeenProcess], ended: Mapping[Identity, int | None]
    ) -> list[dict[str, Any]]:
        """Process a snapshot: the processes that ran `at` this moment, and the candidate's own that had ended.

        The started process is in `seen`, as a parent; its own end is reported elsewhere.

        Returns the fields of the records to write.
        """
        found = [record for identity, code in ended.items() for record in self._end(identity, code)]
        for process in seen:
            life = self._lives.get(process.identity)
            if life is None or life.seen.argv != process.argv:
                found += self._fill(process)
                life = self._lives[process.identity] = _Life(process, at, self._own.of(process))
            life.seen, life.last = process, at
        self._look_at_parents(seen)
        # Exit codes of helpers are not needed.
        here = {process.identity for process in seen}
        self._lives = {i: life for i, life in self._lives.items() if life.files or i in here}
        return found

    def _end(self, identity: Identity, code: int | None) -> list[dict[str, Any]]:
        life = self._lives.pop(identity, None)
        if life is None or not life.files - life.passed_on:
            return []
        argv, lived = life.seen.argv, max(0.0, life.last - life.seen.began - life.seen.stalled)
        first_answer = code == 0 and argv not in self._answered
        if code == 0:
            self._answered.add(argv)
        if lived < LONG and not first_answer:
            return []
        if code != 0:
            self._places.setdefault(argv, []).append(life.seen.pid)
        return [{"event": "exited", "code": code, "lived": round(lived, 1), "forked": life.forked,
                 "pid": life.seen.pid, "argv": list(argv)}]  # fmt: skip

    def _fill(self, process: SeenProcess) -> list[dict[str, Any]]:
        free = self._places.get(process.argv)
        if not free:
            return []
        return [{"event": "replaced", "pid": free.pop(0), "by": process.pid, "argv": list(process.argv)}]

    def _look_at_parents(self, seen: Collection[SeenProcess]) -> None:
        by_pid = {process.pid: process for process in seen}
        for process in seen:
            if (parent := by_pid.get(process.parent)) is None:
                continue  # the started process, or process 1
            life = self._lives[parent.identity]
            if parent.argv != process.argv:
                life.passed_on |= life.files & self._own.of(process)
            else:
                self._lives[process.identity].forked = True


def shown(argv: Iterable[str]) -> str:
    """Return a command for display: without folders, at most 60 characters."""
    words = [Path(word).name if word.startswith("/") else word for word in argv]
    text = " ".join(words)
    return text if len(text) <= 60 else f"{text[:57]}..."
