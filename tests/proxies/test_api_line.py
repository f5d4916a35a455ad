"""The line to the apiserver, over real sockets: it forwards both ways, and a cut ends open connections."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from schedproof.foundation.processes.ports import Ports
from schedproof.proxies.api_line import ApiLine

STUCK = 20.0
"""Seconds after which a test fails that would otherwise hang; nothing is judged by it."""


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A server that sends back what it receives."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                while data := connection.recv(65_536):
                    connection.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()


@pytest.fixture
def ports() -> Iterator[Ports]:
    with contextlib.closing(Ports()) as ports:
        yield ports


@pytest.fixture
def line(echo: tuple[str, int], ports: Ports) -> Iterator[ApiLine]:
    with contextlib.closing(ApiLine(echo, ports.reserve())) as line:
        yield line


def connect(line: ApiLine) -> socket.socket:
    return socket.create_connection(("127.0.0.1", line.port), timeout=STUCK)


def says(connection: socket.socket, text: bytes) -> bytes:
    connection.sendall(text)
    received = b""
    while len(received) < len(text) and (data := connection.recv(65_536)):
        received += data
    return received


def test_the_line_forwards_data_in_both_directions(line: ApiLine) -> None:
    with connect(line) as connection:
        text = b"0123456789" * 100_000
        sender = threading.Thread(target=connection.sendall, args=(text,))
        sender.start()
        received = b""
        while len(received) < len(text):
            received += connection.recv(65_536)
        sender.join()
    assert received == text


def test_a_cut_ends_open_connections_and_counts_them(line: ApiLine) -> None:
    with connect(line) as first, connect(line) as second:
        assert (says(first, b"one"), says(second, b"other")) == (b"one", b"other")
        assert line.cut() == 2
        assert (first.recv(1), second.recv(1)) == (b"", b"")


def test_a_cut_line_ends_new_connections_until_it_is_mended(line: ApiLine) -> None:
    line.cut()
    with connect(line) as refused:
        assert refused.recv(1) == b""
    line.mend()
    with connect(line) as accepted:
        assert says(accepted, b"again") == b"again"


def test_lead_to_redirects_new_connections_and_keeps_open_connections(line: ApiLine, ports: Ports) -> None:
    nowhere = ("127.0.0.1", ports.reserve())
    with connect(line) as stays:
        assert says(stays, b"one") == b"one"
        first = line.lead_to(nowhere)
        with connect(line) as moved:
            assert moved.recv(1) == b""
        assert says(stays, b"two") == b"two"
    assert line.lead_to(first) == nowhere
    with connect(line) as back:
        assert says(back, b"three") == b"three"


def test_connections_end_if_the_server_is_gone(ports: Ports) -> None:
    line = ApiLine(("127.0.0.1", ports.reserve()), ports.reserve())
    with contextlib.closing(line), connect(line) as connection:
        assert connection.recv(1) == b""


def test_the_server_s_connection_ends_with_that_of_the_client(ports: Ports) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(STUCK)
        with contextlib.closing(ApiLine(server.getsockname(), ports.reserve())) as line:
            connect(line).close()
            accepted, _ = server.accept()
            with accepted:
                accepted.settimeout(STUCK)
                assert accepted.recv(1) == b""
