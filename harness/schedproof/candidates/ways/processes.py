"""A candidate as processes of this machine."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from schedproof.candidates.kinds import CommandSpec
from schedproof.candidates.placeholders import fill
from schedproof.candidates.ways.part import probe
from schedproof.candidates.ways.way import Served, WayName
from schedproof.daemons.scheduler import LOG_SCORES, start_scheduler
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.sandbox import Command, CommandNotStartedError, Process
from schedproof.foundation.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from schedproof.candidates.descriptor import Candidate
    from schedproof.clusters.cluster import Identity, Site
    from schedproof.foundation.errors import SchedproofError

__all__ = ["ProcessWay"]

_LOOPBACK = "127.0.0.1"


class ProcessWay:
    """See `schedproof.candidates.ways.way.Way`.

    Args:
        identity: the candidate's own.
        logs: the folder for its logs.
        flags: more of its kube-scheduler's; see `start_scheduler`.
    """

    name: Final[WayName] = "process"
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
        self.values = {"address": _LOOPBACK, "python": sys.executable, "kubeconfig": str(identity.kubeconfig)}
        if isinstance(candidate.spec, CommandSpec):
            wanted, ports = candidate.spec.port, cluster.host.ports
            self._port = (
                ports.reserve()
                if wanted is None
                else ports.reserve_exactly(wanted, wanted_by=f"{candidate.path}: spec.{candidate.kind}.port")
            )
            self.values["port"] = str(self._port)

    def kubeconfig(self, identity: Identity) -> Path:
        return identity.kubeconfig

    def start_command(self, spec: CommandSpec, values: Mapping[str, str]) -> Served:
        command = Command(
            name=f"candidate {self._candidate.name}", argv=fill(spec.command, values),
            log=self._logs / "candidate.log", cwd=spec.workdir,
            env={**_environment(self._host.sandbox.scratch, values), **fill(dict(spec.env), values)},
        )  # fmt: skip
        try:
            process = self._host.sandbox.spawn(command)
        except CommandNotStartedError as error:
            raise CandidateError(
                error.message,
                remedy=f"spec.{self._candidate.kind}.command in {self._candidate.path} must name a program on "
                f"PATH or a path (it is started in {spec.workdir})",
            ) from error

        def wait_ready() -> None:
            what = f"{command.name} to answer {spec.ready or 'a connection'} on {_LOOPBACK}:{self._port}"
            wait_for(
                lambda: probe(_LOOPBACK, self._port, spec.ready, tls=spec.tls),
                CANDIDATE_READY, what=what, watching=(process,),
            )  # fmt: skip

        address = f"{_LOOPBACK}:{self._port}"
        return Served(_ProcessPart(process, wait_ready if spec.listens else _at_once), address, address)

    def start_scheduler(self, configuration: Mapping[str, Any], identity: Identity, binary: str) -> _ProcessPart:
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
            )
        except CommandNotStartedError as error:
            raise CandidateError(
                error.message, remedy=f"spec.plugin.binary in {self._candidate.path} must be a program of this machine"
            ) from error
        return _ProcessPart(scheduler.process, scheduler.wait_ready, scheduler.port)

    def close(self) -> None:
        """Nothing is left once its processes have been stopped."""


class _ProcessPart:
    """A process, and how it is waited for."""

    def __init__(self, process: Process, wait_ready: Callable[[], None], port: int | None = None) -> None:
        self._process = process
        self.wait_ready = wait_ready
        self.scheduler_port = port
        self.name = process.command.name
        self.log = process.command.log
        self.pid = process.pid
        self.stop = process.stop
        self.log_tail = process.log_tail

    @property
    def exit_code(self) -> int | None:
        return self._process.exit_code

    def catch_up(self) -> None:
        """Nothing to do: it writes into the file itself."""

    def exit_error(self) -> SchedproofError | None:
        return self._process.exit_error()


def _at_once() -> None:
    pass


_REDIRECTING = re.compile(
    r"(HTTPS?|ALL|NO|FTP)_PROXY|.*_CA_BUNDLE|SSL_CERT_.*|PYTHON.*|PYTEST_.*|SCHEDPROOF_.*|MAKE.*|MFLAGS|LD_.*",
    re.IGNORECASE,
)


def _environment(scratch: Path, values: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment, as the command was tried in, less what would lead it elsewhere than here."""
    inherited = {name: value for name, value in os.environ.items() if not _REDIRECTING.fullmatch(name)}
    return {**inherited, "TMPDIR": str(scratch), "KUBECONFIG": values["kubeconfig"]}
