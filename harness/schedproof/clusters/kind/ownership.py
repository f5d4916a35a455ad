"""Which kind clusters and containers schedproof created, and which of them are in use.

Names prove nothing. Every node that schedproof created has a lock file of the cache mounted, and every container
beside the nodes has the file's path as a label. A run holds the lock until it ends, in whatever way.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from schedproof.binaries.cache import cache_dir
from schedproof.foundation.errors import UsageError

CLUSTER_LABEL = "io.x-k8s.kind.cluster"
"""kind's own label on its nodes."""
LOCK_LABEL = "schedproof.dev/lock"
MARK = "/schedproof.lock"
"""The path at which nodes have the lock file mounted."""


def folder() -> Path:
    """Return the folder of the lock files of this user's clusters."""
    # Normalized, as Docker writes paths.
    return Path(os.path.normpath(cache_dir() / "kind"))


@dataclasses.dataclass(frozen=True)
class Note:
    """The content of the lock file of a cluster that exists or is being created."""

    containers: list[str]
    image: str
    definition: str
    audit_log: str
    kept: bool = False
    """Whether the cluster is complete, and outlives the run that created it."""


class Claim:
    """The exclusive use of a cluster's name, until `release` or the end of this process.

    Raises:
        UsageError: a live run uses the name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = self.path_of(name)
        self.state = self.path.with_suffix("")
        """The folder for files that a kept cluster writes."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            self._file = self.path.open("a+")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._file.close()
                raise UsageError(
                    f"another run uses the cluster {name!r} right now", remedy="choose another --cluster-name, or wait"
                ) from None
            # The last holder may have removed the file that was opened here.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file.fileno()), self.path.stat()):
                    return
            self._file.close()

    @staticmethod
    def path_of(name: str) -> Path:
        return folder() / f"cluster-{name}.lock"

    @property
    def note(self) -> Note | None:
        """None if there is no cluster of this name."""
        self._file.seek(0)
        text = self._file.read()
        # A partial note is from a run that died before it created anything.
        with contextlib.suppress(ValueError):
            return Note(**json.loads(text))
        return None

    def write(self, note: Note) -> None:
        self._file.truncate(0)
        self._file.write(json.dumps(dataclasses.asdict(note)))
        self._file.flush()

    def forget(self) -> None:
        """Remove the lock file and folder of a deleted cluster, which frees its name."""
        shutil.rmtree(self.state, ignore_errors=True)
        self.path.unlink(missing_ok=True)

    def release(self) -> None:
        self._file.close()


def claims() -> Iterable[str]:
    """Return the names of the clusters that have a lock file, in use or not."""
    return [path.stem.removeprefix("cluster-") for path in sorted(folder().glob("cluster-*.lock"))]


@dataclasses.dataclass
class Ours:
    """The names of the containers of a cluster that schedproof created."""

    nodes: list[str] = dataclasses.field(default_factory=list)
    beside: list[str] = dataclasses.field(default_factory=list)


def ours(containers: Sequence[dict[str, Any]]) -> dict[str, Ours]:
    """Return schedproof's containers by cluster name, from the output of `docker inspect`."""
    found: dict[str, Ours] = {}
    for container in containers:
        labels, own_name = container["Config"]["Labels"] or {}, container["Name"].removeprefix("/")
        if name := labels.get(CLUSTER_LABEL):
            lock = str(Claim.path_of(name))
            mounts = container.get("Mounts") or ()
            if any(mount["Destination"] == MARK and mount.get("Source") == lock for mount in mounts):
                found.setdefault(name, Ours()).nodes.append(own_name)
        elif label := labels.get(LOCK_LABEL):
            path = Path(label)
            if path.parent == folder():
                found.setdefault(path.stem.removeprefix("cluster-"), Ours()).beside.append(own_name)
    return found
