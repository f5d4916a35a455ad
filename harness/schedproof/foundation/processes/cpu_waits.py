"""For how long threads were kept from running: each could have run, and the processors were given to others.

That is the second field of /proc/PID/task/TID/schedstat, in nanoseconds since the thread began
(Documentation/scheduler/sched-stats.rst). Time that a container's quota holds back is not in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

_PROC = Path("/proc")
_NANOSECOND = 1e-9
_LONGEST = 3
"""A wait is made longer until it takes so many times what it is to take."""

Waits = Mapping[tuple[int, int], float]
"""Seconds, by the pid and tid of each thread."""


def thread_wait(folder: Path) -> float | None:
    """Seconds that the thread of a folder of /proc has waited; None: it has ended, or this kernel does not tell."""
    try:
        return int((folder / "schedstat").read_text().split()[1]) * _NANOSECOND
    except (OSError, IndexError):
        return None


def waits_of(pids: Iterable[int], proc: Path = _PROC) -> dict[tuple[int, int], float]:
    """Of all threads of these processes; what has ended, or is not told by this kernel, is left out."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in (proc / str(pid) / "task").iterdir():
                if (waited := thread_wait(thread)) is not None:
                    found[pid, int(thread.name)] = waited
    return found


def most_kept(seconds: float) -> float:
    """By how many seconds a wait of `seconds` is made longer at most.

    A wait in vain that was made longer by so much shows that the machine was busy, and nothing else.
    """
    return (_LONGEST - 1) * seconds


def kept(before: Waits, after: Waits) -> float:
    """For how many seconds the thread was kept from running that was kept longest between two looks.

    Threads of a process wait side by side, so that their times do not add up.
    """
    return max((waited - before.get(thread, 0.0) for thread, waited in after.items()), default=0.0)
