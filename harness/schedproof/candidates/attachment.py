"""Brings a candidate up on a cluster, wired through taps, and takes it down again."""

from __future__ import annotations

import contextlib
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from schedproof.candidates.exchanges import describe_extender_call, describe_query
from schedproof.candidates.kinds import ControllerSpec, ExtenderSpec, PluginSpec
from schedproof.candidates.placeholders import fill
from schedproof.candidates.plugin_build import scheduler_binary
from schedproof.candidates.scheduler_config import (
    DEFAULT_SCHEDULER,
    own_configuration,
    plugin_profile,
    scheduler_configuration,
    served_by,
    serving_all,
)
from schedproof.candidates.start_errors import explain_start
from schedproof.candidates.taps import Tap
from schedproof.candidates.ways.choice import choose_way
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.cluster import Rbac
from schedproof.daemons.scheduler import LOG_SCORES, start_scheduler
from schedproof.foundation.deadlines import CANDIDATE_STOP
from schedproof.foundation.errors import CandidateError, DeadlineExceededError
from schedproof.foundation.progress import SilentProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from schedproof.candidates.descriptor import Candidate
    from schedproof.candidates.kinds import CommandSpec
    from schedproof.candidates.taps import Exchange
    from schedproof.candidates.ways.part import Part
    from schedproof.candidates.ways.way import Served, WayName
    from schedproof.clusters.cluster import Identity, Site

__all__ = ["Attachment", "Recording", "discard"]


class Recording(Protocol):
    """Takes records of the history: `kind`, then its fields."""

    def __call__(self, kind: str, **fields: Any) -> None: ...


