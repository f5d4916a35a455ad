"""core: pods are kept off nodes whose resources do not suffice."""

import pytest


@pytest.mark.clause("core/fit-cpu")
def test_fit_cpu(case):
    """Only one node has 2 CPUs free. The first pod that wants them gets them; for the second there is no room."""
    roomy, *others = case.nodes
    case.fill(roomy, leaving_cpu="2500m")
    for node in others:
        case.fill(node, leaving_cpu="1500m")
    case.settle()
    first = case.pod("fits", cpu="2")
    case.expect_bound([first])
    second = case.pod("exceeds", cpu="2")
    larger = case.pod("exceeds", cpu="1501m")
    case.expect_pending([second, larger], cpu="250m")
