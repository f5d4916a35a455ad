"""The processes below one of ours, and how they end although they are not our children; see proc(5).

All pids are those that we see ourselves, whichever PID namespace the processes are in.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import select
import struct
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from schedproof.foundation.processes.cpu_waits import thread_wait

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
LISTEN = "0A"
"""TCP_LISTEN in /proc/net/tcp."""

# include/uapi/linux/pidfd.h: struct pidfd_info of 64 bytes ends with exit_code; PIDFD_INFO_EXIT is of Linux 6.15.
_PIDFD_INFO = struct.Struct("QQ11Ii")
_PIDFD_GET_INFO = 3 << 30 | _PIDFD_INFO.size << 16 | 0xFF << 8 | 11
_PIDFD_INFO_EXIT = 1 << 3


@dataclasses.dataclass(frozen=True)
class SeenProcess:
    """A process at a moment. `began`, in seconds since the machine's boot, tells it from a later one with its pid.

    `stalled`: for how many seconds its first thread could have run, and others did; 0 where the kernel does not tell.
    """

    pid: int
    parent: int
    began: float
    argv: tuple[str, ...]
    executable: str
    folder: str
    stalled: float = 0.0

    @property
    def identity(self) -> tuple[int, float]:
        return self.pid, self.began


def seconds_since_boot() -> float:
    """Now, on the clock of `SeenProcess.began`."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def can_look_below() -> bool:
    """Whether this kernel lists children (CONFIG_PROC_CHILDREN)."""
    return (_PROC / "thread-self" / "children").exists()


def children(pid: int) -> list[int]:
    """Of all its threads. One that is born while this reads may be missing."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in (_PROC / str(pid) / "task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def below(pid: int) -> Iterator[int]:
    """Its children, and theirs."""
    for child in children(pid):
        yield child
        yield from below(child)


def named_below(roots: Iterable[int], names: Collection[str]) -> dict[str, int]:
    """The pids of the processes below `roots` of these names, which have up to 15 characters (comm in proc(5))."""
    found = {}
    for pid in (pid for root in roots for pid in below(root)):
        with contextlib.suppress(OSError):
            name = (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
            if name in names:
                found[name] = pid
    return found


def in_pod(root: int, uid: str) -> list[int]:
    """The processes below `root` that a kubelet runs for a pod: their cgroup has its uid, by either cgroup driver."""
    found = []
    for pid in below(root):
        with contextlib.suppress(OSError):
            cgroup = (_PROC / str(pid) / "cgroup").read_text(errors="replace")
            if f"pod{uid}" in cgroup.replace("_", "-"):
                found.append(pid)
    return found


def namespace_pids(pid: int) -> list[int]:
    """The pids that a process has in each of its PID namespaces, from ours inwards; empty: it is gone."""
    return [int(number) for number in status_fields(pid).get("NSpid", "").split()]


def status_fields(pid: int) -> dict[str, str]:
    """The fields of /proc/PID/status by name; none if it is gone."""
    try:
        text = (_PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in lines}


def stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from its state on: state, parent, group, session, ...; empty: it is gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    # They are behind the name, which is in parentheses and may have any in it.
    return text.rpartition(")")[2].split()


def see(pid: int) -> SeenProcess | None:
    """None: it has ended, or is about to."""
    folder = _PROC / str(pid)
    fields = stat_fields(pid)
    try:
        argv = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        if not fields or fields[0] in "ZX" or not argv:
            return None
        executable, cwd = str((folder / "exe").readlink()), str((folder / "cwd").readlink())
    except OSError:
        return None
    began, stalled = int(fields[19]) / _TICKS, thread_wait(folder) or 0.0
    return SeenProcess(pid, int(fields[1]), began, tuple(argv), executable, cwd, stalled)


class Ending:
    """Knows the end of a process that is not our child. Made while it lives.

    Raises:
        OSError: it lives no more.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor = os.pidfd_open(pid)
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    @property
    def over(self) -> bool:
        """Whether it has ended, be it that its parent has not waited for it yet."""
        return bool(self._poll.poll(0))

    def code(self) -> int | None:
        """How it ended: an exit code, or a negative signal number. None: this kernel does not say (Linux < 6.15)."""
        answer = bytearray(_PIDFD_INFO.size)
        struct.pack_into("Q", answer, 0, _PIDFD_INFO_EXIT)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._descriptor, _PIDFD_GET_INFO, answer)
            mask, *_, status = _PIDFD_INFO.unpack(answer)
            if mask & _PIDFD_INFO_EXIT:
                return os.waitstatus_to_exitcode(status)
        # Until its parent has waited for it, the last field of its stat says it.
        if (fields := stat_fields(self._pid)) and fields[0] == "Z":
            return os.waitstatus_to_exitcode(int(fields[-1]))
        return None

    def close(self) -> None:
        os.close(self._descriptor)


def tcp_sockets(pid: int | str) -> Iterator[list[str]]:
    """The fields of each TCP socket in the network of a process: number, local address, remote one, state, ... inode.

    None if it is gone.
    """
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (_PROC / str(pid) / "net" / name).read_text().splitlines()[1:]:
                yield line.split()
