"""Go programs that call kube-scheduler's own code, each in a folder beside this module."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from schedproof.binaries import lock, toolchain
from schedproof.binaries.build import build
from schedproof.binaries.lock import Build, VersionQuestion
from schedproof.foundation.progress import Progress


def built(name: str, work: Path, kubernetes: str, progress: Progress) -> Path:
    """Build the named program from the pins of a cluster's Kubernetes, or take it from the cache.

    Args:
        work: an empty folder.
        kubernetes: the minor version.
    """
    pins = lock.load()
    pinned = pins.kubernetes[kubernetes]
    sources = sorted((Path(__file__).parent / name).glob("*.go"))
    for source in (pinned.folder / "go.mod", pinned.folder / "go.sum", *sources):
        shutil.copyfile(source, work / source.name)
    program = Build(
        key=f"{name}-{kubernetes}", version=pinned.version, module=pinned.module,
        module_version=pinned.module_version, folder=work, variables=pinned.variables, packages={name: "."},
        asks=VersionQuestion(("--version",), rf"^{name} (\S+)"), minutes=1,
    )  # fmt: skip
    go = functools.partial(toolchain.obtain, program.minimum_go, pins.go, progress)
    return build(program, [name], go, progress)[name]
