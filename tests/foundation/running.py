"""Real processes that run until their standard input ends."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

SAY = "print('ready', flush=True)\n"
AWAIT = "import sys; sys.stdin.read()\n"


@contextlib.contextmanager
def running(code: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has printed that it is ready, and ends with this context."""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.stdin.close()
            process.wait()
