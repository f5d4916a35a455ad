"""What is found out after a case, and what is on record of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from schedproof.foundation.progress import SilentProgress
from schedproof.history.acts import Broken, LeftOut, Noted, PlainPods, Unblocked
from schedproof.history.history import History
from schedproof.history.record import Record
from schedproof.judge.catalogue import BINDS, CATALOGUE, HEAD_OF_LINE
from schedproof.judge.shown import Shown
from schedproof.judge.verdict import Outcome, Verdict
from schedproof.run import follow_up as module

from ..judge.histories import HistoryBuilder
from ..judge.verdicts import verdict_of

PROGRESS = SilentProgress()


class VariedTrial(SimpleNamespace):
    """What its candidate has shown is what is on record."""

    @property
    def shown(self) -> Shown:
        return Shown.of(History([HistoryBuilder().history().run, *self.records]))


class VariedCase:
    """A case whose pods stayed unbound; `acts` is what was done to it."""

    clause = "core/fit-cpu"

    def __init__(self, *records: Record) -> None:
        self.acts: list[object] = []
        self.pods = SimpleNamespace(unbound_variations={"limits", "node affinity"})
        self.trial = VariedTrial(
            candidate=SimpleNamespace(name="tested"), to_look_into=sorted, keep_going=False, records=[*records],
            look_into_record=lambda *, late: not late, attachment=SimpleNamespace(ended=False),
            recorder=SimpleNamespace(add=self._add),
        )  # fmt: skip

    def _add(self, record: Record) -> None:
        self.acts.append(record)
        self.trial.records.append(record)

    def binds(self, bound: bool) -> bool:
        """Try plain pods."""
        self.acts.append("plain pods")
        self.trial.records.append(PlainPods(case=self.clause, bound=bound))
        return bound

    def close(self) -> None:
        self.acts.append("close")


def verdict(clause: str, outcome: Outcome = "failed", *symptoms: str) -> Verdict:
    evidence = {"symptoms": [{"kind": kind, "about": "", "text": ""} for kind in symptoms]}
    return verdict_of(clause, "required", outcome, "", evidence)


def looked_into(monkeypatch: pytest.MonkeyPatch, *, binds: bool, keep_going: bool = False) -> VariedCase:
    """The case, after it was looked into and cleaned up; the candidate was suspected to bind nothing."""
    case: Any = VariedCase()
    case.trial.keep_going = keep_going
    monkeypatch.setattr(module, "binds_pods", lambda *_: case.binds(binds))
    monkeypatch.setattr(module, "unbound", lambda _, kinds: [kind for kind in kinds if kind != "limits"])
    assert module.leave_out(case, PROGRESS) is binds
    module.close(case, verdict(case.clause, "failed", "process-ended"))
    assert bool(case.trial.shown.broken_by) is not (binds or keep_going)
    return case


def test_kinds_of_variation_that_keep_pods_unbound_are_left_out_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    case = looked_into(monkeypatch, binds=True)
    left_out = LeftOut(case=case.clause, kinds={"node affinity": "core/node-affinity"})
    assert case.acts == ["close", "plain pods", left_out, "close"]
    assert case.trial.shown.left_out == {"node affinity"}


@pytest.mark.parametrize("keep_going", [False, True])
def test_plain_pods_are_tried_once_for_both_suspicions(monkeypatch: pytest.MonkeyPatch, keep_going: bool) -> None:
    case = looked_into(monkeypatch, binds=False, keep_going=keep_going)
    assert case.trial.shown.left_out == set()
    assert case.acts == ["close", "plain pods", "close", *([] if keep_going else [Broken(case=case.clause)])]


def binding_nothing(*records: Record) -> Any:
    """The case of a candidate that has bound no pod in its time."""
    case = VariedCase(Noted(case=BINDS, habit="binds-nothing"), *records)
    case.clause = BINDS
    return case


@pytest.mark.parametrize("binds", [False, True])
def test_what_binds_nothing_is_tried_without_the_pods_that_wait(monkeypatch: pytest.MonkeyPatch, binds: bool) -> None:
    case = binding_nothing()
    case.trial.end_waiting = lambda: case.acts.append("end waiting")
    monkeypatch.setattr(
        module,
        "binds_pods",
        lambda *_, freed=False: case.binds(binds and freed and "end waiting" in case.acts),
    )
    assert module.unblock(case, PROGRESS) is binds
    recorded = [Unblocked(case=BINDS), Broken(case=BINDS)] if binds else []
    assert case.acts == ["close", "plain pods", "end waiting", "plain pods", *recorded]
    shown = case.trial.shown
    assert (bool(shown.broken_by), shown.waits_for(CATALOGUE[HEAD_OF_LINE])) == (binds, "")
    assert shown.waits_for(CATALOGUE["core/fit-cpu"]) == (BINDS if binds else "")


def test_what_the_record_shows_to_bind_nothing_is_not_tried_without_the_pods_that_wait() -> None:
    case = binding_nothing()
    case.trial.look_into_record = lambda *, late: late
    assert not module.unblock(case, PROGRESS)
    assert case.acts == []


@pytest.mark.parametrize("known", [None, True])
def test_what_binds_pods_after_its_deadline_is_not_blocked(monkeypatch: pytest.MonkeyPatch, known: bool | None) -> None:
    case = binding_nothing(*([PlainPods(case=BINDS, bound=True)] if known else []))
    monkeypatch.setattr(module, "binds_pods", lambda *_: case.binds(True))
    assert not module.unblock(case, PROGRESS)
    assert case.acts == ["close", *(["plain pods"] if known is None else [])]
    assert not case.trial.shown.broken_by


@pytest.mark.parametrize(
    ("clause", "outcome", "symptoms", "broken", "suspected"),
    [
        (BINDS, "failed", (), True, False),
        (BINDS, "invalid", (), True, False),
        (BINDS, "passed", (), False, False),
        (BINDS, "failed", ("process-ended",), False, True),
        ("core/fit-cpu", "failed", (), False, True),
        ("core/fit-cpu", "excluded", ("process-ended",), False, False),
        ("core/alive", "failed", ("process-ended",), False, False),
    ],
)
def test_only_the_first_clause_shows_by_itself_that_nothing_is_bound(
    monkeypatch: pytest.MonkeyPatch, clause: str, outcome: Outcome, symptoms: tuple[str, ...], broken: bool,
    suspected: bool,
) -> None:  # fmt: skip
    case = binding_nothing()
    case.clause, found = clause, verdict(clause, outcome, *symptoms)
    monkeypatch.setattr(module, "binds_pods", lambda *_: case.binds(True))
    module.learn(case.trial, found, PROGRESS)
    assert case.trial.shown.broken_by == (clause if broken else "")
    module.close(case, found)
    assert ("plain pods" in case.acts) is suspected


@pytest.mark.parametrize(
    ("clause", "habits", "symptoms", "ignored"),
    [
        ("core/node-selector", ("ignores-selectors",), (), True),
        ("core/node-selector", ("binds",), (), False),
        ("core/fit-cpu", ("ignores-selectors",), (), False),
        ("core/requeue-bind-refused", (), ("never-retried",), True),
        ("core/requeue-label-changed", (), ("never-retried",), True),
        ("core/requeue-label-changed", (), ("request-refused",), False),
    ],
)
@pytest.mark.parametrize(("outcome", "keep_going"), [("failed", False), ("failed", True), ("passed", False)])
def test_a_clause_that_others_stand_on_shows_that_its_subject_is_ignored(
    clause: str, habits: tuple[Any, ...], symptoms: tuple[str, ...], ignored: bool, outcome: Outcome, keep_going: bool
) -> None:
    case: Any = VariedCase(*(Noted(case=clause, habit=habit) for habit in habits))
    case.trial.keep_going = keep_going
    module.learn(case.trial, verdict(clause, outcome, *symptoms), PROGRESS)
    assert (clause in case.trial.shown.ignored) is (ignored and outcome == "failed" and not keep_going)
    assert not case.trial.shown.broken_by
