"""Time that the candidate could use: a wait for it leaves out the time for which it was kept from running.

A candidate is judged by what it does in the time that it claims to take. On a busy machine the processes that a Binding
passes, one after the other, wait for a processor as well. For how long each of them was kept from running is added to
what the candidate is given.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.processes.cpu_waits import kept, most_kept, waits_of
from schedproof.foundation.waiting import until, wait_for

_Seen = TypeVar("_Seen")
_LEAST = 0.01
"""Seconds. What was kept for less is not worth a word."""
_INTERVAL = 1.0
"""Seconds between two looks of a log. Each reads a file for each thread of the processes."""


class Stretch:
    """From its creation on.

    Args:
        pids: the processes that a Binding passes, by name, as they are when it is called.
    """

    def __init__(self, pids: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._pids = pids
        self._before = {name: waits_of(here) for name, here in pids().items()}

    def kept(self) -> dict[str, float]:
        """For how many seconds each was kept from running, by name, where that is worth a word."""
        since = {name: kept(self._before.get(name, {}), waits_of(here)) for name, here in self._pids().items()}
        return {name: round(seconds, 3) for name, seconds in since.items() if seconds >= _LEAST}

    def extension(self, seconds: float) -> float:
        """By how many seconds a wait of `seconds`, that began with the stretch, is to be longer."""
        return min(sum(self.kept().values()), most_kept(seconds))

    def wait_for(
        self, probe: Callable[[], _Seen], deadline: Deadline, *, what: str, wake: threading.Condition
    ) -> _Seen:
        """As `foundation.waiting.wait_for`, for a wait that begins with the stretch."""
        return wait_for(probe, deadline, what=what, wake=wake, extended=lambda: self.extension(deadline.seconds))


class UsableTime:
    """Of one candidate."""

    def __init__(self, pids: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._pids = pids

    def begin(self) -> Stretch:
        return Stretch(self._pids)

    def let_pass(self, seconds: float) -> dict[str, float]:
        """Let so much time pass that the candidate could use; for how long each of the processes was kept meanwhile."""
        begin, stretch = time.monotonic(), self.begin()
        end = begin + seconds
        while time.monotonic() < end:
            until(end)
            end = begin + seconds + stretch.extension(seconds)
        return stretch.kept()


class KeptLog:
    """Tells, each second until it is closed, for how long which processes were kept from running since the last time.

    Args:
        tell: called on a thread of our own, where that was worth a word, with the seconds since the last time. A
            `HostError` ends the log: the record is broken, and says so wherever it is written to.
    """

    def __init__(self, usable: UsableTime, tell: Callable[[float, Mapping[str, float]], None]) -> None:
        self._usable, self._tell = usable, tell
        self._closing = threading.Event()
        since = time.monotonic(), usable.begin()
        self._thread = threading.Thread(target=self._run, args=since, name="kept-log", daemon=True)
        self._thread.start()

    def _run(self, begin: float, stretch: Stretch) -> None:
        while not self._closing.wait(_INTERVAL):
            kept, seconds = stretch.kept(), time.monotonic() - begin
            begin, stretch = time.monotonic(), self._usable.begin()
            if kept:
                try:
                    self._tell(seconds, kept)
                except HostError:
                    return

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
