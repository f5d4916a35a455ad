"""The state that the watches have shown in one run, updated as its records come in.

Each clause is judged by the history up to the end of its trial. Without this, a run would be read as often as it has
clauses.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from schedproof.history.observations import WatchEvent
from schedproof.history.record import Record
from schedproof.history.world import ClusterState, key


@dataclasses.dataclass(frozen=True)
class Binding:
    """A pod was seen on a node for the first time."""

    pod: str
    uid: str
    node: str
    rv: int
    at: float
    manifest: dict[str, Any]
    """The pod in its state at that time."""


@dataclasses.dataclass(frozen=True)
class Guard:
    """A pod with anti-affinity that came to a node: it repels other pods."""

    manifest: dict[str, Any]
    """The pod in its first state there."""
    came: int
    """The revision of that state."""
    gone: float = math.inf
    """The revision at which it was deleted."""


class PodSights:
    """What the watch has shown of pods, by uid."""

    def __init__(self) -> None:
        self.manifests: dict[str, dict[str, Any]] = {}
        """The last state of each."""
        self.bindings: dict[str, Binding] = {}
        """The first appearance on a node, for pods that were created without a node."""
        self.guards: dict[str, Guard] = {}
        self.placements: dict[str, tuple[float, str]] = {}
        """When it came to which node, by any client's request; in order of time."""
        self.endings: dict[str, WatchEvent] = {}
        """The first event that showed its deletion, or that it is gone."""
        self._unbound: set[str] = set()

    def take(self, event: WatchEvent) -> None:
        pod = event.object
        metadata, node = pod["metadata"], pod["spec"].get("nodeName", "")
        uid = metadata["uid"]
        self.manifests[uid] = pod
        if not node:
            self._unbound.add(uid)
        elif uid not in self.placements:
            self.placements[uid] = (event.at, node)
            if uid in self._unbound:
                self.bindings[uid] = Binding(key(pod), uid, node, event.rv, event.at, pod)
            if (pod["spec"].get("affinity") or {}).get("podAntiAffinity"):
                self.guards[uid] = Guard(pod, event.rv)
        if event.type == "DELETED" or metadata.get("deletionTimestamp"):
            self.endings.setdefault(uid, event)
        if event.type == "DELETED" and (guard := self.guards.get(uid)):
            self.guards[uid] = dataclasses.replace(guard, gone=event.rv)

    def so_far(self) -> PodSights:
        """A copy, which later events do not change."""
        then = copy.copy(self)
        for name, value in vars(self).items():
            setattr(then, name, copy.copy(value))
        return then


class WatchReader:
    """What the watches have shown, updated as records come in."""

    def __init__(self) -> None:
        self._read = 0
        self._events: list[WatchEvent] = []
        self._world = ClusterState()
        self._pods = PodSights()

    def read(self, records: Sequence[Record], end: int) -> tuple[ClusterState, PodSights]:
        """The state after so many records. All are read again if more had been read before."""
        if end < self._read:
            return WatchReader().read(records, end)
        for place in range(self._read, end):
            record = records[place]
            # (isinstance asks pydantic's metaclass, which takes its time.)
            if type(record) is WatchEvent:
                self._take(record)
        self._read = end
        return self._world.so_far(), self._pods.so_far()

    def _take(self, event: WatchEvent) -> None:
        self._events.append(event)
        if event.resource == "pods":
            self._pods.take(event)
        if not self._world.take(event):
            self._world = ClusterState(self._events)
