"""Whether Python could do what the driver does: pods created a second, bindings a second, and the cost of watching.

Run with `pytest benchmarks/test_driver.py`. Rates are among each benchmark's extra_info; so is what the client itself
took of the machine, in microseconds of CPU for each pod or event: that is what a scheduler beside it does without.
All are measured on one cluster, one after the other, round by round.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schedproof.benchmark.driver import BINARY, Driver, Pods
from schedproof.binaries.resolve import resolve
from schedproof.clusters.embedded.minimal import MinimalEmbeddedCluster
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.clusters.existing.access import read_access
from schedproof.foundation.progress import ConsoleProgress

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.live

PODS = 1_000
ROUNDS = 5
THREADS = 4
CONNECTIONS = (1, 4, 16, 64)
NAMESPACE = "bench"
NODES = tuple(f"node-{n}" for n in range(100))
SIZE = {"cpu": "4", "memory": "32Gi", "pods": "110"}
NODE = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}, "status": {"capacity": SIZE, "allocatable": SIZE}
}  # fmt: skip
POD: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"},
    "spec": {
        "schedulerName": "nobody",
        "containers": [
            {
                "name": "pause", "image": "registry.k8s.io/pause:3.10",
                "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}},
            }
        ],
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def binaries() -> dict[str, Path]:
    return {
        name: found.path
        for name, found in resolve((*EMBEDDED.minimal.binaries, BINARY), progress=ConsoleProgress()).items()
    }


@pytest.fixture(scope="module")
def cluster(binaries: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinimalEmbeddedCluster]:
    with contextlib.closing(MinimalEmbeddedCluster("1.36", binaries, tmp_path_factory.mktemp("cluster"))) as running:
        yield running


@pytest.fixture
def driving(
    binaries: dict[str, Path], cluster: MinimalEmbeddedCluster, tmp_path: Path
) -> Iterator[Callable[[int], Driver]]:
    """Gives a driver with so many connections."""
    with contextlib.ExitStack() as ending:

        def connected(connections: int) -> Driver:
            driver = ending.enter_context(contextlib.closing(Driver(binaries[BINARY], tmp_path)))
            driver.connect(cluster.admin_kubeconfig, connections=connections)
            return driver

        yield connected


@pytest.fixture(scope="module")
def housekeeper(
    binaries: dict[str, Path], cluster: MinimalEmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    """Puts everything in its place, outside of what is measured."""
    with contextlib.closing(Driver(binaries[BINARY], tmp_path_factory.mktemp("housekeeper"))) as driver:
        driver.connect(cluster.admin_kubeconfig)
        driver.create_namespaces([NAMESPACE])
        driver.create_nodes(NODE, NODES)
        driver.create(pods())  # the first ones find a cold apiserver
        driver.delete_all(NAMESPACE)
        yield driver


def pods() -> Pods:
    return Pods("pods", NAMESPACE, "pod-", PODS, [POD])


def named(number: int) -> dict[str, Any]:
    return {**POD, "metadata": {"name": f"pod-{number}"}}


def cpu(pid: int) -> float:
    """Seconds that a process has run until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    benchmark: BenchmarkFixture, work: Callable[[], Any], clean: Callable[[], Any], client: int, count: int
) -> None:
    """`count`: of pods or events in a round. `client`: the process whose CPU time is told."""
    taken: list[float] = []

    def setup() -> None:
        clean()
        taken.append(-cpu(client))

    def timed() -> None:
        work()
        taken[-1] += cpu(client)

    benchmark.pedantic(timed, setup=setup, rounds=ROUNDS)
    clean()
    benchmark.extra_info["a second"] = round(count / benchmark.stats["median"])
    benchmark.extra_info["client's CPU, us for each"] = round(sorted(taken)[len(taken) // 2] / count * 1e6)


@pytest.mark.usefixtures("housekeeper")
@pytest.mark.parametrize("connections", CONNECTIONS)
def test_create_by_driver(benchmark: BenchmarkFixture, driving: Callable[[int], Driver], connections: int) -> None:
    """Its own watch goes on meanwhile, and is part of what it costs."""
    driver = driving(connections)
    measure(
        benchmark, lambda: driver.create(pods()), lambda: driver.delete_all(NAMESPACE), driver.pid, PODS
    )  # fmt: skip


@pytest.mark.usefixtures("housekeeper")
@pytest.mark.parametrize("connections", CONNECTIONS)
def test_bind_by_driver(benchmark: BenchmarkFixture, driving: Callable[[int], Driver], connections: int) -> None:
    driver = driving(connections)

    def unbound() -> None:
        driver.delete_all(NAMESPACE)
        driver.create(pods())

    measure(benchmark, lambda: driver.bind("pods", NODES), unbound, driver.pid, PODS)
    driver.delete_all(NAMESPACE)


def test_create_by_kubernetes_client(
    benchmark: BenchmarkFixture, housekeeper: Driver, cluster: MinimalEmbeddedCluster, tmp_path: Path
) -> None:
    """What the harness itself uses, in some threads. It watches nothing."""
    api = read_access(cluster.admin_kubeconfig, "", tmp_path).api()
    with ThreadPoolExecutor(THREADS) as pool:

        def create() -> None:
            list(pool.map(lambda number: api.create("pods", named(number), NAMESPACE), range(PODS)))

        measure(benchmark, create, lambda: housekeeper.delete_all(NAMESPACE), os.getpid(), PODS)


def test_create_by_http_client(
    benchmark: BenchmarkFixture, housekeeper: Driver, cluster: MinimalEmbeddedCluster, tmp_path: Path
) -> None:
    """The least that Python can do: bodies serialized beforehand, connections kept, answers not parsed."""
    access = read_access(cluster.admin_kubeconfig, "", tmp_path)
    context = ssl.create_default_context(cafile=str(access.ca))
    assert access.certificate is not None
    context.load_cert_chain(access.certificate, access.key)
    address, path = access.url.removeprefix("https://"), f"/api/v1/namespaces/{NAMESPACE}/pods"
    connections = [http.client.HTTPSConnection(address, context=context, timeout=60) for _ in range(THREADS)]
    bodies = [json.dumps(named(number)).encode() for number in range(PODS)]

    def send(first: int) -> None:
        for body in bodies[first::THREADS]:
            connections[first].request("POST", path, body, {"Content-Type": "application/json"})
            answer = connections[first].getresponse()
            answer.read()
            assert answer.status == http.client.CREATED

    with ThreadPoolExecutor(THREADS) as pool:
        measure(
            benchmark, lambda: list(pool.map(send, range(THREADS))), lambda: housekeeper.delete_all(NAMESPACE),
            os.getpid(), PODS,
        )  # fmt: skip
    for connection in connections:
        connection.close()


def test_watch_by_driver(benchmark: BenchmarkFixture, housekeeper: Driver, driving: Callable[[int], Driver]) -> None:
    """A driver that only watches while another one creates and deletes: two events for each pod."""

    def come_and_go() -> None:
        housekeeper.create(pods())
        housekeeper.delete_all(NAMESPACE)

    measure(benchmark, come_and_go, lambda: None, driving(1).pid, 2 * PODS)


def test_watch_by_python(benchmark: BenchmarkFixture, housekeeper: Driver, cluster: MinimalEmbeddedCluster) -> None:
    """The same by the harness's own watch, in a thread of this process, each event parsed and looked at."""
    watch = cluster.api.watch("pods", cluster.api.list("pods")["metadata"]["resourceVersion"])
    events, taken = 0, 0.0
    seen: dict[str, str] = {}

    def follow() -> None:
        nonlocal events, taken
        for event in watch:
            if event["type"] != "BOOKMARK":
                events += 1
                pod = event["object"]
                seen[pod["metadata"]["name"]] = pod["spec"].get("nodeName", "")
                taken = time.thread_time()

    thread = threading.Thread(target=follow)
    thread.start()

    def come_and_go() -> None:
        housekeeper.create(pods())
        housekeeper.delete_all(NAMESPACE)

    benchmark.pedantic(come_and_go, rounds=ROUNDS)
    watch.close()
    thread.join()
    benchmark.extra_info["a second"] = round(2 * PODS / benchmark.stats["median"])
    benchmark.extra_info["client's CPU, us for each"] = round(taken / events * 1e6)
