"""Pods that are pending for the whole of a run: those that must wait, and those that are not the candidate's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schedproof.candidate.scheduler_config import DEFAULT_SCHEDULER
from schedproof.clusters.cluster import Cluster
from schedproof.stimulus.pods import pod_manifest

_NOWHERE = {"schedproof.dev/no-such": "node"}


def waiting(more: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Why to spec of pods of the candidate's that fit nowhere, whatever becomes of the nodes; and `more` of them."""
    alone = {"key": "kubernetes.io/hostname", "operator": "DoesNotExist"}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [alone]}]}
    return {
        "selector": {"nodeSelector": _NOWHERE},
        "affine": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}},
        "too-large": {"cpu": "1000000"},
        "too-much-memory": {"memory": "1000Ti"},
        "too-much-storage": {"extended": {"ephemeral-storage": "1000Ti"}},
        "no-such-resource": {"extended": {"schedproof.dev/no-such": "1"}},
        "gated": {"schedulingGates": [{"name": "schedproof.dev/never"}]},
        **more,
    }


PATIENT = {"nodeSelector": {"schedproof.dev/patient": "yes"}}
"""The spec of a pod that waits for the whole run, and for which there is a place at its end."""


def bystanders(name: str, served: Sequence[str], cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Pods of schedulers that do not run, and whose names are near the candidate's; they fit everywhere.

    Where a default scheduler runs, pods that are its own select a label that no node has: it leaves them pending, and
    they are there to be touched all the same.
    """
    names = {
        "other": "schedproof-bystander",
        "suffix": f"{name}-2",
        "prefix": f"my-{name}",
        "case": name.swapcase(),
        "default": DEFAULT_SCHEDULER,
        "unnamed": "",
    }
    for what, scheduler in names.items():
        if (scheduler or DEFAULT_SCHEDULER) in served:
            continue
        taken = "default-scheduler" in cluster.capabilities and scheduler in (DEFAULT_SCHEDULER, "")
        spec: dict[str, Any] = {"nodeSelector": _NOWHERE} if taken else {}
        manifest = pod_manifest(f"bystander-{what}", scheduler, image=cluster.workload_image, **spec)
        if not scheduler:
            del manifest["spec"]["schedulerName"]
        yield manifest
