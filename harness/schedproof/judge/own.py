"""Clauses of a user's own: a test that has the fixture `case`, and names no clause of the catalogue."""

from __future__ import annotations

from schedproof.candidate.profiles import OWN
from schedproof.history.acts import Asserted
from schedproof.history.history import History
from schedproof.judge.clause import Clause
from schedproof.judge.clauses.core.placement import judge_placement
from schedproof.judge.verdict import Finding, failed, gives


def is_own(clause: object) -> bool:
    """Whether an id is that of a test of the user's own."""
    return isinstance(clause, str) and clause.startswith(f"{OWN}/")


def own_clause(clause: str, guarantee: str = "") -> Clause:
    """The clause of a test; its guarantee is the first sentence of the test's docstring."""
    return Clause(clause, guarantee or "What a test of your own asserts.", "a test of your own", judge_own)


@gives("assertion-failed", also=[judge_placement])
def judge_own(history: History, case: str) -> Finding:
    """Every pod is placed where it can run, every expectation is met, and every assertion holds."""
    placed = judge_placement(history, case)
    broken = next(history.of(Asserted, case), None)
    if broken is not None and placed.outcome != "failed":
        return failed("assertion-failed", str(broken.text), placed.evidence)
    return placed
