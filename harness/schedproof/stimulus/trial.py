"""One candidate, attached to one cluster, being recorded."""

from __future__ import annotations

import contextlib
import platform
import time
from typing import TYPE_CHECKING, Any

from schedproof import __version__
from schedproof.candidates.deploy.attachment import Attachment
from schedproof.candidates.deploy.placeholders import fill
from schedproof.candidates.deploy.scheduler_config import scheduler_configuration
from schedproof.candidates.timing import ClaimedDeadlines
from schedproof.clusters import bootstrap
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.daemons.scheduler import Scheduler, start_scheduler
from schedproof.foundation.errors import CandidateError, DeadlineExceededError
from schedproof.foundation.private import make_private
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.record import SCHEMA
from schedproof.normalization.effort import Effort
from schedproof.stimulus.pods import Pod, pod_manifest
from schedproof.stimulus.recorder import Recorder
from schedproof.stimulus.reserved import RESERVED, ReservedNode, is_possible
from schedproof.stimulus.scorers import Scorers
from schedproof.stimulus.scores import ScoreTail
from schedproof.stimulus.standing import bystanders, waiting
from schedproof.stimulus.surroundings import Surroundings
from schedproof.traffic.readings import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from schedproof.candidates.descriptor.descriptor import Candidate
    from schedproof.candidates.kinds import RbacSpec
    from schedproof.clusters.api import Manifest
    from schedproof.clusters.cluster import Cluster
    from schedproof.history.history import History

__all__ = ["CONTROL", "Trial", "describe_cluster"]

CONTROL = "schedproof-control"
"""The schedulerName of the stock scheduler that runs beside the candidate as the control of preferences."""

_QUICK = Effort()

