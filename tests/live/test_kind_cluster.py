"""A kind cluster: its packets, its nodes, and that nothing of it is left, however its run ends."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import signal
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_api_client import PrometheusConnect

from schedproof.clusters.cluster import Cluster
from schedproof.clusters.kind.docker import docker
from schedproof.clusters.kind.host_settings import SETTINGS
from schedproof.clusters.kind.ownership import CLUSTER_LABEL
from schedproof.clusters.node_image.images import our_images
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.progress import SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.launch import Settings
from schedproof.run.session import Session
from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

if TYPE_CHECKING:
    from conftest import Shell

pytestmark = [pytest.mark.live, pytest.mark.kind, pytest.mark.slow]

TOLERANCE = 0.05
SECONDS = 5.0
LOAD_SEEN = Deadline(
    "load seen", 120, "five seconds of a load are seen after six; a machine may be too busy for a while"
)
CREATING = Deadline("creating", 300, "images are there, and kind's first act is to make the nodes")
DIRECTIONS = {"receive": "node_network_receive_bytes_total", "transmit": "node_network_transmit_bytes_total"}


def docker_has() -> dict[str, set[str]]:
    return {
        "containers": set(docker("ps", "--all", "--format={{.Names}}").split()),
        "volumes": set(docker("volume", "ls", "--quiet").split()),
        "networks": set(docker("network", "ls", "--format={{.Name}}").split()) - {"kind"},
        "settings": {(Path("/proc/sys") / setting).read_text() for setting in SETTINGS},
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    before = docker_has()
    session = Session(Settings(report=tmp_path_factory.mktemp("kind"), cluster="kind"), SilentProgress())
    with contextlib.closing(session):
        yield session.cluster
    assert docker_has() == before


def rates(cluster: Cluster, metric: str) -> dict[str, float]:
    """Node to bytes per second of the last seconds: the median over pairs of scrapes that are far enough apart."""
    answer = PrometheusConnect(url=cluster.prometheus_url).custom_query(
        f'{metric}{{device="{cluster.device}"}}[{math.ceil(SECONDS)}s]'
    )
    found = {}
    for series in answer:
        samples = [(float(at), float(value)) for at, value in series["values"]]
        slopes = [
            (last - first) / (end - begin)
            for (begin, first), (end, last) in itertools.combinations(samples, 2)
            if end - begin > SECONDS / 2
        ]
        if slopes:
            found[series["metric"]["node"]] = statistics.median(slopes)
    return found


def expect_load(cluster: Cluster, requested: dict[str, float], direction: str) -> None:
    cluster.set_load(requested, direction)

    def probe() -> None:
        read = rates(cluster, DIRECTIONS[direction])
        if any(abs(read.get(node, 0.0) / rate - 1) > TOLERANCE for node, rate in requested.items()):
            raise NotYet(f"{direction}: {read}, expected {requested}")

    wait_for(probe, LOAD_SEEN, what=f"readings within {TOLERANCE:.0%} of the load", poll=0.5)
    cluster.set_load(dict.fromkeys(requested, 0.0), direction)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_real_packets_have_the_requested_rates(cluster: Cluster, direction: str) -> None:
    """Through the workers' own interfaces, to which kubelets add a little."""
    expect_load(cluster, dict(zip(cluster.nodes, (2e6, 4e6, 2e7), strict=True)), direction)


def test_a_node_joins_with_its_own_load_and_leaves(cluster: Cluster) -> None:
    cluster.add_node("joined")
    expect_load(cluster, {"joined": 1e6, cluster.nodes[0]: 2e6}, "receive")
    # It is a Node object alone: no DaemonSet of the cluster waits for a pod there.
    assert not cluster.api.list("pods", fieldSelector="spec.nodeName=joined")["items"]
    cluster.remove_node("joined")
    assert "joined" not in {node["metadata"]["name"] for node in cluster.api.list("nodes")["items"]}


def test_workers_have_the_same_resources_and_pods(cluster: Cluster) -> None:
    """Only traffic distinguishes them: they have the same allocatable resources, used by the same pods."""
    nodes = [cluster.api.get("nodes", node) for node in cluster.nodes]
    assert len({str(node["status"]["allocatable"]) for node in nodes}) == 1

    def owners(node: str) -> list[str]:
        pods: list[dict[str, Any]] = cluster.api.list("pods", fieldSelector=f"spec.nodeName={node}")["items"]
        return sorted(owner["name"] for pod in pods for owner in pod["metadata"]["ownerReferences"])

    assert len({tuple(owners(node)) for node in cluster.nodes}) == 1


