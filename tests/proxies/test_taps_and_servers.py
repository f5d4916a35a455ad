"""What servers may do with their connections, and the tap must neither hide nor take for a fault.

tests/differential/test_http.py compares what Go's client receives through a tap, and without one.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedproof.daemons.certificates import Authority
from schedproof.foundation.processes.ports import Ports
from schedproof.history.observations import CLIENT_LEFT, IDLE_CLOSED, REFUSED_HERE
from schedproof.proxies import exchange, relay
from schedproof.proxies.exchange import Exchange
from schedproof.proxies.messages import led_back
from schedproof.proxies.tap_tls import trust_of
from schedproof.proxies.taps import Tap

STUCK = 20.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"


class Listener:
    """A server on loopback, whose connections a test serves by itself, and a tap in front of it."""

    def __init__(self, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self._undo = contextlib.ExitStack()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = self._undo.enter_context(socket.create_server((address, 0), family=family))
        self._listener.settimeout(STUCK)
        self._tls = tls
        host = f"[{address}]" if ":" in address else address
        self.url = f"{'http' if tls is None else 'https'}://{host}:{self._listener.getsockname()[1]}"
        self.exchanges: list[Exchange] = []
        self.recorded = threading.Semaphore(0)
        ports = self._undo.enter_context(contextlib.closing(Ports()))
        self.tap = self._undo.enter_context(
            contextlib.closing(Tap(self.url, self._record, ports.reserve(address), address=address, trust=trust_of({})))
        )

    def _record(self, exchanged: Exchange) -> None:
        self.exchanges.append(exchanged)
        self.recorded.release()

    def client(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self.tap.url.partition("//")[2], timeout=STUCK)
        self._undo.callback(connection.close)
        return connection

    def accept(self) -> socket.socket:
        connection, _ = self._listener.accept()
        connection.settimeout(STUCK)
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        return self._undo.enter_context(connection)

    def close(self) -> None:
        self._undo.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with contextlib.closing(Listener()) as listener:
        yield listener


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 16)
    return data


def test_a_redirect_to_the_servers_own_url_leads_to_the_tap(listener: Listener) -> None:
    client = listener.client()
    client.request("POST", "/filter", b"")
    server = listener.accept()
    read_request(server)
    server.sendall(f"HTTP/1.1 307 Away\r\nLocation: {listener.url}/v2/filter\r\nContent-Length: 0\r\n\r\n".encode())
    response = client.getresponse()
    response.read()
    assert response.headers["Location"] == f"{listener.tap.url}/v2/filter"
    client.request("POST", "/v2/filter", b"")
    assert read_request(server).startswith(b"POST /v2/filter ")
    server.sendall(OK)
    assert client.getresponse().read() == b"[]"
    assert [(call.path, call.status) for call in listener.exchanges] == [("/filter", 307), ("/filter", 200)]


@pytest.mark.parametrize(
    ("location", "led"),
    [
        ("https://server:80/a", "https://tap:1/a"),
        ("https://server:80", "https://tap:1"),
        ("//server:80/a", "//tap:1/a"),
        ("https://server:8000/a", "https://server:8000/a"),
        ("http://server:80/a", "http://server:80/a"),
        ("/a", "/a"),
    ],
)
def test_only_redirects_to_the_server_are_changed(location: str, led: str) -> None:
    head = "HTTP/1.1 307 Away\r\nX-A: b\r\nLocation: {}\r\n\r\n"
    changed = led_back(head.format(location).encode(), "https://user:word@server:80", "https://tap:1")
    assert changed.decode() == head.format(led)


def test_a_response_is_recorded_although_its_client_does_not_wait_for_its_end(listener: Listener) -> None:
    client = listener.client()
    client.request("POST", "/filter", b"")
    server = listener.accept()
    read_request(server)
    server.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n")
    response = client.getresponse()
    assert response.read(2) == b"[]"
    response.close()
    client.close()
    assert listener.recorded.acquire(timeout=STUCK)
    assert [(call.status, call.answer, call.error) for call in listener.exchanges] == [(200, b"[]", CLIENT_LEFT)]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_request_that_its_client_has_left_is_recorded_with_the_time_that_it_waited(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setattr(relay, "_LEFT_SECONDS", 3600.0 if at_once else 2.0)
    with socket.create_connection(("127.0.0.1", int(listener.tap.url.rpartition(":")[2])), STUCK) as client:
        client.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        server = listener.accept()
        read_request(server)
        assert server.recv(1) == b""  # the tap has passed on the client's end
        if at_once:
            listener.tap.record_left()
        assert listener.recorded.acquire(timeout=STUCK)
    (call,) = listener.exchanges
    assert (call.status, call.error) == (0, CLIENT_LEFT)
    assert call.seconds < 2.0


def test_answers_that_clients_wait_for_are_awaited_until_they_are_recorded(listener: Listener) -> None:
    client = listener.client()
    client.request("POST", "/bind", b"")
    server = listener.accept()
    read_request(server)
    listener.tap.await_answers(0.01)
    assert listener.exchanges == []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(listener.tap.await_answers, STUCK)
        server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        waiting.result()
        assert [(call.path, call.status) for call in listener.exchanges] == [("/bind", 200)]
    assert client.getresponse().read() == b"{}"
    client.close()
    listener.tap.await_answers(STUCK)


@pytest.mark.parametrize(
    ("sent", "flaw"),
    [(SETTINGS, "HTTP/2"), (b"\x15\3\1\0\2\2\x46\n\n", "TLS"), (b"nonsense\r\n", "nonsense"), (b"", "closed")],
)
def test_what_came_instead_of_a_response_is_named(listener: Listener, sent: bytes, flaw: str) -> None:
    client = listener.client()
    client.request("POST", "/filter", b"")
    server = listener.accept()
    read_request(server)
    server.sendall(sent)
    server.close()
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        client.getresponse()
    assert listener.recorded.acquire(timeout=STUCK)
    assert flaw in listener.exchanges[0].error


def answer_then_close_unread(listener: Listener, *, answers: int) -> None:
    """Answer some requests on a connection, and close it while the next one has arrived and is not read."""
    client = listener.client()
    client.connect()
    server: socket.socket | None = None
    for _ in range(answers):
        client.request("POST", "/filter", b"")
        server = server or listener.accept()
        read_request(server)
        server.sendall(OK)
        client.getresponse().read()
    client.request("POST", "/filter", b"")
    server = server or listener.accept()
    select.select([server], [], [], STUCK)
    server.close()
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        client.getresponse()


@pytest.mark.parametrize(("answers", "least", "idle"), [(1, 0.0, True), (1, 3600.0, False), (0, 0.0, False)])
def test_a_request_that_crosses_the_end_of_an_idle_connection_is_recorded_as_such(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, answers: int, least: float, idle: bool
) -> None:
    monkeypatch.setattr(relay, "_LEAST_IDLE", least)
    answer_then_close_unread(listener, answers=answers)
    assert len(listener.exchanges) == answers + 1
    assert listener.exchanges[-1].status == 0
    assert (listener.exchanges[-1].error == IDLE_CLOSED) == idle


def test_taps_and_servers_may_have_ipv6_addresses() -> None:
    with contextlib.closing(Listener("::1")) as listener:
        client = listener.client()
        client.request("GET", "/api/v1/query?query=up")
        server = listener.accept()
        assert f"Host: {listener.url.partition('//')[2]}\r\n".encode() in read_request(server)
        server.sendall(OK)
        assert client.getresponse().read() == b"[]"


def test_a_query_in_utf8_is_permitted_and_passed_on_as_it_is(listener: Listener) -> None:
    listener.tap.permits = lambda method, _: method == "GET"
    request = 'GET /api/v1/query?query=up{a="ü"} HTTP/1.1\r\nHost: x\r\n\r\n'.encode()
    with socket.create_connection(("127.0.0.1", int(listener.tap.url.rpartition(":")[2])), STUCK) as client:
        client.sendall(request)
        server = listener.accept()
        assert read_request(server).startswith(request.partition(b"\r\n")[0])
        server.sendall(OK)
        assert client.recv(1 << 16) == OK
    assert [(call.path, call.status) for call in listener.exchanges] == [('/api/v1/query?query=up{a="%C3%BC"}', 200)]


def test_what_could_be_a_request_that_is_not_permitted_is_refused(listener: Listener) -> None:
    listener.tap.permits = lambda method, _: method == "GET"
    with socket.create_connection(("127.0.0.1", int(listener.tap.url.rpartition(":")[2])), STUCK) as client:
        client.sendall(b"GET /a HTTP/1.1\r\nHost : x\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert [(call.status, bool(call.error)) for call in listener.exchanges] == [(400, True)]


def test_a_body_that_is_longer_than_is_kept_is_marked(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "KEPT", 10)
    monkeypatch.setattr("schedproof.proxies.messages.KEPT", 10)
    client = listener.client()
    client.request("POST", "/filter", b"")
    server = listener.accept()
    read_request(server)
    server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + b"x" * 20)
    assert client.getresponse().read() == b"x" * 20
    assert [(call.answer, call.answer_size, call.cut) for call in listener.exchanges] == [(b"x" * 10, 20, True)]


@pytest.fixture
def http2(tmp_path: Path) -> Iterator[Listener]:
    """A server that chooses HTTP/2."""
    pair = Authority(tmp_path / "authority").server("x")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    context.set_alpn_protocols(["h2"])
    with contextlib.closing(Listener(tls=context)) as listener:
        yield listener


def head(stream: int, *, end: bool = False) -> bytes:
    """A HEADERS frame with `:status: 200`, which is 8 in HPACK's static table."""
    return b"\0\0\1\1" + bytes([4 | end]) + stream.to_bytes(4, "big") + b"\x88"


