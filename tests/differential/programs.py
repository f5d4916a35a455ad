"""Go programs that call kube-scheduler's own code, each in a folder beside this module."""

from __future__ import annotations

import argparse
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

    What differs between minor versions is in folders of the program's.

    Args:
        work: an empty folder.
        kubernetes: the minor version.
    """
    pins = lock.load()
    pinned = pins.kubernetes[kubernetes]
    here = Path(__file__).parent / name
    sources = sorted([*here.glob("*.go"), *(here / f"kubernetes-{kubernetes}").glob("*.go")])
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

    The arguments of the command line are the number of worlds, the seed, and the minor version of Kubernetes.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("worlds", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("kubernetes", nargs="?", default=kubernetes)
    given = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        program = built(name, Path(work), given.kubernetes, ConsoleProgress())
    comparison = compare(program, given.worlds, given.seed)
    sys.stdout.write("\n".join(comparison.lines()))
    sys.stdout.write(f"\n{given.worlds:,} worlds from seed {given.seed} in {time.monotonic() - begin:.0f} s\n")
    return 1 if comparison.different else 0
