"""core: how a scheduler binds, and what it says when it cannot."""

import pytest

from schedproof.foundation.deadlines import REACTION

NO_SUCH_NODE = {"schedproof.dev/no-such": "node"}


@pytest.mark.clause("core/binds")
def test_binds(case):
    """Pods that fit everywhere, with and without requests, and one that names its node by its labels."""
    node, *_ = case.nodes
    pods = [case.pod(cpu="100m", memory="64Mi") for _ in range(5)]
    pods += [case.pod("bare"), case.pod("selects", nodeSelector={"kubernetes.io/hostname": node})]
    case.expect_bound(pods)


@pytest.mark.clause("core/prebound-untouched")
def test_prebound_untouched(case):
    """Pods that name their node at their creation, and this scheduler: there is nothing left to schedule."""
    for node in case.nodes[:4]:
        case.pod("prebound", role="prebound", node=node, cpu="100m")
    case.fence()


@pytest.mark.clause("core/no-head-of-line")
def test_no_head_of_line(case):
    """Pods that fit nowhere, and one whose every Binding is refused, were there first."""
    with case.hold_bindings() as gate:
        gate.refuse(case.next_name("erring"))
        case.pod("erring", role="erring", cpu="100m")
        blocked = [case.pod("too-large", cpu="1000"), case.pod("selects", nodeSelector=NO_SUCH_NODE)]
        case.expect_bound([case.pod("behind", cpu="100m") for _ in range(6)])
        case.expect_pending(blocked)


@pytest.mark.clause("core/bind-uid")
def test_bind_uid(case):
    """While its Binding is under way, the pod is deleted and created anew, as one that fits nowhere."""
    with case.hold_bindings() as gate:
        gate.hold(case.next_name("twice"))
        first = case.pod("twice", cpu="100m")
        if not gate.await_held():
            case.expect_bound([first])
            return
        second = case.recreate(first, nodeSelector=NO_SUCH_NODE)
        gate.release()
        case.expect_pending([second])


@pytest.mark.clause("core/unschedulable-condition")
def test_unschedulable_condition(case):
    """One pod is too large for every node, one selects a label that no node has."""
    pods = [case.pod("too-large", cpu="1000"), case.pod("selects", nodeSelector=NO_SUCH_NODE)]
    case.expect_pending(pods)
    case.await_condition(pods, "PodScheduled", REACTION)
    if "events" in case.trial.candidate.claims.features:
        case.await_event(pods, REACTION)
