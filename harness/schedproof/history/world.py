"""The states of the world that a candidate may have decided in, replayed from the watches, revision by revision.

A scheduler learns of nodes and of pods by separate watches (or polls), and one may lag behind the other. So a view of
the world is not one revision but two: nodes as of one, pods as of the other.
"""

from __future__ import annotations

import bisect
import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schedproof.history.observations import WatchEvent
from schedproof.oracle.dra import Inventory
from schedproof.oracle.volumes import Storage

RESERVED = "schedproof-reserved"
"""The name of a node of the harness's own, to which none of the user's pods can go (stimulus/reserved.py)."""

Manifest = dict[str, Any]

_STORAGE = (
    "persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "csidrivers", "csistoragecapacities",
)  # fmt: skip
_INVENTORY = ("resourceclaims", "resourceslices", "deviceclasses", "devicetaintrules")
_REPLAYED = ("nodes", "pods", "namespaces", *_STORAGE, *_INVENTORY)


@dataclasses.dataclass(frozen=True)
class State:
    """Nodes by name, as of one revision, and pods by `namespace/name`, as of the same or another one."""

    nodes: Mapping[str, Manifest]
    pods: Mapping[str, Manifest]
    namespaces: Mapping[str, Mapping[str, str]] | None = None
    """Labels of namespaces, by name; None in histories that were saved before they were kept."""
    storage: Storage | None = None
    """Claims and volumes; None if there were none."""
    inventory: Inventory | None = None
    """ResourceClaims and devices; None if there were none."""


class ClusterState:
    """Replays watch events. The manifests that it gives must not be changed."""

    def __init__(self, events: Iterable[WatchEvent] = ()) -> None:
        self._replays = {resource: _Replay() for resource in _REPLAYED}
        self._placed = _Replay()
        """Pods while they are on a node."""
        self._nodes: dict[str, _Line] = {}
        self._companies: dict[str, _Replay] = {}
        self._last = dict.fromkeys(_REPLAYED, 0)
        """The last applied revision of each resource."""
        # Watches of different resources arrive interleaved at random; their revisions order them. What a
        # list showed has the list's own revision.
        for event in sorted((e for e in events if e.resource in _REPLAYED), key=lambda e: e.rv):
            self.take(event)

    def take(self, event: WatchEvent) -> bool:
        """Apply an event; returns whether that was possible. An event older than the last of its resource cannot be
        applied.
        """
        replay = self._replays.get(event.resource)
        if replay is None:
            return True
        if event.rv < self._last[event.resource]:
            return False
        manifest = None if event.type == "DELETED" else event.object
        name, rv = key(event.object), event.rv
        before, after = _place(replay.latest(name)), _place(manifest)
        if event.resource == "nodes":
            self._nodes.setdefault(name, _Line()).add(rv, manifest)
        if event.resource == "pods":
            if before or after:
                self._placed.add(rv, name, manifest if after else None)
            if before and before != after:
                self._companies[before].add(rv, name, None)
            if after:
                self._companies.setdefault(after, _Replay()).add(rv, name, manifest)
        replay.add(rv, name, manifest)
        self._last[event.resource] = rv
        return True

    def so_far(self) -> ClusterState:
        """A copy, which later events do not change (except for the rest of a list). Both share their data."""
        then = copy.copy(self)
        then._last = dict(self._last)  # which nothing is asked for beyond
        return then

    def view(self, nodes: int, pods: int) -> State:
        """The nodes right after one revision, and the pods right after another; all else after the later of them."""
        latest = max(nodes, pods)
        return State(
            self._at("nodes", nodes), self._at("pods", pods), self._namespaces(latest), self.storage(latest),
            self.inventory(latest),
        )  # fmt: skip

    def storage(self, rv: int) -> Storage | None:
        """Claims and volumes right after a revision; None if there were none in the whole run."""
        if not any(self._known(resource) for resource in _STORAGE):
            return None
        return Storage(*(self._at(resource, rv) for resource in _STORAGE))

    def inventory(self, rv: int) -> Inventory | None:
        """ResourceClaims and devices right after a revision; None if there were none in the whole run."""
        if not any(self._known(resource) for resource in _INVENTORY):
            return None
        return Inventory(*(self._at(resource, rv) for resource in _INVENTORY))

    def _namespaces(self, rv: int) -> dict[str, Mapping[str, str]] | None:
        if not self._known("namespaces"):
            return None
        return {name: found["metadata"].get("labels") or {} for name, found in self._at("namespaces", rv).items()}

    def _known(self, resource: str) -> bool:
        """Whether an object of the resource ever existed."""
        return self._last[resource] > 0

    def at(self, rv: int) -> State:
        """The state right after revision `rv`."""
        return self.view(rv, rv)

    def latest(self) -> State:
        return self.at(max(self._last.values()))

    def _at(self, resource: str, rv: int) -> dict[str, Manifest]:
        return self._replays[resource].at(self._known_at(resource, rv))

    def _known_at(self, resource: str, rv: int) -> int:
        """A revision, or the last applied revision of a resource if that is earlier."""
        return min(rv, self._last[resource])

    def revisions(self, resource: str, first: int, last: int) -> list[int]:
        """The last revision of each state that all `nodes`, or all `pods` on nodes, had from `first` to `last`.

        Newest first.
        """
        replay = self._placed if resource == "pods" else self._replays[resource]
        return _ends(replay.changes(first, self._known_at(resource, last)), last)

    def node_versions(self, name: str, first: int, last: int) -> list[tuple[int, Manifest | None]]:
        """The states of a node from revision `first` to `last`, newest first; None while it did not exist.

        Each with the last revision of that state.
        """
        line = self._nodes.get(name)
        versions = [] if line is None else line.versions(first, self._known_at("nodes", last))
        return [(last, versions[0][1] if versions else None), *versions[1:]]

    def company(self, node: str, rv: int) -> Mapping[str, Manifest]:
        """The pods on a node right after revision `rv`."""
        company = self._companies.get(node)
        return company.at(self._known_at("pods", rv)) if company is not None else {}

    def company_changes(self, node: str, first: int, last: int) -> list[int]:
        """The last revision of each set of pods that a node had from `first` to `last`, newest first."""
        company = self._companies.get(node)
        return _ends(company.changes(first, self._known_at("pods", last)) if company is not None else [], last)


