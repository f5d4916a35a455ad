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
"""The name of the socket for clients, in the folder that daemons run in."""
_SECONDS = 20
_WRITERS = 8
"""Connections on which revisions are used up; etcd then takes some 5,000 writes a second (2 cores)."""
_AT_ONCE = 512
"""Requests on their way on each of them: as many as the buffer of a socket has room for, so that none has to wait."""


def start_etcd(host: Host) -> tuple[Process, str]:
    """Start etcd; returns at once, with its client URL. kube-apiserver waits for it.

    It listens on sockets in the scratch directory alone: a port of loopback would let candidates write to it, past all
    that `rbac` forbids. They are named from the folder that daemons run in, because a socket's path has to be short.
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
    """Drop what objects were before a revision, as kube-apiserver has etcd do every five minutes.

    A watch that is to begin before it is refused. Those that are under way go on.

    Raises:
        SchedproofError: etcd refuses, or does not answer.
    """
    body = json.dumps({"revision": str(revision)}).encode()
    status, text = exchange(_SocketConnection(host.sandbox.scratch / _CLIENT), "POST", "/v3/kv/compaction", body)
    if status != http.client.OK:
        raise SchedproofError(f"etcd failed to compact: {status} {text[:300]}")


def advance(host: Host, revision: int) -> int:
    """Have etcd's revision, which kube-apiserver's resourceVersions are, be at least this; what it is by now.

    Each revision takes a write, of which kube-apiserver sees nothing: it watches its own keys.

    Raises:
        SchedproofError: etcd refuses, or does not answer.
    """
    now = _write(host, 1)
    shares = [max(0, revision - now + number) // _WRITERS for number in range(_WRITERS)]
    with concurrent.futures.ThreadPoolExecutor(_WRITERS) as pool:
        return max(now, *pool.map(functools.partial(_write, host), shares))


def _write(host: Host, count: int) -> int:
    """Write so many times to a key of our own; the revision of the last one, 0 if there is none."""
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
    """The body of the next answer. http.client would read those that follow into a buffer of its own, and be slow."""
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
        """By the descriptor of its folder, for the path of a socket may have 108 characters."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_SECONDS)
        folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self._path.name}")
        finally:
            os.close(folder)
