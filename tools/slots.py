"""Slots: what keeps a whole machine busy (a cluster of a test, a build) waits here for its turn, across processes.

There are as many slots as clusters fit on this machine (`schedproof doctor` says how many); each is a lock file in the
cache, which its holder's end frees, however it ends. `python tools/slots.py COMMAND...` runs a command in a slot.
"""

from __future__ import annotations

import contextlib
import fcntl
import sys
from collections.abc import Iterator

from schedproof.binaries.cache import cache_dir
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.plan import fitting_jobs

SLOT_FREE = Deadline("slot free", 7200, "others' tests and builds come first: the longest part of all tests")


@contextlib.contextmanager
def take() -> Iterator[None]:
    """Hold a slot: wait until one is free, and free it at the end."""
    folder = cache_dir() / "slots"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as closing:
        files = [closing.enter_context((folder / f"{number}.lock").open("a")) for number in range(fitting_jobs())]

        def probe() -> None:
            for file in files:
                with contextlib.suppress(BlockingIOError):
                    return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise NotYet(f"all {len(files)} are taken")

        wait_for(probe, SLOT_FREE, what="a free slot", poll=0.1)
        yield


def main(argv: list[str]) -> int:
    if not argv:
        sys.stderr.write("usage: python tools/slots.py COMMAND...\n")
        return 2
    import subprocess

    with take():
        return subprocess.run(argv, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
