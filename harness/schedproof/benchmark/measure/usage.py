"""CPU and memory of processes, and of the machine beneath them, from /proc.

A candidate may fork workers, and our daemons run in a PID namespace of their own. Both are read from outside, in our
own /proc, where every process of the sandbox shows under a pid of ours. proc(5) has the fields.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from schedproof.foundation.processes.process_table import TICK, ProcessTable, family, process_table

_PROC = Path("/proc")

_MOST_STOLEN = 0.05
_MOST_OTHERS = 0.10


@dataclasses.dataclass(frozen=True)
class Usage:
    """What a process and its descendants used.

    Attributes:
        cpu: seconds, user and system, of all threads.
        peak: bytes: the most that was resident, summed over the processes; pages that they share count for each.
    """

    cpu: float
    peak: int


class Meter:
    """The usage of some processes from now on, such as during one round.

    What ends takes its memory with it, and, unless its parent is of the same family, its CPU time: read before the
    processes are stopped. What began and ended between creation and reading is in its parent's CPU time, if that waited
    for it, and never in `peak`.

    Args:
        pids: by name, as our own /proc knows them (`host_pids`).
        holders: those of them that only hold others together, as process 1 of a namespace does: their memory is no
            cost of what they hold.
    """

    def __init__(self, pids: Mapping[str, int], holders: Iterable[int] = ()) -> None:
        self._pids = dict(pids)
        self._holders = frozenset(holders)
        table = process_table()
        families = {name: family(pid, table) for name, pid in self._pids.items()}
        for pid in {pid for pids in families.values() for pid in pids}:
            _forget_peak(pid)
        self._start = {name: _cpu(pids, table) for name, pids in families.items()}

    def read(self) -> dict[str, Usage]:
        """By name. A process that is gone has used nothing that could still be seen: it is left out."""
        table = process_table()
        result = {}
        for name, pid in self._pids.items():
            if pids := family(pid, table):
                cpu = _cpu(pids, table) - self._start[name]
                result[name] = Usage(max(0.0, cpu), sum(map(_peak, pids - self._holders)))
        return result


@dataclasses.dataclass(frozen=True)
class MachineSample:
    """CPU seconds of the whole machine since it started, and of our processes, at a moment of the monotonic clock."""

    moment: float
    cores: int
    busy: float
    stolen: float
    ours: float

    @classmethod
    def take(cls, roots: Iterable[int] = ()) -> MachineSample:
        """Now. Ours are this process, the `roots` (such as the first processes of kind's nodes), and all below them.

        The sandbox's processes are below this one; what they use stays counted when they end, because process 1 of the
        sandbox waits for them.
        """
        table = process_table()
        ours = {pid for root in (os.getpid(), *roots) for pid in family(root, table)}
        lines = (_PROC / "stat").read_text().splitlines()
        # cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice already.
        user, nice, system, _, _, irq, softirq, steal = (int(field) * TICK for field in lines[0].split()[1:9])
        cores = sum(line.startswith("cpu") for line in lines) - 1
        return cls(time.monotonic(), cores, user + nice + system + irq + softirq, steal, _cpu(ours, table))

    def until(self, later: MachineSample) -> Load:
        """What happened between this sample and a later one."""
        return Load(
            later.moment - self.moment, later.cores, later.busy - self.busy, later.stolen - self.stolen,
            max(0.0, later.ours - self.ours),
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Load:
    """What a machine did in a stretch of time; all but `cores` in seconds.

    Attributes:
        seconds: on the clock.
        cores: of the machine.
        busy: CPU time that was used, by whomever, the kernel included.
        stolen: CPU time that the machine wanted, and that its hypervisor gave to other machines.
        ours: CPU time that our processes used.
    """

    seconds: float
    cores: int
    busy: float
    stolen: float
    ours: float


def noise(load: Load) -> str:
    """Why what was measured meanwhile is not to be believed; "" if nothing speaks against it.

    Stolen time of 5 % of the machine's CPU time: as much as the smallest effect that a comparison shows; it hits
    every process. 10 % used by others: the kernel's own threads belong to no process of a run, and need about 1 %
    under load (seen at 37,000 round trips per second on loopback), a desktop or an agent some percent; on two cores
    10 % is a fifth of a core that the scheduler may have wanted. CPU time that a container's quota holds back is
    not seen here.
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
    """Bytes; VmHWM. A zombie has none."""
    return int(_status(pid).get("VmHWM", "0 kB").split()[0]) * 1024


def _forget_peak(pid: int) -> None:
    """Let VmHWM start over from what is resident now (proc(5), clear_refs, 5), or stay, where that is not allowed."""
    try:
        (_PROC / str(pid) / "clear_refs").write_text("5")
    except OSError:
        return


def _status(pid: int) -> dict[str, str]:
    """The fields of /proc/PID/status; none if it ended meanwhile."""
    try:
        text = (_PROC / str(pid) / "status").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    lines = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in lines}
