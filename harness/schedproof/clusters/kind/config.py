"""Generates kind's configuration, with the lock file mounted into every node, and a readable audit log."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from schedproof.clusters.kind.ownership import MARK
from schedproof.clusters.spec import KindSpec
from schedproof.foundation.content import content

AUDIT_LOG = "audit.jsonl"
_POLICY = "/etc/kubernetes/schedproof-audit-policy.yaml"

# For nodes that are only objects: no kubelet renews their Leases, but each gets addresses for its pods. The subnet has
# 8,192 ranges of /28, each with room for kind's own few pods.
_FOR_OBJECTS = {"controllerManager": {"extraArgs": {"node-monitor-grace-period": "24h", "node-cidr-mask-size": "28"}}}
_MANY_NODES = "198.18.0.0/15"
# As in the embedded cluster: a test cluster need not survive its machine, and on a slow disk requests time out.
_ETCD = {"etcd": {"local": {"extraArgs": {"unsafe-no-fsync": "true"}}}}

_LOGS = "/schedproof-logs"  # not in /var/log, which `kind export logs` copies into the folder mounted here


def node_names(cluster: str, workers: int) -> tuple[str, list[str]]:
    """Return kind's names of the control plane and of the workers."""
    return f"{cluster}-control-plane", [f"{cluster}-worker{n if n > 1 else ''}" for n in range(1, workers + 1)]


def definition_digest(spec: KindSpec, image: str) -> str:
    """Return a digest that shows whether a kept cluster matches the requested one."""
    requested = [spec.kubernetes, spec.scrape_interval, spec.count, sorted(spec.labels.items()), image]
    return hashlib.sha256(json.dumps(requested).encode()).hexdigest()[:16]


def kind_config(spec: KindSpec, *, logs: Path, lock: Path, port: int, cgroup_version: int) -> dict[str, Any]:
    """Return the document for `kind create cluster --config`, kind.x-k8s.io/v1alpha4.

    Args:
        spec: the workers.
        logs: a folder of this machine for the apiserver's audit log, if it writes one.
        lock: the cluster's lock file, which is mounted into every node.
        port: of the apiserver, on loopback.
        cgroup_version: of this machine.
    """
    mark = {"hostPath": str(lock), "containerPath": MARK, "readOnly": True}
    policy = {"hostPath": str(content("clusters", "audit-policy.yaml")), "containerPath": _POLICY, "readOnly": True}
    networking = {"ipFamily": "ipv4", "apiServerAddress": "127.0.0.1", "apiServerPort": port}
    components = {**_ETCD, **(_audit() if spec.audited else {}), **({} if spec.count else _FOR_OBJECTS)}
    # A merge patch without an apiVersion, so that kind converts the arguments for the version that it writes.
    patches = [json.dumps({"kind": "ClusterConfiguration", **components})]
    if not spec.count:
        networking["podSubnet"] = _MANY_NODES
    if cgroup_version == 1:
        # By default, kubelets reject cgroup v1 since 1.35.
        patches.append(json.dumps({"kind": "KubeletConfiguration", "failCgroupV1": False}))
    control_plane = {
        "role": "control-plane", "extraMounts": [mark, policy, {"hostPath": str(logs), "containerPath": _LOGS}],
    }  # fmt: skip
    worker = {"role": "worker", "labels": dict(spec.labels), "extraMounts": [mark]}
    return {
        "kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": networking,
        "kubeadmConfigPatches": patches,
        "nodes": [control_plane, *([worker] * spec.count)],
    }  # fmt: skip


def _audit() -> dict[str, Any]:
    return {
        "apiServer": {
            "extraArgs": {
                "audit-policy-file": _POLICY,
                "audit-log-path": f"{_LOGS}/{AUDIT_LOG}",
                # As in the embedded cluster: a request's line is written soon after its effect.
                "audit-log-mode": "blocking",
            },
            "extraVolumes": [
                {"name": "audit-policy", "hostPath": _POLICY, "mountPath": _POLICY, "pathType": "File"},
                {"name": "audit-log", "hostPath": _LOGS, "mountPath": _LOGS, "pathType": "Directory"},
            ],
        },
    }  # fmt: skip
