"""The configuration for kind: its own format, with our mark on every node, and an audit log that we can read."""

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

# Nodes that are objects alone: no kubelet renews their Leases, and each is given addresses for its pods all the same.
# The subnet has 8,192 of /28, each with room for the few pods of kind's own.
_FOR_OBJECTS = {"controllerManager": {"extraArgs": {"node-monitor-grace-period": "24h", "node-cidr-mask-size": "28"}}}
_MANY_NODES = "198.18.0.0/15"
# As on embedded: a cluster for tests need not outlive its machine, and on a slow disk requests time out.
_ETCD = {"etcd": {"local": {"extraArgs": {"unsafe-no-fsync": "true"}}}}

_LOGS = "/schedproof-logs"  # not in /var/log: `kind export logs` copies all of that, into the folder that this is


def node_names(cluster: str, workers: int) -> tuple[str, list[str]]:
    """As kind names them: the control plane, and the workers."""
    return f"{cluster}-control-plane", [f"{cluster}-worker{n if n > 1 else ''}" for n in range(1, workers + 1)]


def definition_digest(spec: KindSpec, image: str) -> str:
    """A digest that shows whether a kept cluster matches the requested one."""
    asked = [spec.kubernetes, spec.scrape_interval, spec.count, sorted(spec.labels.items()), image]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def kind_config(spec: KindSpec, *, logs: Path, lock: Path, port: int, cgroup_version: int) -> dict[str, Any]:
    """The document for `kind create cluster --config`, kind.x-k8s.io/v1alpha4.

    Args:
        spec: the workers.
        logs: a folder of this machine where the apiserver is to write its audit log, if it does.
        lock: the file that shows whose cluster it is, mounted into every node.
        port: of the apiserver, on loopback.
        cgroup_version: of this machine.
    """
    mark = {"hostPath": str(lock), "containerPath": MARK, "readOnly": True}
    policy = {"hostPath": str(content("clusters", "audit-policy.yaml")), "containerPath": _POLICY, "readOnly": True}
    networking = {"ipFamily": "ipv4", "apiServerAddress": "127.0.0.1", "apiServerPort": port}
    components = {**_ETCD, **(_audit() if spec.audited else {}), **({} if spec.count else _FOR_OBJECTS)}
    # A merge patch without an apiVersion, so that kind translates the arguments for the version that it writes.
    patches = [json.dumps({"kind": "ClusterConfiguration", **components})]
    if not spec.count:
        networking["podSubnet"] = _MANY_NODES
    if cgroup_version == 1:
        # Kubelets refuse it since 1.35, unless told otherwise.
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
                # As on embedded: once a request has an effect, its line follows soon.
                "audit-log-mode": "blocking",
            },
            "extraVolumes": [
                {"name": "audit-policy", "hostPath": _POLICY, "mountPath": _POLICY, "pathType": "File"},
                {"name": "audit-log", "hostPath": _LOGS, "mountPath": _LOGS, "pathType": "Directory"},
            ],
        },
    }  # fmt: skip
