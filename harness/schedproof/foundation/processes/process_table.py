"""All processes of the machine at a moment, from /proc; see proc(5).

All pids are those that we see ourselves: every process of the sandbox, which has a PID namespace of its own, shows in
our own /proc under a pid of ours.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import TypeAlias

from schedproof.foundation.processes.process_tree import namespace_pids, stat_fields

TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds; 10 ms on Linux. That is how exact CPU times are."""


@dataclasses.dataclass(frozen=True)
class TableEntry:
    """A line of /proc/PID/stat. `cpu`, in seconds, includes children that ended and were waited for."""

    pid: int
    parent: int
    session: int
    cpu: float


ProcessTable: TypeAlias = Mapping[int, TableEntry]
"""By pid."""


def process_table() -> dict[int, TableEntry]:
    """All processes, by pid, zombies included."""
    pids = (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal())
    return {
        pid: TableEntry(pid, int(fields[1]), int(fields[3]), sum(map(int, fields[11:15])) * TICK)
        for pid in pids
        if (fields := stat_fields(pid))
    }


def family(pid: int, table: ProcessTable | None = None) -> set[int]:
    """A process, all its descendants, and what its session leads: a daemonized worker is process 1's child.

    Empty if it is gone. Every process that the sandbox starts leads a session of its own.
    """
    table = process_table() if table is None else table
    found: set[int] = set()
    if pid not in table:
        return found
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    waiting = [pid, *(process.pid for process in table.values() if process.session == pid)]
    while waiting:
        if (member := waiting.pop()) not in found:
            found.add(member)
            waiting += children.get(member, ())
    return found


def host_pids(outer: int) -> dict[int, int]:
    """The pid that we see, by the pid inside the PID namespace that a child of `outer` is process 1 of.

    Args:
        outer: our own child that made the namespace: the outer half of `sandbox_init`. What ends while
            this reads is left out; so is everything, if `outer` is gone.
    """
    depth = len(namespace_pids(outer))
    result = {}
    for pid in family(outer) if depth else ():
        numbers = namespace_pids(pid)
        if len(numbers) > depth:
            result[numbers[depth]] = pid
    return result
