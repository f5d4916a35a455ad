"""Signals that end a run as Ctrl-C does, at a time at which that does no harm."""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

_IMPORTS = "<frozen importlib._bootstrap>"
_SOON = 0.01
"""Seconds until a signal that came at a bad time is tried again."""
_interrupted = False


def interrupt_by(*numbers: signal.Signals) -> None:
    """Let these signals raise KeyboardInterrupt in the main thread; see `interrupt`."""
    for number in (*numbers, signal.SIGALRM):
        signal.signal(number, interrupt)
    if getattr(sys.unraisablehook, "func", None) is not _tell:
        sys.unraisablehook = functools.partial(_tell, sys.unraisablehook)


def _tell(tell: Callable[[Any], object], unraisable: Any) -> None:
    """Report an exception that no code can catch, unless an interrupt has caused it."""
    if not _interrupted:
        tell(unraisable)


def interrupt(_number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; in the middle of an import a moment later, by SIGALRM."""
    global _interrupted  # noqa: PLW0603 - a signal's handler has no other place
    if is_importing(frame):
        signal.setitimer(signal.ITIMER_REAL, _SOON)
        return
    _interrupted = True
    raise KeyboardInterrupt


def is_importing(frame: FrameType | None) -> bool:
    """Whether a signal interrupts the import machinery itself, and not a module that is being imported.

    Its functions take the lock of all imports before the `try` that releases it (`_get_module_lock`, and the callback
    of a weak reference in it, where the exception would be swallowed as well). An exception between the two leaves it
    locked: every later import of another thread blocks forever. Seen with CPython 3.11.7.
    """
    return frame is not None and frame.f_code.co_filename == _IMPORTS
