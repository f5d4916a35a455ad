"""What the candidate's queries read: which metrics, and how far back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from schedproof.candidate.claims import NetworkClaims
from schedproof.daemons.readings_server import ReadingsServer, Selector
from schedproof.foundation.errors import HostError
from schedproof.history.observations import MetricsServed, PrometheusQuery, QueryReads
from schedproof.recording.recorder import Recorder

_MOST = 200
"""Texts of queries that are parsed in a run: a candidate may put the time, or a pod, into each of its queries."""

_RECENT = 1.0
"""Seconds: a query belongs to what the candidate does now if it was sent within a window, a refresh and these."""


@dataclasses.dataclass(frozen=True)
class _Asked:
    """A text of a query as the candidate sends it, and the seconds from the start to the end of a range query."""

    request: str
    span: float


class Queries:
    """Reads the recorded queries with Prometheus' own parser, and records what each of them reads.

    Args:
        recorder: has the queries, and gets the records.
        parser: returns the server that parses; raises HostError if this machine cannot build it.
        rules: recording rules of the servers that the candidate queries.
    """

    def __init__(
        self, recorder: Recorder, parser: Callable[[], ReadingsServer], rules: Sequence[Mapping[str, Any]]
    ) -> None:
        self._recorder, self._parser, self._rules = recorder, parser, rules
        self._position, self._parses = 0, True
        self._asked: dict[_Asked, float] = {}
        """When each was sent last, on the run's clock."""
        self._parsed: dict[str, list[Selector]] = {}
        self._written: set[str] = set()
        self._served: set[str] = set()

    def note(self, scripted: Iterable[Callable[[], set[str]]], own: Callable[[], set[str]]) -> None:
        """Record what new queries read, and, if a metric is not known to be served, which metrics there are.

        Args:
            scripted: each returns the names of the metrics of a scripted server.
            own: returns those of the cluster's own server. Of these, which may be thousands, only what is queried is
                recorded.
        """
        self._read()
        for request in dict.fromkeys(asked.request for asked in self._asked):
            if request in self._written or not (selectors := self._selectors(request)):
                continue
            self._written.add(request)
            metrics = sorted({selector.metric for selector in selectors} - {""})
            back = [selector.look_back for selector in selectors]
            known = [seconds for seconds in back if seconds is not None]
            look_back = max(known) if len(known) == len(back) else None
            self._recorder.add(QueryReads(request=request, metrics=metrics, look_back=look_back))
        wanted = {selector.metric for selectors in self._parsed.values() for selector in selectors} - {""}
        if wanted - self._served:
            names = set[str]().union(own() & wanted, *(metrics() for metrics in scripted)) - self._served
            self._served |= names
            if names:
                self._recorder.add(MetricsServed(names=sorted(names)))

    def look_back(self, claims: NetworkClaims) -> float | None:
        """Return how many seconds the candidate's queries look back, but no more than the claimed window.

        Only its newest queries of the claimed metric count, or of rules that read that metric, if there are any. Of
        several, the one that looks back the least: another one may not be what it decides by. None: it has sent no
        query.
        """
        self._read()
        if not self._asked:
            return None
        since = self._recorder.now() - claims.look_back - _RECENT
        recent = [asked for asked, at in self._asked.items() if at >= since] or list(self._asked)
        about = [asked for asked in recent if claims.metric in self._metrics(asked.request)] or recent
        return min(min(claims.window, self._seconds(asked, claims.window)) for asked in about)

    def _read(self) -> None:
        with self._recorder.changed:
            records = self._recorder.records[self._position :]
            self._position += len(records)
        for record in records:
            if isinstance(record, PrometheusQuery):
                self._asked[_Asked(record.request, record.span)] = record.begun

    def _metrics(self, request: str) -> set[str]:
        """Return the metrics that a query reads, also by recording rules."""
        found: set[str] = set()
        left = [request]
        while left:
            for selector in self._selectors(left.pop()):
                if selector.metric not in found:
                    found.add(selector.metric)
                    left += [rule["expr"] for rule in self._rules if rule["record"] == selector.metric]
        return found

    def _seconds(self, asked: _Asked, window: float) -> float:
        """Return how far a query looks back in seconds; `window` if it fixes the moment by itself."""
        return asked.span + self._reach(asked.request, window, frozenset())

    def _reach(self, request: str, window: float, within: frozenset[str]) -> float:
        """Return how far an expression looks back, together with the rules that it reads, except those of `within`."""
        reached = 0.0
        for selector in self._selectors(request):
            rules = [
                rule["expr"]
                for rule in self._rules
                if rule["record"] == selector.metric and selector.metric not in within
            ]
            before = max((self._reach(expr, window, within | {selector.metric}) for expr in rules), default=0.0)
            reached = max(reached, before + (window if selector.look_back is None else selector.look_back))
        return reached

    def _selectors(self, request: str) -> list[Selector]:
        """Return what an expression reads; nothing if it is a path, or cannot be parsed, here or at all."""
        if request not in self._parsed and self._parses and not request.startswith("/") and len(self._parsed) < _MOST:
            try:
                self._parsed[request] = self._parser().selectors(request)
            except HostError:
                self._parses = False  # the parser cannot be built, or has ended
        return self._parsed.get(request, [])
