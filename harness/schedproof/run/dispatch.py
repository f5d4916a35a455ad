"""Chooses the next test of a worker. A worker has one cluster, and one candidate attached to it at a time."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable

ATTACHING = 10.0
"""Seconds that one more instance of a candidate costs: its start, and the clauses at the end of every instance."""


@dataclasses.dataclass(frozen=True)
class Task:
    """A collected test.

    Attributes:
        index: in the collection.
        candidate: the candidate's name; empty for a test of no clause.
        first: whether the candidate's other tests depend on it: it is tried before them, and alone.
        last: whether every instance of the candidate ends with it: it judges the instance as a whole.
        seconds: how long it is expected to take.
        fresh: whether it needs a cluster on which little has happened.
        stands_on: the indices of tests of the candidate that may show that it need not be tried.
    """

    index: int
    candidate: str
    first: bool
    last: bool
    seconds: float
    fresh: bool = False
    stands_on: frozenset[int] = frozenset()


class Dispatcher:
    """Hands out tests: for each candidate the longest first, and its last tests to every worker that had any of its
    tests.

    Tests that need a fresh cluster come before, and a new worker starts with candidates that have some. So do tests
    that others depend on: the dependent tests are held back from other workers until it is known whether they need to
    be tried.
    """

    def __init__(self, tests: Iterable[Task]) -> None:
        self._waiting: dict[str, list[Task]] = {}
        self._last: dict[str, list[Task]] = {}
        for test in tests:
            waiting, last = self._waiting.setdefault(test.candidate, []), self._last.setdefault(test.candidate, [])
            (last if test.last else waiting).append(test)
        self._basics = {index for waiting in self._waiting.values() for test in waiting for index in test.stands_on}
        for waiting in self._waiting.values():
            waiting.sort(key=self._turn)
        self._trying: dict[Task, str] = {}
        """The tests on which others depend that were given out and have not passed yet, and to which worker."""
        self._ignored: set[int] = set()
        """The tests whose subject the candidate ignores."""
        self._alone: set[str] = set()
        self._instances: collections.Counter[str] = collections.Counter()
        self._candidates: dict[str, str] = {}
        self._ending: dict[str, list[Task]] = {}
        self._stopped = False

    def _turn(self, test: Task) -> tuple[object, ...]:
        """The sort key of the tests of a candidate: a basic that stands on others follows those that do not."""
        is_basic = test.index in self._basics
        return not test.first, not test.fresh, not is_basic, is_basic and bool(test.stands_on), -test.seconds

    def stop(self) -> None:
        """Hand out only the last tests of the existing instances."""
        self._stopped = True
        for waiting in self._waiting.values():
            waiting.clear()

    def may_have_more(self, worker: str) -> bool:
        """Whether a worker may get a test later that is held back now, because other workers try what it depends on."""
        return any(other != worker and test.index not in self._ignored for test, other in self._trying.items())

    def ended(self, test: Task, *, binds_nothing: bool = False, ignored: bool = False) -> None:
        """Note that a test has ended. Further instances start only if the first test shows no lack of Bindings."""
        if test.first and binds_nothing:
            self._alone.add(test.candidate)
        if ignored:
            self._ignored.add(test.index)
        else:
            self._trying.pop(test, None)

    def next_index(self, worker: str) -> int | None:
        """The index of the worker's next test; None if there is none now."""
        while not self._ending.get(worker):
            if worker not in self._candidates and not self._join(worker):
                return None
            candidate = self._candidates[worker]
            if (test := self._next_of(candidate, worker)) is not None:
                return test.index
            if any(self._is_held_back(test, worker) for test in self._waiting[candidate]):
                return None
            del self._candidates[worker]
            self._ending[worker] = list(self._last[candidate])
        return self._ending[worker].pop(0).index

    def _next_of(self, candidate: str, worker: str) -> Task | None:
        waiting = self._waiting[candidate]
        test = next((test for test in waiting if not self._others(test, worker)), None)
        if test is None:
            return None
        waiting.remove(test)
        if test.first or test.index in self._basics:
            self._trying[test] = worker
        return test

    def _others(self, test: Task, worker: str) -> frozenset[int]:
        """What keeps a test from this worker: dependencies that have not passed, except those that it tries itself."""
        return test.stands_on & {basic.index for basic, other in self._trying.items() if other != worker}

    def _is_held_back(self, test: Task, worker: str) -> bool:
        """Whether the test waits for another worker to try what it depends on."""
        others = self._others(test, worker)
        return bool(others) and not others & self._ignored

    def _join(self, worker: str) -> bool:
        """Give a worker the candidate with the most remaining work per instance; return whether another pays."""
        if self._stopped:
            return False
        share = {
            candidate: sum(test.seconds for test in waiting if not self._others(test, worker) & self._ignored)
            / (self._instances[candidate] + 1)
            for candidate, waiting in self._waiting.items()
        }
        held_back = self._alone | {test.candidate for test in self._trying if test.first}
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
