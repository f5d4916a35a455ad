"""Taps, over real sockets: requests and answers are forwarded and recorded, and each fault is injected as named."""

from __future__ import annotations

import base64
import contextlib
import gzip
import http.client
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedproof.daemons.certificates import Authority, KeyPair
from schedproof.daemons.password import USER
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.history.faults import Fault
from schedproof.proxies import messages
from schedproof.proxies.exchange import HARNESS, NOT_PERMITTED, Exchange
from schedproof.proxies.exchanges import asks_of_targets, only_asks
from schedproof.proxies.taps import Tap

ANSWER = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
STUCK = 20.0
"""Seconds after which a test fails that would otherwise hang; nothing is judged by it."""
READ = Deadline("request read", STUCK, "the tap reads it in a millisecond")
ANSWERING = [fault for fault in Fault if fault.place == "tap" and fault is not Fault.DOWN]


class Upstream(http.server.ThreadingHTTPServer):
    """The server behind the tap: keeps the requests that it receives, and answers as the test sets."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, answer: bytes = ANSWER) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answer = answer
        self.status = 200
        self.encoding = ""
        self.connections = 0
        self._free = threading.Event()
        self._free.set()
        self._read = threading.Event()
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def process_request(self, request: object, client_address: object) -> None:
        self.connections += 1
        super().process_request(request, client_address)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Hold all answers in this context."""
        self._free.clear()
        yield
        self._free.set()

    def await_request(self) -> None:
        assert self._read.wait(STUCK)

    def handle_error(self, *_: object) -> None:
        """A tap may be closed during a request."""


class _Answering(http.server.BaseHTTPRequestHandler):
    server: Upstream
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, headers, body))
        self.server._read.set()
        assert self.server._free.wait(STUCK)
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Keep-Alive", "timeout=5")
        if self.server.encoding:
            self.send_header("Content-Encoding", self.server.encoding)
        if self.server.status != 204:
            self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.server.answer)

    do_GET = do_POST = do_HEAD = _answer  # noqa: N815 - http.server's names

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


@contextlib.contextmanager
def serving_tls(pair: KeyPair) -> Iterator[Upstream]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with serving() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.url = server.url.replace("http:", "https:")
        yield server


def asked_at(url: str, tls: ssl.SSLContext | None = None, *, seconds: float = STUCK) -> tuple[int, bytes]:
    """GET, on a connection of its own."""
    address = url.rpartition("/")[2]
    client = (
        http.client.HTTPConnection(address, timeout=seconds)
        if tls is None
        else http.client.HTTPSConnection(address, timeout=seconds, context=tls)
    )
    with contextlib.closing(client):
        client.request("GET", "/")
        response = client.getresponse()
        return response.status, response.read()


@pytest.fixture
def ports() -> Iterator[Ports]:
    with contextlib.closing(Ports()) as ports:
        yield ports


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
        """Wait for the first exchange and return it."""
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


def test_a_request_and_its_answer_are_forwarded_and_recorded(line: Line) -> None:
    status, answer = line.ask("POST", "/filter?x=1", b'{"Pod": 1}', Content_Type="application/json", X_Own="yes")
    assert (status, answer) == (200, ANSWER)
    ((method, path, headers, body),) = line.upstream.requests
    assert (method, path, body) == ("POST", "/filter?x=1", b'{"Pod": 1}')
    assert (headers["content-type"], headers["x-own"]) == ("application/json", "yes")
    (exchange,) = line.exchanges
    assert exchange == Exchange("POST", "/filter?x=1", b'{"Pod": 1}', 200, ANSWER, exchange.seconds)


def test_an_exchange_is_recorded_before_its_answer_is_forwarded(line: Line) -> None:
    """The exchange must be recorded before its effect shows: here, the client has received no answer when it is
    recorded.
    """
    received: list[bytes | None] = []
    with socket.create_connection(("127.0.0.1", line.port), STUCK) as client:
        client.setblocking(False)
        record = line.tap._record

        def watched(exchange: Exchange) -> None:
            try:
                received.append(client.recv(1))
            except BlockingIOError:
                received.append(None)
            record(exchange)

        line.tap._record = watched
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        line.await_exchange()
    assert received == [None]


