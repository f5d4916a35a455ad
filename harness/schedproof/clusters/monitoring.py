"""Makes the workers of a kind cluster differ only in their traffic, and measures it."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from schedproof.clusters.api import Api
from schedproof.clusters.cluster import NAMESPACE
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import POD_STARTED
from schedproof.foundation.waiting import NotYet, wait_for

EXPORTER_PORT = 9100
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
"""The key of a label and a taint of kind's control-plane nodes."""


def deploy_node_exporter(api: Api, image: str) -> None:
    """Run node_exporter on every worker, at the node's own address; returns at once."""
    manifest = yaml.safe_load(content("clusters", "addons", "node-exporter.yaml").read_text())
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = image
    api.create_or_keep("daemonsets", manifest, NAMESPACE)


def keep_workers_alike(api: Api) -> None:
    """Move the cluster's own Deployments (DNS, storage) to the control plane; returns at once.

    Otherwise their pods run on any node, and a worker may have less room than the others.
    """
    selector = {"nodeSelector": {CONTROL_PLANE: ""}}
    for deployment in api.list("deployments")["items"]:
        metadata = deployment["metadata"]
        patch = {"spec": {"template": {"spec": selector}}}
        api.merge("deployments", metadata["name"], patch, metadata["namespace"])


def wait_alike(api: Api, workers: Sequence[str]) -> None:
    """Wait until every worker has the same pods, all of them of DaemonSets and Ready."""

    def probe() -> None:
        pods = [pod for pod in api.list("pods")["items"] if pod["spec"].get("nodeName") in workers]
        kinds: dict[str, list[str]] = {worker: [] for worker in workers}
        for pod in pods:
            name, owners = pod["metadata"]["name"], pod["metadata"].get("ownerReferences", ())
            if not any(owner["kind"] == "DaemonSet" for owner in owners):
                raise NotYet(f"pod {name} is still on {pod['spec']['nodeName']}")
            if not any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", ())):
                raise NotYet(f"pod {name} on {pod['spec']['nodeName']} is not Ready: {pod['status']}")
            kinds[pod["spec"]["nodeName"]] += [owner["name"] for owner in owners]
        if len({tuple(sorted(names)) for names in kinds.values()}) != 1:
            raise NotYet(f"workers have different pods: {kinds}")

    wait_for(probe, POD_STARTED, what="the workers to have the same pods", poll=0.1)
