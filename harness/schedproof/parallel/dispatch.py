"""Which test a worker runs next. A worker has one cluster, and one candidate attached to it at a time."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ATTACHING", "SCHEDULES_NOTHING", "Dispatcher", "Task"]

SCHEDULES_NOTHING = "schedproof-schedules-nothing"
"""The property of a test after which the candidate is known to schedule no pods."""

ATTACHING = 10.0
"""Seconds that one more instance of a candidate costs: its start, and the clauses that every instance ends with."""


@dataclasses.dataclass(frozen=True)
class Task:
    """A collected test.

    Attributes:
        index: in the collection.
        candidate: the candidate's name; empty for a test of no clause.
        first: whether the candidate's other tests depend on it: it is tried before them, and alone.
        last: whether every instance of the candidate ends with it: what it judges is all that the instance did.
        seconds: how long it is expected to take.
        fresh: whether it needs a cluster on which little has happened.
    """

    index: int
    candidate: str
    first: bool
    last: bool
    seconds: float
    fresh: bool = False


class Dispatcher:
    """Hands out tests: of each candidate the longest first, and its last ones to every worker that had any of it.

    Those that need a fresh cluster come before, and candidates that have some are a new worker's first.
    """

    def __init__(self, tests: Iterable[Task]) -> None:
        self._waiting: dict[str, list[Task]] = {}
        self._last: dict[str, list[Task]] = {}
        for test in tests:
            waiting, last = self._waiting.setdefault(test.candidate, []), self._last.setdefault(test.candidate, [])
            (last if test.last else waiting).append(test)
        for waiting in self._waiting.values():
            waiting.sort(key=lambda test: (not test.first, not test.fresh, -test.seconds))
        self._trying_first: dict[str, str] = {}
        self._alone: set[str] = set()
        self._instances: collections.Counter[str] = collections.Counter()
        self._candidates: dict[str, str] = {}
        self._ending: dict[str, list[Task]] = {}
        self._stopped = False

    def stop(self) -> None:
        """Hand out only the last tests of those instances that there are."""
        self._stopped = True
        for waiting in self._waiting.values():
            waiting.clear()

    def may_have_more(self, worker: str) -> bool:
        """Whether there can be a test for a worker later that is held back now: other workers try the first ones."""
        return any(other != worker for other in self._trying_first.values())

    def first_ended(self, candidate: str, *, schedules: bool) -> None:
        """The first test of a candidate has ended: it gets further instances only where it schedules pods at all."""
        self._trying_first.pop(candidate, None)
        if not schedules:
            self._alone.add(candidate)

    def next_index(self, worker: str) -> int | None:
        """The index of the worker's next test; None where there is none for it now."""
        while not self._ending.get(worker):
            if worker not in self._candidates and not self._join(worker):
                return None
            candidate = self._candidates[worker]
            if self._waiting[candidate]:
                test = self._waiting[candidate].pop(0)
                if test.first:
                    self._trying_first[candidate] = worker
                return test.index
            del self._candidates[worker]
            self._ending[worker] = list(self._last[candidate])
        return self._ending[worker].pop(0).index

    def _join(self, worker: str) -> bool:
        """Give a worker the candidate that has the most left to do for each instance; whether one more pays."""
        if self._stopped:
            return False
        share = {
            candidate: sum(test.seconds for test in waiting) / (self._instances[candidate] + 1)
            for candidate, waiting in self._waiting.items()
        }
        held_back = self._alone | self._trying_first.keys()
        open_ones = [
            name
            for name, seconds in share.items()
            if not self._instances[name] or (seconds > ATTACHING and name not in held_back)
        ]
        if not open_ones:
            return False
        is_new = worker not in self._ending
        fresh = {name for name in open_ones if is_new and any(test.fresh for test in self._waiting[name])}
        candidate = max(open_ones, key=lambda name: (not self._instances[name], name in fresh, share[name]))
        self._instances[candidate] += 1
        self._candidates[worker] = candidate
        return True
