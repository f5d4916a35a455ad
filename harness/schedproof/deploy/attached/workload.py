"""Finds the pods of a scheduler that runs in a cluster, and reads what they show of it. Nothing is changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec
from schedproof.clusters.api import Api, Manifest, NotFound
from schedproof.foundation.errors import UsageError

_RESOURCES = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}
_STATIC = "kubernetes.io/config.mirror"
"""An annotation of the objects that stand for static pods."""


@dataclasses.dataclass(frozen=True)
class FoundPod:
    """A pod of a scheduler, as it was found. `container`: the name of the scheduler's container in it."""

    manifest: Manifest
    container: str

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.manifest["metadata"]["uid"])

    @property
    def is_static(self) -> bool:
        """Whether a kubelet runs it from a file, so that to delete its object restarts nothing."""
        return _STATIC in (self.manifest["metadata"].get("annotations") or {})

    @property
    def is_replaced(self) -> bool:
        """Whether a controller makes another pod in its place."""
        owners = self.manifest["metadata"].get("ownerReferences") or ()
        return not self.is_static and any(owner.get("controller") for owner in owners)

    @property
    def user(self) -> str:
        """The user of its ServiceAccount; "" if it has none."""
        if self.is_static:
            return ""
        metadata = self.manifest["metadata"]
        return f"system:serviceaccount:{metadata['namespace']}:{self.manifest['spec'].get('serviceAccountName', '')}"

    @property
    def restarts(self) -> int:
        """How often its container has been restarted so far."""
        return int(self._status.get("restartCount", 0))

    @property
    def image(self) -> str:
        """The image of its container, by digest once it runs."""
        (container,) = (entry for entry in self.manifest["spec"]["containers"] if entry["name"] == self.container)
        return str(self._status.get("imageID") or container["image"])

    @property
    def _status(self) -> Manifest:
        statuses: list[Manifest] = self.manifest.get("status", {}).get("containerStatuses") or []
        return next((status for status in statuses if status["name"] == self.container), {})

    def holds(self, lease: Manifest, own: Sequence[str]) -> bool:
        """Whether it is the holder of a Lease, by the name that client-go gives a process: host name, `_` and a UUID.

        `own`: names that a Lease of the scheduler may have, which matters on a node's own network: all pods there have
        the node's name.
        """
        spec, name = self.manifest["spec"], lease["metadata"]["name"]
        host = spec.get("nodeName", "") if spec.get("hostNetwork") else self.name
        holder = str(lease["spec"].get("holderIdentity") or "")
        return holder.partition("_")[0] == host and (name in own or not spec.get("hostNetwork"))


def find_pods(api: Api, candidate: Candidate) -> list[FoundPod]:
    """Return the pods of a visible scheduler that are not being deleted, by name.

    Raises:
        UsageError: its workload, or a pod of it, does not exist, or it is not clear which container is meant.
    """
    spec = candidate.spec
    assert isinstance(spec, AttachedSpec)
    if spec.workload is not None:
        what = f"{spec.workload.kind} {spec.namespace}/{spec.workload.name}"
        selector = _selector_of(api, spec, candidate, what)
    else:
        selector = ",".join(f"{key}={value}" for key, value in spec.selector.items())
        what = f"selector {selector} in the namespace {spec.namespace}"
    pods = [
        pod for pod in api.list("pods", spec.namespace, labelSelector=selector)["items"]
        if not pod["metadata"].get("deletionTimestamp") and pod.get("status", {}).get("phase") != "Succeeded"
    ]  # fmt: skip
    if not pods:
        raise UsageError(
            f"{candidate.path}: spec.attached: the {what} has no pod",
            remedy=f"run `kubectl get pods -n {spec.namespace} --show-labels` to see which pods there are",
        )
    return sorted((FoundPod(pod, _container_of(pod, spec, candidate)) for pod in pods), key=lambda pod: pod.name)


def find_leader(api: Api, candidate: Candidate, pods: Sequence[FoundPod]) -> str:
    """Return the name of the pod that leads, by a Lease of the pods' namespace or of kube-system; "" if none does."""
    spec = candidate.spec
    assert isinstance(spec, AttachedSpec)
    workload = spec.workload.name if spec.workload is not None else ""
    for namespace in dict.fromkeys((spec.namespace, "kube-system")):
        for lease in api.list("leases", namespace)["items"]:
            for pod in pods:
                if pod.holds(lease, (workload, pod.container, candidate.scheduler_name)):
                    return pod.name
    return ""


def _selector_of(api: Api, spec: AttachedSpec, candidate: Candidate, what: str) -> str:
    assert spec.workload is not None
    resource = _RESOURCES[spec.workload.kind]
    try:
        selector = api.get(resource, spec.workload.name, spec.namespace)["spec"]["selector"]
    except NotFound as error:
        there = [item["metadata"]["name"] for item in api.list(resource, spec.namespace)["items"]]
        raise UsageError(
            f"{candidate.path}: spec.attached.workload: there is no {what}",
            remedy=f"the {spec.workload.kind}s there: {', '.join(there) or 'none'}",
        ) from error
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        key, operator, values = term["key"], term["operator"], ",".join(term.get("values") or ())
        terms.append({"Exists": key, "DoesNotExist": f"!{key}"}.get(operator, f"{key} {operator.lower()} ({values})"))
    return ",".join(terms)


def _container_of(pod: Manifest, spec: AttachedSpec, candidate: Candidate) -> str:
    names = [container["name"] for container in pod["spec"]["containers"]]
    chosen = spec.container or (names[0] if len(names) == 1 else "")
    if chosen not in names:
        problem = f"has no container {chosen}" if chosen else "has several containers"
        raise UsageError(
            f"{candidate.path}: spec.attached.container: the pod {spec.namespace}/{pod['metadata']['name']} {problem}",
            remedy=f"name one of {', '.join(names)}",
        )
    return str(chosen)
