"""The run of one candidate on one cluster, with its recording."""

from __future__ import annotations

import contextlib
import math
import platform
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from schedproof import __version__
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.placeholders import fill
from schedproof.candidate.scheduler_config import scheduler_configuration
from schedproof.candidate.subjects import Subject, left_out
from schedproof.candidate.surroundings import RbacSpec
from schedproof.clusters.api import Manifest
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.cluster import Cluster
from schedproof.daemons.scheduler import Scheduler, start_scheduler
from schedproof.deploy.attached.withheld import withheld
from schedproof.deploy.attachment import Attachment
from schedproof.foundation.private import make_private
from schedproof.foundation.processes import machine
from schedproof.history.acts import Habit, Noted, PodCreated, Rights, Run, RunCandidate, RunCluster, ShownSeen, Users
from schedproof.history.history import History
from schedproof.history.observations import KeptWaiting
from schedproof.history.saved import SCHEMA
from schedproof.history.world import RESERVED
from schedproof.judge.rulings.in_vain import all_refused, sent_nothing, verb_unusable
from schedproof.judge.shown import Shown
from schedproof.normalization.effort import Effort
from schedproof.recording.recorder import Recorder
from schedproof.recording.scores import ScoreTail
from schedproof.recording.soak import Soak
from schedproof.stimulus.pods import Pod, pod_manifest
from schedproof.stimulus.reserved import ReservedNode, is_possible
from schedproof.stimulus.scoring.scorers import Scorers
from schedproof.stimulus.standing import LONG_WAITING, bystanders, waiting
from schedproof.stimulus.surroundings import Surroundings
from schedproof.stimulus.traffic.queries import Queries
from schedproof.stimulus.usable_time import KeptLog, UsableTime
from schedproof.traffic.readings import Reader

CONTROL = "schedproof-control"
"""The schedulerName of the stock scheduler that runs beside the candidate as the control of preferences."""

_QUICK = Effort()

_TRIALS = 2
"""How often a kind of variation is tried by itself: some have forms that not every trial has."""
_LONG_WAITING = 4
_BETWEEN_LONG_WAITING = 20.0
"""Seconds."""

_SCHEDULER_ROLES = (*SCHEDULER_RBAC.cluster_roles, "system:basic-user", "system:discovery")