_SCHEDULER_ROLES = (*SCHEDULER_RBAC.cluster_roles, "system:basic-user", "system:discovery")


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
        self._scheduling_start = 0
        network = candidate.claims.network
        self.probes_apart = network is not None and network.own_placements == "counted"
        """Whether probes of the preference are so far apart that no placement before them can count any more."""
        self.binds_nothing: bool | None = None
        """Whether the candidate has bound none of the pods that it was given time for; None while there were none."""
        self.waits_for_news: bool | None = None
        """Whether its scoring must be waited for until it has new readings; None while that has not been tried."""
        self.is_over = False
        """Whether all that was to be tried has been."""
        self._closing = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            make_private(folder)
            rules = _rules_of(candidate, cluster.device)
            cluster.load_rules(rules)
            self.attachment = Attachment(cluster, candidate, folder, deploy)
            self._closing.callback(self.attachment.stop)
            self.surroundings = Surroundings(cluster, candidate)
            self._closing.callback(self.surroundings.remove)
            self.surroundings.namespace(self.namespace)
            self.surroundings.dress_nodes(cluster.nodes)
            self.scorers = Scorers(candidate, cluster.kubernetes, folder / "scores")
            self._closing.callback(self.scorers.close)
            self.scorers.rules = rules
            self.control = _Control(cluster)
            self._closing.callback(self.control.stop)
            self._standing: list[Pod] = []
            self._closing.callback(self._remove_standing)
            self.reserved: ReservedNode | None = None
            if is_possible(cluster):
                self.reserved = ReservedNode(cluster, self.namespace)
                self._closing.callback(self.reserved.close)
                self.surroundings.dress_nodes(self.reserved_nodes)
            self.recorder = Recorder(cluster.api, folder, self._header(), cluster.audit_log)
            self._closing.callback(self.recorder.close)
            # Once more, and before the recorder closes: the candidate's last acts count.
            self._closing.callback(self.attachment.stop)
            if self.reserved is not None:
                self.reserved.follow(self.recorder)
            for manifest in bystanders(candidate.scheduler_name, self.attachment.scheduler_names, cluster):
                self._stand(manifest)
            # What it lists at its start, it has seen.
            self.recorder.add("seen", rv=self.recorder.rv, shown_at_rv=self.recorder.rv, pod="(its own start)")
            self.attachment.start(self.recorder.add)
            if self.attachment.scheduler_log is not None:
                self.recorder.follow_scores(ScoreTail(self.attachment.scheduler_log))
            self.waiters = self._let_wait()
            self.readers = _Readers()
            self._closing.callback(self.readers.close)
            undo.pop_all()
        self.attach_seconds = time.monotonic() - begin

    def _let_wait(self) -> dict[str, Pod]:
        """Pods that must wait from the candidate's start to the end of the run, by why they must."""
        specs = waiting(self.reserved.waiting() if self.reserved is not None else {})
        pods = {}
        for name, spec in specs.items():
            manifest = pod_manifest(
                f"waits-{name}", self.candidate.scheduler_name, image=self.cluster.workload_image, **spec
            )
            self.surroundings.dress_pod(manifest, managed=False)
            pod = pods[name] = self._stand(manifest)
            self.recorder.add("pod", case="", pod=f"{self.namespace}/{pod.name}", uid=pod.uid, role="waiter")
        return pods

    def _stand(self, manifest: Manifest) -> Pod:
        """Create a pod that stays until the end of the trial, when the candidate is down."""
        pod = Pod.created(self.cluster.api.create("pods", manifest, self.namespace))
        self._standing.append(pod)
        return pod

    def _remove_standing(self) -> None:
        for pod in self._standing:
            self.cluster.api.delete_if_there("pods", pod.name, self.namespace)

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
                "declared": self._rights(self.candidate.rbac),
                "schedulers": self._rules(_SCHEDULER_ROLES),
                "processes": {
                    self.attachment.process_users[process.name]: self._rights(process.rbac)
                    for process in self.attachment.programs
                    if process.rbac is not None and process.name in self.attachment.process_users
                },
            },
            "scheduler_names": self.attachment.scheduler_names,
            "namespace": self.namespace,
        }  # fmt: skip

    def _rights(self, rbac: RbacSpec) -> list[dict[str, Any]]:
        """What an identity of the candidate is granted, by what its descriptor says."""
        return self._rules(rbac.cluster_roles) + [rule.document() for rule in rbac.rules]

    def _rules(self, roles: Iterable[str]) -> list[dict[str, Any]]:
        """What these ClusterRoles grant."""
        return [rule for role in roles for rule in self.cluster.api.get("clusterroles", role).get("rules") or ()]

    def next_generation(self) -> str:
        """A label value that no node has borne yet in this run."""
        self._generation += 1
        return f"{self.seed}-{self._generation}"

    @property
    def taking_over(self) -> bool:
        """Whether it has scheduled nothing since it was last started: another's lease may have to run out first."""
        return self._scheduling_start != self.attachment.starts

    def schedules(self) -> None:
        """It is known to schedule since its last start."""
        self._scheduling_start = self.attachment.starts

    @property
    def reserved_nodes(self) -> tuple[str, ...]:
        """The harness's own node, where there is one: it gets readings, as the cluster's nodes do."""
        return (RESERVED,) if self.reserved is not None else ()

    def waited(self, *, for_nothing: bool) -> None:
        """Pods were to be bound; `for_nothing`: none was."""
        self.binds_nothing = for_nothing and self.binds_nothing is not False

    def binds_a_pod(self) -> bool:
        """Whether it binds a pod that fits everywhere, within its deadline. The pod is gone afterwards."""
        manifest = pod_manifest("plain", self.candidate.scheduler_name, image=self.cluster.workload_image, cpu="100m")
        self.surroundings.dress_pod(manifest)
        pod = Pod.created(self.cluster.api.create("pods", manifest, self.namespace))

        def bound() -> None:
            if not self.cluster.api.get("pods", pod.name, self.namespace)["spec"].get("nodeName"):
                raise NotYet(f"{pod.name} is not bound")

        claimed = ClaimedDeadlines.of(self.candidate.claims.timing)
        deadline = max(claimed.bind, claimed.takeover, key=lambda deadline: deadline.seconds)
        try:
            self.attachment.restart_if_ended()
            wait_for(bound, deadline, what="a plain pod to be bound")
        except (CandidateError, DeadlineExceededError):
            return False
        finally:
            self.cluster.api.delete_if_there("pods", pod.name, self.namespace)
        self.waited(for_nothing=False)
        return True

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


def _rules_of(candidate: Candidate, device: str) -> list[dict[str, Any]]:
    """The candidate's recording rules, placeholders filled."""
    network = candidate.claims.network
    values = {**candidate.own_values(), "device": device}
    return [fill(dict(rule), values) for rule in network.rules] if network is not None else []


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
