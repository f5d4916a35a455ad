"""core: connections to the apiserver end, and watches with them."""

import pytest


@pytest.mark.clause("core/watch-reconnect")
def test_watch_reconnect(case):
    """All connections end, and can be made anew at once. Then a pod goes, a node changes, a pod comes. Twice."""
    for late in ("schedproof.dev/late", "schedproof.dev/later"):
        node, *_ = case.nodes
        filler = case.fill(node, cpu="50m")
        case.settle()
        room = case.pod("room", cpu=case.share("cpu", 1 / 4), nodeSelector={"kubernetes.io/hostname": node})
        label = case.pod("selects", cpu="10m", nodeSelector={late: "yes"})
        case.expect_pending([room, label])
        with case.apiserver_away():
            pass
        case.delete([filler])
        case.change_node(node, labels={late: "yes"})
        new = case.pod("new", cpu="100m")
        case.expect_bound([room, label, new], case.deadlines.requeue)
        case.delete([room, label, new])
