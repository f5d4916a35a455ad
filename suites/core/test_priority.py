"""core: pods of different priorities."""

import pytest

PRIORITIES = (-10, 0, 2, 9, 10, 1000, 1_000_000_000)
"""As numbers, not as text nor without their sign. 0 is that of a pod without a PriorityClass."""


@pytest.mark.clause("core/priority-order")
def test_priority_order(case):
    """More pods than there is room for are waiting when the scheduler starts: it knows all of them before it decides.

    In the first round the pods of the highest priorities are the youngest, in the second the oldest ones.
    """
    node, *_ = case.nodes
    classes = {priority: case.priority_class(priority) for priority in PRIORITIES if priority}
    case.fill(node, cpu=case.share("cpu", 1 / 8))
    for phase, (order, room, size) in enumerate(((PRIORITIES, 3, 1 / 30), (PRIORITIES[::-1], 4, 1 / 36))):
        with case.candidate_down():
            pods = [
                case.pod(
                    "contender", role="contender", phase=phase, cpu=case.share("cpu", size),
                    nodeSelector={"kubernetes.io/hostname": node},
                    **({"priorityClassName": classes[priority]} if priority else {}),
                )
                for priority in order
            ]  # fmt: skip
        case.expect_so_many_bound(pods, room)
        case.delete(pods)


SLOT = "schedproof.dev/slot"


class Contest:
    """A node that joins with so many slots, which is all that there is to contend for."""

    def __init__(self, case, slots):
        name = f"node-{case.clause.rpartition('/')[2]}"
        case.add_node(name, **{SLOT: str(slots)})
        case.settle()
        self._case, self._here = case, {"nodeSelector": {"kubernetes.io/hostname": name}}

    def pod(self, role, priority, slots=1, *, preempts=False, **spec):
        """A pod of this priority that asks for so many slots."""
        return self._case.pod(
            role, role=role, extended={SLOT: str(slots)},
            priorityClassName=self._case.priority_class(priority, preempts=preempts), **self._here, **spec,
        )  # fmt: skip

    def holders(self, *held):
        """Pods that are bound, each of a priority, with so many slots."""
        pods = [self.pod("holder", priority, slots) for priority, slots in held]
        self._case.expect_bound(pods)


@pytest.mark.clause("core/preemption-lands")
def test_preemption_lands(case):
    """All slots of a node are held by pods of lower priority."""
    contest = Contest(case, 2)
    contest.holders((10, 1), (10, 1))
    case.expect_bound([contest.pod("preemptor", 1000, preempts=True)], case.deadlines.requeue)


@pytest.mark.clause("core/preemption-lower")
def test_preemption_lower(case):
    """One slot is held by a pod of lower priority, one by a pod of higher. Then another pod comes, of the same."""
    contest = Contest(case, 2)
    contest.holders((10, 1), (1000, 1))
    case.expect_bound([contest.pod("preemptor", 500, preempts=True)], case.deadlines.requeue)
    case.expect_pending([contest.pod("preemptor", 500, preempts=True)])


@pytest.mark.clause("core/preemption-spares")
def test_preemption_spares(case):
    """Of four slots a pod asks for three: who evicts the lowest priority first evicts one that is in nobody's way."""
    contest = Contest(case, 4)
    contest.holders((10, 1), (20, 3))
    case.expect_bound([contest.pod("preemptor", 1000, 3, preempts=True)], case.deadlines.requeue)


@pytest.mark.clause("core/preemption-never")
def test_preemption_never(case):
    """A pod of high priority waits for a slot, and is not to have that of another."""
    contest = Contest(case, 1)
    contest.holders((10, 1))
    case.expect_pending([contest.pod("preemptor", 1000)])


@pytest.mark.clause("core/preemption-budget")
def test_preemption_budget(case):
    """Two slots are held by pods of lower priority. The lowest is all that there is of its application."""
    contest = Contest(case, 2)
    contest.holders((20, 1))
    case.expect_bound([contest.pod("protected", 10, labels={"app": "alone"})])
    case.disruption_budget("alone")
    case.await_heeded()
    case.expect_bound([contest.pod("preemptor", 1000, preempts=True)], case.deadlines.requeue)


@pytest.mark.clause("core/preemption-condition")
def test_preemption_condition(case):
    """All slots of a node are held by pods of lower priority."""
    contest = Contest(case, 1)
    contest.holders((10, 1))
    case.expect_bound([contest.pod("preemptor", 1000, preempts=True)], case.deadlines.requeue)
