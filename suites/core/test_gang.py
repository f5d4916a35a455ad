"""core: groups of pods that are scheduled together or not at all."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

SLOT = "schedproof.dev/slot"


@pytest.mark.clause("core/gang")
def test_gang(case: Case) -> None:
    """A node has four slots, and each pod requests one: a group of three, a group of five, then two groups of three.

    The members of these two are created in turn: a scheduler that takes each pod by itself gives each group two slots.
    """
    case.nodes.add("node-gang", **{SLOT: "4"})
    case.settle()
    spec = {"extended": {SLOT: "1"}, "nodeSelector": {"kubernetes.io/hostname": "node-gang"}}
    (small,) = case.groups.create(1, 3, **spec)
    case.groups.expect_whole([small])
    case.delete(small)
    (large,) = case.groups.create(1, 5, **spec)
    case.groups.await_timeout()
    case.delete(large)
    rivals = case.groups.create(2, 3, **spec)
    case.groups.expect_whole(rivals)
    case.groups.await_timeout()
