"""A component of a candidate that runs: a process of this machine, or a pod. The caller that started it stops it."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from schedproof.deploy.record import Recording
from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.http import connect_by_name
from schedproof.foundation.waiting import NotYet


class Component(Protocol):
    """What the rest sees of it. Once it has ended it stays ended, even where a kubelet starts its container again."""

    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int | None:
        """Where it is processes of this machine: the pid, in the sandbox, of the one that all of them are below."""

    def pids(self) -> Sequence[int]:
        """Those of its processes, as this machine has them; empty where they are not to be seen."""

    @property
    def scheduler_port(self) -> int | None:
        """Where a kube-scheduler that is a process of this machine serves its metrics, by TLS on loopback."""

    @property
    def log(self) -> Path:
        """What it prints, as it prints it."""

    @property
    def exit_code(self) -> int | None:
        """None while it runs. Its log is complete once there is one."""

    def watch(self, record: Recording) -> None:
        """Record from here on how what it has forked ends. For a pod its kubelet sees to that."""

    def catch_up(self) -> None:
        """Have in its log what it has printed up to now, and on record what it watches."""

    def log_tail(self, lines: int = 12) -> str:
        """The last lines that it printed, for people."""

    def cause(self) -> str:
        """Why it ended, as its log tells it; empty where it does not."""

    def exit_error(self) -> SchedproofError | None:
        """`waiting.Watched`: why there is no point in waiting for it any more."""

    def wait_ready(self) -> None:
        """Until it can work.

        Raises:
            CandidateError: it has ended, or cannot be started at all.
            DeadlineExceededError: with what was seen last.
        """

    def freeze(self) -> None:
        """Halt it as it is, until `thaw`. Only where it is processes of this machine."""

    def thaw(self) -> None:
        """Let it go on after `freeze`."""

    def stop(self, grace: float) -> None:
        """SIGTERM, then after `grace` seconds SIGKILL; returns when it is gone."""


Client = Callable[[], tuple[ssl.SSLContext, str]]
"""How a client of a port behind TLS speaks it, and the name by which it asks for the server; "": its address."""


def probe(address: str, port: int, path: str | None, client: Client | None) -> None:
    """Ask once whether it answers `path` with 2xx; without one, whether it accepts a connection.

    `client`: how it is spoken to over HTTPS; None: it is over HTTP.

    Raises:
        NotYet: it does not.
    """
    try:
        if path is None:
            socket.create_connection((address, port), timeout=5).close()
            return
        if client is None:
            connection = http.client.HTTPConnection(address, port, timeout=5)
        else:
            context, name = client()
            connection = connect_by_name(address, port, 5, context, name or address)
        with contextlib.closing(connection):
            connection.request("GET", path)
            status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise NotYet(f"{type(error).__name__}: {error}") from error
    if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
        raise NotYet(f"status {status}")
