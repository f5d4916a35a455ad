"""Debian packages as the machine's own apt gets them: its mirrors, its keys, its proxy; its own state untouched."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from schedproof.binaries import command
from schedproof.binaries.cache import cache_dir, log_path
from schedproof.foundation.deadlines import PACKAGES_FETCHED
from schedproof.foundation.errors import HostError

_REMEDY = (
    "build the images on Debian 12 with a reachable mirror (`schedproof node-image --output FILE`), "
    "and name the archive here: --node-image FILE"
)


def missing_tools() -> list[str]:
    """What of apt this machine lacks; empty on Debian and its kin."""
    return [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]


class Packages:
    """The packages of the machine's distribution, downloaded into our cache; what is there is not fetched again.

    Raises:
        HostError: this machine has no apt, or its mirrors cannot be reached.
    """

    def __init__(self) -> None:
        if tools := missing_tools():
            raise HostError(f"{' and '.join(tools)} is not on PATH: images are made of Debian packages", remedy=_REMEDY)
        self._folder = cache_dir() / "debian"
        self._log = log_path("debian")
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        # Nothing is installed, as far as this apt knows.
        (self._folder / "state" / "status").touch()
        # Mirrors of other things may fail, and our lists may be there from before: what counts is the next command.
        self._apt("update")

    def closure(self, *names: str, without: Sequence[str] = ()) -> list[Path]:
        """The archives of those packages and of all that they depend on.

        Args:
            names: of the packages.
            without: those that only installing needs, or whose absence is known to do no harm.

        Raises:
            HostError: a package is not to be had.
        """
        chosen = self._apt("install", "--simulate", *names)
        found = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", chosen or "", re.MULTILINE)
        if not found or self._apt("install", "--download-only", *names) is None:
            raise HostError(
                f"Debian's packages cannot be downloaded: apt-get's output is in {self._log}, and ends with:\n"
                f"{command.tail(self._log)}",
                remedy=f"make the mirrors of this machine's apt reachable; or {_REMEDY}",
            )
        folder = self._folder / "cache" / "archives"
        return [
            folder / f"{name}_{version.replace(':', '%3a')}_{architecture}.deb"
            for name, version, architecture in found
            if name not in without
        ]

    def _apt(self, verb: str, *arguments: str) -> str | None:
        """What it printed; None if it failed."""
        tool = shutil.which("apt-get")
        assert tool is not None
        settings = {
            "Dir::State": self._folder / "state",
            "Dir::State::status": self._folder / "state" / "status",
            "Dir::Cache": self._folder / "cache",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",  # the user that downloads: another could not write into our cache
            "Debug::NoLocking": "true",  # the build of images holds our own lock
        }
        options = [text for key, value in settings.items() for text in ("-o", f"{key}={value}")]
        status = command.run(
            (tool, *options, "--yes", "--quiet", verb, *arguments),
            cwd=self._folder, env={**os.environ, "LC_ALL": "C"}, log=self._log, deadline=PACKAGES_FETCHED,
        )  # fmt: skip
        return self._log.read_text(errors="replace") if status == 0 else None
