"""Runs a suite's test: its stimulus runs, its record is judged, and the verdict is the test's outcome."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterator
from typing import Any, NoReturn

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.foundation.disk import naming_full_disk
from schedproof.foundation.errors import SchedproofError
from schedproof.judge.own import is_own
from schedproof.judge.verdict import Verdict
from schedproof.pytest_plugin.selection import candidate_of, clause_of
from schedproof.run.dispatch import ENDED, Ended
from schedproof.run.session import Session
from schedproof.stimulus.case import Case
from schedproof.stimulus.context import CaseOver


def cases(session: Session, item: pytest.Function, candidate: Candidate) -> Iterator[Case]:
    """Yield the stimulus of a test's clause for the candidate, and clean up afterwards."""
    clause = clause_of(item)
    try:
        _skip_untried(session, item, clause)
        yield session.begin(candidate, clause)
        session.clean_up()
        shown = session.shown
        if (told := Ended(bool(shown.broken_by), clause in shown.ignored)) != Ended():
            item.user_properties.append((ENDED, dataclasses.asdict(told)))
    except SchedproofError as error:
        _give_up(session, error)


def tried(session: Session, item: pytest.Function) -> Generator[None, object, object]:
    """Run the test's function, in a wrapper of `pytest_pyfunc_call`, and report the verdict."""
    clause, candidate = clause_of(item), candidate_of(item)
    if session.hopeless:
        item.obj = _nothing
    try:
        try:
            with naming_full_disk(session.settings.report):
                result = yield
        except CaseOver:
            result = True
        except AssertionError as error:
            if not is_own(clause):
                raise
            session.asserted(str(error))
            verdict = session.conclude(candidate, clause)
            item.user_properties.append(("schedproof", verdict.as_json()))
            raise
        except SchedproofError as error:
            session.trouble(str(error))
            result = True
        verdict = session.conclude(candidate, clause)
    except SchedproofError as error:
        session.result.error = session.result.error or error
        _give_up(session, error)
    item.user_properties.append(("schedproof", verdict.as_json()))
    run = session.result
    _raise_outcome(verdict, run.reproduce(candidate, clause), run.reproduce_among(candidate, clause))
    return result


def _nothing(**_fixtures: Any) -> None:
    """Replaces a test's function if the candidate is not running."""


def _skip_untried(session: Session, item: pytest.Function, clause: str) -> None:
    if session.leaves_out(candidate_of(item), clause):
        pytest.skip("not tried: an earlier clause did not pass (--fail-fast)")
    if (verdict := session.untried(candidate_of(item), clause)) is not None:
        item.user_properties.append(("schedproof", verdict.as_json()))
        pytest.skip(f"{verdict.outcome}: {verdict.summary}")


def _give_up(session: Session, error: SchedproofError) -> NoReturn:
    """End the whole run if the session has an error, otherwise fail this test."""
    if session.result.error is not None:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
    pytest.fail(str(error), pytrace=False)


def _raise_outcome(verdict: Verdict, *commands: str) -> None:
    from schedproof.report.run.terminal import explain

    if verdict.did_not_pass:
        pytest.fail(explain(verdict, *commands), pytrace=False)
    if verdict.outcome != "passed":
        # A declared failure, a recommendation, or a clause that could not be tried.
        pytest.xfail(verdict.summary)
