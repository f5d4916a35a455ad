"""Copies a container's log into a file as it grows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from schedproof.clusters.api import Api, ApiError, Stream
from schedproof.foundation.deadlines import LOG_COMPLETE
from schedproof.foundation.private import open_private
from schedproof.foundation.processes.sandbox_init import GrowingLog
from schedproof.foundation.waiting import NotYet, wait_for

_LONGEST_LINE = 65_536


class ContainerLog:
    """Appends the output of a pod's container to `file`, until it ends or `close` is called.

    `container`: its name; "" if the pod has only one.
    """

    def __init__(self, api: Api, namespace: str, pod: str, file: Path, *, container: str = "") -> None:
        self._api = api
        self._of: dict[str, str] = {"container": container} if container else {}
        self._where = (namespace, pod)
        self._file = file
        self._stream: Stream | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._copy, args=({"follow": "true"},), name="log", daemon=True)
        self._thread.start()

    def _copy(self, query: dict[str, str]) -> None:
        growing = GrowingLog(str(self._file))
        with contextlib.closing(growing), open(self._file, "ab", buffering=0, opener=open_private) as file:
            try:
                self._stream = self._api.log(*self._where, **{**self._of, **query})
                if self._closed:
                    self._stream.close()
                file.writelines(_trimmed(self._stream.chunks(), growing))
            except Exception as error:
                if not self._closed:  # a reader of the log must know that there is more
                    file.write(f"\n(schedproof: no more of this log: {error})\n".encode())

    def catch_up(self) -> None:
        """Bring the file up to date."""
        begin = max(0, self._file.stat().st_size - _LONGEST_LINE)
        try:
            last = b"".join(self._api.log(*self._where, **{**self._of, "tailLines": "1"}).chunks())
        except ApiError:
            return  # its pod is on its way out

        def arrived() -> None:
            with self._file.open("rb") as file:
                file.seek(begin)
                if self._thread.is_alive() and last not in file.read():
                    raise NotYet(f"without {last!r}")

        wait_for(arrived, LOG_COMPLETE, what=f"the log of pod {self._where[1]} to arrive")

    def complete(self, *, restarted: bool) -> None:
        """Read all of it, after its container has ended; `restarted`: another container has replaced it already."""
        self._thread.join(LOG_COMPLETE.seconds)
        if restarted and (self._thread.is_alive() or not self._file.stat().st_size):
            self.close()
            self._copy({"previous": "true"})

    def close(self) -> None:
        self._closed = True
        if self._stream is not None:
            self._stream.close()
        self._thread.join()


def _trimmed(chunks: Iterator[bytes], log: GrowingLog) -> Iterator[bytes]:
    """The chunks; each has been written when the next is requested."""
    for chunk in chunks:
        yield chunk
        log.trim()