@pytest.mark.parametrize("status", [204, 301, 404, 500, 503])
def test_every_status_is_forwarded(line: Line, status: int) -> None:
    line.upstream.status, line.upstream.answer = status, b""
    assert line.ask() == (status, b"")
    assert [(exchange.status, exchange.fault) for exchange in line.exchanges] == [(status, "")]


def test_headers_other_than_host_are_forwarded_unchanged(line: Line) -> None:
    with contextlib.closing(line.client()) as client:
        client.request("GET", "/", headers={"TE": "trailers", "Connection": "TE", "x-OWN": "1"})
        response = client.getresponse()
        assert response.read() == ANSWER
        assert (response.headers["Content-Type"], response.headers["Keep-Alive"]) == ("application/json", "timeout=5")
    ((_, _, headers, _),) = line.upstream.requests
    assert (headers["te"], headers["connection"], headers["x-own"]) == ("trailers", "TE", "1")
    assert headers["host"] == line.upstream.url.removeprefix("http://")


def test_the_upstream_may_be_replaced_and_may_have_a_path(line: Line) -> None:
    with serving(b"other") as other:
        line.tap.upstream = f"{other.url}/prefix/"
        assert line.ask(path="/api") == (200, b"other")
        assert other.requests[0][1] == "/prefix/api"
    assert line.upstream.requests == []


def test_without_a_response_from_upstream_the_tap_answers_502(line: Line) -> None:
    with contextlib.closing(Ports()) as ports:
        line.tap.upstream = f"http://127.0.0.1:{ports.reserve()}"
        status, answer = line.ask()
    assert status == 502
    assert answer.startswith(b"tap: no response from upstream")
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
def test_a_fault_closes_open_connections_and_healing_serves_again_on_the_same_port(line: Line, fault: Fault) -> None:
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
    with socket.socket() as second, pytest.raises(OSError, match="in use"):
        second.bind(("127.0.0.1", line.port))
    assert line.upstream.requests == []
    assert line.exchanges == []
    line.tap.heal()
    assert line.ask() == (200, ANSWER)


def test_a_tap_that_is_down_can_be_closed(line: Line) -> None:
    line.tap.inject(Fault.DOWN)
    line.tap.close()
    with socket.socket() as second:
        second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        second.bind(("127.0.0.1", line.port))


def test_reset_reads_the_request_and_resets(line: Line) -> None:
    line.tap.inject(Fault.RESET)
    with pytest.raises(ConnectionResetError):
        line.ask("POST", "/filter", b"{}")
    assert line.upstream.requests == []
    assert line.exchanges == [Exchange("POST", "/filter", b"{}", 0, b"", 0.0, "", "reset")]


@pytest.mark.parametrize("then", [None, *Fault])
def test_hang_reads_the_request_and_never_answers_even_once_it_is_healed(line: Line, then: Fault | None) -> None:
    line.tap.inject(Fault.HANG)
    with socket.create_connection(("127.0.0.1", line.port), STUCK) as client:
        client.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.await_exchange() == Exchange("GET", "/api", b"", 0, b"", 0.0, "", "hang")
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        if then is not None:
            line.tap.inject(then)
        line.tap.heal()
        assert line.ask() == (200, ANSWER)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        client.settimeout(STUCK)
        line.tap.release()
        assert client.recv(1) == b""
    assert len(line.upstream.requests) == 1
    assert line.ask() == (200, ANSWER)


def test_a_client_that_abandons_a_hanging_request_is_served_at_its_next_request(line: Line) -> None:
    line.tap.inject(Fault.HANG)
    with contextlib.closing(line.client()) as client:
        client.request("GET", "/api")
        line.await_exchange()
    line.tap.heal()
    assert line.ask() == (200, ANSWER)
    line.tap.release()
    assert line.ask() == (200, ANSWER)


def delayed(tap: Tap) -> None:
    """A probe: whether a request is being delayed."""
    if not any(relay._delayed for relay in tap._relays):
        raise NotYet("no request waits")


