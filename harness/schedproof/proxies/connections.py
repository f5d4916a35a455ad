"""The two connections of a relay as asyncio protocols, and operations on their transports."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedproof.proxies.relay import Relay  # circular import


def has_ended(transport: asyncio.Transport) -> bool:
    """Whether the other side has closed an idle connection, even if the event loop has not yet noticed."""
    if transport.is_closing():
        return True
    poll = select.poll()
    poll.register(transport.get_extra_info("socket"), select.POLLRDHUP)
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
    """The connection to the server. Without a relay it is being closed."""

    def __init__(self, relay: Relay) -> None:
        self.relay: Relay | None = relay

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if self.relay is None:
            transport.abort()
        else:
            self.relay.upstream_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.relay is not None:
            self.relay.upstream_data(data)

    def eof_received(self) -> None:
        if self.relay is not None:
            self.relay.upstream_ended()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.relay is not None:
            self.relay.upstream_lost(exc)

    def pause_writing(self) -> None:
        if self.relay is not None:
            self.relay.stall_client(stalled=True)

    def resume_writing(self) -> None:
        if self.relay is not None:
            self.relay.stall_client(stalled=False)
