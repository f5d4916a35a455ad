"""Shrinks a world as long as it still fails.

Hypothesis would shrink what it has drawn itself, in some hundred tries; here each try costs part of a second.
Hypothesis does not know that the steps after a failing step do not matter, and worlds that it has not drawn are shrunk
here as well: those of an earlier run, and the large worlds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedproof.worlds.kinds import KINDS
from schedproof.worlds.world import DEVICE, REQUIRED, World, acceptable, tidy

_KEPT = frozenset({"name", "node", "phase", *KINDS})
"""Fields that every step or node has."""


_SIMPLE: Mapping[str, Sequence[Any]] = {
    "cpu": ("1", "2"), "memory": ("1Gi", "2Gi"), "ephemeral-storage": ("1Gi", "2Gi"), DEVICE: ("1", "2"),
    "pods": ("1", "2"), "effect": ("NoSchedule",), "topologyKey": ("kubernetes.io/hostname",), "maxSkew": (1,),
}  # fmt: skip
"""Values that are tried in place of others, by their fields. On a node that offers less, fewer pods fill it up."""


def smaller(world: World, failing_step: Callable[[World], int | None]) -> World:
    """The smallest world that still fails: without any of its steps, nodes or fields it passes, or is not valid.

    `failing_step`: the first step by which a world fails, None if it does not fail. It is called once for each
    world; to end early, it returns None. Nothing after that step matters.
    """
    tried = {world.key}
    while True:
        before = world
        for parts in (_fewer_steps, _fewer_nodes, _simpler_values, _fewer_fields):
            world = _greedily(world, parts, failing_step, tried)
        if world is before:
            return world


def pinned(world: World, placed: Mapping[str, str]) -> World:
    """The world, with each pod of the candidate that is in `placed` limited to its node there, by node affinity."""
    steps = copy.deepcopy(list(world.steps))
    for step in steps:
        if "comes" in step and (node := placed.get(step["comes"]["name"])):
            field = {"key": "metadata.name", "operator": "In", "values": [node]}
            affinity = step["comes"].setdefault("spec", {}).setdefault("affinity", {}).setdefault("nodeAffinity", {})
            terms = affinity.get(REQUIRED, {}).get("nodeSelectorTerms") or [{}]
            limited = [{**term, "matchFields": [*term.get("matchFields", ()), field]} for term in terms]
            affinity[REQUIRED] = {"nodeSelectorTerms": limited}
    return World(world.nodes, steps)


def _greedily(
    world: World,
    parts: Callable[[World], Iterator[World]],
    failing_step: Callable[[World], int | None],
    tried: set[str],
) -> World:
    while True:
        for less in map(tidy, parts(world)):
            if less.key in tried or not acceptable(less):
                continue
            tried.add(less.key)
            if (step := failing_step(less)) is not None:
                world = tidy(less.up_to(step))
                break
        else:
            return world


def _fewer_steps(world: World) -> Iterator[World]:
    """The last step alone, which is the failing step; otherwise without half of the earlier ones, a quarter, or one."""
    steps = list(world.steps)
    size = len(steps) - 1
    while size >= 1:
        for begin in range(0, len(steps), size):
            yield World(world.nodes, steps[:begin] + steps[begin + size :])
        size //= 2


def _fewer_nodes(world: World) -> Iterator[World]:
    for number in reversed(range(len(world.nodes))):
        yield World([*world.nodes[:number], *world.nodes[number + 1 :]], world.steps)


def _fewer_fields(world: World) -> Iterator[World]:
    """Without one field or item, the largest first; for a container, a resource in requests and limits."""
    document = world.as_json()
    paths = sorted(_paths(document), key=lambda path: -_size(_at(document, path)))
    for path in paths:
        changed = copy.deepcopy(document)
        del _at(changed, path[:-1])[path[-1]]
        if path[-2] in ("requests", "limits"):
            for kind in _at(changed, path[:-2]).values():
                kind.pop(path[-1], None)
        yield World.from_json(changed)


def _simpler_values(world: World) -> Iterator[World]:
    """With one value that is simpler; for a container in requests and limits."""
    document = world.as_json()
    for path in _paths(document):
        for value in _SIMPLE.get(str(path[-1]), ()):
            if _at(document, path) == value:
                break
            changed = copy.deepcopy(document)
            about = (
                _at(changed, path[:-2]).values() if path[-2] in ("requests", "limits") else [_at(changed, path[:-1])]
            )
            for fields in about:
                if path[-1] in fields:
                    fields[path[-1]] = value
            yield World.from_json(changed)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths that may be left out, below the nodes and the steps themselves."""
    if isinstance(value, dict):
        items: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return
    for key, part in items:
        if len(path) >= 2 and key not in _KEPT:
            yield (*path, key)
        yield from _paths(part, (*path, key))


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _size(value: Any) -> int:
    """How many fields and items it contains, including itself."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))