def test_slow_delays_the_answer_until_it_is_healed(line: Line) -> None:
    assert 5 < line.tap.slow_seconds < 20  # kube-scheduler's own patience with extenders, and BIND
    line.tap.slow_seconds = STUCK * 2
    line.tap.inject(Fault.SLOW)
    with contextlib.closing(line.client()) as client:
        client.request("GET", "/api")
        wait_for(lambda: delayed(line.tap), READ, what="the request to be read")
        assert (line.upstream.requests, line.exchanges) == ([], [])
        line.tap.heal()
        assert client.getresponse().read() == ANSWER
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.answer, exchange.fault) == (200, ANSWER, "slow")


def test_slow_answers_after_its_delay_without_healing(line: Line) -> None:
    line.tap.slow_seconds = 0.0
    line.tap.inject(Fault.SLOW)
    assert line.ask() == (200, ANSWER)
    assert [exchange.fault for exchange in line.exchanges] == ["slow"]


def test_unavailable_answers_503_without_calling_upstream(line: Line) -> None:
    line.tap.inject(Fault.UNAVAILABLE)
    assert line.ask() == (503, b"Service Unavailable")
    assert line.upstream.requests == []
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.answer, exchange.fault) == (503, b"Service Unavailable", "503")


def test_malformed_is_half_of_the_answer(line: Line) -> None:
    line.tap.inject(Fault.MALFORMED)
    status, answer = line.ask()
    assert (status, answer) == (200, ANSWER[: len(ANSWER) // 2])
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(answer)
    assert len(line.upstream.requests) == 1
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.answer, exchange.fault) == (200, answer, "malformed")


@pytest.mark.parametrize("first", Fault)
@pytest.mark.parametrize("then", [Fault.DOWN, Fault.UNAVAILABLE])
def test_a_new_fault_replaces_the_current_fault(line: Line, first: Fault, then: Fault) -> None:
    line.tap.inject(first)
    line.tap.inject(then)
    if then is Fault.DOWN:
        with pytest.raises(ConnectionRefusedError):
            line.ask()
    else:
        assert line.ask()[0] == 503
    line.tap.heal()
    assert line.ask() == (200, ANSWER)


def test_healing_without_a_fault_changes_nothing(line: Line) -> None:
    with contextlib.closing(line.client()) as client:
        for _ in range(2):
            line.tap.heal()
            client.request("GET", "/")
            assert client.getresponse().read() == ANSWER


# -- the harness's own requests


@pytest.mark.parametrize("fault", [None, *ANSWERING])
def test_requests_of_the_harness_pass_through_a_fault_without_their_marker_header(
    line: Line, fault: Fault | None
) -> None:
    if fault is not None:
        line.tap.inject(fault)
    mark = "extender/malformed filter a list"
    assert line.ask("POST", "/filter", b"[]", **{HARNESS: mark}) == (200, ANSWER)
    ((_, path, headers, body),) = line.upstream.requests
    assert (path, body) == ("/filter", b"[]")
    assert HARNESS.lower() not in headers
    assert mark not in headers.values()
    (exchange,) = line.exchanges
    assert (exchange.by, exchange.status, exchange.fault) == (mark, 200, "")


def test_closing_a_tap_ends_idle_and_hanging_connections(line: Line) -> None:
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


# -- what is kept, and what came of what did not end


def test_of_large_bodies_the_beginning_and_the_size_are_recorded(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "KEPT", 1000)
    line.upstream.answer = b"a" * 500_000
    assert line.ask("POST", "/filter", b"b" * 400_000) == (200, line.upstream.answer)
    (exchange,) = line.exchanges
    assert (exchange.body, exchange.body_size) == (b"b" * 1000, 400_000)
    assert (exchange.answer, exchange.answer_size, exchange.cut) == (b"a" * 1000, 500_000, True)
    assert [body for _, _, _, body in line.upstream.requests] == [b"b" * 400_000]


@pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.MALFORMED, Fault.RESET, Fault.HANG])
def test_a_client_that_waits_for_100_continue_meets_the_fault_too(line: Line, fault: Fault) -> None:
    line.tap.inject(fault)
    with socket.create_connection(("127.0.0.1", line.port), STUCK) as client:
        client.sendall(b"POST /f HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 100")
        client.sendall(b"{}")
        exchange = line.await_exchange()
    assert (exchange.body, exchange.fault) == (b"{}", fault.value)


