"""The world that a candidate decided in: nodes and pods, replayed from the watch, revision by revision."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schedproof.history.record import Record

__all__ = ["State", "World"]

Manifest = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class State:
    """All nodes and pods as of one revision; by name, and by `namespace/name`."""

    rv: int
    nodes: Mapping[str, Manifest]
    pods: Mapping[str, Manifest]


class World:
    """Replays watch events. The states it yields must not be changed."""

    def __init__(self, events: Sequence[Record]) -> None:
        # Watches of different resources arrive interleaved at random; their revisions order them. What a
        # list showed has the list's own revision.
        self._events = sorted((e for e in events if e["resource"] in ("nodes", "pods")), key=lambda e: e["rv"])

    def states(self, first: int, last: int) -> Iterator[State]:
        """Every state from the one at revision `first` up to, but not including, revision `last`."""
        nodes: dict[str, Manifest] = {}
        pods: dict[str, Manifest] = {}
        rv = 0
        for event in self._events:
            if event["rv"] >= last:
                break
            if event["rv"] > max(rv, first):
                yield State(rv, dict(nodes), dict(pods))
            rv = event["rv"]
            _apply(event, nodes, pods)
        yield State(rv, nodes, pods)

    def at(self, rv: int) -> State:
        """The state right after revision `rv`."""
        *_, state = self.states(rv, rv + 1)
        return state

    def latest(self) -> State:
        return self.at(self._events[-1]["rv"] if self._events else 0)


def _apply(event: Record, nodes: dict[str, Manifest], pods: dict[str, Manifest]) -> None:
    target = nodes if event["resource"] == "nodes" else pods
    name = key(event["object"])
    if event["type"] == "DELETED":
        target.pop(name, None)
    else:
        target[name] = event["object"]


def key(manifest: Manifest) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    metadata = manifest["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
