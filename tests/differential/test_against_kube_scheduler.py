"""The oracle decides as kube-scheduler's own Filter plugins do. `make differential` compares far more worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.foundation.progress import ConsoleProgress

from .comparison import compare
from .programs import built

pytestmark = [pytest.mark.live, pytest.mark.slow]

WORLDS = 3_000
DECIDED_BY = (
    "feasible", "SchedulingGates", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts",
    "NodeResourcesFit",
    "InterPodAffinity: node(s) didn't match pod affinity rules",
    "InterPodAffinity: node(s) didn't match pod anti-affinity rules",
    "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules",
    "PodTopologySpread: node(s) didn't match pod topology spread constraints",
    "PodTopologySpread: node(s) didn't match pod topology spread constraints (missing required label)",
    "VolumeBinding: node(s) didn't match PersistentVolume's node affinity",
    "VolumeBinding: node(s) didn't find available persistent volumes to bind",
    "VolumeBinding: pod has unbound immediate PersistentVolumeClaims",
    "VolumeBinding: node(s) did not have enough free storage",
    "VolumeRestrictions", "NodeVolumeLimits",
    "VolumeZone: node(s) had no available volume zone",
    "DynamicResources: cannot allocate all claims",
    "DynamicResources: resourceclaim not available on the node",
)  # fmt: skip


def test_the_oracle_decides_as_kube_scheduler_does(tmp_path: Path) -> None:
    comparison = compare(built("referee", tmp_path, DEFAULT_KUBERNETES, ConsoleProgress()), WORLDS, seed=1)
    assert not comparison.different, "\n".join(comparison.lines())
    # A comparison that tries nothing would agree as well.
    assert comparison.decided > WORLDS
    assert all(comparison.alike[reason] >= 20 for reason in DECIDED_BY), "\n".join(comparison.lines())
