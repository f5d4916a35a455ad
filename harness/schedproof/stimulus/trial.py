"""One candidate, attached to one cluster, being recorded."""

from __future__ import annotations

import contextlib
import platform
import time
from typing import TYPE_CHECKING, Any

from schedproof import __version__
from schedproof.candidates.attachment import Attachment
from schedproof.candidates.scheduler_config import scheduler_configuration
from schedproof.clusters import bootstrap
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.daemons.scheduler import Scheduler, start_scheduler
from schedproof.history.record import SCHEMA
from schedproof.metrics.readings import Reader
from schedproof.normalization.effort import Effort
from schedproof.stimulus.pods import Pod, pod_manifest
from schedproof.stimulus.recorder import Recorder
from schedproof.stimulus.scorers import Scorers
from schedproof.stimulus.scores import ScoreTail

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from schedproof.candidates.descriptor import Candidate
    from schedproof.clusters.cluster import Cluster
    from schedproof.history.history import History

__all__ = ["CONTROL", "Trial", "describe_cluster"]

CONTROL = "schedproof-control"
"""The schedulerName of the stock scheduler that runs beside the candidate as the control of preferences."""

_QUICK = Effort()

_SCHEDULER_ROLES = (*SCHEDULER_RBAC.cluster_roles, "system:basic-user", "system:discovery")
_BYSTANDER = "schedproof-bystander"


class Trial:
    """A candidate's run. The constructor returns when the candidate is ready; `close` takes it down.

    Args:
        folder: where its history and logs are kept.
        seed: what the cases draw from.
        deploy: how the candidate's parts run; see `Attachment`.
        effort: of the property tests of its scores.
    """

    def __init__(
        self,
        cluster: Cluster,
        candidate: Candidate,
        folder: Path,
        seed: int,
        deploy: str | None = None,
        effort: Effort = _QUICK,
    ) -> None:
        begin = time.monotonic()
        self.cluster = cluster
        self.candidate = candidate
        self.folder = folder
        self.seed = seed
        self.effort = effort
        self.namespace = f"{cluster.namespace_prefix}-{candidate.name}"[:63].rstrip("-.").replace(".", "-")
        self._generation = 0
        self.is_over = False
        """Whether all that was to be tried has been."""
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            folder.mkdir(parents=True, exist_ok=True)
            bootstrap.namespace(cluster.api, self.namespace)
            self.attachment = Attachment(cluster, candidate, folder, deploy)
            self._closing.callback(self.attachment.stop)
            self.scorers = Scorers(candidate, cluster.kubernetes, folder / "scores")
            self._closing.callback(self.scorers.close)
            self.control = _Control(cluster)
            self._closing.callback(self.control.stop)
            self.recorder = Recorder(cluster.api, folder, self._header(), cluster.audit_log)
            self._closing.callback(self.recorder.close)
            # Once more, and before the recorder closes: the candidate's last acts count.
            self._closing.callback(self.attachment.stop)
            # A pod that is nobody's: whoever touches it, does not look at schedulerName.
            bystander = pod_manifest("bystander", _BYSTANDER, image=cluster.workload_image)
            cluster.api.create_or_keep("pods", bystander, self.namespace)
            # What it lists at its start, it has seen.
            self.recorder.add("seen", rv=self.recorder.rv, shown_at_rv=self.recorder.rv, pod="(its own start)")
            self.attachment.start(self.recorder.add)
            if self.attachment.scheduler_log is not None:
                self.recorder.follow_scores(ScoreTail(self.attachment.scheduler_log))
            self.straggler = self._straggle()
            self.readers = _Readers()
            self._closing.callback(self.readers.close)
            undo.pop_all()
        self.attach_seconds = time.monotonic() - begin

    def _straggle(self) -> Pod:
        """A pod that never fits: at the end of the run the candidate must have said so."""
        manifest = pod_manifest(
            "straggler", self.candidate.scheduler_name, image=self.cluster.workload_image,
            nodeSelector={"schedproof.dev/no-such": "node"},
        )  # fmt: skip
        pod = Pod.created(self.cluster.api.create("pods", manifest, self.namespace))
        self.recorder.add("pod", case="", pod=f"{self.namespace}/{pod.name}", uid=pod.uid, role="straggler")
        return pod

    def _header(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "candidate": self.candidate.as_dict(),
            "cluster": describe_cluster(self.cluster),
            "seed": self.seed,
            "versions": {"schedproof": __version__, "python": platform.python_version(), **self.cluster.versions()},
            "users": {
                "candidate": self.attachment.users,
                "control": [self.control.user],
                "harness": [f"system:serviceaccount:{self.cluster.namespace}:{bootstrap.HARNESS}"],
            },
            "rbac": {
                "declared": self._rules(self.candidate.rbac.cluster_roles)
                + [rule.document() for rule in self.candidate.rbac.rules],
                "schedulers": self._rules(_SCHEDULER_ROLES),
            },
            "scheduler_names": self.attachment.scheduler_names,
            "namespace": self.namespace,
        }  # fmt: skip

    def _rules(self, roles: Iterable[str]) -> list[dict[str, Any]]:
        """What these ClusterRoles grant."""
        return [rule for role in roles for rule in self.cluster.api.get("clusterroles", role).get("rules") or ()]

    def next_generation(self) -> str:
        """A label value that no node has borne yet in this run."""
        self._generation += 1
        return f"{self.seed}-{self._generation}"

    def start_control(self) -> None:
        """Let the control run beside the candidate from here on."""
        log = self.control.start(self.folder)
        if log is not None:
            self.recorder.follow_scores(ScoreTail(log))

    def history(self) -> History:
        self.attachment.report_exits()
        self.attachment.catch_up()
        return self.recorder.history()

    def over(self) -> None:
        """All that was to be tried has been. May be said again."""
        if not self.is_over:
            self.is_over = True
            self.recorder.catch_up()
            self.recorder.add("over")

    def close(self) -> None:
        """Stop the candidate, then the recording. Safe to call twice."""
        # The watches must end before their namespace does, but after the candidate: its last acts count.
        self._closing.close()


def describe_cluster(cluster: Cluster) -> dict[str, Any]:
    """The `cluster` of a history's header."""
    return {
        "name": cluster.name, "nodes": list(cluster.nodes), "device": cluster.device,
        "capabilities": sorted(cluster.capabilities), "scrape_interval": cluster.scrape_interval,
    }  # fmt: skip


class _Control:
    """The stock scheduler under a name of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._identity = cluster.identity(CONTROL, SCHEDULER_RBAC)
        self._scheduler: Scheduler | None = None

    @property
    def user(self) -> str:
        return self._identity.user

    def start(self, logs: Path) -> Path | None:
        """Its log, where it was not running yet."""
        if self._scheduler is not None:
            return None
        configuration = scheduler_configuration([CONTROL], self._identity.kubeconfig)
        self._scheduler = start_scheduler(
            self._cluster.host, CONTROL, configuration, self._identity.kubeconfig, logs=logs / "control"
        )
        self._scheduler.wait_ready()
        return self._scheduler.process.command.log

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.process.stop(grace=0)


class _Readers:
    """One reader for each Prometheus."""

    def __init__(self) -> None:
        self._readers: dict[str, Reader] = {}

    def at(self, url: str) -> Reader:
        if url not in self._readers:
            self._readers[url] = Reader(url)
        return self._readers[url]

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
