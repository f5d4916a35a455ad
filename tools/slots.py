"""Slots limit how many processes keep this machine busy: a test's cluster or a build waits for a free slot.

There are as many slots as clusters fit on this machine (`schedproof doctor` prints the number). Each is a lock file
in the cache; the kernel releases the lock when its holder ends. `python tools/slots.py COMMAND...` runs a command in
a slot.
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

SLOT_FREE = Deadline("slot free", 7200, "other tests and builds come first: the longest part of all tests")


@contextlib.contextmanager
def take() -> Iterator[None]:
    """A context that holds a slot, once one is free."""
    folder = cache_dir() / "slots"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as closing:
        files = [closing.enter_context((folder / f"{number}.lock").open("a")) for number in range(fitting_jobs())]

        def probe() -> None:
            for file in files:
                with contextlib.suppress(BlockingIOError):
                    return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            raise NotYet(f"all {len(files)} slots are taken")

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
