"""The common parts of daemons: where they write, how their flags are built, how readiness is awaited."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import os
import ssl
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.http import connect, exchange
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.processes.sandbox import Command, Process, Sandbox
from schedproof.foundation.waiting import NotYet, wait_for

GATES = "feature-gates"
"""The flag of Kubernetes' programs for their feature gates."""


@dataclasses.dataclass(frozen=True)
class Host:
    """The environment of daemons: a sandbox, its ports, the binaries, and the folder of the logs.

    `feature_gates`: of Kubernetes' programs, where they differ from the defaults. `apis`: by group and version, whether
    kube-apiserver serves it, where that differs from the default.
    """

    sandbox: Sandbox
    ports: Ports
    binaries: Mapping[str, Path]
    logs: Path
    feature_gates: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    apis: Mapping[str, bool] = dataclasses.field(default_factory=dict)

    @property
    def gate_options(self) -> dict[str, str]:
        """The flag of Kubernetes' programs for the feature gates; none if all have their defaults."""
        return {GATES: switches(self.feature_gates)} if self.feature_gates else {}

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        log: str = "",
        env: Mapping[str, str] | None = None,
        fds: Mapping[int, int] | None = None,
        listen_fds: bool = False,
        netns: int | None = None,
        hostname: str = "",
        contained: bool = False,
        hidden: tuple[Path, ...] = (),
        kept: tuple[Path, ...] = (),
        shown: Mapping[str, Path] | None = None,
    ) -> Process:
        """Start a pinned binary, or any absolute command, with its output in `logs/<log>.log`.

        `contained`, `hidden`, `kept`, `shown`: see `Command`; `logs` is hidden too.
        """
        program = str(self.binaries.get(argv[0], argv[0]))
        return self.sandbox.spawn(
            Command(
                name=name, argv=(program, *argv[1:]), log=self.logs / f"{log or name}.log",
                cwd=self.sandbox.scratch, env={**clean_environment(self.sandbox.scratch), **(env or {})},
                fds=fds or {}, listen_fds=listen_fds, netns=netns, hostname=hostname,
                contained=contained, hidden=(self.logs, *hidden), kept=kept, shown=shown or {},
            )
        )  # fmt: skip


@contextlib.contextmanager
def opened_host(binaries: Mapping[str, Path], logs: Path | None) -> Iterator[Host]:
    """A context with a new host; without `logs`, its logs are removed with it. At its end all its processes have ended.

    Raises:
        HostError: this machine cannot run a sandbox.
    """
    with contextlib.closing(Sandbox()) as sandbox, contextlib.closing(Ports()) as ports:
        yield Host(sandbox, ports, binaries, logs or sandbox.scratch / "logs")


def clean_environment(home: Path) -> dict[str, str]:
    """Return a child's environment, without what could redirect it (proxies, CA bundles, Python paths)."""
    return {
        "PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8",
    }  # fmt: skip


def flags(values: Mapping[str, object]) -> list[str]:
    """Format `{"secure-port": 1, "leader-elect": False}` as `--secure-port=1 --leader-elect=false`; lists repeat."""
    result = []
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            text = str(item).lower() if isinstance(item, bool) else str(item)
            result.append(f"--{name}={text}")
    return result


def switches(values: Mapping[str, bool]) -> str:
    """Format `{"GenericWorkload": True}` as `GenericWorkload=true`, separated by commas."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in values.items())


def wait_http(
    process: Process,
    port: int,
    path: str,
    deadline: Deadline,
    *,
    tls: ssl.SSLContext | None = None,
    headers: Mapping[str, str] | None = None,
    also: Collection[int] = (),
) -> None:
    """Wait until a GET on loopback returns 200, or another status in `also`.

    Raises:
        CandidateError: the process ended; has its last log lines.
        DeadlineExceededError: has the last response.
    """

    def probe() -> None:
        connection = connect(f"{'https' if tls else 'http'}://127.0.0.1:{port}", 5, tls)
        status, text = exchange(connection, "GET", path, headers=headers or {})
        if status not in (http.client.OK, *also):
            raise NotYet(f"{status} {text[-400:]}")

    wait_for(probe, deadline, what=f"{process.command.name} to answer {path} with 200", watching=(process,))
