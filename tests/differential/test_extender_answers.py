"""The tap reads an extender's answers as kube-scheduler does, by comparison with its own HTTPExtender."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import queue
import random
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.foundation.processes.ports import Ports
from schedproof.foundation.progress import ConsoleProgress
from schedproof.history.observations import ExtenderCall
from schedproof.judge.rulings.extender_calls import flaw
from schedproof.proxies.exchange import Exchange
from schedproof.proxies.exchanges import describe_extender_call
from schedproof.proxies.taps import Tap

from .programs import built

pytestmark = [pytest.mark.live, pytest.mark.slow]

NODES = ["a", "b", "c"]
FILTER = b'{"NodeNames": ["a", "b"], "FailedNodes": {"c": "full"}}'
SCORES = b'[{"Host": "a", "Score": 1}, {"Host": "b", "Score": 10}]'
STUCK = 20.0
"""Seconds after which a test fails that would otherwise hang; nothing is judged by it."""
MUTATED = 400
"""Answers that are made of right ones."""


@dataclasses.dataclass(frozen=True)
class Case:
    """An extender that answers each request with these bytes."""

    sent: bytes
    verb: str = "prioritize"
    by_names: bool = True
    closes: bool = True


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK", length: int | None = None) -> bytes:
    lines = [b"HTTP/1.1 " + status, *headers]
    if length != -1:
        lines.append(b"Content-Length: %d" % (len(body) if length is None else length))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    parts = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return answer(parts + end, b"Transfer-Encoding: chunked", length=-1)


def as_json(verb: str, *bodies: str | bytes, by_names: bool = True) -> dict[str, Case]:
    return {
        f"{verb} {body!r} {'by names' if by_names else 'whole'}": Case(
            answer(body if isinstance(body, bytes) else body.encode()), verb, by_names
        )
        for body in bodies
    }


FRAMED = {
    "as it should be": Case(answer(SCORES)),
    "kept alive": Case(answer(SCORES), closes=False),
    "no length, until the end": Case(answer(SCORES, length=-1)),
    "length too long": Case(answer(SCORES, length=len(SCORES) + 5)),
    "length too short": Case(answer(SCORES, length=len(SCORES) - 5)),
    "length too short, more of JSON": Case(answer(SCORES + b"   ", length=len(SCORES))),
    "length too short, kept alive": Case(answer(SCORES + b"   ", length=len(SCORES)), closes=False),
    "two lengths alike": Case(answer(SCORES, b"Content-Length: %d" % len(SCORES))),
    "two lengths": Case(answer(SCORES, b"Content-Length: 5")),
    "a length that is none": Case(answer(SCORES, b"Content-Length: many", length=-1)),
    "a negative length": Case(answer(SCORES, b"Content-Length: -1", length=-1)),
    "a length with a sign": Case(answer(SCORES, b"Content-Length: +%d" % len(SCORES), length=-1)),
    "an empty length": Case(answer(SCORES, b"Content-Length: ", length=-1)),
    "a list of lengths": Case(answer(SCORES, b"Content-Length: %d, %d" % (len(SCORES), len(SCORES)), length=-1)),
    "chunks": Case(chunked(SCORES[:5], SCORES[5:])),
    "chunks, kept alive": Case(chunked(SCORES[:5], SCORES[5:]), closes=False),
    "chunks without the last": Case(chunked(SCORES, end=b"")),
    "chunks with trailers": Case(chunked(SCORES, end=b"0\r\nSum: 1\r\n\r\n")),
    "chunks with an extension": Case(answer(b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(SCORES), SCORES),
                                            b"Transfer-Encoding: chunked", length=-1)),
    "chunks and a length": Case(answer(b"%x\r\n%s\r\n0\r\n\r\n" % (len(SCORES), SCORES),
                                       b"Transfer-Encoding: chunked", length=5)),
    "a chunk of a wrong size": Case(answer(b"4\r\n%s\r\n0\r\n\r\n" % SCORES, b"Transfer-Encoding: chunked", length=-1)),
    "a chunk of no size": Case(answer(b"x\r\n%s\r\n0\r\n\r\n" % SCORES, b"Transfer-Encoding: chunked", length=-1)),
    "chunks that end with a newline alone": Case(answer(b"%x\n%s\n0\n\n" % (len(SCORES), SCORES),
                                                        b"Transfer-Encoding: chunked", length=-1)),
    "another transfer encoding": Case(answer(SCORES, b"Transfer-Encoding: gzip", length=-1)),
    "identity": Case(answer(SCORES, b"Transfer-Encoding: identity", length=-1)),
    "newlines alone": Case(b"HTTP/1.1 200 OK\nContent-Length: %d\n\n%s" % (len(SCORES), SCORES)),
    "HTTP/1.0": Case(b"HTTP/1.0 200 OK\r\n\r\n" + SCORES),
    "HTTP/0.9": Case(SCORES),
    "HTTP/2.0 as text": Case(b"HTTP/2.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(SCORES), SCORES)),
    "HTTP/1.2": Case(b"HTTP/1.2 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(SCORES), SCORES)),
    "no reason": Case(b"HTTP/1.1 200\r\nContent-Length: %d\r\n\r\n%s" % (len(SCORES), SCORES)),
    "a status that is none": Case(answer(SCORES, status=b"20 OK")),
    "a status in words": Case(answer(SCORES, status=b"OK")),
    "no colon in a header": Case(answer(SCORES, b"Nonsense")),
    "a blank before the colon": Case(answer(SCORES, b"Server : x")),
    "a length with a blank before the colon": Case(answer(SCORES, b"Content-Length : 5", length=-1)),
    "a folded header": Case(answer(SCORES, b"Server: x\r\n  y")),
    "an empty name": Case(answer(SCORES, b": x")),
    "a strange value": Case(answer(SCORES, b"Server: \x01")),
    "a null in a value": Case(answer(SCORES, b"Server: \x00")),
    "a value that is no ASCII": Case(answer(SCORES, "Server: \u00e9".encode())),
    "many headers": Case(answer(SCORES, *(b"X-%d: y" % number for number in range(3_000)))),
    "text": Case(answer(SCORES, b"Content-Type: text/plain")),
    "gzip that was not asked for by its name": Case(answer(gzip.compress(SCORES, mtime=0), b"Content-Encoding: gzip")),
    "gzip that is none": Case(answer(SCORES, b"Content-Encoding: gzip")),
    "half of gzip": Case(answer(gzip.compress(SCORES, mtime=0)[:-20], b"Content-Encoding: gzip")),
    "gzip without its sum": Case(answer(gzip.compress(SCORES, mtime=0)[:-8], b"Content-Encoding: gzip")),
    "another coding": Case(answer(SCORES, b"Content-Encoding: br")),
    "GZIP": Case(answer(gzip.compress(SCORES, mtime=0), b"Content-Encoding: GZIP")),
    "nothing": Case(b""),
    "half of a header": Case(b"HTTP/1.1 200 OK\r\nContent-"),
    "early hints before": Case(b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(SCORES)),
    "201": Case(answer(SCORES, status=b"201 Created")),
    "202": Case(answer(SCORES, status=b"202 Accepted")),
    "204": Case(answer(b"", status=b"204 No Content")),
    "206": Case(answer(SCORES, status=b"206 Partial Content")),
    "304": Case(answer(b"", status=b"304 Not Modified")),
    "400": Case(answer(SCORES, status=b"400 Bad Request")),
    "500": Case(answer(SCORES, status=b"500 Internal Server Error")),
    "101": Case(answer(b"", b"Connection: Upgrade", b"Upgrade: echo", status=b"101 Switching Protocols", length=-1)),
}  # fmt: skip

PRIORITIES = (
    "", " ", "null", "[]", "{}", "[null]", "[{}]", "[[]]", "0", '"a"', "[1]", "not JSON", "[", '[{"Host": "a"',
    '[{"Host": "a", "Score": 1}] and more', '[{"Host": "a", "Score": 1}][', "\ufeff[]", "\n\t []", "\f[]", "\u00a0[]",
    '[{"host": "a", "score": 1}]', '[{"HOST": "a", "sCORE": 1}]', '[{"Ho\\u0073t": "a", "Score": 1}]',
    '[{"Ho\u017ft": "a", "\u017fcore": 1}]',
    '[{"Host": "a", "Host": "b", "Score": 1, "Score": 2}]', '[{"Host": "a", "Score": 1, "Why": {"x": [1, 2]}}]',
    '[{"Host": "a", "Score": "1"}]', '[{"Host": "a", "Score": 1.0}]', '[{"Host": "a", "Score": 1.5}]',
    '[{"Host": "a", "Score": 1e1}]', '[{"Host": "a", "Score": 1E0}]', '[{"Host": "a", "Score": -0}]',
    '[{"Host": "a", "Score": 01}]', '[{"Host": "a", "Score": +1}]', '[{"Host": "a", "Score": .5}]',
    '[{"Host": "a", "Score": 9223372036854775807}]', '[{"Host": "a", "Score": 9223372036854775808}]',
    '[{"Host": "a", "Score": -9223372036854775808}]', '[{"Host": "a", "Score": -9223372036854775809}]',
    f'[{{"Host": "a", "Score": {"1" * 5_000}}}]', f'[{{"Host": "a", "Score": {"0" * 30}1}}]',
    '[{"Host": "a", "Score": NaN}]', '[{"Host": "a", "Score": Infinity}]', '[{"Host": "a", "Score": null}]',
    '[{"Host": null, "Score": 1}]', '[{"Host": 1, "Score": 1}]', '[{"Host": ["a"], "Score": 1}]',
    '[{"Host": "a", "Score": true}]', '[{"Host": "a", "Score": []}]', '[{"Host": "a", "Score": {}}]',
    "[{'Host': 'a', 'Score': 1}]", '[{"Host": "a", "Score": 1},]', '[{"Host": "a", "Score": 1,}]',
    '[{"Host": "a" "Score": 1}]', '[{"Host": "a", "Score": 1} {"Host": "b", "Score": 1}]',
    '[{"Host": "a\n", "Score": 1}]', '[{"Host": "a\\n", "Score": 1}]', '[{"Host": "a\t", "Score": 1}]',
    '[{"Host": "\\ud800", "Score": 1}]', '[{"Host": "\\ud83d\\ude00", "Score": 1}]', '[{"Host": "\\x61", "Score": 1}]',
    '[{"Host": "\x7f", "Score": 1}]', '[{"Host": "\\u0000", "Score": 1}]', '/* a */ []', "[] // a",
    '{"Error": "no"}', '[{"Host": "a", "Score": 1}, 1, {"Host": "b", "Score": 2}]', "true", "tru", "-", "[" * 11_000,
    '[{"Host": "a", "Score": 1, "Deep": ' + "[" * 10_500 + "]" * 10_500 + "}]",
)  # fmt: skip
RAW = (b'[{"Host": "\xff", "Score": 1}]', b'[{"Host": "a", "\xff": 1}]', b"\xff\xfe[]",
       SCORES.decode().encode("utf-16"), b'[{"Host": "\xed\xa0\x80", "Score": 1}]', b"[]\xff", b"\x00[]")  # fmt: skip
FILTERS = (
    "", "null", "{}", "[]", '"a"', '{"NodeNames": ["a"]}', '{"NodeNames": []}', '{"NodeNames": null}',
    '{"nodenames": ["a"]}', '{"nodeNames": ["a"]}', '{"NodeNames": ["a"], "nodenames": null}',
    '{"NodeNames": ["a"], "nodenames": ["b", "c"]}', '{"NodeNames": [null]}', '{"NodeNames": "a"}',
    '{"NodeNames": [1]}', '{"NodeNames": {"a": 1}}', '{"NodeNames": ["a"], "Error": "no"}', '{"Error": ""}',
    '{"NodeNames": ["a"], "Error": null}', '{"NodeNames": ["a"], "Error": 1}', '{"NodeNames": ["a"], "Error": {}}',
    '{"NodeNames": ["a"], "FailedNodes": {"b": "full"}}', '{"NodeNames": ["a"], "FailedNodes": {"b": 1}}',
    '{"NodeNames": ["a"], "FailedNodes": null}', '{"NodeNames": ["a"], "FailedNodes": ["b"]}',
    '{"NodeNames": ["a"], "FailedNodes": {"b": null}}',
    '{"NodeNames": ["a"], "FailedAndUnresolvableNodes": {"b": "never"}}',
    '{"NodeNames": ["a", "a"]}', '{"Nodes": {"items": [{"metadata": {"name": "b"}}]}}',
    '{"Nodes": {"Items": [{"Metadata": {"Name": "b"}}]}}', '{"Nodes": {"items": null}}', '{"Nodes": {}}',
    '{"Nodes": null}', '{"Nodes": []}', '{"Nodes": {"items": [null]}}', '{"Nodes": {"items": ["b"]}}',
    '{"Nodes": {"items": {}}}', '{"Nodes": {"items": [{"metadata": null}]}}',
    '{"Nodes": {"items": [{"metadata": {"name": 1}}]}}', '{"nodes": {"items": [{"metadata": {"name": "b"}}]}}',
    '{"Nodes": {"items": [{"metadata": {"name": "b"}}]}, "NodeNames": ["a"]}',
    '{"Nodes": {"items": [{"metadata": {"name": "b"}, "spec": {"unknown": 1}}]}}',
)  # fmt: skip
BINDS = ("", "null", "{}", "[]", '""', '{"Error": ""}', '{"Error": "no"}', '{"error": "no"}', '{"Error": null}',
         '{"Error": 1}', '{"Error": {}}', "ok", '{"Error": "no", "error": ""}')  # fmt: skip

WRITTEN = (
    FRAMED
    | as_json("prioritize", *PRIORITIES, *RAW)
    | as_json("filter", *FILTERS)
    | as_json("filter", *FILTERS, by_names=False)
    | as_json("bind", *BINDS)
)


def mutated(seed: int) -> dict[str, Case]:
    """Valid answers in which some bytes are replaced, removed, or repeated."""
    generator = random.Random(seed)
    found: dict[str, Case] = {}
    for number in range(MUTATED):
        verb, body = generator.choice((("prioritize", SCORES), ("filter", FILTER)))
        text = bytearray(body)
        for _ in range(generator.randint(1, 3)):
            place = generator.randrange(len(text))
            match generator.randrange(3):
                case 0:
                    text[place] = generator.choice(body + b'0.eE-+nul\\"\t\n\x00\xff')
                case 1:
                    del text[place]
                case _:
                    text[place:place] = text[place : place + generator.randint(1, 8)]
        found[f"{verb} {number}: {bytes(text)!r}"] = Case(answer(bytes(text)), verb)
    return found


class Server:
    """Answers each request of each connection with the bytes of the case."""

    def __init__(self) -> None:
        self.case = Case(b"")
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError), connection.makefile("rb") as requests:
            while line := requests.readline():
                size = 0
                while line.strip():
                    name, _, value = line.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                    line = requests.readline()
                requests.read(size)
                connection.sendall(self.case.sent)
                if self.case.closes:
                    return

    def close(self) -> None:
        self._socket.close()


class KubeScheduler:
    """The program that calls the extender with kube-scheduler's HTTPExtender."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, url: str, case: Case) -> list[dict[str, Any]]:
        assert self._process.stdin
        assert self._process.stdout
        # Where the connection ends after each answer, whether a second call comes in time for it is chance.
        times = 1 if case.closes else 2
        question = {"url": url, "verb": case.verb, "byNames": case.by_names, "nodes": NODES, "times": times}
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answers: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return answers

    def close(self) -> None:
        with self._process:
            self._process.kill()


