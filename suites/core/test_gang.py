"""core: groups of pods that are scheduled together or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.stimulus.case import Case

SLOT = "schedproof.dev/slot"


@pytest.mark.clause("core/gang")
def test_gang(case: Case) -> None:
    """A node has four slots, and each pod requests one: a group of three, a group of five, then two groups of three.

    The members of these two are created in turn: a scheduler that takes each pod by itself gives each group two slots.
    A slot is an extended resource or, if the candidate excludes these, a CPU.
    """
    by_cpu = case.leaves_out(Subject.EXTENDED_RESOURCES)
    case.nodes.add("node-gang", **{"cpu" if by_cpu else SLOT: "4"})
    case.settle()
    asked: dict[str, Any] = {"cpu": "1"} if by_cpu else {"extended": {SLOT: "1"}}
    spec = {**asked, "nodeSelector": {"kubernetes.io/hostname": "node-gang"}}
    (small,) = case.groups.create(1, 3, **spec)
    case.groups.expect_whole([small])
    case.delete(small)
    (large,) = case.groups.create(1, 5, **spec)
    case.groups.await_timeout()
    case.delete(large)
    rivals = case.groups.create(2, 3, **spec)
    case.groups.expect_whole(rivals)
    case.groups.await_timeout()
