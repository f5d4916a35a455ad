"""Pods that are created between two cases, to find out why the candidate did not bind the pods of a case."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from schedproof.candidate.timing import ClaimedDeadlines
from schedproof.clusters.api import Manifest
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import CandidateError, DeadlineExceededError
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import PlainPods
from schedproof.stimulus.pods import Pod, pod_manifest
from schedproof.stimulus.trial import Trial
from schedproof.stimulus.variation import Variation

_SAMPLES = 4
"""Pods for each kind of variation: some kinds have several forms, such as limits with and without requests."""


def binds_pods(trial: Trial, case: str, *, freed: bool = False) -> bool:
    """Return whether the candidate binds two pods that fit on every node, one after the other, each by its deadline.

    That is recorded as found out after a case.

    Its deadline is that of a takeover. If the candidate was just `freed` of pods that may have blocked it, after a
    takeover's time, it is that of retries.

    A candidate that ends after each Binding does not bind the second pod. The pods are deleted afterwards. No pod is
    tried if the record shows that none will be bound.
    """
    claimed = ClaimedDeadlines.of(trial.candidate.claims.timing)
    due = claimed.requeue if freed else claimed.takeover
    may_bind = not trial.look_into_record(late=True) and _runs(trial)
    bound = may_bind and all(_are_bound(trial, [_manifest(trial, name)], due) for name in ("plain-1", "plain-2"))
    trial.recorder.add(PlainPods(case=case, bound=bound))
    if bound:
        trial.note(case, "binds")
    return bound


def unbound(trial: Trial, kinds: Sequence[str]) -> list[str]:
    """Return the kinds of variation (`Variation`) with which the candidate does not bind all pods.

    Each kind is tried by itself, in full, with pods that fit on every node. The pods are deleted afterwards.
    """
    return [kind for kind in kinds if not _binds_varied(trial, kind)]


def _binds_varied(trial: Trial, kind: str) -> bool:
    takeover = ClaimedDeadlines.of(trial.candidate.claims.timing).takeover
    return _runs(trial) and _are_bound(trial, list(_varied(trial, kind)), takeover)


def _runs(trial: Trial) -> bool:
    """Start the candidate again if it has ended, and return whether it runs."""
    try:
        trial.attachment.restart_if_ended()
    except CandidateError:
        return False
    return True


def _varied(trial: Trial, kind: str) -> Iterator[Manifest]:
    surroundings = trial.surroundings
    variation = Variation(
        random.Random(f"{trial.seed}:{kind}"),  # noqa: S311 - reproducible by its seed
        labelled=surroundings.changes_nodes, offered=lambda: surroundings.beside,
        owner=lambda: surroundings.owner(trial.namespace),
        real="real-pods" in trial.cluster.capabilities,
    )  # fmt: skip
    for number in range(_SAMPLES):
        manifest = _manifest(trial, f"{kind.replace(' ', '-')}-{number}")
        if variation.vary_fully(manifest, kind):
            yield manifest


def _manifest(trial: Trial, name: str) -> Manifest:
    manifest = pod_manifest(
        name, trial.candidate.scheduler_name, image=trial.cluster.workload_image, cpu="100m", memory="64Mi"
    )
    trial.surroundings.dress_pod(manifest)
    return manifest


def _are_bound(trial: Trial, manifests: Sequence[Manifest], deadline: Deadline) -> bool:
    """Create pods, and return whether all are bound by this deadline, or the claimed one. The pods are deleted."""
    api = trial.cluster.api
    pods = [Pod.created(api.create("pods", manifest, trial.namespace)) for manifest in manifests]

    def bound() -> None:
        trial.recorder.check()
        # A pod that was bound may be gone by now, evicted by a taint.
        if waiting := [pod.name for pod in pods if pod.uid not in trial.recorder.placed]:
            if trial.attachment.ended:
                raise CandidateError(f"{trial.candidate.name} has ended", remedy="see its log")
            raise NotYet(f"not bound: {', '.join(waiting)}")

    bind = ClaimedDeadlines.of(trial.candidate.claims.timing).bind
    due = max(bind, deadline, key=lambda deadline: deadline.seconds)
    try:
        trial.usable_time.begin().wait_for(bound, due, what="pods to be bound", wake=trial.recorder.changed)
    except (CandidateError, DeadlineExceededError):
        return False
    finally:
        for pod in pods:
            api.delete_if_there("pods", pod.name, trial.namespace)
    return True