class _Line:
    """The revisions of one object."""

    def __init__(self) -> None:
        self._rvs: list[int] = []
        self._manifests: list[Manifest | None] = []

    def add(self, rv: int, manifest: Manifest | None) -> None:
        self._rvs.append(rv)
        self._manifests.append(manifest)

    def at(self, rv: int) -> Manifest | None:
        index = bisect.bisect_right(self._rvs, rv) - 1
        return self._manifests[index] if index >= 0 else None

    def versions(self, first: int, last: int) -> list[tuple[int, Manifest | None]]:
        begin, end = (bisect.bisect_right(self._rvs, rv) for rv in (first, last))
        ends = [rv - 1 for rv in self._rvs[begin:end]] + [last]
        return [(rv, self.at(rv)) for rv in reversed(ends)]


class _Replay:
    """Objects over all revisions, and those that exist at the last requested revision.

    It moves from there to the next requested revision, forwards or back: neighboring revisions are requested one
    after the other, and most objects of a run are gone.
    """

    def __init__(self) -> None:
        self._rvs: list[int] = []
        self._steps: list[tuple[str, Manifest | None, Manifest | None]] = []
        """By revision, the name, and the object before and after."""
        self._latest: dict[str, Manifest] = {}
        self._taken = 0
        self._there: dict[str, Manifest] = {}

    def latest(self, name: str) -> Manifest | None:
        return self._latest.get(name)

    def add(self, rv: int, name: str, manifest: Manifest | None) -> None:
        """None: deleted."""
        self._rvs.append(rv)
        self._steps.append((name, self._latest.get(name), manifest))
        _put(self._latest, name, manifest)

    def changes(self, first: int, last: int) -> list[int]:
        """The revisions after `first` up to `last` at which something changed, in order."""
        begin, end = (bisect.bisect_right(self._rvs, rv) for rv in (first, last))
        return list(dict.fromkeys(self._rvs[begin:end]))

    def at(self, rv: int) -> dict[str, Manifest]:
        end = bisect.bisect_right(self._rvs, rv)
        for name, _, after in self._steps[self._taken : end]:
            _put(self._there, name, after)
        for name, before, _ in reversed(self._steps[end : self._taken]):
            _put(self._there, name, before)
        self._taken = end
        return dict(sorted(self._there.items()))  # by whichever way it was come to


def _ends(changes: Sequence[int], last: int) -> list[int]:
    """The last revision of each state between these changes, in order, and of the state after them; newest first."""
    return [last, *(rv - 1 for rv in reversed(changes))]


def _put(there: dict[str, Manifest], name: str, manifest: Manifest | None) -> None:
    if manifest is None:
        there.pop(name, None)
    else:
        there[name] = manifest


def _place(pod: Manifest | None) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "") if pod is not None else ""


def key(manifest: Manifest) -> str:
    """`namespace/name`, or the name of an object without a namespace."""
    metadata = manifest["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
