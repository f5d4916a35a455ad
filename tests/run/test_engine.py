"""The way of a run, on a session without a cluster."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.candidate.shipped import find_candidate
from schedproof.foundation.errors import HostError, SchedproofError
from schedproof.foundation.exit_codes import EXIT_ERROR, EXIT_INTERRUPTED
from schedproof.foundation.progress import SilentProgress
from schedproof.judge.catalogue import BINDS, CATALOGUE
from schedproof.judge.shown import Shown
from schedproof.judge.verdict import Outcome
from schedproof.run import engine as module
from schedproof.run import follow_up
from schedproof.run.engine import Begun, Engine
from schedproof.run.events import Ended, Event, Finished, Judged, Planned
from schedproof.run.launch import Settings
from schedproof.run.result import CandidateResult, RunResult
from schedproof.stimulus.context import CaseOver

from ..judge.verdicts import verdict_of

STOCK = find_candidate("stock")
OWN = "own/it-works"


class Trying:
    """An engine whose session and judge do nothing; `acts` is what it did, and what it emitted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.acts: list[object] = []
        self.shown = Shown()
        self.outcome: Outcome = "passed"
        self.settings = Settings(report=folder)
        self.result = RunResult(1, "embedded", folder)
        self.trial: Any = SimpleNamespace(
            create_long_waiting=self.act("another pod waits"), candidate=STOCK, is_over=False,
            attachment=SimpleNamespace(restart_if_ended=lambda: None, start_error=None), over=self.act("over"),
            history=lambda: None, shown=self.shown,
        )  # fmt: skip
        monkeypatch.setattr(module, "Case", self._case)
        monkeypatch.setattr(module, "describe_cluster", lambda *_: None)
        monkeypatch.setattr(module, "applies", lambda *_: None)
        monkeypatch.setattr(module, "judge", lambda _, clause: verdict_of(clause, "required", self.outcome, ""))
        monkeypatch.setattr(module, "last_round", self.act("last round"))
        monkeypatch.setattr(follow_up, "explain", lambda *_: False)
        monkeypatch.setattr(follow_up, "learn", lambda *_: None)
        monkeypatch.setattr(follow_up, "close", self.act("close"))
        monkeypatch.setattr(module, "is_own", lambda clause: clause == OWN)
        monkeypatch.setitem(CATALOGUE, OWN, CATALOGUE["core/fit-cpu"])
        session: Any = SimpleNamespace(
            settings=self.settings, result=self.result, progress=SilentProgress(), instance=0, cluster=None,
            trial=lambda _: self.trial, is_attached=lambda _: True, close=self.act("closed"),
        )  # fmt: skip
        self.engine = Engine(session, [self._output])
        self.engine.plan([CandidateResult(STOCK, (BINDS, "core/fit-cpu", "core/alive"))])
        self.acts.clear()

    def act(self, name: str) -> Any:
        return lambda *_: self.acts.append(name)

    def _case(self, trial: object, clause: str) -> Any:
        return SimpleNamespace(
            trial=trial, clause=clause, end=self.act("end"),
            trouble=lambda text: self.acts.append(f"trouble: {text}"),
            asserted=lambda text: self.acts.append(f"asserted: {text}"),
        )  # fmt: skip

    def _output(self, event: Event) -> None:
        self.acts.append(type(event))

    def clause(self, clause: str, error: Exception | None = None) -> object:
        """Try a clause, whose stimulus raises an error, if any; return what was yielded last."""
        trying, last = self.engine.try_clause(STOCK, clause), None
        try:
            for last in trying:
                if isinstance(last, Begun) and error is not None:
                    last = trying.throw(error)
        finally:
            trying.close()
        return last


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Trying:
    return Trying(monkeypatch, tmp_path)


def test_a_clause_is_begun_judged_and_cleaned_up(run: Trying) -> None:
    assert run.clause("core/fit-cpu") == run.result.candidates["stock"].verdicts[0]
    assert run.acts == ["another pod waits", "end", Judged, "close", Ended]


