"""core: groups of pods that are scheduled together or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from schedproof.candidate.subjects import Subject
from schedproof.stimulus.case import Case
from schedproof.stimulus.pods import FILLER

SLOT = "schedproof.dev/slot"
NODE = "node-gang"


def room(case: Case, slots: int) -> dict[str, Any]:
    """Let a node join that has this many slots, and return what a pod requests that takes one of them.

    A slot is an extended resource or, if the candidate excludes these, a CPU. The node has CPU to spare for sentinels.
    """
    by_cpu = case.leaves_out(Subject.EXTENDED_RESOURCES)
    case.nodes.add(NODE, cpu=f"{slots}500m", **({} if by_cpu else {SLOT: str(slots)}))
    case.settle()
    asked: dict[str, Any] = {"cpu": "1"} if by_cpu else {"extended": {SLOT: "1"}, "cpu": "1"}
    return {**asked, "nodeSelector": {"kubernetes.io/hostname": NODE}}


@pytest.mark.clause("core/gang")
def test_gang(case: Case) -> None:
    """A node has four slots, and each pod requests one: a group of three, a group of five, then two groups of three.

    The members of these two are created in turn: a scheduler that takes each pod by itself gives each group two slots.
    """
    spec = room(case, 4)
    (small,) = case.groups.create(1, 3, **spec)
    case.groups.expect_whole([small])
    case.delete(small)
    (large,) = case.groups.create(1, 5, **spec)
    case.groups.await_timeout()
    case.delete(large)
    rivals = case.groups.create(2, 3, **spec)
    case.groups.expect_whole(rivals)
    case.groups.await_timeout()


@pytest.mark.clause("core/gang-incomplete")
def test_gang_incomplete(case: Case) -> None:
    """Two members of a group of three are created, which would fit; after the group's timeout, the third."""
    spec = room(case, 4)
    (group,) = case.groups.create(1, 3, present=2, **spec)
    case.groups.await_timeout()
    case.groups.expect_whole([[*group, case.groups.add(group, "last")]])


@pytest.mark.clause("core/gang-replaced")
def test_gang_replaced(case: Case) -> None:
    """A member of a group that takes all slots of a node is deleted, and another one created."""
    spec = room(case, 3)
    (group,) = case.groups.create(1, 3, **spec)
    case.groups.expect_whole([group])
    lost, *others = group
    case.delete([lost])
    case.settle()
    case.groups.expect_whole([[*others, case.groups.add(group, "replacement")]])
    case.fence()


@pytest.mark.clause("core/gang-requeue")
def test_gang_requeue(case: Case) -> None:
    """Of two groups of three pods, one has room on a node with four slots: it is bound, and deleted."""
    spec = room(case, 4)
    rivals = case.groups.create(2, 3, **spec)
    case.groups.expect_whole(rivals)
    first, second = sorted(rivals, key=lambda group: not all(map(case.node_of, group)))
    case.groups.await_timeout()
    case.delete(first)
    case.groups.expect_whole([second])


@pytest.mark.clause("core/gang-holds-nothing")
def test_gang_holds_nothing(case: Case) -> None:
    """A group of five waits for a node with four slots; then pods without a group are created that need all of them."""
    spec = room(case, 4)
    case.groups.create(1, 5, **spec)
    case.groups.await_timeout()
    others = [case.pod("other", role="other", **spec) for _ in range(4)]
    case.expect_bound(others, case.groups.due)


@pytest.mark.clause("core/gang-priority")
def test_gang_priority(case: Case) -> None:
    """Two groups of three pods are pending when the scheduler starts, of which one has room; the younger is higher.

    If the lower is bound, both are tried once more, with members that have waited for their room and their back-off.
    """
    spec = room(case, 4)
    classes = [case.objects.priority_class(value) for value in (10, 1000)]

    def rivals(phase: int) -> list[list[Any]]:
        return [case.groups.create(1, 3, priority_class=name, phase=phase, **spec)[0] for name in classes]

    with case.candidate.down():
        lower, higher = rivals(0)
    case.groups.expect_whole([lower, higher])
    if all(map(case.node_of, higher)):
        return
    case.delete([*lower, *higher])
    blocker = case.pods.create("blocker", role="filler", scheduler_name=FILLER, node=NODE, cpu="4")
    case.settle()
    lower, higher = rivals(1)
    case.groups.await_timeout()
    case.view.await_back_off()
    case.delete([blocker])
    case.groups.expect_whole([lower, higher])


@pytest.mark.clause("core/gang-preempts")
def test_gang_preempts(case: Case) -> None:
    """Three of four slots are held by pods of lower priority: a group of five is created, then one of three."""
    spec = room(case, 4)
    low, high = case.objects.priority_class(10), case.objects.priority_class(1000, preempts=True)
    case.expect_bound([case.pod("holder", role="holder", priorityClassName=low, **spec) for _ in range(3)])
    (large,) = case.groups.create(1, 5, priority_class=high, **spec)
    case.groups.await_timeout()
    case.delete(large)
    (group,) = case.groups.create(1, 3, priority_class=high, **spec)
    case.groups.expect_whole([group])


@pytest.mark.clause("core/gang-evicted-whole")
def test_gang_evicted_whole(case: Case) -> None:
    """Two of four slots are held by a group of lower priority, two by pods of higher; a pod needs one slot."""
    spec = room(case, 4)
    low, high = case.objects.priority_class(10), case.objects.priority_class(1000, preempts=True)
    highest = case.objects.priority_class(2000)
    (group,) = case.groups.create(1, 2, priority_class=low, disrupted_whole=True, **spec)
    case.groups.expect_whole([group])
    case.expect_bound([case.pod("holder", role="holder", priorityClassName=highest, **spec) for _ in range(2)])
    case.expect_bound([case.pod("preemptor", role="preemptor", priorityClassName=high, **spec)], case.deadlines.requeue)
