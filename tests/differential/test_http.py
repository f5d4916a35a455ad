"""kube-scheduler's client receives through a tap what it receives from an extender itself, in HTTP/2 and HTTP/1.1."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import socket
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hpack
import pytest
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from schedproof.binaries import lock, toolchain
from schedproof.binaries.goversion import GoVersion
from schedproof.daemons.certificates import Authority
from schedproof.documents.extender_answers import read_answer
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.progress import ConsoleProgress
from schedproof.proxies.exchange import Exchange
from schedproof.proxies.tap_tls import own_certificate, trust_of
from schedproof.proxies.taps import Tap

pytestmark = [pytest.mark.live, pytest.mark.slow]

STUCK = 20.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OK = [(":status", "200")]
LONG = "x" * 300_000
ANSWER = b'[{"Host": "a", "Score": 1}]'


class Peer:
    """The server's end of one connection, which reads whole requests and writes whatever it is told."""

    def __init__(self, secure: ssl.SSLSocket, number: int) -> None:
        self.secure, self.number = secure, number
        self.file = secure.makefile("rb")
        self.encoder = hpack.Encoder()

    def greet(self, settings: Mapping[int, int] | None = None) -> None:
        assert self.file.read(len(PREFACE)) == PREFACE
        self.send(SettingsFrame(0, dict(settings or {})))

    def frame(self) -> Frame:
        head = self.file.read(9)
        if len(head) < 9:
            raise ConnectionError
        frame, length = Frame.parse_frame_header(memoryview(head))
        frame.parse_body(memoryview(self.file.read(length)))
        if isinstance(frame, SettingsFrame) and "ACK" not in frame.flags:
            self.send(SettingsFrame(0, flags=["ACK"]))
        return frame

    def request(self, *, window: bool = True) -> int:
        """Read a request to its end; give the window that it takes. Return its stream."""
        while True:
            frame = self.frame()
            if isinstance(frame, DataFrame) and frame.data and window:
                for stream in (0, frame.stream_id):
                    self.send(WindowUpdateFrame(stream, window_increment=len(frame.data)))
            if "END_STREAM" in frame.flags:
                return int(frame.stream_id)

    def request1(self) -> tuple[str, str]:
        """Read a request in HTTP/1.1. Return its path and its host."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            if not line:
                raise ConnectionError
            head += line
        fields = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:-2])
        self.file.read(int(fields.get("content-length", 0)))
        return head.split()[1].decode(), fields["host"]

    def send(self, *frames: Frame) -> None:
        self.secure.sendall(b"".join(frame.serialize() for frame in frames))

    def head(self, stream: int, *fields: tuple[str, str], end: bool = False) -> None:
        flags = ["END_HEADERS", *(["END_STREAM"] if end else [])]
        self.send(HeadersFrame(stream, self.encoder.encode([*fields]), flags=flags))

    def body(self, stream: int, data: bytes, *, end: bool = True) -> None:
        self.send(DataFrame(stream, data, flags=["END_STREAM"] if end else []))

    def answer(self, stream: int, data: bytes = ANSWER) -> None:
        self.head(stream, *OK)
        self.body(stream, data)


Talk = Callable[[Peer], None]


def each(reply: Callable[[Peer, int], None], settings: Mapping[int, int] | None = None) -> Talk:
    """Serve each request of a connection by this."""

    def talk(peer: Peer) -> None:
        peer.greet(settings)
        while True:
            reply(peer, peer.request())

    return talk


def once(first: Callable[[Peer], None]) -> Talk:
    """Do this on the first connection, and answer on the others."""

    def talk(peer: Peer) -> None:
        if peer.number:
            each(Peer.answer)(peer)
        else:
            first(peer)

    return talk


def with_head(*fields: tuple[str, str], body: bytes = ANSWER) -> Talk:
    def reply(peer: Peer, stream: int) -> None:
        peer.head(stream, *fields, end=not body)
        if body:
            peer.body(stream, body)

    return each(reply)


def trailers(peer: Peer, stream: int) -> None:
    peer.head(stream, *OK)
    peer.body(stream, ANSWER, end=False)
    peer.head(stream, ("grpc-status", "0"), end=True)


def interim(peer: Peer, stream: int) -> None:
    peer.head(stream, (":status", "103"), ("link", "</a>"))
    peer.answer(stream)


def large(peer: Peer, stream: int) -> None:
    """3 MB, within the window of Go's client."""
    peer.head(stream, *OK)
    peer.body(stream, b'[{"Host": "', end=False)
    for _ in range(200):
        peer.body(stream, b"x" * 15_000, end=False)
    peer.body(stream, b'"}]')


