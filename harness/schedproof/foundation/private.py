"""Files that only this user can read: evidence quotes logs, environments and clusters."""

from __future__ import annotations

import contextlib
import datetime
import os
from pathlib import Path

RESULTS = "schedproof-results"
"""The folder of reports, unless the user names another."""


def new_results() -> Path:
    """The default place of results, below the current folder: named by the current time."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
    return Path(RESULTS) / stamp


def make_private(folder: Path) -> None:
    """Make a folder, and missing folders above it. Existing folders stay as they are."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # raises where it is no folder


def remove_empty(folder: Path) -> None:
    """Remove a folder if it is empty, and the `RESULTS` that it is in, if that is empty then."""
    with contextlib.suppress(OSError):
        folder.rmdir()
        if folder.parent.name == RESULTS:
            folder.parent.rmdir()


def open_private(path: str, flags: int) -> int:
    """An `opener` of `open`, for files that are written."""
    return os.open(path, flags, 0o600)


def write_private(path: Path, text: str) -> None:
    """Write a text file, as UTF-8; what cannot be encoded is replaced."""
    with open(path, "w", encoding="utf-8", errors="replace", opener=open_private) as file:
        file.write(text)
