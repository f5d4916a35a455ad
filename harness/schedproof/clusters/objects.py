"""Objects of any kind, CustomResourceDefinitions and what they define too: applied, waited for, and removed again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from schedproof.clusters.api import Api, ApiError, Manifest, NotFound
from schedproof.foundation.deadlines import OBJECT_GONE, OBJECT_SERVED
from schedproof.foundation.errors import DeadlineExceededError, UsageError
from schedproof.foundation.waiting import NotYet, wait_for

_CRD = "CustomResourceDefinition"


class AppliedObjects:
    """What was applied, so that `remove` takes away exactly what was made here.

    Args:
        mine: whether the cluster is the harness's own: else an object that is there already is not touched.
    """

    def __init__(self, api: Api, *, mine: bool) -> None:
        self._api = api
        self._mine = mine
        self._made: list[str] = []

    def apply(self, manifests: Iterable[Manifest], namespace: str, *, source: str) -> None:
        """Apply manifests in their order, each once its kind is served; returns when all can be used.

        Args:
            manifests: with apiVersion, kind and metadata.name.
            namespace: of those that name none, where their kind has namespaces.
            source: where they come from, for errors.

        Raises:
            UsageError: the apiserver refuses one, or it is there already in a cluster that is not ours.
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
        there = self._exists(path)
        if there and not self._mine and path not in self._made:
            raise UsageError(
                f"{source}: a {what} exists already in this cluster, which the harness neither changes nor removes",
                remedy="leave it out of spec.install for this cluster, or remove it there",
            )
        self._api.apply(path, manifest)
        if not there:
            self._made.append(path)
        if manifest["kind"] == _CRD:
            wait_for(lambda: self._established(path), OBJECT_SERVED, what=f"the {what} to be established")

    def _served(self, version: str, kind: str, what: str, source: str) -> dict[str, Any]:
        """What discovery says of a kind; waits where a definition of ours may be what brings it in a moment."""
        group = version.rpartition("/")[0]
        try:
            if any(path.endswith(f".{group}") and "/customresourcedefinitions/" in path for path in self._made):
                return wait_for(lambda: self._resource(version, kind), OBJECT_SERVED, what=f"{what} to be served")
            return self._resource(version, kind)
        except (NotYet, DeadlineExceededError):
            raise UsageError(
                f"{source}: this cluster serves no {kind} of {version} ({what})",
                remedy="name the file of its CustomResourceDefinition before this one",
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
        # Both are null for a moment.
        conditions = (self._api.read(path).get("status") or {}).get("conditions") or ()
        if not any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            raise NotYet(", ".join(f"{one['type']}={one['status']}" for one in conditions) or "no condition yet")

    def remove(self) -> None:
        """Take away what was made, the last first; returns when it is gone. May be called again."""
        gone: list[str] = []
        while self._made:
            path = self._made.pop()
            with contextlib.suppress(NotFound):
                self._api.remove(path)
                gone.append(path)

        def all_gone() -> None:
            left = [path for path in gone if self._exists(path)]
            if left:
                raise NotYet(f"still there: {', '.join(left[:3])}")

        if gone:
            wait_for(all_gone, OBJECT_GONE, what="what was installed to be gone")
