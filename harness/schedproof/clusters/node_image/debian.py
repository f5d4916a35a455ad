"""Debian packages, downloaded by the machine's apt with its mirrors, keys and proxy, without changing its state."""

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
    "build the images on Debian 12 with a reachable mirror (`schedproof node-image --output FILE`), and pass "
    "the archive here: --node-image FILE"
)


def missing_tools() -> list[str]:
    """Return the tools of apt that this machine lacks; none on Debian and its derivatives."""
    return [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]


class Packages:
    """The packages of the machine's distribution, downloaded into the cache, each only once.

    Raises:
        HostError: this machine has no apt, or its mirrors are unreachable.
    """

    def __init__(self) -> None:
        if tools := missing_tools():
            raise HostError(
                f"not on PATH: {' and '.join(tools)}; images are built from Debian packages", remedy=_REMEDY
            )
        self._folder = cache_dir() / "debian"
        self._log = log_path("debian")
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        # To this apt, no package is installed.
        (self._folder / "state" / "status").touch()
        # Other mirrors may fail, and lists may exist from before: only the result of the next command matters.
        self._apt("update")

    def closure(self, *names: str, without: Sequence[str] = ()) -> list[Path]:
        """Return the archives of these packages and of all their dependencies.

        Args:
            names: of the packages.
            without: packages that are only needed for installation, or are known to be dispensable.

        Raises:
            HostError: a package is unavailable.
        """
        chosen = self._apt("install", "--simulate", *names)
        found = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", chosen or "", re.MULTILINE)
        if not found or self._apt("install", "--download-only", *names) is None:
            raise HostError(
                f"cannot download Debian packages: apt-get's output is in {self._log}, and ends with:\n"
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
        """Return the output of apt-get; None if it failed."""
        tool = shutil.which("apt-get")
        assert tool is not None
        settings = {
            "Dir::State": self._folder / "state",
            "Dir::State::status": self._folder / "state" / "status",
            "Dir::Cache": self._folder / "cache",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "root",  # the user that downloads: others cannot write into the cache
            "Debug::NoLocking": "true",  # the image build holds the cache's lock
        }
        options = [text for key, value in settings.items() for text in ("-o", f"{key}={value}")]
        status = command.run(
            (tool, *options, "--yes", "--quiet", verb, *arguments),
            cwd=self._folder, env={**os.environ, "LC_ALL": "C"}, log=self._log, deadline=PACKAGES_FETCHED,
        )  # fmt: skip
        return self._log.read_text(errors="replace") if status == 0 else None
