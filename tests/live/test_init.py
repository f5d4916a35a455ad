"""A new candidate of `schedproof init` keeps what it claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from schedproof.cli.init import KINDS

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]


SCORING = ("--clause=core/binds", "--profile=network-aware", "--profile=normalization")
TRIED = {"extender": (*SCORING, "--profile=extender"), "controller": (), "plugin": (*SCORING, "--profile=plugin")}
"""Kinds of candidates, and what is tried of them. Two of them only score: the rest of core is kube-scheduler's own."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_candidate_keeps_what_it_claims(shell: Shell, kind: str) -> None:
    assert shell.schedproof("init", kind, "mine").code == 0
    ended = shell.schedproof("run", "mine", *TRIED[kind], "--report", "report")
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    # Not claimed are the clauses of the other kinds; and none that is merely recommended has failed.
    assert {clause["outcome"] for clause in judged["clauses"]} <= {"passed", "not-claimed"}, ended.printed


def test_plain_pytest_runs_the_suites_on_a_new_candidate(shell: Shell) -> None:
    assert shell.schedproof("init", "extender", ".").code == 0
    ended = shell.start("pytest", "--sched-clause", "core/binds", "--sched-report", "report").ends()
    assert ended.code == 0, ended.printed
    (judged,) = shell.report()["candidates"]
    outcomes = {clause["id"]: clause["outcome"] for clause in judged["clauses"]}
    assert outcomes["core/binds"] == "passed"
    assert "failed" not in outcomes.values()
