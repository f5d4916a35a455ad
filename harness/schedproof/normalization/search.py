"""Searches for a case that breaks a rule: the corner cases first, then hypothesis, which shrinks a failing case.

With one seed all rules of a shape ask a scorer the same cases. `Searches` asks them once: while one rule is searched,
the others are judged by the same answers, and rules that no case has broken are not searched again.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterable, Sequence

from schedproof.foundation.generating import generate
from schedproof.normalization.answer import Answer, Case, Surface
from schedproof.normalization.promises import Promises
from schedproof.normalization.properties import inversion, unanswered
from schedproof.normalization.rules import Rule, rules_for


@dataclasses.dataclass(frozen=True)
class Failing:
    """The smallest case that breaks a rule.

    `steady`: whether it broke the rule each time. A scorer that keeps state between questions, or draws at random,
    may answer differently the next time.
    """

    case: Case
    answers: tuple[Answer, ...]
    text: str
    steady: bool = True


@dataclasses.dataclass(frozen=True)
class Searched:
    """The result of a search: how many cases were asked, and the smallest that failed; None: none did."""

    cases: int
    failing: Failing | None = None
    shown: tuple[Case, tuple[Answer, ...]] | None = None
    """The last case that was answered, or else the last of all: a sample if none failed."""
    questions: int = 0
    """The number of questions; a case has one or more. 0: the answers of another rule's search were judged."""
    seconds: float = 0.0
    """Seconds in all: making cases, asking, waiting for answers, judging them."""
    waited: float = 0.0
    """The part of them that was spent waiting for answers."""
    also: frozenset[str] = frozenset()
    """Clauses of other rules that none of the cases has broken."""


_PATIENCE = 20.0
"""Seconds that a search waits for responses if it gets none: with a time-out for each, all cases would take hours."""


class _Found(Exception):  # noqa: N818 - no error: hypothesis is told so that there is something to shrink
    pass


class Searches:
    """The searches of one run, which share their answers."""

    def __init__(self) -> None:
        self._held: dict[tuple[object, ...], Searched] = {}

    def search(
        self, rule: Rule, surface: Surface, promises: Promises, *, cases: int, seed: int, known: Sequence[Case] = ()
    ) -> Searched:
        """As the function `search`; a rule that held in all cases of an earlier search is not searched again."""

        def key(clause: str) -> tuple[object, ...]:
            return (clause, surface.name, surface.nodes, promises, cases, seed)

        if (held := self._held.get(key(rule.clause))) is not None:
            earlier = _Asked(rule, surface, promises)
            if earlier.first_failing(known) is None:
                return dataclasses.replace(held, cases=held.cases + earlier.count)
        beside = [other for other in rules_for(promises) if other.shape == rule.shape]
        found = search(rule, surface, promises, cases=cases, seed=seed, known=known, beside=beside)
        if found.failing is None:
            held = Searched(found.cases - len(known), shown=found.shown)
            self._held.update(dict.fromkeys(map(key, found.also), held))
        return found


def search(
    rule: Rule,
    surface: Surface,
    promises: Promises,
    *,
    cases: int,
    seed: int,
    known: Iterable[Case] = (),
    beside: Iterable[Rule] = (),
) -> Searched:
    """Ask up to `cases` generated cases, after those `known` from earlier runs and the corner cases.

    The same seed asks the same cases of the same scorer. The search ends early if the scorer has answered no case after
    20 s of waiting for it.

    Args:
        rule: what is searched: the first case that breaks it ends the search, and is made smaller.
        surface: where the scorer is asked.
        promises: what it is held to.
        cases: how many are generated; fewer, where there are no more.
        seed: what they are drawn from.
        known: asked before all others.
        beside: rules that are judged by the same answers.
    """
    # Not above: it loads hypothesis, which takes as long as all the rest, in every process of every run.
    from schedproof.normalization.cases import corners

    asked = _Asked(rule, surface, promises, beside)
    begin, waited = time.monotonic(), surface.waited
    found = asked.first_failing(itertools.chain(known, corners(rule, surface, promises)))
    if cases and not asked.hopeless:
        smaller = _generate(asked, rule, surface, promises, cases, seed)
        # A corner case is as small as a person would write it; what hypothesis shrinks is as small as it gets.
        found = smaller or found
    return Searched(
        asked.count,
        found,
        asked.answered or asked.last,
        questions=asked.questions,
        seconds=time.monotonic() - begin,
        waited=surface.waited - waited,
        also=frozenset(other.clause for other in asked.beside),
    )


class _Asked:
    """Asks, judges and counts. `beside` are the other rules that no case has broken so far."""

    def __init__(self, rule: Rule, surface: Surface, promises: Promises, beside: Iterable[Rule] = ()) -> None:
        self._rule, self._surface, self._promises = rule, surface, promises
        self._waited_before = surface.waited
        self.beside = [other for other in beside if other.clause != rule.clause]
        self.count = self.questions = 0
        self.last: tuple[Case, tuple[Answer, ...]] | None = None
        self.answered: tuple[Case, tuple[Answer, ...]] | None = None

    def ask(self, case: Case) -> Failing | None:
        self.count += 1
        self.questions += len(case)
        answers = tuple(self._surface.ask(readings) for readings in case)
        self.last = (case, answers)
        if not any(map(unanswered, answers)):
            self.answered = self.last
        self.beside = [other for other in self.beside if not other.wrong(case, answers, self._promises)]
        text = self._rule.wrong(case, answers, self._promises)
        return Failing(case, answers, text) if text else None

    @property
    def hopeless(self) -> bool:
        """Whether the scorer has answered no case, and further waiting would take too long."""
        return self.answered is None and self._surface.waited - self._waited_before > _PATIENCE

    def first_failing(self, cases: Iterable[Case]) -> Failing | None:
        """Ask one after the other, up to the first case that breaks the rule."""
        asked = map(self.ask, itertools.takewhile(lambda _: not self.hopeless, cases))
        return next(filter(None, asked), None)

    def ordering_error(self) -> float:
        """The ordering error of the last case, in points: the target of the search."""
        assert self.last is not None
        pairs = zip(*self.last, strict=True)
        return max(0.0 if unanswered(answer) else inversion(readings, answer)[0] for readings, answer in pairs)


def _generate(asked: _Asked, rule: Rule, surface: Surface, promises: Promises, cases: int, seed: int) -> Failing | None:
    import hypothesis

    from schedproof.normalization.cases import generated

    found: list[Failing] = []

    def attempt(case: Case) -> None:
        if asked.hopeless and not found:
            return
        failing = asked.ask(case)
        if promises.about == "traffic":
            hypothesis.target(min(asked.ordering_error(), 1e9))
        if failing is not None:
            found.append(failing)
            raise _Found

    try:
        generate(
            generated(rule, surface, promises), attempt, cases=cases, seed=seed, phases=("generate", "target", "shrink")
        )
    except _Found:
        return found[-1]  # the smallest is asked last
    except hypothesis.errors.Flaky:
        return dataclasses.replace(min(found, key=_size), steady=False)
    return None


def _size(failing: Failing) -> int:
    return sum(len(readings) for readings in failing.case)
