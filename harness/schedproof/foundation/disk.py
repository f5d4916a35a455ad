"""Detects disks that fill up while evidence is written to them."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.private import make_private

FREE_SPACE = "free some space, or choose another folder with --report"
"""The fix if the disk of the report folder is full."""

_LEAST = 1 << 20
"""Bytes. With less, the next lines of a log may be lost without an error in the harness: daemons write some of them."""


class DiskSpace:
    """The free space of a folder's disk, to be watched by waits (`foundation.waiting.Watched`).

    A kube-apiserver that cannot write a line of its audit log continues without it, so waiting for that line is
    pointless; and a history that lacks it must not be judged.

    Args:
        folder: on the disk in question; the nearest existing parent is used.
        least: bytes below which the disk counts as full.
    """

    def __init__(self, folder: Path, *, least: int = _LEAST) -> None:
        self._folder, self._least = folder, least

    def exit_error(self) -> HostError | None:
        """None while there is space; otherwise the error that names the folder."""
        existing = next(path for path in (self._folder, *self._folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        if free >= self._least:
            return None
        return HostError(
            f"the disk of {self._folder} is full ({free >> 10} KiB are free): the evidence of this run is incomplete",
            remedy=FREE_SPACE,
        )


@contextlib.contextmanager
def naming_full_disk(folder: Path) -> Iterator[None]:
    """A context in which an error that a full disk causes names that disk, if it is the disk of `folder`.

    If another disk is full, the error names the file that could not be written.

    Raises:
        HostError: a disk is full; the original error is its cause.
    """
    try:
        yield
    except (SchedproofError, OSError) as error:
        full = DiskSpace(folder).exit_error()
        if full is None and isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            full = HostError(f"cannot write {error.filename or 'a file'}: {error.strerror}", remedy=FREE_SPACE)
        if full is None or (isinstance(error, HostError) and error.remedy == FREE_SPACE):
            raise
        raise full from error


@contextlib.contextmanager
def writing_report(folder: Path) -> Iterator[None]:
    """A context that writes into the folder of a report, which is created if it is missing.

    Raises:
        HostError: the folder cannot be written.
    """
    try:
        make_private(folder)
        yield
    except OSError as error:
        raise HostError(f"cannot write the report to {folder}: {error.strerror}", remedy=FREE_SPACE) from error
