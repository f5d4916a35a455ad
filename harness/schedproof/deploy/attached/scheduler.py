"""A scheduler that runs already, as the components of a candidate."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.clusters.api import NotFound
from schedproof.clusters.cluster import Site
from schedproof.deploy.attached.withheld import RESTART_ATTACHED
from schedproof.deploy.attached.workload import FoundPod, find_leader, find_pods
from schedproof.deploy.component import component_name
from schedproof.deploy.pod_component import PodComponent
from schedproof.foundation.deadlines import CANDIDATE_READY, POD_GONE
from schedproof.foundation.errors import CandidateError, UsageError
from schedproof.foundation.waiting import NotYet, wait_for

_GRACE = 30
"""Seconds for its pods to end, as by default: it may release its Lease meanwhile."""


class AttachedScheduler:
    """The pods of a candidate of kind `attached`. Those of one that is not visible are none.

    Args:
        logs: the folder for copies of its logs.

    Raises:
        UsageError: its pods cannot be found, or cannot be restarted as the user permits, or it is not known who acts
            for it.
    """

    def __init__(self, cluster: Site, candidate: Candidate, logs: Path) -> None:
        assert isinstance(candidate.spec, AttachedSpec)
        self._api, self._candidate, self._spec, self._logs = cluster.api, candidate, candidate.spec, logs
        self.is_visible = candidate.spec.is_visible
        self._may_restart = RESTART_ATTACHED in cluster.capabilities
        self._pods = find_pods(cluster.api, candidate) if self.is_visible else []
        self._starts = 0
        if self._may_restart:
            require_restartable(candidate, self._pods)
        self.user = self._spec.user or next((pod.user for pod in self._pods if pod.user), "")
        """Its user in the audit log; "" if that is not known, and there is no audit log."""
        if not self.user and "audit" in cluster.capabilities:
            raise UsageError(
                f"{candidate.path}: spec.attached: it is not known which user of the audit log is the scheduler",
                remedy="state it as `user`, such as system:kube-scheduler",
            )

    @property
    def versions(self) -> Mapping[str, str]:
        """The images of its pods."""
        images = dict.fromkeys(pod.image for pod in self._pods)
        return {f"{self._candidate.name} image": ", ".join(images)} if images else {}

    def components(self) -> list[PodComponent]:
        """Return a component for each of its pods, once there are as many as at first; that of the leader is last."""
        if not self.is_visible:
            return []
        count = len(self._pods)

        def found() -> list[FoundPod]:
            with contextlib.suppress(UsageError):  # for a moment, it may have no pod at all
                if len(pods := find_pods(self._api, self._candidate)) >= count:
                    return pods
            raise NotYet(f"fewer than {count} pods")

        what = f"the pods of {self._candidate.name}"
        self._pods = wait_for(found, CANDIDATE_READY, what=what, poll=0.2)
        leader = find_leader(self._api, self._candidate, self._pods)
        self._starts += 1
        return [self._component(pod) for pod in sorted(self._pods, key=lambda pod: pod.name == leader)]

    def _component(self, pod: FoundPod) -> PodComponent:
        name = f"{component_name(self._candidate)} {pod.name}"
        return PodComponent(
            self._api, self._spec.namespace, {"fieldSelector": f"metadata.name={pod.name}"}, name=name,
            log=self._logs / f"{pod.name}-{self._starts}.log", remove=lambda: None, container=pod.container,
            restarts=pod.restarts,
        )  # fmt: skip

    def replace(self) -> None:
        """Delete its pods, and return when they are gone. Their controller makes others.

        Raises:
            CandidateError: the user does not permit it.
        """
        if not self._may_restart or not self.is_visible:
            raise CandidateError(
                f"the pods of {self._candidate.name} may not be deleted",
                remedy="--allow-restart permits it, where spec.attached names them",
            )
        for pod in self._pods:
            with contextlib.suppress(NotFound):
                self._api.delete("pods", pod.name, self._spec.namespace, uid=pod.uid, grace=_GRACE)
        wait_for(self._gone, POD_GONE, what=f"the pods of {self._candidate.name} to go", poll=0.2)

    def _gone(self) -> None:
        old = {pod.uid for pod in self._pods}
        there: Sequence[dict[str, dict[str, str]]] = self._api.list("pods", self._spec.namespace)["items"]
        if left := [pod["metadata"]["name"] for pod in there if pod["metadata"]["uid"] in old]:
            raise NotYet(", ".join(left))


def require_restartable(candidate: Candidate, pods: Sequence[FoundPod]) -> None:
    """Refuse to restart a scheduler that would not come back.

    Raises:
        UsageError: a pod is static or has no controller, or is scheduled by the scheduler itself.
    """
    for pod in pods:
        if not pod.is_replaced:
            why = "is static: only its kubelet restarts it" if pod.is_static else "has no controller that replaces it"
        elif pod.manifest["spec"].get("schedulerName") == candidate.scheduler_name:
            why = f"is scheduled by {candidate.scheduler_name} itself: none would be left to schedule its replacement"
        else:
            continue
        raise UsageError(
            f"--allow-restart: {candidate.name} cannot be restarted by deletion: its pod {pod.name} {why}",
            remedy="leave out --allow-restart",
        )
