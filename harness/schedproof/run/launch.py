"""From options to a cluster: the settings of a run, their checks, and the start of the cluster."""

from __future__ import annotations

import dataclasses
import secrets
from pathlib import Path

from schedproof.binaries import lock as locked
from schedproof.clusters.cluster import Cluster
from schedproof.clusters.kinds import KINDS
from schedproof.clusters.registration import ClusterKind, ClusterOptions, flag
from schedproof.deploy.deployer import DEPLOY_MODES, DeployMode
from schedproof.foundation.errors import UsageError
from schedproof.foundation.progress import Progress
from schedproof.normalization.effort import Effort


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(ClusterOptions):
    """The options of a run, those of its cluster among them."""

    report: Path
    deploy: DeployMode | None = None
    seed: int = dataclasses.field(default_factory=lambda: secrets.randbelow(1_000_000))
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

    @property
    def deployed(self) -> str:
        """How candidates are deployed: as asked for, or as usual on its cluster."""
        return self.deploy or self.kind.deploys[0]

    @property
    def kind(self) -> ClusterKind:
        """The kind of its cluster.

        Raises:
            UsageError: there is no such kind.
        """
        if self.cluster not in KINDS:
            raise UsageError(f"--cluster {self.cluster}: unknown kind of cluster", remedy=f"one of {', '.join(KINDS)}")
        return KINDS[self.cluster]


def check(settings: Settings) -> None:
    """Refuse settings that contradict each other, before anything is started.

    Raises:
        UsageError: names the option, and what it is for.
    """
    kind = settings.kind
    for field in sorted({option for other in KINDS.values() for option in other.options}):
        if getattr(settings, field) not in (None, False) and field not in kind.options:
            fitting = [name for name, other in KINDS.items() if field in other.options]
            raise UsageError(
                f"{flag(field)} is not supported with --cluster {kind.name}",
                remedy=f"leave it out, or choose --cluster {' or '.join(fitting)}",
            )
    if settings.kubernetes is not None:
        locked.load().builds(settings.kubernetes)
    if settings.deploy is not None and settings.deploy not in DEPLOY_MODES:
        raise UsageError(
            f"--deploy {settings.deploy}: unknown deployment mode", remedy=f"one of {', '.join(DEPLOY_MODES)}"
        )
    if settings.deploy is not None and settings.deploy not in kind.deploys:
        fitting = [name for name, other in KINDS.items() if settings.deploy in other.deploys]
        raise UsageError(
            f"--deploy {settings.deploy}: on --cluster {kind.name} candidates run as processes of this machine",
            remedy=f"leave it out, or choose --cluster {' or '.join(fitting)}",
        )
    kind.check(settings)


def launch(settings: Settings, progress: Progress, *, readings: bool = True) -> Cluster:
    """Start the cluster, or connect to it; see `Starter`."""
    return settings.kind.start(settings, progress, settings.cluster_logs, readings=readings)


class KeptCluster:
    """A cluster for several runs, one after the other: started by the first, closed by its owner."""

    def __init__(self) -> None:
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
