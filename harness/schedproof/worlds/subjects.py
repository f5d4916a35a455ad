"""What a world needs of a scheduler, read from its nodes and steps, and not from how it was drawn."""

from __future__ import annotations

from collections.abc import Iterator

from schedproof.candidate.subjects import Subject, subjects_of
from schedproof.worlds.kinds import happenings
from schedproof.worlds.parts import RESOURCES, subject_of
from schedproof.worlds.world import World


def subjects_in(world: World) -> frozenset[Subject]:
    """Return what a scheduler has to support to place the pods of a world."""
    return frozenset(_subjects_in(world))


def _subjects_in(world: World) -> Iterator[Subject]:
    for pod in world.pods:
        spec = pod.get("spec") or {}
        yield from subjects_of(spec)
        containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
        resources = [container.get("resources", {}) for container in containers]
        amounts = [one.get(kind, {}) for one in resources for kind in ("requests", "limits")]
        yield from {subject_of(name) for one in amounts for name in one if name in RESOURCES}
        if len(spec.get("containers", ())) > 1:
            yield Subject.SEVERAL_CONTAINERS
    for node in (*world.nodes, *(step["changed"] for step in world.steps if "changed" in step)):
        yield from {subject_of(name) for name in node.get("allocatable", ())}
        if node.get("taints"):
            yield Subject.TAINTS
        if node.get("unschedulable"):
            yield Subject.CORDONS
    yield from {happening.needs for step in world.steps for happening in happenings(step) if happening.needs}
