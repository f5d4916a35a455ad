"""A running component of a candidate: a process of this machine, or a pod. The caller that started it stops it."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from schedproof.candidate.descriptor.descriptor import Candidate
from schedproof.deploy.record import Recording
from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.http import connect_by_name
from schedproof.foundation.waiting import NotYet


class Component(Protocol):
    """The interface of a component. Once it has ended it stays ended, even if a kubelet restarts its container."""

    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int | None:
        """For processes of this machine: the pid, in the sandbox, of their common ancestor."""

    def pids(self) -> Sequence[int]:
        """The pids of its processes on this machine; empty if they are not visible."""

    @property
    def scheduler_port(self) -> int | None:
        """The address of the metrics of a kube-scheduler that is a process of this machine, by TLS on loopback."""

    @property
    def log(self) -> Path:
        """The file with its output, updated as it prints."""

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None while it runs. With an exit code, its log is complete."""

    def watch(self, record: Recording) -> None:
        """Record from here on the ends of its descendants. For a pod, its kubelet handles them."""

    def catch_up(self) -> None:
        """Bring its log and its records up to date."""

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its output, for people."""

    def cause(self) -> str:
        """Why it ended, according to its log; empty if the log has no reason."""

    def exit_error(self) -> SchedproofError | None:
        """`waiting.Watched`: why waiting for it is pointless."""

    def wait_ready(self) -> None:
        """Wait until it is ready.

        Raises:
            CandidateError: it has ended, or cannot be started at all.
            DeadlineExceededError: with the last observation.
        """

    def freeze(self) -> None:
        """Stop it, until `thaw`. Only for processes of this machine."""

    def thaw(self) -> None:
        """Continue it after `freeze`."""

    def stop(self, grace: float) -> None:
        """SIGTERM, then after `grace` seconds SIGKILL; returns when it is gone."""


def component_name(candidate: Candidate, process: str = "") -> str:
    """Return the `Component.name` of one of a candidate's `processes`; "": of its own program."""
    return f"candidate {candidate.name}{f' {process}' if process else ''}"


Client = Callable[[], tuple[ssl.SSLContext, str]]
"""How a client speaks TLS to a port, and the server name that it requests; "": its address."""


def probe(address: str, port: int, path: str | None, client: Client | None) -> None:
    """Check once whether it responds to `path` with 2xx; without a path, whether it accepts a connection.

    `client`: how to speak to it over HTTPS; None: over HTTP.

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
