"""core: how a scheduler binds, and what it says when it cannot."""

import pytest

from schedproof.foundation.deadlines import REACTION


@pytest.mark.clause("core/binds")
def test_binds(case):
    """Pods that fit everywhere, with and without requests, and one that names its node by its labels."""
    node, *_ = case.nodes
    pods = [case.pod(cpu="100m", memory="64Mi") for _ in range(5)]
    pods += [case.pod("bare"), case.pod("selects", nodeSelector={"kubernetes.io/hostname": node})]
    case.expect_bound(pods)


@pytest.mark.clause("core/unschedulable-condition")
def test_unschedulable_condition(case):
    """One pod is too large for every node, one selects a label that no node has."""
    pods = [
        case.pod("too-large", cpu="1000"),
        case.pod("selects", nodeSelector={"schedproof.dev/no-such": "node"}),
    ]
    case.expect_pending(pods)
    case.await_condition(pods, "PodScheduled", REACTION)
    if "events" in case.trial.candidate.claims.features:
        case.await_event(pods, REACTION)
