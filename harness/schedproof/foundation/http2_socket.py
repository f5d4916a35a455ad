"""HTTP/2 for `http.client`: the translation of `http2` as a socket."""

from __future__ import annotations

import io
import ssl
from collections.abc import Callable

from schedproof.foundation.http2 import LONGEST_FRAME, Http2Client


class Http2Socket:
    """A TLS connection to a server that has chosen HTTP/2, with what `http.client`, which speaks HTTP/1.1, needs."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._socket = connection
        self._client = Http2Client()

    def settimeout(self, seconds: float | None) -> None:
        self._socket.settimeout(seconds)

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self._socket.setsockopt(level, option, value)

    def fileno(self) -> int:
        return self._socket.fileno()

    def sendall(self, data: bytes) -> None:
        """Send a part of a request.

        Raises:
            ConnectionResetError: the server has announced that it serves no more requests here.
        """
        if self._client.closing:
            raise ConnectionResetError(self._client.error or self._client.farewell)
        self._client.send(data)
        self._socket.sendall(self._client.data_to_send())

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Response(self.read))

    def read(self) -> bytes:
        """Return the next bytes of the response; b"" at the end of the connection.

        Raises:
            ConnectionResetError: the server does not respond to the request.
        """
        while data := self._socket.recv(LONGEST_FRAME):
            response = self._client.receive(data)
            self._socket.sendall(self._client.data_to_send())
            if response:
                return response
            if self._client.error:
                raise ConnectionResetError(self._client.error)
        return b""

    def close(self) -> None:
        self._socket.close()


class _Response(io.RawIOBase):
    """What is read of the responses."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read, self._left = read, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._left = self._left or self._read()
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count
