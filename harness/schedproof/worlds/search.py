"""Searches for a world in which the candidate fails: known worlds, large worlds, then generated ones; shrinks it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from schedproof.foundation.generating import generate
from schedproof.worlds.smaller import pinned, smaller
from schedproof.worlds.world import World, tidy

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@dataclasses.dataclass(frozen=True)
class Wrong:
    """A failure in a world.

    Attributes:
        text: what went wrong.
        step: the first step by which it shows, from 0.
        placed: each bound pod of the candidate that came before that step, by its name in the world, and its node.
    """

    text: str
    step: int
    placed: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The bounds of a search: so many generated worlds, begun within so many seconds; likewise for shrinking."""

    worlds: int
    seconds: float
    tries: int
    smaller_seconds: float


class _Enough(Exception):  # noqa: N818 - no error: it ends the drawing
    pass


class Search:
    """Runs worlds. Its attributes hold the results so far, even if a run has raised.

    Args:
        run: has the candidate schedule the pods of a world; returns the failure, or None. `hurried`: pods get less
            time to be bound than the candidate claims, and nothing is recorded.
        bounds: how long.
        pins: whether the candidate supports node affinity.
        clock: seconds.
        between: called after each world before shrinking, with their number; returns whether to generate more.
    """

    def __init__(
        self,
        run: Callable[[World, bool], Wrong | None],
        bounds: Bounds,
        *,
        pins: bool = True,
        clock: Callable[[], float] = time.monotonic,
        between: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self._run, self._bounds, self._pins, self._clock, self._between = run, bounds, pins, clock, between
        self._goes_on = True
        self.count = 0
        """The number of worlds that were tried before shrinking."""
        self.tries = 0
        """The number of worlds that were tried for shrinking."""
        self.world: World | None = None
        """The smallest world with a failure."""
        self.wrong: Wrong | None = None
        self.steady = True
        """Whether it fails each time."""

    def first_wrong(self, worlds: Iterable[World]) -> bool:
        """Try these, up to the first failure; returns whether there is one."""
        return any(map(self._goes_wrong, worlds))

    def generated_on(self, strategy: SearchStrategy[World], seed: int) -> bool:
        """Try generated worlds, batch after batch of the bounds' number, until their time is over or one fails.

        Each batch has a seed of its own, because hypothesis keeps what it has drawn.
        """
        end = self._clock() + self._bounds.seconds
        batches = itertools.takewhile(lambda _: self._goes_on and self._clock() < end, itertools.count(seed))
        return any(self.generated(strategy, batch, end) for batch in batches)

    def generated(self, strategy: SearchStrategy[World], seed: int, end: float | None = None) -> bool:
        """Try generated worlds, up to the first failure, or until the bounds are reached; `end`: by the clock."""
        until = self._clock() + self._bounds.seconds if end is None else end
        raised: list[Exception] = []
        tried: set[str] = set()

        def attempt(world: World) -> None:
            if raised:  # hypothesis looks whether it is raised again
                raise raised[0]
            try:
                # Hypothesis also draws what it has drawn before.
                over = not self._goes_on or self._clock() > until
                if over or (world.key not in tried and self._goes_wrong(world)):
                    raise _Enough
                tried.add(world.key)
            except Exception as error:
                raised.append(error)
                raise

        with contextlib.suppress(_Enough):
            generate(strategy, attempt, cases=self._bounds.worlds, seed=seed)
        return self.wrong is not None

    def _goes_wrong(self, world: World) -> bool:
        self.count += 1
        self.wrong = self._run(world, False)
        if self.wrong is not None:
            self.world = world
        self._goes_on = self._between(self.count)
        return self.wrong is not None

    def make_smaller(self) -> None:
        """Shrink the failing world, hurried, and try the smallest once more, unhurried.

        Where several nodes are possible, a scheduler may choose another one each time, and the failure may depend on
        it: pods that came before are first bound by their affinity to the nodes to which they went. If the smallest
        passes, the world that was found is kept, and tried once more as well.
        """
        assert self.world is not None
        assert self.wrong is not None
        found, end = (self.world, self.wrong), self._clock() + self._bounds.smaller_seconds

        def failing_step(world: World) -> int | None:
            if self.tries >= self._bounds.tries or self._clock() > end:
                return None
            self.tries += 1
            wrong = self._run(world, True)
            return wrong.step if wrong is not None else None

        short = tidy(self.world.up_to(self.wrong.step))
        fixed = pinned(short, self.wrong.placed) if self._pins else short
        if not (fixed.key != short.key and failing_step(fixed) is not None):
            fixed = short
            if short.key != self.world.key and failing_step(short) is None:
                fixed = self.world
        smallest = smaller(fixed, failing_step)
        for world in {world.key: world for world in (smallest, self.world)}.values():
            wrong = self._run(world, False)
            if wrong is not None:
                self.world, self.wrong = world, wrong
                return
            self.steady = False
        self.world, self.wrong = found
