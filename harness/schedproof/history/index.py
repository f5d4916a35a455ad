"""Records of a run by kind, by case and by pod: one index for all clauses, which grows with the record."""

from __future__ import annotations

import bisect
import functools
import itertools
from typing import TYPE_CHECKING, TypeVar, cast

from schedproof.history.record import Record
from schedproof.history.watched import WatchReader

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

__all__ = ["Index"]

_Kind = TypeVar("_Kind", bound=Record)


class Index:
    """Answers what the first records of a run have, for any number of first records.

    Args:
        records: may grow, and does not change otherwise.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.watched = WatchReader()
        self._read = 0
        self._places: dict[Hashable, list[int]] = {}

    def of(self, kind: type[_Kind], end: int, **attributes: str) -> Iterator[_Kind]:
        """The records of a kind before a place, in order; with `case` or `pod` those of that one."""
        for place in self.places(kind, end, **attributes):
            yield cast("_Kind", self.records[place])

    def places(self, kind: type[Record], end: int, **attributes: str) -> Iterator[int]:
        """Their places among all records."""
        places = self._up_to(end).get((kind, *attributes.items()), ())
        return itertools.islice(places, bisect.bisect_left(places, end))

    def last(self, kind: type[Record], end: int, **attributes: str) -> int | None:
        """The place of the last of them; None where there is none."""
        places = self._up_to(end).get((kind, *attributes.items()), ())
        count = bisect.bisect_left(places, end)
        return places[count - 1] if count else None

    def _up_to(self, end: int) -> dict[Hashable, list[int]]:
        for place in range(self._read, end):
            record = self.records[place]
            # (isinstance asks pydantic's metaclass, which takes its time.)
            kind = type(record)
            self._places.setdefault((kind,), []).append(place)
            for name in _keys(kind):
                self._places.setdefault((kind, (name, getattr(record, name))), []).append(place)
        self._read = max(self._read, end)
        return self._places


@functools.cache
def _keys(kind: type[Record]) -> tuple[str, ...]:
    return tuple(name for name in ("case", "pod") if name in kind.model_fields)
