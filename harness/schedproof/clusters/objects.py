"""Applies objects of any kind, including CustomResourceDefinitions and their resources, and removes them again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from schedproof.clusters.api import Api, ApiError, Manifest, NotFound
from schedproof.foundation.deadlines import OBJECT_GONE, OBJECT_SERVED
from schedproof.foundation.errors import DeadlineExceededError, UsageError
from schedproof.foundation.waiting import NotYet, wait_for

_CRD = "CustomResourceDefinition"


def wait_gone(api: Api, resource: str, name: str, namespace: str = "") -> None:
    """Wait until an object is gone. Finalizers keep an object in use until its controller removes them."""

    def probe() -> None:
        with contextlib.suppress(NotFound):
            api.get(resource, name, namespace)
            raise NotYet("it is still there")

    wait_for(probe, OBJECT_GONE, what=f"{resource} {name} to be deleted", poll=0.1)


class AppliedObjects:
    """Applied objects, of which `remove` removes exactly those that were created here.

    Args:
        mine: whether the cluster is the harness's own; in any other, existing objects are refused.
    """

    def __init__(self, api: Api, *, mine: bool) -> None:
        self._api = api
        self._mine = mine
        self._created: list[str] = []

    def apply(self, manifests: Iterable[Manifest], namespace: str, *, source: str) -> None:
        """Apply manifests in their order, each once its kind is served; returns when all can be used.

        Args:
            manifests: with apiVersion, kind and metadata.name.
            namespace: for manifests of namespaced kinds that name none.
            source: their origin, for errors.

        Raises:
            UsageError: the apiserver refuses a manifest, or its object exists in a cluster that is not the
                harness's own.
        """
        for manifest in manifests:
            what = f"{manifest['kind']} {manifest['metadata']['name']}"
            try:
                self._apply(manifest, namespace, what, source)
            except ApiError as error:
                raise UsageError(
                    f"{source}: the apiserver refuses the {what}: {error.message}",
                    remedy="try it with `kubectl apply --server-side --dry-run=server -f`",
                ) from error

    def _apply(self, manifest: Manifest, namespace: str, what: str, source: str) -> None:
        version = manifest["apiVersion"]
        resource = self._served(version, manifest["kind"], what, source)
        place = str(manifest["metadata"].get("namespace") or namespace) if resource["namespaced"] else ""
        path = self._api.object_path(version, resource["name"], place, manifest["metadata"]["name"])
        exists = self._exists(path)
        if exists and not self._mine and path not in self._created:
            raise UsageError(
                f"{source}: this cluster already has a {what}, and schedproof does not change existing objects",
                remedy="omit it from spec.install for this cluster, or remove the existing object",
            )
        self._api.apply(path, manifest)
        if not exists:
            self._created.append(path)
        if manifest["kind"] == _CRD:
            wait_for(lambda: self._established(path), OBJECT_SERVED, what=f"the {what} to be established")

    def _served(self, version: str, kind: str, what: str, source: str) -> dict[str, Any]:
        """Return discovery's entry for a kind; waits if a CustomResourceDefinition applied here may define it."""
        group = version.rpartition("/")[0]
        try:
            if any(path.endswith(f".{group}") and "/customresourcedefinitions/" in path for path in self._created):
                return wait_for(lambda: self._resource(version, kind), OBJECT_SERVED, what=f"{what} to be served")
            return self._resource(version, kind)
        except (NotYet, DeadlineExceededError):
            raise UsageError(
                f"{source}: this cluster serves no {kind} of {version} ({what})",
                remedy="list the file of its CustomResourceDefinition before this one",
            ) from None

    def _resource(self, version: str, kind: str) -> dict[str, Any]:
        try:
            resources = self._api.discovered(version)
        except NotFound as error:
            raise NotYet(error.message) from error
        for resource in resources:
            if resource["kind"] == kind and "/" not in resource["name"]:
                return resource
        raise NotYet(f"{version} has no {kind}")

    def _exists(self, path: str) -> bool:
        with contextlib.suppress(NotFound):
            self._api.read(path)
            return True
        return False

    def _established(self, path: str) -> None:
        # `status` and `conditions` may be null at first.
        conditions = (self._api.read(path).get("status") or {}).get("conditions") or ()
        if not any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
            raise NotYet(", ".join(f"{c['type']}={c['status']}" for c in conditions) or "no condition yet")

    def remove(self) -> None:
        """Remove the created objects in reverse order, and wait until they are gone. May be called again."""
        gone: list[str] = []
        while self._created:
            path = self._created.pop()
            with contextlib.suppress(NotFound):
                self._api.remove(path)
                gone.append(path)

        def all_gone() -> None:
            left = [path for path in gone if self._exists(path)]
            if left:
                raise NotYet(f"still exist: {', '.join(left[:3])}")

        if gone:
            wait_for(all_gone, OBJECT_GONE, what="installed objects to be gone")
