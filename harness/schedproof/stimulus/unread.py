"""Fields of pods that no rule of scheduling reads (see `oracle.coverage`), with values that users give them.

Not among them: a grace period, with which a simulated kubelet removes an evicted pod late; readiness gates, because
the suites wait for pods to run; a PriorityClass, which is a rule of its own.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Manifest = dict[str, Any]

_LATE = 3600
"""Seconds before the first probe of a container: no pod of the suites lives so long."""
_SPEC: Sequence[Manifest] = (
    {"restartPolicy": "OnFailure"},
    {"restartPolicy": "Never"},
    {"activeDeadlineSeconds": 24 * _LATE},
    {"dnsPolicy": "Default"},
    {"enableServiceLinks": False},
    {"hostAliases": [{"ip": "2001:db8::1", "hostnames": ["node-1"]}]},
    # The pod's own name in DNS; nodes have it as a label's value.
    {"hostname": "node-1", "subdomain": "nodes"},
    {"shareProcessNamespace": True},
)
_CONTAINER: Sequence[Manifest] = (
    {"env": [{"name": "NODE_NAME", "value": "node-1"}, {"name": "CPU", "value": "64"}]},
    {"livenessProbe": {"tcpSocket": {"port": 80}, "initialDelaySeconds": _LATE}},
    {"securityContext": {"allowPrivilegeEscalation": False}},
)
_PULLED: Sequence[Manifest] = ({"imagePullPolicy": "Always"}, {"imagePullPolicy": "Never"})
"""Not where kubelets pull images."""


def add_unread(pod: Manifest, source: random.Random, *, in_full: bool, real: bool) -> list[str]:
    """Give fields that a pod lacks values, and return their names; all that it lacks if `in_full`.

    `real`: whether kubelets run the pod.
    """
    spec, first = pod["spec"], pod["spec"]["containers"][0]
    options = [(spec, fields) for fields in (*_SPEC, {"volumes": [{"name": "unread", "emptyDir": {}}]})]
    options += [(first, fields) for fields in (*_CONTAINER, *(() if real else _PULLED))]
    source.shuffle(options)
    found: list[str] = []
    for holder, fields in options if in_full else options[: source.randint(1, 4)]:
        if not fields.keys() & holder.keys():
            holder.update(fields)
            found += fields
    if "volumes" in found:
        first["volumeMounts"] = [*first.get("volumeMounts", ()), {"name": "unread", "mountPath": "/unread"}]
    # Admission then adds the volume of a token, which nearly every pod has.
    if not real and source.random() < 0.5 and spec.pop("automountServiceAccountToken", None) is not None:
        found.append("automountServiceAccountToken")
    return sorted(found)
