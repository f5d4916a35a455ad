"""Runs a compiled scheduler instead of the control plane's own: its static pod is exchanged, and restored.

It acts as `system:kube-scheduler`, with the kubeconfig of the control plane's scheduler.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import CommandSpec
from schedproof.candidate.surroundings import ProcessSpec
from schedproof.clusters.api import Api
from schedproof.clusters.cluster import Hosting, Identity, Site, StaticPods
from schedproof.deploy.component import Client
from schedproof.deploy.deployer import DeployMode, Served
from schedproof.deploy.image import own_image, scheduler_image
from schedproof.deploy.manifests import COMPONENT_LABEL, NODE_FILE, static_pod
from schedproof.deploy.pod_component import PodComponent, wait_gone
from schedproof.foundation.deadlines import POD_STARTED
from schedproof.foundation.errors import UsageError
from schedproof.foundation.waiting import NotYet, wait_for

_SCHEDULER = "kube-scheduler"
_BACKUP = ".schedproof-kube-scheduler"
"""The original manifest, in the same folder: a kubelet does not read files whose names begin with a dot."""

_NAMESPACE = "kube-system"
_KUBECONFIG = "/etc/kubernetes/scheduler.conf"


class ControlPlaneDeployer:
    """See `schedproof.deploy.deployer.Deployer`.

    Args:
        logs: the folder for its log.
    """

    name: Final[DeployMode] = "control-plane"
    acts_as = "system:kube-scheduler"
    reaches_harness = True
    prometheus_url = ""
    accounts = None
    values: Mapping[str, str] = {"kubeconfig": _KUBECONFIG, "python": "python3"}

    def __init__(
        self, cluster: Site, hosting: Hosting, static_pods: StaticPods, candidate: Candidate, logs: Path
    ) -> None:
        self._cluster = cluster
        self._hosting = hosting
        self._static_pods = static_pods
        self._candidate = candidate
        self._logs = logs
        self._image = ""
        self._starts = 0

    def kubeconfig(self, identity: Identity) -> Path:  # noqa: ARG002 - it acts as the control plane's own
        return Path(_KUBECONFIG)

    def own_values(self, process: ProcessSpec, identity: Identity) -> Mapping[str, str]:  # noqa: ARG002
        return {}

    def start_command(
        self,
        spec: CommandSpec,  # noqa: ARG002
        identity: Identity,  # noqa: ARG002
        values: Mapping[str, str],  # noqa: ARG002
        files: Mapping[str, str],  # noqa: ARG002
        client: Client | None = None,  # noqa: ARG002
    ) -> Served:
        raise UsageError(
            "only a compiled scheduler can replace the control plane's scheduler"
        )  # choose_deployer saw to it

    def start_scheduler(
        self,
        configuration: Mapping[str, Any],
        identity: Identity,  # noqa: ARG002
        binary: str,
        files: Mapping[str, str],  # noqa: ARG002 - there are none: choose_deployer saw to it
    ) -> PodComponent:
        candidate, pods = self._candidate, self._static_pods
        if not self._image:
            path = Path(self._cluster.host.binaries.get(binary, binary))
            image = own_image(candidate) if candidate.image.own else scheduler_image(path, self._hosting.python_image)
            self._image = self._hosting.load_image(image)
        original = _original(pods)
        pods.write(_BACKUP, original)
        pods.put(NODE_FILE, json.dumps(configuration, indent=1))
        self._starts += 1
        component = f"scheduler-{candidate.name}"
        manifest = static_pod(
            yaml.safe_load(original), component=component, start=self._starts, image=self._image,
            command=candidate.image.command or (_SCHEDULER,), kubeconfig=_KUBECONFIG, flags=candidate.flags,
        )  # fmt: skip
        pods.write(_SCHEDULER, json.dumps(manifest, indent=1))
        selector = f"{COMPONENT_LABEL}={component}"

        def remove() -> None:
            pods.remove(_SCHEDULER)
            wait_gone(self._cluster.api, _NAMESPACE, selector)

        return PodComponent(
            self._cluster.api, _NAMESPACE, {"labelSelector": selector}, name=component,
            log=self._logs / "scheduler.log", remove=remove,
        )  # fmt: skip

    def close(self) -> None:
        restore_scheduler(self._cluster.api, self._static_pods)


def restore_scheduler(api: Api, static_pods: StaticPods) -> None:
    """Restore the control plane's own scheduler, also if a killed run has left another one.

    Returns when it is Ready; at once if nothing was exchanged.
    """
    original = static_pods.read(_BACKUP)
    if not original:
        return
    static_pods.write(_SCHEDULER, original)
    wait_gone(api, _NAMESPACE, COMPONENT_LABEL)

    def ready() -> None:
        pods = api.list("pods", _NAMESPACE, labelSelector=f"component={_SCHEDULER},!{COMPONENT_LABEL}")["items"]
        for pod in pods:
            statuses = pod.get("status", {}).get("containerStatuses") or ()
            if statuses and all(status["ready"] for status in statuses):
                return
        raise NotYet(f"{len(pods)} pods of it, none Ready")

    wait_for(ready, POD_STARTED, what="the control plane's own scheduler to be Ready again", poll=0.2)
    static_pods.delete(NODE_FILE)
    static_pods.remove(_BACKUP)


def _original(static_pods: StaticPods) -> str:
    """The manifest of the control plane's own scheduler, even while another one replaces it."""
    return static_pods.read(_BACKUP) or static_pods.read(_SCHEDULER)
