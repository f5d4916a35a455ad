"""A server that a candidate runs, over plain HTTP or TLS."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import ssl
import threading
from collections.abc import Iterator
from typing import Any

from schedproof.daemons.certificates import KeyPair


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


class Serving(http.server.ThreadingHTTPServer):
    """Responds with `responses` of the path, in order, of which the last is repeated; 404 where there are none."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.responses: dict[str, list[tuple[int, str]]] = {}
        self.requests: list[Request] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """A client that does not trust it, or breaks its connection, is no error."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Serving
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.command, self.path, body, headers))
        responses = self.server.responses.get(self.path, [(404, "")])
        status, text = responses.pop(0) if len(responses) > 1 else responses[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = _respond  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def serving(pair: KeyPair | None = None) -> Iterator[Serving]:
    """`pair`: for TLS."""
    with Serving() as server:
        if pair is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pair.certificate, pair.key)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            server.url = server.url.replace("http:", "https:")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
