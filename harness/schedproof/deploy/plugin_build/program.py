"""What a scheduler that is built already is: its Kubernetes version and its digest, and what clusters suit it."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import subprocess
from pathlib import Path

from schedproof.binaries.go_build_info import build_info, kubernetes_of
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.spec import minor_version, version

_SECONDS = 20.0
"""After which a program that does not print its version is given up."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A file that is a scheduler.

    Attributes:
        kubernetes: the version of Kubernetes that it is compiled with, such as `v1.34.7`; "" if it does not tell.
        digest: SHA-256 of the file, hexadecimal.
    """

    kubernetes: str
    digest: str

    def __str__(self) -> str:
        return f"{f'Kubernetes {self.kubernetes}, ' if self.kubernetes else ''}sha256:{self.digest}"

    def unsuited(self, minor: str) -> str:
        """That a cluster of this minor version is not supported, and which are; "" if it is, or if that is not known.

        Source: Kubernetes' version skew policy.
        """
        if not self.kubernetes:
            return ""
        major, own = version(minor_version(self.kubernetes))
        apart = version(minor)[1] - own
        if 0 <= apart <= 1:
            return ""
        side = f"{apart} minor versions older than" if apart > 0 else "newer than"
        return (
            f"its scheduler is built with Kubernetes {self.kubernetes}, {side} the apiserver of {minor}, which "
            f"Kubernetes does not support; `--kubernetes {major}.{own}` or `--kubernetes {major}.{own + 1}` is"
        )


def program_of(spec: PluginSpec) -> Program | None:
    """The program that a plugin's `binary` names; None if it is built by the harness, or cannot be read."""
    if spec.binary is None or spec.stock:
        return None
    path = Path(spec.binary)
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError:
        return None


@functools.lru_cache
def _read(path: Path, _changed: int, _size: int) -> Program:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Program(kubernetes_of(build_info(path)) or _printed(path), digest)


def _printed(path: Path) -> str:
    """The version that a program prints, as kube-scheduler does; "" if it prints none."""
    try:
        done = subprocess.run(
            [str(path), "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.match(r"Kubernetes (v[1-9]\d*\.\d+\.\d+)", done.stdout)
    return found[1] if found else ""
