"""The end of a run in pytest, without pytest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_UNPROVED
from schedproof.pytest_plugin.ending import UnreportedEnding
from schedproof.pytest_plugin.trying import JUDGED
from schedproof.run.engine import Engine
from schedproof.run.events import Event, Finished
from schedproof.run.launch import Settings
from schedproof.run.result import CandidateResult, RunResult


class Ending:
    """An ending whose engine has nothing to close."""

    def __init__(self, folder: Path) -> None:
        self._events: list[Event] = []
        self.result = RunResult(1, "embedded", folder)
        self.result.candidates["stock"] = CandidateResult(find_candidate("stock"), ("core/binds",))
        session: Any = SimpleNamespace(settings=Settings(report=folder), result=self.result, close=lambda: None)
        self.plugin = UnreportedEnding(Engine(session, [self._events.append]))

    def report(self, when: str, *properties: tuple[str, str]) -> None:
        report: Any = SimpleNamespace(
            when=when, failed=True, user_properties=[*properties], nodeid="test_it", longreprtext="AssertionError"
        )
        self.plugin.pytest_runtest_logreport(report)

    def interrupt(self, error: BaseException) -> None:
        self.plugin.pytest_keyboard_interrupt(SimpleNamespace(value=error))  # type: ignore[arg-type]

    @property
    def exit_code(self) -> int:
        self.plugin.pytest_unconfigure(SimpleNamespace())  # type: ignore[arg-type]
        (end,) = self._events
        assert isinstance(end, Finished)
        return end.exit_code


@pytest.fixture
def ending(tmp_path: Path) -> Ending:
    return Ending(tmp_path)


@pytest.mark.parametrize("when", ["setup", "call", "teardown"])
def test_a_failure_without_a_verdict_is_an_error_of_the_run(ending: Ending, when: str) -> None:
    ending.report(when)
    assert ending.exit_code == EXIT_ERROR
    assert f"test_it ({when}): AssertionError" in str(ending.result.error)


def test_a_failure_by_a_verdict_is_none(ending: Ending) -> None:
    ending.report("call", (JUDGED, "failed"))
    assert ending.exit_code == EXIT_UNPROVED
    assert ending.result.error is None


def test_the_error_of_a_candidate_says_all(ending: Ending) -> None:
    ending.result.candidates["stock"].error = CandidateError("it does not start")
    ending.report("setup")
    assert ending.exit_code == EXIT_ERROR
    assert ending.result.error is None


def test_only_the_user_interrupts(ending: Ending, tmp_path: Path) -> None:
    ending.interrupt(KeyboardInterrupt())
    assert ending.exit_code == EXIT_INTERRUPTED
    ended = Ending(tmp_path)
    ended.interrupt(pytest.exit.Exception("no cluster"))
    assert ended.exit_code == EXIT_ERROR
