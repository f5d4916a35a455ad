"""controller: how the candidate uses the apiserver."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case


@pytest.mark.clause("controller/steady")
def test_steady(case: Case) -> None:
    """A pod fits nowhere, and every Binding of another pod is refused. Nothing else happens for a while."""
    with case.candidate.hold_bindings() as gate:
        gate.refuse(case.pods.next_name("erring"))
        case.pod("erring", role="erring", cpu="100m")
        case.expect_pending([case.pod("too-large", cpu="1000")])
        case.keep_calm()


@pytest.mark.clause("controller/rbac-sufficient")
def test_rbac_sufficient(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""


@pytest.mark.clause("controller/rbac-dangerous")
def test_rbac_dangerous(case: Case) -> None:
    """Reads the declared RBAC rules, whether or not the candidate uses them."""


@pytest.mark.clause("controller/rbac-minimal")
def test_rbac_minimal(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""


@pytest.mark.clause("controller/binding-subresource")
def test_binding_subresource(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""


@pytest.mark.clause("controller/no-spec-patch")
def test_no_spec_patch(case: Case) -> None:
    """No stimulus of its own: the requests of the whole run are judged."""


@pytest.mark.clause("controller/conflict")
def test_conflict(case: Case) -> None:
    """While a Binding is in flight, another scheduler binds the pod elsewhere. A new pod then needs the room."""
    large = case.nodes.share("cpu", 5 / 8)
    with case.candidate.hold_bindings() as gate:
        gate.hold(case.pods.next_name("raced"))
        raced = case.pod("raced", role="raced", cpu=large)
        if not gate.await_held():
            case.expect_bound([raced])
            return
        case.pods.bind_elsewhere(raced, next(node for node in case.nodes.names if node != gate.held_node))
        gate.release()
        here = {"nodeSelector": {"kubernetes.io/hostname": gate.held_node}}
        case.expect_bound([case.pod("after", cpu=large, **here)], case.deadlines.requeue)
        case.keep_calm()
        case.fence()
