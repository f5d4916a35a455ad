"""One connection for many requests, with servers that end it in different ways."""

from __future__ import annotations

import gzip
import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from schedproof.foundation.deadlines import REACTION
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.normalization.surfaces.kept_alive import KeptAlive, _has_ended

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
CLOSE, RESET, HANG = "close", "reset", "hang"


class Server:
    """A server that answers each request with the next entry of `script`: bytes, and how the connection ends after
    them.
    """

    def __init__(self) -> None:
        self.script: list[tuple[bytes, str]] = []
        self.requests: list[int] = []
        """Number of the connection of each request."""
        self.over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def will_answer(self, *answers: bytes | tuple[bytes, str]) -> None:
        self.script += [(answer, "") if isinstance(answer, bytes) else answer for answer in answers]

    def close(self) -> None:
        self.over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                number += 1
                self._serve_one(connection, number)

    def _serve_one(self, connection: socket.socket, number: int) -> None:
        received = connection.makefile("rb")
        while line := received.readline():
            assert line.startswith(b"POST /verb ")
            headers = http.client.parse_headers(received)
            received.read(int(headers["Content-Length"]))
            self.requests.append(number)
            answer, end = self.script.pop(0)
            connection.sendall(answer)
            if end == HANG:
                self.over.wait()
            if end == RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if end:
                received.close()
                return


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def client(server: Server) -> Iterator[KeptAlive]:
    kept = KeptAlive(lambda seconds: http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds))
    yield kept
    kept.close()


def post(client: KeptAlive, seconds: float = 30) -> bytes:
    return client.post("/verb", b"{}", {"Content-Type": "application/json"}, seconds).content


def with_headers(*headers: bytes, version: bytes = b"1.1") -> bytes:
    return b"\r\n".join([b"HTTP/%b 200 OK" % version, *headers, b"", b"fine"])


SIZED = b"Content-Length: 4"


@pytest.mark.parametrize(
    "answer",
    [OK, with_headers(SIZED, b"Connection: keep-alive", version=b"1.0"), b"HTTP/1.1 100 Continue\r\n\r\n" + OK],
)
def test_connection_is_kept_open(server: Server, client: KeptAlive, answer: bytes) -> None:
    server.will_answer(answer, answer, answer)
    assert [post(client) for _ in range(3)] == [b"fine"] * 3
    assert server.requests == [1, 1, 1]


@pytest.mark.parametrize(
    "answer",
    [
        with_headers(SIZED, b"Connection: close"),
        with_headers(SIZED, version=b"1.0"),
        with_headers(version=b"1.0"),
        with_headers(),  # without a length, its end is the connection's
    ],
)
def test_connection_with_an_announced_end_is_not_kept(server: Server, client: KeptAlive, answer: bytes) -> None:
    server.will_answer((answer, CLOSE), (answer, CLOSE))
    assert [post(client), post(client)] == [b"fine", b"fine"]
    assert server.requests == [1, 2]


def test_chunks_are_joined_and_the_content_encoding_is_returned(server: Server, client: KeptAlive) -> None:
    packed = gzip.compress(b"fine")
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (packed[:5], packed[5:], b""))
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" + chunks
    server.will_answer(answer, answer)
    for _ in range(2):
        response = client.post("/verb", b"{}", {}, 30)
        assert (response.status, response.encoding, response.content) == (200, "gzip", packed)
    assert server.requests == [1, 1]


def idle_end_seen(client: KeptAlive) -> None:
    def probe() -> None:
        assert client._idle is not None
        if not _has_ended(client._idle):
            raise NotYet("it is open")

    wait_for(probe, REACTION, what="the end of the connection")


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_connection_closed_while_idle_is_replaced(server: Server, client: KeptAlive, end: str) -> None:
    server.will_answer((OK, end), OK)
    post(client)
    idle_end_seen(client)
    assert post(client) == b"fine"
    assert server.requests == [1, 2]


def test_unsolicited_bytes_are_not_used_as_an_answer(server: Server, client: KeptAlive) -> None:
    server.will_answer(OK + OK.replace(b"fine", b"late"), OK)
    post(client)
    server.will_answer(OK)
    assert post(client) == b"fine"


@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_request_is_retried_once_if_a_kept_connection_ends_without_an_answer(
    server: Server, client: KeptAlive, end: str
) -> None:
    server.will_answer(OK, (b"", end), OK)
    assert [post(client), post(client)] == [b"fine", b"fine"]
    assert server.requests == [1, 1, 2]


@pytest.mark.parametrize(("end", "error"), [(CLOSE, http.client.RemoteDisconnected), (RESET, ConnectionResetError)])
def test_request_on_a_new_connection_is_not_retried(
    server: Server, client: KeptAlive, end: str, error: type[Exception]
) -> None:
    server.will_answer((b"", end))
    with pytest.raises(error):
        post(client)
    assert server.requests == [1]


def test_unanswered_request_is_sent_at_most_twice(server: Server, client: KeptAlive) -> None:
    server.will_answer(OK, (b"", CLOSE), (b"", CLOSE))
    post(client)
    with pytest.raises(http.client.RemoteDisconnected):
        post(client)
    assert server.requests == [1, 1, 2]


@pytest.mark.parametrize("begun", [b"H", OK[:-1]])
@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_request_with_a_truncated_answer_is_not_retried(
    server: Server, client: KeptAlive, begun: bytes, end: str
) -> None:
    server.will_answer(OK, (begun, end), OK)
    post(client)
    with pytest.raises((OSError, http.client.HTTPException)):
        post(client)
    assert server.requests == [1, 1]
    assert post(client) == b"fine"
    assert server.requests == [1, 1, 2]


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\n"])
def test_request_that_times_out_is_not_retried(server: Server, client: KeptAlive, begun: bytes) -> None:
    server.will_answer(OK, (begun, HANG))
    post(client)
    with pytest.raises(TimeoutError):
        post(client, seconds=0.05)
    assert server.requests == [1, 1]


def test_each_request_has_its_own_time_limit(server: Server, client: KeptAlive) -> None:
    server.will_answer(OK, (b"", HANG))
    post(client, seconds=600)
    with pytest.raises(TimeoutError):
        post(client, seconds=0.05)


def test_answer_that_is_not_http_is_an_error(server: Server, client: KeptAlive) -> None:
    server.will_answer((b"fine\r\n\r\n", CLOSE))
    with pytest.raises(http.client.BadStatusLine):
        post(client)


def test_closed_client_reconnects(server: Server, client: KeptAlive) -> None:
    server.will_answer(OK, OK)
    post(client)
    client.close()
    assert post(client) == b"fine"
    assert server.requests == [1, 2]


def test_refused_connection_is_an_error(client: KeptAlive, server: Server) -> None:
    def refuse(_seconds: float) -> http.client.HTTPConnection:
        raise ConnectionRefusedError("nothing listens")

    refusing: Callable[[], bytes] = lambda: post(KeptAlive(refuse))  # noqa: E731
    with pytest.raises(ConnectionRefusedError):
        refusing()
