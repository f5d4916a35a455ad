"""Outages: from when to when a line of the candidate had a fault."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator

from schedproof.history.acts import LineFault
from schedproof.history.faults import Fault


@dataclasses.dataclass(frozen=True)
class Span:
    """A fault until it was healed, or until the next fault; `end` is infinite if neither is on record."""

    fault: Fault
    begin: float
    end: float


@dataclasses.dataclass(frozen=True)
class Outage:
    """A time in a case in which a line had a fault, or one fault after the other."""

    case: str
    spans: tuple[Span, ...]
    """At least one, without gaps."""

    @property
    def begin(self) -> float:
        return self.spans[0].begin

    @property
    def end(self) -> float:
        return self.spans[-1].end

    @property
    def healed(self) -> bool:
        """Whether its end is on record."""
        return self.end < math.inf

    def at(self, moment: float) -> Fault | None:
        """The fault at a moment."""
        return next((span.fault for span in self.spans if span.begin <= moment < span.end), None)


def outages(records: Iterable[LineFault]) -> Iterator[Outage]:
    """The outages of one line, in order. None lasts longer than its case, whose end heals a line without a record."""
    for case, of_case in itertools.groupby(records, key=lambda record: record.case):
        spans: list[Span] = []
        last: LineFault | None = None
        for record in of_case:
            if last and last.fault:
                spans.append(Span(last.fault, last.at, record.at))
            if spans and not record.fault:
                yield Outage(case, tuple(spans))
                spans = []
            last = record
        if last and last.fault:
            yield Outage(case, (*spans, Span(last.fault, last.at, math.inf)))
