"""The registration of embedded clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from schedproof.clusters.registration import ClusterKind, ClusterOptions, Minimal, definition
from schedproof.foundation.progress import Progress

if TYPE_CHECKING:
    from schedproof.clusters.embedded.cluster import EmbeddedCluster
    from schedproof.clusters.embedded.minimal import MinimalEmbeddedCluster


def start(options: ClusterOptions, progress: Progress, logs: Path | None, *, readings: bool = True) -> EmbeddedCluster:
    """See `Starter`. It has a Prometheus if there are to be `readings`."""
    from schedproof.binaries.resolve import paths
    from schedproof.clusters.embedded.cluster import EmbeddedCluster, required_binaries
    from schedproof.clusters.spec import load_spec

    spec = load_spec(definition(options), count=options.nodes, kubernetes=options.kubernetes)
    names = required_binaries(spec, readings=readings)
    binaries = paths(names, spec.kubernetes, options.binaries, progress, packages=True)
    # The scheduler is started later, with the candidate.
    daemons = ", ".join(name for name in names if name != "kube-scheduler")
    with progress.step(f"starting an embedded cluster of {len(spec.nodes)} nodes", why=f"with real daemons: {daemons}"):
        return EmbeddedCluster(spec, binaries, logs, readings=readings)


def _start_minimal(
    kubernetes: str, binaries: Mapping[str, Path], _image: str | None, logs: Path, audited: bool
) -> MinimalEmbeddedCluster:
    from schedproof.clusters.embedded.minimal import MinimalEmbeddedCluster

    return MinimalEmbeddedCluster(kubernetes, binaries, logs, audited=audited)


EMBEDDED = ClusterKind(
    "embedded", start,
    binaries=(
        "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "prometheus", "node_exporter",
    ),
    options=("cluster_file", "nodes", "kubernetes"), light=True,
    minimal=Minimal(("etcd", "kube-apiserver", "kube-scheduler", "readings-server"), _start_minimal),
)  # fmt: skip
