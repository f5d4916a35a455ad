"""plugin: the worked examples of what it claims to decide at its extension points."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

TURNS = (True, False, True)
"""For each turn, whether the pod that ranks first is the youngest."""


@pytest.mark.clause("plugin/filter")
def test_filter(case: Case) -> None:
    """For each example, a pod for one node. A pod that must wait then gets a node that is changed so that it fits."""
    case.points.try_filter(case.points.claimed.filter)


@pytest.mark.clause("plugin/prefilter")
def test_prefilter(case: Case) -> None:
    """For each example, a pod for one node. A pod that must wait then gets a node that is changed so that it fits."""
    case.points.try_filter(case.points.claimed.prefilter)


@pytest.mark.clause("plugin/score")
def test_score(case: Case) -> None:
    """For each example, each node is the better node in turn, and a few pods are created, one after the other.

    With two examples that prefer the opposite, a pending pod of one example is then changed into a pod of the other.
    """
    for number, example in enumerate(case.points.claimed.score):
        case.points.try_score(example, number)
    if case.points.claimed.opposed is not None:
        case.points.try_score_updates(case.points.claimed.score, case.points.claimed.opposed)


@pytest.mark.clause("plugin/batching-safe")
def test_batching_safe(case: Case) -> None:
    """Two pods of examples with opposite preferences are pending when the scheduler starts; each fills a node."""
    opposed = case.points.claimed.opposed
    assert opposed is not None  # or the clause would not apply
    case.points.try_batch(case.points.claimed.score, opposed, case.objects.priority_class(1))


@pytest.mark.clause("plugin/queue-sort")
def test_queue_sort(case: Case) -> None:
    """For each example, a pod and many that rank behind it wait for room: as the oldest, and as the youngest."""
    for number, example in enumerate(case.points.claimed.queue_sort):
        for turn, reverse in enumerate(TURNS):
            case.points.try_order(example, phase=len(TURNS) * number + turn, reverse=reverse)
