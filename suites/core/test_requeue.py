"""core: a pod that could not be scheduled gets another chance when the world changes."""

import pytest

from schedproof.foundation.deadlines import REQUEUE


@pytest.mark.clause("core/requeue-node-added")
def test_requeue_node_added(case):
    """A pod is larger than every node. Then a node joins that is large enough."""
    pod = case.pod("large", cpu="12")
    case.expect_pending([pod])
    case.add_node("node-large", cpu="16")
    case.expect_bound([pod], REQUEUE)
