from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import http.client
import json
import os
import socket
from io import BufferedReader
from pathlib import Path

from schedproof.daemons.daemon import Host, flags
from schedproof.foundation.errors import SchedproofError
from schedproof.foundation.http import exchange
from schedproof.foundation.processes.sandbox import Process

_CLIENT = "etcd-client:0"
"""The name of the client socket, in the daemons' working directory."""
_SECONDS = 20
_WRITERS = 8
"""Connections that write in parallel to advance the revision: about 5,000 writes a second (2 cores)."""
_AT_ONCE = 512
"""Pipelined requests on each connection: they fit into the socket's buffer, so that none waits."""


def start_etcd(host: Host) -> tuple[Process, str]:
    """Start etcd; returns at once, with its client URL. kube-apiserver waits for it.

    It only listens on Unix sockets in the scratch directory: through a port, candidates could write to it, bypassing
    `rbac`. Sockets are named relative to the daemons' working directory, because their paths must be short.
    """
    client, peer = f"unix://{_CLIENT}", "unix://etcd-peer:0"
    options = {
        "name": "schedproof",
        "data-dir": host.sandbox.scratch / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"schedproof={peer}",
        # The data lives as long as the run: safety against a power cut only costs time.
        "unsafe-no-fsync": True,
        "log-level": "warn",
    }
    return host.start("etcd", ["etcd", *flags(options)]), client


def compact(host: Host, revision: int) -> None:
    """Remove the history before a revision, as kube-apiserver has etcd do every five minutes.

    A watch that starts before it is refused. Established watches continue.

    Raises:
        SchedproofError: etcd refuses, or does not respond.
    """
    body = json.dumps({"revision": str(revision)}).encode()
    status, text = exchange(_SocketConnection(host.sandbox.scratch / _CLIENT), "POST", "/v3/kv/compaction", body)
    if status != http.client.OK:
        raise SchedproofError(f"etcd failed to compact: {status} {text[:300]}")


def advance(host: Host, revision: int) -> int:
    """Advance etcd's revision, kube-apiserver's resourceVersion, to at least this; return the new revision.

    Each revision takes a write, which kube-apiserver does not see: it only watches its own keys.

    Raises:
        SchedproofError: etcd refuses, or does not respond.
    """
    now = _write(host, 1)
    shares = [max(0, revision - now + number) // _WRITERS for number in range(_WRITERS)]
    with concurrent.futures.ThreadPoolExecutor(_WRITERS) as pool:
        return max(now, *pool.map(functools.partial(_write, host), shares))


def _write(host: Host, count: int) -> int:
    """Write `count` times to a key outside kube-apiserver's prefix; return the last revision, 0 without writes."""
    body = json.dumps({"key": "c2NoZWRwcm9vZg==", "value": ""}).encode()
    request = b"POST /v3/kv/put HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    answer = b"{}"
    with contextlib.closing(_SocketConnection(host.sandbox.scratch / _CLIENT)) as connection:
        connection.connect()
        with connection.sock.makefile("rb") as answers:
            for begin in range(0, count, _AT_ONCE):
                sent = min(_AT_ONCE, count - begin)
                connection.sock.sendall(request * sent)
                for _ in range(sent):
                    answer = _read(answers)
    return int(json.loads(answer).get("header", {}).get("revision", 0))


def _read(answers: BufferedReader) -> bytes:
    """Read the body of the next response. http.client would buffer the responses after it, and be slower."""
    status, length = answers.readline(), 0
    while line := answers.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = answers.read(length)
    if b" 200 " not in status:
        raise SchedproofError(f"etcd failed to write: {status!r} {body[:300]!r}")
    return body


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect through the descriptor of the socket's folder: a socket's path may have at most 108 characters."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_SECONDS)
        folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self._path.name}")
        finally:
            os.close(folder)