class Trial:
    """The run of one candidate. The constructor returns when the candidate is ready; `close` stops it.

    Args:
        folder: for its history and logs.
        seed: for the random choices of the cases.
        deploy: how the candidate's components run; see `Attachment`.
        effort: of the property tests of its scores.
        keep_going: whether to wait out every deadline, even for what the candidate has never done in time.
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
        self._unsupported = frozenset(left_out(candidate.claims, candidate.exclusions))
        self.cluster = cluster
        self.candidate = candidate
        self.folder = folder
        self.seed = seed
        self.effort = effort
        self.soak = Soak(effort.soak) if effort.soak is not None else None
        """What the candidate's processes hold over time, where that is asked for."""
        self.keep_going = keep_going
        self._done: dict[str, bool] = {}
        self.namespace = f"{cluster.namespace_prefix}-{candidate.name}"[:63].rstrip("-.").replace(".", "-")
        self._generation = 0
        self._scheduling_start = 0
        network = candidate.claims.network
        self.probes_apart = network is not None and network.own_placements == "counted"
        """Whether probes of the preference are so far apart that no earlier placement counts as load any more."""
        self.placements_count = self.probes_apart
        """Whether it is known that earlier placements count, by a claim, or because they were seen to more than once.
        """
        self.asked_at = -math.inf
        """When the harness last asked the candidate about a pod, by the recorder's clock; see `OwnPlacements`."""
        self.asked_apart: set[str] = set()
        """Surfaces on which questions were found to count as placements; questions there are asked with pauses."""
        self.in_vain = False
        """Whether the record shows that it will bind no pod, however long it is waited for; see `look_into_record`."""
        self._looked_into: Counter[str] = Counter()
        self.is_over = False
        """Whether the run has tried all that it had to try."""
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
            self.surroundings.equip_nodes(cluster.nodes)
            self.scorers = Scorers(candidate, cluster.kubernetes, folder / "scores")
            self._closing.callback(self.scorers.close)
            self.scorers.rules = rules
            self.control = _Control(cluster)
            self._closing.callback(self.control.stop)
            self._standing: list[Pod] = []
            self._closing.callback(self._remove_standing)
            self.reserved: ReservedNode | None = None
            # A candidate that does not support its taints would bind pods there that are not about it.
            if is_possible(cluster) and not self._unsupported & {Subject.TAINTS, Subject.CORDONS}:
                self.reserved = ReservedNode(cluster, self.namespace)
                self._closing.callback(self.reserved.close)
                self.surroundings.equip_nodes(self.reserved_nodes)
            self.recorder = Recorder(cluster.api, folder, self._header(), cluster.audit_log)
            self._closing.callback(self.recorder.close)
            # Also before the recorder closes: the candidate's last actions are recorded.
            self._closing.callback(self.attachment.stop)
            if self.reserved is not None:
                self.reserved.follow(self.recorder)
            for manifest in bystanders(candidate.scheduler_name, self.attachment.scheduler_names, cluster):
                self._stand(manifest)
            # The candidate sees what it lists at its start.
            self.recorder.add(ShownSeen(rv=self.recorder.rv, shown_at_rv=self.recorder.rv, pod="(its own start)"))
            self.attachment.start(self.recorder.note)
            kept_log = KeptLog(
                self.usable_time, lambda seconds, kept: self.recorder.add(KeptWaiting(seconds=seconds, kept=dict(kept)))
            )
            self._closing.callback(kept_log.close)
            if self.attachment.scheduler_log is not None:
                self.recorder.follow_scores(ScoreTail(self.attachment.scheduler_log))
            self.waiters = self._let_wait()
            self.long_waiting: list[Pod] = []
            self._next_long_waiting = -math.inf
            self.newest_waits_since = -math.inf
            self.create_long_waiting()
            self.queries = Queries(self.recorder, lambda: self.scorers.server, rules)
            self.readers = _Readers()
            self._closing.callback(self.readers.close)
            undo.pop_all()
        self.attach_seconds = time.monotonic() - begin

    def _taking_part(self) -> dict[str, Sequence[int]]:
        """Return name to pids of the processes on the path of a Binding."""
        servers = {name: [pid] for name, pid in self.cluster.servers().items()}
        return {**servers, **self.attachment.pids()}

    def _let_wait(self) -> dict[str, Pod]:
        """Create pods that must wait from the candidate's start to the end of the run, and return them by reason."""
        specs = waiting(self.reserved.waiting() if self.reserved is not None else {}, self._unsupported)
        return {name: self._wait(name, spec, role="waiter") for name, spec in specs.items()}

    def create_long_waiting(self) -> None:
        """Create a pod that waits until the end of the run and is bound then, if it is time for another one.

        A scheduler whose back-off grows without bound still binds one such pod in time, if its next attempt happens
        to be due at the end of the run. Pods that began to wait at other times reveal it.
        """
        now = time.monotonic()
        if now < self._next_long_waiting or len(self.long_waiting) == _LONG_WAITING:
            return
        self._next_long_waiting = now + _BETWEEN_LONG_WAITING
        name = f"patient-{len(self.long_waiting) + 1}"
        self.long_waiting.append(self._wait(name, LONG_WAITING, role="patient"))
        self.newest_waits_since = now

    def end_waiting(self) -> None:
        """Delete the pods that wait for the whole run. No other pod waits so from now on."""
        for pod in (*self.waiters.values(), *self.long_waiting):
            self.cluster.api.delete_if_there("pods", pod.name, self.namespace)
        self.waiters, self.long_waiting, self._next_long_waiting = {}, [], math.inf

    def _wait(self, name: str, spec: Mapping[str, Any], *, role: str) -> Pod:
        """Create a pod of the candidate that has no feasible node for now."""
        manifest = pod_manifest(
            f"waits-{name}", self.candidate.scheduler_name, image=self.cluster.workload_image, **spec
        )
        self.surroundings.dress_pod(manifest, managed=role == "patient")
        pod = self._stand(manifest)
        self.recorder.add(PodCreated(case="", pod=f"{self.namespace}/{pod.name}", uid=pod.uid, role=role))
        return pod

    def _stand(self, manifest: Manifest) -> Pod:
        """Create a pod that stays until the candidate has stopped, at the end of the trial."""
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
            cluster=describe_cluster(self.cluster, self.candidate, self.attachment.deploy),
            seed=self.seed,
            versions={
                "schedproof": __version__,
                "python": platform.python_version(),
                **self.cluster.versions(),
                **self.attachment.versions,
            },
            machine={
                "architecture": platform.machine(),
                "processors": machine.cores(),
                "memory": machine.memory(),
                "kernel": platform.release(),
            },
            users=Users(
                candidate=self.attachment.users,
                control=[self.control.user],
                harness=[self.cluster.harness_user],
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
        """Return the RBAC rules that the descriptor gives an identity of the candidate."""
        here = {"namespace": self.cluster.namespace}
        return [
            *self._rules(rbac.cluster_roles),
            *(rule.document() for rule in rbac.rules),
            *(
                {**rule.document(), "namespace": fill(role.namespace, here)}
                for role in rbac.roles
                for rule in role.rules
            ),
        ]

    def _rules(self, roles: Iterable[str]) -> list[dict[str, Any]]:
        """Return the RBAC rules of these ClusterRoles."""
        return [rule for role in roles for rule in self.cluster.api.get("clusterroles", role).get("rules") or ()]

    def next_generation(self) -> str:
        """Return a label value that no node has had in this run."""
        self._generation += 1
        return f"{self.seed}-{self._generation}"

    @property
    def taking_over(self) -> bool:
        """Whether it has scheduled nothing since its last start: the Lease of another instance may have to expire
        first.
        """
        return self._scheduling_start != self.attachment.starts

    def schedules(self) -> None:
        """Note that the candidate has scheduled a pod since its last start."""
        self._scheduling_start = self.attachment.starts

    @property
    def reserved_nodes(self) -> tuple[str, ...]:
        """The node reserved for the harness, if there is one; it gets readings like the cluster's nodes."""
        return (RESERVED,) if self.reserved is not None else ()

    @property
    def shown(self) -> Shown:
        """What the candidate has shown so far."""
        return Shown.of(self.recorder.recorded())

    def note(self, case: str, habit: Habit) -> None:
        """Record what the candidate did with pods of a case, unless it is known."""
        if habit not in self.shown.habits:
            self.recorder.add(Noted(case=case, habit=habit))

    def look_into_record(self, *, late: bool) -> bool:
        """Look for what shows that the candidate will bind no pod, and return whether it is there: see `in_vain`.

        Args:
            late: whether a pod was due some seconds ago. A candidate that has sent no request by then does nothing:
                it waits for no Lease. If it claims a `timing.takeover`, it may start as late as that.
        """
        if self.shown.binds_nothing is not False and not self.keep_going:
            history = self.history()
            does_nothing = late and self.candidate.claims.timing.is_default("takeover") and sent_nothing(history)
            self.in_vain = does_nothing or all_refused(history) or verb_unusable(history)
        return self.in_vain

    def did(self, what: str, *, in_time: bool) -> None:
        """Note whether the candidate did `what` by its deadline."""
        self._done[what] = in_time or self._done.get(what, False)

    def never_did(self, what: str) -> bool:
        """Whether it has missed a deadline for `what`, and has never met one."""
        return not self.keep_going and self._done.get(what) is False

    def to_look_into(self, kinds: Iterable[str]) -> list[str]:
        """Return those kinds of variation that are still to be tried by themselves, and count that as a trial."""
        known = self.shown.left_out
        found = sorted(kind for kind in kinds if self._looked_into[kind] < _TRIALS and kind not in known)
        self._looked_into.update(found)
        return found

    def start_control(self) -> None:
        """Start the control scheduler beside the candidate, unless it runs already."""
        log = self.control.start(self.folder)
        if log is not None:
            self.recorder.follow_scores(ScoreTail(log))

    def history(self) -> History:
        self.attachment.report_exits()
        self.attachment.catch_up()
        return self.recorder.history()

    def over(self) -> None:
        """Record the end of the run. Further calls do nothing."""
        if not self.is_over:
            self.is_over = True
            self.attachment.record_left()
            self.recorder.finish()

    def close(self) -> None:
        """Stop the candidate, then the recording. Safe to call twice."""
        # The watches must end before their namespace is deleted, but after the candidate: its last actions are
        # recorded.
        self._closing.close()


def _rules_of(candidate: Candidate, device: str) -> list[dict[str, Any]]:
    """Return the candidate's recording rules, with placeholders filled in."""
    network = candidate.claims.network
    values = {**candidate.own_values(), "device": device}
    return [fill(rule.document(), values) for rule in network.rules] if network is not None else []


def describe_cluster(cluster: Cluster, candidate: Candidate, deploy: str) -> RunCluster:
    """Return the `cluster` of the header of a candidate's history; `deploy`: how its components run."""
    return RunCluster(
        name=cluster.name, minor=cluster.kubernetes, feature_gates=dict(cluster.feature_gates),
        nodes=list(cluster.nodes), device=cluster.device,
        capabilities=sorted(cluster.capabilities), withheld=withheld(candidate, cluster.capabilities, deploy),
        scrape_interval=cluster.scrape_interval,
    )  # fmt: skip


class _Control:
    """The stock scheduler with a schedulerName of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._scheduler: Scheduler | None = None
        self.user = f"system:serviceaccount:{cluster.namespace}:{CONTROL}"

    def start(self, logs: Path) -> Path | None:
        """Start it, and return its log; None if it runs already."""
        if self._scheduler is not None:
            return None
        kubeconfig = self._cluster.identity(CONTROL, SCHEDULER_RBAC).kubeconfig
        configuration = scheduler_configuration([CONTROL], kubeconfig)
        self._scheduler = start_scheduler(self._cluster.host, CONTROL, configuration, kubeconfig, logs=logs / "control")
        self._scheduler.wait_ready()
        return self._scheduler.process.command.log

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.process.stop(grace=0)


class _Readers:
    """One reader per Prometheus."""

    def __init__(self) -> None:
        self._readers: dict[str, Reader] = {}

    def at(self, url: str) -> Reader:
        if url not in self._readers:
            self._readers[url] = Reader(url)
        return self._readers[url]

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
