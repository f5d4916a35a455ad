"""The consoles for human-readable output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


INTERRUPTED = "interrupted; everything that it started is gone"

_UNCUT = 10_000
"""Columns of output that is not a terminal: a log or a pipe has no width, and rich assumes 80 for it."""


def open_console(stream: TextIO | None = None) -> Console:
    """A console for a stream, standard output by default. Lines are wrapped or cut only to a terminal's width."""
    from rich.console import Console  # takes a tenth of a second to import

    stream = stream if stream is not None else sys.stdout
    return Console(file=stream) if stream.isatty() else Console(file=stream, width=_UNCUT)


def tell(text: str) -> None:
    """Print to standard error why the command cannot continue."""
    print(f"schedproof: {text}", file=sys.stderr)  # noqa: T201 - the one place that speaks of errors
