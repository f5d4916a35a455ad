"""Something else for the machine to do, while a tool looks how the harness gets on beside it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

_LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(1_000_000))"


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that want a whole core each, as long as this lasts; they end with us, however we end."""
    with contextlib.ExitStack() as running:
        for _ in range(count):
            loop = subprocess.Popen([sys.executable, "-c", _LOOP])
            running.callback(loop.wait)
            running.callback(loop.kill)
        yield
