"""A candidate as processes of this machine."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schedproof.candidates.deploy.component import probe
from schedproof.candidates.deploy.deployer import DeployMode, Served
from schedproof.candidates.deploy.descendants import own_folders
from schedproof.candidates.deploy.executable import why_not_started
from schedproof.candidates.deploy.placeholders import fill
from schedproof.candidates.deploy.tree_watch import TreeWatch
from schedproof.candidates.kinds import CommandSpec
from schedproof.daemons.scheduler import LOG_SCORES, start_scheduler
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.sandbox import Command, CommandNotStartedError, Process
from schedproof.foundation.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from schedproof.candidates.deploy.attachment import Recording
    from schedproof.candidates.descriptor.descriptor import Candidate
    from schedproof.clusters.cluster import Identity, Site
    from schedproof.foundation.errors import SchedproofError

__all__ = ["ProcessDeployer"]

_LOOPBACK = "127.0.0.1"


class ProcessDeployer:
    """See `schedproof.candidates.deploy.deployer.Deployer`.

    Args:
        identity: the candidate's own.
        logs: the folder for its logs.
        flags: more of its kube-scheduler's; see `start_scheduler`.
    """

    name: Final[DeployMode] = "process"
    acts_as = ""

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
        if isinstance(candidate.spec, CommandSpec):
            wanted, ports = candidate.spec.port, cluster.host.ports
            self._port = (
                ports.reserve()
                if wanted is None
                else ports.reserve_exactly(wanted, wanted_by=f"{candidate.path}: spec.{candidate.kind}.port")
            )
            self.values["port"] = str(self._port)

    @functools.cached_property
    def _temporary(self) -> Path:
        """$TMPDIR of its processes: a folder of their own, whose contents concern no other process."""
        folder = tempfile.mkdtemp(prefix="tmp-", dir=self._host.sandbox.scratch)
        self._removed_at_end.callback(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def kubeconfig(self, identity: Identity) -> Path:
        return identity.kubeconfig

    def start_command(self, spec: CommandSpec, values: Mapping[str, str]) -> Served:
        command = Command(
            name=f"candidate {self._candidate.name}", argv=fill(spec.command, values),
            log=self._logs / "candidate.log", cwd=spec.workdir,
            env={**_environment(self._temporary, values), **fill(dict(spec.env), values)},
            contained=True, hidden=(self._logs, self._host.logs), kept=(Path(values["kubeconfig"]), self._temporary),
        )  # fmt: skip
        try:
            process = self._host.sandbox.spawn(command)
        except CommandNotStartedError as error:
            why, fix = why_not_started(command.argv[0], spec.workdir, command.env.get("PATH", os.defpath))
            field = f"spec.{self._candidate.kind}.command in {self._candidate.path}"
            raise CandidateError(
                f"{error.message}{f': {why}' if why else ''} ({field})",
                remedy=fix or f"name a program on PATH or a path (it is started in {spec.workdir})",
            ) from error

        def wait_ready() -> None:
            what = f"{command.name} to answer {spec.ready or 'a connection'} on {_LOOPBACK}:{self._port}"
            wait_for(
                lambda: probe(_LOOPBACK, self._port, spec.ready, tls=spec.tls),
                CANDIDATE_READY, what=what, watching=(process,),
            )  # fmt: skip

        address = f"{_LOOPBACK}:{self._port}"
        folders = own_folders(self._candidate.path.parent, spec.workdir, spec.command)
        component = _ProcessComponent(
            process,
            wait_ready if spec.listens else _at_once,
            folders=folders,
            port=self._port if spec.listens else None,
        )
        return Served(component, address, address)

    def start_scheduler(self, configuration: Mapping[str, Any], identity: Identity, binary: str) -> _ProcessComponent:
        name = f"scheduler-{self._candidate.name}"
        try:
            scheduler = start_scheduler(
                self._host,
                name,
                configuration,
                identity.kubeconfig,
                binary=binary,
                logs=self._logs,
                more=self._flags,
                contained=True,
                kept=(self._temporary,),
                env={"TMPDIR": str(self._temporary)},
            )
        except CommandNotStartedError as error:
            raise CandidateError(
                error.message, remedy=f"spec.plugin.binary in {self._candidate.path} must be a program of this machine"
            ) from error
        folders = own_folders(self._candidate.path.parent, self._candidate.path.parent)
        return _ProcessComponent(
            scheduler.process, scheduler.wait_ready, folders=folders, port=scheduler.port, scheduler_port=scheduler.port
        )

    def close(self) -> None:
        self._removed_at_end.close()


class _ProcessComponent:
    """A process with all that it forks, and how it is waited for; `port`: where it listens, if it does."""

    def __init__(
        self,
        process: Process,
        wait_ready: Callable[[], None],
        *,
        folders: Iterable[Path],
        port: int | None,
        scheduler_port: int | None = None,
    ) -> None:
        self._process = process
        self._folders = tuple(folders)
        self._port = port
        self._tree: TreeWatch | None = None
        self.wait_ready = wait_ready
        self.scheduler_port = scheduler_port
        self.name = process.command.name
        self.log = process.command.log
        self.pid = process.pid
        self.log_tail = process.log_tail
        self.cause = process.cause

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code

    def watch(self, record: Recording) -> None:
        self._tree = TreeWatch(self._process, self._folders, self._port, record)

    def catch_up(self) -> None:
        """It writes into its log itself."""
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


_REDIRECTING = re.compile(
    r"(HTTPS?|ALL|NO|FTP)_PROXY|.*_CA_BUNDLE|SSL_CERT_.*|PYTHON.*|PYTEST_.*|SCHEDPROOF_.*|MAKE.*|MFLAGS|LD_.*",
    re.IGNORECASE,
)


def _environment(temporary: Path, values: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment, as the command was tried in, less what would lead it elsewhere than here."""
    inherited = {name: value for name, value in os.environ.items() if not _REDIRECTING.fullmatch(name)}
    return {**inherited, "TMPDIR": str(temporary), "KUBECONFIG": values["kubeconfig"]}
