from __future__ import annotations

from pathlib import Path

from schedproof.daemons.daemon import Host, flags
from schedproof.foundation.processes.sandbox import Process

PATIENCE = 7.0
"""Seconds for which it reliably waits for the apiserver: after 10 s it gives up, and ends."""

# Controllers that a scheduler's users rely on: node taints follow node conditions, owners get their pods, disruption
# budgets are counted, claims are bound or created from templates, deleted objects are removed. Cloud, certificate and
# attach-detach controllers have nothing to do in a cluster with simulated nodes.
_CONTROLLERS = (
    "namespace-controller", "serviceaccount-controller", "node-lifecycle-controller", "taint-eviction-controller",
    "garbage-collector-controller", "pod-garbage-collector-controller", "disruption-controller",
    "deployment-controller", "replicaset-controller", "statefulset-controller", "job-controller",
    "persistentvolume-binder-controller", "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller", "resourceclaim-controller",
    "ephemeral-volume-controller",
)  # fmt: skip
_OF_GATES = {"GenericWorkload": "podgroup-protection-controller"}
"""Controllers that exist only where a feature gate does. Without this one, no PodGroup can be deleted."""


def start_controller_manager(host: Host, kubeconfig: Path) -> Process:
    """Start kube-controller-manager; returns at once. It waits for the apiserver, see `PATIENCE`."""
    options = {
        "kubeconfig": kubeconfig,
        "controllers": ",".join(
            [*_CONTROLLERS, *(name for gate, name in _OF_GATES.items() if host.feature_gates.get(gate))]
        ),
        "leader-elect": False,
        "bind-address": "127.0.0.1",
        "secure-port": host.ports.reserve(),
        "cert-dir": host.sandbox.scratch / "controller-manager",
        "kube-api-qps": 500,
        "kube-api-burst": 1000,
        # By default 15 s, for which a claim waits if the controller has bound its volume but sees the claim late.
        "pvclaimbinder-sync-period": "1s",
        # Simulated nodes do not fail. kwok stops renewing leases of some nodes that are removed and re-created at once:
        # after 50 s, the default, they would briefly be unreachable every minute, which wakes waiting pods.
        "node-monitor-grace-period": "8760h",
        **host.gate_options,
    }
    return host.start("kube-controller-manager", ["kube-controller-manager", *flags(options)])
