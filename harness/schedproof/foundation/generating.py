"""Hypothesis as a search that leaves no files behind: it draws cases by a seed, the same in each process."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


_Case = TypeVar("_Case")


def generate(
    strategy: SearchStrategy[_Case],
    attempt: Callable[[_Case], object],
    *,
    cases: int,
    seed: int,
    phases: tuple[str, ...] = ("generate",),
) -> None:
    """Call `attempt` with up to `cases` values of a strategy. Its exceptions are raised.

    Args:
        strategy: generates the values.
        attempt: called with one value after the other.
        cases: how many.
        seed: of the generated values.
        phases: those of hypothesis, by name: with `shrink` it calls again, with smaller values, after an exception;
            with `target` it prefers values for which `hypothesis.target` is high.

    Raises:
        hypothesis.errors.Flaky: `attempt` does not raise again for a value for which it has raised.
    """
    import hypothesis

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=cases,
        # Failing cases are kept by ourselves, in words; the CI profile of hypothesis would fix the seed.
        database=None,
        derandomize=False,
        deadline=None,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        # Never `explain`: it traces every line from the first failure on, for a text of hypothesis that is not shown.
        phases=tuple(hypothesis.Phase[name] for name in phases),
        verbosity=hypothesis.Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @hypothesis.given(strategy)
    def run(case: _Case) -> None:
        attempt(case)

    with warnings.catch_warnings():
        # That printing a case of 5,000 nodes takes long: it is never printed.
        warnings.simplefilter("ignore", hypothesis.errors.HypothesisWarning)
        with _leaving_nothing(), _without_constants_of_modules():
            run()


@contextlib.contextmanager
def _leaving_nothing() -> Iterator[None]:
    """Keep hypothesis from caching sources in a folder `.hypothesis` in the user's current folder."""
    from hypothesis import configuration

    before = getattr(configuration, "__hypothesis_home_directory", None)
    configuration.set_hypothesis_home_dir(os.devnull)  # Nothing can be written below it, which is no error.
    try:
        yield
    finally:
        configuration.set_hypothesis_home_dir(before)


@contextlib.contextmanager
def _without_constants_of_modules() -> Iterator[None]:
    """Keep constants of loaded modules out of draws: hypothesis takes one draw in twenty from them.

    With them, the same seed would draw other cases in another process, or in an installed package.
    """
    providers: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
    if not hasattr(providers, "_get_local_constants"):  # a version of hypothesis that reads no sources
        yield
        return
    before = providers._get_local_constants, providers.CONSTANTS_CACHE
    none = type(providers.GLOBAL_CONSTANTS)()
    # The cache as well: it holds the constants that a draw may be, those of modules among them.
    providers._get_local_constants, providers.CONSTANTS_CACHE = lambda: none, type(providers.CONSTANTS_CACHE)(1024)
    try:
        yield
    finally:
        providers._get_local_constants, providers.CONSTANTS_CACHE = before
