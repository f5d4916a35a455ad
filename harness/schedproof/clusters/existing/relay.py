"""Prometheus of a cluster that others run: found by its Service, and reached through the apiserver."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from schedproof.clusters.api import Api, ApiError, Manifest, UnreachableError

_LABELS = (("operated-prometheus", "true"), ("app.kubernetes.io/name", "prometheus"), ("app", "prometheus"))
"""The first are those of Prometheus Operator; the others are usual in charts and manifests."""

_PORTS = ("web", "http-web", "http")
_PERMITTED = re.compile(r"/(api/v1/[\w/:-]+|-/(ready|healthy))(\?.*)?")
"""Questions, and no path that leads out of the Service: the apiserver answers with the rights of the user."""


def find_prometheus(api: Api) -> list[str]:
    """Return Services of Prometheus servers, each as `NAMESPACE/NAME:PORT`; none if this user may not list Services."""
    try:
        services = api.list("services")["items"]
    except ApiError:
        return []
    return services_of_prometheus(services)


def services_of_prometheus(services: Sequence[Manifest]) -> list[str]:
    """Return those Services that have the first of the usual labels that any has, and a port of Prometheus."""
    for key, value in _LABELS:
        labelled = [service for service in services if (service["metadata"].get("labels") or {}).get(key) == value]
        if found := [name for service in labelled if (name := _named(service))]:
            return sorted(found)
    return []


def _named(service: Manifest) -> str:
    ports: Sequence[Mapping[str, Any]] = service["spec"].get("ports") or ()
    fitting = [port["port"] for port in ports if port.get("name") in _PORTS or port["port"] == 9090]
    metadata = service["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}:{fitting[0]}" if fitting else ""


def url_inside(service: str) -> str:
    """Return the URL of a Service `NAMESPACE/NAME:PORT` for pods."""
    namespace, _, named = service.partition("/")
    name, _, port = named.partition(":")
    return f"http://{name}.{namespace}.svc:{port}"


class Relay:
    """A server on loopback that forwards questions to a Service of Prometheus, through the apiserver.

    Args:
        api: with the user's credentials.
        service: `NAMESPACE/NAME:PORT`.
    """

    def __init__(self, api: Api, service: str) -> None:
        namespace, _, named = service.partition("/")
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), _handler(api, f"{api.path('services', namespace, named, 'proxy')}")
        )
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="relay", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(api: Api, base: str) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not _PERMITTED.fullmatch(self.path):
                self._answer(403, "text/plain", b"only questions to Prometheus are forwarded\n")
                return
            try:
                found = api.forward(self.command, base + self.path, body, self.headers.get("Content-Type", ""))
            except UnreachableError as error:
                found = 502, "text/plain", f"{error}\n".encode()
            self._answer(*found)

        do_POST = do_GET  # noqa: N815 - as http.server looks for it

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Each question is recorded by the candidate's tap."""

    return Handler
