"""Starts a candidate on a cluster, connected through taps, and stops it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from schedproof.candidate.claims import LEADER_ELECTION
from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import AttachedSpec, CommandSpec, ControllerSpec, ExtenderSpec, PluginSpec
from schedproof.candidate.placeholders import CERTIFICATES, fill
from schedproof.candidate.scheduler_config import (
    DEFAULT_SCHEDULER,
    NO_LEADER_ELECTION,
    own_configuration,
    plugin_profile,
    scheduler_configuration,
    served_by,
    serving_all,
)
from schedproof.candidate.served import Endpoint, led, services_of
from schedproof.candidate.start_errors import explain_start
from schedproof.candidate.surroundings import ProcessSpec, RbacSpec
from schedproof.clusters.api import Manifest
from schedproof.clusters.bootstrap import SCHEDULER_RBAC
from schedproof.clusters.cluster import Identity, NamespacedRules, Rbac, Site
from schedproof.clusters.objects import AppliedObjects
from schedproof.daemons.kubeconfig import redirected, server_of
from schedproof.daemons.scheduler import LOG_SCORES, start_scheduler
from schedproof.deploy.accounts import Accounts
from schedproof.deploy.attached.scheduler import AttachedScheduler
from schedproof.deploy.choice import choose_deployer
from schedproof.deploy.component import Client, Component
from schedproof.deploy.deployer import DeployMode, Served
from schedproof.deploy.extender_tls import ExtenderTls
from schedproof.deploy.install import install
from schedproof.deploy.plugin_build.plugin_build import scheduler_binary
from schedproof.deploy.plugin_build.program import program_of
from schedproof.deploy.record import Recording, discard
from schedproof.deploy.running import RunningComponents
from schedproof.foundation.deadlines import CALL_RECORDED
from schedproof.foundation.errors import CandidateError, DeadlineExceededError, UsageError
from schedproof.foundation.progress import SilentProgress
from schedproof.proxies.api_line import ApiLine
from schedproof.proxies.exchange import Exchange
from schedproof.proxies.exchanges import (
    asks_of_targets,
    describe_extender_call,
    describe_query,
    only_asks,
)
from schedproof.proxies.tap_tls import made_certificates, own_certificate
from schedproof.proxies.taps import Tap


class Attachment:
    """A candidate on a cluster. `start` returns when it is ready to schedule.

    The candidate's own components have the identity that its descriptor asks for; a kube-scheduler that the harness
    runs for an extender has one of its own, with a scheduler's rights. Bindings of either are the candidate's.

    Args:
        deploy: how its components run, one of `deployer.DEPLOY_MODES`; None: what the cluster is for.
        tapped: whether its lines to Prometheus and from its scheduler go through taps.
        watched: whether it is recorded how what its processes fork ends; costs a little of the machine.
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
        watched: bool = True,
        flags: Mapping[str, str] = LOG_SCORES,
    ) -> None:
        self.candidate = candidate
        self.starts = 0
        """How often it was started."""
        self._cluster = cluster
        self._logs = logs
        self.running = RunningComponents(watched=watched)
        """Its running components."""
        self._cleanup = contextlib.ExitStack()
        rbac = candidate.rbac
        self.apiserver: ApiLine | None = None
        """The line of all its components to the apiserver, if it can be cut and there are taps."""
        self._installed = AppliedObjects(cluster.api, mine="foreign-objects" not in cluster.capabilities)
        self._cleanup.callback(self._installed.remove)
        namespace = {"namespace": cluster.namespace}
        self._leading = AppliedObjects(cluster.api, mine="foreign-objects" not in cluster.capabilities)
        """What leads to its processes, while they run."""
        self._cleanup.callback(self._leading.remove)
        held = {service for process in candidate.processes for service in process.services}
        # A definition is needed by the rest; what it says of conversion is led to the process later.
        self._install(
            lambda manifest: (
                [manifest]
                if manifest["kind"] == "CustomResourceDefinition" or not held.intersection(services_of(manifest))
                else []
            )
        )
        self._attached: AttachedScheduler | None = None
        """The candidate itself, if it runs already."""
        own = f"candidate-{candidate.name}"
        if isinstance(candidate.spec, AttachedSpec):
            self._attached = AttachedScheduler(cluster, candidate, logs)
            self._own = Identity(own, Path(os.devnull), cluster.namespace)  # which acts nowhere
        else:
            # A compiled scheduler needs kube-scheduler's rights in addition to its own; other kinds get their own only.
            more = SCHEDULER_RBAC if isinstance(candidate.spec, PluginSpec) else Rbac()
            self._own = self._identity(own, _declared(rbac, more, namespace), tapped=tapped)
        self._scheduler: Identity | None = None
        if isinstance(candidate.spec, ExtenderSpec):
            self._scheduler = self._identity(f"scheduler-{candidate.name}", SCHEDULER_RBAC, tapped=tapped)
        self._second = _second_instance(candidate)
        self.programs = (*candidate.processes, *((self._second,) if self._second is not None else ()))
        """All components except its scheduler, including a second instance."""
        self._processes = {
            process.name: self._own
            if process.rbac is None
            else self._identity(
                f"candidate-{candidate.name}-{process.name}", _declared(process.rbac, Rbac(), namespace), tapped=tapped
            )
            for process in self.programs
        }
        self._deployer = choose_deployer(
            cluster, dataclasses.replace(candidate, processes=self.programs), self._own, logs, deploy, flags=flags
        )
        self._cleanup.callback(self._deployer.close)
        self._tapped = tapped and self._deployer.reaches_harness
        prometheus_url = cluster.prometheus_url
        self._prometheus: Tap | None = None
        if tapped and prometheus_url:
            self._prometheus = self._tap(
                prometheus_url,
                lambda exchange: self.running.record("query", **describe_query(exchange)),
                permits=only_asks,
                elsewhere=self._targets_server,
            )
            prometheus_url = self._prometheus.url if self._tapped else self._deployer.prometheus_url
        self.extender: Tap | None = None
        """The scheduler's line to the candidate, if that is an extender and there are taps."""
        self._tap_trust: Mapping[str, Any] = {}
        self._certificates = made_certificates() if candidate.wants_certificates else None
        self._serving = {
            process.name: made_certificates([f"{name}.{namespace}.svc" for namespace, name in process.services])
            for process in candidate.processes
            if process.serves
        }
        """By process, the certificates with which it serves what Services are for."""
        if self._serving and self.deploy != "process":
            raise UsageError(
                f"{candidate.path}: spec.processes: {next(iter(self._serving))} serves Services, which it does as a "
                "process of this machine only",
                remedy="use --deploy process; or install the Services and their pods",
            )
        self.scheduler_log: Path | None = None
        self.start_error: CandidateError | None = None
        """Why a program of the candidate ended at its start."""
        self.leader_election: Mapping[str, Any] = NO_LEADER_ELECTION
        """How its scheduler elects a leader at its next start."""
        self.profiles_reversed = False
        """Whether the profiles of its configuration are in the opposite order at its next start."""
        self.configuration: Mapping[str, Any] | None = None
        """The KubeSchedulerConfiguration of the last start of a scheduler."""
        self._values = {
            **candidate.own_values(),
            **namespace,
            **({"prometheus": prometheus_url} if prometheus_url else {}),
            "device": cluster.device,
            **self._deployer.values,
        }
        if self._certificates is not None:
            self._values |= {name: f"{self._values['files']}/{file}" for name, file in CERTIFICATES.items()}
        self.scheduler_names = served_by(candidate)
        if self.deploy == "control-plane":
            self.scheduler_names = list(dict.fromkeys((*self.scheduler_names, DEFAULT_SCHEDULER)))

    @property
    def asks_prometheus(self) -> bool:
        """Whether the candidate has a tapped line to Prometheus. A run without network claims has none."""
        return self._prometheus is not None

    @property
    def prometheus(self) -> Tap:
        """The candidate's tapped line to Prometheus, if there is one; its `upstream` may be exchanged."""
        assert self._prometheus is not None
        return self._prometheus

    @property
    def deploy(self) -> DeployMode:
        """How its components run."""
        return self._deployer.name

    @property
    def accounts(self) -> Accounts | None:
        """The ServiceAccounts' credentials as files for its components; None if kubelets provide them."""
        return self._deployer.accounts

    @property
    def users(self) -> list[str]:
        """The user names, in the audit log, of the identities that act for the candidate."""
        if acts_as := self._attached.user if self._attached is not None else self._deployer.acts_as:
            return [acts_as]
        return list(
            dict.fromkeys(
                identity.user
                for identity in (self._own, self._scheduler, *self._processes.values())
                if identity is not None
            )
        )

    @property
    def process_users(self) -> Mapping[str, str]:
        """The user names, in the audit log, of the candidate's processes with identities of their own, by process."""
        own = {name: identity.user for name, identity in self._processes.items() if identity is not self._own}
        return {} if self._deployer.acts_as else own

    @property
    def components(self) -> tuple[Component, ...]:
        return self.running.all

    @property
    def ended(self) -> bool:
        """Whether any of its components has ended, or could not be restarted."""
        return self._is_visible and self.running.ended

    @property
    def _is_visible(self) -> bool:
        return self._attached is None or self._attached.is_visible

    @property
    def versions(self) -> Mapping[str, str]:
        """Its versions as far as they are seen, by name."""
        spec = self.candidate.spec
        if isinstance(spec, PluginSpec) and (program := program_of(spec)):
            return {self.candidate.name: str(program)}
        return {} if self._attached is None else self._attached.versions

    def _identity(self, name: str, rbac: Rbac, *, tapped: bool) -> Identity:
        """Make an identity; if it can be cut, its kubeconfig leads through the harness's line to the apiserver."""
        identity = self._cluster.identity(name, rbac)
        if not tapped or "cut-apiserver" not in self._cluster.capabilities:
            return identity
        if self.apiserver is None:
            target = urlsplit(server_of(identity.kubeconfig))
            assert target.hostname is not None
            assert target.port is not None
            self.apiserver = ApiLine((target.hostname, target.port), self._cluster.host.ports.reserve())
            self._cleanup.callback(self.apiserver.close)
        # Its certificate is good for loopback, where the line listens as well.
        kubeconfig = redirected(identity.kubeconfig, f"https://127.0.0.1:{self.apiserver.port}")
        return dataclasses.replace(identity, kubeconfig=kubeconfig)

    def start(self, record: Recording) -> None:
        """Start everything, and wait until it is ready.

        Raises:
            CandidateError: it cannot be started, or does not become ready; with its last log lines. If a program of it
                ends at once, `start_error` is set instead: a clause judges that.
        """
        self.running.record = record
        self.starts += 1
        spec = self.candidate.spec
        self.start_error = None
        try:
            for process in self.candidate.processes:
                self._start_process(process)
            if self._attached is not None:
                self._find()
            elif isinstance(spec, ExtenderSpec):
                self._start_extender(spec)
            elif isinstance(spec, ControllerSpec):
                # Without a readiness of its own it may still be reading its first lists: to wait for it is to wait for
                # pods.
                self._start_command(spec)
            elif isinstance(spec, PluginSpec):
                profile = plugin_profile(spec, self.candidate.claims, self._values)
                self._start_scheduler(self._own, binary=self._binary(spec), profile=profile)
        except DeadlineExceededError as error:
            tails = "\n".join(
                f"  last log lines of {component.name}:\n{_indent(component.log_tail())}"
                for component in self.running.all
            )
            raise CandidateError(
                f"candidate {self.candidate.name} did not become ready: {error.message}\n{tails}",
                remedy=f"its log is in {self._logs}"
                if isinstance(spec, PluginSpec)
                else f"`ready` in {self.candidate.path} names the path that responds with 200 when it can work; "
                f"its log is in {self._logs}",
            ) from error
        except CandidateError as error:
            compiled = isinstance(spec, PluginSpec)
            # The kube-scheduler that the harness runs for an extender is no program of the candidate.
            own = [component for component in self.running.all if compiled or component.scheduler_port is None]
            ended = [component for component in own if component.exit_code is not None]
            if not ended:
                raise
            # A compiled scheduler that refuses its configuration fails its first clauses.
            self.start_error = explain_start(ended[0].log_tail(60), error) if compiled else error
            self.report_exits()
            self.running.record("start-failed", text=self.start_error.message, fix=self.start_error.remedy)

    def _find(self) -> None:
        assert self._attached is not None
        for pod in self._attached.components():
            self.running.started(pod)
        for component in self.running.all:
            component.wait_ready()

    def _start_process(self, process: ProcessSpec) -> None:
        identity = self._processes[process.name]
        values = {**self._values, **self._deployer.own_values(process, identity)}
        certificates = self._serving.get(process.name, {})
        values |= {name: f"{values['files']}/{CERTIFICATES[name]}" for name in certificates}
        files = fill(dict(process.files), values) | {CERTIFICATES[name]: pem for name, pem in certificates.items()}
        served = self._deployer.start_command(process, identity, values, files)
        self.running.started(served.component)
        served.component.wait_ready()
        self._values[process.address_placeholder] = served.inside
        if process.serves:
            self._lead_to(process, values, certificates["caFile"])

    def _lead_to(self, process: ProcessSpec, values: Mapping[str, str], authority: str) -> None:
        """Apply the webhooks and APIs that lead to a process, which responds now."""
        endpoints = {service: Endpoint(values[port], authority) for service, port in process.services.items()}

        def leading(manifest: Manifest, *, defines: bool) -> list[Manifest]:
            chosen = (manifest["kind"] == "CustomResourceDefinition") == defines
            return led(manifest, endpoints) if chosen and endpoints.keys() & set(services_of(manifest)) else []

        self._install(lambda manifest: leading(manifest, defines=True))
        self._install(lambda manifest: leading(manifest, defines=False), self._leading)

    def _install(self, change: Callable[[Manifest], list[Manifest]], objects: AppliedObjects | None = None) -> None:
        own = self._cluster.namespace
        install(objects or self._installed, self.candidate.install, own, {"namespace": own}, change)

    @property
    def _files(self) -> dict[str, str]:
        """The files of the candidate's own program."""
        made = (
            {} if self._certificates is None else {CERTIFICATES[name]: pem for name, pem in self._certificates.items()}
        )
        return {**fill(dict(self.candidate.files), self._values), **made}

    def _tls(self, spec: ExtenderSpec) -> ExtenderTls:
        return ExtenderTls(spec, self.candidate.path, self._values, self._certificates)

    def _start_extender(self, spec: ExtenderSpec) -> None:
        served = self._start_command(spec, self._tls(spec).as_client if spec.tls else None)
        scheme = "https" if spec.tls else "http"
        assert self._scheduler is not None
        if self._tapped:
            tap = self._tap_extender(spec, f"{scheme}://{served.outside}", served.inside.rpartition(":")[0])
            extender = {**fill(spec.config.document(tap.url), self._values), **self._tap_trust}
        else:
            extender = fill(spec.config.document(f"{scheme}://{served.inside}"), self._values)
            if spec.tls and (tls := self._tls(spec).config()):
                extender["tlsConfig"] = tls
        self._start_scheduler(self._scheduler, binary="kube-scheduler", extenders=[extender])

    def _targets_server(self, url: str, method: str, target: str) -> Callable[[], str] | None:
        """The server for questions about targets, if the Prometheus at `url` has scraped nothing; see `Tap`."""
        server = self._cluster.targets_servers.get(url) if asks_of_targets(method, target) else None
        return server.url if server is not None else None

    def _tap(self, upstream: str, record: Callable[[Exchange], None], **more: Any) -> Tap:
        address = self._cluster.callback_address
        tap = Tap(upstream, record, self._cluster.host.ports.reserve(address), address=address, **more)
        self._cleanup.callback(tap.close)
        return tap

    def _tap_extender(self, spec: ExtenderSpec, upstream: str, name: str) -> Tap:
        """The tap in front of the extender, which its scheduler knows as `name`."""
        if self.extender is None:
            tls: dict[str, Any] = {}
            if spec.tls:
                tls["serving"], authority = own_certificate(self._cluster.callback_address)
                self._tap_trust = {"tlsConfig": {"caData": authority}}
            described = spec.config.recorded()
            self.extender = self._tap(
                upstream,
                lambda call: self.running.record("extender", **describe_extender_call(call, described)),
                keeps_clients=True,
                **tls,
            )
        if spec.tls:
            self.extender.set_trust(*self._tls(spec).trust(name))
        self.extender.upstream = upstream
        return self.extender

    def _binary(self, spec: PluginSpec) -> str:
        return scheduler_binary(
            spec, name=self.candidate.name, kubernetes=self._cluster.kubernetes, progress=SilentProgress()
        )

    def try_configurations(self, documents: Sequence[Mapping[str, Any]]) -> list[tuple[int | None, Sequence[str]]]:
        """Start the compiled scheduler beside the running one, on other configurations, one after the other.

        They run as processes of this machine, however the candidate runs: only their start matters.

        Returns for each, when it has ended or is ready: its exit code (None: it became ready, and was stopped then),
        and the end of its log.
        """
        spec = self.candidate.spec
        assert isinstance(spec, PluginSpec)
        kubeconfig = self._own.kubeconfig
        found: list[tuple[int | None, Sequence[str]]] = []
        # All at once they would take long to start on a busy machine.
        for number, document in enumerate(documents):
            scheduler = start_scheduler(
                self._cluster.host, f"try-{number}-{self.candidate.name}",
                {**document, "clientConnection": {**document["clientConnection"], "kubeconfig": str(kubeconfig)}},
                kubeconfig, binary=self._binary(spec), logs=self._logs / "tried" / str(number),
                more={**LOG_SCORES, **spec.flags}, contained=True,
            )  # fmt: skip
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
        kubeconfig = self._deployer.kubeconfig(identity)
        if self.candidate.scheduler_config is None:
            names = [self.candidate.scheduler_name]
            configuration = scheduler_configuration(names, kubeconfig, extenders=extenders, profile=profile)
        else:
            configuration = own_configuration(self.candidate, kubeconfig, self._values, extenders=extenders)
        if self.deploy == "control-plane":
            configuration = serving_all(configuration, self.candidate.scheduler_name)
        configuration["leaderElection"] = dict(self.leader_election)
        if self.profiles_reversed:
            configuration["profiles"] = configuration["profiles"][::-1]
        self.configuration = configuration
        self.running.record("configuration", document=configuration)
        files = self._files if isinstance(self.candidate.spec, PluginSpec) else {}
        component = self._deployer.start_scheduler(configuration, identity, binary, files)
        self.running.started(component)
        self.scheduler_log = component.log
        component.wait_ready()

    def _start_command(self, spec: CommandSpec, client: Client | None = None) -> Served:
        served = self._deployer.start_command(spec, self._own, self._values, self._files, client)
        self.running.started(served.component)
        served.component.wait_ready()
        return served

    @property
    def second_user(self) -> str:
        """The user name, in the audit log, of the second instance of a candidate that elects a leader; "" if there is
        none.
        """
        return "" if self._second is None else self._processes[self._second.name].user

    def start_second(self) -> None:
        """Start a second instance of its program, which stands by. `halt` ends it as well."""
        assert self._second is not None
        identity = self._processes[self._second.name]
        values = {**self._values, **self._deployer.own_values(self._second, identity)}
        served = self._deployer.start_command(self._second, identity, values, fill(dict(self._second.files), values))
        self.running.started(served.component)

    def first_frozen(self) -> AbstractContextManager[None]:
        """A context in which all components that ran before the second instance was started are frozen."""
        return self.running.first_frozen()

    def report_exits(self) -> None:
        """Record the components that ended since the last call."""
        self.running.report_exits()

    def await_answers(self) -> None:
        """Wait until responses of the extender that are under way are recorded; the effect of a bind shows earlier."""
        if self.extender is not None:
            self.extender.await_answers(CALL_RECORDED.seconds)

    def record_left(self) -> None:
        """Record the requests through its taps whose clients no longer wait for a response."""
        for tap in (self._prometheus, self.extender):
            if tap is not None:
                tap.record_left()

    def pids(self) -> dict[str, Sequence[int]]:
        """The current processes of each component, if this machine sees them."""
        return self.running.pids()

    def catch_up(self) -> None:
        """Bring the logs up to date with what its components have printed."""
        self.running.catch_up()

    def log_tails(self) -> dict[str, list[str]]:
        """The last lines of each component's log, without irrelevant ones."""
        return self.running.log_tails()

    def restart_if_ended(self) -> None:
        """Restart each component that has ended, as a kubelet would.

        Raises:
            CandidateError: it cannot be restarted; or it did not even start the first time.
        """
        if self.start_error is not None:
            raise self.start_error
        if self.ended:
            self._leading.remove()
            self.running.halt()
            self.resume()

    def halt(self) -> None:
        """End its components, as when its node is drained. Its taps and identities stay.

        Raises:
            CandidateError: it runs already, and may not be restarted.
        """
        self._leading.remove()  # else the apiserver refuses what others create meanwhile
        self.running.halt()
        if self._attached is not None:
            self._attached.replace()

    def resume(self) -> None:
        """Start it again after `halt`."""
        self.start(self.running.record)

    def stop(self) -> None:
        """Stop everything; ends of processes from here on are the harness's doing."""
        self.report_exits()
        self.running.record = discard
        with self._cleanup:
            self.running.halt()


def _second_instance(candidate: Candidate) -> ProcessSpec | None:
    """Return a second instance of a controller that claims leader election; it has the same rights, another identity.

    A descriptor cannot contain its name.
    """
    spec = candidate.spec
    if not isinstance(spec, ControllerSpec) or LEADER_ELECTION not in candidate.claims.features:
        return None
    return ProcessSpec(
        command=spec.command, workdir=spec.workdir, env=spec.env, ready=spec.ready, name="second--instance",
        rbac=candidate.rbac, files=candidate.files, ports=spec.ports,
    )  # fmt: skip


def _declared(rbac: RbacSpec, more: Rbac, values: Mapping[str, str]) -> Rbac:
    rules = [rule.document() for rule in rbac.rules]
    roles = [
        NamespacedRules(fill(role.namespace, values), tuple(rule.document() for rule in role.rules))
        for role in rbac.roles
    ]  # fmt: skip
    cluster_roles = (*rbac.cluster_roles, *more.cluster_roles)
    return Rbac(cluster_roles, (*rules, *more.rules), more.system_roles, (*roles, *more.roles))


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
