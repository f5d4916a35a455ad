"""How many questions about scores a second a plugin answers in process, and an extender over HTTP.

Run with `pytest benchmarks`; one round is many questions. Among each benchmark's extra_info are "questions per second"
and, of a surface, "share of the harness": the rest of the time it waited for answers. No cluster is needed.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from schedproof.binaries.resolve import resolve
from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.candidate.kinds import ExtenderConfig
from schedproof.daemons.readings_server import ReadingsServer
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import CANDIDATE_READY
from schedproof.foundation.processes.ports import listening_socket
from schedproof.foundation.progress import ConsoleProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.normalization.answer import Readings, Surface
from schedproof.normalization.promises import Promises
from schedproof.normalization.rules import RULES
from schedproof.normalization.search import search
from schedproof.normalization.surfaces.extender import ExtenderSurface
from schedproof.normalization.surfaces.plugin import PluginSurface
from schedproof.traffic.readings import node_labels

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.live

KUBERNETES = "1.36"
SEED = 1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadingsServer]:
    binary = resolve(["readings-server"], progress=ConsoleProgress())["readings-server"].path
    running = ReadingsServer(binary, tmp_path_factory.mktemp("server"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory, server: ReadingsServer) -> Iterator[PluginSurface]:
    """The reference plugin."""
    candidate = load_candidate(content("fixtures", "candidates", "least-traffic-plugin"))
    surface = PluginSurface(
        candidate, KUBERNETES, server, logs=tmp_path_factory.mktemp("logs"), progress=ConsoleProgress()
    )
    yield surface
    surface.close()


class Living:
    """A `Life` without end."""

    def revive(self) -> None:
        pass

    def last_words(self) -> str:
        return ""

    watch_end = last_words


NODES = {
    f"node-{number}": {"metadata": {"name": f"node-{number}"}, "status": {"addresses": []}} for number in range(1, 31)
}
POD = {"metadata": {"name": "asked", "namespace": "default"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}


@contextlib.contextmanager
def asked_extender(command: list[str], port: int, script: Callable[[Readings], None]) -> Iterator[ExtenderSurface]:
    """A surface of an extender that is started by a command, and ended."""

    def connect(seconds: float) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)

    def ready() -> None:
        with contextlib.closing(connect(1)) as connection:
            try:
                connection.connect()
            except OSError as error:
                raise NotYet(str(error)) from error

    config = ExtenderConfig(filter_verb="filter", prioritize_verb="prioritize", node_cache_capable=True)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(ready, CANDIDATE_READY, what="the extender to listen")
        surface = ExtenderSurface(connect, config, nodes=NODES, pod=POD, script=script, life=Living())
        yield surface
        surface.close()
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with listening_socket() as listener:
        port: int = listener.getsockname()[1]
    return port


FAST = """\
import http.client, json, socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    def handle(self):
        while line := self.rfile.readline():
            length = 0
            while (header := self.rfile.readline()) != b"\\r\\n":
                if header.lower().startswith(b"content-length:"):
                    length = int(header[15:])
            names = json.loads(self.rfile.read(length))["NodeNames"]
            scores = {"NodeNames": names} if b"filter" in line else [{"Host": name, "Score": 5} for name in names]
            body = json.dumps(scores).encode()
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
socketserver.ThreadingTCPServer.allow_reuse_address = socketserver.ThreadingTCPServer.daemon_threads = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
"""An extender that does next to nothing: each node has the same score."""


@pytest.fixture(scope="module")
def fast_extender() -> Iterator[ExtenderSurface]:
    port = free_port()
    with asked_extender([sys.executable, "-IS", "-c", FAST, str(port)], port, lambda _readings: None) as surface:
        yield surface


@pytest.fixture(scope="module")
def reference_extender(server: ReadingsServer) -> Iterator[ExtenderSurface]:
    """With readings of its own for each question."""
    port, labels = free_port(), {node: node_labels(node, f"198.18.0.{n}") for n, node in enumerate(NODES, start=1)}
    folder = content("fixtures", "candidates", "least-traffic-extender")
    claims = load_candidate(folder).claims.network
    assert claims is not None

    def script(readings: Readings) -> None:
        server.put(claims.metric, "eth0", claims.window, labels, readings)

    arguments = [f"--listen=127.0.0.1:{port}", f"--prometheus={server.url}", "--device=eth0", "--window=2s"]
    with asked_extender([sys.executable, str(folder / "extender.py"), *arguments], port, script) as surface:
        yield surface


