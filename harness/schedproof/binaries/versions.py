"""Asks binaries for their version, and caches their answers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from schedproof.binaries.cache import cache_dir
from schedproof.binaries.lock import VersionQuestion
from schedproof.foundation.deadlines import Deadline

VERSION_ANSWER = Deadline("version answer", 20, "takes 0.1 s, and some seconds from a cold disk")

# The answer must not depend on the caller's environment.
CLEAN_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


class Unanswered(Exception):  # noqa: N818 - not an error here: such a binary is just not used
    """The binary could not be started, or did not answer in time."""


def ask(path: Path, question: VersionQuestion) -> str | None:
    """Run the binary and return its version; None if its output has none.

    Raises:
        Unanswered: it could not be started, or did not answer in time.
    """
    try:
        answer = subprocess.run(
            (str(path), *question.args), env=CLEAN_ENVIRONMENT, cwd="/", timeout=VERSION_ANSWER.seconds,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unanswered(str(error)) from error
    return question.read(answer.stdout.decode(errors="replace"))


def version_of(path: Path, question: VersionQuestion) -> str | None:
    """Return a binary's version, cached while the file is unchanged; None also if the binary cannot be asked."""
    identity = _identity(path, question)
    memory = _recall() if identity else {}
    if identity and identity == memory.get(str(path), {}).get("identity"):
        remembered: str | None = memory[str(path)]["version"]
        return remembered
    try:
        version = ask(path, question)
    except Unanswered:
        return None
    if identity:
        memory[str(path)] = {"identity": identity, "version": version}
        _remember(memory)
    return version


def _identity(path: Path, question: VersionQuestion) -> list[object] | None:
    """Return what must be unchanged for a cached version to be valid; None if the file alone does not determine it.

    A script, or a link to a program of another name (as version managers install them), may run something else
    tomorrow without being changed itself.
    """
    try:
        real = path.resolve(strict=True)
        with real.open("rb") as file:
            if file.read(4) != b"\x7fELF" or real.name != path.name:
                return None
            stat = os.fstat(file.fileno())
    except OSError:
        return None
    return [str(real), stat.st_size, stat.st_mtime_ns, stat.st_ino, *question.args, question.pattern]


def _memory_file() -> Path:
    return cache_dir() / "versions.json"


def _recall() -> dict[str, Any]:
    try:
        memory: dict[str, Any] = json.loads(_memory_file().read_bytes())
    except (OSError, ValueError):
        return {}
    return memory


def _remember(memory: dict[str, Any]) -> None:
    # Two processes may overwrite each other's entries: then one binary is asked again.
    kept = {path: entry for path, entry in memory.items() if Path(path).exists()}
    new = _memory_file().with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # a cache that cannot be written only costs time
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(kept))
        new.replace(_memory_file())