def padded(peer: Peer, stream: int) -> None:
    peer.head(stream, *OK)
    peer.send(DataFrame(stream, ANSWER, pad_length=100, flags=["PADDED", "END_STREAM"]))


def continued(peer: Peer, stream: int) -> None:
    block = peer.encoder.encode([*OK, ("x-long", LONG)], huffman=False)
    pieces = [block[begin : begin + 16_000] for begin in range(0, len(block), 16_000)]
    peer.send(HeadersFrame(stream, pieces[0]), *(ContinuationFrame(stream, piece) for piece in pieces[1:-1]))
    peer.send(ContinuationFrame(stream, pieces[-1], flags=["END_HEADERS"]))
    peer.body(stream, ANSWER)


def pinged(peer: Peer, stream: int) -> None:
    peer.send(PingFrame(0, b"12345678"))
    peer.secure.sendall(b"\0\0\1\xfa\0\0\0\0\0?")
    while not isinstance(peer.frame(), PingFrame):
        pass
    peer.answer(stream)


def pushed(peer: Peer, stream: int) -> None:
    block = peer.encoder.encode([(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/")])
    peer.send(PushPromiseFrame(stream, promised_stream_id=2, data=block, flags=["END_HEADERS"]))
    peer.answer(stream)


def early(peer: Peer) -> None:
    """Answer when the request's head has arrived, and want no more of it."""
    peer.greet({SettingsFrame.INITIAL_WINDOW_SIZE: 10})
    frame = peer.frame()
    while not isinstance(frame, HeadersFrame):
        frame = peer.frame()
    peer.answer(frame.stream_id)
    peer.send(RstStreamFrame(frame.stream_id, 0))
    wait(peer)


def drip(peer: Peer) -> None:
    """Admit ten bytes at a time."""
    peer.greet({SettingsFrame.INITIAL_WINDOW_SIZE: 10})
    while True:
        frame = peer.frame()
        if isinstance(frame, DataFrame) and "END_STREAM" not in frame.flags:
            peer.send(*(WindowUpdateFrame(stream, window_increment=10) for stream in (0, frame.stream_id)))
        elif "END_STREAM" in frame.flags:
            peer.answer(frame.stream_id)


def reset(code: int) -> Talk:
    def talk(peer: Peer) -> None:
        peer.greet()
        peer.send(RstStreamFrame(peer.request(), code))
        while True:
            peer.answer(peer.request())

    return talk


def refuses_first(peer: Peer) -> None:
    peer.greet()
    peer.request()
    peer.send(GoAwayFrame(0, last_stream_id=0))
    wait(peer)


def goes_after_answer(peer: Peer) -> None:
    peer.greet()
    stream = peer.request()
    peer.send(GoAwayFrame(0, last_stream_id=stream))
    peer.answer(stream)
    wait(peer)


def goes_and_closes(peer: Peer) -> None:
    peer.greet()
    stream = peer.request()
    peer.answer(stream)
    peer.send(GoAwayFrame(0, last_stream_id=stream))


def goes_with_error(peer: Peer) -> None:
    peer.greet()
    peer.send(GoAwayFrame(0, last_stream_id=peer.request(), error_code=2))


def refuses_half_answered(peer: Peer) -> None:
    peer.greet()
    stream = peer.request()
    peer.head(stream, *OK)
    peer.send(RstStreamFrame(stream, 7))
    while True:
        peer.answer(peer.request())


def hangs_up(peer: Peer) -> None:
    peer.greet()
    peer.request()


def hangs_up_half_answered(peer: Peer) -> None:
    peer.greet()
    stream = peer.request()
    peer.head(stream, *OK)
    peer.body(stream, ANSWER[:5], end=False)


def speaks_http1(peer: Peer) -> None:
    peer.secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    wait(peer)


def too_long_a_frame(peer: Peer) -> None:
    peer.greet()
    stream = peer.request()
    peer.head(stream, *OK)
    peer.body(stream, b"x" * 20_000)
    wait(peer)


def slowly(peer: Peer, stream: int) -> None:
    peer.head(stream, *OK)
    for letter in ANSWER.decode():
        peer.body(stream, letter.encode(), end=False)
        time.sleep(0.01)
    peer.body(stream, b"")


def wait(peer: Peer) -> None:
    """Until the client closes the connection."""
    while True:
        peer.frame()


@dataclasses.dataclass(frozen=True)
class Feature:
    talk: Talk
    body: str = "{}"
    alpn: tuple[str, ...] = ("h2",)
    times: int = 2
    pause: int = 0


def raw(*pieces: bytes, close: bool = False, pause: float = 0.0) -> Talk:
    """Answer each request with these bytes of HTTP/1.1, and close the connection at once if told so."""

    def talk(peer: Peer) -> None:
        while True:
            peer.request1()
            for piece in pieces:
                peer.secure.sendall(piece)
                time.sleep(pause)
            if close:
                return

    return talk


def http1(*headers: bytes, body: bytes = ANSWER, line: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return b"\r\n".join((line, *headers, b"", body))


def redirected(location: str, status: bytes = b"307 Temporary Redirect") -> Talk:
    """Send requests for /filter to a location; `{port}` is the server's own."""

    def talk(peer: Peer) -> None:
        while True:
            path, host = peer.request1()
            where = location.format(host=host).encode()
            reply = http1(b"Location: " + where, b"Content-Length: 0", body=b"", line=b"HTTP/1.1 " + status)
            peer.secure.sendall(reply if path == "/filter" else http1(LENGTH))

    return talk


def keeps_idle(seconds: float) -> Talk:
    """Close connections that have been idle for so long."""

    def talk(peer: Peer) -> None:
        while True:
            peer.request1()
            peer.secure.sendall(http1(LENGTH))
            peer.secure.settimeout(seconds)

    return talk


LENGTH = b"Content-Length: %d" % len(ANSWER)
ZIPPED = gzip.compress(ANSWER, mtime=0)
FEATURES: dict[str, Feature] = {
    "answers": Feature(each(Peer.answer), times=3),
    "a large request": Feature(each(Peer.answer), LONG * 10),
    "a large answer": Feature(each(large)),
    "an empty answer": Feature(with_head(*OK, body=b"")),
    "a status of its own": Feature(with_head((":status", "599"), body=b"no")),
    "204": Feature(with_head((":status", "204"), body=b"")),
    "a length": Feature(with_head(*OK, ("content-length", str(len(ANSWER))))),
    "gzip": Feature(with_head(*OK, ("content-encoding", "gzip"), body=ZIPPED)),
    "what is no gzip": Feature(with_head(*OK, ("content-encoding", "gzip"))),
    "more than its length": Feature(with_head(*OK, ("content-length", "5"))),
    "less than its length": Feature(with_head(*OK, ("content-length", "50"))),
    "a length that is none": Feature(with_head(*OK, ("content-length", "many"))),
    "headers of HTTP/1.1": Feature(with_head(*OK, ("connection", "keep-alive"), ("transfer-encoding", "chunked"))),
    "a header with blanks": Feature(with_head(*OK, ("x-a", " a "))),
    "a header with a control character": Feature(with_head(*OK, ("x-a", "a\x01"))),
    "a header in capitals": Feature(with_head(*OK, ("X-A", "a"))),
    "no status": Feature(with_head(("x-a", "a"))),
    "a status that is no number": Feature(with_head((":status", "fine"))),
    "trailers": Feature(each(trailers)),
    "an interim answer": Feature(each(interim)),
    "padding": Feature(each(padded)),
    "long headers": Feature(each(continued)),
    "a ping, and an unknown frame": Feature(each(pinged)),
    "a push": Feature(each(pushed)),
    "slowly": Feature(each(slowly)),
    "an answer before the request's end": Feature(early, LONG, times=1),
    "ten bytes at a time": Feature(drip, "x" * 95),
    "one stream at a time": Feature(each(Peer.answer, {SettingsFrame.MAX_CONCURRENT_STREAMS: 1})),
    "refuses the first stream": Feature(reset(7)),
    "an error of protocol": Feature(once(reset(1))),
    "cancels": Feature(once(reset(8))),
    "an internal error": Feature(once(reset(2))),
    "goes before it has read": Feature(once(refuses_first)),
    "goes with the answer": Feature(once(goes_after_answer)),
    "goes after the answer": Feature(once(goes_and_closes), times=3, pause=200),
    "goes with an error": Feature(once(goes_with_error)),
    "refuses after the head": Feature(once(refuses_half_answered)),
    "hangs up": Feature(once(hangs_up)),
    "hangs up in the middle": Feature(once(hangs_up_half_answered)),
    "HTTP/1.1 in spite of its choice": Feature(speaks_http1, times=1),
    "too long a frame": Feature(too_long_a_frame, times=1),
    "HTTP/2 without a choice": Feature(each(Peer.answer), alpn=(), times=1),
}  # fmt: skip
CHUNKED = b"Transfer-Encoding: chunked"
CHUNKS = b"1b\r\n%b\r\n0\r\n\r\n" % ANSWER
ZIPPED_CHUNK = http1(b"Content-Encoding: gzip", CHUNKED, body=b"%x\r\n%b\r\n" % (len(ZIPPED), ZIPPED))
LETTERS = [b"1\r\n%c\r\n" % letter for letter in ANSWER]
HTTP1 = {
    "a length": raw(http1(LENGTH)),
    "no length": raw(http1(), close=True),
    "HTTP/1.0": raw(http1(line=b"HTTP/1.0 200 OK"), close=True),
    "HTTP/1.0, kept alive": raw(http1(LENGTH, b"Connection: keep-alive", line=b"HTTP/1.0 200 OK")),
    "chunks": raw(http1(CHUNKED, body=CHUNKS)),
    "chunks with extensions": raw(http1(CHUNKED, body=b"1b;a=b\r\n%b\r\n0;c\r\n\r\n" % ANSWER)),
    "chunks with trailers": raw(http1(CHUNKED, body=b"1b\r\n%b\r\n0\r\nA: b\r\n\r\n" % ANSWER)),
    "chunks with blanks": raw(http1(CHUNKED, body=b"1b \r\n%b\r\n0\r\n\r\n" % ANSWER)),
    "chunks with line feeds": raw(http1(CHUNKED, body=b"1b\n%b\n0\n\n" % ANSWER), close=True),
    "chunks without an end": raw(http1(CHUNKED, body=b"1b\r\n%b\r\n" % ANSWER), close=True),
    "chunks in capitals": raw(http1(b"Transfer-Encoding: Chunked", body=b"1B\r\n%b\r\n0\r\n\r\n" % ANSWER)),
    "gzip, then chunks": raw(http1(b"Transfer-Encoding: gzip, chunked", body=CHUNKS), close=True),
    "identity": raw(http1(b"Transfer-Encoding: identity", LENGTH), close=True),
    "chunks and a length": raw(http1(CHUNKED, LENGTH, body=CHUNKS)),
    "two equal lengths": raw(http1(LENGTH, LENGTH)),
    "two lengths": raw(http1(LENGTH, b"Content-Length: 5")),
    "a list of lengths": raw(http1(b"Content-Length: 27, 27")),
    "a length with a sign": raw(http1(b"Content-Length: +27")),
    "a negative length": raw(http1(b"Content-Length: -1"), close=True),
    "no number as length": raw(http1(b"Content-Length: many"), close=True),
    "an empty length": raw(http1(b"Content-Length: "), close=True),
    "less than its length": raw(http1(b"Content-Length: 50"), close=True),
    "more than its length": raw(http1(LENGTH, body=ANSWER + b"???"), close=True),
    "line feeds": raw(http1(LENGTH).replace(b"\r\n", b"\n")),
    "blank lines before": raw(b"\r\n" + http1(LENGTH)),
    "no reason": raw(http1(LENGTH, line=b"HTTP/1.1 200")),
    "a blank reason": raw(http1(LENGTH, line=b"HTTP/1.1 200 ")),
    "two blanks": raw(http1(LENGTH, line=b"HTTP/1.1  200 OK"), close=True),
    "a reason that is no ASCII": raw(http1(LENGTH, line="HTTP/1.1 200 Schön".encode())),
    "HTTP/1.2": raw(http1(LENGTH, line=b"HTTP/1.2 200 OK"), close=True),
    "HTTP/2.0 as text": raw(http1(LENGTH, line=b"HTTP/2.0 200 OK"), close=True),
    "http/1.1": raw(http1(LENGTH, line=b"http/1.1 200 OK"), close=True),
    "ICY": raw(http1(LENGTH, line=b"ICY 200 OK"), close=True),
    "a status of four digits": raw(http1(LENGTH, line=b"HTTP/1.1 2000 OK"), close=True),
    "a status of two digits": raw(http1(LENGTH, line=b"HTTP/1.1 20 OK"), close=True),
    "status 600": raw(http1(LENGTH, line=b"HTTP/1.1 600 OK"), close=True),
    "status 199": raw(http1(line=b"HTTP/1.1 199 Soon", body=b"") + http1(LENGTH)),
    "six interim answers": raw(http1(line=b"HTTP/1.1 102 Soon", body=b"") * 6 + http1(LENGTH)),
    "100": raw(http1(line=b"HTTP/1.1 100 Continue", body=b"") + http1(LENGTH)),
    "204 with content": raw(http1(LENGTH, line=b"HTTP/1.1 204 No"), close=True),
    "304": raw(http1(LENGTH, line=b"HTTP/1.1 304 No", body=b""), close=True),
    "a folded header": raw(http1(b"X-A: a,\r\n b", LENGTH)),
    "a blank before the colon": raw(http1(b"X-A : a", LENGTH)),
    "a header without a colon": raw(http1(b"X-A", LENGTH), close=True),
    "a header without a name": raw(http1(b": a", LENGTH), close=True),
    "a name that is no token": raw(http1(b"X(A): a", LENGTH)),
    "a name that is no ASCII": raw(http1("Ä: a".encode(), LENGTH), close=True),
    "a value that is no ASCII": raw(http1("X-A: ä".encode(), LENGTH)),
    "a value with a control character": raw(http1(b"X-A: \x01", LENGTH), close=True),
    "a value with NUL": raw(http1(b"X-A: a\0", LENGTH), close=True),
    "a tab before the value": raw(http1(b"X-A:\ta", LENGTH)),
    "a blank before the first header": raw(http1(b" X-A: a", LENGTH), close=True),
    "many headers": raw(http1(*(b"X-%d: a" % number for number in range(5000)), LENGTH)),
    "2 MB of headers": raw(http1(b"X-A: " + b"x" * (2 << 20), LENGTH), close=True),
    "12 MB of headers": raw(http1(b"X-A: " + b"x" * (12 << 20), LENGTH), close=True),
    "gzip": raw(http1(b"Content-Encoding: gzip", b"Content-Length: %d" % len(ZIPPED), body=ZIPPED)),
    "gzip in capitals": raw(http1(b"Content-Encoding: GZIP", b"Content-Length: %d" % len(ZIPPED), body=ZIPPED)),
    "gzip, cut off": raw(http1(b"Content-Encoding: gzip", body=ZIPPED[:-9]), close=True),
    "deflate": raw(http1(b"Content-Encoding: deflate", body=zlib.compress(ANSWER)), close=True),
    "x-gzip": raw(http1(b"Content-Encoding: x-gzip", body=ZIPPED), close=True),
    "slowly": raw(http1(CHUNKED, body=b""), *LETTERS, b"0\r\n\r\n", pause=0.01),
    "all, and the end late": raw(http1(CHUNKED, body=CHUNKS[:-5]), CHUNKS[-5:], pause=0.3),
    "a late end of gzip": raw(ZIPPED_CHUNK, b"0\r\n\r\n", pause=0.3),
    "no HTTP": raw(b"nonsense\r\n", close=True),
    "nothing": raw(close=True),
    "a part of the head": raw(http1(LENGTH)[:30], close=True),
    "a redirect by a path": redirected("/elsewhere"),
    "a redirect by a path, with 308": redirected("/elsewhere", b"308 Permanent Redirect"),
    "a redirect to itself": redirected("https://{host}/elsewhere"),
    "a redirect without scheme": redirected("//{host}/elsewhere"),
    "a redirect without location": redirected(""),
    "a redirect in a circle": redirected("/filter"),
    "close": raw(http1(LENGTH, b"Connection: close"), close=True),
    "a close without a word": raw(http1(LENGTH), close=True),
}  # fmt: skip
FEATURES |= {
    f"1: {name}": Feature(talk, alpn=("http/1.1",), pause=100 if "close" in name else 0) for name, talk in HTTP1.items()
}
FEATURES |= {
    "1: closes idle connections": Feature(keeps_idle(0.2), alpn=("http/1.1",), times=3, pause=400),
    "1: without a choice": Feature(raw(http1(LENGTH)), alpn=()),
}


@contextlib.contextmanager
def serving(feature: Feature, context: ssl.SSLContext) -> Iterator[int]:
    """The port of a server with this feature."""
    threads: list[threading.Thread] = []

    def talk(connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, AssertionError), context.wrap_socket(connection, server_side=True) as secure:
            secure.settimeout(STUCK)
            feature.talk(Peer(secure, number))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threads.append(threading.Thread(target=talk, args=(connection, len(threads))))
                threads[-1].start()

    context.set_alpn_protocols(feature.alpn)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
    for each_thread in (thread, *threads):
        each_thread.join()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = toolchain.obtain(GoVersion(1, 24, 0), lock.load().go, ConsoleProgress())
    built = tmp_path_factory.mktemp("http") / "http"
    source = Path(__file__).parent / "http" / "main.go"
    subprocess.run([go.path, "build", "-o", built, source], check=True, cwd=built.parent)
    return built


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    pair = Authority(tmp_path_factory.mktemp("authority") / "ours").server("extender")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def received(program: Path, url: str, feature: Feature) -> list[tuple[int, str, bool]]:
    """What Go's client receives: the status and the value of each response, and whether it failed."""
    question = {"URL": f"{url}/filter", "Body": feature.body, "Times": feature.times, "Pause": feature.pause}
    done = subprocess.run([program], input=json.dumps(question) + "\n", capture_output=True, text=True, check=True)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return [(answer["Status"], answer["Body"], bool(answer["Error"])) for answer in answers]


@pytest.mark.parametrize("feature", FEATURES)
def test_what_kube_scheduler_receives(feature: str, program: Path, certificate: ssl.SSLContext) -> None:
    tried = FEATURES[feature]
    with serving(tried, certificate) as port:
        direct = received(program, f"https://127.0.0.1:{port}", tried)
    exchanges: list[Exchange] = []
    ours, _ = own_certificate("127.0.0.1")
    with serving(tried, certificate) as port, contextlib.closing(Ports()) as ports:
        tap = Tap(
            f"https://127.0.0.1:{port}",
            exchanges.append,
            ports.reserve(),
            serving=ours,
            trust=trust_of({}),
            keeps_clients=True,
        )
        with contextlib.closing(tap):
            tapped = received(program, tap.url, tried)
    assert tapped == direct
    final = [exchange for exchange in exchanges if not exchange.location]
    if final:
        assert [not is_usable(exchange) for exchange in final] == [wrong for _, _, wrong in direct]
        assert {exchange.path for exchange in final} == {"/filter"}


def is_usable(exchange: Exchange) -> bool:
    """Whether the record has a value that kube-scheduler reads."""
    unreadable = read_answer(exchange.answer, "prioritizeVerb", by_names=True).unreadable
    return bool(exchange.status) and not exchange.go_refuses and not unreadable
