"""A child process that answers lines with lines, and that cannot outlive the harness.

Its standard input is a socket, for both directions: when the harness has ended, however it ended, the child reads
end-of-file and ends. Its output goes to its log. It needs no sandbox and no privileges.
"""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.foundation.deadlines import CANDIDATE_STOP, Deadline
from schedproof.foundation.private import make_private, open_private


class LineProcess:
    """A program that ends when its standard input does, and reads that at all times.

    Args:
        argv: the command; an absolute path, then arguments.
        cwd: its working directory.
        env: exactly its environment.
        log: gets its output, appended.
        fds: descriptors of the harness that it inherits, under the same numbers.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, fds: Sequence[int] = ()
    ) -> None:
        self._lines: collections.deque[bytes] = collections.deque()
        self._partial = b""
        self.log = log
        make_private(log.parent)
        self._socket, theirs = socket.socketpair()
        # Its own session: Ctrl-C on the terminal reaches us alone, and we can end all that it starts.
        with theirs, open(log, "ab", opener=open_private) as output:
            self._begun = output.tell()
            self._process = subprocess.Popen(
                argv, cwd=cwd, env=dict(env), stdin=theirs.fileno(), stdout=output, stderr=output,
                pass_fds=tuple(fds), start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Send whole lines.

        Raises:
            TimeoutError: it did not read them in time.
            ConnectionError: it has ended.
        """
        self._socket.settimeout(deadline.seconds)
        self._socket.sendall(data)

    def receive(self, deadline: Deadline) -> bytes:
        """The next line that it sent, without the line end. Raises as `send` does."""
        if not self._lines:
            self._receive(time.monotonic() + deadline.seconds)
        return self._lines.popleft()

    def _receive(self, end: float) -> None:
        while not self._lines:
            if (remaining := end - time.monotonic()) <= 0:
                raise TimeoutError
            self._socket.settimeout(remaining)
            if not (received := self._socket.recv(1 << 20)):
                raise ConnectionResetError
            *complete, self._partial = (self._partial + received).split(b"\n")
            self._lines.extend(complete)

    def mark(self) -> int:
        """The current end of its log, as a mark."""
        return self.log.stat().st_size

    def printed(self, since: int = 0) -> str:
        """All of its output, or its output since a `mark`."""
        with self.log.open("rb") as file:
            file.seek(max(since, self._begun))
            return file.read().decode(errors="replace")

    def wait(self) -> int:
        """Its exit code, after it has closed its socket, which happens shortly before it ends."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(CANDIDATE_STOP.seconds)
        return self.close()

    def close(self) -> int:
        """End it and its descendants, and return its exit code: it has no state to save. Safe to call twice."""
        self._socket.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait(CANDIDATE_STOP.seconds)
