"""A candidate as processes of this machine."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.candidate.kinds import CommandSpec
from schedproof.candidate.placeholders import fill
from schedproof.candidate.reading import port_placeholder
from schedproof.candidate.surroundings import ProcessSpec
from schedproof.clusters.cluster import Identity, Site
from schedproof.daemons.scheduler import LOG_SCORES, start_scheduler
from schedproof.deploy.accounts import Accounts
from schedproof.deploy.component import Client, component_name, probe
from schedproof.deploy.deployer import DeployMode, Served
from schedproof.deploy.descendants import own_folders
from schedproof.deploy.executable import why_not_started
from schedproof.deploy.record import Recording
from schedproof.deploy.tree_watch import TreeWatch
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.errors import CandidateError, SchedproofError
from schedproof.foundation.private import make_private, write_private
from schedproof.foundation.processes.process_tree import below
from schedproof.foundation.processes.sandbox import Command, CommandNotStartedError, Process
from schedproof.foundation.waiting import wait_for

_LOOPBACK = "127.0.0.1"


class ProcessDeployer:
    """See `schedproof.deploy.deployer.Deployer`.

    Args:
        identity: the candidate's own.
        logs: the folder for its logs.
        flags: more of its kube-scheduler's; see `start_scheduler`.
    """

    name: Final[DeployMode] = "process"
    acts_as = ""
    reaches_harness = True
    prometheus_url = ""

    def __init__(
        self,
        cluster: Site,
        candidate: Candidate,
        identity: Identity,
        logs: Path,
        *,
        flags: Mapping[str, str] = LOG_SCORES,
    ) -> None:
        self._host = cluster.host
        self._flags = flags
        self._candidate = candidate
        self._logs = logs
        self._removed_at_end = contextlib.ExitStack()
        self.values = {"address": _LOOPBACK, "python": sys.executable, "kubeconfig": str(identity.kubeconfig)}
        self.accounts = Accounts(cluster.api, lambda: self._own_folder)
        self._ports: dict[str, int] = {}
        """By the name of a process of the candidate; empty: its own program."""
        self._more_ports: dict[str, dict[str, str]] = {}
        """Likewise: the values of placeholders for further ports."""
        if isinstance(candidate.spec, CommandSpec):
            self.values["port"] = self._reserve("", candidate.spec, f"spec.{candidate.kind}")
            self.values |= self._more_ports[""]
        for number, process in enumerate(candidate.processes):
            self._reserve(process.name, process, f"spec.processes[{number}]")
        if candidate.files or candidate.wants_certificates:
            self.values["files"] = str(self._own_folder / "files")

    def _reserve(self, name: str, spec: CommandSpec, field: str) -> str:
        ports, wanted_by = self._host.ports, f"{self._candidate.path}: {field}.port"
        port = ports.reserve() if spec.port is None else ports.reserve_exactly(spec.port, wanted_by=wanted_by)
        self._ports[name] = port
        self._more_ports[name] = {port_placeholder(more): str(ports.reserve()) for more in spec.ports}
        return str(port)

    @functools.cached_property
    def _own_folder(self) -> Path:
        """The folder for the files of its processes and their output, which other processes do not see."""
        folder = tempfile.mkdtemp(prefix="own-", dir=self._host.sandbox.scratch)
        self._removed_at_end.callback(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    @functools.cached_property
    def _temporary(self) -> Path:
        """$TMPDIR of its processes."""
        folder = self._own_folder / "tmp"
        folder.mkdir(mode=0o700)
        return folder

    def kubeconfig(self, identity: Identity) -> Path:
        return identity.kubeconfig

    def own_values(self, process: ProcessSpec, identity: Identity) -> Mapping[str, str]:
        return {
            **self._more_ports[process.name],
            "port": str(self._ports[process.name]),
            "kubeconfig": str(identity.kubeconfig),
            "files": str(self._own_folder / f"files-{process.name}"),
        }

    def start_command(
        self,
        spec: CommandSpec,
        identity: Identity,
        values: Mapping[str, str],
        files: Mapping[str, str],
        client: Client | None = None,
    ) -> Served:
        name, field = "", f"spec.{self._candidate.kind}"
        if isinstance(spec, ProcessSpec):
            name, field = spec.name, f"spec.processes[{self._candidate.processes.index(spec)}]"
        own = _written(Path(values["files"]), files) if files else ()
        account, variables = self.accounts.lay_out(identity)
        command = Command(
            name=component_name(self._candidate, name), argv=fill(spec.command, values),
            log=self._logs / f"{name or 'candidate'}.log", cwd=spec.workdir,
            env={**_environment(self._temporary, values), **variables, **fill(dict(spec.env), values)},
            contained=True, hidden=(self._logs, self._host.logs),
            kept=(Path(values["kubeconfig"]), self._temporary, *own), shown=account,
        )  # fmt: skip
        port = self._ports[name]
        try:
            process = self._host.sandbox.spawn(command)
        except CommandNotStartedError as error:
            why, fix = why_not_started(command.argv[0], spec.workdir, command.env.get("PATH", os.defpath))
            field = f"{field}.command in {self._candidate.path}"
            raise CandidateError(
                f"{error.message}{f': {why}' if why else ''} ({field})",
                remedy=fix or f"name a program on PATH or a path (it is started in {spec.workdir})",
            ) from error

        def wait_ready() -> None:
            what = f"{command.name} to answer {spec.ready or 'a connection'} on {_LOOPBACK}:{port}"
            wait_for(
                lambda: probe(_LOOPBACK, port, spec.ready, client),
                CANDIDATE_READY, what=what, watching=(process,),
            )  # fmt: skip

        address = f"{_LOOPBACK}:{port}"
        folders = own_folders(self._candidate.path.parent, spec.workdir, spec.command)
        component = _ProcessComponent(process, wait_ready if spec.listens else _at_once, folders=folders)
        if isinstance(spec, ProcessSpec) and spec.serves:
            # While it stood still, the apiserver would refuse what others create.
            component.freeze = component.thaw = _at_once
        return Served(component, address, address)

    def start_scheduler(
        self, configuration: Mapping[str, Any], identity: Identity, binary: str, files: Mapping[str, str]
    ) -> _ProcessComponent:
        name = f"scheduler-{self._candidate.name}"
        own = _written(Path(self.values["files"]), files) if files else ()
        account, variables = self.accounts.lay_out(identity)
        try:
            scheduler = start_scheduler(
                self._host,
                name,
                configuration,
                identity.kubeconfig,
                binary=binary,
                logs=self._logs,
                more={**self._flags, **self._candidate.flags},
                contained=True,
                kept=(self._temporary, *own),
                shown=account,
                env={"TMPDIR": str(self._temporary), **variables},
            )
        except CommandNotStartedError as error:
            raise CandidateError(
                error.message, remedy=f"spec.plugin.binary in {self._candidate.path} must be a program of this machine"
            ) from error
        folders = own_folders(self._candidate.path.parent, self._candidate.path.parent)
        return _ProcessComponent(
            scheduler.process, scheduler.wait_ready, folders=folders, scheduler_port=scheduler.port
        )

    def close(self) -> None:
        self._removed_at_end.close()


class _ProcessComponent:
    """A process with its descendants, and how to wait for it; `port`: where it listens, if it does."""

    def __init__(
        self,
        process: Process,
        wait_ready: Callable[[], None],
        *,
        folders: Iterable[Path],
        scheduler_port: int | None = None,
    ) -> None:
        self._process = process
        self._folders = tuple(folders)
        self._tree: TreeWatch | None = None
        self.wait_ready = wait_ready
        self.scheduler_port = scheduler_port
        self.name = process.command.name
        self.log = process.command.log
        self.pid = process.pid
        self.log_tail = process.log_tail
        self.cause = process.cause
        self.freeze = process.freeze
        self.thaw = process.thaw

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code

    def pids(self) -> Sequence[int]:
        return list(below(self._process.outside_pid()))

    def watch(self, record: Recording) -> None:
        self._tree = TreeWatch(self._process, self._folders, record)

    def catch_up(self) -> None:
        """Nothing to do: it writes into its log itself."""
        if self._tree is not None:
            self._tree.look()

    def stop(self, grace: float) -> None:
        if self._tree is not None:
            self._tree.close()  # what ends from here on, is our doing
        self._process.stop(grace)

    def exit_error(self) -> SchedproofError | None:
        return self._process.exit_error()


def _at_once() -> None:
    pass


def _written(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """The folder with these files, as a program finds them at its start."""
    for name, text in files.items():
        make_private((folder / name).parent)
        (folder / name).unlink(missing_ok=True)
        write_private(folder / name, text)
    return (folder,)


_REDIRECTING = re.compile(
    r"KUBERNETES_(SERVICE|PORT).*|(HTTPS?|ALL|NO|FTP)_PROXY|.*_CA_BUNDLE|SSL_CERT_.*|PYTHON.*|PYTEST_.*|SCHEDPROOF_.*|MAKE.*|MFLAGS|LD_.*",
    re.IGNORECASE,
)


_ELSEWHERE = "<+0545>-5:45"
"""In the POSIX notation of a time zone, which needs no database."""


def _environment(temporary: Path, values: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment, in which the command was tried, without variables that lead it elsewhere.

    If it names no time zone, candidates get one that is not UTC. Prometheus and the API use UTC: a candidate that
    confuses local time with it would pass on machines whose zone is UTC, such as those of CI.
    """
    inherited = {name: value for name, value in os.environ.items() if not _REDIRECTING.fullmatch(name)}
    return {"TZ": _ELSEWHERE, **inherited, "TMPDIR": str(temporary), "KUBECONFIG": values["kubeconfig"]}
