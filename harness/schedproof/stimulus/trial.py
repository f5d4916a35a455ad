"""One candidate, attached to one cluster, being recorded."""

from __future__ import annotations

import contextlib
import math
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof import __version__
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import RbacSpec
from schedproof.candidate.placeholders import fill
from schedproof.candidate.scheduler_config import scheduler_configuration
from schedproof.candidate.timing import ClaimedDeadlines
from schedproof.clusters import bootstrap
from schedproof.clusters.api import Manifest
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.cluster import Cluster
from schedproof.daemons.scheduler import Scheduler, start_scheduler
from schedproof.deploy.attachment import Attachment
from schedproof.foundation.errors import CandidateError, DeadlineExceededError
from schedproof.foundation.private import make_private
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import PodCreated, Rights, Run, RunCandidate, RunCluster, RunEnd, ShownSeen, Users
from schedproof.history.history import History
from schedproof.history.observations import KeptWaiting
from schedproof.history.saved import SCHEMA
from schedproof.history.world import RESERVED
from schedproof.normalization.effort import Effort
from schedproof.recording.recorder import Recorder
from schedproof.recording.scores import ScoreTail
from schedproof.stimulus.pods import Pod, pod_manifest
from schedproof.stimulus.reserved import ReservedNode, is_possible
from schedproof.stimulus.scoring.scorers import Scorers
from schedproof.stimulus.standing import PATIENT, bystanders, waiting
from schedproof.stimulus.surroundings import Surroundings
from schedproof.stimulus.usable_time import KeptLog, UsableTime
from schedproof.traffic.readings import Reader

CONTROL = "schedproof-control"
"""The schedulerName of the stock scheduler that runs beside the candidate as the control of preferences."""

_QUICK = Effort()

_PATIENTS = 4
_BETWEEN_PATIENTS = 20.0
"""Seconds."""

_SCHEDULER_ROLES = (*SCHEDULER_RBAC.cluster_roles, "system:basic-user", "system:discovery")


