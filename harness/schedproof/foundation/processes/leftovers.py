"""Removes what a power failure can leave: scratch directories. Everything else is in namespaces, which the kernel
removes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path


def remove_leftovers() -> list[Path]:
    """Remove the scratch directories of sandboxes that have ended, and return them.

    A running sandbox holds a lock on the file `.owner` in its directory. Directories of other users, and directories
    without that file, are left alone.
    """
    removed = []
    for directory in sorted(Path(tempfile.gettempdir()).glob("schedproof-*")):
        try:
            if directory.is_symlink() or directory.stat().st_uid != os.getuid():
                continue
            with (directory / ".owner").open("r+") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory)
        except OSError:
            continue  # held by a living sandbox, not ours, or removed by another process meanwhile
        removed.append(directory)
    return removed
