"""Records of a run by kind, by case and by pod: one index for all clauses, which grows with the record."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar, cast

from schedproof.history.acts import CasePhase, ShownSeen
from schedproof.history.record import Record
from schedproof.history.watched import WatchReader

_Kind = TypeVar("_Kind", bound=Record)


class Index:
    """Answers queries about the first records of a run, for any number of first records.

    Args:
            records: may grow, and does not change otherwise.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.watched = WatchReader()
        self._read = 0
        self._places: dict[Hashable, list[int]] = {}
        self._begins: dict[str, int] = {}
        self._shown = _Shown()

    def of(self, kind: type[_Kind], end: int, **attributes: str) -> Iterator[_Kind]:
        """The records of a kind before a place, in order; with `case` or `pod`, of that case or pod."""
        for place in self.places(kind, end, **attributes):
            yield cast("_Kind", self.records[place])

    def places(self, kind: type[Record], end: int, **attributes: str) -> Iterator[int]:
        """Their places among all records."""
        places = self._up_to(end).get((kind, *attributes.items()), ())
        return itertools.islice(places, bisect.bisect_left(places, end))

    def last(self, kind: type[Record], end: int, **attributes: str) -> int | None:
        """The place of the last of them; None if there is none."""
        places = self._up_to(end).get((kind, *attributes.items()), ())
        count = bisect.bisect_left(places, end)
        return places[count - 1] if count else None

    def cases(self, end: int) -> tuple[str, ...]:
        """The clauses that began before a place, in order."""
        self._up_to(end)
        return tuple(itertools.takewhile(lambda case: self._begins[case] < end, self._begins))

    def seen_before(self, rv: int, end: int) -> tuple[int, int]:
        """The newest revisions of nodes and pods that the candidate had seen before revision `rv`.

        As far as the records before a place show it.
        """
        places = self._up_to(end).get((ShownSeen,), [])
        for place in places[self._shown.taken :]:
            self._shown.take(cast("ShownSeen", self.records[place]))
        return self._shown.newest(rv, bisect.bisect_left(places, end))

    def _up_to(self, end: int) -> dict[Hashable, list[int]]:
        for place in range(self._read, end):
            record = self.records[place]
            # (isinstance asks pydantic's metaclass, which takes its time.)
            kind = type(record)
            self._places.setdefault((kind,), []).append(place)
            if kind is CasePhase:
                self._begins.setdefault(cast("CasePhase", record).case, place)
            for name in _keys(kind):
                self._places.setdefault((kind, (name, getattr(record, name))), []).append(place)
        self._read = max(self._read, end)
        return self._places


class _Shown:
    """What the candidate was shown to have seen: for each record the newest revisions of all up to it."""

    def __init__(self) -> None:
        self._at: list[int] = []
        self._newest: list[tuple[int, int]] = []

    @property
    def taken(self) -> int:
        return len(self._at)

    def take(self, record: ShownSeen) -> None:
        # Histories of earlier versions say one revision for both.
        nodes = record.rv if record.nodes is None else record.nodes
        pods = record.rv if record.pods is None else record.pods
        before = self._newest[-1] if self._newest else (0, 0)
        # The newest revision of the record only grows; one that is damaged counts from when the others do.
        self._at.append(max(record.shown_at_rv, self._at[-1] if self._at else 0))
        self._newest.append((max(before[0], nodes), max(before[1], pods)))

    def newest(self, rv: int, count: int) -> tuple[int, int]:
        """Of the first `count` records, those that were made before revision `rv`."""
        place = bisect.bisect_left(self._at, rv, hi=count)
        return self._newest[place - 1] if place else (0, 0)


@functools.cache
def _keys(kind: type[Record]) -> tuple[str, ...]:
    return tuple(name for name in ("case", "pod") if name in kind.model_fields)