def data(stream: int, content: bytes, *, end: bool = True) -> bytes:
    return len(content).to_bytes(3, "big") + b"\0" + bytes([end]) + stream.to_bytes(4, "big") + content


def goaway(last: int) -> bytes:
    return b"\0\0\x08\7\0\0\0\0\0" + last.to_bytes(4, "big") + b"\0\0\0\0"


def reset(stream: int, code: int) -> bytes:
    return b"\0\0\4\3\0" + stream.to_bytes(4, "big") + code.to_bytes(4, "big")


def await_stream(connection: socket.socket, stream: int) -> None:
    """Read until the request of a stream is complete: its last frame is an empty DATA, or HEADERS without content."""
    received = b""
    while not any(bytes([kind, flags]) + stream.to_bytes(4, "big") in received for kind, flags in ((0, 1), (1, 5))):
        piece = connection.recv(1 << 16)
        assert piece
        received += piece


@pytest.mark.parametrize(
    ("sent", "status", "content", "error"),
    [
        (head(1) + data(1, b"[]"), 200, b"[]", ""),
        (head(1) + data(1, b"[", end=False) + data(1, b"]"), 200, b"[]", ""),
        (head(1, end=True), 200, b"", ""),
        (goaway(1) + head(1) + data(1, b"[]"), 200, b"[]", ""),
        (reset(1, 8), 0, b"", "HTTP/2: RST_STREAM with error code 8"),
        (b"HTTP/1.1 200 OK\r\n\r\n", 0, b"", "HTTP/2: the server has chosen it, and responds in HTTP/1"),
    ],
)
def test_http2_is_spoken_to_a_server_that_chooses_it(
    http2: Listener, sent: bytes, status: int, content: bytes, error: str
) -> None:
    client = http2.client()
    client.request("POST", "/filter", b"{}")
    server = http2.accept()
    server.sendall(SETTINGS)
    await_stream(server, 1)
    server.sendall(sent)
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        assert client.getresponse().read() == content
    assert http2.recorded.acquire(timeout=STUCK)
    assert [(call.status, call.answer, call.error) for call in http2.exchanges] == [(status, content, error)]


