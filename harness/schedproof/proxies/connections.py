"""The two connections of a relay as asyncio protocols, and operations on their transports."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from schedproof.foundation.http2 import Http2Client, speaks_http2
from schedproof.history.observations import REFUSED_HERE

if TYPE_CHECKING:
    from schedproof.proxies.relay import Relay  # circular import


def has_ended(transport: asyncio.Transport) -> bool:
    """Whether the other side has closed an idle connection, even if the event loop has not yet noticed."""
    if transport.is_closing():
        return True
    poll = select.poll()
    poll.register(transport.get_extra_info("socket"), select.POLLRDHUP)
    return bool(poll.poll(0))


def has_news(transport: asyncio.Transport) -> bool:
    """Whether the other side has sent something, or has ended the connection, of which the event loop does not know."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket"), select.POLLIN)
    return bool(poll.poll(0))


def hold_up(transport: asyncio.Transport, *, stalled: bool) -> None:
    if stalled:
        transport.pause_reading()
    else:
        transport.resume_reading()


def reset(transport: asyncio.Transport) -> None:
    """Close a connection with RST instead of FIN."""
    with contextlib.suppress(OSError):
        # A linger time of 0 makes the kernel send RST.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


class Client(asyncio.Protocol):
    """The connection from a client. `welcome` returns its relay, or None to refuse the connection."""

    def __init__(self, welcome: Callable[[], Relay | None]) -> None:
        self._welcome = welcome
        self._relay: Relay | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._relay = self._welcome()
        if self._relay is None:
            transport.abort()
        else:
            self._relay.client_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._relay is not None:
            self._relay.client_data(data)

    def eof_received(self) -> bool:
        return self._relay is not None and self._relay.client_ended()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self._relay is not None:
            self._relay.client_lost()

    def pause_writing(self) -> None:
        if self._relay is not None:
            self._relay.stall_upstream(stalled=True)

    def resume_writing(self) -> None:
        if self._relay is not None:
            self._relay.stall_upstream(stalled=False)


class Upstream(asyncio.Protocol):
    """The connection to the server. Without a relay it is being closed.

    To a server that has chosen HTTP/2 it speaks that; the relay reads and writes HTTP/1.1 all the same.
    """

    def __init__(self, relay: Relay) -> None:
        self.relay: Relay | None = relay
        self._http2: Http2Client | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if speaks_http2(transport.get_extra_info("ssl_object")):
            self._http2 = Http2Client()
        if self.relay is None:
            transport.abort()
        else:
            self.relay.upstream_made(self)

    @property
    def has_ended(self) -> bool:
        """Whether the server accepts no further request here."""
        return has_ended(self.transport) or (self._http2 is not None and self._http2.closing)

    @property
    def keeps_client(self) -> bool:
        """Whether the client's connection outlives this one, if it is idle: as HTTP/2 ends it, no request is lost."""
        return self._http2 is not None

    def write(self, data: bytes) -> None:
        if self._http2 is None:
            self.transport.write(data)
        else:
            self._http2.send(data)
            self._settle(self._http2)

    def write_eof(self) -> None:
        """Pass on that the client sends no more, if the connection can say so."""
        if self.transport.can_write_eof() and not self.transport.is_closing():
            self.transport.write_eof()

    def data_received(self, data: bytes) -> None:
        if self._http2 is not None:
            data = self._http2.receive(data)
        if data and self.relay is not None:
            self.relay.upstream_data(data)
        if self._http2 is not None:
            self._settle(self._http2)

    def _settle(self, http2: Http2Client) -> None:
        """Write the frames that are due; end the connection if it cannot go on."""
        self.transport.write(http2.data_to_send())
        if http2.error and self.relay is not None:
            relay, self.relay = self.relay, None
            self.transport.close()
            if http2.refused:
                relay.upstream_refused(bytes(http2.sent), http2.error)
            else:
                relay.upstream_lost(None, f"{REFUSED_HERE}: {http2.error}" if http2.refused_here else http2.error)

    def eof_received(self) -> None:
        if self.relay is not None and self._http2 is None:
            self.relay.upstream_ended()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.relay is not None:
            self.relay.upstream_lost(exc, self._http2.farewell if self._http2 is not None else "")

    def pause_writing(self) -> None:
        if self.relay is not None:
            self.relay.stall_client(stalled=True)

    def resume_writing(self) -> None:
        if self.relay is not None:
            self.relay.stall_client(stalled=False)
