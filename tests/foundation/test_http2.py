"""HTTP/1.1 of `http.client` is carried by HTTP/2 to a server that chooses it.

tests/differential/test_http.py compares the translation with Go's client.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import pytest

from schedproof.daemons.certificates import Authority
from schedproof.foundation.http import connect_by_name, exchange, insecure_tls
from schedproof.foundation.http2 import ALPN, Http2Client
from schedproof.foundation.http2_socket import Http2Socket

STUCK = 20.0
LONG = b"x" * 300_000


def echoing(context: ssl.SSLContext, listener: socket.socket) -> None:
    """Serve one connection: return each request's body, and its head as a header."""
    connection, _ = listener.accept()
    with (
        contextlib.suppress(OSError, h2.exceptions.ProtocolError),
        context.wrap_socket(connection, server_side=True) as secure,
    ):
        secure.settimeout(STUCK)
        http2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        http2.initiate_connection()
        bodies: dict[int, bytes] = {}
        heads: dict[int, str] = {}
        due: list[tuple[int, bytes]] = []
        while True:
            secure.sendall(http2.data_to_send())
            data = secure.recv(1 << 16)
            if not data:
                return
            for event in http2.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    heads[event.stream_id] = " ".join(f"{name}={value}" for name, value in event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                    http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    http2.send_headers(event.stream_id, [(":status", "200"), ("x-head", heads[event.stream_id])])
                    due.append((event.stream_id, bodies.get(event.stream_id, b"")))
            while due:
                stream, body = due[0]
                room = min(http2.local_flow_control_window(stream), http2.max_outbound_frame_size)
                if room <= 0:
                    break
                http2.send_data(stream, body[:room], end_stream=len(body) <= room)
                due[0] = stream, body[room:]
                if len(body) <= room:
                    due.pop(0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[int]:
    """The port of a server that speaks only HTTP/2."""
    pair = Authority(tmp_path / "authority").server("x")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=echoing, args=(context, listener))
        thread.start()
        yield listener.getsockname()[1]
    thread.join()


@pytest.mark.parametrize("body", [b"", b"short", LONG])
def test_a_request_and_its_response_are_carried(server: int, body: bytes) -> None:
    connection = connect_by_name("127.0.0.1", server, STUCK, insecure_tls(ALPN), "127.0.0.1")
    assert exchange(connection, "POST", "/filter?a=b", body) == (200, body.decode())


def test_several_requests_share_a_connection(server: int) -> None:
    connection = connect_by_name("127.0.0.1", server, STUCK, insecure_tls(ALPN), "127.0.0.1")
    with contextlib.closing(connection):
        for number in range(3):
            connection.request("POST", f"/{number}", b"x" * number, {"Connection": "keep-alive", "X-A": "B"})
            response = connection.getresponse()
            head = response.headers["x-head"]
            assert (response.status, len(response.read())) == (200, number)
            assert f":path=/{number}" in head
            assert "x-a=B" in head
            assert f":authority=127.0.0.1:{server}" in head
            assert "keep-alive" not in head


def test_no_request_is_sent_after_goaway() -> None:
    near, far = socket.socketpair()
    with near, far:
        connection = Http2Socket(near)  # type: ignore[arg-type]
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        far.sendall(b"\0\0\1\1\5\0\0\0\1\x88" + b"\0\0\x08\7\0\0\0\0\0" + b"\0\0\0\1" + b"\0\0\0\0")
        assert connection.read().startswith(b"HTTP/1.1 200 OK")
        with pytest.raises(ConnectionResetError, match="GOAWAY"):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def test_a_client_that_does_not_offer_http2_is_not_understood(server: int) -> None:
    status, _ = exchange(
        connect_by_name("127.0.0.1", server, STUCK, insecure_tls(), "127.0.0.1"), "POST", "/filter", b"short"
    )
    assert status == 0


def test_what_is_no_http2_is_an_error() -> None:
    for sent in (b"HTTP/1.1 200 OK\r\n\r\n", b"\xff" * 20, b"\0\0\4\1\4\0\0\0\1\xff\xff\xff\xff"):
        client = Http2Client()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.receive(sent) == b""
        assert client.error
        assert client.closing
