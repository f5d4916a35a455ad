"""As much of an apiserver as the reference controller talks to, with faults to order."""

from __future__ import annotations

import contextlib
import http.server
import json
import queue
import socket
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

Manifest = dict[str, Any]
CUT, GONE = object(), object()


class Apiserver:
    """Lists and watches over plain HTTP; remembers all requests; answers writes as it is told."""

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
        """The requests of that method whose path has that part: path and body."""
        with self.changed:
            return [(path, body) for verb, path, body in self.requests if verb == method and part in path]

    def watches(self, kind: str) -> int:
        """How many watches are open."""
        with self.changed:
            return sum(watched == kind for watched, _ in self._watches)

    def send(self, kind: str, what: str, manifest: Manifest) -> None:
        """Let the open watches of that kind show an event."""
        with self.changed:
            self.version += 1
            manifest = {**manifest, "metadata": {**manifest.get("metadata", {}), "resourceVersion": str(self.version)}}
            for watched, events in self._watches:
                if watched == kind:
                    events.put({"type": what, "object": manifest})

    def end(self, how: object = CUT) -> None:
        """End all open watches: the connection breaks (CUT), or an event says that the version is GONE."""
        with self.changed:
            for _, events in self._watches:
                events.put(how)

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
        """A client that went away is its own business."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def _note(self, body: Any) -> None:
        with self.server.owner.changed:
            self.server.owner.requests.append((self.command, self.path, body))
            self.server.owner.changed.notify_all()

    def do_GET(self) -> None:
        owner = self.server.owner
        self._note(None)
        target = urlsplit(self.path)
        *_, kind = target.path.split("/")
        if self._faulty(owner.reads):
            return
        if kind not in owner.objects:  # a single pod
            found = [item for item in owner.objects["pods"] if item["metadata"]["name"] == kind]
            self._answer(200 if found else 404, found[0] if found else {"message": "not found"})
        elif "watch" in parse_qs(target.query):
            self._watch(kind)
        else:
            with owner.changed:
                document = {"items": owner.objects[kind], "metadata": {"resourceVersion": str(owner.version)}}
            self._answer(200, document)

    def do_POST(self) -> None:
        self._note(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if not self._faulty(self.server.owner.writes):
            self._answer(201, {"kind": "Status", "status": "Success"})

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._note({"type": self.headers["Content-Type"], **body})
        if not self._faulty(self.server.owner.writes):
            self._answer(200, {})

    def _faulty(self, faults: list[int]) -> bool:
        if not faults:
            return False
        if status := faults.pop(0):
            self._answer(status, {"kind": "Status", "message": "as ordered"})
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        return True

    def _answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, kind: str) -> None:
        owner = self.server.owner
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        entry = (kind, events)
        with owner.changed:
            owner._watches.append(entry)
            if owner.over:
                events.put(CUT)
        try:
            while (event := events.get()) is not CUT:
                if event is GONE:
                    event = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        finally:
            with owner.changed:
                owner._watches.remove(entry)
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """The requests are kept."""
