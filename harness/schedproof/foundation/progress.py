"""Shows the user the current step, its reason, and its duration."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Spinners


_SPIN_INTERVAL, _LINE_INTERVAL = 0.1, 10.0
"""Seconds between two updates of a transfer: on a terminal, and elsewhere, where each adds a line."""


class Progress(Protocol):
    """The interface to which long work reports."""

    def step(self, text: str, *, why: str = "") -> AbstractContextManager[None]:
        """A context for work that may take noticeable time. Steps may be nested."""

    def transfer(self, text: str, *, why: str = "") -> AbstractContextManager[Callable[[int, int], None]]:
        """A context for a transfer: call its result with the bytes so far, and the total (0: unknown)."""

    def note(self, text: str) -> None:
        """A line that the reader should not miss."""


class SilentProgress:
    """Shows nothing: for tests, and for callers with their own display."""

    def step(self, text: str, *, why: str = "") -> AbstractContextManager[None]:  # noqa: ARG002 - the protocol's
        return contextlib.nullcontext()

    def transfer(self, text: str, *, why: str = "") -> AbstractContextManager[Callable[[int, int], None]]:  # noqa: ARG002
        return contextlib.nullcontext(lambda _done, _total: None)

    def note(self, text: str) -> None:
        pass


class ConsoleProgress:
    """A spinner with the elapsed time on a terminal; elsewhere one line at the start and one at the end."""

    def __init__(self, stream: TextIO | None = None, *, number: int = 0) -> None:
        """`number`: of one of several clusters that report to one terminal: each line names it, and there is no
        spinner.
        """
        self._stream = stream if stream is not None else sys.stderr
        self._number = number
        self._lock = threading.Lock()
        self._console: Console | None = None
        self._spinners: Spinners | None = None
        self._spinning = 0

    @contextlib.contextmanager
    def step(self, text: str, *, why: str = "") -> Iterator[None]:
        with self._reported(text, why, lambda: "done"):
            yield

    @contextlib.contextmanager
    def transfer(self, text: str, *, why: str = "") -> Iterator[Callable[[int, int], None]]:
        meter = _Meter(text, interval=_SPIN_INTERVAL if self._may_spin else _LINE_INTERVAL)
        with self._reported(text, why, lambda: f"{meter.done / 1e6:.1f} MB") as meter.show:
            yield meter.advance

    @contextlib.contextmanager
    def _reported(self, text: str, why: str, result: Callable[[], str]) -> Iterator[Callable[[str], None]]:
        """Announce the step, and report its end; yields the display of its progress."""
        announcement = f"{text}: {why}" if why else text
        begun = time.monotonic()
        try:
            with self._spinner(announcement) if self._may_spin else self._line(announcement) as show:
                yield show
        except BaseException:
            self.note(f"{text}: failed after {_elapsed(time.monotonic() - begun)}")
            raise
        self.note(f"{text}: {result()} in {_elapsed(time.monotonic() - begun)}")

    def note(self, text: str) -> None:
        if self._console is not None:  # it may have a spinner on the last line
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._stream.write(f"{f'cluster {self._number}: ' if self._number else ''}{text}\n")
            self._stream.flush()

    @property
    def _may_spin(self) -> bool:
        return not self._number and self._stream.isatty()

    @contextlib.contextmanager
    def _line(self, announcement: str) -> Iterator[Callable[[str], None]]:
        self.note(f"{announcement} ...")
        yield self.note

    @contextlib.contextmanager
    def _spinner(self, announcement: str) -> Iterator[Callable[[str], None]]:
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
            yield lambda text: spinners.update(task, description=escape(text))
        finally:
            with self._lock:
                spinners.remove_task(task)
                self._spinning -= 1
                if not self._spinning:
                    spinners.stop()
                    self._spinners = None


class _Meter:
    """Shows the progress of a transfer, at most once in `interval` seconds."""

    def __init__(self, text: str, *, interval: float) -> None:
        self._text, self._interval, self._shown = text, interval, time.monotonic()
        self.show: Callable[[str], None] = lambda _text: None
        self.done = 0

    def advance(self, done: int, total: int) -> None:
        self.done = done
        if (now := time.monotonic()) - self._shown >= self._interval:
            self._shown = now
            of = f" of {total / 1e6:.1f}" if total else ""
            self.show(f"{self._text}: {done / 1e6:.1f}{of} MB")


def _elapsed(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
