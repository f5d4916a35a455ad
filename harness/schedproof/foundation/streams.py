"""Standard streams that are not read, are full, or were closed: the work continues."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, TextIO, cast


class Steady:
    """A text stream for people, which never fails: what cannot be written is dropped from there on.

    `lost` is the reason, unless its reader has closed it, as `head` does.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
            if "\n" in text:
                self._stream.flush()
        except OSError as error:
            self._give_up(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        if error.errno not in (errno.EPIPE, errno.EBADF):
            self.lost = self.lost or error
        # What its buffers still hold goes there too: they would fail once more when Python ends.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._stream.fileno())
        os.close(null)


def steady_streams() -> None:
    """Make standard output and standard error steady. Streams that were closed at the start discard their output.

    Otherwise their numbers would be given to the next files that are opened, which would then get the output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            os.set_inheritable(number, True)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as Python runs
        if not isinstance(stream, Steady):
            setattr(sys, name, cast("IO[str]", Steady(stream)))
