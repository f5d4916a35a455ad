"""Taps, over real sockets: what passes is passed on and recorded, and each fault is what it says."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from schedproof.candidates import taps
from schedproof.candidates.taps import HARNESS, Exchange, Fault, Tap
from schedproof.foundation.ports import Ports

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
STUCK = 20.0
"""Seconds after which a test fails that would otherwise hang; nothing is judged by it."""
ANSWERING = [fault for fault in Fault if fault is not Fault.DOWN]


class Upstream(http.server.ThreadingHTTPServer):
    """The server behind the tap: keeps what it is asked, and answers as the test wants."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, answer: bytes = ANSWER) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answer = answer
        self.status = 200
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Answering(http.server.BaseHTTPRequestHandler):
    server: Upstream

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.command, self.path, headers, body))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Keep-Alive", "timeout=5")
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_GET = do_POST = _answer  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(answer: bytes = ANSWER) -> Iterator[Upstream]:
    with Upstream(answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Line:
    """A tap between a client and an upstream server, and what it recorded."""

    def __init__(self, upstream: Upstream, port: int) -> None:
        self.upstream = upstream
        self.port = port
        self.exchanges: list[Exchange] = []
        self._recorded = threading.Condition()
        self.tap = Tap(upstream.url, self._record, port)

    def _record(self, exchange: Exchange) -> None:
        with self._recorded:
            self.exchanges.append(exchange)
            self._recorded.notify_all()

    def await_exchange(self) -> Exchange:
        """The first one, once there is one."""
        with self._recorded:
            assert self._recorded.wait_for(lambda: self.exchanges, STUCK)
            return self.exchanges[0]

    def client(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=STUCK)

    def ask(
        self, method: str = "GET", path: str = "/api/v1/query?query=up", body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(self.client()) as client:
            client.request(method, path, body, given)
            response = client.getresponse()
            return response.status, response.read()


@pytest.fixture
def line() -> Iterator[Line]:
    with contextlib.closing(Ports()) as ports, serving() as upstream:
        line = Line(upstream, ports.reserve())
        with contextlib.closing(line.tap):
            yield line


# -- without a fault


def test_a_request_and_its_answer_pass_and_are_recorded(line: Line) -> None:
    status, answer = line.ask("POST", "/filter?x=1", b'{"Pod": 1}', Content_Type="application/json", X_Own="yes")
    assert (status, answer) == (200, ANSWER)
    ((method, path, headers, body),) = line.upstream.asked
    assert (method, path, body) == ("POST", "/filter?x=1", b'{"Pod": 1}')
    assert (headers["content-type"], headers["x-own"]) == ("application/json", "yes")
    (exchange,) = line.exchanges
    assert exchange == Exchange("POST", "/filter?x=1", b'{"Pod": 1}', 200, ANSWER, exchange.seconds)


def test_an_exchange_is_recorded_before_its_answer_is_passed_on(line: Line) -> None:
    """Who sees the effect of an answer finds the exchange on record: here, the client finds no answer so far."""
    seen: list[bytes | None] = []
    with socket.create_connection(("127.0.0.1", line.port), STUCK) as client:
        client.setblocking(False)
        record = line.tap._record

        def watched(exchange: Exchange) -> None:
            try:
                seen.append(client.recv(1))
            except BlockingIOError:
                seen.append(None)
            record(exchange)

        line.tap._record = watched
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        line.await_exchange()
    assert seen == [None]


@pytest.mark.parametrize("status", [204, 301, 404, 500, 503])
def test_every_status_passes(line: Line, status: int) -> None:
    line.upstream.status, line.upstream.answer = status, b""
    assert line.ask() == (status, b"")
    assert [(exchange.status, exchange.fault) for exchange in line.exchanges] == [(status, "")]


def test_headers_of_one_connection_stay_on_that_connection(line: Line) -> None:
    with contextlib.closing(line.client()) as client:
        client.request("GET", "/", headers={"TE": "trailers", "Proxy-Connection": "x", "Upgrade": "h2c"})
        response = client.getresponse()
        response.read()
        assert response.headers["Content-Type"] == "application/json"
        assert response.headers["Keep-Alive"] is None
        assert response.headers["Content-Length"] == str(len(ANSWER))
    ((_, _, headers, _),) = line.upstream.asked
    assert not headers.keys() & {"te", "proxy-connection", "upgrade"}
    assert headers["host"] == line.upstream.url.removeprefix("http://")


def test_the_server_behind_may_be_exchanged_and_may_have_a_path(line: Line) -> None:
    with serving(b"other") as other:
        line.tap.upstream = f"{other.url}/prefix/"
        assert line.ask(path="/api") == (200, b"other")
        assert other.asked[0][1] == "/prefix/api"
    assert line.upstream.asked == []


def test_where_nobody_answers_behind_it_says_so_as_a_proxy_would(line: Line) -> None:
    with contextlib.closing(Ports()) as ports:
        line.tap.upstream = f"http://127.0.0.1:{ports.reserve()}"
        status, answer = line.ask()
    assert status == 502
    assert answer.startswith(b"tap: no answer from upstream")
    assert [(exchange.status, exchange.fault) for exchange in line.exchanges] == [(502, "")]


def test_a_connection_is_kept_alive(line: Line) -> None:
    with contextlib.closing(line.client()) as client:
        sockets = set()
        for _ in range(3):
            client.request("GET", "/")
            assert client.getresponse().read() == ANSWER
            assert client.sock is not None
            sockets.add(client.sock)
        assert len(sockets) == 1
    assert len(line.exchanges) == 3


# -- each fault


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_drops_what_is_open_and_healing_serves_again_on_the_same_port(line: Line, fault: Fault) -> None:
    for _ in range(2):
        with contextlib.closing(line.client()) as client:
            client.request("GET", "/")
            client.getresponse().read()
            line.tap.inject(fault)
            assert client.sock is not None
            assert client.sock.recv(1) == b""
        line.tap.heal()
        assert line.ask() == (200, ANSWER)
    assert {exchange.fault for exchange in line.exchanges} == {""}
    assert line.tap.url == f"http://127.0.0.1:{line.port}"


def test_down_refuses_connections_and_keeps_its_port(line: Line) -> None:
    line.tap.inject(Fault.DOWN)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            line.ask()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", line.port))
    assert line.upstream.asked == []
    assert line.exchanges == []
    line.tap.heal()
    assert line.ask() == (200, ANSWER)


def test_what_is_down_can_be_taken_away(line: Line) -> None:
    line.tap.inject(Fault.DOWN)
    line.tap.close()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", line.port))


def test_reset_reads_the_request_and_resets(line: Line) -> None:
    line.tap.inject(Fault.RESET)
    with pytest.raises(ConnectionResetError):
        line.ask("POST", "/filter", b"{}")
    assert line.upstream.asked == []
    assert line.exchanges == [Exchange("POST", "/filter", b"{}", 0, b"", 0.0, "", "reset")]


def test_hang_reads_the_request_and_never_answers_also_not_once_it_is_healed(line: Line) -> None:
    line.tap.inject(Fault.HANG)
    with socket.create_connection(("127.0.0.1", line.port), STUCK) as client:
        client.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.await_exchange() == Exchange("GET", "/api", b"", 0, b"", 0.0, "", "hang")
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        client.settimeout(STUCK)
        line.tap.heal()
        assert client.recv(1) == b""
    assert line.upstream.asked == []
    assert line.ask() == (200, ANSWER)


class Patience(threading.Event):
    """Tells for how long somebody waits for it, once he does."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_for: float | None = None
        self._entered = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.waited_for = timeout
        self._entered.set()
        return super().wait(timeout)

    def await_waiter(self) -> None:
        assert self._entered.wait(STUCK)


def test_slow_answers_late_and_at_once_when_it_is_healed(line: Line) -> None:
    patience = line.tap._healed = Patience()
    line.tap.inject(Fault.SLOW)
    with contextlib.closing(line.client()) as client:
        client.request("GET", "/api")
        patience.await_waiter()
        assert patience.waited_for is not None
        assert 5 < patience.waited_for < 20  # kube-scheduler's own patience with extenders, and BIND
        assert (line.upstream.asked, line.exchanges) == ([], [])
        line.tap.heal()
        assert client.getresponse().read() == ANSWER
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.answer, exchange.fault) == (200, ANSWER, "slow")


def test_slow_answers_also_where_nobody_heals_it(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taps, "_SLOW_SECONDS", 0.0)
    line.tap.inject(Fault.SLOW)
    assert line.ask() == (200, ANSWER)
    assert [exchange.fault for exchange in line.exchanges] == ["slow"]


def test_unavailable_answers_in_the_servers_place(line: Line) -> None:
    line.tap.inject(Fault.UNAVAILABLE)
    assert line.ask() == (503, b"Service Unavailable")
    assert line.upstream.asked == []
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.answer, exchange.fault) == (503, b"Service Unavailable", "503")


def test_malformed_is_half_of_the_answer(line: Line) -> None:
    line.tap.inject(Fault.MALFORMED)
    status, answer = line.ask()
    assert (status, answer) == (200, ANSWER[: len(ANSWER) // 2])
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(answer)
    assert len(line.upstream.asked) == 1
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.answer, exchange.fault) == (200, answer, "malformed")


@pytest.mark.parametrize("first", Fault)
@pytest.mark.parametrize("then", [Fault.DOWN, Fault.UNAVAILABLE])
def test_one_fault_takes_the_place_of_another(line: Line, first: Fault, then: Fault) -> None:
    line.tap.inject(first)
    line.tap.inject(then)
    if then is Fault.DOWN:
        with pytest.raises(ConnectionRefusedError):
            line.ask()
    else:
        assert line.ask()[0] == 503
    line.tap.heal()
    assert line.ask() == (200, ANSWER)


def test_to_heal_what_is_whole_changes_nothing(line: Line) -> None:
    with contextlib.closing(line.client()) as client:
        for _ in range(2):
            line.tap.heal()
            client.request("GET", "/")
            assert client.getresponse().read() == ANSWER


# -- the harness's own requests


@pytest.mark.parametrize("fault", [None, *ANSWERING])
def test_what_the_harness_asks_passes_through_a_fault_and_unmarked(line: Line, fault: Fault | None) -> None:
    if fault is not None:
        line.tap.inject(fault)
    mark = "extender/malformed filter a list"
    assert line.ask("POST", "/filter", b"[]", **{HARNESS: mark}) == (200, ANSWER)
    ((_, path, headers, body),) = line.upstream.asked
    assert (path, body) == ("/filter", b"[]")
    assert HARNESS.lower() not in headers
    assert mark not in headers.values()
    (exchange,) = line.exchanges
    assert (exchange.by, exchange.status, exchange.fault) == (mark, 200, "")


def test_the_end_of_a_tap_ends_its_connections_and_what_hangs(line: Line) -> None:
    with contextlib.closing(line.client()) as idle, contextlib.closing(line.client()) as hanging:
        line.tap.inject(Fault.HANG)
        idle.connect()
        hanging.request("GET", "/")
        line.await_exchange()
        line.tap.close()
        for client in (idle, hanging):
            assert isinstance(client.sock, socket.socket)
            assert client.sock.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        line.ask()
