"""The registration of kind clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.clusters.health import Health
from schedproof.clusters.registration import ClusterKind, ClusterOptions, Minimal, definition
from schedproof.foundation.errors import HostError
from schedproof.foundation.progress import Progress

if TYPE_CHECKING:
    from schedproof.clusters.kind.cluster import KindCluster
    from schedproof.clusters.kind.minimal import MinimalKindCluster


def _start(
    options: ClusterOptions,
    progress: Progress,
    logs: Path | None,
    *,
    readings: bool = True,  # noqa: ARG001
) -> KindCluster:
    """See `Starter`. It has a Prometheus in any case."""
    from schedproof.binaries.resolve import paths
    from schedproof.clusters.kind.cluster import KindCluster
    from schedproof.clusters.kind.docker import require_docker
    from schedproof.clusters.node_image.image_choice import obtain_images
    from schedproof.clusters.spec import load_kind_spec

    assert logs is not None
    spec = load_kind_spec(definition(options), count=options.nodes, kubernetes=options.kubernetes)
    require_docker()
    binaries = paths(KIND.binaries, spec.kubernetes, options.binaries, progress)
    images = obtain_images(options.node_image, spec.kubernetes, progress)
    return KindCluster(
        spec, binaries, logs, progress, images, cluster_name=options.cluster_name or "", keep=options.keep_cluster
    )


def _health(kubernetes: str) -> Health:
    from schedproof.clusters.kind.health import KindHost, kind_health

    return kind_health(KindHost.here(kubernetes))


def _fetch(kubernetes: str, progress: Progress) -> Iterator[str]:
    from schedproof.clusters.kind.docker import require_docker
    from schedproof.clusters.node_image.image_choice import obtain_images, write_archive

    try:
        require_docker()
    except HostError:  # when building a CI image, for example: the first run with Docker loads the archive
        yield f"node image: {write_archive(kubernetes, None, progress)}"
    else:
        yield f"node image: {obtain_images(None, kubernetes, progress).node}"


def _prepare_minimal(image: str | None, kubernetes: str, progress: Progress) -> str:
    from schedproof.clusters.kind.docker import require_docker
    from schedproof.clusters.node_image.image_choice import obtain_images

    require_docker()
    return obtain_images(image, kubernetes, progress).node


def _start_minimal(
    kubernetes: str, binaries: Mapping[str, Path], image: str | None, logs: Path, audited: bool
) -> MinimalKindCluster:
    from schedproof.clusters.kind.minimal import MinimalKindCluster

    assert image is not None
    return MinimalKindCluster(kubernetes, binaries, image, logs, audited=audited)


KIND = ClusterKind(
    "kind", _start,
    binaries=("kind", "kube-scheduler", "kwok", "node_exporter", "prometheus"),
    options=("cluster_file", "nodes", "kubernetes", "keep_cluster", "cluster_name", "node_image"),
    deploys=("pod", "process", "control-plane"), health=_health, fetch=_fetch,
    minimal=Minimal(("kind", "kube-scheduler", "readings-server"), _start_minimal, _prepare_minimal),
)  # fmt: skip
