"""Searches for a case that breaks a rule: the corner cases first, then hypothesis, which shrinks what it finds."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from typing import TYPE_CHECKING

import hypothesis

from schedproof.normalization.cases import corners, generated
from schedproof.normalization.properties import inversion, unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedproof.normalization.answer import Answer, Case, Surface
    from schedproof.normalization.promises import Promises
    from schedproof.normalization.rules import Rule

__all__ = ["Failing", "Searched", "search"]


@dataclasses.dataclass(frozen=True)
class Failing:
    """The smallest case that was found to break a rule.

    `steady`: whether it broke it every time that it was asked. A scorer that keeps something between questions, or
    draws lots, may answer otherwise the next time.
    """

    case: Case
    answers: tuple[Answer, ...]
    text: str
    steady: bool = True


@dataclasses.dataclass(frozen=True)
class Searched:
    """What a search found: how many cases were asked, and the smallest that failed; None: none did."""

    cases: int
    failing: Failing | None = None
    shown: tuple[Case, tuple[Answer, ...]] | None = None
    """The last case that was answered, or else the last of all: a sample, where none failed."""


class _Found(Exception):  # noqa: N818 - no error: hypothesis is told so that there is something to shrink
    pass


def search(
    rule: Rule, surface: Surface, promises: Promises, *, cases: int, seed: int, known: Iterable[Case] = ()
) -> Searched:
    """Ask up to `cases` generated cases, after those `known` from earlier runs and the corner cases.

    The same seed asks the same cases of the same scorer.
    """
    asked = _Asked(rule, surface, promises)
    found: Failing | None = None
    for case in itertools.chain(known, corners(rule, surface, promises)):
        if (failing := asked.ask(case)) is not None:
            found = failing
            break
    if cases:
        smaller = _generate(asked, rule, surface, promises, cases, seed)
        # A corner case is as small as a person would write it; what hypothesis shrinks is as small as it gets.
        found = smaller or found
    return Searched(asked.count, found, asked.answered or asked.last)


class _Asked:
    """Asks, judges and counts."""

    def __init__(self, rule: Rule, surface: Surface, promises: Promises) -> None:
        self._rule, self._surface, self._promises = rule, surface, promises
        self.count = 0
        self.last: tuple[Case, tuple[Answer, ...]] | None = None
        self.answered: tuple[Case, tuple[Answer, ...]] | None = None

    def ask(self, case: Case) -> Failing | None:
        self.count += 1
        answers = tuple(self._surface.ask(readings) for readings in case)
        self.last = (case, answers)
        if not any(map(unanswered, answers)):
            self.answered = self.last
        text = self._rule.wrong(case, answers, self._promises)
        return Failing(case, answers, text) if text else None

    def ordering_error(self) -> float:
        """In points, of the last case: what a search is drawn towards."""
        assert self.last is not None
        pairs = zip(*self.last, strict=True)
        return max(0.0 if unanswered(answer) else inversion(readings, answer)[0] for readings, answer in pairs)


def _generate(asked: _Asked, rule: Rule, surface: Surface, promises: Promises, cases: int, seed: int) -> Failing | None:
    found: list[Failing] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=cases,
        # Failing cases are kept by ourselves, in words; the CI profile of hypothesis would fix the seed.
        database=None,
        derandomize=False,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @hypothesis.given(generated(rule, surface, promises))
    def attempt(case: Case) -> None:
        failing = asked.ask(case)
        if promises.about == "traffic":
            hypothesis.target(min(asked.ordering_error(), 1e9))
        if failing is not None:
            found.append(failing)
            raise _Found

    try:
        with warnings.catch_warnings():
            # That printing a case of 5,000 nodes takes long: nobody is going to print it.
            warnings.simplefilter("ignore", hypothesis.errors.HypothesisWarning)
            attempt()
    except _Found:
        return found[-1]  # the smallest is asked last
    except hypothesis.errors.Flaky:
        return dataclasses.replace(min(found, key=_size), steady=False)
    return None


def _size(failing: Failing) -> int:
    return sum(len(readings) for readings in failing.case)
