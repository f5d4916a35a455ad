"""The memory and processors of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> int | None:
    """Bytes that are available, as the kernel estimates, droppable page cache included; None if it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    sizes = dict(line.split(":", 1) for line in lines)
    return int(sizes["MemAvailable"].split()[0]) * 1024


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def memory() -> int:
    """Bytes of memory in all."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Idleness:
    """The idle share of the machine's processors since this was made."""

    def __init__(self) -> None:
        self._begin = _ticks()

    def share(self) -> float | None:
        """From 0 to 1; None if the kernel does not say, or no time has passed."""
        begin, end = self._begin, _ticks()
        if begin is None or end is None or end[1] == begin[1]:
            return None
        return (end[0] - begin[0]) / (end[1] - begin[1])


def _ticks() -> tuple[int, int] | None:
    """Idle time and total time of all processors since the machine started (proc(5), /proc/stat)."""
    try:
        first = Path("/proc/stat").read_text().splitlines()[0].split()
    except (OSError, IndexError):
        return None
    # user nice system idle iowait irq softirq steal; the time of guests is in that of users
    ticks = [int(text) for text in first[1:9]]
    return sum(ticks[3:5]), sum(ticks)
