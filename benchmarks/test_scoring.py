"""How many questions about scores a second a plugin answers in process, by the whole path and by NormalizeScore alone.

Run with `pytest benchmarks`; one round is many questions, and "questions per second" is among each benchmark's
extra_info. No cluster is needed.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from schedproof.binaries.resolve import resolve
from schedproof.candidates.descriptor import load_candidate
from schedproof.daemons.readings_server import ReadingsServer
from schedproof.foundation.content import content
from schedproof.foundation.progress import ConsoleProgress
from schedproof.surfaces.plugin import PluginSurface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.live

KUBERNETES = "1.36"
SEED = 1


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginSurface]:
    """The reference plugin."""
    logs = tmp_path_factory.mktemp("logs")
    candidate = load_candidate(content("fixtures", "candidates", "least-traffic-plugin"))
    server = ReadingsServer(resolve(["readings-server"], progress=ConsoleProgress())["readings-server"].path, logs)
    surface = PluginSurface(candidate, KUBERNETES, server, logs=logs, progress=ConsoleProgress())
    yield surface
    surface.close()
    server.close()


def measure(benchmark: BenchmarkFixture, ask_all: Callable[[], None], questions: int, rounds: int) -> None:
    benchmark.pedantic(ask_all, rounds=rounds, warmup_rounds=1)
    benchmark.extra_info["questions per second"] = round(questions / benchmark.stats["median"])


@pytest.mark.parametrize(("nodes", "questions"), [(4, 500), (16, 500), (5000, 5)])
def test_readings_to_scores(benchmark: BenchmarkFixture, plugin: PluginSurface, nodes: int, questions: int) -> None:
    """The whole path: readings are put, the plugin asks Prometheus for them, and scores all nodes. No two are alike."""
    draw = random.Random(SEED)  # noqa: S311 - to be drawn alike each time

    def ask_all() -> None:
        for _ in range(questions):
            answer = plugin.ask(tuple((f"node-{number}", draw.uniform(0, 1e8)) for number in range(nodes)))
            assert len(answer.scores) == nodes

    measure(benchmark, ask_all, questions, rounds=5)


def test_readings_to_scores_where_nodes_come_and_go(benchmark: BenchmarkFixture, plugin: PluginSurface) -> None:
    """As a search asks: 1 to 16 nodes, other ones at each question."""
    draw, questions = random.Random(SEED), 500  # noqa: S311 - to be drawn alike each time

    def ask_all() -> None:
        for _ in range(questions):
            plugin.ask(tuple((f"node-{number}", draw.uniform(0, 1e8)) for number in range(draw.randint(1, 16))))

    measure(benchmark, ask_all, questions, rounds=5)


@pytest.mark.parametrize("nodes", [4, 16])
def test_normalize_score_alone(benchmark: BenchmarkFixture, plugin: PluginSurface, nodes: int) -> None:
    """Raw scores are given straight to NormalizeScore, many at once."""
    draw, questions = random.Random(SEED), 5000  # noqa: S311 - to be drawn alike each time
    raws = [tuple((f"node-{number}", draw.randrange(nodes)) for number in range(nodes)) for _ in range(questions)]

    def ask_all() -> None:
        assert not any(answer.crash or answer.refusal for answer in plugin.normalize_many(raws))

    measure(benchmark, ask_all, questions, rounds=5)
