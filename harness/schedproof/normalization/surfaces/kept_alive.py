"""One HTTP connection for one question after the other, kept for as long as the server keeps it."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import select
import socket
import ssl
from collections.abc import Callable, Mapping

_ENDED = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""Errors by which a connection shows that the other side has closed it, besides end of file."""


@dataclasses.dataclass(frozen=True)
class Response:
    """`content` is without transfer encoding, and still has its content coding; `encoding` names that."""

    status: int
    encoding: str
    content: bytes


class KeptAlive:
    """A client of one server, with at most one connection.

    A connection is used again unless an exchange on it has failed, or either side has announced its end (`Connection:
    close`, HTTP/1.0). A server may end an idle connection at any time, also while a request is on its way. So a request
    is sent once more, on a new connection, where it was not the first on its connection and not one byte of an answer
    came. On a new connection a request is sent once, whatever comes of it.

    Args:
        connect: a new connection, each of whose steps may take so many seconds.
    """

    def __init__(self, connect: Callable[[float], http.client.HTTPConnection]) -> None:
        self._connect = connect
        self._idle: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Response:
        """Post once, and read the whole answer.

        Args:
            path: with a leading slash.
            body: the content.
            headers: without those of framing.
            seconds: bounds each step: connecting, sending, and each wait for more of the answer.

        Raises:
            TimeoutError: a step took longer.
            OSError: there is no connection, or it broke.
            http.client.HTTPException: this is no HTTP, or it ends too early.
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
        """End the connection. The next request makes a new one."""
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
            # Some servers send head and body apart, and the body only once the head is acknowledged (Nagle), which the
            # kernel otherwise puts off for 40 ms on a connection that is not new. It has to be told each time.
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            answer = connection.getresponse()
            response = Response(answer.status, answer.getheader("Content-Encoding", ""), answer.read())
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            self._idle = connection
        return response


class _UnansweredError(Exception):
    """The connection ended before the first byte of an answer."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Answer(http.client.HTTPResponse):
    """An answer that tells whether it has begun."""

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
    """Whether the server has ended an idle connection, or sent what nothing had asked for."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
