"""controller: how it treats the apiserver."""

import pytest


@pytest.mark.clause("controller/steady")
def test_steady(case):
    """A pod fits nowhere, and another one's Binding is refused. Nothing else happens for a while."""
    with case.hold_bindings() as gate:
        gate.refuse(case.next_name("erring"))
        case.pod("erring", role="erring", cpu="100m")
        case.expect_pending([case.pod("too-large", cpu="1000")])
        case.keep_calm()


@pytest.mark.clause("controller/rbac-minimal")
def test_rbac_minimal(case):
    """All that was done to it in this run is the stimulus."""
