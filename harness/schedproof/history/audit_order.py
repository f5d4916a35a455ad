"""The order of requests in the audit log and the harness's actions.

The audit log is stamped by the apiserver's wall clock, the rest of a history by a monotonic clock. A step of the wall
clock (NTP, a virtual machine that resumes) moves the stamps against the rest, so no verdict rests on comparing them.
The order of the lines counts: the harness leaves marks in the same log, and a `mark` in the records of its actions.
Requests whose mutual order matters are compared on the run's clock, which the marks give.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence

from schedproof.history.acts import Marked
from schedproof.history.observations import ApiRequest, AuditLine, AuditMark

BINDINGS = ("pods/binding", "bindings")
"""Where a Binding can be posted: to a pod, and, for compatibility, to a namespace."""

READING = frozenset({"get", "list", "watch"})
"""The verbs of requests that change nothing."""

STEP = 0.1
"""Seconds. A smaller difference is not a change of the clock: NTP slews it by that much without a step."""


class AuditOrder:
    """The order of one history's requests."""

    def __init__(self, marks: Sequence[AuditMark], requests: Sequence[ApiRequest]) -> None:
        self._marks = sorted(marks, key=lambda mark: mark.line)
        self._lines = {mark.mark: mark.line for mark in self._marks}
        self._requests = [request for request in requests if request.line]
        self._steps = self._find_steps()

    def follows(self, line: int, received: float, event: Marked) -> bool:
        """Whether a request (its place, and when it was received) came after the harness's action in `event`.

                A history without marks (an earlier version, no audit log) has only the stamps: then, whether it was
        received after it.
        """
        mark = self._lines.get(event.mark)
        return received > event.at if mark is None or not line else line > mark

    def times(self, request: ApiRequest) -> tuple[float, float]:
        """When a request was received and completed, on the run's clock, to some hundredths of a second."""
        lag = 0.0
        for line, step in self._steps:
            if line <= request.line:
                lag = step
        received, completed = request.received - lag, request.completed - lag
        # One that was under way when the clock was changed.
        return min(received, completed), completed

    def _find_steps(self) -> list[tuple[int, float]]:
        """The line from which on the stamps are ahead of the run's clock, and by how much."""
        found: list[tuple[int, float]] = []
        ahead, before = 0.0, 0
        for mark in self._marks:
            # It was received after it was sent, and before it was answered.
            least, most = mark.received - mark.answered, mark.received - mark.at
            if not least - STEP <= ahead <= most + STEP:
                now = (least + most) / 2
                found.append((self._step_between(before, mark.line, now - ahead), now))
                ahead = now
            before = mark.line
        return found

    def _step_between(self, first: int, last: int, step: float) -> int:
        """The line at which the clock was changed: between two marks, the line with the largest jump before it.

        Lines are in the order of completion, so that without a step stamps do not decrease.
        """
        lines = [*self._between(first, last)]
        if len(lines) < 2:
            return first + 1
        jumps = {b.line: (b.completed - a.completed) * (1 if step > 0 else -1) for a, b in itertools.pairwise(lines)}
        return max(jumps, key=lambda line: jumps[line])

    def _between(self, first: int, last: int) -> Sequence[AuditLine]:
        ends = [bisect.bisect_right([r.line for r in self._requests], line) for line in (first, last)]
        marks = [mark for mark in self._marks if first <= mark.line <= last]
        return sorted([*self._requests[ends[0] : ends[1]], *marks], key=lambda record: record.line)
