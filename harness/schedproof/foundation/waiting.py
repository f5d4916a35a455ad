"""The only wait primitive: it watches for readiness, exits and a deadline together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import DeadlineExceededError, SchedproofError

T = TypeVar("T")


class NotYet(Exception):  # noqa: N818 - reads as what it says at the raise: the answer is "not yet"
    """Raised by a probe whose condition does not hold; the text is what was observed instead."""


class Watched(Protocol):
    """A thing whose end makes further waiting pointless: a process that should keep running."""

    def exit_error(self) -> SchedproofError | None:
        """None while it runs; otherwise the error that explains how it ended."""


def wait_for(
    probe: Callable[[], T],
    deadline: Deadline,
    *,
    what: str,
    watching: Sequence[Watched] = (),
    wake: threading.Condition | None = None,
    poll: float = 0.02,
    extended: Callable[[], float] = lambda: 0.0,
) -> T:
    """Call `probe` until it returns instead of raising `NotYet`, and return what it returned.

    Args:
        probe: the condition; its last `NotYet` text ends up in the error.
        deadline: bounds the wait, on the monotonic clock.
        what: completes the sentence "waited for ...".
        watching: processes that must live meanwhile; the first one found dead ends the wait with its error.
        wake: a condition that is notified whenever the probe may have a new answer. `probe` is then called
            while holding it. Without one the probe is polled.
        poll: seconds between two calls where nothing wakes us; also how soon an exit is noticed.
        extended: the seconds that the wait may take beyond its deadline, as known when that is over.

    Raises:
        DeadlineExceededError: the deadline passed; names it, and quotes what the probe last saw.
        SchedproofError: whatever a watched process has to say about its exit.
    """
    condition = wake if wake is not None else threading.Condition()
    begin = time.monotonic()
    end = begin + deadline.seconds
    pause = poll if wake is None else max(poll, 0.1)
    with condition:
        while True:
            try:
                return probe()
            except NotYet as not_yet:
                seen = str(not_yet)
            for process in watching:
                if (error := process.exit_error()) is not None:
                    raise error
            now = time.monotonic()
            if now >= end:
                end = begin + deadline.seconds + extended()
            remaining = end - now
            if remaining <= 0:
                raise DeadlineExceededError(
                    f"waited {deadline.seconds:g} s ({deadline.name}) for {what}; last seen: {seen or 'nothing'}"
                )
            condition.wait(min(pause, remaining))


def until(moment: float, *, watching: Sequence[Watched] = ()) -> None:
    """Sleep until `moment` on the monotonic clock.

    Only for claims about time itself ("follows within window plus refresh"), never to give something else a chance to
    happen.
    """
    idle = threading.Condition()
    with idle:
        while (remaining := moment - time.monotonic()) > 0:
            for process in watching:
                if (error := process.exit_error()) is not None:
                    raise error
            idle.wait(min(0.1, remaining))
