"""Bytes per second at the device: prometheus-api-client reads back the load that was set."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from prometheus_api_client import PrometheusConnect

from schedproof.clusters.cluster import Cluster
from schedproof.daemons.scrape import RECEIVED, SENT
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import until
from schedproof.run.launch import Settings
from schedproof.run.session import Session
from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

pytestmark = [pytest.mark.live, pytest.mark.slow]

TOLERANCE = 0.02
SECONDS = 5
"""Of load. In half of that, 2 kB/s are eighty of the smallest frames: one more or less is 1.2 %."""

PACKETS = "node_network_receive_packets_total"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    session = Session(Settings(report=tmp_path_factory.mktemp("load")), SilentProgress())
    with contextlib.closing(session):
        yield session.cluster


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """A machine on which every processor is busy."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    yield
    for spinner in spinners:
        spinner.kill()
        spinner.wait()


def read_back(cluster: Cluster, metric: str, since: float) -> dict[str, float]:
    """Node to growth per second between two scrapes since a moment.

    A scrape has the time at which Prometheus began it. On a busy machine the exporter may read its counter a tenth
    of a second later, so it is the median over all pairs of scrapes that are far enough apart.
    """
    server = PrometheusConnect(url=cluster.prometheus_url)
    window = f"{math.ceil(time.time() - since)}s"
    result = {}
    for series in server.custom_query(f'{metric}{{device="{cluster.device}"}}[{window}]'):
        samples = [(float(at), float(value)) for at, value in series["values"] if float(at) >= since]
        result[series["metric"]["node"]] = statistics.median(
            (last - first) / (end - begin)
            for (begin, first), (end, last) in itertools.combinations(samples, 2)
            if end - begin > SECONDS / 2
        )
    return result


def send(cluster: Cluster, rates: dict[str, float]) -> float:
    """Put load on for some seconds; return the time since which it can be read."""
    cluster.set_load(rates)
    # A scrape that was on its way may still show less.
    since = time.time() + cluster.scrape_interval
    until(time.monotonic() + cluster.scrape_interval + SECONDS)
    return since


@pytest.mark.parametrize(
    "rates", [(2e3, 1e5, 1e6, 1e7), (1.2e4, 6e4, 3e5, 2e7)], ids=["2 kB/s to 10 MB/s", "12 kB/s to 20 MB/s"]
)
def test_real_load_has_the_requested_rates(cluster: Cluster, rates: tuple[float, ...]) -> None:
    """Different rates on all nodes at once, in frames from the smallest to the largest of Ethernet."""
    requested = dict(zip(cluster.nodes, rates, strict=True))
    since = send(cluster, requested)
    assert read_back(cluster, RECEIVED, since) == pytest.approx(requested, rel=TOLERANCE)
    frames = {node: requested[node] / packets for node, packets in read_back(cluster, PACKETS, since).items()}
    assert min(frames.values()) < 65 < 1480 < max(frames.values()) < 1520, frames


def test_real_load_has_the_requested_rates_on_a_busy_machine(cluster: Cluster, busy_machine: None) -> None:
    requested = dict(zip(cluster.nodes, (2e3, 1e5, 1e6, 1e7), strict=True))
    assert read_back(cluster, RECEIVED, send(cluster, requested)) == pytest.approx(requested, rel=TOLERANCE)


def test_load_changes_only_on_the_named_nodes(cluster: Cluster) -> None:
    """Nodes that are not named keep their load; zero load sends nothing; and nodes send no replies."""
    first, second, third, fourth = cluster.nodes
    cluster.set_load({first: 0.0, second: 1e5, third: 0.0, fourth: 0.0})
    since = send(cluster, {third: 1e5})
    assert read_back(cluster, RECEIVED, since) == pytest.approx(
        {first: 0.0, second: 1e5, third: 1e5, fourth: 0.0}, rel=TOLERANCE
    )
    assert set(read_back(cluster, SENT, since).values()) == {0.0}
    cluster.set_load(dict.fromkeys(cluster.nodes, 0.0))


def test_scripted_load_has_exactly_the_requested_rates(cluster: Cluster) -> None:
    """Counters whose rate changes, from totals of a bit to totals that float64 can hardly hold."""
    now = round(time.time())
    counters = {
        node: Counter(total, ((now - 60, 1e3 * 2**number), (now - 20, 5.0)))
        for number, (node, total) in enumerate(zip(cluster.nodes, (0.0, 1.0, 1e12, 2.0**50), strict=True))
    }
    with contextlib.closing(cluster.scripted_metrics()) as scripted:
        scripted.script(Script({(RECEIVED, cluster.device): counters}, 0.5))
        server = PrometheusConnect(url=scripted.url)
        for moment, rates in ((now - 25, [1e3, 2e3, 4e3, 8e3]), (now - 5, [5.0] * 4), (now + 20, [5.0] * 4)):
            query = f'rate({RECEIVED}{{device="{cluster.device}"}}[10s])'
            answer = server.custom_query(query, params={"time": str(moment)})
            read = {series["metric"]["node"]: float(series["value"][1]) for series in answer}
            assert read == pytest.approx(dict(zip(cluster.nodes, rates, strict=True)), rel=1e-9)
        query = f'{RECEIVED}{{node="{cluster.nodes[0]}",device="{cluster.device}"}}[70s]'
        (series,) = server.custom_query(query, params={"time": str(now + 1)})
        samples = [(float(at), float(value)) for at, value in series["values"]]
        assert samples == counters[cluster.nodes[0]].samples(end=now + 1, step=0.5)
