"""From options to a cluster: the settings of a cluster, their checks, and the start of the cluster."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import secrets
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from schedproof.binaries import lock as locked
from schedproof.binaries.resolve import resolve
from schedproof.clusters.cluster import Cluster
from schedproof.clusters.embedded import cluster as embedded
from schedproof.clusters.embedded.cluster import EmbeddedCluster
from schedproof.clusters.existing import cluster as existing
from schedproof.clusters.existing.access import check_kubeconfig
from schedproof.clusters.existing.cluster import ExistingCluster, ExistingOptions, binaries_for
from schedproof.clusters.spec import load_kind_spec, load_spec
from schedproof.deploy.deployer import DEPLOY_MODES, DeployMode
from schedproof.foundation.content import content
from schedproof.foundation.errors import UsageError
from schedproof.foundation.progress import Progress
from schedproof.foundation.redaction import SECRETS
from schedproof.normalization.effort import Effort

CLUSTERS = ("embedded", "kind", "existing")
"""The values of `--cluster`."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of a run. A field of a cluster that is not set gets the cluster's default."""

    report: Path
    cluster: str = "embedded"
    cluster_file: Path | None = None
    nodes: int | None = None
    kubernetes: str | None = None
    deploy: DeployMode | None = None
    keep_cluster: bool = False
    cluster_name: str | None = None
    node_image: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    prometheus: str | None = None
    namespace_prefix: str | None = None
    allow_node_changes: bool = False
    audit_log: Path | None = None
    callback_address: str | None = None
    seed: int = dataclasses.field(default_factory=lambda: secrets.randbelow(1_000_000))
    binaries: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    effort: Effort = dataclasses.field(default_factory=Effort)
    """The effort of the property tests of scores."""
    options: tuple[str, ...] = ()
    """The options that, beside a candidate, a clause and the seed, repeat a trial."""
    allow_skipped: bool = False
    """Whether clauses that the cluster cannot try may stay untried."""
    keep_going: bool = False
    """Whether a candidate that binds nothing is tried on all clauses."""
    fail_fast: bool = False
    """Whether the run stops after a clause failed or could not be proved."""
    cluster_number: int = 0
    """The number of this cluster among the clusters side by side, from 1; 0 if there is only one."""

    @property
    def cluster_logs(self) -> Path:
        """The folder for the logs of the cluster."""
        home = self.report / "cluster"
        return home / str(self.cluster_number) if self.cluster_number > 1 else home


_FOR = {
    **dict.fromkeys(("cluster_file", "nodes", "kubernetes"), ("embedded", "kind")),
    **dict.fromkeys(("keep_cluster", "cluster_name", "node_image"), ("kind",)),
    **dict.fromkeys(
        (
            "kubeconfig", "context", "prometheus", "namespace_prefix", "allow_node_changes", "audit_log",
            "callback_address",
        ),
        ("existing",),
    ),
}  # fmt: skip
"""The clusters that an option concerns; all others concern every cluster."""

_PREFIX = re.compile(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?")


def check(settings: Settings) -> None:
    """Refuse settings that contradict each other, before anything is started.

    Raises:
        UsageError: names the option, and what it is for.
    """
    if settings.cluster not in CLUSTERS:
        raise UsageError(
            f"--cluster {settings.cluster}: unknown kind of cluster", remedy=f"one of {', '.join(CLUSTERS)}"
        )
    for field, clusters in _FOR.items():
        if getattr(settings, field) not in (None, False) and settings.cluster not in clusters:
            raise UsageError(
                f"{_flag(field)} is not supported with --cluster {settings.cluster}",
                remedy=f"leave it out, or choose --cluster {' or '.join(clusters)}",
            )
    if settings.kubernetes is not None:
        locked.load().builds(settings.kubernetes)
    if settings.deploy is not None and settings.deploy not in DEPLOY_MODES:
        raise UsageError(
            f"--deploy {settings.deploy}: unknown deployment mode", remedy=f"one of {', '.join(DEPLOY_MODES)}"
        )
    if settings.deploy not in (None, "process") and settings.cluster != "kind":
        raise UsageError(
            f"--deploy {settings.deploy}: on --cluster {settings.cluster} candidates run as processes of this machine",
            remedy="leave it out, or choose --cluster kind",
        )
    if settings.cluster == "existing":
        SECRETS.learn({"": settings.prometheus or ""})
        _check_existing(settings)


def _check_existing(settings: Settings) -> None:
    for field, what in (
        ("kubeconfig", "FILE: that of the cluster"),
        ("prometheus", "URL: of a Prometheus server that scrapes node_exporter on every node"),
    ):
        if getattr(settings, field) is None:
            raise UsageError(f"--cluster existing needs {_flag(field)}", remedy=f"{_flag(field)} {what}")
    if settings.audit_log is not None and not settings.audit_log.is_file():
        raise UsageError(
            f"--audit-log {settings.audit_log}: the file does not exist",
            remedy="name the file that the apiserver writes, or leave it out: clauses that need it are skipped",
        )
    if settings.namespace_prefix is not None and not _PREFIX.fullmatch(settings.namespace_prefix):
        raise UsageError(
            f"--namespace-prefix {settings.namespace_prefix}: not the beginning of a valid namespace name",
            remedy="use up to 30 lower-case letters, digits and dashes, beginning with a letter",
        )
    if settings.callback_address is not None:
        _check_callback(settings.callback_address)


def _check_callback(address: str) -> None:
    try:
        # A certificate is made for it.
        ipaddress.ip_address(address)
        socket.create_server((address, 0)).close()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--callback-address {address}: this machine cannot listen there: {error}",
            remedy="name one of this machine's IP addresses, at which the apiserver reaches it; or leave it out",
        ) from error


