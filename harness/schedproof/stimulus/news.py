"""Whether a candidate has new readings: as soon as it is seen to have read them, and at the latest by its claim."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from schedproof.foundation.waiting import until
from schedproof.history.observations import PrometheusQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from schedproof.candidates.claims import NetworkClaims
    from schedproof.stimulus.recorder import Recorder

__all__ = ["News"]

_Asked = tuple[str, str]
"""The path of a request to Prometheus, and its query, if it has one."""
_TAKEN_IN = 0.02
"""Seconds from an answer of Prometheus until the candidate uses it: another of its threads may have asked."""
_NUDGED_EVERY = 0.1
"""Seconds between two questions for nothing."""
_AT_ONCE = 0.25
"""Seconds."""


class News:
    """What a candidate with a claimed `refresh` knows of changed readings.

    It has them once it was answered, after the change, everything that it had asked within the period before: one that
    polls asks all of it again in each period, and one that reads Prometheus only for a decision may have none to make.

    A candidate that asks for counters as they are now, and for nothing of their past, works out rates from the samples
    that it has taken: it has news once those cover a whole window.

    Of several processes one may have asked, and another one decides: such a candidate has the time that it claims.

    Args:
        recorder: has what it asks.
        claims: how old its readings may be.
        nudge: asks it, whatever the answer; None: it cannot be asked.
        shows: whether it has news as soon as it is seen to have read them: it is one process.
    """

    def __init__(
        self, recorder: Recorder, claims: NetworkClaims, nudge: Callable[[], None] | None, *, shows: bool
    ) -> None:
        self._recorder, self._claims, self._nudge, self._shows = recorder, claims, nudge, shows

    def wait(self) -> None:
        """Until it has what there is to read now."""
        claimed = self._claims.staleness
        due = time.monotonic() + claimed
        # Of recording rules Prometheus itself has news only after a while.
        usual = self._usual(claimed) if claimed and self._shows and not self._claims.rules else set()
        begin = self._recorder.now()
        while usual and (left := due - time.monotonic()) > 0:
            if self._nudge is not None:
                self._nudge()
            if not any(_looks_back(one) for one in usual):
                due += self._claims.window
                break
            if usual <= self._answered(begin, self._recorder.now()):
                until(min(due, time.monotonic() + _TAKEN_IN))
                return
            with self._recorder.changed:
                self._recorder.changed.wait(min(left, _NUDGED_EVERY))
        until(due)

    def come_at_once(self) -> bool:
        """Whether it has news at once, time after time: one that polls or caches may have them once, by chance."""
        took = []
        for _ in range(2):
            begin = time.monotonic()
            self.wait()
            took.append(time.monotonic() - begin)
        return max(took) < _AT_ONCE

    def _usual(self, seconds: float) -> set[_Asked]:
        """What it has asked of late, or asks when it is nudged."""
        now = self._recorder.now()
        asked = self._answered(now - seconds, now)
        if not asked and self._nudge is not None:
            self._nudge()
            asked = self._answered(now, self._recorder.now())
        return asked

    def _answered(self, begin: float, end: float) -> set[_Asked]:
        """What it asked of Prometheus, and was answered, between two moments of the record."""
        found = set()
        for record in reversed(self._recorder.records):
            if record.at < begin:
                break
            if isinstance(record, PrometheusQuery) and record.at <= end and record.begun >= begin:
                found.add((record.path, record.request))
        return found


def _looks_back(asked: _Asked) -> bool:
    """Whether it asks for more than the newest samples: by a range, an offset, or for a time between two moments."""
    path, request = asked
    return path.endswith("/query_range") or any(sign in request for sign in ("[", " offset ", "@"))
