"""kube-scheduler's own decisions on worlds, by the Go program beside this module."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from schedproof.history.world import key
from schedproof.oracle.dra import Inventory
from schedproof.oracle.volumes import Storage


@dataclasses.dataclass(frozen=True)
class Decision:
    """A decision on one world, with the API's defaults filled in. `verdicts`: node name to reasons, none where the pod
    fits.
    """

    pod: dict[str, Any]
    nodes: list[dict[str, Any]]
    pods: list[dict[str, Any]]
    namespaces: dict[str, dict[str, str]]
    storage: Storage
    inventory: Inventory | None
    verdicts: dict[str, list[str]]


def decisions(program: Path, worlds: Iterable[dict[str, Any]]) -> Iterator[Decision]:
    """Return kube-scheduler's decisions; worlds whose pod the apiserver would refuse are left out."""
    lines = "".join(json.dumps(world) + "\n" for world in worlds)
    answered = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    for line in answered.stdout.splitlines():
        answer = json.loads(line)
        if not answer.get("invalid"):
            world = answer["world"]
            yield Decision(
                world["pod"], world["nodes"], world["pods"], world["namespaces"],
                storage_of(world), inventory_of(world), answer["verdicts"],
            )  # fmt: skip


def storage_of(world: dict[str, Any]) -> Storage:
    kinds = ("claims", "volumes", "classes", "csiNodes", "drivers", "capacities")
    return Storage(*({key(one): one for one in world.get(kind) or ()} for kind in kinds))


def inventory_of(world: dict[str, Any]) -> Inventory | None:
    """Return the devices of a world; None for a world without any, such as those saved before worlds had devices."""
    named = ("resourceClaims", "resourceSlices", "deviceClasses", "deviceTaintRules")
    kinds = [world.get(kind) or () for kind in named]
    return Inventory(*({key(one): one for one in found} for found in kinds)) if any(kinds) else None
