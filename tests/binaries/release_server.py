"""A local HTTP server of releases in the layouts of the real ones, which misbehaves on demand."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from typing import Any

from schedproof.binaries import lock
from schedproof.binaries.machine import machine

ARCH = machine().partition("-")[2]
"""Go's name of this machine's architecture."""


def tarball(*members: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
    """A gzipped tarball of regular files (path and content), and of any other given members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size, info.mode = len(member[1]), 0o755
                tar.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclasses.dataclass
class Request:
    method: str
    path: str
    begin: int
    """Where the requested part begins."""


class ReleaseServer:
    """Files by their original host and path. Each misbehaviour applies to certain paths."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.redirects: dict[str, str] = {}
        """Path to URL."""
        self.cut: dict[str, list[int]] = {}
        """Path to the numbers of bytes after which the next answers break off."""
        self.held: dict[str, threading.Event] = {}
        """Path to what its second half waits for."""
        self.ranges = True
        """Whether it understands that a part of a file is wanted."""
        self.half_sent = threading.Event()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def publish(self, name: str, binary: bytes, *members: tuple[str, bytes] | tarfile.TarInfo) -> str:
        """Publish a release of a binary and its checksum, with more `members` in its tarball; return its path."""
        build = lock.load().builds()[name]
        assert build.release is not None
        fields = {"version": build.version, "arch": ARCH, "name": name}
        path = build.release.url.format(**fields).partition("://")[2]
        member = build.release.member.format(**fields)
        self.replace(name, path, tarball(*members, (member, binary)) if member else binary)
        return path

    def replace(self, name: str, path: str, content: bytes) -> None:
        """Replace the content at a binary's path, and its checksum where its project publishes checksums."""
        self.files[path] = content
        build = lock.load().builds()[name]
        assert build.release is not None
        checksums = build.release.checksums.format(version=build.version, arch=ARCH, name=name).partition("://")[2]
        if not checksums:
            return
        if checksums.endswith(".sha256"):
            self.files[checksums] = sha256(content).encode()
            return
        file_name = path.rpartition("/")[2]
        lines_of_others = [
            line for line in self.files.get(checksums, b"").decode().splitlines() if not line.endswith(file_name)
        ]
        lines = [*(lines_of_others or [f"{'0' * 64}  another"]), f"{sha256(content)}  {file_name}"]
        self.files[checksums] = "\n".join(lines).encode()

    def asked(self, path: str) -> list[int]:
        """Where the requested parts of that file began."""
        return [request.begin for request in self.requests if request.path == path and request.method == "GET"]

    def close(self) -> None:
        for event in self.held.values():
            event.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        ours = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._note()
                self._head(200, 0)

            def do_GET(self) -> None:
                ours._answer(self, self._note())

            def _note(self) -> Request:
                given = self.headers.get("Range", "")
                begin = int(given.removeprefix("bytes=").rstrip("-")) if given else 0
                request = Request(self.command, self.path.lstrip("/"), begin)
                ours.requests.append(request)
                return request

            def _head(self, status: int, length: int, **headers: str) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(length))
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def _answer(self, handler: Any, request: Request) -> None:
        if request.path in self.redirects:
            handler._head(302, 0, Location=self.redirects[request.path])
            return
        content = self.files.get(request.path)
        if content is None:
            handler._head(404, 0)
            return
        begin = request.begin if self.ranges else 0
        if begin and begin >= len(content):
            handler._head(416, 0, Content_Range=f"bytes */{len(content)}")
            return
        rest = content[begin:]
        if begin:
            handler._head(206, len(rest), Content_Range=f"bytes {begin}-{len(content) - 1}/{len(content)}")
        else:
            handler._head(200, len(rest))
        # A client that is gone reads no more.
        with contextlib.suppress(ConnectionError):
            self._send(handler, request.path, rest)

    def _send(self, handler: Any, path: str, rest: bytes) -> None:
        if cuts := self.cut.get(path):
            handler.wfile.write(rest[: cuts.pop(0)])
            handler.close_connection = True
        elif path in self.held:
            half = len(rest) // 2
            handler.wfile.write(rest[:half])
            handler.wfile.flush()
            self.half_sent.set()
            self.held[path].wait()
            handler.wfile.write(rest[half:])
        else:
            handler.wfile.write(rest)


@contextlib.contextmanager
def release_server() -> Iterator[ReleaseServer]:
    with contextlib.closing(ReleaseServer()) as server:
        yield server