class Trial:
    """A candidate's run. The constructor returns when the candidate is ready; `close` takes it down.

    Args:
        folder: where its history and logs are kept.
        seed: what the cases draw from.
        deploy: how the candidate's parts run; see `Attachment`.
        effort: of the property tests of its scores.
        keep_going: whether each deadline is waited out, whatever was missed before.
    """

    def __init__(
        self,
        cluster: Cluster,
        candidate: Candidate,
        folder: Path,
        seed: int,
        deploy: str | None = None,
        effort: Effort = _QUICK,
        *,
        keep_going: bool = False,
    ) -> None:
        begin = time.monotonic()
        self.cluster = cluster
        self.candidate = candidate
        self.folder = folder
        self.seed = seed
        self.effort = effort
        self._keep_going = keep_going
        self._done: dict[str, bool] = {}
        self.namespace = f"{cluster.namespace_prefix}-{candidate.name}"[:63].rstrip("-.").replace(".", "-")
        self._generation = 0
        self._scheduling_start = 0
        network = candidate.claims.network
        self.probes_apart = network is not None and network.own_placements == "counted"
        """Whether probes of the preference are so far apart that no placement before them can count any more."""
        self.asked_at = -math.inf
        """When the harness last asked the candidate itself about a pod, by the recorder's clock; see OwnPlacements."""
        self.asked_apart: set[str] = set()
        """The surfaces on which questions were seen to count as placements: there they are asked apart."""
        self.binds_nothing: bool | None = None
        """Whether the candidate has bound none of the pods that it was given time for; None while there were none."""
        self.ignores_selectors = False
        """Whether it has bound a pod to another node than the one that the pod selects, which was free for it."""
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
            self.usable_time = UsableTime(self._taking_part)
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
            self.recorder.add(ShownSeen(rv=self.recorder.rv, shown_at_rv=self.recorder.rv, pod="(its own start)"))
            self.attachment.start(self.recorder.note)
            kept_log = KeptLog(
                self.usable_time, lambda seconds, kept: self.recorder.add(KeptWaiting(seconds=seconds, kept=dict(kept)))
            )
            self._closing.callback(kept_log.close)
            if self.attachment.scheduler_log is not None:
                self.recorder.follow_scores(ScoreTail(self.attachment.scheduler_log))
            self.waiters = self._let_wait()
            self.patients: list[Pod] = []
            self._next_patient = -math.inf
            self.newest_waits_since = -math.inf
            self.let_patient_wait()
            self.readers = _Readers()
            self._closing.callback(self.readers.close)
            undo.pop_all()
        self.attach_seconds = time.monotonic() - begin

    def _taking_part(self) -> dict[str, Sequence[int]]:
        """The processes that a Binding of the candidate's passes, by name."""
        servers = {name: [pid] for name, pid in self.cluster.servers().items()}
        return {**servers, **self.attachment.pids()}

    def _let_wait(self) -> dict[str, Pod]:
        """Pods that must wait from the candidate's start to the end of the run, by why they must."""
        specs = waiting(self.reserved.waiting() if self.reserved is not None else {})
        return {name: self._wait(name, spec, role="waiter") for name, spec in specs.items()}

    def let_patient_wait(self) -> None:
        """One more pod that is to wait until the end of the run, and to be bound then: now and then, a few in all.

        A scheduler whose back-off has grown beyond all bounds binds a single one in time, if its next attempt is due by
        chance at the end of the run. That of a pod which began to wait at another time is not.
        """
        now = time.monotonic()
        if now < self._next_patient or len(self.patients) == _PATIENTS:
            return
        self._next_patient = now + _BETWEEN_PATIENTS
        name = f"patient-{len(self.patients) + 1}"
        self.patients.append(self._wait(name, PATIENT, role="patient"))
        self.newest_waits_since = now

    def _wait(self, name: str, spec: Mapping[str, Any], *, role: str) -> Pod:
        """A pod of the candidate's that fits nowhere for now."""
        manifest = pod_manifest(
            f"waits-{name}", self.candidate.scheduler_name, image=self.cluster.workload_image, **spec
        )
        self.surroundings.dress_pod(manifest, managed=role == "patient")
        pod = self._stand(manifest)
        self.recorder.add(PodCreated(case="", pod=f"{self.namespace}/{pod.name}", uid=pod.uid, role=role))
        return pod

    def _stand(self, manifest: Manifest) -> Pod:
        """Create a pod that stays until the end of the trial, when the candidate is down."""
        pod = Pod.created(self.cluster.api.create("pods", manifest, self.namespace))
        self._standing.append(pod)
        return pod

    def _remove_standing(self) -> None:
        for pod in self._standing:
            self.cluster.api.delete_if_there("pods", pod.name, self.namespace)

    def _header(self) -> Run:
        return Run(
            version=SCHEMA,
            candidate=RunCandidate.model_validate(self.candidate.as_dict()),
            cluster=describe_cluster(self.cluster),
            seed=self.seed,
            versions={"schedproof": __version__, "python": platform.python_version(), **self.cluster.versions()},
            users=Users(
                candidate=self.attachment.users,
                control=[self.control.user],
                harness=[f"system:serviceaccount:{self.cluster.namespace}:{bootstrap.HARNESS}"],
            ),
            rbac=Rights(
                declared=self._rights(self.candidate.rbac),
                schedulers=self._rules(_SCHEDULER_ROLES),
                processes={
                    self.attachment.process_users[process.name]: self._rights(process.rbac)
                    for process in self.attachment.programs
                    if process.rbac is not None and process.name in self.attachment.process_users
                },
            ),
            scheduler_names=self.attachment.scheduler_names,
            namespace=self.namespace,
            epoch=time.time(),
        )

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

    def did(self, what: str, *, in_time: bool) -> None:
        """It was given a deadline to do something."""
        self._done[what] = in_time or self._done.get(what, False)

    def never_did(self, what: str) -> bool:
        """Whether it has missed a deadline to do this, and never met such a one."""
        return not self._keep_going and self._done.get(what) is False

    def binds_pods(self) -> bool:
        """Whether it binds two pods that fit everywhere, one after the other, each within its deadline.

        One that ends after each Binding does not bind the second one. The pods are gone afterwards.
        """
        try:
            self.attachment.restart_if_ended()
            for name in ("plain-1", "plain-2"):
                self._await_binding(name)
        except (CandidateError, DeadlineExceededError):
            return False
        self.waited(for_nothing=False)
        return True

    def _await_binding(self, name: str) -> None:
        manifest = pod_manifest(name, self.candidate.scheduler_name, image=self.cluster.workload_image, cpu="100m")
        self.surroundings.dress_pod(manifest)
        pod = Pod.created(self.cluster.api.create("pods", manifest, self.namespace))

        def bound() -> None:
            self.recorder.check()
            if pod.uid in self.recorder.placed:  # it may be gone by now, evicted by a taint
                return
            if self.attachment.ended:
                raise CandidateError(f"{self.candidate.name} has ended", remedy="see its log")
            raise NotYet(f"{pod.name} is not bound")

        claimed = ClaimedDeadlines.of(self.candidate.claims.timing)
        deadline = max(claimed.bind, claimed.takeover, key=lambda deadline: deadline.seconds)
        try:
            self.usable_time.begin().wait_for(
                bound, deadline, what="a plain pod to be bound", wake=self.recorder.changed
            )
        finally:
            self.cluster.api.delete_if_there("pods", pod.name, self.namespace)

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
            self.recorder.add(RunEnd())

    def close(self) -> None:
        """Stop the candidate, then the recording. Safe to call twice."""
        # The watches must end before their namespace does, but after the candidate: its last acts count.
        self._closing.close()


def _rules_of(candidate: Candidate, device: str) -> list[dict[str, Any]]:
    """The candidate's recording rules, placeholders filled."""
    network = candidate.claims.network
    values = {**candidate.own_values(), "device": device}
    return [fill(dict(rule), values) for rule in network.rules] if network is not None else []


def describe_cluster(cluster: Cluster) -> RunCluster:
    """The `cluster` of a history's header."""
    return RunCluster(
        name=cluster.name, nodes=list(cluster.nodes), device=cluster.device,
        capabilities=sorted(cluster.capabilities), scrape_interval=cluster.scrape_interval,
    )  # fmt: skip


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
