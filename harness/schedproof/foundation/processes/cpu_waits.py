"""How long threads were kept from running: they were runnable, but the processors were given to others.

That is the second field of /proc/PID/task/TID/schedstat, in nanoseconds since the thread began
(Documentation/scheduler/sched-stats.rst). It does not include time in which a container's quota is exhausted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

_PROC = Path("/proc")
_NANOSECOND = 1e-9
_LONGEST = 3
"""A wait is extended to at most so many times its length."""

Waits = Mapping[tuple[int, int], float]
"""Seconds, by the pid and tid of each thread."""


def thread_wait(folder: Path) -> float | None:
    """Seconds that the thread of a folder of /proc has waited; None: it has ended, or the kernel does not say."""
    try:
        return int((folder / "schedstat").read_text().split()[1]) * _NANOSECOND
    except (OSError, IndexError):
        return None


def waits_of(pids: Iterable[int], proc: Path = _PROC) -> dict[tuple[int, int], float]:
    """The waits of all threads of these processes, without threads that have ended, or that the kernel omits."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in (proc / str(pid) / "task").iterdir():
                if (waited := thread_wait(thread)) is not None:
                    found[pid, int(thread.name)] = waited
    return found


def most_kept(seconds: float) -> float:
    """By how many seconds a wait of `seconds` is extended at most.

    A wait in vain that was extended by as much shows only that the machine was busy.
    """
    return (_LONGEST - 1) * seconds


def kept(before: Waits, after: Waits) -> float:
    """Seconds that the longest-waiting thread was kept from running between two samples.

    Threads of a process wait at the same time, so their times do not add up.
    """
    return max((waited - before.get(thread, 0.0) for thread, waited in after.items()), default=0.0)
