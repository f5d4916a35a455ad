"""controller: the apiserver is away for a while."""

from __future__ import annotations

import pytest

from schedproof.stimulus.case import Case

RESERVED = [{"key": "schedproof.dev/reserved", "effect": "NoSchedule"}]


@pytest.mark.clause("controller/watch-reconnect")
def test_watch_reconnect(case: Case) -> None:
    """The apiserver is unreachable. Meanwhile pods are deleted and created, a node is labelled, another tainted."""
    node, other, *_ = case.nodes.names
    filler = case.pods.fill(node, cpu="50m")
    case.settle()
    room = case.pod("room", cpu=case.nodes.share("cpu", 1 / 4), nodeSelector={"kubernetes.io/hostname": node})
    label = case.pod("selects", cpu="10m", nodeSelector={"schedproof.dev/late": "yes"})
    case.expect_pending([room, label])
    with case.candidate.apiserver_unreachable():
        case.delete([filler])
        case.nodes.change(node, labels={"schedproof.dev/late": "yes"})
        case.nodes.change(other, taints=RESERVED)
        new = case.pod("new", cpu="100m", nodeSelector={"kubernetes.io/hostname": node})
    case.expect_bound([room, label, new], case.deadlines.requeue)
    case.settle()
    case.expect_bound([case.pod("after", cpu="100m") for _ in range(2 * len(case.nodes.names))])