def test_malformed_halves_the_decoded_content_of_a_compressed_answer(line: Line) -> None:
    line.upstream.answer, line.upstream.encoding = gzip.compress(ANSWER), "gzip"
    assert line.ask(Accept_Encoding="gzip") == (200, line.upstream.answer)
    line.tap.inject(Fault.MALFORMED)
    assert line.ask(Accept_Encoding="gzip") == (200, ANSWER[: len(ANSWER) // 2])
    assert [exchange.answer for exchange in line.exchanges] == [ANSWER, ANSWER[: len(ANSWER) // 2]]


@pytest.mark.parametrize("fault", [Fault.MALFORMED, Fault.UNAVAILABLE, None])
def test_a_head_request_has_no_body_with_a_fault_either(line: Line, fault: Fault | None) -> None:
    if fault is not None:
        line.tap.inject(fault)
    with contextlib.closing(line.client()) as client:
        for _ in range(2):
            client.request("HEAD", "/")
            assert client.getresponse().read() == b""


def test_a_connection_that_a_fault_breaks_during_a_request_is_recorded(line: Line) -> None:
    with line.upstream.holding(), contextlib.closing(line.client()) as client:
        client.request("GET", "/")
        line.upstream.await_request()
        line.tap.inject(Fault.UNAVAILABLE)
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            client.getresponse()
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.fault, exchange.error != "") == (0, "503", True)


def test_an_upstream_that_closes_without_an_answer_ends_the_client_s_connection(line: Line) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.closing(line.client()) as client:
        line.tap.upstream = f"http://127.0.0.1:{server.getsockname()[1]}"
        client.request("GET", "/")
        accepted, _ = server.accept()
        with accepted:
            assert accepted.recv(1 << 16)
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            client.getresponse()
    (exchange,) = line.exchanges
    assert (exchange.status, exchange.fault, exchange.error != "") == (0, "", True)


def test_an_idle_client_stays_connected_when_the_upstream_is_replaced(line: Line) -> None:
    with serving(b"other") as other, contextlib.closing(line.client()) as client:
        with serving(b"first") as first:
            line.tap.upstream = first.url
            client.request("GET", "/")
            assert client.getresponse().read() == b"first"
            line.tap.upstream = other.url
        client.request("GET", "/")
        assert client.getresponse().read() == b"other"


def test_connections_to_the_upstream_are_reused(line: Line) -> None:
    with contextlib.closing(line.client()) as client:
        for _ in range(3):
            client.request("GET", "/")
            client.getresponse().read()
    assert line.upstream.connections == 1


def test_credentials_of_the_url_are_sent_if_the_client_sends_none(line: Line) -> None:
    line.tap.upstream = line.upstream.url.replace("http://", "http://us%40er:p%3Ass@")
    assert line.ask()[0] == 200
    assert line.ask(Authorization="Bearer own")[0] == 200
    sent = [headers["authorization"] for _, _, headers, _ in line.upstream.requests]
    assert sent == ["Basic " + base64.b64encode(b"us@er:p:ss").decode(), "Bearer own"]
    assert {headers["host"] for _, _, headers, _ in line.upstream.requests} == {
        line.upstream.url.removeprefix("http://")
    }


def test_a_server_of_the_harness_receives_only_the_harness_s_password(line: Line) -> None:
    line.tap.upstream = line.upstream.url.replace("http://", f"http://{USER}:ours@")
    assert line.ask(Authorization="Bearer own")[0] == 200
    ((_, _, headers, _),) = line.upstream.requests
    assert headers["authorization"] == "Basic " + base64.b64encode(f"{USER}:ours".encode()).decode()


WRITES = [
    ("POST", "/api/v1/write"), ("POST", "/api/v1/otlp/v1/metrics"), ("POST", "/-/quit"), ("PUT", "/-/reload"),
    ("POST", "/api/v1/admin/tsdb/delete_series?match[]=up"), ("POST", "/-/quit?x=/api/v1/query"),
    ("POST", "/api/v1/query/../write"), ("POST", "/api/v1/queryx"), ("CONNECT", "/api/v1/query"),
    ("DELETE", "/api/v1/series"),
]  # fmt: skip
QUERIES = [
    ("GET", "/api/v1/query?query=up"), ("HEAD", "/"), ("POST", "/api/v1/query"), ("POST", "/prefix/api/v1/query_range"),
    ("POST", "/api/v1/series"), ("POST", "/api/v1/read?x=/api/v1/write"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_requests_that_could_write_are_answered_with_403(line: Line, method: str, path: str) -> None:
    line.tap.permits = only_asks
    with contextlib.closing(line.client()) as client:
        client.putrequest(method, path)
        client.putheader("Content-Length", "1")
        client.endheaders(b"x")
        assert client.getresponse().read() == NOT_PERMITTED.encode()
        client.request("GET", "/api/v1/query")
        assert client.getresponse().read() == ANSWER
    assert [found[:2] for found in line.upstream.requests] == [("GET", "/api/v1/query")]
    assert [found.status for found in line.exchanges] == [403, 200]


@pytest.mark.parametrize(("method", "path"), QUERIES)
def test_queries_are_forwarded(line: Line, method: str, path: str) -> None:
    line.tap.permits = only_asks
    assert line.ask(method, path)[0] == 200
    assert line.upstream.requests[0][:2] == (method, path)


# -- what another server answers


@contextlib.contextmanager
def elsewhere(line: Line) -> Iterator[Upstream]:
    """The server that answers requests about targets instead of the server behind the tap."""
    with serving(b"elsewhere") as other:
        line.tap.elsewhere = lambda url, method, target: (
            (lambda: other.url) if url == line.upstream.url and asks_of_targets(method, target) else None
        )
        yield other


@pytest.mark.parametrize(
    "path",
    ["/api/v1/targets", "/api/v1/targets?state=active", "/api/v1/targets/metadata?limit=1", "/api/v1/metadata"],
)
def test_requests_about_targets_are_answered_elsewhere_on_the_same_connection(line: Line, path: str) -> None:
    paths = ["/api/v1/query", path, "/api/v1/query"]
    with elsewhere(line) as other, contextlib.closing(line.client()) as client:
        answers = []
        for requested in paths:
            client.request("GET", requested)
            answers.append(client.getresponse().read())
    assert answers == [ANSWER, b"elsewhere", ANSWER]
    assert [found[1] for found in line.upstream.requests] == ["/api/v1/query", "/api/v1/query"]
    assert [found[:2] for found in other.requests] == [("GET", path)]
    assert [(found.path, found.status) for found in line.exchanges] == [(requested, 200) for requested in paths]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/v1/query?query=/api/v1/targets"), ("GET", "/api/v1/scrape_pools"), ("HEAD", "/api/v1/targets"),
     ("GET", "/api/v1/targets/relabel_steps"), ("POST", "/api/v1/metadata")],
)  # fmt: skip
def test_other_requests_are_answered_by_the_upstream(line: Line, method: str, path: str) -> None:
    with elsewhere(line) as other:
        assert line.ask(method, path)[0] == 200
    assert (line.upstream.requests[0][:2], other.requests) == ((method, path), [])


def test_an_upstream_that_answers_all_requests_keeps_its_connection(line: Line) -> None:
    line.tap.elsewhere = lambda *_: None
    with contextlib.closing(line.client()) as client:
        for path in ("/api/v1/query", "/api/v1/targets"):
            client.request("GET", path)
            assert client.getresponse().read() == ANSWER
    assert line.upstream.connections == 1


def test_other_requests_do_not_wait_while_a_server_elsewhere_is_started(line: Line) -> None:
    begun, found = threading.Event(), threading.Event()

    def find() -> str:
        begun.set()
        assert found.wait(STUCK)
        return line.upstream.url

    line.tap.elsewhere = lambda _, method, target: find if asks_of_targets(method, target) else None
    with contextlib.closing(line.client()) as client:
        client.request("GET", "/api/v1/targets")
        assert begun.wait(STUCK)
        assert line.ask() == (200, ANSWER)
        found.set()
        assert client.getresponse().read() == ANSWER


def test_a_connection_breaks_while_a_server_elsewhere_is_started(line: Line) -> None:
    begun, left = threading.Event(), threading.Event()

    def find() -> str:
        begun.set()
        assert left.wait(STUCK)
        return line.upstream.url

    line.tap.elsewhere = lambda *_: find
    with contextlib.closing(line.client()) as client:
        client.request("GET", "/api/v1/targets")
        assert begun.wait(STUCK)
        line.tap.inject(Fault.RESET)
    assert [exchange.status for exchange in line.exchanges] == [0]
    left.set()
    line.tap.heal()
    line.tap.elsewhere = None
    assert line.ask() == (200, ANSWER)


def test_without_a_server_elsewhere_the_tap_answers_502(line: Line) -> None:
    def find() -> str:
        raise ConnectionRefusedError("it was closed")

    line.tap.elsewhere = lambda *_: find
    status, answer = line.ask(path="/api/v1/targets")
    assert (status, answer) == (502, b"tap: no response from upstream: it was closed")
    assert line.upstream.requests == []


@pytest.mark.parametrize(
    "first",
    [
        b"\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnot a length\r\n",
    ],
)
def test_malformed_http_cannot_smuggle_a_request(line: Line, first: bytes) -> None:
    line.tap.permits = only_asks
    with socket.create_connection(("127.0.0.1", line.port), STUCK) as client:
        client.sendall(first + b"POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            while client.recv(4096):
                pass
    assert not [path for _, path, _, _ in line.upstream.requests if path != "/"]


def test_concurrent_faults_and_requests_give_only_allowed_answers(line: Line) -> None:
    done = threading.Event()
    wrong: list[object] = []

    def ask() -> None:
        while not done.is_set():
            try:
                answered = line.ask()
            except (OSError, http.client.HTTPException):
                continue
            if answered not in ((200, ANSWER), (503, b"Service Unavailable")):
                wrong.append(answered)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for _ in range(20):
        for fault in (Fault.DOWN, Fault.HANG, Fault.RESET, Fault.UNAVAILABLE):
            line.tap.inject(fault)
        line.tap.heal()
    done.set()
    line.tap.release()
    for asker in askers:
        asker.join()
    assert wrong == []
    assert line.ask() == (200, ANSWER)


# -- TLS


def test_an_upstream_with_tls_is_verified_with_the_given_trust(ports: Ports, tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    with serving_tls(authority.server("server")) as upstream:
        for trusted, expected in ((authority, 200), (stranger, 502)):
            trust = ssl.create_default_context(cafile=trusted.certificate)
            exchanges: list[Exchange] = []
            tap = Tap(upstream.url, exchanges.append, ports.reserve(), trust=trust)
            with contextlib.closing(tap):
                assert asked_at(tap.url)[0] == expected
            assert [exchange.status for exchange in exchanges] == [expected]


def test_a_given_server_name_is_verified_instead_of_the_address(ports: Ports, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ours")
    trust = ssl.create_default_context(cafile=authority.certificate)
    with serving_tls(authority.server("server")) as upstream:
        for name, expected in (("localhost", 200), ("elsewhere", 502)):
            with contextlib.closing(
                Tap(upstream.url, lambda _: None, ports.reserve(), trust=trust, server_name=name)
            ) as tap:
                assert asked_at(tap.url)[0] == expected


@pytest.mark.parametrize("fault", ANSWERING)
def test_a_tap_serves_tls_with_and_without_faults(ports: Ports, tmp_path: Path, fault: Fault) -> None:
    authority = Authority(tmp_path / "ours")
    pair = authority.server("tap")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    client = ssl.create_default_context(cafile=authority.certificate)
    with serving() as upstream:
        tap = Tap(upstream.url, lambda _: None, ports.reserve(), serving=context)
        tap.slow_seconds = 0.0
        with contextlib.closing(tap):
            assert asked_at(tap.url, client) == (200, ANSWER)
            tap.inject(fault)
            if fault is Fault.HANG:
                with pytest.raises(TimeoutError):
                    asked_at(tap.url, client, seconds=0.2)
            elif fault is Fault.RESET:
                with pytest.raises(OSError, match=r"reset|EOF|closed"):
                    asked_at(tap.url, client)
            else:
                assert asked_at(tap.url, client)[0] in (200, 503)
            tap.heal()
            assert asked_at(tap.url, client) == (200, ANSWER)
