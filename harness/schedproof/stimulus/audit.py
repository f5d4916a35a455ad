"""Reads the apiserver's audit log as it grows."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import json
from typing import IO, TYPE_CHECKING

from schedproof.clusters.api import NotFound
from schedproof.foundation.deadlines import AUDIT_CAUGHT_UP
from schedproof.foundation.waiting import NotYet, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from schedproof.clusters.api import Api
    from schedproof.history.record import Record

__all__ = ["AuditTail"]

_NAMESPACE = "default"
# Requests that say nothing of scheduling, in numbers that would drown the rest.
_BORING = frozenset({"leases", "namespaces", "serviceaccounts", "serviceaccounts/token", "nodes/status"})


class AuditTail:
    """Turns the lines that were written since the last call into `request` records.

    Args:
        epoch: the wall-clock time, in seconds, of `at` 0.
    """

    def __init__(self, path: Path, epoch: float) -> None:
        self._epoch = epoch
        self._file: IO[bytes] = path.open("rb")
        self._file.seek(0, 2)
        self._partial = b""
        self._bound: set[tuple[str, str]] = set()

    def read_until(self, api: Api, marker: str, bound: set[tuple[str, str]]) -> Iterator[Record]:
        """All lines up to one for a GET of the pod `marker`, which we ask for here and which does not exist.

        Also waits for the Binding of every pod in `bound` (namespace, name), unless it was read before.
        """
        with contextlib.suppress(NotFound):
            api.get("pods", marker, _NAMESPACE)
        lines: list[Record] = []
        seen = False

        def probe() -> None:
            nonlocal seen
            for event in self._events():
                reference = event.get("objectRef", {})
                if reference.get("name") == marker:
                    seen = True
                elif (record := self._record(event, reference)) is not None:
                    lines.append(record)
                    # A client that ends in the middle leaves a 504 behind; its Binding may have been carried out.
                    carried_out = record["code"] < 300 or record["code"] == http.client.GATEWAY_TIMEOUT
                    if record["resource"] in ("pods/binding", "bindings") and carried_out:
                        self._bound.add((record["namespace"], record["name"]))
            if not seen or not bound <= self._bound:
                missing = sorted(name for _, name in bound - self._bound)
                raise NotYet(f"marker {'read' if seen else 'missing'}; no Binding yet for {missing}")

        wait_for(probe, AUDIT_CAUGHT_UP, what="the audit log to catch up", poll=0.002)
        yield from lines

    def close(self) -> None:
        self._file.close()

    def _events(self) -> Iterator[Record]:
        self._partial += self._file.read()
        *complete, self._partial = self._partial.split(b"\n")
        for line in complete:
            yield json.loads(line)

    def _record(self, event: Record, reference: Record) -> Record | None:
        resource = "/".join(part for part in (reference.get("resource"), reference.get("subresource")) if part)
        if not resource or resource in _BORING:
            return None
        completed = self._at(event["stageTimestamp"])
        return {
            "at": completed,
            "user": event["user"]["username"],
            "verb": event["verb"],
            "resource": resource,
            "namespace": reference.get("namespace", ""),
            "name": reference.get("name", "")
            or (event.get("responseObject") or {}).get("metadata", {}).get("name", ""),
            "code": event.get("responseStatus", {}).get("code", 0),
            "received": self._at(event["requestReceivedTimestamp"]),
            "completed": completed,
            "body": event.get("requestObject"),
        }

    def _at(self, timestamp: str) -> float:
        return round(datetime.datetime.fromisoformat(timestamp).timestamp() - self._epoch, 6)
