"""Stimuli for compiled schedulers: starts beside the running one, its endpoints, and other schedulers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from schedproof.candidate.scheduler_config import (
    DEFAULT_SCHEDULER,
    NO_LEADER_ELECTION,
    ill_typed,
    incomplete,
    misspelled,
)
from schedproof.clusters.cluster import Rbac
from schedproof.clusters.run_lease import timestamp
from schedproof.foundation.deadlines import OWN_METRICS, UNHEALTHY, Deadline
from schedproof.foundation.waiting import NotYet
from schedproof.history.acts import Tried
from schedproof.history.observations import EndpointAnswer
from schedproof.stimulus.changes.candidate import LEASE, CandidateChanges
from schedproof.stimulus.changes.pods import PodChanges
from schedproof.stimulus.context import Context
from schedproof.stimulus.expectations import Expectations
from schedproof.stimulus.kinds.endpoints import EndpointResponse, ask
from schedproof.stimulus.pods import TOLERATE_ALL, Pod
from schedproof.stimulus.trial import CONTROL

HEALTH = ("/healthz", "/livez", "/readyz")
METRICS = "/metrics"
_SCRAPER = "schedproof-scraper"
_MAY_SCRAPE = Rbac(rules=({"nonResourceURLs": [METRICS], "verbs": ["get"]},))
"""The RBAC rules of a Prometheus that scrapes schedulers."""


class PluginStimulus:
    """Tries a compiled scheduler. All changes end with their contexts, or by themselves."""

    def __init__(self, context: Context, pods: PodChanges, expect: Expectations, candidate: CandidateChanges) -> None:
        self._context, self._trial, self._recorder = context, context.trial, context.recorder
        self._pods, self._expect, self._candidate = pods, expect, candidate
        self._counted = 0.0
        """The number of pods that it had scheduled, by its own metrics when they were last read."""

    def try_ill_typed_args(self) -> None:
        """Start it once for each of its args, with a value of another type for this arg."""
        self._try(ill_typed)

    def try_unknown_args(self) -> None:
        """Start it once for each of its plugins with args, with an additional arg."""
        self._try(misspelled)

    def try_left_out_args(self) -> None:
        """Start it once without each of its args, and once without the pluginConfig of each of its plugins."""
        self._try(incomplete)

    def _try(self, changed: Callable[[Mapping[str, Any]], list[tuple[str, Any, dict[str, Any]]]]) -> None:
        attachment = self._trial.attachment
        if attachment.configuration is None or attachment.start_error is not None:
            return
        wrong = changed(attachment.configuration)
        ends = attachment.try_configurations([document for _, _, document in wrong])
        for (arg, value, _), (code, log) in zip(wrong, ends, strict=True):
            self._recorder.add(Tried(case=self._context.clause, arg=arg, value=value, code=code, log=list(log)))

    def try_profiles(self) -> None:
        """Create a pod for each of its profiles, if it has several, and wait for their Bindings."""
        attachment = self._trial.attachment
        if attachment.start_error is None and self.has_several_profiles:
            self._expect.bound([self._pods.create(scheduler_name=name) for name in attachment.scheduler_names])

    def schedule_by_others(self) -> None:
        """Create a pod for each other profile, one after the other, wait for its Binding, and delete it.

        What these profiles owe is not claimed: the pods may go to any node.
        """
        for name in self._trial.attachment.scheduler_names:
            if name != self._trial.candidate.scheduler_name:
                pod = self._pods.create("other", role="other", scheduler_name=name)
                self._expect.bound([pod])
                self._pods.delete([pod])

    @property
    def has_several_profiles(self) -> bool:
        """Whether its configuration serves more than one schedulerName."""
        return len(self._trial.attachment.scheduler_names) > 1

    # -- its endpoints

    def ask_health(self) -> None:
        """Request its health as a kubelet does: anonymously, and repeatedly before it counts as unhealthy."""
        for path in HEALTH:
            if not self._ask(path, lambda answer: answer.positive, UNHEALTHY).positive:
                break

    def ask_metrics(self, *, after: Sequence[Pod] = ()) -> None:
        """Read its metrics as a Prometheus does, until they count the pods that it has scheduled meanwhile."""
        cluster = self._trial.cluster
        cluster.identity(_SCRAPER, _MAY_SCRAPE)
        token = cluster.api.token(cluster.namespace, _SCRAPER)
        due = self._counted + len(after)
        answer = self._ask(METRICS, lambda answer: (answer.scheduled or 0) >= due, OWN_METRICS, token)
        self._counted = answer.scheduled or 0

    def _ask(
        self, path: str, accepted: Callable[[EndpointResponse], bool], deadline: Deadline, token: str = ""
    ) -> EndpointResponse:
        """Record and return the first response that is `accepted`, or the last one before the deadline."""
        ports = (component.scheduler_port for component in self._trial.attachment.components)
        port = next((port for port in ports if port is not None), None)
        answer = EndpointResponse(0, "no request was made")
        if port is None:
            return answer

        def probe() -> None:
            nonlocal answer
            answer = ask(port, path, token)
            if not accepted(answer):
                raise NotYet(f"{path}: {answer.status}")

        self._expect.patiently(probe, deadline, f"{path} to respond as expected")
        self._recorder.add(EndpointAnswer(
            case=self._context.clause, path=path, status=answer.status,
            answer=answer.beginning, counted=answer.scheduled,
        ))  # fmt: skip
        return answer

    # -- among other schedulers

    @contextlib.contextmanager
    def beside_the_stock_scheduler(self) -> Iterator[None]:
        """A context in which the stock scheduler runs, and the Lease of a cluster's own scheduler is held.

        If the candidate's configuration has leader election, the candidate elects a leader meanwhile.
        """
        self._trial.start_control()
        written = (self._trial.candidate.scheduler_config or {}).get("leaderElection") or NO_LEADER_ELECTION
        with contextlib.ExitStack() as stack:
            if "default-scheduler" not in self._trial.cluster.capabilities:
                stack.enter_context(self._lease_held())
            if written.get("leaderElect", True):
                stack.enter_context(self._candidate.electing(**written))
            yield

    @contextlib.contextmanager
    def _lease_held(self) -> Iterator[None]:
        spec = {"holderIdentity": CONTROL, "leaseDurationSeconds": 3_600, "renewTime": timestamp()}
        lease = {"metadata": {"name": LEASE}, "spec": spec}
        self._trial.cluster.api.create_or_keep("leases", lease, "kube-system")
        try:
            yield
        finally:
            self._trial.cluster.api.delete_if_there("leases", LEASE, "kube-system")

    def others(self, count: int) -> list[Pod]:
        """Create pods for the stock scheduler."""
        return [self._pods.create("other", role="other", scheduler_name=CONTROL) for _ in range(count)]

    def await_others(self, pods: Sequence[Pod]) -> None:
        """Give the stock scheduler time to bind its pods."""
        self._expect.wait_bound(pods, self._context.deadlines.bind)

    @property
    def replaces_default(self) -> bool:
        """Whether it schedules pods that name no scheduler."""
        return DEFAULT_SCHEDULER in self._trial.attachment.scheduler_names

    def daemon(self, node: str) -> Pod:
        """Create a pod for a node as the DaemonSet controller does, with the priority system-node-critical."""
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        return self._pods.create(
            "daemon", schedulerName=None, priorityClassName="system-node-critical", tolerations=TOLERATE_ALL,
            affinity={"nodeAffinity": required},
        )  # fmt: skip
