"""The candidate's line to the apiserver: it is cut, or led to a second apiserver without the earlier state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from schedproof.clusters import cluster
from schedproof.history.acts import LineFault
from schedproof.history.faults import Fault
from schedproof.proxies.api_line import ApiLine
from schedproof.recording.recorder import Recorder

_LOOPBACK = "127.0.0.1"


@contextlib.contextmanager
def cut_off(line: ApiLine, recorder: Recorder, clause: str) -> Iterator[None]:
    """A context in which the candidate's connections through this line end, and new ones end at once.

    Responses in flight are lost, even to a Binding whose effect the watch has already shown.
    """
    at = recorder.now()
    connections = line.cut()
    recorder.add(LineFault(at=at, case=clause, line="apiserver", fault=Fault.CUT, on=True, connections=connections))
    try:
        yield
    finally:  # otherwise later cases would run on a candidate that reaches nothing
        line.mend()
        recorder.add(LineFault(case=clause, line="apiserver", fault="", on=False))


class LineToSecond:
    """A second apiserver that was started for the candidate, and the line that leads the candidate to it and back."""

    def __init__(self, server: cluster.SecondApiServer, line: ApiLine, recorder: Recorder, clause: str) -> None:
        self._server, self._line, self._recorder, self._clause = server, line, recorder, clause
        self._first: tuple[str, int] | None = None
        """Where the line led before."""

    @contextlib.contextmanager
    def taking_over(self) -> Iterator[None]:
        """A context in which the candidate cannot reach any apiserver; afterwards it reaches this one.

        The second apiserver has then forgotten all that the candidate has seen, so the candidate cannot resume its
        watches there: change the cluster at least twice meanwhile. It is ready before the cut, so no Lease expires.
        """
        self._server.wait_ready()
        with cut_off(self._line, self._recorder, self._clause):
            yield
            self._server.forget_before(self._recorder.rv)
            self._first = self._line.lead_to((_LOOPBACK, self._server.port))

    def end(self) -> None:
        """Lead new connections to the first apiserver, then end this one. Safe to call at any time."""
        at = self._recorder.now()
        if self._first is not None:
            self._line.lead_to(self._first)
            self._line.mend()
        self._server.end()
        if self._first is not None:
            self._recorder.add(LineFault(at=at, case=self._clause, line="apiserver", fault=Fault.ENDED, on=True))
            self._recorder.add(LineFault(case=self._clause, line="apiserver", fault="", on=False))
