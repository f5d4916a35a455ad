"""The candidate's line to the apiserver: it is cut, or led to a second one that has forgotten what was seen before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from schedproof.clusters import cluster
from schedproof.history.acts import LineFault
from schedproof.proxies.api_line import ApiLine
from schedproof.recording.recorder import Recorder

_LOOPBACK = "127.0.0.1"


@contextlib.contextmanager
def cut_off(line: ApiLine, recorder: Recorder, clause: str) -> Iterator[None]:
    """A context in which the candidate cannot reach what its line leads to; its connections end.

    Answers that are under way are lost, also that to a Binding of which the watch has shown the effect already.
    """
    at = recorder.now()
    connections = line.cut()
    recorder.add(LineFault(at=at, case=clause, line="apiserver", fault="cut", on=True, connections=connections))
    try:
        yield
    finally:  # or the cases after one that broke would be tried on a candidate that reaches nothing
        line.mend()
        recorder.add(LineFault(case=clause, line="apiserver", fault="", on=False))


class LineToSecond:
    """Directs a candidate to a second apiserver, which is started for it, and back."""

    def __init__(self, server: cluster.SecondApiServer, line: ApiLine, recorder: Recorder, clause: str) -> None:
        self._server, self._line, self._recorder, self._clause = server, line, recorder, clause
        self._first: tuple[str, int] | None = None
        """Where the line led before it took over."""

    @contextlib.contextmanager
    def taking_over(self) -> Iterator[None]:
        """A context in which the candidate cannot reach any apiserver; then it reaches this one.

        All that it had seen before is forgotten by then, so that it cannot resume its watches there: let the world
        change at least twice meanwhile. It is ready before, so that no lease runs out.
        """
        self._server.wait_ready()
        with cut_off(self._line, self._recorder, self._clause):
            yield
            self._server.forget_before(self._recorder.rv)
            self._first = self._line.lead_to((_LOOPBACK, self._server.port))

    def end(self) -> None:
        """Lead what connects from here on to the first one, then end this one. Safe to call at any time."""
        at = self._recorder.now()
        if self._first is not None:
            self._line.lead_to(self._first)
            self._line.mend()
        self._server.end()
        if self._first is not None:
            self._recorder.add(LineFault(at=at, case=self._clause, line="apiserver", fault="ended", on=True))
            self._recorder.add(LineFault(case=self._clause, line="apiserver", fault="", on=False))
