"""core: generated nodes and pods, drawn by the seed of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from schedproof.stimulus.case import Case


@pytest.mark.clause("core/random-worlds")
def test_random_worlds(case: Case) -> None:
    """Pods that are particular about labels, fields and taints; then pods of several containers that fill up a node.

    Hostnames differ from names, quantities come in every notation, and what a node offers is less than its capacity.
    """
    names = []
    for number, node in enumerate(case.worlds.nodes(4)):
        names.append(f"node-world-{number}")
        case.nodes.add(names[-1])
        case.nodes.change(names[-1], **node)
    case.settle()
    case.expect_decided([case.pod("particular", **case.worlds.particular(names)) for _ in range(36)])
    offered = {"cpu": "5", "memory": "5Gi", "ephemeral-storage": "10Gi", "schedproof.dev/device": "10"}
    case.nodes.add("node-full", **{resource: f"4{amount}" for resource, amount in offered.items()})
    case.nodes.resize("node-full", **offered)
    case.settle()
    image = case.trial.cluster.workload_image
    here = {"nodeSelector": {"kubernetes.io/hostname": "node-full"}}
    waiting = []
    for _ in range(24):
        pod = case.pod("demanding", **case.worlds.demanding(image), **here)
        if case.pods.fits(pod):
            case.expect_bound([pod])
        else:
            waiting.append(pod)
    # Pods that wait are tried again, and fit no better then.
    case.keep_calm()
    case.expect_pending(waiting, nodeSelector={"kubernetes.io/hostname": case.nodes.names[0]})
