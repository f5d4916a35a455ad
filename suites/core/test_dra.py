"""core: a pod is bound only to nodes with the devices that it claims."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

FAST, SLOW = "fast", "slow"


@pytest.mark.clause("core/dra")
def test_dra(case: Case) -> None:
    """Each node has two fast devices of a model of its own, and two slow devices of its neighbour's model.

    Pods claim one device of each model, by a claim for one pod, by a claim that several pods share, and by a
    template; one pod has two claims. Other pods claim devices that are allocated by then, or more devices than there
    are, until devices are released, and others are published.
    """
    nodes = case.nodes.names
    models = [f"model-{number}" for number, _ in enumerate(nodes)]
    for model, neighbour, node in zip(models, (*models[1:], models[0]), nodes, strict=True):
        case.dra.publish(node, (FAST, model), (FAST, model), (SLOW, neighbour), (SLOW, neighbour))
    fast, slow = case.dra.device_class(FAST), case.dra.device_class(SLOW)
    case.sight.await_freshness()
    claimed = [[case.dra.claim(fast, model)] for model in models]
    claimed.append([case.dra.claim(slow, models[0]) for _ in range(2)])
    for claims in claimed:
        case.expect_bound([case.pod(resourceClaims=claims)])
    shared = case.dra.claim(fast, models[0])
    for _ in range(2):
        case.expect_bound([case.pod(resourceClaims=[shared])])
    elsewhere = case.pod("elsewhere", resourceClaims=[shared], nodeSelector={"kubernetes.io/hostname": nodes[1]})
    own = case.pod(resourceClaims=[case.dra.template(fast, models[1])])
    case.expect_bound([own])
    late = [case.pod("late", resourceClaims=[case.dra.claim(fast, model)]) for model in models[:2]]
    large = case.pod("large", resourceClaims=[case.dra.claim(fast, models[-1], count=3)])
    case.expect_pending([elsewhere, *late, large])
    case.delete([own])
    case.dra.await_released([own])
    case.expect_bound([late[1]], case.deadlines.requeue)
    case.dra.publish(nodes[-1], (FAST, models[0]))
    case.expect_bound([late[0]], case.deadlines.requeue)
