"""core: two instances of one scheduler, of which one leads."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

PODS = 10
"""Pods of each step, one by one: if both instances schedule, either one is sometimes the first to try."""


@pytest.mark.clause("core/leader")
def test_leader(case: Case) -> None:
    """A second instance stands by. The first is frozen, and thawed once the second leads; then both are stopped."""

    def one_by_one(name: str) -> None:
        for _ in range(PODS):
            case.expect_bound([case.pod(name, cpu="50m")])

    one_by_one("alone")
    with case.candidate.second_instance():
        one_by_one("beside")
        with case.candidate.first_frozen():
            case.expect_bound([case.pod("taken-over", cpu="50m") for _ in range(2)], case.deadlines.takeover)
        one_by_one("after")
    case.expect_bound([case.pod("last", cpu="50m")], case.deadlines.takeover)
