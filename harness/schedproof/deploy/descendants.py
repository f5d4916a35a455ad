"""Which descendants of a candidate's process ended, and what took their place. Pure: it is told what was seen.

A supervisor, be it a loop of a shell, hides from a watch on the process that was started that what it supervises
crashes. What is the candidate's own among its descendants, is told by files, not by names of known programs: its
executable or one of its arguments is a file of the candidate's.
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
"""A pid, and when it began."""

LONG = 2.0
"""Seconds: what lived for less may be a helper, of which nothing but an answer is expected.

Those for which it waited for a processor do not count: on a busy machine helpers live longer.
"""


def own_folders(home: Path, workdir: Path, command: Sequence[str] = ()) -> set[Path]:
    """Where a candidate's own files are: beside its candidate.yaml, where it is started, and where the files are that
    its command names as arguments, unless that is a folder of PATH, which is the machine's.

    Args:
        home: the folder of candidate.yaml.
        workdir: where it is started.
        command: as written: what the harness fills in (credentials, an interpreter) is none of the candidate's.
    """
    shared = {Path(folder).resolve() for folder in os.get_exec_path()}
    written = [fill_known(word, {"here": str(home)}) for word in command[1:]]
    words = [os.path.realpath(workdir / word) for word in written if "{" not in word]
    named = {Path(word).parent for word in words if os.path.isfile(word)}  # noqa: PTH113 - a word may be too long
    return {home.resolve(), workdir.resolve()} | (named - shared)


class OwnFiles:
    """Finds the files of the candidate that a process runs or is given."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = frozenset(str(folder.resolve()) for folder in folders)
        self._known: dict[tuple[Any, ...], frozenset[str]] = {}

    def of(self, seen: SeenProcess) -> frozenset[str]:
        """Their paths; empty: it is none of the candidate's own programs."""
        what = (seen.argv, seen.executable, seen.folder)
        if what not in self._known:
            named = [seen.executable, *(path for word in seen.argv for path in _paths(word, seen.folder))]
            resolved = {os.path.realpath(path) for path in named if os.path.lexists(path)}
            self._known[what] = frozenset(path for path in resolved if self._is_own(path))
        return self._known[what]

    def _is_own(self, path: str) -> bool:
        return any(os.path.commonpath((path, folder)) == folder for folder in self._folders)


def _paths(word: str, folder: str) -> tuple[str, ...]:
    """What an argument may name: a path, or a module as `python3 -m pkg.main` and `uvicorn main:app` write it."""
    module = word.partition(":")[0].replace(".", "/") + ".py"
    return (f"{Path(folder, word)}", f"{Path(folder, module)}") if word else ()


@dataclasses.dataclass
class _Life:
    seen: SeenProcess
    last: float
    files: frozenset[str]
    passed_on: frozenset[str] = frozenset()
    """Those of its files that a child is run with: it hands that child's exit code on, as `timeout` does."""
    forked: bool = False
    """Whether it is a copy of its parent: a worker, or the part of a shell's pipeline."""


class Descendants:
    """What is known of them, from look to look. What comes out are fields of `process` records."""

    def __init__(self, own: OwnFiles) -> None:
        self._own = own
        self._lives: dict[Identity, _Life] = {}
        self._places: dict[tuple[str, ...], list[int]] = {}
        """Free ones: the pids of those that ended otherwise than with 0, by their argv."""
        self._answered: set[tuple[str, ...]] = set()

    def look(
        self, at: float, seen: Collection[SeenProcess], ended: Mapping[Identity, int | None]
    ) -> list[dict[str, Any]]:
        """Take in that at a moment these ran, and that of the candidate's own those had ended.

        The process that was started is among `seen`, as a parent; its own end is told otherwise.

        Returns what is to be recorded.
        """
        found = [record for identity, code in ended.items() for record in self._end(identity, code)]
        for one in seen:
            life = self._lives.get(one.identity)
            if life is None or life.seen.argv != one.argv:
                found += self._fill(one)
                life = self._lives[one.identity] = _Life(one, at, self._own.of(one))
            life.seen, life.last = one, at
        self._look_at_parents(seen)
        # How helpers ended is not asked.
        here = {one.identity for one in seen}
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

    def _fill(self, one: SeenProcess) -> list[dict[str, Any]]:
        free = self._places.get(one.argv)
        if not free:
            return []
        return [{"event": "replaced", "pid": free.pop(0), "by": one.pid, "argv": list(one.argv)}]

    def _look_at_parents(self, seen: Collection[SeenProcess]) -> None:
        by_pid = {one.pid: one for one in seen}
        for one in seen:
            if (parent := by_pid.get(one.parent)) is None:
                continue  # the one that was started, or process 1
            life = self._lives[parent.identity]
            if parent.argv != one.argv:
                life.passed_on |= life.files & self._own.of(one)
            else:
                self._lives[one.identity].forked = True


class Listener:
    """Whether what listens at the candidate's port is a process that took another's place."""

    def __init__(self) -> None:
        self._sockets: frozenset[int] = frozenset()
        self._holders: frozenset[Identity] = frozenset()

    def changed(self, sockets: frozenset[int]) -> bool:
        """Whether other ports are listened on than at the last look. Then their processes have to be found."""
        return bool(sockets) and sockets != self._sockets

    def look(self, sockets: frozenset[int], held_by: frozenset[Identity], alive: Collection[Identity]) -> bool:
        """Take in that these listen, held by those. Returns whether they replaced what has ended.

        A server that opens its socket anew lives on; one that hands it to its successor, or whose workers share it or
        come and go one by one, keeps one that was there before.
        """
        before, holders = self._sockets, self._holders
        self._sockets, self._holders = sockets, held_by
        return bool(before and holders) and not before & sockets and not holders & set(alive)


def shown(argv: Iterable[str]) -> str:
    """A command for people: without folders, and not too long."""
    words = [Path(word).name if word.startswith("/") else word for word in argv]
    text = " ".join(words)
    return text if len(text) <= 60 else f"{text[:57]}..."
