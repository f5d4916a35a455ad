"""Taps: the lines candidate to Prometheus and scheduler to extender pass through us: recorded, and broken at will."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import http.client
import socket
import struct
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["HARNESS", "Exchange", "Fault", "Tap"]

HARNESS = "Schedproof-By"
"""A header by which the harness marks its own requests (case, verb, what); it is not passed on."""

_ANSWER_SECONDS = 60.0
_SLOW_SECONDS = 8.0
"""Longer than kube-scheduler waits for an extender by default (5 s), shorter than a bind deadline."""

# RFC 9110, 7.6.1: these concern one connection, and each side of a tap has its own.
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)


class Fault(enum.Enum):
    """What a tap does instead of passing a request on and its answer back."""

    DOWN = "down"
    """Nobody listens: connections are refused."""
    RESET = "reset"
    """The connection is reset once the request has been read."""
    HANG = "hang"
    """The request is read and never answered."""
    SLOW = "slow"
    """The answer comes, after 8 s."""
    UNAVAILABLE = "503"
    """Status 503, as a proxy in front of a server that is starting."""
    MALFORMED = "malformed"
    """Status 200 with half of the answer."""


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One request and its answer, as the tap saw them.

    `status` is 0 where nothing was answered; `seconds` is from the request's end to the answer's end; `by` is
    what our own requests say of themselves; `fault` is what the tap did to it, "" where nothing.
    """

    method: str
    path: str
    body: bytes
    status: int
    answer: bytes
    seconds: float
    by: str = ""
    fault: str = ""


class _Unanswered(Exception):  # noqa: N818 - an outcome, not an error
    """The connection is to be closed without an answer."""

    def __init__(self, *, reset: bool) -> None:
        self.reset = reset


class Tap:
    """An HTTP proxy in front of one server, which may be exchanged at any moment.

    Args:
        upstream: base URL of the server, such as `http://127.0.0.1:9090`.
        record: called with each exchange before the answer is passed on, so that whoever sees the answer's effect finds
            the exchange recorded.
        port: where to listen, at `address` of this machine. It stays ours while the tap plays dead.
    """

    def __init__(
        self, upstream: str, record: Callable[[Exchange], None], port: int, *, address: str = "127.0.0.1"
    ) -> None:
        self.upstream = upstream
        self.fault: Fault | None = None
        self._record = record
        self._healed = threading.Event()
        tap = self

        class Handler(_Handler):
            owner = tap

        self._server = _Server((address, port), Handler)
        self.url = f"http://{address}:{port}"
        self._serve()

    def _serve(self) -> None:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="tap", daemon=True)
        self._thread.start()

    def _stop_serving(self) -> None:
        self._server.shutdown()
        self._thread.join()

    def inject(self, fault: Fault) -> None:
        """Break the line from now on, open connections included."""
        self.heal()
        self._healed.clear()
        self.fault = fault
        if fault is Fault.DOWN:
            self._stop_serving()
            # On Linux this ends the listening, and keeps the port.
            self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.drop_connections()

    def heal(self) -> None:
        """Pass everything on again. What hung until now gets no answer any more."""
        fault, self.fault = self.fault, None
        self._healed.set()
        if fault is Fault.DOWN:
            self._server.server_activate()
            self._serve()
        elif fault is Fault.HANG:
            self._server.drop_connections()

    def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> _Answer:
        """Ask upstream; 502 where it does not answer, as a proxy would."""
        begin = time.monotonic()
        by = headers.pop(HARNESS, "")
        fault = None if by else self.fault
        note = fault.value if fault is not None else ""
        if fault in (Fault.HANG, Fault.RESET):
            self._record(Exchange(method, path, body, 0, b"", 0.0, by, note))
            if fault is Fault.HANG:
                self._healed.wait()
            raise _Unanswered(reset=fault is Fault.RESET)
        if fault is Fault.SLOW:
            self._healed.wait(_SLOW_SECONDS)
        if fault is Fault.UNAVAILABLE:
            answer = _Answer(HTTPStatus.SERVICE_UNAVAILABLE, {"Content-Type": "text/plain"}, b"Service Unavailable")
        else:
            answer = _ask(self.upstream, method, path, headers, body)
        if fault is Fault.MALFORMED:
            answer = dataclasses.replace(answer, body=answer.body[: len(answer.body) // 2])
        self._record(
            Exchange(method, path, body, answer.status, answer.body, time.monotonic() - begin, by, note),
        )
        return answer

    def close(self) -> None:
        if self.fault is not Fault.DOWN:
            self._stop_serving()
        self._healed.set()
        self._server.server_close()


@dataclasses.dataclass(frozen=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


def _ask(upstream: str, method: str, path: str, headers: Mapping[str, str], body: bytes) -> _Answer:
    target = urlsplit(upstream)
    connection = http.client.HTTPConnection(target.hostname or "127.0.0.1", target.port, timeout=_ANSWER_SECONDS)
    try:
        connection.request(method, target.path.rstrip("/") + path, body=body or None, headers=dict(headers))
        response = connection.getresponse()
        passed = {name: value for name, value in response.getheaders() if name.lower() not in _HOP_BY_HOP}
        return _Answer(response.status, passed, response.read())
    except (OSError, http.client.HTTPException) as error:
        return _Answer(HTTPStatus.BAD_GATEWAY, {}, f"tap: no answer from upstream: {error}".encode())
    finally:
        connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # idle keep-alive connections would hold us up; they end with their sockets
    request_queue_size = 128

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        """End what is open: idle connections are used again, and would reach a server that is meant to be down."""
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def server_close(self) -> None:
        super().server_close()
        self.drop_connections()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away in the middle is its own business."""


class _Handler(BaseHTTPRequestHandler):
    owner: Tap
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _HOP_BY_HOP and name.lower() not in ("host", "content-length")
        }
        try:
            answer = self.owner.handle(self.command, self.path, headers, body)
        except _Unanswered as unanswered:
            self.close_connection = True
            if unanswered.reset:
                # Lingering for no time at all: the kernel sends RST instead of FIN.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - http.server's names

    def log_message(self, *_: Any) -> None:
        """The history is the log."""
