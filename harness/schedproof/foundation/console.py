"""Where text for people goes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


INTERRUPTED = "interrupted; everything that it started is gone"

_UNCUT = 10_000
"""Columns of what is no terminal: a log or a pipe has no width, and rich would take it for 80."""


def open_console(stream: TextIO | None = None) -> Console:
    """For a stream, standard output by default. Only a terminal's width wraps or cuts what is written."""
    from rich.console import Console  # takes a tenth of a second to import

    stream = stream if stream is not None else sys.stdout
    return Console(file=stream) if stream.isatty() else Console(file=stream, width=_UNCUT)


def tell(text: str) -> None:
    """Say on standard error what keeps the command from its work."""
    print(f"schedproof: {text}", file=sys.stderr)  # noqa: T201 - the one place that speaks of errors