class Attachment:
    """A candidate on a cluster. `start` returns when it is ready to schedule.

    The candidate's own parts have the identity that its descriptor asks for; a kube-scheduler that the harness runs
    for an extender has one of its own, with a scheduler's rights. Bindings of either are the candidate's.

    Args:
        deploy: the way that its parts run, one of `ways.way.WAYS`; None: what the cluster is for.
        tapped: whether its lines to Prometheus and from its scheduler go through taps.
        flags: more of its kube-scheduler's; see `start_scheduler`.

    Raises:
        UsageError: it cannot run that way there.
    """

    def __init__(
        self,
        cluster: Site,
        candidate: Candidate,
        logs: Path,
        deploy: str | None = None,
        *,
        tapped: bool = True,
        flags: Mapping[str, str] = LOG_SCORES,
    ) -> None:
        self.candidate = candidate
        self._cluster = cluster
        self._logs = logs
        self._parts: list[Part] = []
        self._reported: list[Part] = []
        self._cleanup = contextlib.ExitStack()
        self._record: Recording = discard
        rbac = candidate.rbac
        self._own: Identity = cluster.identity(
            f"candidate-{candidate.name}",
            # A compiled scheduler needs a scheduler's rights besides what it asks for; nobody else is given any.
            _declared(rbac.as_dict(), SCHEDULER_RBAC if isinstance(candidate.spec, PluginSpec) else Rbac()),
        )
        self._scheduler: Identity | None = None
        if isinstance(candidate.spec, ExtenderSpec):
            self._scheduler = cluster.identity(f"scheduler-{candidate.name}", SCHEDULER_RBAC)
        self._way = choose_way(cluster, candidate, self._own, logs, deploy, flags=flags)
        self._cleanup.callback(self._way.close)
        self._tapped = tapped
        prometheus_url = cluster.prometheus_url
        if tapped:
            self.prometheus = self._tap(
                prometheus_url, lambda exchange: self._record("query", **describe_query(exchange))
            )
            """The candidate's line to Prometheus, where there is a tap; its `upstream` may be exchanged."""
            prometheus_url = self.prometheus.url
        self.extender: Tap | None = None
        """The scheduler's line to the candidate, where that is an extender whose line is not encrypted."""
        self.scheduler_log: Path | None = None
        self.start_error: CandidateError | None = None
        """Why a compiled scheduler ended at its start."""
        self.configuration: Mapping[str, Any] | None = None
        """The KubeSchedulerConfiguration that a scheduler was last started with."""
        self._values = {
            **candidate.own_values(),
            "prometheus": prometheus_url,
            "device": cluster.device,
            **self._way.values,
        }
        self.scheduler_names = served_by(candidate)
        if self.deploy == "control-plane":
            self.scheduler_names = list(dict.fromkeys((*self.scheduler_names, DEFAULT_SCHEDULER)))

    @property
    def deploy(self) -> WayName:
        """The way that its parts run."""
        return self._way.name

    @property
    def users(self) -> list[str]:
        """How the audit log names whoever acts for the candidate."""
        if self._way.acts_as:
            return [self._way.acts_as]
        return [identity.user for identity in (self._own, self._scheduler) if identity is not None]

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(self._parts)

    @property
    def ended(self) -> bool:
        """Whether any of its parts has ended, or could not be started again."""
        return not self._parts or any(part.exit_code is not None for part in self._parts)

    def start(self, record: Recording) -> None:
        """Start everything, and wait until it is ready.

        Raises:
            CandidateError: it cannot be started, ends at once, or does not get ready; with its last words. Where
                a compiled scheduler ends at once, `start_error` is set instead: that is judged.
        """
        self._record = record
        spec = self.candidate.spec
        self.start_error = None
        try:
            if isinstance(spec, ExtenderSpec):
                self._start_extender(spec)
            elif isinstance(spec, ControllerSpec):
                # Without a readiness of its own it may still be reading its first lists: who waits for it, waits for
                # pods.
                self._start_command(spec)
            elif isinstance(spec, PluginSpec):
                profile = plugin_profile(spec, self.candidate.claims, self._values)
                self._start_scheduler(self._own, binary=self._binary(spec), profile=profile)
            else:
                raise CandidateError(
                    f"{self.candidate.path}: candidates of this form ({self.candidate.kind}) cannot be run yet",
                    remedy="extenders, controllers and plugins can",
                )
        except DeadlineExceededError as error:
            tails = "\n".join(f"  {part.name} said last:\n{_indent(part.log_tail())}" for part in self._parts)
            raise CandidateError(
                f"candidate {self.candidate.name} did not get ready: {error.message}\n{tails}",
                remedy=f"its log is in {self._logs}"
                if isinstance(spec, PluginSpec)
                else f"`ready` in {self.candidate.path} names the path that answers 200 once it can work; "
                f"its log is in {self._logs}",
            ) from error
        except CandidateError as error:
            ended = [part for part in self._parts if part.exit_code is not None]
            if not ended or not isinstance(spec, PluginSpec):
                raise
            # A compiled scheduler that refuses its configuration is what its first clauses are about.
            self.start_error = explain_start(ended[0].log_tail(60), error)
            self.report_exits()
            self._record("start-failed", text=self.start_error.message, fix=self.start_error.remedy)

    def _start_extender(self, spec: ExtenderSpec) -> None:
        served = self._start_command(spec)
        if spec.tls:  # certificates are between the two of them: an encrypted line has no tap
            url = f"https://{served.inside}"
        elif self._tapped:
            url = self._tap_extender(f"http://{served.outside}").url
        else:
            url = f"http://{served.inside}"
        assert self._scheduler is not None
        extender = fill(spec.config.document(url), self._values)
        self._start_scheduler(self._scheduler, binary="kube-scheduler", extenders=[extender])

    def _tap(self, upstream: str, record: Callable[[Exchange], None]) -> Tap:
        address = self._cluster.callback_address
        tap = Tap(upstream, record, self._cluster.host.ports.reserve(address), address=address)
        self._cleanup.callback(tap.close)
        return tap

    def _tap_extender(self, upstream: str) -> Tap:
        if self.extender is None:
            self.extender = self._tap(upstream, lambda call: self._record("extender", **describe_extender_call(call)))
        self.extender.upstream = upstream
        return self.extender

    def _binary(self, spec: PluginSpec) -> str:
        return scheduler_binary(
            spec, name=self.candidate.name, kubernetes=self._cluster.kubernetes, progress=SilentProgress()
        )

    def try_configurations(self, documents: Sequence[Mapping[str, Any]]) -> list[tuple[int | None, Sequence[str]]]:
        """Start the compiled scheduler beside the running one, on other configurations, all at once.

        They run as processes of this machine, whichever way the candidate runs: only how they start is looked at.

        Returns for each, when it has ended or is ready: its exit code (None: it got ready, and was stopped then), and
        the end of its log.
        """
        spec = self.candidate.spec
        assert isinstance(spec, PluginSpec)
        kubeconfig = self._own.kubeconfig
        started = [
            start_scheduler(
                self._cluster.host, f"try-{number}-{self.candidate.name}",
                {**document, "clientConnection": {**document["clientConnection"], "kubeconfig": str(kubeconfig)}},
                kubeconfig, binary=self._binary(spec), logs=self._logs / "tried" / str(number),
            )
            for number, document in enumerate(documents)
        ]  # fmt: skip
        found: list[tuple[int | None, Sequence[str]]] = []
        for scheduler in started:
            code: int | None = None
            try:
                scheduler.wait_ready()
            except CandidateError:
                code = scheduler.process.exit_code
            scheduler.process.stop(grace=0)
            found.append((code, scheduler.process.log_tail(60).splitlines()))
        return found

    def _start_scheduler(
        self,
        identity: Identity,
        *,
        binary: str,
        extenders: Sequence[Mapping[str, Any]] = (),
        profile: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        kubeconfig = self._way.kubeconfig(identity)
        if self.candidate.scheduler_config is None:
            names = [self.candidate.scheduler_name]
            configuration = scheduler_configuration(names, kubeconfig, extenders=extenders, profile=profile)
        else:
            configuration = own_configuration(self.candidate, kubeconfig, self._values, extenders=extenders)
        if self.deploy == "control-plane":
            configuration = serving_all(configuration, self.candidate.scheduler_name)
        self.configuration = configuration
        self._record("configuration", document=configuration)
        part = self._way.start_scheduler(configuration, identity, binary)
        self._started(part)
        self.scheduler_log = part.log
        part.wait_ready()

    def _start_command(self, spec: CommandSpec) -> Served:
        served = self._way.start_command(spec, self._values)
        self._started(served.part)
        served.part.wait_ready()
        return served

    def _started(self, part: Part) -> None:
        self._parts.append(part)
        self._record("process", name=part.name, event="started")

    def report_exits(self) -> None:
        """Record the parts that ended since the last call."""
        for part in self._parts:
            if part.exit_code is not None and part not in self._reported:
                self._reported.append(part)
                self._record(
                    "process", name=part.name, event="exited", code=part.exit_code, log=part.log_tail(20).splitlines()
                )

    def catch_up(self) -> None:
        """Have in the logs what its parts have printed up to now."""
        for part in self._parts:
            part.catch_up()

    def log_tails(self) -> dict[str, list[str]]:
        """The last lines of each part's log, less what says nothing."""
        return {
            part.name: [line for line in part.log_tail(60).splitlines() if not _NOISE.search(line)][-8:]
            for part in self._parts
        }

    def restart_if_ended(self) -> None:
        """Start over where a part has ended, as a kubelet would.

        Raises:
            CandidateError: it cannot be started again; or it did not even start the first time.
        """
        if self.start_error is not None:
            raise self.start_error
        if self.ended:
            self.halt()
            self.resume()

    def halt(self) -> None:
        """End its parts, as when its node is drained. Its taps and identities stay."""
        self.report_exits()
        # The kube-scheduler was started last and goes first: its extender must not fail under it.
        while self._parts:
            part = self._parts.pop()
            lives = part.exit_code is None
            part.stop(CANDIDATE_STOP.seconds)
            if lives:
                self._record("process", name=part.name, event="stopped")

    def resume(self) -> None:
        """Start it again after `halt`."""
        self.start(self._record)

    def stop(self) -> None:
        """Take everything down; what ends from here on is our doing."""
        self.report_exits()
        self._record = discard
        with self._cleanup:
            self.halt()


_NOISE = re.compile(r" score=|missing content for CA bundle")
"""Scores are recorded by themselves; of CA bundles every kube-scheduler complains that authenticates by tokens."""


def _declared(rbac: dict[str, Any], more: Rbac) -> Rbac:
    return Rbac((*rbac["clusterRoles"], *more.cluster_roles), (*rbac["rules"], *more.rules), more.system_roles)


def discard(kind: str, **fields: Any) -> None:
    """A `Recording` that keeps nothing."""


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
