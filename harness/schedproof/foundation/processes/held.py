"""What processes hold at a moment: memory, descriptors, threads and TCP connections, from /proc; see proc(5)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable
from pathlib import Path

from schedproof.foundation.processes.process_tree import LISTEN, status_fields, tcp_sockets

_PROC = Path("/proc")


@dataclasses.dataclass(frozen=True)
class Held:
    """The sums over some processes.

    Attributes:
        memory: bytes that are resident (VmRSS); shared pages count for each process.
        descriptors: open files, sockets, pipes and so on; None if this user may not list them.
        threads: of all of them.
        connections: open TCP sockets that do not listen, in any state, also half closed; None as for `descriptors`.
    """

    memory: int
    descriptors: int | None
    threads: int
    connections: int | None


def held_by(pids: Iterable[int]) -> Held | None:
    """Return what these processes hold now; None if none of them is there."""
    found = [held for held in map(_held, pids) if held is not None]
    if not found:
        return None
    return Held(
        sum(held.memory for held in found),
        _sum(held.descriptors for held in found),
        sum(held.threads for held in found),
        _sum(held.connections for held in found),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)


def _held(pid: int) -> Held | None:
    status = status_fields(pid)
    if "VmRSS" not in status:  # gone, or a zombie
        return None
    memory, threads = int(status["VmRSS"].split()[0]) * 1024, int(status["Threads"])
    try:
        descriptors = list((_PROC / str(pid) / "fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return Held(memory, None, threads, None)
    targets = []
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # closed meanwhile
            targets.append(str(descriptor.readlink()))
    connected = {f"socket:[{fields[9]}]" for fields in tcp_sockets(pid) if fields[3] != LISTEN}
    return Held(memory, len(targets), threads, sum(target in connected for target in targets))
