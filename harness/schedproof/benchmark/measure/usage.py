"""Reads CPU and memory of processes, and the load of the machine, from /proc.

A candidate may fork workers, and the cluster's daemons run in a separate PID namespace. Both are read in the harness's
own /proc, where every process of the sandbox also has a pid. proc(5) describes the fields.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from schedproof.foundation.processes.process_table import TICK, ProcessTable, family, process_table
from schedproof.foundation.processes.process_tree import status_fields

_PROC = Path("/proc")

_MOST_STOLEN = 0.05
_MOST_OTHERS = 0.10


@dataclasses.dataclass(frozen=True)
class Usage:
    """CPU and memory used by a process and its descendants.

    Attributes:
        cpu: seconds, user and system, of all threads.
        peak: bytes: the peak resident memory, summed over the processes; shared pages count for each process.
    """

    cpu: float
    peak: int


class Meter:
    """Measures the usage of processes from its creation, or from their start, until `read`.

    Read before the processes are stopped: the memory of an ended process is not counted, nor its CPU time unless its
    parent is of the same family. A process that began and ended in between counts in its parent's CPU time, if the
    parent waited for it, and never in `peak`.

    Args:
        pids: by name, as in the harness's own /proc (`host_pids`).
        holders: pids of processes that only start and reap others, such as process 1 of a namespace: their memory does
            not count.
        since_start: whether usage before the creation of the meter counts as well.
    """

    def __init__(self, pids: Mapping[str, int], holders: Iterable[int] = (), *, since_start: bool = False) -> None:
        self._pids = dict(pids)
        self._holders = frozenset(holders)
        self._start = dict.fromkeys(self._pids, 0.0)
        if since_start:
            return
        table = process_table()
        families = {name: family(pid, table) for name, pid in self._pids.items()}
        for pid in {pid for pids in families.values() for pid in pids}:
            _forget_peak(pid)
        self._start = {name: _cpu(pids, table) for name, pids in families.items()}

    def read(self) -> dict[str, Usage]:
        """Return the usage by name, without processes that have ended: theirs is no longer visible."""
        table = process_table()
        result = {}
        for name, pid in self._pids.items():
            if pids := family(pid, table):
                cpu = _cpu(pids, table) - self._start[name]
                result[name] = Usage(max(0.0, cpu), sum(map(_peak, pids - self._holders)))
        return result


@dataclasses.dataclass(frozen=True)
class MachineSample:
    """CPU seconds since boot of the machine, and of schedproof's processes (`ours`), at a moment (monotonic clock)."""

    moment: float
    cores: int
    busy: float
    stolen: float
    ours: float

    @classmethod
    def take(cls, roots: Iterable[int] = ()) -> MachineSample:
        """Take a sample now. `ours` counts this process, the `roots` (such as PID 1 of kind's nodes) and descendants.

        The sandbox's processes descend from this process; their usage stays counted when they end, because process 1 of
        the sandbox waits for them.
        """
        table = process_table()
        ours = {pid for root in (os.getpid(), *roots) for pid in family(root, table)}
        lines = (_PROC / "stat").read_text().splitlines()
        # cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice already.
        user, nice, system, _, _, irq, softirq, steal = (int(field) * TICK for field in lines[0].split()[1:9])
        cores = sum(line.startswith("cpu") for line in lines) - 1
        return cls(time.monotonic(), cores, user + nice + system + irq + softirq, steal, _cpu(ours, table))

    def until(self, later: MachineSample) -> Load:
        """Return the load between this sample and a later sample."""
        return Load(
            later.moment - self.moment, later.cores, later.busy - self.busy, later.stolen - self.stolen,
            max(0.0, later.ours - self.ours),
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Load:
    """The load of a machine during an interval; all fields but `cores` in seconds.

    Attributes:
        seconds: duration of the interval.
        cores: of the machine.
        busy: CPU time used by all processes and the kernel.
        stolen: CPU time that the hypervisor gave to other machines although this machine needed it.
        ours: CPU time used by schedproof's processes, as in `MachineSample.take`.
    """

    seconds: float
    cores: int
    busy: float
    stolen: float
    ours: float


def noise(load: Load) -> str:
    """Say why measurements during this load are unreliable; "" if they are reliable.

    The limit for stolen time is 5 % of the machine's CPU time, as much as the smallest effect that a comparison shows;
    it affects every process. The limit for other processes is 10 %: the kernel's threads belong to no process of a run
    and use about 1 % under load (seen at 37,000 round trips per second on loopback), a desktop or an agent some
    percent; on two cores 10 % is a fifth of a core that the scheduler may have needed. CPU time that a container's
    quota withholds is not visible here.
    """
    whole = load.seconds * load.cores
    if whole <= 0:
        return "no time passed between the samples of the machine's load"
    if load.stolen > _MOST_STOLEN * whole:
        return (
            f"the hypervisor took {load.stolen / whole:.0%} of the machine's CPU time; {_MOST_STOLEN:.0%} are allowed"
        )
    others = load.busy - load.ours
    if others > _MOST_OTHERS * whole:
        return f"other processes used {others / whole:.0%} of the machine's CPU time; {_MOST_OTHERS:.0%} are allowed"
    return ""


def _cpu(pids: Iterable[int], table: ProcessTable) -> float:
    return sum(table[pid].cpu for pid in pids)


def _peak(pid: int) -> int:
    """Return the peak resident memory in bytes (VmHWM); 0 for a zombie."""
    return int(status_fields(pid).get("VmHWM", "0 kB").split()[0]) * 1024


def _forget_peak(pid: int) -> None:
    """Reset VmHWM to the current resident size (proc(5), clear_refs, 5); do nothing if that is not allowed."""
    try:
        (_PROC / str(pid) / "clear_refs").write_text("5")
    except OSError:
        return
