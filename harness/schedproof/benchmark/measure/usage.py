"""CPU and memory of processes, and of the machine beneath them, from /proc.

A candidate may fork workers, and our daemons run in a PID namespace of their own. Both are read from outside, in our
own /proc, where every process of the sandbox shows under a pid of ours. proc(5) has the fields.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from schedproof.foundation.processes.process_tree import namespace_pids

_PROC = Path("/proc")

TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds; 10 ms on Linux. That is how exact CPU times are."""

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


@dataclasses.dataclass(frozen=True)
class _Process:
    """A line of /proc/PID/stat. `cpu` includes children that ended and were waited for."""

    pid: int
    parent: int
    session: int
    cpu: float


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
        processes = _by_pid()
        families = {name: family(pid, processes) for name, pid in self._pids.items()}
        for pid in {pid for pids in families.values() for pid in pids}:
            _forget_peak(pid)
        self._start = {name: _cpu(pids, processes) for name, pids in families.items()}

    def read(self) -> dict[str, Usage]:
        """By name. A process that is gone has used nothing that could still be seen: it is left out."""
        processes = _by_pid()
        result = {}
        for name, pid in self._pids.items():
            if pids := family(pid, processes):
                cpu = _cpu(pids, processes) - self._start[name]
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
        processes = _by_pid()
        ours = {pid for root in (os.getpid(), *roots) for pid in family(root, processes)}
        lines = (_PROC / "stat").read_text().splitlines()
        # cpu user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice already.
        user, nice, system, _, _, irq, softirq, steal = (int(field) * TICK for field in lines[0].split()[1:9])
        cores = sum(line.startswith("cpu") for line in lines) - 1
        return cls(time.monotonic(), cores, user + nice + system + irq + softirq, steal, _cpu(ours, processes))

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


def host_pids(outer: int) -> dict[int, int]:
    """The pid that we see, by the pid inside the PID namespace that a child of `outer` is process 1 of.

    Args:
        outer: our own child that made the namespace: the outer half of `sandbox_init`. What ends while
            this reads is left out; so is everything, if `outer` is gone.
    """
    processes = _by_pid()
    depth = len(namespace_pids(outer))
    result = {}
    for pid in family(outer, processes) if depth else ():
        numbers = namespace_pids(pid)
        if len(numbers) > depth:
            result[numbers[depth]] = pid
    return result


def beneath(roots: Iterable[int], names: Iterable[str]) -> dict[str, int]:
    """The pids of processes of these names (of up to 15 characters) that are `roots` or run below them."""
    found = {_read(pid, "comm").strip(): pid for root in roots for pid in family(root)}
    return {name: found[name] for name in names if name in found}


def family(pid: int, processes: Mapping[int, _Process] | None = None) -> set[int]:
    """A process, all its descendants, and what its session leads: a daemonized worker is process 1's child.

    Empty if it is gone. Every process that the sandbox starts leads a session of its own.
    """
    processes = _by_pid() if processes is None else processes
    found: set[int] = set()
    if pid not in processes:
        return found
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    waiting = [pid, *(process.pid for process in processes.values() if process.session == pid)]
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += children.get(one, ())
    return found


def _by_pid() -> dict[int, _Process]:
    return {process.pid: process for process in _processes()}


def _processes() -> Iterator[_Process]:
    for entry in os.scandir(_PROC):
        if entry.name.isdecimal():
            # Behind the name, which is in parentheses and may have any in it: state, parent, group, session, ...
            _, _, rest = _read(int(entry.name), "stat").rpartition(")")
            if fields := rest.split():
                yield _Process(int(entry.name), int(fields[1]), int(fields[3]), sum(map(int, fields[11:15])) * TICK)


def _cpu(pids: Iterable[int], processes: Mapping[int, _Process]) -> float:
    return sum(processes[pid].cpu for pid in pids)


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
    lines = (line.partition(":") for line in _read(pid, "status").splitlines())
    return {name: value.strip() for name, _, value in lines}


def _read(pid: int, name: str) -> str:
    """A file of a process; "" if it ended meanwhile."""
    try:
        return (_PROC / str(pid) / name).read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
