"""Go programs that call kube-scheduler's own code, each in a folder beside this module."""

from __future__ import annotations

import functools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sized
from pathlib import Path
from typing import Protocol

from schedproof.binaries import lock, toolchain
from schedproof.binaries.build import build
from schedproof.binaries.lock import Build, VersionQuestion
from schedproof.foundation.progress import ConsoleProgress, Progress


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


class Compared(Protocol):
    """What a comparison found."""

    @property
    def different(self) -> Sized: ...

    def lines(self) -> Iterable[str]: ...


def main(name: str, kubernetes: str, compare: Callable[[Path, int, int], Compared]) -> int:
    """Compare with the named program, print, and return the exit code: 1 if any decision differs.

    The arguments of the command line are the number of worlds, and the seed (default: 1).
    """
    begin, worlds, seed = time.monotonic(), int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as work:
        program = built(name, Path(work), kubernetes, ConsoleProgress())
    comparison = compare(program, worlds, seed)
    sys.stdout.write("\n".join(comparison.lines()))
    sys.stdout.write(f"\n{worlds:,} worlds from seed {seed} in {time.monotonic() - begin:.0f} s\n")
    return 1 if comparison.different else 0
