"""Time that the candidate could use: a wait for it leaves out the time for which it was kept from running.

A candidate is judged by what it does in the time that it claims to take. On a busy machine the processes that a Binding
passes, one after the other, wait for a processor as well. For how long each of them was kept from running is added to
what the candidate is given.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from schedproof.foundation.cpu_waits import kept, most_kept, waits_of
from schedproof.foundation.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Stretch", "UsableTime"]

_LEAST = 0.01
"""Seconds. What was kept for less is not worth a word."""


class Stretch:
    """From its creation on.

    Args:
        pids: the processes that a Binding passes, by name, as they are when it is called.
    """

    def __init__(self, pids: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._pids = pids
        self._before = {name: waits_of(here) for name, here in pids().items()}

    def kept(self) -> dict[str, float]:
        """For how many seconds each was kept from running, by name, where that is worth a word."""
        since = {name: kept(self._before.get(name, {}), waits_of(here)) for name, here in self._pids().items()}
        return {name: round(seconds, 3) for name, seconds in since.items() if seconds >= _LEAST}

    def extension(self, seconds: float) -> float:
        """By how many seconds a wait of `seconds`, that began with the stretch, is to be longer."""
        return min(sum(self.kept().values()), most_kept(seconds))


class UsableTime:
    """Of one candidate."""

    def __init__(self, pids: Callable[[], Mapping[str, Sequence[int]]]) -> None:
        self._pids = pids

    def begin(self) -> Stretch:
        return Stretch(self._pids)

    def let_pass(self, seconds: float) -> dict[str, float]:
        """Let so much time pass that the candidate could use; for how long each of the processes was kept meanwhile."""
        begin, stretch = time.monotonic(), self.begin()
        end = begin + seconds
        while time.monotonic() < end:
            until(end)
            end = begin + seconds + stretch.extension(seconds)
        return stretch.kept()
