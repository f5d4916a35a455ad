"""A fake apiserver that records requests and returns the answers that a test sets; it stores no objects."""

from __future__ import annotations

import contextlib
import http.server
import json
import queue
import socket
import threading
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

Manifest = dict[str, Any]
CUT, GONE, OVER = object(), object(), object()


class Apiserver:
    """Lists and watches over plain HTTP; records all requests; answers writes as set by the test."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Manifest]] = {"pods": [], "nodes": [], "namespaces": []}
        self.version = 100
        self.requests: list[tuple[str, str, Any]] = []
        """Method, path with query, body (None for a GET)."""
        self.writes: list[int] = []
        """The status codes of the next writes; 0 hangs up without an answer. Then all succeed."""
        self.reads: list[int] = []
        """Likewise, of the next lists and watches."""
        self.over = False
        """Whether watches end as soon as they begin."""
        self.changed = threading.Condition()
        self._watches: list[tuple[str, queue.SimpleQueue[Any]]] = []
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def seen(self, method: str, part: str = "") -> list[tuple[str, Any]]:
        """The requests with that method whose path contains that part: path and body."""
        with self.changed:
            return [(path, body) for verb, path, body in self.requests if verb == method and part in path]

    def watches(self, kind: str) -> int:
        """Number of open watches."""
        with self.changed:
            return sum(watched == kind for watched, _ in self._watches)

    def send(self, kind: str, what: str, manifest: Manifest) -> None:
        """Send an event to the open watches of that kind."""
        with self.changed:
            self.version += 1
            manifest = {**manifest, "metadata": {**manifest.get("metadata", {}), "resourceVersion": str(self.version)}}
            for watched, events in self._watches:
                if watched == kind:
                    events.put({"type": what, "object": manifest})

    def end(self, how: object = CUT) -> None:
        """End all open watches: by a broken connection (CUT), an event that the version is GONE, or normally (OVER)."""
        with self.changed:
            for _, events in self._watches:
                events.put(how)

    def answer(self, method: str, url: str, content_type: str, body: Any) -> tuple[int, Any]:  # noqa: ARG002
        """Return the status code and the document that answer a request other than a watch. Called while `changed` is
        held.
        """
        if method != "GET":
            return (201, {"kind": "Status", "status": "Success"}) if method == "POST" else (200, {})
        *_, kind = urlsplit(url).path.split("/")
        if kind in self.objects:
            return 200, {"items": self.objects[kind], "metadata": {"resourceVersion": str(self.version)}}
        found = [item for item in self.objects["pods"] if item["metadata"]["name"] == kind]
        return (200, found[0]) if found else (404, {"message": "not found"})

    def admit(self, method: str, url: str, authorization: str, body: Any) -> tuple[int, Any] | None:  # noqa: ARG002
        """Return the answer to a request that is refused before it is carried out. Called without `changed`: it may
        wait.
        """
        return None

    def missed(self, kind: str, since: int) -> Iterable[object]:  # noqa: ARG002 - nothing is kept
        """Return what a watch that begins at a resourceVersion receives at once: events, or CUT or GONE."""
        return ()

    def close(self) -> None:
        self.over = True
        self.end()
        self._server.shutdown()
        self._server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: Apiserver) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner

    def server_bind(self) -> None:
        # Not http.server's own, which asks DNS for its name.
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has disconnected is not an error."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits for the acknowledgement of its headers

    def _handle(self) -> None:
        owner = self.server.owner
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        content_type = self.headers.get("Content-Type", "")
        patched = {"type": content_type, **body} if self.command == "PATCH" else body
        with owner.changed:
            owner.requests.append((self.command, self.path, patched))
            owner.changed.notify_all()
        if self._faulty(owner.reads if self.command == "GET" else owner.writes):
            return
        target = urlsplit(self.path)
        query = parse_qs(target.query)
        if "watch" in query:
            self._watch(target.path.rpartition("/")[2], int(query.get("resourceVersion", ["0"])[0]))
            return
        if (refusal := owner.admit(self.command, self.path, self.headers.get("Authorization", ""), body)) is not None:
            self._answer(refusal[0], json.dumps(refusal[1]).encode())
            return
        with owner.changed:
            status, document = owner.answer(self.command, self.path, content_type, body)
            answer = json.dumps(document).encode()
        self._answer(status, answer)

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_PATCH(self) -> None:
        self._handle()

    def do_DELETE(self) -> None:
        self._handle()

    def _faulty(self, faults: list[int]) -> bool:
        if not faults:
            return False
        if status := faults.pop(0):
            self._answer(status, b'{"kind": "Status", "message": "as ordered"}')
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        return True

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, kind: str, since: int) -> None:
        owner = self.server.owner
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        entry = (kind, events)
        self.close_connection = True  # unless it ends as planned
        with owner.changed:
            for event in owner.missed(kind, since):
                events.put(event)
            owner._watches.append(entry)
            if owner.over:
                events.put(CUT)
        try:
            while (event := events.get()) not in (CUT, OVER):
                if event is GONE:
                    event = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.close_connection = event is CUT
            if event is OVER:
                self.wfile.write(b"0\r\n\r\n")
        finally:
            with owner.changed:
                owner._watches.remove(entry)
            if self.close_connection:
                with contextlib.suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """Requests are recorded, not logged."""
