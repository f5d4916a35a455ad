"""A client can use HTTP/1.1 through a tap as on a direct connection: one feature at a time, byte for byte.

Both ends are scripted sockets, so that only the tap is between what is sent and what is received. Each feature is a
conversation, held once on a direct connection and once through a tap; both ends must receive the same bytes.
"""

from __future__ import annotations

import contextlib
import gzip
import re
import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from schedproof.foundation.processes.ports import Ports
from schedproof.proxies.exchange import Exchange
from schedproof.proxies.taps import Tap

STUCK = 20.0
"""Seconds after which a test fails that would otherwise hang; nothing is judged by it."""
Step = tuple[str, bytes]
"""A step: the sender, `client` or `server`, and its bytes. b"" ends that side's sending. The other side has to receive
them before the next step, unless a `+` follows the sender's name.
"""

GET = b"GET /api/v1/query?query=up HTTP/1.1\r\nHost: server\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ZIPPED = gzip.compress(b'[{"Host": "a", "Score": 1}]', mtime=0)
LONG = b"x" * 300_000


def post(headers: bytes, body: bytes) -> bytes:
    return b"POST /filter HTTP/1.1\r\nHost: server\r\n" + headers + b"\r\n\r\n" + body


def answer(headers: bytes, body: bytes = b"", status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 " + status + b"\r\n" + headers + b"\r\n\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked"
FEATURES: dict[str, Sequence[Step]] = {
    "a request and its answer": [("client", GET), ("server", OK)],
    "keep-alive": [("client", GET), ("server", OK), ("client", GET), ("server", OK)],
    "close, as the client wants": [
        ("client", GET[:-2] + b"Connection: close\r\n\r\n"), ("server", answer(b"Connection: close", b"all")),
        ("server", b""), ("client", b""),
    ],
    "close, as the server wants": [("client", GET), ("server", OK), ("server", b""), ("client", b"")],
    "HTTP/1.0": [("client", b"GET / HTTP/1.0\r\n\r\n"), ("server", b"HTTP/1.0 200 OK\r\n\r\nall"), ("server", b"")],
    "HTTP/1.0, kept alive": [
        ("client", b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
        ("server", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"), ("client", GET),
    ],
    "a body with its length": [("client", post(b"Content-Length: 5", b"12345")), ("server", OK), ("client", GET)],
    "a body in pieces": [
        ("client", post(b"Content-Length: 6", b"12")), ("client", b"34"), ("client", b"56"), ("server", OK),
        ("client", GET),
    ],
    "an empty body": [("client", post(b"Content-Length: 0", b"")), ("server", OK), ("client", GET), ("server", OK)],
    "a body in chunks": [
        ("client", post(CHUNKED, b"5\r\n12345\r\n1;kind=last\r\n6\r\n0\r\n\r\n")), ("server", OK), ("client", GET),
        ("server", OK),
    ],
    "a body in chunks, each by itself": [
        ("client", post(CHUNKED, b"")), ("client", b"5\r\n12345\r\n"), ("client", b"0\r\n\r\n"), ("server", OK),
        ("client", GET),
    ],
    "a request with trailers": [
        ("client", post(CHUNKED + b"\r\nTrailer: Sum", b"1\r\nx\r\n0\r\nSum: 1\r\n\r\n")), ("server", OK),
        ("client", GET),
    ],
    "a large body": [("client", post(b"Content-Length: 300000", LONG)), ("server", OK), ("client", GET)],
    "a compressed body": [
        ("client", post(b"Content-Encoding: gzip\r\nContent-Length: %d" % len(ZIPPED), ZIPPED)), ("server", OK),
    ],
    "an answer in chunks": [("client", GET), ("server", answer(CHUNKED, b"2\r\nok\r\n0\r\n\r\n")), ("client", GET)],
    "an answer with trailers": [
        ("client", GET[:-2] + b"TE: trailers\r\nConnection: TE\r\n\r\n"),
        ("server", answer(CHUNKED + b"\r\nTrailer: Sum", b"2\r\nok\r\n0\r\nSum: 1\r\n\r\n")), ("client", GET),
    ],
    "a streamed answer": [
        ("client", GET), ("server", answer(CHUNKED)), ("server", b"1\r\na\r\n"), ("server", b"1\r\nb\r\n"),
        ("server", b"0\r\n\r\n"), ("client", GET),
    ],
    "an answer while the request is sent": [
        ("client", post(CHUNKED, b"1\r\na\r\n")), ("server", answer(CHUNKED, b"1\r\na\r\n")),
        ("client", b"1\r\nb\r\n"), ("server", b"1\r\nb\r\n"), ("client", b"0\r\n\r\n"), ("server", b"0\r\n\r\n"),
        ("client", GET), ("server", OK),
    ],
    "an answer before the request's end": [
        ("client", post(b"Content-Length: 6", b"123")), ("server", OK), ("client", b"456"), ("client", GET),
        ("server", OK),
    ],
    "a large answer": [("client", GET), ("server", answer(b"Content-Length: 300000", LONG)), ("client", GET)],
    "an answer until the end": [
        ("client", GET), ("server", answer(b"Server: x", b"some")), ("server", b"more"), ("server", b""),
    ],
    "a compressed answer": [
        ("client", GET[:-2] + b"Accept-Encoding: gzip\r\n\r\n"),
        ("server", answer(b"Content-Encoding: gzip\r\nVary: Accept\r\nContent-Length: %d" % len(ZIPPED), ZIPPED)),
    ],
    "HEAD": [
        ("client", b"HEAD / HTTP/1.1\r\nHost: server\r\n\r\n"), ("server", answer(b"Content-Length: 900")),
        ("client", GET),
        ("server", OK),
    ],
    "HEAD without a length": [
        ("client", b"HEAD / HTTP/1.1\r\nHost: server\r\n\r\n"), ("server", answer(b"Server: x")), ("client", GET),
    ],
    "204": [
        ("client", GET), ("server", answer(b"Server: x", status=b"204 No Content")), ("client", GET), ("server", OK),
    ],
    "304": [
        ("client", GET), ("server", answer(b'ETag: "1"\r\nContent-Length: 900', status=b"304 Not Modified")),
        ("client", GET), ("server", OK),
    ],
    "a redirect": [
        ("client", GET), ("server", answer(b"Location: http://elsewhere/\r\nContent-Length: 0", status=b"307 Away")),
        ("client", GET),
    ],
    "100 Continue": [
        ("client", post(b"Expect: 100-continue\r\nContent-Length: 2", b"")),
        ("server", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ("client", b"ab"), ("server", OK), ("client", GET),
    ],
    "no 100 Continue": [
        ("client", post(b"Expect: 100-continue\r\nContent-Length: 2", b"")),
        ("server", answer(b"Connection: close\r\nContent-Length: 0", status=b"417 Expectation Failed")),
        ("server", b""),
    ],
    "early hints": [
        ("client", GET), ("server", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), ("server", OK), ("client", GET),
    ],
    "another protocol": [
        ("client", GET[:-2] + b"Connection: Upgrade\r\nUpgrade: echo\r\n\r\n"),
        ("server", b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"),
        ("client", b"\x00\x01"), ("server", b"\x02\x03"), ("client", b""), ("server", b""),
    ],
    "another protocol, of which the client has sent more than is kept": [
        ("client", GET[:-2] + b"Connection: Upgrade\r\nUpgrade: echo\r\n\r\n"), ("client+", LONG * 5),
        ("server", b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"),
        ("client", b"\x00\x01"), ("client", LONG), ("server", b"\x02\x03"),
    ],
    "headers of the same name, in their case and order": [
        ("client", GET[:-2] + b"x-B: 1\r\nX-a: 2\r\nx-b: 3\r\nX-EMPTY:\r\n\r\n"),
        ("server", answer(b"Set-Cookie: a=1\r\nset-cookie: b=2\r\nX-Latin: \xe9\r\nContent-Length: 0")),
    ],
    "large headers": [
        ("client", GET[:-2] + b"X-Long: " + LONG + b"\r\n\r\n"),
        ("server", answer(b"X-Long: " + LONG + b"\r\nContent-Length: 0")), ("client", GET),
    ],
    "percent-encoding and what should be encoded": [
        ("client", b'GET /a%2Fb//../c%20d?q=%7B%22x%22%7D&q=+&r={a="b"}[5m]&s=&;x HTTP/1.1\r\nHost: server\r\n\r\n'),
        ("server", OK),
    ],
    "a target for proxies": [("client", b"GET http://server/x HTTP/1.1\r\nHost: server\r\n\r\n"), ("server", OK)],
    "OPTIONS *": [("client", b"OPTIONS * HTTP/1.1\r\nHost: server\r\n\r\n"), ("server", OK)],
    "an unknown method": [("client", b"PROPFIND / HTTP/1.1\r\nHost: server\r\n\r\n"), ("server", OK), ("client", GET)],
    "a head in two segments": [("client+", GET[:20]), ("client", GET[20:]), ("server", OK[:20]), ("server", OK[20:])],
    "a client that sends no more": [("client", GET), ("client", b""), ("server", OK), ("server", b"")],
    "a server that ends in the middle": [
        ("client", GET), ("server", answer(b"Content-Length: 9", b"some")), ("server", b""),
    ],
    "a server that ends without an answer": [("client", GET), ("server", b"")],
    "a client that ends in the middle": [("client", post(b"Content-Length: 9", b"some")), ("client", b"")],
    "what is no HTTP, from the client": [
        ("client", b"\x16\x03\x01 no HTTP\r\n"), ("server", b"HTTP/1.1 400 No\r\n\r\n"),
    ],
    "a request without a host": [
        ("client", b"GET / HTTP/1.1\r\n\r\n"), ("server", answer(b"Content-Length: 0", status=b"400 Bad Request")),
        ("client", b""),
    ],
    "a target that is no ASCII": [("client", "GET /ü HTTP/1.1\r\nHost: server\r\n\r\n".encode()), ("server", OK)],
    "what is no HTTP, from the server": [("client", GET), ("server", b"nonsense\r\n"), ("server", b"")],
}  # fmt: skip


class Line:
    """A client, a server and the connection between them; and the bytes that each of the two has received."""

    def __init__(self, client: socket.socket, listener: socket.socket) -> None:
        self._listener = listener
        self._ends = {"client": client}
        self.received = {"client": b"", "server": b""}

    def hold(self, conversation: Sequence[Step]) -> None:
        due = {"client": 0, "server": 0}
        host = b"Host: 127.0.0.1:%d\r\n" % self._listener.getsockname()[1]
        for side, text in conversation:
            sender, reader = ("client", "server") if side.startswith("client") else ("server", "client")
            data = text.replace(b"Host: server\r\n", host)
            # In a thread: what is larger than all buffers has to be read meanwhile.
            sending = threading.Thread(target=_send, args=(self._ends[sender], data))
            sending.start()
            due[reader] += len(data)
            if not side.endswith("+"):
                self._read(reader, due[reader], end=not data)
            sending.join()

    def _read(self, reader: str, due: int, *, end: bool) -> None:
        if reader not in self._ends:
            self._ends[reader], _ = self._listener.accept()
            self._ends[reader].settimeout(STUCK)
        while end or len(self.received[reader]) < due:
            piece = self._ends[reader].recv(1 << 20)
            self.received[reader] += piece
            if not piece:
                assert end, f"the {reader} saw the end, and before it {self.received[reader][-300:]!r}"
                return

    def close(self) -> None:
        for end in self._ends.values():
            end.close()


def _send(end: socket.socket, data: bytes) -> None:
    if data:
        end.sendall(data)
    else:
        with contextlib.suppress(OSError):  # the other side may have ended it
            end.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(STUCK)
        yield listener


def received_directly(conversation: Sequence[Step]) -> dict[str, bytes]:
    with (
        listening() as listener,
        socket.create_connection(listener.getsockname(), STUCK) as client,
        contextlib.closing(Line(client, listener)) as line,
    ):
        line.hold(conversation)
        return line.received


def received_through_a_tap(conversation: Sequence[Step], exchanges: list[Exchange]) -> dict[str, bytes]:
    with contextlib.closing(Ports()) as ports, listening() as listener:
        port = ports.reserve()
        with (
            contextlib.closing(Tap(f"http://127.0.0.1:{listener.getsockname()[1]}", exchanges.append, port)),
            socket.create_connection(("127.0.0.1", port), STUCK) as client,
            contextlib.closing(Line(client, listener)) as line,
        ):
            line.hold(conversation)
            return line.received


@pytest.mark.parametrize("feature", FEATURES)
def test_both_ends_receive_the_same_bytes_with_and_without_a_tap(feature: str) -> None:
    direct, tapped = received_directly(FEATURES[feature]), received_through_a_tap(FEATURES[feature], [])
    anywhere = re.compile(rb"127\.0\.0\.1:[0-9]+")
    assert {side: anywhere.sub(b"server", received) for side, received in tapped.items()} == {
        side: anywhere.sub(b"server", received) for side, received in direct.items()
    }


@pytest.mark.parametrize(
    ("feature", "body", "content"),
    [
        ("a body in chunks", b"123456", b"ok"),
        ("a request with trailers", b"x", b"ok"),
        ("an answer with trailers", b"", b"ok"),
        ("a streamed answer", b"", b"ab"),
        ("an answer until the end", b"", b"somemore"),
        ("a compressed answer", b"", gzip.decompress(ZIPPED)),
        ("a compressed body", gzip.decompress(ZIPPED), b"ok"),
        ("100 Continue", b"ab", b"ok"),
        ("early hints", b"", b"ok"),
        ("a large body", LONG, b"ok"),
    ],
)
def test_the_decoded_request_and_answer_are_recorded(feature: str, body: bytes, content: bytes) -> None:
    exchanges: list[Exchange] = []
    received_through_a_tap(FEATURES[feature], exchanges)
    assert (exchanges[0].body, exchanges[0].status, exchanges[0].answer, exchanges[0].error) == (body, 200, content, "")


def test_pipelined_requests_are_answered_in_order() -> None:
    """The tap sends the requests to the server one after the other."""
    exchanges: list[Exchange] = []
    second = GET.replace(b"query=up", b"query=other")
    with contextlib.closing(Ports()) as ports, listening() as listener:
        port = ports.reserve()
        with (
            contextlib.closing(Tap(f"http://127.0.0.1:{listener.getsockname()[1]}", exchanges.append, port)),
            socket.create_connection(("127.0.0.1", port), STUCK) as client,
        ):
            client.sendall(GET + second)
            server, _ = listener.accept()
            with server:
                server.settimeout(STUCK)
                for reply in (OK, OK.replace(b"ok", b"no")):
                    while not server.recv(1 << 16).endswith(b"\r\n\r\n"):
                        pass
                    server.sendall(reply)
                received = b""
                while len(received) < 2 * len(OK):
                    received += client.recv(1 << 16)
    assert received == OK + OK.replace(b"ok", b"no")
    assert [(exchange.path[-5:], exchange.answer) for exchange in exchanges] == [("ry=up", b"ok"), ("other", b"no")]


def test_a_persistent_connection_that_the_server_has_closed_is_not_reused() -> None:
    """The tap is busy while the server ends the connection."""
    ended = threading.Event()
    with contextlib.closing(Ports()) as ports, listening() as listener:
        port, upstream = ports.reserve(), f"http://127.0.0.1:{listener.getsockname()[1]}"
        with (
            contextlib.closing(Tap(upstream, lambda _: _await(ended), port)),
            socket.create_connection(("127.0.0.1", port), STUCK) as client,
        ):
            client.sendall(GET + GET)
            for _ in range(2):
                server, _ = listener.accept()
                with server:
                    server.settimeout(STUCK)
                    assert server.recv(1 << 16).endswith(b"\r\n\r\n")
                    server.sendall(OK)
                ended.set()
            received = b""
            while len(received) < 2 * len(OK):
                received += client.recv(1 << 16)
    assert received == OK + OK


def _await(event: threading.Event) -> None:
    assert event.wait(STUCK)
