"""Runs a long command, with its output in a log file."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import DeadlineExceededError

# PR_SET_PDEATHSIG: the command dies with this process, even on SIGKILL. A small interpreter sets it and then executes
# the command, because code between fork and exec is unsafe in a process with threads.
_DIE_WITH_PARENT = """\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def run(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, deadline: Deadline) -> int:
    """Run a command and return its exit status. On any exception, Ctrl-C included, its process group is killed.

    Raises:
        DeadlineExceededError: the deadline passed.
    """
    trampoline = (sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()))
    with log.open("w") as output:
        output.write(f"$ {shlex.join(argv)}\n")
        output.flush()
        process = subprocess.Popen(
            (*trampoline, *argv), cwd=cwd, env=dict(env), process_group=0,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            return process.wait(timeout=deadline.seconds)
        except BaseException as error:
            # SIGKILL loses nothing: compilers and linkers have no state to save, and Go's caches survive it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise DeadlineExceededError(
                    f"{argv[0]} did not end in {deadline.seconds:g} s ({deadline.name}); "
                    f"its output is in {log}, and ends with:\n{tail(log)}",
                    remedy="find out what it waits for; usually the network drops packets",
                ) from error
            raise


def tail(log: Path, lines: int = 15) -> str:
    """Return the end of a log, indented, for an error message."""
    kept = log.read_text(errors="replace").splitlines()[-lines:]
    return "\n".join(f"    {line[:300]}" for line in kept)
