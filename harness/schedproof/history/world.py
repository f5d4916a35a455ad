"""The world that a candidate decided in: nodes, pods and namespaces, replayed from the watch, revision by revision.

A scheduler hears of nodes and of pods by separate watches (or polls), and one may be behind the other. So a view of
the world is not one revision but two: nodes as of the one, pods as of the other.
"""

from __future__ import annotations

import bisect
import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schedproof.history.record import Record

__all__ = ["State", "World", "key"]

Manifest = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class State:
    """Nodes by name, as of one revision, and pods by `namespace/name`, as of the same or another one."""

    nodes: Mapping[str, Manifest]
    pods: Mapping[str, Manifest]
    namespaces: Mapping[str, Mapping[str, str]] | None = None
    """Their labels, by name; None in histories that were saved before they were kept."""


class World:
    """Replays watch events. The manifests that it gives must not be changed."""

    def __init__(self, events: Sequence[Record]) -> None:
        self._lines: dict[str, dict[str, _Line]] = {"nodes": {}, "pods": {}, "namespaces": {}}
        self._changes: dict[str, list[int]] = {"nodes": [], "pods": [], "namespaces": []}
        self._companies: dict[str, _Company] = {}
        self._last = 0
        # Watches of different resources arrive interleaved at random; their revisions order them. What a
        # list showed has the list's own revision.
        for event in sorted((e for e in events if e["resource"] in self._lines), key=lambda e: e["rv"]):
            self._take(event)

    def _take(self, event: Record) -> None:
        manifest = None if event["type"] == "DELETED" else event["object"]
        name, rv = key(event["object"]), event["rv"]
        line = self._lines[event["resource"]].setdefault(name, _Line())
        before, after = _place(line.latest), _place(manifest)
        if event["resource"] != "pods" or before or after:
            self._changes[event["resource"]].append(rv)
        if event["resource"] == "pods":
            if before and before != after:
                self._companies[before].add(rv, name, None)
            if after:
                self._companies.setdefault(after, _Company()).add(rv, name, manifest)
        line.add(rv, manifest)
        self._last = rv

    def view(self, nodes: int, pods: int) -> State:
        """The nodes right after one revision, and the pods right after another; namespaces after the later of them."""
        return State(self._at("nodes", nodes), self._at("pods", pods), self._namespaces(max(nodes, pods)))

    def _namespaces(self, rv: int) -> dict[str, Mapping[str, str]] | None:
        if not self._lines["namespaces"]:
            return None
        return {name: found["metadata"].get("labels") or {} for name, found in self._at("namespaces", rv).items()}

    def at(self, rv: int) -> State:
        """The state right after revision `rv`."""
        return self.view(rv, rv)

    def latest(self) -> State:
        return self.at(self._last)

    def _at(self, resource: str, rv: int) -> dict[str, Manifest]:
        return {name: found for name, line in self._lines[resource].items() if (found := line.at(rv)) is not None}

    def revisions(self, resource: str, first: int, last: int) -> list[int]:
        """The last revisions of each state that all `nodes`, or all `pods` on nodes, had from `first` to `last`.

        Newest first.
        """
        changes = self._changes[resource]
        begin, end = (bisect.bisect_right(changes, rv) for rv in (first, last))
        return [last, *(rv - 1 for rv in reversed(dict.fromkeys(changes[begin:end])))]

    def node_versions(self, name: str, first: int, last: int) -> list[tuple[int, Manifest | None]]:
        """What a node was like from revision `first` to `last`, newest first; None while it did not exist.

        Each with the last revision at which it was so.
        """
        line = self._lines["nodes"].get(name)
        return line.versions(first, last) if line is not None else [(last, None)]

    def company(self, node: str, rv: int) -> Mapping[str, Manifest]:
        """The pods on a node right after revision `rv`. Quick where it is asked in the order of revisions."""
        company = self._companies.get(node)
        return company.at(rv) if company is not None else {}

    def company_changes(self, node: str, first: int, last: int) -> list[int]:
        """The last revisions of each company that a node had from `first` to `last`, newest first."""
        company = self._companies.get(node)
        changes = company.changes(first, last) if company is not None else []
        return [last, *(rv - 1 for rv in reversed(changes))]


class _Line:
    """What became of one object."""

    def __init__(self) -> None:
        self._rvs: list[int] = []
        self._manifests: list[Manifest | None] = []

    @property
    def latest(self) -> Manifest | None:
        return self._manifests[-1] if self._manifests else None

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


class _Company:
    """Who came to one node, changed there, and went; and who was there at the revision that was last asked for."""

    def __init__(self) -> None:
        self._rvs: list[int] = []
        self._changes: list[tuple[str, Manifest | None]] = []
        self._taken = 0
        self._pods: dict[str, Manifest] = {}

    def add(self, rv: int, name: str, manifest: Manifest | None) -> None:
        self._rvs.append(rv)
        self._changes.append((name, manifest))

    def changes(self, first: int, last: int) -> list[int]:
        """The revisions after `first` up to `last` at which something changed, in order."""
        begin, end = (bisect.bisect_right(self._rvs, rv) for rv in (first, last))
        return list(dict.fromkeys(self._rvs[begin:end]))

    def at(self, rv: int) -> dict[str, Manifest]:
        end = bisect.bisect_right(self._rvs, rv)
        if end < self._taken:
            self._taken, self._pods = 0, {}
        for name, manifest in self._changes[self._taken : end]:
            if manifest is None:
                self._pods.pop(name, None)
            else:
                self._pods[name] = manifest
        self._taken = end
        return dict(self._pods)


def _place(pod: Manifest | None) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "") if pod is not None else ""


def key(manifest: Manifest) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    metadata = manifest["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
