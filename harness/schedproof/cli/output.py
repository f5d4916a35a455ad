"""Where the output of commands goes: lines on standard output, results in a folder."""

from __future__ import annotations

import datetime
from pathlib import Path

from schedproof.foundation.private import RESULTS

__all__ = ["new_folder", "say"]


def new_folder() -> Path:
    """Where results go unless --report says otherwise: named for the moment."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
    return Path(RESULTS) / stamp


def say(*lines: str) -> None:
    """A line each, on standard output."""
    for line in lines:
        print(line)  # noqa: T201