def measure(
    benchmark: BenchmarkFixture,
    ask_all: Callable[[], None],
    questions: int,
    rounds: int,
    surface: Surface | None = None,
) -> None:
    benchmark.pedantic(ask_all, rounds=rounds, warmup_rounds=1)
    benchmark.extra_info["questions per second"] = round(questions / benchmark.stats["median"])
    if surface is not None:
        benchmark.extra_info["share of the harness"] = round(own_share(ask_all, surface), 2)


def own_share(ask_all: Callable[[], None], surface: Surface) -> float:
    """Of one more round."""
    begin, waited = time.monotonic(), surface.waited
    ask_all()
    return 1 - (surface.waited - waited) / (time.monotonic() - begin)


@pytest.mark.parametrize(("nodes", "questions"), [(4, 500), (16, 500), (5000, 5)])
def test_readings_to_scores(benchmark: BenchmarkFixture, plugin: PluginSurface, nodes: int, questions: int) -> None:
    """The whole path: readings are put, the plugin asks Prometheus for them, and scores all nodes. No two are alike."""
    draw = random.Random(SEED)  # noqa: S311 - to be drawn alike each time

    def ask_all() -> None:
        for _ in range(questions):
            answer = plugin.ask(tuple((f"node-{number}", draw.uniform(0, 1e8)) for number in range(nodes)))
            assert len(answer.scores) == nodes

    measure(benchmark, ask_all, questions, rounds=5, surface=plugin)


def test_readings_to_scores_where_nodes_come_and_go(benchmark: BenchmarkFixture, plugin: PluginSurface) -> None:
    """As a search asks: 1 to 16 nodes, other ones at each question."""
    draw, questions = random.Random(SEED), 500  # noqa: S311 - to be drawn alike each time

    def ask_all() -> None:
        for _ in range(questions):
            plugin.ask(tuple((f"node-{number}", draw.uniform(0, 1e8)) for number in range(draw.randint(1, 16))))

    measure(benchmark, ask_all, questions, rounds=5, surface=plugin)


@pytest.mark.parametrize("nodes", [4, 16])
def test_normalize_score_alone(benchmark: BenchmarkFixture, plugin: PluginSurface, nodes: int) -> None:
    """Raw scores are given straight to NormalizeScore, many at once."""
    draw, questions = random.Random(SEED), 5000  # noqa: S311 - to be drawn alike each time
    raws = [tuple((f"node-{number}", draw.randrange(nodes)) for number in range(nodes)) for _ in range(questions)]

    def ask_all() -> None:
        assert not any(answer.crash or answer.refusal for answer in plugin.normalize_many(raws))

    measure(benchmark, ask_all, questions, rounds=5)


@pytest.mark.parametrize("nodes", [4, 30])
@pytest.mark.parametrize("extender", ["fast_extender", "reference_extender"])
def test_an_extender(benchmark: BenchmarkFixture, request: pytest.FixtureRequest, extender: str, nodes: int) -> None:
    """Filter and prioritize; the reference asks Prometheus for readings, no two of which are alike."""
    surface: ExtenderSurface = request.getfixturevalue(extender)
    draw, questions = random.Random(SEED), 500  # noqa: S311 - to be drawn alike each time

    def ask_all() -> None:
        for _ in range(questions):
            answer = surface.ask(tuple((node, draw.uniform(0, 1e8)) for node in surface.nodes[:nodes]))
            assert len(answer.scores) == nodes

    measure(benchmark, ask_all, questions, rounds=5, surface=surface)


@pytest.mark.parametrize("name", ["fast_extender", "reference_extender", "plugin"])
def test_a_search(benchmark: BenchmarkFixture, request: pytest.FixtureRequest, name: str) -> None:
    """Cases are made, asked and judged: of one rule, up to its last case."""
    surface: Surface = request.getfixturevalue(name)
    asked: list[int] = []

    def ask_all() -> None:
        found = search(RULES["normalize/equal"], surface, Promises(), cases=300, seed=SEED)
        assert found.failing is None
        asked.append(found.questions)

    measure(benchmark, ask_all, 300, rounds=3, surface=surface)
    benchmark.extra_info["questions per second"] = round(asked[-1] / benchmark.stats["median"])
