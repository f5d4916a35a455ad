"""Extracts binaries from the Debian packages of this machine into the cache, without installing the packages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from schedproof.binaries import command
from schedproof.binaries.cache import log_path, making, package_path
from schedproof.binaries.lock import Build
from schedproof.binaries.publish import publish
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.progress import Progress

PACKAGE_HAD = Deadline("package downloaded or unpacked", 120, "20 MB; a build takes longer")


def fetch(name: str, group: Build, progress: Progress) -> Path | None:
    """Return the binary from the group's package; None, after a note with the reason, if that fails.

    Raises:
        HostError: the cache cannot be written.
    """
    assert group.package is not None
    path = package_path(name, group)
    key = f"{group.key}-package"
    with making(key, progress) as work:
        if path.is_file():
            return path
        try:
            with progress.step(
                f"extract {name} from Debian's package {group.package.name}",
                why="a few MB, once; not installed, and only for a first look",
            ):
                _run(key, ("apt-get", "download", group.package.name), work)
                _run(key, ("dpkg-deb", "-x", *(file.name for file in work.glob("*.deb")), "tree"), work)
                made = work / "tree" / group.package.member
                publish(made, path, group, how="packaged", versions=group.package.versions)
        except SchedproofError as error:
            progress.note(f"no package of {name}: {error.message} ({error.remedy}); building instead")
            return None
    return path


def _run(key: str, argv: tuple[str, ...], cwd: Path) -> None:
    """Run a command of Debian. Raises HostError if it is missing or fails."""
    found = shutil.which(argv[0])
    if found is None:
        raise HostError(f"PATH has no {argv[0]}", remedy="requires Debian or a derivative")
    env = {**os.environ, "PWD": str(cwd)}
    status = command.run((found, *argv[1:]), cwd=cwd, env=env, log=log_path(key), deadline=PACKAGE_HAD)
    if status != 0:
        last = command.tail(log_path(key), lines=1).strip()
        raise HostError(f"{argv[0]} failed with exit status {status}: {last}", remedy=f"see {log_path(key)}")
