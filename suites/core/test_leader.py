"""core: two instances of one scheduler, of which one leads."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

PODS = 10
"""Pods of each step, one by one: if both instances schedule, either one is sometimes the first to try."""


@pytest.mark.clause("core/leader")
def test_leader(case: Case) -> None:
    """A second instance stands by. The first is frozen, and thawed once the second leads; then both are stopped.

    While the second stands by, a large pod is deleted. Its room is needed after the takeover, and once more after the
    return to the first.
    """
    node, *_ = case.nodes.names
    large = {"cpu": case.nodes.share("cpu", 0.6), "nodeSelector": {"kubernetes.io/hostname": node}}

    def one_by_one(name: str) -> None:
        for _ in range(PODS):
            case.expect_bound([case.pod(name, cpu="50m")])

    one_by_one("alone")
    known = [case.pod("large", **large)]
    case.expect_bound(known)
    with case.candidate.second_instance():
        one_by_one("beside")
        case.delete(known)
        with case.candidate.first_frozen():
            taken_over = [case.pod("taken-over", cpu="50m"), case.pod("large", **large)]
            case.expect_bound(taken_over, case.deadlines.takeover)
        one_by_one("after")
        case.delete(taken_over)
    case.expect_bound([case.pod("last", cpu="50m"), case.pod("large", **large)], case.deadlines.takeover)
