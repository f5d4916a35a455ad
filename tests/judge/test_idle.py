"""core/idle: the CPU time of a candidate's processes while nothing happens."""

from __future__ import annotations

import pytest

from schedproof.history.acts import Rested

from .histories import HistoryBuilder, told

CASE = "core/idle"
WAITS = {"nodeSelector": {"schedproof.dev/no-such": "node"}}


def rested(*used: float, name: str = "scheduler", kept: float = 0.0) -> HistoryBuilder:
    h = HistoryBuilder(CASE)
    h.pod("waits", **WAITS)
    h.fence()
    h.expect("waits", "pending")
    for seconds in used:
        h.add(Rested(case=CASE, seconds=1.0, used={name: seconds}, kept={name: kept} if kept else {}))
    return h


@pytest.mark.parametrize("used", [(0.1, 0.0, 0.3), (1.0, 0.1, 0.1), (2.0,)], ids=["rests", "busy once", "tried once"])
def test_a_scheduler_that_rests_in_all_moments_but_one_passes(used: tuple[float, ...]) -> None:
    told(rested(*used).verdict(), "passed")


def test_a_scheduler_that_computes_while_nothing_happens_fails() -> None:
    told(rested(0.1, 0.9, 1.0).verdict(), "failed", "keeps-processor-busy")


def test_on_a_busy_machine_it_computes_whenever_it_may() -> None:
    told(rested(0.5, 0.5, kept=0.5).verdict(), "failed", "keeps-processor-busy")
    told(rested(0.5, 0.5, kept=0.2).verdict(), "passed")


def test_a_little_time_says_nothing_however_long_it_was_kept() -> None:
    told(rested(0.05, 0.05, kept=0.99).verdict(), "passed")


def test_without_processes_of_this_machine_nothing_is_known() -> None:
    told(rested().verdict(), "invalid", "not-tried")
