"""Watches the descendants of a candidate's process for as long as it runs."""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from schedproof.deploy.descendants import Descendants, OwnFiles, shown
from schedproof.deploy.record import Recording
from schedproof.foundation.processes import process_tree
from schedproof.foundation.processes.process_tree import Ending, SeenProcess
from schedproof.foundation.processes.sandbox import Process

_LOOK = 0.2
"""Seconds between two looks: a process that lives for `descendants.LONG` is seen several times."""
_COMMAND = 2
"""The pid of a contained command in its own namespace: process 1 has forked nothing else before."""
_LOOKS = 6
"""Number of looks whose log sizes are kept: a program may take several looks to end after its last log line."""
_LINES, _MOST = 20, 1 << 20


class TreeWatch:
    """Records exits of descendants, and the processes that replace them, until `close`.

    Args:
        process: a process that runs contained in the sandbox.
        folders: the folders of the candidate's own files.
    """

    def __init__(self, process: Process, folders: Iterable[Path], record: Recording) -> None:
        self._process = process
        self._record = record
        self._own = OwnFiles(folders)
        self._descendants = Descendants(self._own)
        self._endings: dict[tuple[int, float], Ending] = {}
        self._looking = threading.Lock()
        self._closing = threading.Event()
        self._over = False
        self._log_sizes = collections.deque([0], maxlen=_LOOKS)
        """Log sizes in bytes at the last looks, the oldest first."""
        self._holder = process.outside_pid() if process_tree.can_look_below() else 0
        self._command = self._find_command()
        self._thread = threading.Thread(target=self._watch, name=f"tree-{process.pid}", daemon=True)
        if self._command:
            self._thread.start()
        elif process.exit_code is None and not process_tree.can_look_below():
            record("process", name=process.command.name, event="unwatched")

    def _find_command(self) -> int:
        depth = len(process_tree.namespace_pids(self._holder)) - 1
        for pid in process_tree.children(self._holder):
            if process_tree.namespace_pids(pid)[depth : depth + 1] == [_COMMAND]:
                return pid
        return 0

    def _watch(self) -> None:
        while not self._closing.wait(_LOOK):
            self.look()

    def look(self) -> None:
        """Read the current state at once, without waiting for the watch."""
        with self._looking:
            if not self._command or self._over:
                return
            ended = {identity: ending.code() for identity, ending in self._endings.items() if ending.over}
            seen = [found for pid in process_tree.below(self._holder) if (found := process_tree.see(pid)) is not None]
            command = next((process for process in seen if process.pid == self._command), None)
            if command is None:
                # Its own exit is reported elsewhere. Descendants that ended with it did not crash by themselves.
                self._over = True
                return
            self._log_sizes.append(self._process.command.log.stat().st_size)
            seen = [process for process in seen if self._holds_end(process)]
            for fields in self._descendants.look(process_tree.seconds_since_boot(), seen, ended):
                self._tell(fields)
            for identity in ended:
                self._endings.pop(identity).close()

    def _holds_end(self, process: SeenProcess) -> bool:
        """Start waiting for the exit of a process that is the candidate's own. Return False if it has ended by now."""
        if process.identity in self._endings or not self._own.of(process):
            return True
        try:
            ending = Ending(process.pid)
        except OSError:
            return False
        now = process_tree.see(process.pid)
        if now is None or now.identity != process.identity:
            ending.close()
            return False
        self._endings[process.identity] = ending
        return True

    def _tell(self, fields: Mapping[str, Any]) -> None:
        name = self._process.command.name
        if "argv" in fields:
            name = f"{name} > {shown(fields['argv'])}"
        self._record("process", name=name, descendant=True, log=self._said_since(), **fields)

    def _said_since(self) -> list[str]:
        """Return the log lines of about the last second, without the middle if there are many."""
        with self._process.command.log.open("rb") as log:
            log.seek(self._log_sizes[0])
            lines = log.read(_MOST).decode(errors="replace").splitlines()
        return lines if len(lines) <= 2 * _LINES else [*lines[:_LINES], "...", *lines[-_LINES:]]

    def close(self) -> None:
        """Stop watching after a last look. Safe to call twice."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        self.look()
        self._over = True
        while self._endings:
            self._endings.popitem()[1].close()