@pytest.fixture(scope="module")
def kube_scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeScheduler]:
    program = built("extender", tmp_path_factory.mktemp("extender"), DEFAULT_KUBERNETES, ConsoleProgress())
    with contextlib.closing(KubeScheduler(program)) as asking:
        yield asking


@pytest.fixture
def server() -> Iterator[Server]:
    with contextlib.closing(Server()) as answering:
        yield answering


def recorded_answer(exchange: Exchange, case: Case) -> dict[str, Any]:
    """What the tap's record says of an answer, in the words of the program."""
    config = {f"{verb}Verb": verb for verb in ("filter", "prioritize", "bind")} | {"nodeCacheCapable": case.by_names}
    fields = describe_extender_call(exchange, config)
    call = ExtenderCall.model_validate(fields)
    if flaw(call, f"{case.verb}Verb"):
        return {"error": True}
    if case.verb != "prioritize" and call.error:
        return {"error": True}
    if call.answered_mode == "names" and not set(call.answered or ()) <= set(NODES):
        return {"error": True}
    return {
        "nodes": call.answered or [],
        "failed": dict(call.failed),
        "scores": [[host or "", score or 0] for host, score in call.scores or ()],
    }


def gone(answered: dict[str, Any]) -> dict[str, Any]:
    """An answer of the program, in the words of the record."""
    if answered.get("error"):
        return {"error": True}
    nodes = answered["nodes"] or []
    return {
        "nodes": nodes,
        "failed": {name.lower(): reason for name, reason in (answered["failed"] or {}).items()},
        "scores": [[score["Host"], score["Score"]] for score in answered["scores"] or ()],
    }


