"""The folders of a run's evidence."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from schedproof.foundation.disk import FREE_SPACE
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.private import make_private
from schedproof.run.launch import Settings

_LEAST_FREE = 64 << 20
"""Bytes that must be free in the report folder: a run of twenty clauses writes some 10 MB."""


def new_folder(settings: Settings, candidate: str) -> tuple[Path, int]:
    """Return where the evidence of another instance of a candidate goes, and the number of the instance.

    With several clusters, further instances have numbered folders below the first's; otherwise the number is 0.
    """
    home, instance = settings.report / "candidates" / candidate, 0
    if not settings.cluster_number:
        return home, instance
    make_private(home.parent)
    while True:
        instance += 1
        folder = home if instance == 1 else home / str(instance)
        with contextlib.suppress(FileExistsError):  # another process was faster
            folder.mkdir(mode=0o700)
            return folder, instance


def require_space(folder: Path) -> None:
    """Fail before the run starts if the report folder has too little space or cannot be written.

    Raises:
        UsageError: the folder holds evidence already.
        HostError: the folder cannot be written, or has too little room.
    """
    if (folder / "candidates").exists():
        raise UsageError(
            f"{folder} holds the evidence of an earlier run, which would be mixed up with this one's",
            remedy="choose another folder with --report, or remove this folder",
        )
    try:
        make_private(folder)
        probe = folder / ".writable"
        probe.write_text("")
        probe.unlink()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise HostError(
            f"cannot keep evidence in {folder}: {error.strerror}",
            remedy="choose another folder with --report",
        ) from error
    if free < _LEAST_FREE:
        raise HostError(
            f"only {free >> 20} MiB are free in {folder}; the evidence of a run needs {_LEAST_FREE >> 20} MiB",
            remedy=FREE_SPACE,
        )
