"""Load for the machine's processors while a tool observes the harness."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

_LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(1_000_000))"


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """A context in which this many processes each use a whole core; they also end if this process is killed."""
    with contextlib.ExitStack() as running:
        for _ in range(count):
            loop = subprocess.Popen([sys.executable, "-c", _LOOP])
            running.callback(loop.wait)
            running.callback(loop.kill)
        yield
