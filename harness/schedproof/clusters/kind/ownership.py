"""Which kind clusters and containers schedproof created, and which of them are in use.

A name proves nothing. Every node of ours has a lock file of our cache mounted, and every container beside the nodes
bears its path as a label. A run holds that lock as long as it lives, however it ends.
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
"""Where nodes have the lock file mounted."""


def folder() -> Path:
    """Where the lock files of this user's clusters lie."""
    # As Docker writes the paths that it is given.
    return Path(os.path.normpath(cache_dir() / "kind"))


@dataclasses.dataclass(frozen=True)
class Note:
    """What the lock file says of a cluster that is being made, or is there."""

    containers: list[str]
    image: str
    definition: str
    audit_log: str
    kept: bool = False
    """Whether it is complete, and to outlive the run that made it."""


class Claim:
    """The hold on a cluster's name, until `release` or our end.

    Raises:
        UsageError: a run that still lives has it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = self.path_of(name)
        self.state = self.path.with_suffix("")
        """A folder for what a kept cluster writes."""
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
            # Its last holder may have removed the file that we had opened.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file.fileno()), self.path.stat()):
                    return
            self._file.close()

    @staticmethod
    def path_of(name: str) -> Path:
        return folder() / f"cluster-{name}.lock"

    @property
    def note(self) -> Note | None:
        """None while the name stands for nothing."""
        self._file.seek(0)
        text = self._file.read()
        # Half a note is that of a run that died before it made anything.
        with contextlib.suppress(ValueError):
            return Note(**json.loads(text))
        return None

    def write(self, note: Note) -> None:
        self._file.truncate(0)
        self._file.write(json.dumps(dataclasses.asdict(note)))
        self._file.flush()

    def forget(self) -> None:
        """The cluster is gone, and its name free."""
        shutil.rmtree(self.state, ignore_errors=True)
        self.path.unlink(missing_ok=True)

    def release(self) -> None:
        self._file.close()


def claims() -> Iterable[str]:
    """The names of the clusters that have a lock file, used or not."""
    return [path.stem.removeprefix("cluster-") for path in sorted(folder().glob("cluster-*.lock"))]


@dataclasses.dataclass
class Ours:
    """The names of the containers of one cluster of schedproof's."""

    nodes: list[str] = dataclasses.field(default_factory=list)
    beside: list[str] = dataclasses.field(default_factory=list)


def ours(containers: Sequence[dict[str, Any]]) -> dict[str, Ours]:
    """Cluster name to its containers, from the output of `docker inspect`."""
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
