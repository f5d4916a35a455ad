"""The cache outside the checkout: where things lie, and how several processes share it."""

# binaries/<name>/<version>/<os>-<arch>-<digest>/<name>    what was built
# binaries/<name>/<version>/<os>-<arch>-release-<digest>/<name>  what its project built, and we downloaded
# binaries/<name>/<version>/<os>-<arch>-package-<digest>/<name>  what stands in for it, out of a package of Debian
# downloads/<file>.<sha256>.part                            what is not complete yet
# schedulers/<digest>/kube-scheduler                       candidates compiled from sources; those used last
# probes/<digest>/probe                                    the same, to be asked for scores; those used last
# toolchains/<package>-<version>-<machine>/                Go, where the machine has none
# versions.json                                            what binaries elsewhere said when they were asked
# logs/<what>.log                                          output of the last build of it
# locks/<what>.lock                                        held while it is made; never removed
# work/<what>.XXXXXXXX/                                    half-made things, of the lock's holder only

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from schedproof.binaries.lock import Build
from schedproof.binaries.machine import machine
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.progress import Progress
from schedproof.foundation.waiting import NotYet, wait_for

MADE_BY_ANOTHER = Deadline(
    "made by another process",
    4000,
    "a little more than a build itself may take; a dead holder's lock is free",
)


def cache_dir() -> Path:
    """`$SCHEDPROOF_CACHE`, else `$XDG_CACHE_HOME/schedproof`, else `~/.cache/schedproof`."""
    if own := os.environ.get("SCHEDPROOF_CACHE"):
        return Path(own).expanduser().absolute()
    # A relative $XDG_CACHE_HOME is to be ignored, says its specification.
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "schedproof"


def binary_path(name: str, build: Build) -> Path:
    """Where that build's binary lies once it is made; complete, because a rename puts it there."""
    return cache_dir() / "binaries" / name / build.version / f"{machine()}-{build.digest}" / name


def release_path(name: str, build: Build) -> Path:
    """The same of what its project has built; apart, because some callers want our own build."""
    assert build.release is not None
    key = f"{machine()}-release-{build.release.digest}"
    return cache_dir() / "binaries" / name / build.version / key / name


def package_path(name: str, build: Build) -> Path:
    """The same of what Debian has built, of another version: for first looks, and found by nothing else."""
    assert build.package is not None
    key = f"{machine()}-package-{build.package.digest}"
    return cache_dir() / "binaries" / name / build.version / key / name


def download_path(file_name: str, sha256: str) -> Path:
    """Where a download grows, and where the next one finds what was interrupted."""
    return cache_dir() / "downloads" / f"{file_name}.{sha256[:12]}.part"


def scheduler_path(digest: str) -> Path:
    """Where a candidate's scheduler lies once it is compiled; the digest is of all that decides what it is."""
    return cache_dir() / "schedulers" / digest / "kube-scheduler"


def probe_path(digest: str) -> Path:
    """Where the program lies that asks a candidate's plugin, once it is compiled."""
    return cache_dir() / "probes" / digest / "probe"


def toolchain_path(package: str, version: str) -> Path:
    return cache_dir() / "toolchains" / f"{package}-{version}-{platform.machine()}"


def log_path(what: str) -> Path:
    return cache_dir() / "logs" / f"{what}.log"


@contextlib.contextmanager
def making(what: str, progress: Progress) -> Iterator[Path]:
    """Hold the lock on `what`, and give an empty work folder on the cache's own file system.

    A process that finds the lock taken waits, and says so; it must then look again whether the thing
    is there. Whatever an interrupted predecessor left in the work folder is removed first, ours at the end.
    """
    folders = {name: cache_dir() / name for name in ("locks", "logs", "work")}
    try:
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        with (folders["locks"] / f"{what}.lock").open("a") as lock:
            _acquire(lock.fileno(), what, progress)
            for stale in folders["work"].glob(f"{what}.*"):
                shutil.rmtree(stale, ignore_errors=True)
            work = Path(tempfile.mkdtemp(prefix=f"{what}.", dir=folders["work"]))
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise HostError(
            f"{what} cannot be made in the cache {cache_dir()}: {error}",
            remedy="free some space or fix its permissions, or name another folder in SCHEDPROOF_CACHE",
        ) from error


def _acquire(lock: int, what: str, progress: Progress) -> None:
    def probe() -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotYet("another process holds the lock") from None

    try:
        probe()
    except NotYet:
        with progress.step(f"wait for {what}", why="another schedproof process is making it"):
            wait_for(probe, MADE_BY_ANOTHER, what=f"another process to make {what}", poll=0.1)
