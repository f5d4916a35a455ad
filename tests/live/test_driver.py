"""The driver of benchmarks with a real apiserver: its rows agree with the objects, and it misses no event."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import VersionApi
from kubernetes.config import new_client_from_config

from schedproof.benchmark.driver import BINARY, Bound, ChurnLoad, Driver, Pods
from schedproof.binaries.lock import DEFAULT_KUBERNETES
from schedproof.binaries.resolve import paths
from schedproof.clusters.api import Api, NotFound
from schedproof.clusters.cluster import NAMESPACE, Rbac
from schedproof.clusters.embedded.minimal import MinimalEmbeddedCluster
from schedproof.clusters.embedded.registration import EMBEDDED
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import CandidateError, HostError
from schedproof.foundation.processes.ports import listening_socket
from schedproof.foundation.progress import ConsoleProgress
from schedproof.foundation.waiting import NotYet, wait_for

pytestmark = [pytest.mark.live, pytest.mark.slow]

NODES = tuple(f"node-{n}" for n in range(10))
SIZE = {"cpu": "4", "memory": "32Gi", "pods": "110"}
NODE: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"},
    "status": {
        "capacity": SIZE, "allocatable": SIZE, "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "Hostname", "address": "node"}],
    },
}  # fmt: skip
POD: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "labels": {"size": "small"}},
    "spec": {"schedulerName": "nobody", "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}]},
}  # fmt: skip
LARGE = {**POD, "metadata": {"labels": {"size": "large"}}}

SEEN = Deadline("seen", 60, "an event takes milliseconds; on a busy machine more")
ENOUGH = 60.0
"""Seconds that a wait may take at most; none takes them unless it fails."""


@pytest.fixture(scope="module")
def binaries() -> dict[str, Path]:
    return paths((*EMBEDDED.minimal.binaries, BINARY), DEFAULT_KUBERNETES, {}, ConsoleProgress())


@pytest.fixture(scope="module")
def cluster(binaries: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinimalEmbeddedCluster]:
    with contextlib.closing(MinimalEmbeddedCluster("1.36", binaries, tmp_path_factory.mktemp("cluster"))) as running:
        yield running


@pytest.fixture
def driving(binaries: dict[str, Path], tmp_path: Path) -> Iterator[Callable[[Path], Driver]]:
    """Start a driver for a kubeconfig, and end it with the test."""
    with contextlib.ExitStack() as ending:

        def start(kubeconfig: Path) -> Driver:
            driver = ending.enter_context(contextlib.closing(Driver(binaries[BINARY], tmp_path / "logs")))
            driver.connect(kubeconfig)
            return driver

        yield start


@pytest.fixture(scope="module")
def shared(
    cluster: MinimalEmbeddedCluster, binaries: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    with contextlib.closing(Driver(binaries[BINARY], tmp_path_factory.mktemp("driver"))) as driver:
        driver.connect(cluster.admin_kubeconfig)
        driver.create_nodes(NODE, NODES, {"zone": ("a", "b", "c")})
        driver.create_namespaces(("bench", "bench"))
        yield driver


@pytest.fixture
def driver(shared: Driver) -> Iterator[Driver]:
    """A driver that is connected to a cluster with `NODES` and an empty namespace `bench`."""
    yield shared
    shared.delete_all("bench")


def pods(group: str, count: int, *templates: dict[str, Any]) -> Pods:
    return Pods(group, "bench", f"{group}-", count, templates or (POD,))


def existing(api: Api, resource: str = "pods") -> dict[str, dict[str, Any]]:
    namespace = "" if resource == "nodes" else "bench"
    return {item["metadata"]["name"]: item for item in api.list(resource, namespace)["items"]}


@contextlib.contextmanager
def binder(api: Api) -> Iterator[None]:
    """A scheduler that binds all pods to one node."""
    watch = api.watch("pods", api.list("pods")["metadata"]["resourceVersion"], "bench")

    def bind() -> None:
        for event in watch:
            if event["type"] == "ADDED":
                api.bind("bench", event["object"]["metadata"]["name"], NODES[0])

    thread = threading.Thread(target=bind)
    thread.start()
    try:
        yield
    finally:
        watch.close()
        thread.join()


def test_nodes_equal_the_template_except_for_name_and_labels(driver: Driver, cluster: MinimalEmbeddedCluster) -> None:
    found = existing(cluster.api, "nodes")
    assert sorted(found) == sorted(NODES)
    for number, name in enumerate(NODES):
        assert found[name]["metadata"]["labels"] == {"kubernetes.io/hostname": name, "zone": "abc"[number % 3]}
        assert found[name]["status"]["allocatable"] == SIZE
        assert found[name]["status"]["addresses"] == [{"type": "Hostname", "address": name}]


def test_requests_of_a_measured_scheduler_are_exempt_from_priority_and_fairness(
    cluster: MinimalEmbeddedCluster,
) -> None:
    """API Priority and Fairness names in each answer the FlowSchema of the request."""
    schema = cluster.api.get("flowschemas", NAMESPACE)
    assert schema["spec"]["priorityLevelConfiguration"]["name"] == "exempt"
    candidate = VersionApi(new_client_from_config(str(cluster.identity("candidate", Rbac()).kubeconfig)))

    def probe() -> None:
        _, _, headers = candidate.get_code_with_http_info()
        if headers["X-Kubernetes-PF-FlowSchema-UID"] != schema["metadata"]["uid"]:
            raise NotYet("another FlowSchema applies")

    wait_for(probe, SEEN, what="the FlowSchema to apply")


def test_a_namespace_has_its_default_service_account(driver: Driver, cluster: MinimalEmbeddedCluster) -> None:
    assert cluster.api.get("serviceaccounts", "default", "bench")


def test_rows_agree_with_the_objects_of_the_apiserver(
    driver: Driver, cluster: MinimalEmbeddedCluster, tmp_path: Path
) -> None:
    created = driver.create(pods("g", 100, POD, LARGE))
    assert driver.wait("g", 0.0) == Bound(0, 100)
    assert driver.bind("g", NODES).pods == 100
    assert driver.wait("g", ENOUGH) == Bound(100, 100)
    rows = driver.rows("g", tmp_path / "rows.csv")
    assert [row.pod for row in rows] == [f"g-{number}" for number in range(100)]
    found = existing(cluster.api)
    assert len(found) == 100
    for number, row in enumerate(rows):
        pod = found[row.pod]
        assert (row.uid, row.node) == (pod["metadata"]["uid"], pod["spec"]["nodeName"])
        assert row.node == NODES[number % 10]
        assert pod["metadata"]["labels"]["size"] == ("small", "large")[number % 2]
        assert row.answered is not None
        assert row.seen is not None
        assert created.started <= row.sent == row.intended < row.answered <= created.started + created.seconds
        assert row.answered < row.seen


def test_pods_that_are_added_to_a_group_continue_its_numbers(driver: Driver, tmp_path: Path) -> None:
    driver.create(pods("g", 2))
    driver.create(pods("g", 2))
    assert [row.pod for row in driver.rows("g", tmp_path / "rows.csv")] == ["g-0", "g-1", "g-2", "g-3"]


def test_arrivals_are_sent_when_they_are_due(driver: Driver, tmp_path: Path) -> None:
    arrivals = [0.0, 0.0, 0.01, 0.2, 0.2]
    created = driver.arrive(pods("g", 5), arrivals)
    assert created.capped == 0
    rows = driver.rows("g", tmp_path / "rows.csv")
    assert [round(row.intended - created.started, 5) for row in rows] == arrivals
    for row in rows:
        assert row.answered is not None
        assert row.intended <= row.sent < row.answered


def test_one_at_a_time_waits_for_each_binding(driver: Driver, cluster: MinimalEmbeddedCluster, tmp_path: Path) -> None:
    with binder(cluster.api):
        assert driver.one_at_a_time(pods("g", 5), ENOUGH) == Bound(5, 5)
    rows = driver.rows("g", tmp_path / "rows.csv")
    for before, row in itertools.pairwise(rows):
        assert before.seen is not None
        assert before.seen < row.sent


def test_pauses_between_single_pods_are_shares_of_the_longest_latency(
    driver: Driver, cluster: MinimalEmbeddedCluster, tmp_path: Path
) -> None:
    with binder(cluster.api):
        assert driver.one_at_a_time(pods("g", 5), ENOUGH, pauses=[1.0, 1.0, 0.5, 0.0, 1.0]) == Bound(5, 5)
    rows = driver.rows("g", tmp_path / "rows.csv")
    longest = 0.0
    for (before, row), share in zip(itertools.pairwise(rows), [1.0, 0.5, 0.0, 1.0], strict=True):
        assert before.seen is not None
        longest = max(longest, before.seen - before.sent)
        assert row.intended == row.sent >= before.seen + share * longest - 1e-5
    with pytest.raises(HostError, match="expected 5 pauses"):
        driver.one_at_a_time(pods("h", 5), ENOUGH, pauses=[0.5])


def test_one_at_a_time_ends_with_a_pod_that_is_not_bound(driver: Driver) -> None:
    assert driver.one_at_a_time(pods("g", 5), 0.1) == Bound(0, 1)


def test_deleting_a_group_keeps_other_groups(driver: Driver, cluster: MinimalEmbeddedCluster) -> None:
    driver.create(pods("g", 20))
    driver.create(pods("h", 1))
    assert driver.delete("g").pods == 20
    assert list(existing(cluster.api)) == ["h-0"]
    with pytest.raises(HostError, match='there is no group "g"'):
        driver.wait("g", 0.0)
    driver.create(pods("g", 1))  # the names are free again
    assert driver.wait("g", 0.0) == Bound(0, 1)


def test_emptying_a_namespace_deletes_all_pods(
    driver: Driver, driving: Callable[[Path], Driver], cluster: MinimalEmbeddedCluster
) -> None:
    """Also pods of other clients, from before it was connected."""
    driver.create(pods("g", 5))
    assert driving(cluster.admin_kubeconfig).delete_all("bench").pods == 5
    assert not existing(cluster.api)


REFUSED: dict[str, tuple[Pods, str]] = {
    "a namespace that does not exist": (Pods("nowhere", "nowhere", "x-", 3, [POD]), 'namespaces "nowhere" not found'),
    "a field that does not exist": (pods("x", 3, {**POD, "spec": {**POD["spec"], "nodeNam": ""}}), "spec.nodeNam"),
    "what admission or validation refuses": (pods("x", 3, {**POD, "spec": {}}), "spec.containers"),
    "a name that is taken": (Pods("x", "bench", "g-", 3, [POD]), "pod bench/g-0 exists"),
    "no template": (Pods("x", "bench", "x-", 3, []), "a template"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_object_that_cannot_be_created_is_an_error(what: str, driver: Driver) -> None:
    driver.create(pods("g", 1))
    refused, expected = REFUSED[what]
    with pytest.raises(HostError, match=expected):
        driver.create(refused)
    with pytest.raises(HostError, match=expected):
        driver.arrive(refused, [0.0, 0.0, 0.0])


def churned(driver: Driver, churn: ChurnLoad, enough: Callable[[], bool]) -> Any:
    driver.start_churn("one", churn)

    def probe() -> None:
        if not enough():
            raise NotYet("less")

    wait_for(probe, SEEN, what="the churn to do its work")
    return driver.stop_churn("one")


def test_churn_creates_the_given_number_and_then_stops(driver: Driver, cluster: MinimalEmbeddedCluster) -> None:
    churn = ChurnLoad("create", 3, [{**NODE, "metadata": {"generateName": "churn-"}}, POD], 0.01, "bench")
    result = churned(driver, churn, lambda: len(existing(cluster.api)) == 3)
    assert (result.created, result.failed) == (6, 0)
    assert sorted(existing(cluster.api, "nodes")) == sorted(NODES)
    assert not existing(cluster.api)


def test_churn_recreates_what_it_has_deleted(driver: Driver, cluster: MinimalEmbeddedCluster) -> None:
    service = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"generateName": "service-churn-"},
        "spec": {"ports": [{"port": 80}]},
    }  # fmt: skip
    names: set[str] = set()
    most = 0

    def enough() -> bool:
        nonlocal most
        found = existing(cluster.api, "services")
        most = max(most, len(found))
        names.update(found)
        return len(names) > 4

    result = churned(driver, ChurnLoad("recreate", 2, [service], 0.02, "bench"), enough)
    assert most <= 2
    assert result.created - result.deleted in (0, 1, 2)
    assert result.failed == 0
    assert not existing(cluster.api, "services")


def test_failed_requests_of_churn_are_counted_with_the_error(driver: Driver, cluster: MinimalEmbeddedCluster) -> None:
    begun = [POD, {**POD, "spec": {}}]
    result = churned(driver, ChurnLoad("create", 2, begun, 0.01, "bench"), lambda: len(existing(cluster.api)) == 2)
    assert result.created == 2
    assert result.failed > 0
    assert "spec.containers" in result.failure


class Dead:
    def exit_error(self) -> CandidateError:
        return CandidateError("the scheduler has ended")


def test_an_abandoned_command_ends(driver: Driver, cluster: MinimalEmbeddedCluster) -> None:
    with pytest.raises(CandidateError, match="the scheduler has ended"):
        driver.arrive(pods("g", 2), [0.0, 3600.0], watching=(Dead(),))
    assert driver.wait("g", 0.0).bound == 0  # is answered, an hour before the second pod
    driver.delete("g")
    assert not existing(cluster.api)


class Relay:
    """Forwards connections to the apiserver, until it drops all of them."""

    def __init__(self, kubeconfig: Path, own: Path) -> None:
        document = json.loads(kubeconfig.read_text())
        place = document["clusters"][0]["cluster"]
        self._port = int(place["server"].rpartition(":")[2])
        self._listener = listening_socket()
        self._lines: list[tuple[socket.socket, threading.Thread]] = []
        place["server"] = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        own.write_text(json.dumps(document))
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._pass_on, args=(client,))
                thread.start()
                self._lines.append((client, thread))

    def _pass_on(self, client: socket.socket) -> None:
        """Forward until either side ends the connection."""
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            back = threading.Thread(target=self._pump, args=(server, client))
            back.start()
            self._pump(client, server)
            _shut(server)
            back.join()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)

    def drop(self) -> None:
        """Drop all connections, and return when they have ended."""
        dropped, self._lines = self._lines, []
        for client, _ in dropped:
            _shut(client)
        for _, thread in dropped:
            thread.join()

    def close(self) -> None:
        """Refuse connections, and drop open ones. Safe to call twice."""
        _shut(self._listener)
        self._accepting.join()
        self._listener.close()
        self.drop()


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is shut
        end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay(cluster: MinimalEmbeddedCluster, tmp_path: Path) -> Iterator[Relay]:
    running = Relay(cluster.admin_kubeconfig, tmp_path / "kubeconfig")
    yield running
    running.close()


def test_a_broken_watch_is_resumed_where_it_ended(
    driver: Driver, driving: Callable[[Path], Driver], relay: Relay, tmp_path: Path
) -> None:
    behind = driving(tmp_path / "kubeconfig")
    behind.create(pods("g", 3))
    relay.drop()
    driver.delete_all("bench")  # past the relay
    assert behind.delete("g").pods <= 3  # which it could not say had it missed what happened meanwhile
    behind.create(pods("h", 3))
    behind.bind("h", NODES)
    assert behind.wait("h", ENOUGH) == Bound(3, 3)


def test_a_lost_watch_fails_every_later_command(
    driver: Driver, driving: Callable[[Path], Driver], relay: Relay, tmp_path: Path
) -> None:
    behind = driving(tmp_path / "kubeconfig")
    behind.create(pods("g", 1))
    relay.close()
    with pytest.raises(HostError, match="the watch of pods has ended, and cannot be resumed"):
        behind.wait("g", ENOUGH)
    with pytest.raises(HostError, match="the watch of pods has ended"):
        behind.create(pods("h", 1))


def test_a_refused_connection_is_an_error(driving: Callable[[Path], Driver], relay: Relay, tmp_path: Path) -> None:
    relay.close()
    with pytest.raises(HostError, match=r"connect: .+refused"):
        driving(tmp_path / "kubeconfig")


HOLDS = """\
import pathlib, sys
from schedproof.benchmark.driver import Driver, Pods
binary, kubeconfig, folder, template = sys.argv[1:]
driver = Driver(pathlib.Path(binary), pathlib.Path(folder))
driver.connect(pathlib.Path(kubeconfig))
print(driver.pid, flush=True)
driver.arrive(Pods("killed", "bench", "killed-", 2, [__import__("json").loads(template)]), [0.0, 3600.0])
"""


def test_the_driver_ends_with_a_harness_that_is_killed(
    driver: Driver, cluster: MinimalEmbeddedCluster, binaries: dict[str, Path], tmp_path: Path
) -> None:
    """The harness is killed during a command."""
    argv = (str(binaries[BINARY]), str(cluster.admin_kubeconfig), str(tmp_path), json.dumps(POD))
    with subprocess.Popen((sys.executable, "-c", HOLDS, *argv), stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        os.kill(pid, 0)

        def created() -> None:
            try:
                cluster.api.get("pods", "killed-0", "bench")
            except NotFound as error:
                raise NotYet(str(error)) from error

        wait_for(created, SEEN, what="the first of two pods")
        harness.send_signal(signal.SIGKILL)

    def gone() -> None:
        with contextlib.suppress(FileNotFoundError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z":  # it has ended, and has not been reaped
                raise NotYet(f"{pid} lives")

    wait_for(gone, SEEN, what="the driver to end")
