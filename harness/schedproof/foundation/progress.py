"""Tells whoever waits what is being done, why, and for how long already."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from rich.console import Console
    from rich.progress import Progress as Spinners

__all__ = ["ConsoleProgress", "Progress", "SilentProgress"]


class Progress(Protocol):
    """What long work reports to."""

    def step(self, text: str, *, why: str = "") -> AbstractContextManager[None]:
        """Around work that may take more than a moment. Steps may be nested."""

    def note(self, text: str) -> None:
        """One line that the reader should not miss."""


class SilentProgress:
    """Says nothing: for tests, and for callers with a display of their own."""

    def step(self, text: str, *, why: str = "") -> AbstractContextManager[None]:  # noqa: ARG002 - the protocol's
        return contextlib.nullcontext()

    def note(self, text: str) -> None:
        pass


class ConsoleProgress:
    """A spinner with the elapsed time on a terminal; elsewhere one line at the start and one at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._lock = threading.Lock()
        self._console: Console | None = None
        self._spinners: Spinners | None = None
        self._spinning = 0

    @contextlib.contextmanager
    def step(self, text: str, *, why: str = "") -> Iterator[None]:
        announcement = f"{text}: {why}" if why else text
        begun = time.monotonic()
        try:
            with self._spinner(announcement) if self._stream.isatty() else self._line(announcement):
                yield
        except BaseException:
            self.note(f"{text}: failed after {_elapsed(time.monotonic() - begun)}")
            raise
        self.note(f"{text}: done in {_elapsed(time.monotonic() - begun)}")

    def note(self, text: str) -> None:
        if self._console is not None:  # it may have a spinner on the last line
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    @contextlib.contextmanager
    def _line(self, announcement: str) -> Iterator[None]:
        self.note(f"{announcement} ...")
        yield

    @contextlib.contextmanager
    def _spinner(self, announcement: str) -> Iterator[None]:
        # rich takes a tenth of a second to import, and most runs find everything in the cache.
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._console is None:
                self._console = Console(file=self._stream)
            if self._spinners is None:
                self._spinners = Progress(
                    SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"),
                    console=self._console, transient=True,
                )  # fmt: skip
                self._spinners.start()
            spinners = self._spinners
            task = spinners.add_task(escape(announcement), total=None)
            self._spinning += 1
        try:
            yield
        finally:
            with self._lock:
                spinners.remove_task(task)
                self._spinning -= 1
                if not self._spinning:
                    spinners.stop()
                    self._spinners = None


def _elapsed(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
