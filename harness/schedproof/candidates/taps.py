"""Taps: the lines candidate to Prometheus and scheduler to extender pass through us, and are recorded."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Exchange", "Tap", "describe_extender_call", "describe_query"]

_ANSWER_SECONDS = 60.0
# RFC 9110, 7.6.1: these concern one connection, and each side of a tap has its own.
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)


class Exchange:
    """One request and its answer, as the tap saw them. `seconds` is from the request's end to the answer's end."""

    def __init__(self, method: str, path: str, body: bytes, status: int, answer: bytes, seconds: float) -> None:
        self.method, self.path, self.body = method, path, body
        self.status, self.answer, self.seconds = status, answer, seconds


class Tap:
    """An HTTP proxy on loopback in front of one server, which may be exchanged at any moment.

    Args:
        upstream: base URL of the server, such as `http://127.0.0.1:9090`.
        record: called with each exchange before the answer is passed on, so that whoever sees the answer's effect finds
            the exchange recorded.
    """

    def __init__(self, upstream: str, record: Callable[[Exchange], None]) -> None:
        self.upstream = upstream
        self._record = record
        tap = self

        class Handler(_Handler):
            owner = tap

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="tap", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Ask upstream; 502 where it does not answer, as a proxy would."""
        begin = time.monotonic()
        target = urlsplit(self.upstream)
        connection = http.client.HTTPConnection(target.hostname or "127.0.0.1", target.port, timeout=_ANSWER_SECONDS)
        try:
            connection.request(method, target.path.rstrip("/") + path, body=body or None, headers=headers)
            response = connection.getresponse()
            answer = response.read()
            status = response.status
            passed = [(name, value) for name, value in response.getheaders() if name.lower() not in _HOP_BY_HOP]
        except (OSError, http.client.HTTPException) as error:
            answer, status, passed = f"tap: no answer from upstream: {error}".encode(), 502, []
        finally:
            connection.close()
        self._record(Exchange(method, path, body, status, answer, time.monotonic() - begin))
        return status, passed, answer

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


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

    def server_close(self) -> None:
        super().server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

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
        status, passed, answer = self.owner.handle(self.command, self.path, headers, body)
        self.send_response_only(status)
        for name, value in passed:
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - http.server's names

    def log_message(self, *_: Any) -> None:
        """The history is the log."""


def describe_query(exchange: Exchange) -> dict[str, Any]:
    """The `query` record of an exchange with Prometheus."""
    target = urlsplit(exchange.path)
    asked = parse_qs(target.query) | parse_qs(exchange.body.decode(errors="replace"))
    return {
        "request": asked.get("query", [target.path])[0],
        "path": target.path,
        "status": exchange.status,
        "answer": exchange.answer[:4_000].decode(errors="replace"),
        "seconds": round(exchange.seconds, 6),
    }


def describe_extender_call(exchange: Exchange) -> dict[str, Any]:
    """The `extender` record of a call of kube-scheduler."""
    import json

    try:
        asked = json.loads(exchange.body)
        metadata = {key.lower(): value for key, value in asked.items()}.get("pod", {}).get("metadata", {})
        pod = f"{metadata.get('namespace')}/{metadata.get('name')}"
    except (ValueError, AttributeError):
        pod = ""
    return {
        "request": exchange.path.lstrip("/"),
        "pod": pod,
        "status": exchange.status,
        "answer": exchange.answer[:4_000].decode(errors="replace"),
        "seconds": round(exchange.seconds, 6),
    }
