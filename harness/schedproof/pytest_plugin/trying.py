"""Tries the clauses of a suite: a test's stimulus runs, its record is judged, and the verdict is its outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.foundation.disk import naming_full_disk
from schedproof.foundation.errors import SchedproofError
from schedproof.judge.verdict import Verdict
from schedproof.pytest_plugin.selection import candidate_of, clause_of, clauses_of, in_order, name_own
from schedproof.run.engine import Begun, Engine
from schedproof.run.request import RunRequest
from schedproof.run.result import CandidateResult
from schedproof.stimulus.case import Case
from schedproof.stimulus.context import CaseOver

JUDGED = "schedproof"
"""The property of a test whose clause was judged: the outcome."""
_TRYING = pytest.StashKey[Generator[Begun | Verdict, None, None]]()
"""The engine's generator of a test that has begun."""


class Trying:
    """The plugin of a process that tries clauses, or distributes them."""

    def __init__(self, engine: Engine, request: RunRequest) -> None:
        self._engine, self._request = engine, request

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "sched_candidate" in metafunc.fixturenames:
            candidates = self._request.candidates
            metafunc.parametrize("sched_candidate", candidates, ids=[candidate.name for candidate in candidates])

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        name_own(item)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not (ours := [item for item in items if clause_of(item)]):
            return
        selected = in_order(ours, self._request)
        part = self._request.part([(candidate_of(item), clause_of(item)) for item in selected])
        kept = [item for item in selected if (candidate_of(item).name, clause_of(item)) in part]
        config.hook.pytest_deselected(items=[item for item in ours if item not in kept])
        items[:] = [item for item in items if not clause_of(item)] + kept
        shard = self._request.shard
        self._engine.plan(
            CandidateResult(
                candidate, clauses_of(kept, candidate), shard=str(shard or ""),
                of_all_shards=clauses_of(selected, candidate) if shard else (),
            )
            for candidate in self._request.candidates
        )  # fmt: skip

    @pytest.fixture
    def case(self, request: pytest.FixtureRequest, sched_candidate: Candidate) -> Iterator[Case]:
        """The stimulus of the test's clause for the candidate."""
        item = request.node
        trying = item.stash[_TRYING] = self._engine.try_clause(sched_candidate, clause_of(item))
        with self._failing(), contextlib.closing(trying):
            begun = next(trying, None)
            if begun is None:
                pytest.skip("not tried: an earlier clause did not pass (--fail-fast)")
            if isinstance(begun, Verdict):
                pytest.skip(f"{begun.outcome}: {begun.summary}")
            if begun.hopeless:
                item.obj = _nothing
            yield begun.case

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Have the record judged when a test's function has ended, and report the verdict."""
        if (trying := pyfuncitem.stash.get(_TRYING, None)) is None:
            return (yield)
        failure: Exception | None = None
        with self._failing():
            try:
                with naming_full_disk(self._engine.settings.report):
                    yield
            except (AssertionError, CaseOver, SchedproofError) as error:
                failure, verdict = error, trying.throw(error)
            else:
                verdict = next(trying)
        assert isinstance(verdict, Verdict)
        pyfuncitem.user_properties.append((JUDGED, verdict.outcome))
        if isinstance(failure, AssertionError):
            raise failure
        if verdict.did_not_pass:
            from schedproof.report.run.terminal import explain

            text = explain(self._engine.result, candidate_of(pyfuncitem), verdict)
            pytest.fail(text, pytrace=False)
        if verdict.outcome != "passed":
            # A declared failure, a recommendation, or a clause that could not be tried.
            pytest.xfail(verdict.summary)
        return True

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """A context whose errors end the whole run if its result has an error, and otherwise fail this test."""
        try:
            yield
        except SchedproofError as error:
            if self._engine.result.error is not None:
                pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
            pytest.fail(str(error), pytrace=False)


def _nothing(**_fixtures: Any) -> None:
    """Replaces a test's function if the candidate is not running."""