@pytest.mark.parametrize(("refusal", "again"), [(goaway(0), True), (reset(1, 1), True), (reset(1, 7), False)])
def test_a_request_that_was_not_processed_is_sent_again(http2: Listener, refusal: bytes, again: bool) -> None:
    """`again`: on a new connection; otherwise as another stream of the same."""
    client = http2.client()
    client.request("POST", "/filter", b"{}")
    server = http2.accept()
    server.sendall(SETTINGS)
    await_stream(server, 1)
    server.sendall(refusal)
    if again:
        server = http2.accept()
        server.sendall(SETTINGS)
    stream = 1 if again else 3
    await_stream(server, stream)
    server.sendall(head(stream) + data(stream, b"[]"))
    assert client.getresponse().read() == b"[]"
    assert [(call.status, call.body, call.error) for call in http2.exchanges] == [(200, b"{}", "")]


def test_a_client_keeps_its_connection_when_http2_ends(http2: Listener) -> None:
    client = http2.client()
    for _ in range(2):
        client.request("POST", "/filter", b"{}")
        server = http2.accept()
        server.sendall(SETTINGS)
        await_stream(server, 1)
        server.sendall(head(1) + data(1, b"[]") + goaway(1))
        assert client.getresponse().read() == b"[]"
        server.close()
        for _ in range(10):
            http2.tap.heal()  # each takes a turn of the tap's loop, which sees the end meanwhile
    assert [call.status for call in http2.exchanges] == [200, 200]


