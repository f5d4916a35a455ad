"""A scheduler as in many a tutorial, fixed step by step: the first cause in the report is what the next step fixes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.slow]

FOLDER = Path(__file__).parents[2] / "fixtures" / "candidates" / "first-scheduler"
STEPS = {
    "1-as-in-a-tutorial": ("process-ended", ANY),
    "2-parses-no-answer": ("process-ended", ANY),
    "3-goes-on": ("rule-ignored", "node-affinity"),
    "4-selects-nodes": ("rule-ignored", "resources"),
    "5-fits": ("rule-ignored", "taints"),
    "6-tolerates": ("rule-ignored", "host-ports"),
    "7-shares-ports": ("never-retried", ""),
    "8-tries-again": ("pending-without-reason", ""),
    "9-says-why": ("outdated-binding", ""),
    "10-binds-by-uid": ("gated-pod-called-unschedulable", ""),
    "11-heeds-gates": ("preference", "ignored"),
    "12-asks-prometheus": ("preference", "totals"),
    "13-by-rates": ("needs-readings", ""),
}
"""Of each step but the last the cause that is shown first: its kind, and what it is about.

Exceptions have other names in other versions of the client.
"""
LAST = "14-without-readings"
PAGE = 100


@pytest.mark.parametrize("step", STEPS)
def test_the_first_cause_is_what_the_next_step_fixes(shell: Shell, step: str) -> None:
    ended = shell.schedproof("run", str(FOLDER / step), "--report=report")
    assert ended.code == 1, ended.printed
    (candidate,) = shell.report()["candidates"]
    first, *_ = candidate["causes"]
    assert (first["kind"], first["about"]) == STEPS[step], ended.printed
    page = ended.out[ended.out.index("clauses that passed, of those that are claimed:") :]
    assert len(page.splitlines()) <= PAGE
    shell.expect_nothing_left()


def test_the_last_step_passes(shell: Shell) -> None:
    ended = shell.schedproof("run", str(FOLDER / LAST), "--report=report")
    assert ended.code == 0, ended.printed
    shell.expect_nothing_left()


def test_each_step_is_tried() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*STEPS, LAST}
