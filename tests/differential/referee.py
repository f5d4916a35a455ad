"""kube-scheduler's own decisions on worlds, by the Go program beside this module."""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedproof.binaries import lock, toolchain
from schedproof.binaries.build import build
from schedproof.binaries.lock import Build, VersionQuestion
from schedproof.history.world import key
from schedproof.oracle.dra import Inventory
from schedproof.oracle.volumes import Storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from schedproof.foundation.progress import Progress

_NAME = "referee"


def built(work: Path, kubernetes: str, progress: Progress) -> Path:
    """The program, built from the pins of a cluster's Kubernetes; from the cache where it was built before.

    Args:
        work: an empty folder.
        kubernetes: the minor version.
    """
    pins = lock.load()
    pinned = pins.kubernetes[kubernetes]
    sources = sorted((Path(__file__).parent / _NAME).glob("*.go"))
    for source in (pinned.folder / "go.mod", pinned.folder / "go.sum", *sources):
        shutil.copyfile(source, work / source.name)
    program = Build(
        key=f"{_NAME}-{kubernetes}", version=pinned.version, module=pinned.module,
        module_version=pinned.module_version, folder=work, variables=pinned.variables, packages={_NAME: "."},
        asks=VersionQuestion(("--version",), r"^referee (\S+)"), minutes=1,
    )  # fmt: skip
    go = functools.partial(toolchain.obtain, program.minimum_go, pins.go, progress)
    return build(program, [_NAME], go, progress)[_NAME]


@dataclasses.dataclass(frozen=True)
class Decision:
    """On one world, with the API's defaults filled in. `verdicts`: node name to reasons; none where the pod fits."""

    pod: dict[str, Any]
    nodes: list[dict[str, Any]]
    pods: list[dict[str, Any]]
    namespaces: dict[str, dict[str, str]]
    storage: Storage
    inventory: Inventory | None
    verdicts: dict[str, list[str]]


def decisions(program: Path, worlds: Iterable[dict[str, Any]]) -> Iterator[Decision]:
    """What kube-scheduler decides; worlds whose pod the apiserver would refuse are left out."""
    lines = "".join(json.dumps(world) + "\n" for world in worlds)
    answered = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    for line in answered.stdout.splitlines():
        answer = json.loads(line)
        if not answer.get("invalid"):
            world = answer["world"]
            yield Decision(
                world["pod"], world["nodes"], world["pods"], world["namespaces"], _storage(world), _inventory(world),
                answer["verdicts"],
            )  # fmt: skip


def _storage(world: dict[str, Any]) -> Storage:
    return Storage(*({key(one): one for one in world[kind] or ()} for kind in ("claims", "volumes", "classes")))


def _inventory(world: dict[str, Any]) -> Inventory | None:
    """None where there are no devices: that is how worlds were before there were any."""
    kinds = [world[kind] or () for kind in ("resourceClaims", "resourceSlices", "deviceClasses")]
    return Inventory(*({key(one): one for one in found} for found in kinds)) if any(kinds) else None
