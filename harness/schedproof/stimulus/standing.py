"""Pods that are pending for a whole run: pods of the candidate that fit nowhere, and pods of other schedulers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from schedproof.candidate.scheduler_config import DEFAULT_SCHEDULER
from schedproof.candidate.subjects import Subject, subjects_of
from schedproof.clusters.cluster import Cluster
from schedproof.stimulus.pods import pod_manifest

_NOWHERE = {"schedproof.dev/no-such": "node"}


_ABOUT = {"too-large": Subject.CPU, "too-much-memory": Subject.MEMORY, "selector": Subject.NODE_SELECTOR}
"""What else than its spec shows a pod needs of a scheduler, to be left waiting."""


def waiting(more: Mapping[str, Mapping[str, Any]], left_out: Collection[Subject] = ()) -> dict[str, Mapping[str, Any]]:
    """Return reason to spec of the candidate's pods that fit on no node in any case of the suites, and `more`.

    A pod that waits because of a subject that the candidate does not support is left out.
    """
    found = {**_waiting(), **more}
    return {reason: spec for reason, spec in found.items() if not _needs(reason, spec) & {*left_out}}


def _needs(reason: str, spec: Mapping[str, Any]) -> set[Subject]:
    needs = {*subjects_of(pod_manifest(reason, "", image="", **spec)["spec"])}
    return needs | ({_ABOUT[reason]} if reason in _ABOUT else set())


def _waiting() -> dict[str, Mapping[str, Any]]:
    # Not by its hostname, which a node may lack.
    alone = {"key": "kubernetes.io/arch", "operator": "DoesNotExist"}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [alone]}]}
    return {
        "selector": {"nodeSelector": _NOWHERE},
        "affine": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}},
        "too-large": {"cpu": "1000000"},
        "too-much-memory": {"memory": "1000Ti"},
        "too-much-storage": {"extended": {"ephemeral-storage": "1000Ti"}},
        "no-such-resource": {"extended": {"schedproof.dev/no-such": "1"}},
        "gated": {"schedulingGates": [{"name": "schedproof.dev/never"}]},
    }


LONG_WAITING = {"nodeSelector": {"schedproof.dev/patient": "yes"}}
"""The spec of a pod that waits for the whole run, and gets a feasible node at its end."""


def bystanders(name: str, served: Sequence[str], cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Yield pods of schedulers that do not run, with names similar to the candidate's; they fit on every node.

    If a default scheduler runs, its own pods select a label that no node has. It leaves them pending, and a candidate
    that touches foreign pods is still caught.
    """
    names = {
        "other": "schedproof-bystander",
        "suffix": f"{name}-2",
        "prefix": f"my-{name}",
        "case": name.swapcase(),
        "default": DEFAULT_SCHEDULER,
        "unnamed": "",
    }
    for kind, scheduler in names.items():
        if (scheduler or DEFAULT_SCHEDULER) in served:
            continue
        taken = "default-scheduler" in cluster.capabilities and scheduler in (DEFAULT_SCHEDULER, "")
        spec: dict[str, Any] = {"nodeSelector": _NOWHERE} if taken else {}
        manifest = pod_manifest(f"bystander-{kind}", scheduler, image=cluster.workload_image, **spec)
        manifest["spec"]["terminationGracePeriodSeconds"] = 30
        if not scheduler:
            del manifest["spec"]["schedulerName"]
        yield manifest
