"""What this machine has to run things on."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory", "cores"]


def available_memory() -> int | None:
    """Bytes, as the kernel estimates it, page cache that can be dropped included; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    sizes = dict(line.split(":", 1) for line in lines)
    return int(sizes["MemAvailable"].split()[0]) * 1024


def cores() -> int:
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0))
