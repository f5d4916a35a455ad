"""Brings a candidate up on a cluster, wired through taps, and takes it down again."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from schedproof.candidates.exchanges import describe_extender_call, describe_query
from schedproof.candidates.kinds import ControllerSpec, ExtenderSpec, PluginSpec
from schedproof.candidates.placeholders import fill
from schedproof.candidates.plugin_build import scheduler_binary
from schedproof.candidates.scheduler_config import (
    own_configuration,
    plugin_profile,
    scheduler_configuration,
    served_names,
)
from schedproof.candidates.start_errors import explain_start
from schedproof.candidates.taps import Tap
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.cluster import Rbac
from schedproof.daemons.daemon import insecure_tls
from schedproof.daemons.scheduler import start_scheduler
from schedproof.foundation.deadlines import CANDIDATE_READY, CANDIDATE_STOP
from schedproof.foundation.errors import CandidateError, DeadlineExceededError
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.sandbox import Command, CommandNotStartedError, Process
from schedproof.foundation.waiting import NotYet, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from schedproof.candidates.descriptor import Candidate
    from schedproof.candidates.kinds import CommandSpec
    from schedproof.clusters.cluster import Cluster, Identity

__all__ = ["Attachment", "Recording"]


class Recording(Protocol):
    """Takes records of the history: `kind`, then its fields."""

    def __call__(self, kind: str, **fields: Any) -> None: ...


class Attachment:
    """A candidate on a cluster. `start` returns when it is ready to schedule.

    The candidate's own processes have the identity that its descriptor asks for; a kube-scheduler that the
    harness runs for an extender has one of its own, with a scheduler's rights. Bindings of either are the candidate's.
    """

    def __init__(self, cluster: Cluster, candidate: Candidate, logs: Path) -> None:
        self.candidate = candidate
        self._cluster = cluster
        self._logs = logs
        self._processes: list[Process] = []
        self._reported: set[int] = set()
        self._cleanup = contextlib.ExitStack()
        self._record: Recording = _discard
        rbac = candidate.rbac
        self._own: Identity = cluster.identity(
            f"candidate-{candidate.name}",
            # A compiled scheduler needs a scheduler's rights besides what it asks for; nobody else is given any.
            _declared(rbac.as_dict(), SCHEDULER_RBAC if isinstance(candidate.spec, PluginSpec) else Rbac()),
        )
        self._scheduler: Identity | None = None
        if isinstance(candidate.spec, ExtenderSpec):
            self._scheduler = cluster.identity(f"scheduler-{candidate.name}", SCHEDULER_RBAC)
        self.prometheus = Tap(
            cluster.prometheus_url,
            lambda exchange: self._record("query", **describe_query(exchange)),
            cluster.host.ports.reserve(),
        )
        """The candidate's line to Prometheus; its `upstream` may be exchanged."""
        self._cleanup.callback(self.prometheus.close)
        self.extender: Tap | None = None
        """The scheduler's line to the candidate, where that is an extender whose line is not encrypted."""
        self.scheduler_log: Path | None = None
        self.start_error: CandidateError | None = None
        """Why a compiled scheduler ended at its start."""
        self.configuration: Mapping[str, Any] | None = None
        """The KubeSchedulerConfiguration that a scheduler was last started with."""
        self._values = {
            **candidate.own_values(),
            "prometheus": self.prometheus.url,
            "kubeconfig": str(self._own.kubeconfig),
            "device": cluster.device,
        }
        self.scheduler_names = [candidate.scheduler_name]
        if candidate.scheduler_config is not None:
            self.scheduler_names = served_names(candidate.scheduler_config)

    @property
    def users(self) -> list[str]:
        """How the audit log names whoever acts for the candidate."""
        return [identity.user for identity in (self._own, self._scheduler) if identity is not None]

    @property
    def processes(self) -> tuple[Process, ...]:
        return tuple(self._processes)

    @property
    def ended(self) -> bool:
        """Whether any of its processes has ended, or could not be started again."""
        return not self._processes or any(process.exit_code is not None for process in self._processes)

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
                self._start_controller(spec)
            elif isinstance(spec, PluginSpec):
                self._start_plugin(spec)
            else:
                raise CandidateError(
                    f"{self.candidate.path}: candidates of this form ({self.candidate.kind}) cannot be run yet",
                    remedy="extenders, controllers and plugins can",
                )
        except DeadlineExceededError as error:
            tails = "\n".join(f"  {p.command.name} said last:\n{_indent(p.log_tail())}" for p in self._processes)
            raise CandidateError(
                f"candidate {self.candidate.name} did not get ready: {error.message}\n{tails}",
                remedy=f"its log is in {self._logs}"
                if isinstance(spec, PluginSpec)
                else f"`ready` in {self.candidate.path} names the path that answers 200 once it can work; "
                f"its log is in {self._logs}",
            ) from error
        except CandidateError as error:
            ended = [process for process in self._processes if process.exit_code is not None]
            if not ended or not isinstance(spec, PluginSpec):
                raise
            # A compiled scheduler that refuses its configuration is what its first clauses are about.
            self.start_error = explain_start(ended[0].log_tail(60), error)
            self.report_exits()
            self._record("start-failed", text=self.start_error.message, fix=self.start_error.remedy)

    def _start_extender(self, spec: ExtenderSpec) -> None:
        process, port = self._start_command(spec)
        self._wait_command(process, port, spec.ready, tls=spec.config.enable_https)
        if spec.config.enable_https:
            # Certificates are between the two of them: this line has no tap.
            url = f"https://127.0.0.1:{port}"
        else:
            url = self._tap_extender(f"http://127.0.0.1:{port}").url
        assert self._scheduler is not None
        extender = fill(spec.config.document(url), self._values)
        self._start_scheduler(self._scheduler, binary="kube-scheduler", extenders=[extender])

    def _tap_extender(self, upstream: str) -> Tap:
        if self.extender is None:
            self.extender = Tap(
                upstream,
                lambda call: self._record("extender", **describe_extender_call(call)),
                self._cluster.host.ports.reserve(),
            )
            self._cleanup.callback(self.extender.close)
        self.extender.upstream = upstream
        return self.extender

    def _start_controller(self, spec: ControllerSpec) -> None:
        """Without a readiness of its own it may still be reading its first lists: who waits for it, waits for pods."""
        process, port = self._start_command(spec)
        if spec.ready is not None:
            self._wait_command(process, port, spec.ready, tls=False)

    def _start_plugin(self, spec: PluginSpec) -> None:
        profile = plugin_profile(spec, self.candidate.claims, self._values)
        try:
            self._start_scheduler(self._own, binary=self._binary(spec), profile=profile)
        except CommandNotStartedError as error:
            raise CandidateError(
                error.message, remedy=f"spec.plugin.binary in {self.candidate.path} must be a program of this machine"
            ) from error

    def _binary(self, spec: PluginSpec) -> str:
        return scheduler_binary(
            spec, name=self.candidate.name, kubernetes=self._cluster.kubernetes, progress=SilentProgress()
        )

    def try_configurations(self, documents: Sequence[Mapping[str, Any]]) -> list[tuple[int | None, Sequence[str]]]:
        """Start the compiled scheduler beside the running one, on other configurations, all at once.

        Returns for each, when it has ended or is ready: its exit code (None: it got ready, and was stopped then), and
        the end of its log.
        """
        spec = self.candidate.spec
        assert isinstance(spec, PluginSpec)
        started = [
            start_scheduler(
                self._cluster.host, f"try-{number}-{self.candidate.name}", document, self._own.kubeconfig,
                binary=self._binary(spec), logs=self._logs / "tried" / str(number),
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
        if self.candidate.scheduler_config is None:
            configuration = scheduler_configuration(
                self.scheduler_names, identity.kubeconfig, extenders=extenders, profile=profile
            )
        else:
            configuration = own_configuration(self.candidate, identity.kubeconfig, self._values, extenders=extenders)
        self.configuration = configuration
        self._record("configuration", document=configuration)
        name = f"scheduler-{self.candidate.name}"
        scheduler = start_scheduler(
            self._cluster.host, name, configuration, identity.kubeconfig, binary=binary, logs=self._logs
        )
        self._started(scheduler.process)
        self.scheduler_log = scheduler.process.command.log
        scheduler.wait_ready()

    def _start_command(self, spec: CommandSpec) -> tuple[Process, int]:
        host = self._cluster.host
        if "port" not in self._values:
            port = (
                host.ports.reserve()
                if spec.port is None
                else host.ports.reserve_exactly(
                    spec.port, wanted_by=f"{self.candidate.path}: spec.{self.candidate.kind}.port"
                )
            )
            self._values["port"] = str(port)
        argv = fill(spec.command, self._values)
        command = Command(
            name=f"candidate {self.candidate.name}", argv=argv, log=self._logs / "candidate.log", cwd=spec.workdir,
            env={**_environment(host.sandbox.scratch, self._values), **fill(dict(spec.env), self._values)},
        )  # fmt: skip
        try:
            process = host.sandbox.spawn(command)
        except CommandNotStartedError as error:
            raise CandidateError(
                error.message,
                remedy=f"spec.{self.candidate.kind}.command in {self.candidate.path} must name a program on "
                f"PATH or a path (it is started in {spec.workdir})",
            ) from error
        self._started(process)
        return process, int(self._values["port"])

    def _wait_command(self, process: Process, port: int, ready: str | None, *, tls: bool) -> None:
        def probe() -> None:
            try:
                if ready is None:
                    socket.create_connection(("127.0.0.1", port), timeout=5).close()
                    return
                connection = (
                    http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=insecure_tls())
                    if tls
                    else http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                )
                with contextlib.closing(connection):
                    connection.request("GET", ready)
                    status = connection.getresponse().status
            except (OSError, http.client.HTTPException) as error:
                raise NotYet(f"{type(error).__name__}: {error}") from error
            if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
                raise NotYet(f"status {status}")

        what = f"{process.command.name} to answer {ready or 'a connection'} on 127.0.0.1:{port}"
        wait_for(probe, CANDIDATE_READY, what=what, watching=(process,))

    def _started(self, process: Process) -> None:
        self._processes.append(process)
        self._record("process", name=process.command.name, event="started")

    def report_exits(self) -> None:
        """Record the processes that ended since the last call."""
        for process in self._processes:
            if process.exit_code is not None and process.pid not in self._reported:
                self._reported.add(process.pid)
                self._record(
                    "process", name=process.command.name, event="exited", code=process.exit_code,
                    log=process.log_tail(20).splitlines(),
                )  # fmt: skip

    def log_tails(self) -> dict[str, list[str]]:
        """The last lines of each process's log, less what says nothing."""
        return {
            process.command.name: [line for line in process.log_tail(60).splitlines() if not _NOISE.search(line)][-8:]
            for process in self._processes
        }

    def restart_if_ended(self) -> None:
        """Start over where a process has ended, as a kubelet would.

        Raises:
            CandidateError: it cannot be started again; or it did not even start the first time.
        """
        if self.start_error is not None:
            raise self.start_error
        if self.ended:
            self.halt()
            self.resume()

    def halt(self) -> None:
        """End its processes, as when its node is drained. Its taps and identities stay."""
        self.report_exits()
        # The kube-scheduler was started last and goes first: its extender must not fail under it.
        while self._processes:
            process = self._processes.pop()
            lives = process.exit_code is None
            process.stop(CANDIDATE_STOP.seconds)
            if lives:
                self._record("process", name=process.command.name, event="stopped")

    def resume(self) -> None:
        """Start it again after `halt`."""
        self.start(self._record)

    def stop(self) -> None:
        """Take everything down; what ends from here on is our doing."""
        self.report_exits()
        self._record = _discard
        self.halt()
        self._cleanup.close()


_NOISE = re.compile(r" score=|missing content for CA bundle")
"""Scores are recorded by themselves; of CA bundles every kube-scheduler complains that authenticates by tokens."""

_REDIRECTING = re.compile(
    r"(HTTPS?|ALL|NO|FTP)_PROXY|.*_CA_BUNDLE|SSL_CERT_.*|PYTHON.*|PYTEST_.*|SCHEDPROOF_.*|MAKE.*|MFLAGS|LD_.*",
    re.IGNORECASE,
)


def _environment(scratch: Path, values: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment, as the command was tried in, less what would lead it elsewhere than here."""
    inherited = {name: value for name, value in os.environ.items() if not _REDIRECTING.fullmatch(name)}
    return {**inherited, "TMPDIR": str(scratch), "KUBECONFIG": values["kubeconfig"]}


def _declared(rbac: dict[str, Any], more: Rbac) -> Rbac:
    return Rbac((*rbac["clusterRoles"], *more.cluster_roles), (*rbac["rules"], *more.rules), more.system_roles)


def _discard(kind: str, **fields: Any) -> None:  # noqa: ARG001 - the protocol's
    return None


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
