"""A user's own tests, as in docs/own-tests.md: run, judged, reported, and judged again."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from schedproof.foundation.content import content

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

EXAMPLES = content("suites").parent / "docs" / "examples"

BROKEN = """
def test_asserts(case):
    pod = case.pod()
    case.expect_bound([pod])
    assert case.node_of(pod) == "nowhere"

def test_expects_nothing(case):
    case.pod()

def test_expects_too_much(case):
    pod = case.pod(cpu=case.nodes.beyond("cpu", 2))
    case.expect_bound([pod])
"""


def outcomes(shell: Shell) -> dict[str, str]:
    (judged,) = shell.report()["candidates"]
    return {clause["id"]: clause["outcome"] for clause in judged["clauses"]}


def test_the_examples_pass_for_the_stock_scheduler(shell: Shell) -> None:
    shutil.copytree(EXAMPLES, shell.work, dirs_exist_ok=True)
    options = ("--sched-candidate=stock", "--sched-cluster-file=zones.yaml", "--sched-report=report")
    ended = shell.start("pytest", "test_zones.py", *options).ends()
    assert ended.code == 0, ended.printed
    expected = {"own/replicas-in-zones-of-their-own": "passed", "own/a-full-zone-is-left-alone": "passed"}
    assert outcomes(shell) == expected
    again = shell.schedproof("judge", "report")
    assert again.code == 0, again.printed
    shell.expect_nothing_left()


def test_a_failed_expectation_is_failed_and_a_test_without_evidence_is_invalid(shell: Shell) -> None:
    (shell.work / "test_broken.py").write_text(BROKEN)
    ended = shell.start("pytest", "test_broken.py", "--sched-candidate=stock", "--sched-report=report").ends()
    assert ended.code == 1, ended.printed
    expected = {"own/asserts": "failed", "own/expects-nothing": "invalid", "own/expects-too-much": "invalid"}
    assert outcomes(shell) == expected
    assert "case.expect_bound([pod])" in ended.out
    again = shell.schedproof("judge", "report", "-v")
    assert again.code == 1, again.printed
    assert "own/asserts: failed" in again.out
