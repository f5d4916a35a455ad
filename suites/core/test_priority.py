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
