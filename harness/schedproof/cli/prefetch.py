"""`schedproof prefetch`: downloads or builds ahead of time what a run needs, for example for a CI image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from schedproof.benchmark.driver import BINARY as DRIVER
from schedproof.binaries.resolve import resolve
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.embedded import cluster as embedded
from schedproof.clusters.embedded import minimal
from schedproof.clusters.kind import cluster as kind
from schedproof.clusters.kind import minimal as minimal_kind
from schedproof.clusters.kind.docker import require_docker
from schedproof.clusters.node_image.image_choice import obtain_images, write_archive
from schedproof.deploy.plugin_build.plugin_build import build_probe, has_probe, scheduler_binary
from schedproof.foundation.errors import HostError
from schedproof.foundation.progress import Progress

if TYPE_CHECKING:
    from schedproof.candidate.descriptor.descriptor import Candidate

_BINARIES = {
    "embedded": (*embedded.BINARIES, *minimal.BINARIES, DRIVER),
    "kind": (*kind.BINARIES, *minimal_kind.BINARIES, DRIVER),
}


def prefetch(
    candidates: Sequence[Candidate], cluster: Literal["embedded", "kind"], kubernetes: str, progress: Progress
) -> Iterator[str]:
    """Prepare for `run`, `normalize` and `bench`; yields a line for each part that is ready.

    Args:
        candidates: plugins among them are compiled, with the Go toolchain and modules that they need.
        cluster: for which kind of cluster.
        kubernetes: its minor version.
        progress: shows what takes time.

    Raises:
        SchedproofError: something is not available.
    """
    for binary in resolve(list(dict.fromkeys(_BINARIES[cluster])), kubernetes=kubernetes, progress=progress).values():
        yield f"{binary.name} {binary.version}: {binary.path}"
    if cluster == "kind":
        yield f"node image: {_node_image(kubernetes, progress)}"
    for candidate in candidates:
        if isinstance(candidate.spec, PluginSpec):
            yield from _compiled(candidate, candidate.spec, kubernetes, progress)


def _node_image(kubernetes: str, progress: Progress) -> str:
    try:
        require_docker()
    except HostError:  # when building a CI image, for example: the first run with Docker loads the archive
        return str(write_archive(kubernetes, None, progress))
    return obtain_images(None, kubernetes, progress).node


def _compiled(candidate: Candidate, spec: PluginSpec, kubernetes: str, progress: Progress) -> Iterator[str]:
    build = {"name": candidate.name, "kubernetes": kubernetes}
    yield f"{candidate.name}: {scheduler_binary(spec, **build, progress=progress)}"
    if has_probe(spec):
        yield f"{candidate.name}, for its scores: {build_probe(spec, **build, progress=progress)}"
