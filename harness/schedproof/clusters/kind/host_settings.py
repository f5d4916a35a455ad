"""Kernel settings that kind nodes change or need: recorded before the first node, restored after the last."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from schedproof.clusters.kind.docker import docker
from schedproof.clusters.kind.ownership import CLUSTER_LABEL, claims, folder

_LEAST = {"fs/inotify/max_user_instances": 1024}
"""Minimum values for two clusters in parallel: the default is 128, and four nodes take 75. Otherwise processes fail."""
SETTINGS = ("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", *_LEAST)
"""Paths below /proc/sys. Kubelets set the first three at every start, or with protectKernelDefaults refuse to start."""

_PROC = Path("/proc/sys")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def note_settings(image: str) -> None:
    """Record the settings, and raise them to the minimum, before nodes are created. Call it with the cluster's lock
    held.

    Values that an earlier run recorded stay. `image` has a shell; a container of it writes settings that this user
    may not.
    """
    with _locked() as file:
        boot = _BOOT.read_text().strip()
        # Values of another boot are obsolete.
        if not file.exists() or json.loads(file.read_text())["boot"] != boot:
            values = {name: _read(name) for name in SETTINGS}
            file.write_text(json.dumps({"boot": boot, "image": image, "values": values}))
        _write({name: str(max(least, int(_read(name)))) for name, least in _LEAST.items()}, image)


def restore_settings() -> None:
    """Restore the settings after nodes are gone; does nothing while any kind cluster exists or is being created."""
    with _locked() as file:
        if not file.exists() or any(claims()) or docker("ps", "-aq", "--filter", f"label={CLUSTER_LABEL}").strip():
            return
        noted = json.loads(file.read_text())
        if noted["boot"] == _BOOT.read_text().strip():
            _write(noted["values"], noted["image"])
        file.unlink()


@contextlib.contextmanager
def _locked() -> Iterator[Path]:
    folder().mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder(), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder() / "host-settings.json"
    finally:
        os.close(descriptor)


def _read(name: str) -> str:
    return (_PROC / name).read_text().strip()


def _write(values: Mapping[str, str], image: str) -> None:
    try:
        for name, value in values.items():
            if _read(name) != value:
                (_PROC / name).write_text(value)
    except OSError:  # only root may write them; access to Docker is equivalent
        script = "; ".join(f"echo {value} >/proc/sys/{name}" for name, value in values.items())
        docker("run", "--rm", "--privileged", "--network=none", "--entrypoint=/bin/sh", image, "-c", script)
