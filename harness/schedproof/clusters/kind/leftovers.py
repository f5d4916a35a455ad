"""Removes schedproof's kind clusters and containers that no running process uses."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection

from schedproof.clusters.kind.docker import DockerError, docker, image_present
from schedproof.clusters.kind.host_settings import restore_settings
from schedproof.clusters.kind.ownership import CLUSTER_LABEL, LOCK_LABEL, Claim, Note, Ours, claims, ours
from schedproof.foundation.deadlines import CONTAINER_GONE, CONTAINER_MADE
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.waiting import NotYet, wait_for


def remove_leftovers(kept: Collection[str] = ()) -> list[str]:
    """Remove what no live run holds; return what was removed.

    A cluster that was kept (`--keep-cluster`) stays, unless `kept` names it.

    Raises:
        UsageError: a named cluster is not schedproof's, or is in use.
        HostError: Docker is unavailable, and there may be leftovers.
    """
    try:
        found = _ours()
    except HostError:
        if not claims() and not kept:
            return []  # there are no leftovers either
        raise
    if unknown := set(kept) - {*claims(), *found}:
        raise UsageError(
            f"schedproof has started no kind cluster named {', '.join(sorted(unknown))}",
            remedy="`kind get clusters` lists all kind clusters",
        )
    removed = []
    for name in sorted({*claims(), *found}):
        try:
            claim = Claim(name)
        except UsageError:
            if name in kept:
                raise
            continue  # a live run uses it
        try:
            note = claim.note
            if note is not None and note.kept and name not in kept:
                removed += [f"container {container}" for container in remove_beside(name)]
                continue
            removed += remove_cluster(name, note)
            claim.forget()
        finally:
            claim.release()
    restore_settings()
    return removed


def remove_cluster(name: str, note: Note | None) -> list[str]:
    """Remove a cluster's nodes and the containers beside them; return what was removed. Call it with its lock held."""
    if note is not None:
        _wait_made(name, note)
    found = _ours().get(name, Ours())
    _remove([*found.beside, *found.nodes])
    return [f"kind cluster {name}"] if found.nodes else [f"container {container}" for container in found.beside]


def remove_beside(name: str) -> list[str]:
    """Remove only the containers beside the nodes; return their names."""
    beside = _ours().get(name, Ours()).beside
    _remove(beside)
    return beside


def _remove(containers: Collection[str]) -> None:
    for container in containers:
        # It may be removing itself at the same time.
        with contextlib.suppress(DockerError):
            # Also remove its anonymous volumes: a node keeps its images in one.
            docker("rm", "--force", "--volumes", container, deadline=CONTAINER_GONE)

    def gone() -> None:
        if left := set(containers) & set(docker("ps", "--all", "--format={{.Names}}").split()):
            raise NotYet(f"{', '.join(sorted(left))}: run `docker rm -f` on them to see why")

    wait_for(gone, CONTAINER_GONE, what="Docker to remove containers", poll=0.2)


def _ours() -> dict[str, Ours]:
    # Two calls, because several filters of one key are combined with AND.
    found = []
    for label in (CLUSTER_LABEL, LOCK_LABEL):
        for container in docker("ps", "-aq", "--no-trunc", f"--filter=label={label}").split():
            with contextlib.suppress(DockerError):  # it is gone by now
                found += json.loads(docker("inspect", "--type=container", container))
    return ours(found)


def _wait_made(name: str, note: Note) -> None:
    """Wait until no container is partially created.

    The Docker daemon continues with a container whose client was killed. For seconds that container is not listed,
    but its name is taken: if another container of this name can be created, there is none.
    """
    for container in note.containers:

        def probe(container: str = container) -> None:
            if docker("ps", "-aq", f"--filter=name=^/{container}$").strip():
                return
            label = f"{LOCK_LABEL}={Claim.path_of(name)}"
            try:
                made = docker("create", "--name", container, "--label", label, "--pull=never", note.image).strip()
            except DockerError as error:
                if image_present(note.image):
                    raise NotYet(str(error)) from error
                return  # without the image, no container is being created
            docker("rm", "--force", made)

        wait_for(probe, CONTAINER_MADE, what="Docker to finish creating a container", poll=0.2)
