"""Runs candidates as pods of a cluster that others run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.clusters.api import Api, Manifest, NotFound
from schedproof.clusters.existing.sweep import RUN
from schedproof.clusters.kind.docker import DockerError, docker, image_present
from schedproof.daemons.kubeconfig import cluster_of
from schedproof.foundation.deadlines import IMAGE_PULLED, OBJECT_SHOWN
from schedproof.foundation.errors import UsageError
from schedproof.foundation.waiting import NotYet, wait_for

PYTHON = "python:3-slim"
"""The default image with Python, for candidates and pods that send load."""

_APISERVER = "https://kubernetes.default.svc"
_SCHEDULER = "registry.k8s.io/kube-scheduler"


class ExistingHosting:
    """See `schedproof.clusters.cluster.Hosting`. Nodes pull images, or have them.

    Args:
        namespace: of the run, for the objects of candidates.
        run: its id.
        registry: where images that are built here are pushed to, such as `ghcr.io/me/images`; "": nowhere.
        python_image: the base image of those.
        scheduler_image: that of the cluster's own kube-scheduler; "" if the user names a binary.
        service_address: a node's address; "" if pods and this machine do not reach each other.
        prometheus_url: as pods reach it.
    """

    static_pods = None
    pulls = True

    def __init__(
        self,
        api: Api,
        namespace: str,
        run: str,
        *,
        registry: str,
        python_image: str,
        scheduler_image: str,
        service_address: str,
        prometheus_url: str,
    ) -> None:
        self._api = api
        self.namespace = namespace
        self.labels = {RUN: run}
        self._registry = registry
        self.python_image, self.scheduler_image = python_image, scheduler_image
        self.service_address, self.prometheus_url = service_address, prometheus_url
        self._pushed: dict[str, str] = {}

    @property
    def builds(self) -> bool:
        return bool(self._registry)

    @property
    def apiserver(self) -> Mapping[str, Any]:
        """The apiserver may have another certificate outside the cluster."""

        def published() -> str:
            try:
                return str(self._api.get("configmaps", "kube-root-ca.crt", self.namespace)["data"]["ca.crt"])
            except NotFound as error:
                raise NotYet(error.message) from error

        authority = wait_for(published, OBJECT_SHOWN, what=f"the certificate authority in {self.namespace}")
        return cluster_of(_APISERVER, authority.encode())

    def load_image(self, ref: str) -> str:
        if ref not in self._pushed:
            self._pushed[ref] = push(ref, self._registry)
        return self._pushed[ref]

    def pids_of(self, uid: str) -> Sequence[int]:  # noqa: ARG002 - its kubelets are not known to run on this machine
        return ()


def push(ref: str, registry: str) -> str:
    """Push an image from this machine's Docker to a registry, and return its name there.

    Raises:
        UsageError: the registry refuses it.
    """
    name = f"{registry.rstrip('/')}/{ref.rpartition('/')[2]}"
    try:
        if not image_present(ref):
            docker("pull", "--quiet", ref, deadline=IMAGE_PULLED)
        docker("tag", ref, name)
        docker("push", "--quiet", name, deadline=IMAGE_PULLED)
    except DockerError as error:
        raise UsageError(
            f"--registry {registry}: {ref} cannot be pushed: {error.message}",
            remedy=f"`docker push {name}` must work here: see `docker login`, and insecure-registries of the daemon",
        ) from error
    return name


def scheduler_image(nodes: Sequence[Manifest], version: str) -> str:
    """Return the image of kube-scheduler of a version, such as v1.36.3: one that the nodes have, or that they pull."""
    images = {
        name for node in nodes for image in node["status"].get("images") or () for name in image.get("names") or ()
    }
    found = sorted(name for name in images if name.endswith(f"/kube-scheduler:{version}"))
    return found[0] if found else f"{_SCHEDULER}:{version.partition('+')[0].partition('-')[0]}"
