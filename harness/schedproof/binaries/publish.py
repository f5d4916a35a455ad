"""The last step for every binary that enters the cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedproof.binaries.lock import Build
from schedproof.binaries.versions import Unanswered, ask
from schedproof.foundation.errors import HostError


def publish(made: Path, path: Path, group: Build, *, how: str, versions: Sequence[str] = ()) -> None:
    """Check a binary's version, and move it to its path atomically.

    Args:
        made: the binary, on the cache's file system.
        path: the destination; its name is the binary's.
        group: the build that the binary belongs to.
        how: it was made, for messages: "built", "downloaded" or "packaged".
        versions: that it may report; by default the group's version.

    Raises:
        HostError: it does not run here, or has another version.
    """
    try:
        version = ask(made, group.question(path.name))
    except Unanswered as error:
        raise HostError(
            f"{path.name} was {how} but does not run: {error}",
            remedy="if the file system is mounted noexec, set SCHEDPROOF_CACHE to another folder",
        ) from error
    expected = versions or (group.version,)
    if version not in expected:
        raise HostError(
            f"{path.name} was {how} as {' or '.join(expected)} but reports {version or 'no version'}",
            remedy="correct its version and variables in clusters/binaries.lock.yaml",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    made.replace(path)
