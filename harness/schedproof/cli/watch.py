"""`schedproof run --watch`: watches the folders of candidates, and selects what to try again."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.candidate.kinds import CommandSpec, PluginSpec
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.waiting import NotYet, until, wait_for

if TYPE_CHECKING:
    from schedproof.candidate.descriptor.descriptor import Candidate
    from schedproof.run.result import RunResult

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "schedproof-results", "venv"})
"""Folders without sources, like all folders whose names begin with a dot."""
_LOOK, _QUIET = 0.2, 0.1
"""Seconds between two checks, and the seconds without a change after which changes are complete: editors write several
files.
"""

_EDITED = Deadline("file changed", math.inf, "the user ends the wait")

Snapshot = dict[str, tuple[int, int]]


def sources(candidates: Iterable[Candidate]) -> set[Path]:
    """The folders that candidates are made from."""
    found = set()
    for candidate in candidates:
        found.add(candidate.here)
        if isinstance(candidate.spec, CommandSpec):
            found.add(candidate.spec.workdir)
        elif isinstance(candidate.spec, PluginSpec) and candidate.spec.folder is not None:
            found.add(candidate.spec.folder)
    return found


def to_try_again(result: RunResult) -> frozenset[str]:
    """The clauses of a run that did not pass; none if all did."""
    return frozenset(
        verdict.clause
        for candidate in result.candidates.values()
        for verdict in candidate.verdicts
        if verdict.did_not_pass or verdict.depends_on
    )


class Changes:
    """The changes below some folders since this was made."""

    def __init__(self, folders: Iterable[Path], *, but: Path) -> None:
        """`but`: a folder whose changes do not count."""
        self._folders, self._but = sorted(folders), but
        self._before = self._look()

    def wait(self) -> list[Path]:
        """Wait for changes, and until they are over; returns the files."""
        now = wait_for(self._changed, _EDITED, what="a file to change", poll=_LOOK)
        while (later := self._quiet()) != now:
            now = later
        names = {name for name, _ in self._before.items() ^ now.items()}
        return sorted(map(Path, names))

    def _changed(self) -> Snapshot:
        if (now := self._look()) == self._before:
            raise NotYet("no file has changed")
        return now

    def _quiet(self) -> Snapshot:
        until(time.monotonic() + _QUIET)
        return self._look()

    def _look(self) -> Snapshot:
        return {name: found for folder in self._folders for name, found in self._files(folder)}

    def _files(self, folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
        for parent, folders, files in os.walk(folder):
            folders[:] = [
                name
                for name in folders
                if name not in _LEFT_OUT and not name.startswith(".") and Path(parent, name) != self._but
            ]
            for name in files:
                path = os.path.join(parent, name)  # noqa: PTH118 - hundreds of them, five times a second
                try:
                    found = os.stat(path)  # noqa: PTH116
                except OSError:  # it was deleted meanwhile
                    continue
                yield path, (found.st_mtime_ns, found.st_size)
