"""Removes the objects of runs from a persistent cluster, and restores its nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from schedproof.clusters.api import Api, Manifest, NotFound
from schedproof.clusters.node_backup import restoring
from schedproof.clusters.nodes import CORDONED
from schedproof.foundation.deadlines import SWEPT
from schedproof.foundation.waiting import NotYet, wait_for

RUN = "schedproof.dev/run"
"""The label of every object that a run creates in an existing cluster; its value is the run's id."""

SUBMISSION = "schedproof.dev/submission"
"""The label of what `schedproof submit` creates; its value is the submission's name. A run in the cluster leaves it
alone: its own pod has it."""

# Webhooks first, because they would delay the rest; rights last, because a candidate that still runs needs them.
_RESOURCES = (
    "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "nodes", "namespaces", "priorityclasses",
    "persistentvolumes", "storageclasses", "runtimeclasses", "customresourcedefinitions", "rolebindings",
    "clusterrolebindings", "clusterroles",
)  # fmt: skip


_OF_SUBMISSIONS = ("namespaces", "rolebindings", "roles", "clusterrolebindings", "clusterroles")


def sweep(api: Api, label: str = RUN) -> list[str]:
    """Remove all objects with a label, of any run, and restore all nodes with a recorded state.

    Args:
        api: must not use an identity that is removed.
        label: `RUN` or `SUBMISSION`; or one of these with a value, as `KEY=VALUE`.

    Returns:
        What was removed or restored, for example `namespaces/schedproof`, once all of it is gone.
    """
    submitted = label.partition("=")[0] == SUBMISSION
    done = [] if submitted else [f"nodes/{node} (restored)" for node in _restore_nodes(api)]
    resources = _OF_SUBMISSIONS if submitted else _RESOURCES
    for resource in resources:
        for item in _marked(api, resource, label):
            if resource == "namespaces":
                _empty(api, item["metadata"]["name"])
            api.delete_if_there(resource, item["metadata"]["name"], item["metadata"].get("namespace", ""))
            done.append(f"{resource}/{item['metadata']['name']}")

    def gone() -> None:
        for resource in resources:
            if left := [item["metadata"]["name"] for item in _marked(api, resource, label)]:
                raise NotYet(f"{resource} {', '.join(left)}")

    wait_for(gone, SWEPT, what="objects of runs to be gone", poll=0.2)
    return done


def _marked(api: Api, resource: str, label: str) -> list[Manifest]:
    return list(api.list(resource, labelSelector=label)["items"])


def _empty(api: Api, namespace: str) -> None:
    """Delete its pods now: deleting a namespace waits for finalizers of the harness, and for long grace periods."""
    for pod in api.list("pods", namespace)["items"]:
        with contextlib.suppress(NotFound):
            if pod["metadata"].get("finalizers"):
                api.merge("pods", pod["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace)
            api.delete("pods", pod["metadata"]["name"], namespace)


def _restore_nodes(api: Api) -> Iterator[str]:
    for node in api.list("nodes")["items"]:
        patch, name = restoring(node), node["metadata"]["name"]
        if patch is not None:
            spec = api.merge("nodes", name, patch)["spec"]
            if not spec.get("unschedulable"):
                _await_uncordoned(api, name)
            yield name


def _await_uncordoned(api: Api, node: str) -> None:
    """Wait until the node controller removes the taint of cordoned nodes."""

    def probe() -> None:
        with contextlib.suppress(NotFound):
            taints = api.get("nodes", node)["spec"].get("taints") or ()
            if any(taint["key"] == CORDONED for taint in taints):
                raise NotYet(f"taints {taints}")

    wait_for(probe, SWEPT, what=f"{node} to be schedulable again")
