"""`schedproof prefetch`: downloads or builds ahead of time what a run needs, for example for a CI image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from schedproof.benchmark.driver import BINARY as DRIVER
from schedproof.binaries.resolve import resolve
from schedproof.candidate.kinds import PluginSpec
from schedproof.clusters.kinds import KINDS
from schedproof.deploy.plugin_build.plugin_build import build_probe, has_probe, scheduler_binary
from schedproof.foundation.progress import Progress

if TYPE_CHECKING:
    from schedproof.candidate.descriptor.descriptor import Candidate


def prefetch(candidates: Sequence[Candidate], cluster: str, kubernetes: str, progress: Progress) -> Iterator[str]:
    """Prepare for `run`, `normalize` and `bench`; yields a line for each part that is ready.

    Args:
        candidates: plugins among them are compiled, with the Go toolchain and modules that they need.
        cluster: for which kind of cluster.
        kubernetes: its minor version.
        progress: shows what takes time.

    Raises:
        SchedproofError: something is not available.
    """
    kind = KINDS[cluster]
    measured = (*kind.minimal.binaries, DRIVER) if kind.minimal is not None else ()
    names = list(dict.fromkeys((*kind.binaries, *measured)))
    for binary in resolve(names, kubernetes=kubernetes, progress=progress).values():
        yield f"{binary.name} {binary.version}: {binary.path}"
    yield from kind.fetch(kubernetes, progress)
    for candidate in candidates:
        if isinstance(candidate.spec, PluginSpec):
            yield from _compiled(candidate, candidate.spec, kubernetes, progress)


def _compiled(candidate: Candidate, spec: PluginSpec, kubernetes: str, progress: Progress) -> Iterator[str]:
    build = {"name": candidate.name, "kubernetes": kubernetes}
    yield f"{candidate.name}: {scheduler_binary(spec, **build, progress=progress)}"
    if has_probe(spec):
        yield f"{candidate.name}, for its scores: {build_probe(spec, **build, progress=progress)}"
