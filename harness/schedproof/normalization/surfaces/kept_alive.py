"""An HTTP client that reuses one connection for as long as the server keeps it open."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import select
import socket
import ssl
from collections.abc import Callable, Mapping

from schedproof.foundation.http import redirected

_ENDED = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""Errors by which a connection shows that the other side has closed it, besides end of file."""


@dataclasses.dataclass(frozen=True)
class Response:
    """A response. `content` has no transfer encoding, but still its content coding, which `encoding` names.

    `location` is the path at which the request is to be repeated, "" if it is not.
    """

    status: int
    encoding: str
    content: bytes
    location: str = ""


class KeptAlive:
    """A client of one server, with at most one connection.

    A connection is reused unless an exchange on it failed or either side announced its end (`Connection: close`,
    HTTP/1.0). A server may close an idle connection at any time, even while a request is on its way. So a request is
    sent again, on a new connection, if it was not the first on its connection and no byte of a response came. On a
    new connection a request is sent once.

    Args:
        connect: makes a connection; each of its steps may take the given number of seconds.
    """

    def __init__(self, connect: Callable[[float], http.client.HTTPConnection]) -> None:
        self._connect = connect
        self._idle: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Response:
        """Post once, and read the whole response.

        Args:
            path: with a leading slash.
            body: the content.
            headers: without those of framing.
            seconds: limit of each step: connecting, sending, and each wait for more of the response.

        Raises:
            TimeoutError: a step took longer.
            OSError: no connection was possible, or it broke.
            http.client.HTTPException: the response is not HTTP, or ends too early.
        """
        kept, self._idle = self._idle, None
        if kept is not None and not _has_ended(kept):
            with contextlib.suppress(_UnansweredError):
                return self._exchange(kept, path, body, headers, seconds)
        elif kept is not None:
            kept.close()
        try:
            return self._exchange(self._connect(seconds), path, body, headers, seconds)
        except _UnansweredError as error:
            raise error.cause from None

    def close(self) -> None:
        """Close the connection. The next request makes a new one."""
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def _exchange(
        self, connection: http.client.HTTPConnection, path: str, body: bytes, headers: Mapping[str, str], seconds: float
    ) -> Response:
        connection.response_class = _Answer
        try:
            if connection.sock is not None:
                connection.sock.settimeout(seconds)
            try:
                connection.request("POST", path, body, dict(headers))
            except _ENDED as error:
                raise _UnansweredError(error) from error
            # Some servers send the body only once the head is acknowledged (Nagle). On a reused connection, the kernel
            # delays the acknowledgement by 40 ms unless this option is set again for each response.
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            answer = connection.getresponse()
            response = Response(
                answer.status, answer.getheader("Content-Encoding", ""), answer.read(),
                redirected(path, answer.status, answer.getheader("Location")),
            )  # fmt: skip
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            self._idle = connection
        return response


class _UnansweredError(Exception):
    """The connection ended before the first byte of a response."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Answer(http.client.HTTPResponse):
    """A response that reports whether it has begun."""

    def begin(self) -> None:
        try:
            begun = self.fp.peek(1)
        except _ENDED as error:
            raise _UnansweredError(error) from error
        if not begun:
            gone = http.client.RemoteDisconnected("Remote end closed connection without response")
            raise _UnansweredError(gone)
        super().begin()


def _has_ended(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has closed an idle connection, or sent something that was not requested."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
