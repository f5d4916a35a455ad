"""Slots: what keeps a whole machine busy (a cluster of a test, a build) waits here for its turn, across processes.

There are as many slots as clusters fit on this machine (`schedproof doctor` says how many); each is a lock file in the
cache, which its holder's end frees, however it ends. `python tools/slots.py COMMAND...` runs a command in a slot.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from typing import TYPE_CHECKING

from schedproof.binaries.cache import cache_dir
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.parallel.plan import fitting_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["take"]

SLOT_FREE = Deadline("slot free", 7200, "others' tests and builds come first: the longest part of all tests")


@contextlib.contextmanager
def take(count: int = 1) -> Iterator[tuple[int, ...]]:
    """Hold that many slots (at most all that there are); gives their descriptors.

    A child process that inherits a descriptor holds the slot until it ends as well.
    """
    folder = cache_dir() / "slots"
    folder.mkdir(parents=True, exist_ok=True)
    total = fitting_jobs()
    with contextlib.ExitStack() as closing:
        # The queue: otherwise two that need several would each hold what the other waits for.
        turn = closing.enter_context((folder / "turn.lock").open("a"))
        wait_for(_lock(turn.fileno()), SLOT_FREE, what="those before us to have their slots", poll=0.1)
        held: list[int] = []

        def probe() -> None:
            for number in range(total):
                if len(held) == min(count, total):
                    return
                file = os.open(folder / f"{number}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(file)
                else:
                    closing.callback(os.close, file)
                    held.append(file)
            if len(held) < min(count, total):
                raise NotYet(f"{len(held)} of {total} slots are free")

        wait_for(probe, SLOT_FREE, what="a free slot", poll=0.1)
        fcntl.flock(turn.fileno(), fcntl.LOCK_UN)
        yield tuple(held)


def _lock(file: int):
    def probe() -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotYet("another process waits for slots") from None

    return probe


def main(argv: list[str]) -> int:
    if not argv:
        sys.stderr.write("usage: python tools/slots.py COMMAND...\n")
        return 2
    import subprocess

    with take():
        return subprocess.run(argv, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
