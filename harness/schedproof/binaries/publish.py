"""The last step of everything that puts a binary into the cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedproof.binaries.lock import Build
from schedproof.binaries.versions import Unanswered, ask
from schedproof.foundation.errors import HostError


def publish(made: Path, path: Path, group: Build, *, how: str, versions: Sequence[str] = ()) -> None:
    """Put a binary where it is looked for, in one step, once it has said that it is what it should be.

    Args:
        made: the binary, on the cache's own file system.
        path: where it is looked for; its name is the binary's.
        group: what it is one of.
        how: it was made, for messages: "built" or "downloaded".
        versions: what it may say that it is; the group's version unless given.

    Raises:
        HostError: it does not run here, or is of another version.
    """
    try:
        version = ask(made, group.question(path.name))
    except Unanswered as error:
        raise HostError(
            f"{path.name} was {how} but does not run: {error}",
            remedy="if the file system is mounted noexec, name another folder in SCHEDPROOF_CACHE",
        ) from error
    expected = versions or (group.version,)
    if version not in expected:
        raise HostError(
            f"{path.name} was {how} as {' or '.join(expected)} but says that it is {version or 'something else'}",
            remedy="correct version and variables in clusters/binaries.lock.yaml",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    made.replace(path)
