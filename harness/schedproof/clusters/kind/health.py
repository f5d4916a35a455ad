"""Checks for kind clusters: Docker, its disk, and images."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator

from schedproof.clusters.health import GIB, Check, Health, gib
from schedproof.clusters.kind.docker import DockerInfo, image_present, require_docker
from schedproof.clusters.node_image.debian import missing_tools
from schedproof.clusters.node_image.images import archive_path, our_images
from schedproof.foundation.errors import HostError

_DISK = 5 * GIB  # 1 for the images, and some 0.6 for each node


@dataclasses.dataclass(frozen=True)
class KindHost:
    """The facts about a machine's Docker that a diagnosis needs; a value, so that a test can diagnose any machine."""

    docker: DockerInfo | HostError
    """Docker's version and cgroups, or why it cannot be used."""
    disk_free: int | None
    """Where Docker keeps images and containers; None if that is not on this machine."""
    images: bool
    """Whether Docker has schedproof's images."""
    archive: bool
    """Whether the cache has them."""
    apt_lacks: tuple[str, ...]

    @classmethod
    def here(cls, kubernetes: str) -> KindHost:
        """Inspect the Docker daemon that would be used."""
        try:
            docker: DockerInfo | HostError = require_docker()
        except HostError as error:
            docker = error
        there = isinstance(docker, DockerInfo)
        free = shutil.disk_usage(docker.root).free if isinstance(docker, DockerInfo) and docker.root.is_dir() else None
        return cls(
            docker=docker,
            disk_free=free,
            images=there and all(map(image_present, our_images(kubernetes).references)),
            archive=archive_path(kubernetes).is_file(),
            apt_lacks=tuple(missing_tools()),
        )

    @property
    def making(self) -> bool:
        """Whether images will be made here, unless a registry has them."""
        return not self.images and not self.archive


def kind_health(host: KindHost) -> Health:
    """What a kind cluster needs of a machine's Docker."""
    return Health(list(_checks(host)), building=host.making)


def _checks(host: KindHost) -> Iterator[Check]:
    """The checks for a kind cluster, in the order in which to repair what is missing."""
    if isinstance(host.docker, HostError):
        yield Check("docker", ok=False, found=host.docker.message, remedy=host.docker.remedy)
    else:
        kubelets = (
            "; kubelets are configured to accept it (failCgroupV1: false)" if host.docker.cgroup_version == 1 else ""
        )
        yield Check("docker", ok=True, found=f"{host.docker.version}, cgroup v{host.docker.cgroup_version}{kubelets}")
    if host.disk_free is not None:
        yield Check(
            "disk for Docker", host.disk_free >= _DISK, f"{gib(host.disk_free)} free",
            "" if host.disk_free >= _DISK else f"free disk space up to {gib(_DISK)}: docker system prune",
        )  # fmt: skip
    if host.images:
        found = "there"
    elif host.archive:
        found = "in the cache, to be loaded into Docker (about 15 s)"
    elif not host.apt_lacks:
        found = "missing; will be pulled, or made of Debian packages and Go modules (about 10 min, once)"
    else:
        found = f"missing; will be pulled: without {' and '.join(host.apt_lacks)} they cannot be made here"
    yield Check("node image", ok=True, found=found)
