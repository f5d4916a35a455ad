"""Runs a suite's test: its stimulus runs, its record is judged, and the verdict is the test's outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.foundation.disk import naming_full_disk
from schedproof.foundation.errors import SchedproofError
from schedproof.judge.verdict import Verdict
from schedproof.pytest_plugin.selection import candidate_of, clause_of
from schedproof.pytest_plugin.state import JUDGED
from schedproof.run.engine import Begun, Engine
from schedproof.stimulus.case import Case
from schedproof.stimulus.context import CaseOver

_TRYING = pytest.StashKey[Generator[Begun | Verdict, None, None]]()
"""The engine's generator of a test that has begun."""


def cases(engine: Engine, item: pytest.Function, candidate: Candidate) -> Iterator[Case]:
    """Yield the stimulus of a test's clause for the candidate, and clean up afterwards."""
    trying = item.stash[_TRYING] = engine.try_clause(candidate, clause_of(item))
    with _failing(engine), contextlib.closing(trying):
        begun = next(trying, None)
        if begun is None:
            pytest.skip("not tried: an earlier clause did not pass (--fail-fast)")
        if isinstance(begun, Verdict):
            pytest.skip(f"{begun.outcome}: {begun.summary}")
        if begun.hopeless:
            item.obj = _nothing
        yield begun.case


def tried(engine: Engine, item: pytest.Function) -> Generator[None, object, object]:
    """Run the test's function, in a wrapper of `pytest_pyfunc_call`, and report the verdict."""
    trying, failure = item.stash[_TRYING], None
    with _failing(engine):
        try:
            with naming_full_disk(engine.settings.report):
                yield
        except (AssertionError, CaseOver, SchedproofError) as error:
            failure, verdict = error, trying.throw(error)
        else:
            verdict = next(trying)
    assert isinstance(verdict, Verdict)
    item.user_properties.append((JUDGED, verdict.outcome))
    if isinstance(failure, AssertionError):
        raise failure
    candidate, clause, run = candidate_of(item), clause_of(item), engine.result
    _raise_outcome(verdict, run.reproduce(candidate, clause), run.reproduce_among(candidate, clause))
    return True


def _nothing(**_fixtures: Any) -> None:
    """Replaces a test's function if the candidate is not running."""


@contextlib.contextmanager
def _failing(engine: Engine) -> Iterator[None]:
    """A context whose errors end the whole run if its result has an error, and otherwise fail this test."""
    try:
        yield
    except SchedproofError as error:
        if engine.result.error is not None:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
        pytest.fail(str(error), pytrace=False)


def _raise_outcome(verdict: Verdict, *commands: str) -> None:
    from schedproof.report.run.terminal import explain

    if verdict.did_not_pass:
        pytest.fail(explain(verdict, *commands), pytrace=False)
    if verdict.outcome != "passed":
        # A declared failure, a recommendation, or a clause that could not be tried.
        pytest.xfail(verdict.summary)