def paths(value: Any, path: str = "") -> set[str]:
    """The paths of a node's fields that have a value; conditions and addresses are paths by their types."""
    if isinstance(value, dict):
        return set().union(*(paths(inner, f"{path}.{key}") for key, inner in value.items()), set())
    if isinstance(value, list):
        types = (entry.get("type", "") if isinstance(entry, dict) else "" for entry in value)
        return set().union(*(paths(entry, f"{path}[{kind}]") for entry, kind in zip(value, types, strict=True)), set())
    return {path} if value not in (None, "") else set()


OF_KIND = (".metadata.annotations", ".metadata.managedFields", ".status.images", ".status.runtimeHandlers")
"""What kubeadm and kind write for themselves, and what the node has stored: nothing there decides about pods."""
NOT_OURS = {".metadata.labels.beta.kubernetes.io/os", ".metadata.labels.kubernetes.io/os", ".spec.providerID"}
"""DaemonSets select these labels, and would wait for pods where nothing runs them; the ID is that of a container."""


def test_nodes_that_join_report_all_fields_of_a_kubelet(cluster: Cluster) -> None:
    cluster.add_node("joined")
    cluster.add_idle_nodes({"idle": "203.0.113.1"})
    real, *ours = (cluster.api.get("nodes", name) for name in (cluster.nodes[0], "joined", "idle"))
    reported = {path for path in paths(real) if not path.startswith(OF_KIND)}
    missing = {node["metadata"]["name"]: reported - paths(node) - NOT_OURS for node in ours}
    for node in ours:
        cluster.remove_node(node["metadata"]["name"])
    assert missing == {"joined": set(), "idle": set()}


def shape(url: str, node: str) -> set[tuple[tuple[str, str], ...]]:
    """Each series of a node: names of labels, and the values that a query may select or join by."""
    kept = ("__name__", "collector", "job", "node", "kubernetes_node")
    found = PrometheusConnect(url=url).custom_query(f'{{node="{node}", device!~"veth.*"}}')
    return {
        tuple(sorted((name, value if name in kept else "") for name, value in series["metric"].items()))
        for series in found
    }


def test_scripted_series_have_the_labels_of_a_real_scrape(cluster: Cluster) -> None:
    counters = {node: Counter(1e9, ((time.time() - 60, 1e5),)) for node in cluster.nodes}
    with contextlib.closing(cluster.scripted_metrics()) as server:
        server.script(Script({(DIRECTIONS["receive"], cluster.device): counters}, cluster.scrape_interval))
        scripted = {node: shape(server.url, node) for node in cluster.nodes}
    for node in cluster.nodes:
        assert scripted[node] == shape(cluster.prometheus_url, node)


def test_clean_removes_the_cluster_of_a_killed_run_and_keeps_a_foreign_cluster(shell: Shell) -> None:
    """Killed while Docker creates its nodes, and once other containers of the run exist."""
    before = docker_has()
    name, foreign = f"killed-{os.getpid()}", f"foreign-{os.getpid()}"

    def making() -> None:
        if not docker("ps", "--all", "--quiet", f"--filter=label={CLUSTER_LABEL}={name}").strip():
            raise NotYet(command.so_far.printed)

    image = our_images("1.36").workload
    for moment in ("kind nodes", "nodes ready ..."):
        command = shell.start(
            "schedproof", "run", "stock", "--cluster=kind", f"--cluster-name={name}", "--clause=core/binds",
            f"--report={moment.split()[0]}",
        )  # fmt: skip
        command.says(moment, CREATING)
        wait_for(making, CREATING, what="Docker to make a node", watching=(command,))
        docker("create", "--name", foreign, f"--label={CLUSTER_LABEL}={foreign}", image)
        try:
            os.kill(command.process.pid, signal.SIGKILL)
            command.process.wait()
            cleaned = shell.schedproof("clean")
            assert f"removed kind cluster {name}" in cleaned.out, cleaned.printed
            assert docker_has()["containers"] == before["containers"] | {foreign}
        finally:
            docker("rm", foreign)
        assert shell.schedproof("clean").code == 0
        assert docker_has() == before
