"""extender: its responses to preempt requests, which list the victims that kube-scheduler has chosen."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

SLOT = "schedproof.dev/slot"


@pytest.mark.clause("extender/preempt")
def test_preempt(case: Case) -> None:
    """Three nodes have one slot each, held by pods of different lower priorities. Two preemptors need a slot each.

    A PodDisruptionBudget protects the pod of the lowest priority.
    """
    for number in range(3):
        case.nodes.add(f"node-preempt-{number}", **{SLOT: "1"})
    case.settle()
    slot = {"extended": {SLOT: "1"}}
    holders = [
        case.pod(
            "holder", role="holder", priorityClassName=case.objects.priority_class(priority), labels=labels, **slot
        )
        for priority, labels in ((10, {"app": "alone"}), (20, {}), (30, {}))
    ]
    case.expect_bound(holders)
    case.objects.disruption_budget("alone")
    case.view.await_freshness()
    for _ in range(2):
        high = case.objects.priority_class(1000, preempts=True)
        preemptor = case.pod("preemptor", role="preemptor", priorityClassName=high, **slot)
        case.expect_bound([preemptor], case.deadlines.requeue)
