"""Reads the HTTP endpoints of a compiled scheduler: its health and its metrics."""

from __future__ import annotations

import dataclasses
import http.client
import re

from schedproof.foundation.http import connect, exchange

_SECONDS = 15.0
"""Timeout of one request, as that of the kubelet's probes of a control plane's scheduler."""
_KEPT = 400
"""Characters of a response that are recorded."""
_SCHEDULED = re.compile(r'^scheduler_schedule_attempts_total\{[^}]*result="scheduled"[^}]*\} (\S+)', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class EndpointResponse:
    """A response; if there is none, `status` is 0 and `text` gives the reason."""

    status: int
    text: str

    @property
    def positive(self) -> bool:
        return http.client.OK <= self.status < http.client.MULTIPLE_CHOICES

    @property
    def scheduled(self) -> float | None:
        """How many pods it has scheduled with all its profiles, by its own metrics; None if they do not show it."""
        counts = [float(count) for count in _SCHEDULED.findall(self.text)]
        return sum(counts) if counts else None

    @property
    def beginning(self) -> str:
        return self.text[:_KEPT]


def ask(port: int, path: str, token: str = "") -> EndpointResponse:
    """GET a path of a scheduler on loopback, anonymously or with a bearer token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return EndpointResponse(*exchange(connect(f"https://127.0.0.1:{port}", _SECONDS), "GET", path, headers=headers))
