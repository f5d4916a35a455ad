from __future__ import annotations

from pathlib import Path

from schedproof.daemons.daemon import Host, flags
from schedproof.foundation.processes.sandbox import Process

PATIENCE = 7.0
"""Seconds for which it can be counted on to wait for the apiserver: from 10 s on it gives up, and ends."""

# What a scheduler's users rely on: node taints follow node conditions, owners get their pods,
# budgets are counted, claims are bound or made from templates, what is deleted goes. The cloud and certificate
# controllers, and those that attach volumes, have no counterpart in a cluster whose nodes are played.
_CONTROLLERS = (
    "namespace-controller", "serviceaccount-controller", "node-lifecycle-controller", "taint-eviction-controller",
    "garbage-collector-controller", "pod-garbage-collector-controller", "disruption-controller",
    "deployment-controller", "replicaset-controller", "statefulset-controller", "job-controller",
    "persistentvolume-binder-controller", "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller", "resourceclaim-controller",
)  # fmt: skip


def start_controller_manager(host: Host, kubeconfig: Path) -> Process:
    """Start kube-controller-manager; returns at once. It waits for the apiserver by itself, for a while."""
    options = {
        "kubeconfig": kubeconfig,
        "controllers": ",".join(_CONTROLLERS),
        "leader-elect": False,
        "bind-address": "127.0.0.1",
        "secure-port": host.ports.reserve(),
        "cert-dir": host.sandbox.scratch / "controller-manager",
        "kube-api-qps": 500,
        "kube-api-burst": 1000,
        # 15 s by default: a claim whose volume it has bound, and of which it hears late, waits for that long.
        "pvclaimbinder-sync-period": "1s",
        # Nodes are played, and do not die. kwok loses hold of the leases of some that are removed and come again at
        # once: after 50 s, the default, they would be unreachable each minute for a moment, which wakes waiting pods.
        "node-monitor-grace-period": "8760h",
    }
    return host.start("kube-controller-manager", ["kube-controller-manager", *flags(options)])
