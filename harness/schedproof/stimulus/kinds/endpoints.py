"""What a compiled scheduler serves: its health, and its metrics."""

from __future__ import annotations

import dataclasses
import http.client
import re

from schedproof.foundation.http import connect, exchange

_SECONDS = 15.0
"""For one answer: as long as the kubelet of a control plane waits for its scheduler's."""
_KEPT = 400
"""Characters of an answer that are kept on record."""
_SCHEDULED = re.compile(r'^scheduler_schedule_attempts_total\{[^}]*result="scheduled"[^}]*\} (\S+)', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Answer:
    """`status` is 0 where there was none; `text` says why then."""

    status: int
    text: str

    @property
    def positive(self) -> bool:
        return http.client.OK <= self.status < http.client.MULTIPLE_CHOICES

    @property
    def scheduled(self) -> float | None:
        """How many pods it has scheduled, by its own metrics, of all profiles; None where they do not tell."""
        counts = [float(count) for count in _SCHEDULED.findall(self.text)]
        return sum(counts) if counts else None

    @property
    def beginning(self) -> str:
        return self.text[:_KEPT]


def ask(port: int, path: str, token: str = "") -> Answer:
    """GET a path of a scheduler on loopback: as no known client, or by a token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return Answer(*exchange(connect(f"https://127.0.0.1:{port}", _SECONDS), "GET", path, headers=headers))
