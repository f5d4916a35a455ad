"""controller: how it treats the apiserver."""

import pytest


@pytest.mark.clause("controller/steady")
def test_steady(case):
    """A pod fits nowhere. Nothing else happens for a while."""
    pod = case.pod("too-large", cpu="1000")
    case.expect_pending([pod])
    case.keep_calm()


@pytest.mark.clause("controller/rbac-minimal")
def test_rbac_minimal(case):
    """All that was done to it in this run is the stimulus."""
