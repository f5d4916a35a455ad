"""The line to the apiserver, over real sockets: what passes is passed on, and a cut ends what is open."""

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
    """A server that sends back what it is sent."""
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


def test_what_passes_is_passed_on_both_ways(line: ApiLine) -> None:
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
    with connect(line) as one, connect(line) as other:
        assert (says(one, b"one"), says(other, b"other")) == (b"one", b"other")
        assert line.cut() == 2
        assert (one.recv(1), other.recv(1)) == (b"", b"")


def test_until_it_is_mended_new_connections_end_at_once(line: ApiLine) -> None:
    line.cut()
    with connect(line) as refused:
        assert refused.recv(1) == b""
    line.mend()
    with connect(line) as accepted:
        assert says(accepted, b"again") == b"again"


def test_led_elsewhere_new_connections_go_there_and_open_ones_stay(line: ApiLine, ports: Ports) -> None:
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


def test_where_the_server_is_gone_connections_end(ports: Ports) -> None:
    line = ApiLine(("127.0.0.1", ports.reserve()), ports.reserve())
    with contextlib.closing(line), connect(line) as connection:
        assert connection.recv(1) == b""


def test_the_end_of_the_client_is_told_to_the_server(ports: Ports) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(STUCK)
        with contextlib.closing(ApiLine(server.getsockname(), ports.reserve())) as line:
            connect(line).close()
            accepted, _ = server.accept()
            with accepted:
                accepted.settimeout(STUCK)
                assert accepted.recv(1) == b""
