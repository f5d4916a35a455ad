"""Extends waits for the candidate by the time for which its processes were kept from running.

A candidate is judged by what it does in the time that it claims to take. On a busy machine, each process on the path
of a Binding also waits for a CPU. The wait is extended by the sum of these times.
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
"""Seconds; shorter times are not reported."""
_INTERVAL = 1.0
"""Seconds between two readings of a log. Each reads a file per thread of the processes."""


class Interval:
    """Measures CPU waits of processes from its creation on.

    Args:
        pids: returns name to current pids of the processes on the path of a Binding.
    """

    def __init__(self, pids: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._pids = pids
        self._before = {name: waits_of(here) for name, here in pids().items()}

    def kept(self) -> dict[str, float]:
        """Return name to seconds for which each process was kept from running, without those below `_LEAST`."""
        since = {name: kept(self._before.get(name, {}), waits_of(here)) for name, here in self._pids().items()}
        return {name: round(seconds, 3) for name, seconds in since.items() if seconds >= _LEAST}

    def extension(self, seconds: float) -> float:
        """Return by how many seconds to extend a wait of `seconds` that began with the interval."""
        return min(sum(self.kept().values()), most_kept(seconds))

    def wait_for(
        self, probe: Callable[[], _Seen], deadline: Deadline, *, what: str, wake: threading.Condition
    ) -> _Seen:
        """Like `foundation.waiting.wait_for`, extended by the CPU waits since the interval began."""
        return wait_for(probe, deadline, what=what, wake=wake, extended=lambda: self.extension(deadline.seconds))


class UsableTime:
    """Measures the time that one candidate could use."""

    def __init__(self, pids: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._pids = pids

    def begin(self) -> Interval:
        return Interval(self._pids)

    def let_pass(self, seconds: float) -> dict[str, float]:
        """Wait until the candidate had `seconds` of usable time, and return the seconds each process was kept."""
        begin, interval = time.monotonic(), self.begin()
        end = begin + seconds
        while time.monotonic() < end:
            until(end)
            end = begin + seconds + interval.extension(seconds)
        return interval.kept()


class KeptLog:
    """Reports every second, until `close`, for how long processes were kept from running since the last report.

    Args:
        tell: called on a separate thread with the seconds since the last reading, and name to seconds kept, unless
            that is empty. A `HostError` ends the log: the record is broken, and every writer to it fails.
    """

    def __init__(self, usable: UsableTime, tell: Callable[[float, Mapping[str, float]], None]) -> None:
        self._usable, self._tell = usable, tell
        self._closing = threading.Event()
        since = time.monotonic(), usable.begin()
        self._thread = threading.Thread(target=self._run, args=since, name="kept-log", daemon=True)
        self._thread.start()

    def _run(self, begin: float, interval: Interval) -> None:
        while not self._closing.wait(_INTERVAL):
            kept, seconds = interval.kept(), time.monotonic() - begin
            begin, interval = time.monotonic(), self._usable.begin()
            if kept:
                try:
                    self._tell(seconds, kept)
                except HostError:
                    return

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
