"""One request and its response, for servers with self-signed certificates too: on loopback, and taps."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from urllib.parse import urlsplit

from schedproof.foundation.http2 import Http2Socket, speaks_http2


def insecure_tls(alpn: Sequence[str] = ()) -> ssl.SSLContext:
    """For servers with self-signed certificates, on connections that cannot be intercepted: loopback, and taps.

    `alpn`: the protocols that it offers.
    """
    context = ssl.create_default_context()
    if alpn:
        context.set_alpn_protocols(alpn)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def connect(url: str, seconds: float, tls: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
    """A connection to the server of a URL, by its scheme.

    `seconds` is its timeout for each step, `tls` verifies an https server: by default it is not verified.
    """
    target = urlsplit(url)
    address, port = target.hostname or "", target.port
    if target.scheme == "https":
        return http.client.HTTPSConnection(address, port, timeout=seconds, context=tls or insecure_tls())
    return http.client.HTTPConnection(address, port, timeout=seconds)


def connect_by_name(
    address: str, port: int | None, seconds: float, tls: ssl.SSLContext, server_name: str
) -> http.client.HTTPConnection:
    """A connection over TLS to a server that is requested by this name, whatever its address; otherwise as `connect`.

    It speaks HTTP/2 if `tls` offers that and the server chooses it.

    Raises:
        OSError: it cannot be reached, or its certificate is not trusted.
    """
    connection = http.client.HTTPConnection(address, port, timeout=seconds)
    with contextlib.ExitStack() as undo:
        undo.callback(connection.close)
        connection.connect()
        assert connection.sock is not None
        secure = connection.sock = tls.wrap_socket(connection.sock, server_hostname=server_name)
        if speaks_http2(secure):
            connection.sock = Http2Socket(secure)  # all that http.client needs of a socket
        undo.pop_all()
    return connection


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, str]:
    """The status and the text of the response; 0 and the error if there was none. Closes the connection."""
    with contextlib.closing(connection):
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return 0, f"{type(error).__name__}: {error}"