def test_a_client_that_wants_its_connection_closed_need_not_wait_for_http2_to_end(http2: Listener) -> None:
    with socket.create_connection(("127.0.0.1", int(http2.tap.url.rpartition(":")[2])), STUCK) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        server = http2.accept()
        server.sendall(SETTINGS)
        await_stream(server, 1)
        server.sendall(head(1) + data(1, b"[]"))
        assert b"".join(iter(lambda: client.recv(1 << 16), b"")).endswith(b"[]\r\n0\r\n\r\n")


@pytest.mark.parametrize(("framed", "kept"), [(b"Content-Length: 2\r\n", True), (b"", False)])
def test_a_client_may_keep_its_connection_when_the_server_ends_an_idle_one(
    listener: Listener, framed: bytes, kept: bool
) -> None:
    """Unless that end is the end of the response."""
    listener.tap.keeps_clients = True
    client = listener.client()
    client.connect()
    for _ in range(2):
        client.putrequest("POST", "/filter")
        client.endheaders()
        server = listener.accept()
        read_request(server)
        server.sendall(b"HTTP/1.1 200 OK\r\n%b\r\n[]" % framed)
        server.close()
        assert client.getresponse().read() == b"[]"
        for _ in range(10):
            listener.tap.heal()  # see above
        assert (client.sock is not None) == kept
    assert [(call.status, call.error) for call in listener.exchanges] == [(200, "")] * 2


def test_what_the_library_refuses_is_marked(http2: Listener) -> None:
    client = http2.client()
    client.request("POST", "/filter", b"{}")
    server = http2.accept()
    server.sendall(SETTINGS)
    await_stream(server, 1)
    server.sendall(data(1, b"[]"))
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        client.getresponse()
    assert http2.recorded.acquire(timeout=STUCK)
    assert http2.exchanges[0].error.startswith(REFUSED_HERE)


def test_a_server_may_not_renegotiate() -> None:
    """As Go's client does not."""
    assert trust_of({}).options & ssl.OP_NO_RENEGOTIATION
