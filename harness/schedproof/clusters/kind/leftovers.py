"""Removes kind clusters and containers of schedproof's that no running process uses."""

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
    """Remove what no living run holds; says what was removed.

    A cluster that was kept (`--keep-cluster`) stays, unless it is named in `kept`.

    Raises:
        UsageError: a named cluster is not ours, or in use.
        HostError: there is something of ours, and Docker cannot be asked for it.
    """
    try:
        found = _ours()
    except HostError:
        if not claims() and not kept:
            return []  # nor was there ever a cluster of ours
        raise
    if unknown := set(kept) - {*claims(), *found}:
        raise UsageError(
            f"schedproof has started no kind cluster that is called {', '.join(sorted(unknown))}",
            remedy="`kind get clusters` lists all kind clusters",
        )
    removed = []
    for name in sorted({*claims(), *found}):
        try:
            claim = Claim(name)
        except UsageError:
            if name in kept:
                raise
            continue  # a living run's
        try:
            note = claim.note
            if note is not None and note.kept and name not in kept:
                removed += [f"container {one}" for one in remove_beside(name)]
                continue
            removed += remove_cluster(name, note)
            claim.forget()
        finally:
            claim.release()
    restore_settings()
    return removed


def remove_cluster(name: str, note: Note | None) -> list[str]:
    """Remove the nodes of a cluster of ours, and the containers beside them. Call with its lock held."""
    if note is not None:
        _wait_made(name, note)
    found = _ours().get(name, Ours())
    _remove([*found.beside, *found.nodes])
    return [f"kind cluster {name}"] if found.nodes else [f"container {one}" for one in found.beside]


def remove_beside(name: str) -> list[str]:
    """Remove the containers beside the nodes alone."""
    beside = _ours().get(name, Ours()).beside
    _remove(beside)
    return beside


def _remove(containers: Collection[str]) -> None:
    for one in containers:
        # It may be removing itself in the same moment.
        with contextlib.suppress(DockerError):
            # Also its unnamed volumes: a node keeps its images in one.
            docker("rm", "--force", "--volumes", one, deadline=CONTAINER_GONE)

    def gone() -> None:
        if left := set(containers) & set(docker("ps", "--all", "--format={{.Names}}").split()):
            raise NotYet(f"{', '.join(sorted(left))}: run `docker rm -f` on them to see why")

    wait_for(gone, CONTAINER_GONE, what="Docker to remove containers", poll=0.2)


def _ours() -> dict[str, Ours]:
    # Two calls: several filters of one key are joined by "and".
    found = []
    for label in (CLUSTER_LABEL, LOCK_LABEL):
        for one in docker("ps", "-aq", "--no-trunc", f"--filter=label={label}").split():
            with contextlib.suppress(DockerError):  # it has gone meanwhile
                found += json.loads(docker("inspect", "--type=container", one))
    return ours(found)


def _wait_made(name: str, note: Note) -> None:
    """Until no container is half made.

    The Docker daemon goes on with a container whose client was killed. For seconds that container is not listed, but
    its name is taken: that a second one of the same name can be made shows that there is none.
    """
    for one in note.containers:

        def probe(one: str = one) -> None:
            if docker("ps", "-aq", f"--filter=name=^/{one}$").strip():
                return
            label = f"{LOCK_LABEL}={Claim.path_of(name)}"
            try:
                made = docker("create", "--name", one, "--label", label, "--pull=never", note.image).strip()
            except DockerError as error:
                if image_present(note.image):
                    raise NotYet(str(error)) from error
                return  # and nothing is being made of it
            docker("rm", "--force", made)

        wait_for(probe, CONTAINER_MADE, what="Docker to finish a container that it was told to make", poll=0.2)
