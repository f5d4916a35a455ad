"""TCP ports for daemons that insist on opening their own listening socket.

A port is reserved across all harnesses of this machine by an abstract Unix socket that bears its number: the
kernel releases it when we end, however we end. Ports come from below the ephemeral range, so that
no outgoing connection takes one between our check and the daemon's bind.
"""

from __future__ import annotations

import errno
import itertools
import os
import socket

from schedproof.foundation.errors import HostError

_FIRST, _LAST = 20_000, 32_000
_LOOPBACK = "127.0.0.1"


class Ports:
    """Reserves ports until closed."""

    def __init__(self) -> None:
        self._reservations: list[socket.socket] = []
        # Different processes start their search in different places.
        self._next = itertools.count(os.getpid() * 97)

    def reserve(self, address: str = "127.0.0.1") -> int:
        """A TCP port that is free at this machine's `address`, and that no other harness will be given.

        Raises:
            HostError: all are taken.
        """
        for _ in range(_LAST - _FIRST):
            port = _FIRST + next(self._next) % (_LAST - _FIRST)
            if self._claim(port, address):
                return port
        raise HostError(
            f"no free port between {_FIRST} and {_LAST}",
            remedy="run `ss -ltn` to list the processes that use these ports",
        )

    def reserve_exactly(self, port: int, *, wanted_by: str) -> int:
        """Reserve the given port.

        Raises:
            HostError: something listens on it.
        """
        if not self._claim(port):
            raise HostError(
                f"{wanted_by} wants port {port} on 127.0.0.1, which is in use",
                remedy=f"end what holds it (ss -ltnp 'sport = :{port}'), or leave the port to the harness: {{port}}",
            )
        return port

    def _claim(self, port: int, address: str = "127.0.0.1") -> bool:
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reservation.bind(f"\0schedproof-port-{port}")
            with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address, port))
                # Two sockets may share a bound address; only listening tells that no other process does.
                probe.listen(1)
        except OSError as error:
            reservation.close()
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        self._reservations.append(reservation)
        return True

    def close(self) -> None:
        while self._reservations:
            self._reservations.pop().close()


def listening_socket(address: str = "127.0.0.1") -> socket.socket:
    """A listening socket on a port of the kernel's choice, for a child that inherits it."""
    listener = socket.create_server((address, 0), backlog=128)
    listener.setblocking(True)
    return listener