def _flag(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def launch(settings: Settings, progress: Progress, *, readings: bool = True) -> Cluster:
    """Start the cluster, or connect to it.

    Args:
        settings: which cluster, and its options.
        progress: is called for steps that take noticeable time.
        readings: whether any candidate needs readings of the nodes' traffic; an embedded cluster then has a Prometheus.

    Raises:
        SchedproofError: it is not available; nothing is left behind.
    """
    if settings.cluster == "embedded":
        return launch_embedded(settings, progress, settings.cluster_logs, readings=readings)
    if settings.cluster == "kind":
        return _launch_kind(settings, progress)
    return _launch_existing(settings, progress)


class KeptCluster:
    """A cluster for several runs, one after the other: started by the first, closed by its owner.

    `only`: the clauses to try in the next run; none: as the options say.
    """

    def __init__(self) -> None:
        self.only: frozenset[str] = frozenset()
        self._cluster: Cluster | None = None
        self._readings = False

    def obtain(self, settings: Settings, progress: Progress, *, readings: bool) -> Cluster:
        """The cluster; see `launch`. A new one where it lacks the readings that are needed now."""
        if readings and not self._readings:
            self.close()
        if self._cluster is None:
            self._cluster, self._readings = launch(settings, progress, readings=readings), readings
        return self._cluster

    def close(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()


def launch_embedded(
    settings: Settings, progress: Progress, logs: Path | None, *, readings: bool = True
) -> EmbeddedCluster:
    """An embedded cluster; `logs` and `readings` as for `EmbeddedCluster`."""
    spec = load_spec(_definition(settings), count=settings.nodes, kubernetes=settings.kubernetes)
    names = embedded.required_binaries(spec, readings=readings)
    binaries = _paths(names, spec.kubernetes, settings, progress, packages=True)
    # The scheduler is started later, with the candidate.
    daemons = ", ".join(name for name in names if name != "kube-scheduler")
    with progress.step(f"starting an embedded cluster of {len(spec.nodes)} nodes", why=f"with real daemons: {daemons}"):
        return EmbeddedCluster(spec, binaries, logs, readings=readings)


def _launch_kind(settings: Settings, progress: Progress) -> Cluster:
    from schedproof.clusters.kind import cluster as kind
    from schedproof.clusters.kind.docker import require_docker
    from schedproof.clusters.node_image.image_choice import obtain_images

    spec = load_kind_spec(_definition(settings), count=settings.nodes, kubernetes=settings.kubernetes)
    require_docker()
    binaries = _paths(kind.BINARIES, spec.kubernetes, settings, progress)
    images = obtain_images(settings.node_image, spec.kubernetes, progress)
    return kind.KindCluster(
        spec, binaries, settings.cluster_logs, progress, images,
        cluster_name=settings.cluster_name or "", keep=settings.keep_cluster,
    )  # fmt: skip


def _launch_existing(settings: Settings, progress: Progress) -> ExistingCluster:
    assert settings.kubeconfig is not None
    assert settings.prometheus is not None
    check_kubeconfig(settings.kubeconfig, settings.context or "")
    options = ExistingOptions(
        settings.kubeconfig, settings.prometheus, settings.context or "",
        settings.namespace_prefix or existing.DEFAULT_PREFIX, settings.allow_node_changes, settings.audit_log,
        settings.callback_address or "",
    )  # fmt: skip
    with progress.step(
        f"connecting to the cluster in {settings.kubeconfig}",
        why="one run at a time; leftovers of an earlier run are removed first",
    ):
        return ExistingCluster(
            options,
            lambda kubernetes: _paths(binaries_for(options), kubernetes, settings, progress),
            settings.report / "cluster",
        )


def _definition(settings: Settings) -> Path:
    return settings.cluster_file or content("clusters", f"{settings.cluster}.yaml")


def _paths(
    names: Sequence[str], kubernetes: str, settings: Settings, progress: Progress, *, packages: bool = False
) -> dict[str, Path]:
    found = resolve(names, kubernetes=kubernetes, explicit=settings.binaries, packages=packages, progress=progress)
    return {name: binary.path for name, binary in found.items()}
