"""plugin: what it claims to decide at its extension points, by its worked examples."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

TURNS = (True, False, True)
"""Whether the one that is to come first is the youngest, in turn."""


@pytest.mark.clause("plugin/filter")
def test_filter(case: Case) -> None:
    """A pod for each example, for one node; where it is to wait, the node is then changed so that it fits."""
    case.points.try_filter(case.points.claimed.filter)


@pytest.mark.clause("plugin/prefilter")
def test_prefilter(case: Case) -> None:
    """A pod for each example, for one node; where it is to wait, the node is then changed so that it fits."""
    case.points.try_filter(case.points.claimed.prefilter)


@pytest.mark.clause("plugin/score")
def test_score(case: Case) -> None:
    """For each example, each node is the better one in turn, and a few pods come, one after the other.

    Of two examples that prefer the opposite, a pod that waits is then made one of the other.
    """
    for number, example in enumerate(case.points.claimed.score):
        case.points.try_score(example, number)
    if case.points.claimed.opposed is not None:
        case.points.try_score_updates(case.points.claimed.score, case.points.claimed.opposed)


@pytest.mark.clause("plugin/batching-safe")
def test_batching_safe(case: Case) -> None:
    """A pod of each of two examples, which prefer the opposite, waits when the scheduler starts; each fills a node."""
    opposed = case.points.claimed.opposed
    assert opposed is not None  # or the clause would not apply
    case.points.try_batch(case.points.claimed.score, opposed, case.objects.priority_class(1))


@pytest.mark.clause("plugin/queue-sort")
def test_queue_sort(case: Case) -> None:
    """For each example, one waits for room for one with many that come after it: as the oldest, and as the youngest."""
    for number, example in enumerate(case.points.claimed.queue_sort):
        for turn, reverse in enumerate(TURNS):
            case.points.try_order(example, phase=len(TURNS) * number + turn, reverse=reverse)