def differences(cases: dict[str, Case], kube_scheduler: KubeScheduler, server: Server) -> Iterator[str]:
    exchanges: queue.Queue[Exchange] = queue.Queue()
    with (
        contextlib.closing(Ports()) as ports,
        contextlib.closing(Tap(server.url, exchanges.put, ports.reserve("127.0.0.1"))) as tap,
    ):
        for what, case in cases.items():
            server.case = case
            direct = [gone(reply) for reply in kube_scheduler.ask(server.url, case)]
            tapped = [gone(reply) for reply in kube_scheduler.ask(tap.url, case)]
            # That of an answer whose end is not to be told by its bytes follows the end of its connection.
            recorded = [recorded_answer(exchanges.get(timeout=STUCK), case) for _ in tapped]
            if direct != tapped:
                yield f"{what}: direct {direct}, through the tap {tapped}"
            if recorded != tapped:
                yield f"{what}: kube-scheduler got {tapped}, on record is {recorded}"


def tell(found: Sequence[str]) -> str:
    return f"{len(found)}:\n" + "\n".join(difference[:600] for difference in found[:40])


def test_answers_are_read_as_kube_scheduler_reads_them(kube_scheduler: KubeScheduler, server: Server) -> None:
    found = list(differences(WRITTEN, kube_scheduler, server))
    assert not found, tell(found)


def test_malformed_answers_are_read_as_kube_scheduler_reads_them(kube_scheduler: KubeScheduler, server: Server) -> None:
    found = list(differences(mutated(seed=1), kube_scheduler, server))
    assert not found, tell(found)