def test_a_clause_about_the_whole_run_ends_with_a_last_round(run: Trying) -> None:
    run.clause("core/alive")
    assert run.acts == ["another pod waits", "last round", "end", "over", Judged, "close", Ended]


@pytest.mark.parametrize(
    ("clause", "error", "recorded"),
    [
        (BINDS, CaseOver(), []),
        (BINDS, HostError("no room"), ["trouble: no room"]),
        (OWN, AssertionError("two"), ["asserted: two"]),
    ],
)
def test_a_stimulus_that_ends_early_is_on_record_and_judged(
    run: Trying, clause: str, error: Exception, recorded: list[str]
) -> None:
    run.clause(clause, error)
    assert run.acts == ["another pod waits", *recorded, "end", Judged, "close", Ended]


def test_a_failed_assertion_of_a_suite_is_an_error_of_the_suite(run: Trying) -> None:
    with pytest.raises(AssertionError):
        run.clause(BINDS, AssertionError())
    assert run.acts == ["another pod waits", "close", Ended]


def test_a_clause_without_a_verdict_is_cleaned_up(run: Trying) -> None:
    """As after Ctrl-C: pytest tears down what it had set up."""
    trying = run.engine.try_clause(STOCK, BINDS)
    next(trying)
    trying.close()
    assert run.acts == ["another pod waits", "close", Ended]


@pytest.mark.parametrize("where", ["last_round", "close"])
def test_an_error_while_judging_or_cleaning_up_ends_the_run(
    run: Trying, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object) -> None:
        raise SchedproofError("it broke")

    monkeypatch.setattr(module if where == "last_round" else follow_up, where, fail)
    with pytest.raises(SchedproofError):
        run.clause("core/alive")
    assert str(run.result.error) == "it broke"


def test_a_clause_that_depends_on_a_failed_one_has_its_verdict_at_once(run: Trying) -> None:
    run.trial.shown = Shown(broken_by=BINDS)
    verdict: Any = run.clause("core/fit-cpu")
    assert (verdict.outcome, verdict.depends_on, run.acts) == ("skipped", BINDS, [Judged])


def test_after_a_failure_only_the_clauses_about_the_whole_run_are_tried(run: Trying) -> None:
    object.__setattr__(run.settings, "fail_fast", True)
    run.outcome = "failed"
    assert [run.clause(clause) is not None for clause in (BINDS, "core/fit-cpu", "core/alive")] == [True, False, True]


@pytest.mark.parametrize("cause", ["", BINDS])
def test_no_further_pod_waits_once_nothing_more_is_tried(run: Trying, cause: str) -> None:
    run.trial.shown = Shown(broken_by=cause)
    trying = run.engine.try_clause(STOCK, "core/alive")
    begun: Any = next(trying)
    assert begun.hopeless is bool(cause)
    assert run.acts == ([] if cause else ["another pod waits"])


def test_outputs_get_the_result_once_all_is_closed(run: Trying) -> None:
    run.engine.finish()
    assert run.acts == ["closed", Finished]


def test_an_interrupt_while_closing_is_reported(run: Trying) -> None:
    events: list[Event] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    run.engine.session.close = interrupt  # type: ignore[method-assign]
    engine = Engine(run.engine.session, [events.append])
    with pytest.raises(KeyboardInterrupt):
        engine.finish()
    assert [event.exit_code for event in events if isinstance(event, Finished)] == [EXIT_INTERRUPTED]


def test_the_exit_code_of_an_interrupted_run_is_not_that_of_its_result(tmp_path: Path) -> None:
    result = RunResult(1, "embedded", tmp_path, error=HostError("it broke"))
    assert Finished(result).exit_code == EXIT_ERROR
    assert Finished(result, interrupted=True).exit_code == EXIT_INTERRUPTED


def test_outputs_know_what_is_going_to_be_tried(run: Trying) -> None:
    run.engine.plan([CandidateResult(STOCK, (BINDS,))])
    assert run.acts == [Planned]
    assert run.result.candidates["stock"].selected == (BINDS,)
