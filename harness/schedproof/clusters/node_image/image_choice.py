"""Chooses the images of a kind cluster: the requested, previously built or registry's images, else newly built ones."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

from schedproof.binaries import lock as locked
from schedproof.clusters.kind.docker import DockerError, docker, image_present, load_images
from schedproof.clusters.node_image.images import Images, archive_path, our_images
from schedproof.clusters.node_image.recipe import make_archive
from schedproof.foundation.deadlines import IMAGE_PULLED
from schedproof.foundation.errors import HostError, UsageError
from schedproof.foundation.progress import Progress


def obtain_images(explicit: str | None, kubernetes: str, progress: Progress) -> Images:
    """Return images that the Docker daemon has; pulls, loads or builds them if necessary.

    Args:
        explicit: a node image, or a file that `write_archive` has written.
        kubernetes: the minor version.
        progress: notes which node image is used, and why.

    Raises:
        UsageError: the image does not exist, or the file is from another version.
        HostError: there is no registry, and this machine cannot build the images.
    """
    ours = our_images(kubernetes)
    if explicit is not None and Path(explicit).is_file():
        _load(Path(explicit), progress)
        if not _present(*ours.references):
            raise UsageError(
                f"{explicit} does not contain the images of this schedproof version, such as {ours.node}",
                remedy="write it again with this version: schedproof node-image --output FILE",
            )
        return ours
    if explicit is not None:
        _require(explicit, progress)
        node = explicit
    elif _present(*ours.references):
        return ours
    elif archive_path(kubernetes).is_file():
        node = ours.node
    else:
        node = f"kindest/node:{locked.load().kubernetes[kubernetes].version}"
        if (refused := _pull(node, progress)) is not None:
            progress.note(
                f"{node} cannot be pulled ({refused}): building a node image from Debian packages and Go modules"
            )
            node = ours.node
    if node == ours.node or not (_present(*ours.addons) or _publish(ours, progress)):
        _load(make_archive(kubernetes, progress), progress)
    return dataclasses.replace(ours, node=node)


def write_archive(kubernetes: str, output: Path | None, progress: Progress) -> Path:
    """Build schedproof's own images for a machine without a registry and Debian packages; needs no Docker.

    Returns:
        The archive: `output`, or its path in the cache.

    Raises:
        HostError: this machine cannot build the images, or cannot write `output`.
    """
    made = make_archive(kubernetes, progress)
    if output is None:
        return made
    try:
        shutil.copyfile(made, output)
    except OSError as error:
        raise HostError(
            f"{output} cannot be written: {error.strerror}",
            remedy="give a file in an existing, writable folder",
        ) from error
    return output


def _present(*references: str) -> bool:
    return all(image_present(reference) for reference in references)


def _require(reference: str, progress: Progress) -> None:
    if (refused := _pull(reference, progress)) is not None:
        raise UsageError(
            f"there is no node image {reference!r}: Docker does not have it, and cannot pull it ({refused})",
            remedy=(
                "give an image that `docker images` lists, or an archive file; or omit it: schedproof then builds "
                "an image"
            ),
        )


def _pull(reference: str, progress: Progress) -> str | None:
    """Return None if Docker now has the image, else why it cannot be pulled."""
    if image_present(reference):
        return None
    try:
        with progress.step(f"pull {reference}"):
            docker("pull", "--quiet", reference, deadline=IMAGE_PULLED)
    except DockerError as error:
        return error.message.splitlines()[-1]
    return None


def _publish(ours: Images, progress: Progress) -> bool:
    """Build the images that run beside Kubernetes from the registry's; return whether the registry has them."""
    tools = locked.load().tools
    recipes = {
        ours.node_exporter: f"FROM prom/node-exporter:v{tools['node_exporter'].version}",
        ours.prometheus: f"FROM prom/prometheus:v{tools['prometheus'].version}\nUSER root",
        ours.python: "FROM python:3-slim",
        ours.workload: 'FROM busybox:stable\nCMD ["sh", "-c", "trap \'exit 0\' TERM INT; sleep infinity & wait"]',
    }
    try:
        with progress.step("pull the images of Prometheus, node_exporter, Python and busybox"):
            for reference, dockerfile in recipes.items():
                docker("build", "--quiet", "--tag", reference, "-", stdin=dockerfile.encode(), deadline=IMAGE_PULLED)
    except DockerError:
        return False
    return True


def _load(archive: Path, progress: Progress) -> None:
    with progress.step(f"load {archive.name} into Docker"):
        load_images(archive)
