"""Reads the apiserver's audit log as it grows."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import json
import os
import secrets
import time
import urllib.parse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from schedproof.clusters.api import Api, NotFound
from schedproof.foundation.deadlines import AUDIT_CAUGHT_UP
from schedproof.foundation.disk import DiskSpace
from schedproof.foundation.waiting import NotYet, Watched, wait_for
from schedproof.history.audit_order import BINDINGS, READING
from schedproof.history.observations import ApiRequest, AuditLine, AuditMark, RequestBegun

CALL_ANNOTATION = "gate.schedproof.dev/call"
"""The audit annotation with the number of the webhook call for the request (apiserver: AuditAnnotations)."""
_NAMESPACE = "default"
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
"""The key in the `extra` of an audit line's user: the id of the token or of the client certificate."""
_PLACING = frozenset({"pods", "bindings", "nodes"})
"""Resources whose changes by any client concern scheduling."""


class AuditTail:
    """Turns the lines written since the last call into `request` and `mark` records.

    It keeps every request of the users in `whole`; requests of other users that change pods, bindings or nodes; and
    every unauthenticated request, as the log does not name its user.

    Args:
        epoch: the wall-clock time, in seconds, of `at` 0.
        now: returns the current time as `at`, on the monotonic clock.
        whole: user names, as in the audit log.
    """

    def __init__(
        self, path: Path, epoch: float, now: Callable[[], float] = time.monotonic, whole: Collection[str] = ()
    ) -> None:
        self._epoch, self._now, self._whole = epoch, now, frozenset(whole)
        self._disk = DiskSpace(path.parent)
        self._path = path
        self._file: IO[bytes] = path.open("rb")
        self._file.seek(0, 2)
        self._partial = b""
        self._line = 0
        self._answering: set[str] = set()
        """The audit IDs of long requests whose response has begun."""
        self._open: dict[str, RequestBegun] = {}
        """Requests that have begun and not ended, by audit ID."""
        self._noted: set[str] = set()
        """The audit IDs of those that were yielded."""
        self._bound: set[tuple[str, str]] = set()
        self._credentials: set[str] = set()
        # Unique to this run: other runs may write marks to the same log.
        self._prefix = f"schedproof-mark-{secrets.token_hex(4)}-"
        self._sent: list[float] = []
        self._answered: list[float] = []

    def mark(self, api: Api) -> int:
        """Write a line to the log by a GET of a pod that does not exist. Return the mark's number, from 1.

        The apiserver writes the line before it responds. Requests answered before the mark therefore precede it in
        the log, and requests sent after it follow, whatever the clocks show.
        """
        self._sent.append(round(self._now(), 6))
        number = len(self._sent)
        with contextlib.suppress(NotFound):
            api.get("pods", f"{self._prefix}{number}", _NAMESPACE)
        self._answered.append(round(self._now(), 6))
        return number

    def read_until(
        self, api: Api, bound: set[tuple[str, str]], *, watching: Sequence[Watched] = ()
    ) -> Iterator[AuditLine]:
        """Yield all lines up to a mark that is written now, then the requests that have begun and not ended.

        Also wait for the Binding of every pod in `bound` (namespace, name) that was not read before. A full disk,
        and the end of anything in `watching`, end the wait with their error.
        """
        last = self.mark(api)
        lines: list[AuditLine] = []
        seen = False

        def probe() -> None:
            nonlocal seen
            for event in self._events():
                self._line += 1
                if (record := self._record(event)) is None:
                    continue
                lines.append(record)
                if isinstance(record, AuditMark):
                    seen = seen or record.mark == last
                elif _places(record):
                    self._bound.add((record.namespace, record.name))
            if not seen or not bound <= self._bound:
                missing = sorted(name for _, name in bound - self._bound)
                raise NotYet(f"marker {'read' if seen else 'missing'}; no Binding yet for {missing}")

        watching = (*watching, self._disk)
        wait_for(probe, AUDIT_CAUGHT_UP, what="the audit log to catch up", watching=watching, poll=0.002)
        yield from lines
        for audit_id, begun in self._open.items():
            if audit_id not in self._noted:
                self._noted.add(audit_id)
                yield begun

    def close(self) -> None:
        self._file.close()

    def _events(self) -> Iterator[dict[str, Any]]:
        self._partial += self._read()
        *complete, self._partial = self._partial.split(b"\n")
        for line in complete:
            yield json.loads(line)

    def _read(self) -> bytes:
        """Return new bytes, also across a rotation: the apiserver renames a file of 100 MB, and begins another."""
        # Looked up before the old file is read: once there is a new file, nothing more is written to the old one.
        with contextlib.suppress(FileNotFoundError):  # between the two steps of a rotation
            current = self._path.stat()
            if not os.path.samestat(current, os.fstat(self._file.fileno())):
                rest = self._file.read()
                self._file.close()
                self._file = self._path.open("rb")
                return rest + self._file.read()
            if current.st_size < self._file.tell():  # cut off in place, as logrotate's copytruncate does
                self._file.seek(0)
        return self._file.read()

    def _record(self, event: dict[str, Any]) -> ApiRequest | AuditMark | None:
        reference = event.get("objectRef", {})
        stamps: dict[str, Any] = {
            "line": self._line,
            "received": self._at(event["requestReceivedTimestamp"]),
            "completed": self._at(event["stageTimestamp"]),
        }
        if str(reference.get("name", "")).startswith(self._prefix):
            number = int(reference["name"].removeprefix(self._prefix))
            sent, answered = self._sent[number - 1], self._answered[number - 1]
            return AuditMark(at=sent, answered=answered, mark=number, **stamps)
        resource = "/".join(part for part in (reference.get("resource"), reference.get("subresource")) if part)
        user, verb = event["user"].get("username", ""), event["verb"]
        code = event.get("responseStatus", {}).get("code", 0)
        concerns = resource.partition("/")[0] in _PLACING and verb not in READING
        if not (user in self._whole or concerns or code == http.client.UNAUTHORIZED):
            return None
        uri = urllib.parse.urlsplit(event.get("requestURI", ""))
        query = urllib.parse.parse_qs(uri.query)
        request: dict[str, Any] = {
            **stamps,
            "at": stamps["completed"],
            "user": user,
            "verb": verb,
            "group": reference.get("apiGroup", ""),
            "resource": resource,
            "namespace": reference.get("namespace", ""),
            "name": reference.get("name", ""),
        }
        more: dict[str, Any] = {
            "dry_run": "dryRun" in query,
            "impersonates": event.get("impersonatedUser", {}).get("username", ""),
            "credential": self._new_credential(event["user"]) if user in self._whole else "",
        }
        audit_id = event.get("auditID", "")
        if event.get("stage") == "RequestReceived":
            self._open[audit_id] = RequestBegun(id=audit_id, **request, **_given(more))
            return None
        began = self._open.pop(audit_id, None)
        if event.get("stage") == "ResponseStarted":
            self._answering.add(audit_id)
        elif audit_id in self._answering:  # recorded at its ResponseStarted
            self._answering.discard(audit_id)
            return None
        answer = (event.get("responseObject") or {}).get("metadata", {})
        body = event.get("requestObject")
        more |= {
            "path": "" if resource else uri.path,
            "uid": answer.get("uid", "") if verb == "create" and resource == "pods" else "",
            "selector": _selector(query) if verb == "deletecollection" else "",
            "call": event.get("annotations", {}).get(CALL_ANNOTATION, ""),
        }
        if began is not None:
            more["credential"] = began.credential
            more["begun"] = audit_id if audit_id in self._noted else ""
        request["name"] = request["name"] or answer.get("name", "")
        return ApiRequest(
            code=code,
            body=body if isinstance(body, dict | list) else None,  # a refused patch may have any body
            **request,
            **_given(more),
        )

    def _new_credential(self, user: dict[str, Any]) -> str:
        """Return the credential of a request if no earlier request used it, otherwise ""."""
        credential, *_ = user.get("extra", {}).get(_CREDENTIAL) or ("",)
        if credential in self._credentials:
            return ""
        self._credentials.add(credential)
        return str(credential)

    def _at(self, timestamp: str) -> float:
        return round(datetime.datetime.fromisoformat(timestamp).timestamp() - self._epoch, 6)


def _selector(query: Mapping[str, Sequence[str]]) -> str:
    return " ".join(f"{name}={text}" for name in ("labelSelector", "fieldSelector") for text in query.get(name, ()))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Only the fields with a value: all others have their defaults."""
    return {name: value for name, value in fields.items() if value}


def _places(request: ApiRequest) -> bool:
    """Whether a request may have bound a pod to a node."""
    # A client that disconnects leaves a 504 behind; its Binding may have been carried out.
    carried_out = request.code < 300 or request.code == http.client.GATEWAY_TIMEOUT
    return request.resource in BINDINGS and carried_out and not request.dry_run
