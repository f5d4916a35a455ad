"""One request and its response, for servers with self-signed certificates too: on loopback, and taps."""

from __future__ import annotations

import contextlib
import http.client
import ssl
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from urllib.parse import urljoin, urlsplit, urlunsplit

from schedproof.foundation.http2 import speaks_http2
from schedproof.foundation.http2_socket import Http2Socket


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


MOST_REDIRECTS = 10
"""Go's client follows no more."""


def redirected(path: str, status: int, location: str | None) -> str:
    """The path at the same server at which a client repeats a request after this response; "" if it does not.

    A client repeats the method and the body after 307 and 308 only.
    """
    if status not in (http.client.TEMPORARY_REDIRECT, http.client.PERMANENT_REDIRECT) or not location:
        return ""
    return urlunsplit(("", "", *urlsplit(urljoin(path, location))[2:4], "")) or "/"


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, str]:
    """The status and the text of the response; 0 and the error if there was none. Closes the connection.

    It follows redirects at the same server, as Go's client does.
    """
    with contextlib.closing(connection):
        try:
            return _follow(connection, method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            return 0, f"{type(error).__name__}: {error}"


def _follow(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
) -> tuple[int, str]:
    for _ in range(MOST_REDIRECTS):
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        path = redirected(path, answer.status, answer.headers["Location"])
        if not path:
            break
    return answer.status, text
