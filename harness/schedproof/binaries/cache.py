"""The cache outside the checkout: its layout, and its use by several processes."""

# binaries/<name>/<version>/<os>-<arch>-<digest>/<name>    built from source
# binaries/<name>/<version>/<os>-<arch>-release-<digest>/<name>  downloaded from its project
# binaries/<name>/<version>/<os>-<arch>-package-<digest>/<name>  extracted from a Debian package
# downloads/<file>.<sha256>.part                            incomplete downloads
# schedulers/<digest>/kube-scheduler                       compiled candidates; the most recently used
# probes/<digest>/probe                                    programs that ask them for scores; the most recently used
# toolchains/<package>-<version>-<machine>/                Go, if the machine has none
# versions.json                                            reported versions of binaries outside the cache
# logs/<what>.log                                          output of its last build
# locks/<what>.lock                                        held during a build; never removed
# work/<what>.XXXXXXXX/                                    incomplete files of the lock's holder

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
    "slightly more than a build may take; the lock of a dead process is free",
)


def cache_dir() -> Path:
    """Return `$SCHEDPROOF_CACHE`, else `$XDG_CACHE_HOME/schedproof`, else `~/.cache/schedproof`."""
    if own := os.environ.get("SCHEDPROOF_CACHE"):
        return Path(own).expanduser().absolute()
    # By its specification, a relative $XDG_CACHE_HOME is ignored.
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "schedproof"


def binary_path(name: str, build: Build) -> Path:
    """Return the path of a build's binary; an existing file is complete, because it is moved there."""
    return cache_dir() / "binaries" / name / build.version / f"{machine()}-{build.digest}" / name


def release_path(name: str, build: Build) -> Path:
    """Return the path of a project's released binary; separate, because some callers require a build from source."""
    assert build.release is not None
    key = f"{machine()}-release-{build.release.digest}"
    return cache_dir() / "binaries" / name / build.version / key / name


def package_path(name: str, build: Build) -> Path:
    """Return the path of a binary from a Debian package, which has another version; only `Policy.PACKAGES` uses it."""
    assert build.package is not None
    key = f"{machine()}-package-{build.package.digest}"
    return cache_dir() / "binaries" / name / build.version / key / name


def download_path(file_name: str, sha256: str) -> Path:
    """Return the path of a partial download, which the next attempt continues."""
    return cache_dir() / "downloads" / f"{file_name}.{sha256[:12]}.part"


def scheduler_path(digest: str) -> Path:
    """Return the path of a candidate's compiled scheduler; the digest covers all inputs of the build."""
    return cache_dir() / "schedulers" / digest / "kube-scheduler"


def probe_path(digest: str) -> Path:
    """Return the path of the compiled program that asks a candidate's plugin for scores."""
    return cache_dir() / "probes" / digest / "probe"


def toolchain_path(package: str, version: str) -> Path:
    return cache_dir() / "toolchains" / f"{package}-{version}-{platform.machine()}"


def log_path(what: str) -> Path:
    return cache_dir() / "logs" / f"{what}.log"


@contextlib.contextmanager
def making(what: str, progress: Progress) -> Iterator[Path]:
    """Hold the lock on `what`, and yield an empty work folder on the cache's file system.

    If another process holds the lock, this waits, with a progress step; the caller must then check whether `what`
    exists. Leftovers of an interrupted process are removed first, the own work folder at the end.
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
            f"cannot make {what} in the cache {cache_dir()}: {error}",
            remedy="free disk space, fix the permissions, or set SCHEDPROOF_CACHE to another folder",
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
