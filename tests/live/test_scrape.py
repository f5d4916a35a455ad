"""Scripted series look like those of a real Prometheus that scrapes a real node_exporter."""

from __future__ import annotations

import contextlib
import copy
import ipaddress
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_api_client import PrometheusConnect

from schedproof.binaries.resolve import resolve
from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.clusters.cluster import Cluster
from schedproof.daemons.password import USER
from schedproof.daemons.readings_server import SAMPLES, ReadingsServer
from schedproof.daemons.scrape import RECEIVED, WHOLE
from schedproof.deploy.attachment import Attachment
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import DAEMON_READY, FIRST_SCRAPE
from schedproof.foundation.progress import ConsoleProgress, SilentProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.run.launch import Settings
from schedproof.run.session import Session
from schedproof.traffic.readings import made_up_address, node_labels
from schedproof.traffic.script import Script
from schedproof.traffic.series import Counter

pytestmark = [pytest.mark.live, pytest.mark.slow]

RATE = f'rate({RECEIVED}{{device="eth0"}}[10s])'
CONDITIONS = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
INFO = {
    "architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeletVersion", "machineID",
    "operatingSystem", "osImage", "systemUUID",
}  # fmt: skip
"""Fields of nodeInfo that a kubelet fills in."""
LOADS = (1e5, 4e5, 2e5)
"""Of the first three of four nodes: the scrapes of the last one fail."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    session = Session(Settings(report=tmp_path_factory.mktemp("scrape")), SilentProgress())
    with contextlib.closing(session):
        yield session.cluster


Answers = dict[str, list[Any]]
"""Path, to status and body: targets by node, with what differs from scrape to scrape left out."""

ABOUT_TARGETS = (
    "targets", "targets?state=active", "targets?state=dropped", "targets?state=ANY", "targets?state=other",
    "targets?scrapePool=node-exporter", "targets?scrapePool=other",
)  # fmt: skip
ABOUT_METADATA = (
    "metadata", f"metadata?metric={RECEIVED}", "metadata?metric=up", "metadata?limit=0", "metadata?limit=x",
    "metadata?limit_per_metric=x", "targets/metadata", f"targets/metadata?metric={RECEIVED}",
    "targets/metadata?match_target={node='node-2'}", "targets/metadata?match_target={job='other'}",
    "targets/metadata?match_target={", "targets/metadata?limit=0", "targets/metadata?limit=x",
)  # fmt: skip
ANY_VALUE = ("scrapeUrl", "globalUrl", "lastScrape", "lastScrapeDuration")


def answers(url: str) -> Answers:
    found: Answers = {}
    for path in (*ABOUT_TARGETS, *ABOUT_METADATA):
        answer = requests.get(f"{url}/api/v1/{path}", timeout=30)
        assert answer.headers["Content-Type"] == "application/json"
        body = answer.json()
        if path in ABOUT_TARGETS:
            for target in body["data"]["activeTargets"]:
                target.update(dict.fromkeys(target.keys() & set(ANY_VALUE)), lastError=bool(target["lastError"]))
                target["discoveredLabels"].update(__address__=None, __meta_filepath=None)
            body["data"]["activeTargets"].sort(key=lambda target: target["labels"]["node"])
        elif isinstance(body.get("data"), list):
            body["data"].sort(key=lambda entry: (entry["target"]["node"], entry.get("metric")))
        found[path] = [answer.status_code, body]
    return found


def without(found: Answers, node: str) -> Answers:
    """The same answers as if the scrapes of this node had failed since the start."""
    found = copy.deepcopy(found)
    for path in ABOUT_TARGETS:
        for target in found[path][1]["data"]["activeTargets"]:
            if target["labels"]["node"] == node:
                target.update(health="down", lastError=True)
    for path in ABOUT_METADATA:
        if isinstance(data := found[path][1].get("data"), list):
            data[:] = [entry for entry in data if entry["target"]["node"] != node]
    return found


@pytest.fixture(scope="module")
def attachment(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attachment]:
    """A candidate's tap in front of Prometheus. The candidate itself is not started."""
    candidate = load_candidate(content("fixtures", "candidates", "least-traffic-extender"))
    attachment = Attachment(cluster, candidate, tmp_path_factory.mktemp("attachment"))
    yield attachment
    attachment.stop()


@pytest.fixture(scope="module", autouse=True)
def of_idle(attachment: Attachment) -> Answers:
    """The answers that a candidate receives while nothing has been scraped yet."""
    return answers(attachment.prometheus.url)


@pytest.fixture(scope="module")
def of_scraped(cluster: Cluster, attachment: Attachment) -> Answers:
    """The answers that a candidate receives from a Prometheus that scrapes: the same as without the tap."""
    cluster.set_load(dict.fromkeys(cluster.nodes, 0.0))
    found = answers(attachment.prometheus.url)
    assert found == answers(cluster.prometheus_url)
    return found


@pytest.fixture(scope="module")
def scripted(cluster: Cluster) -> Iterator[PrometheusConnect]:
    begin = time.time() - 60
    counters = {node: Counter(1e9, ((begin, load),)) for node, load in zip(cluster.nodes, LOADS, strict=False)}
    with contextlib.closing(cluster.scripted_metrics()) as server:
        server.script(Script({(RECEIVED, cluster.device): counters}, cluster.scrape_interval))
        yield PrometheusConnect(url=server.url)


def shape(server: PrometheusConnect, node: str, since: float | None = None) -> set[tuple[tuple[str, str], ...]]:
    """Each series of a node: names of labels, and the values that a query may select or join by."""
    kept = ("__name__", "device", "collector", "instance", "job", "node", "kubernetes_node", "nodename")
    series = f'{{node="{node}"}}'
    if since is not None:
        series = f"last_over_time({series}[{(time.time() - since) * 1000:.0f}ms])"
    found: list[dict[str, Any]] = server.custom_query(series)
    return {
        tuple(sorted((name, value if name in kept else "") for name, value in entry["metric"].items()))
        for entry in found
    }


def test_series_of_an_idle_cluster_and_scripted_series_look_like_scraped_series(
    cluster: Cluster, scripted: PrometheusConnect
) -> None:
    server = PrometheusConnect(url=cluster.prometheus_url)
    idle = {node: shape(server, node) for node in cluster.nodes}
    cluster.set_load(dict.fromkeys(cluster.nodes, 0.0))
    since = time.time()

    def probe() -> None:
        # What the exporters do not report is pushed, and less often.
        for metric in ("up", "node_load1"):
            found = server.custom_query(f"timestamp({metric})")
            newest = {entry["metric"]["node"]: float(entry["value"][1]) for entry in found}
            if not all(newest[node] > since for node in cluster.nodes):
                raise NotYet(f"{metric}: {newest}")

    wait_for(probe, FIRST_SCRAPE, what="a scrape of every node")
    for node in cluster.nodes[:3]:
        assert shape(server, node, since) == shape(scripted, node) == idle[node]


RULE = {"record": "node:received:rate", "expr": RATE, "labels": {"by": "rule"}}


def data_of(url: str, path: str) -> Any:
    return requests.get(f"{url}/api/v1/{path}", timeout=30).json()["data"]


@pytest.fixture(scope="module")
def readings(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a readings server that has the cluster's nodes, without a reading of the last."""
    binary = resolve(["readings-server"], progress=ConsoleProgress())["readings-server"].path
    server = ReadingsServer(binary, tmp_path_factory.mktemp("readings"))
    server.rules = [RULE]
    labels = {node: node_labels(node, f"198.18.1.{number}") for number, node in enumerate(cluster.nodes)}
    server.put(
        RECEIVED, cluster.device, 2.0, labels, [*zip(cluster.nodes, LOADS, strict=False), (cluster.nodes[3], None)]
    )
    yield server.url
    server.close()


def test_running_readings_go_on_as_a_real_server_would_have_them(tmp_path: Path) -> None:
    """New samples come every eighth of the window; counters rise by the reading, and rates stay what they are."""
    binary = resolve(["readings-server"], progress=ConsoleProgress())["readings-server"].path
    loads, window = {"node-a": 1e5, "node-b": 4e5, "node-c": 1e5}, 2.0
    labels = {node: node_labels(node, f"198.18.1.{number}") for number, node in enumerate(loads)}
    received = f'{RECEIVED}{{device="eth0"}}'

    def asked(url: str, query: str) -> dict[str, tuple[float, float]]:
        """Node to the moment of the evaluation and the value."""
        found = requests.get(f"{url}/api/v1/query", {"query": query}, timeout=30).json()["data"]["result"]
        return {one["metric"]["node"]: (one["value"][0], float(one["value"][1])) for one in found}

    with contextlib.closing(ReadingsServer(binary, tmp_path)) as server:
        server.put(RECEIVED, "eth0", window, labels, list(loads.items()))
        still = asked(server.url, f"timestamp({received})")
        server.put(RECEIVED, "eth0", window, labels, list(loads.items()), running=True)
        first = {query: asked(server.url, query) for query in (f"timestamp({received})", received)}

        def renewed() -> dict[str, tuple[float, float]]:
            stamps = asked(server.url, f"timestamp({received})")
            if stamps["node-a"][1] <= first[f"timestamp({received})"]["node-a"][1]:
                raise NotYet(str(stamps))
            return stamps

        stamps = wait_for(renewed, DAEMON_READY, what="a new sample")
        for node, (evaluated, stamp) in stamps.items():
            assert 0 <= evaluated - stamp < window / SAMPLES
            assert stamp > still[node][1]
        series = requests.get(f"{server.url}/api/v1/query", {"query": f"{received}[2s]"}, timeout=30).json()
        for one in series["data"]["result"]:
            samples = [(moment, float(value)) for moment, value in one["values"]]
            assert len(samples) == SAMPLES
            risen = [(b - a) / (after - before) for (before, a), (after, b) in itertools.pairwise(samples)]
            # The moments have a resolution of 0.2 microseconds.
            assert risen == pytest.approx([loads[one["metric"]["node"]]] * (SAMPLES - 1), rel=1e-4)
            assert samples[-1][1] > first[received][one["metric"]["node"]][1]
        rates = {node: rate for node, (_, rate) in asked(server.url, f"rate({received}[2s])").items()}
        assert rates == pytest.approx(loads)
        assert rates["node-a"] == rates["node-c"]


def test_the_targets_of_a_readings_server_look_like_those_of_prometheus(cluster: Cluster, readings: str) -> None:
    cluster.set_load(dict.fromkeys(cluster.nodes, 0.0))
    real, ours = (data_of(url, "targets?state=active")["activeTargets"] for url in (cluster.prometheus_url, readings))
    assert {frozenset(target) for target in ours} == {frozenset(target) for target in real}
    assert {frozenset(target["labels"]) for target in ours} == {frozenset(target["labels"]) for target in real}
    assert {target["labels"]["node"]: target["health"] for target in ours} == {
        node: "down" if node == cluster.nodes[3] else "up" for node in cluster.nodes
    }
    assert data_of(readings, "targets?state=dropped")["activeTargets"] == []


def test_the_metadata_of_a_readings_server_look_like_those_of_prometheus(cluster: Cluster, readings: str) -> None:
    cluster.set_load(dict.fromkeys(cluster.nodes, 0.0))
    real, ours = (data_of(url, "metadata") for url in (cluster.prometheus_url, readings))
    assert ours
    assert {name: real.get(name) for name in ours} == ours
    assert data_of(readings, f"metadata?metric={RECEIVED}").keys() == {RECEIVED}


def test_the_rules_of_a_readings_server_look_like_those_of_prometheus(cluster: Cluster, readings: str) -> None:
    cluster.load_rules([RULE])
    real, ours = (data_of(url, "rules")["groups"] for url in (cluster.prometheus_url, readings))
    assert [group.keys() for group in ours] == [group.keys() for group in real]
    assert [rule.keys() for rule in ours[0]["rules"]] == [rule.keys() for rule in real[0]["rules"]]
    assert [rule["name"] for rule in ours[0]["rules"]] == [RULE["record"]]
    cluster.load_rules([])


def test_the_targets_of_an_idle_cluster_look_like_scraped_targets(of_idle: Answers, of_scraped: Answers) -> None:
    assert {path: found for path, found in of_idle.items() if found != of_scraped[path]} == {}
    assert [target["health"] for target in of_idle["targets"][1]["data"]["activeTargets"]] == ["up"] * 4


def test_the_targets_of_a_scripted_server_look_like_scraped_targets(
    cluster: Cluster, attachment: Attachment, scripted: PrometheusConnect, of_scraped: Answers
) -> None:
    real = without(of_scraped, cluster.nodes[3])
    attachment.prometheus.upstream = scripted.url
    found = answers(attachment.prometheus.url)
    attachment.prometheus.upstream = cluster.prometheus_url
    assert {path: entry for path, entry in found.items() if entry != real[path]} == {}
    assert answers(attachment.prometheus.url) == of_scraped


def test_targets_follow_the_script_and_the_nodes(cluster: Cluster, attachment: Attachment) -> None:
    """Also for more nodes than are scraped completely; and if no node is up."""
    idle = {f"idle-{number}": node_labels(f"idle-{number}", made_up_address(number)) for number in range(WHOLE + 1)}
    begin = time.time() - 60
    for loads in (dict.fromkeys(idle, 1e5), {}):
        counters = {node: Counter(1e9, ((begin, load),)) for node, load in loads.items()}
        with contextlib.closing(cluster.scripted_metrics()) as server:
            server.wait_ready()
            attachment.prometheus.upstream = server.url
            assert data_of(attachment.prometheus.url, "targets")["activeTargets"] == []  # as after its restart
            server.script(Script({(RECEIVED, cluster.device): counters}, 0.5, idle))
            active = data_of(attachment.prometheus.url, "targets")["activeTargets"]
            metadata = data_of(attachment.prometheus.url, "metadata")
            attachment.prometheus.upstream = cluster.prometheus_url
        assert {entry["labels"]["node"]: entry["health"] for entry in active} == {
            node: "up" if node in loads else "down" for node in (*cluster.nodes, *idle)
        }
        assert {entry["labels"]["instance"] for entry in active} >= {labels["instance"] for labels in idle.values()}
        assert (RECEIVED in metadata) == bool(loads)


@pytest.fixture(scope="module")
def joined(cluster: Cluster) -> Iterator[dict[str, dict[str, Any]]]:
    """The nodes that join in each way, by name, and the cluster's own first node."""
    cluster.add_node("joined")
    cluster.add_idle_nodes({"idle": "203.0.113.1"})
    names = (cluster.nodes[0], "joined", "idle")
    yield {name: cluster.api.get("nodes", name) for name in names}
    for name in names[1:]:
        cluster.remove_node(name)


def test_every_node_reports_all_fields_of_a_kubelet(joined: dict[str, dict[str, Any]]) -> None:
    for name, node in joined.items():
        status = node["status"]
        addresses = {address["type"]: address["address"] for address in status["addresses"]}
        assert addresses["Hostname"] == name
        assert ipaddress.ip_address(addresses["InternalIP"])
        conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
        assert CONDITIONS.items() <= conditions.items()
        assert {field for field, value in status["nodeInfo"].items() if value} >= INFO
        for what in ("capacity", "allocatable"):
            assert status[what].keys() >= {"cpu", "memory", "ephemeral-storage", "pods"}
        assert status["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        assert labels.items() <= node["metadata"]["labels"].items()
    assert len({node["status"]["addresses"][0]["address"] for node in joined.values()}) == len(joined)


@pytest.mark.parametrize("credentials", [None, (USER, "guessed")])
@pytest.mark.parametrize("path", ["/api/v1/write", "/api/v1/query?query=up", "/-/quit"])
def test_servers_refuse_requests_without_the_harness_s_credentials(
    cluster: Cluster, scripted: PrometheusConnect, path: str, credentials: tuple[str, str] | None
) -> None:
    for url in (cluster.prometheus_url, scripted.url):
        server = f"http://{url.rpartition('@')[2]}"
        assert requests.post(server + path, auth=credentials, timeout=30).status_code == requests.codes.unauthorized


def test_a_node_that_is_left_out_has_failed_scrapes(cluster: Cluster, scripted: PrometheusConnect) -> None:
    left_out = cluster.nodes[3]
    names = {dict(labels)["__name__"] for labels in shape(scripted, left_out)}
    assert names == {"up", *(name for name in names if name.startswith("scrape_"))}
    up = {entry["metric"]["node"]: entry["value"][1] for entry in scripted.custom_query("up")}
    assert up == {**dict.fromkeys(cluster.nodes, "1"), left_out: "0"}


@pytest.mark.parametrize(
    ("label", "query"),
    [
        ("node", f"sum by (node) ({RATE})"),
        ("nodename", f"sum by (nodename) ({RATE} * on(instance) group_left(nodename) node_uname_info)"),
        ("node", f"sum by (node) (sum by (instance, job) ({RATE}) * on(instance, job) group_right() (up == 1))"),
    ],
    ids=["relabelled", "node_uname_info", "up"],
)
@pytest.mark.parametrize("ahead", [0, 10, 20])
def test_common_joins_by_node_name_give_the_load_at_any_moment(
    cluster: Cluster, scripted: PrometheusConnect, label: str, query: str, ahead: int
) -> None:
    answer = scripted.custom_query(query, params={"time": str(time.time() + ahead)})
    assert {entry["metric"][label]: float(entry["value"][1]) for entry in answer} == pytest.approx(
        dict(zip(cluster.nodes, LOADS, strict=False)), rel=1e-9
    )


def test_a_script_continues_without_a_gap(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedproof.clusters.scripted._AHEAD", 2.0)
    begin = time.time() - 20
    script = Script({(RECEIVED, cluster.device): {cluster.nodes[0]: Counter(0, ((begin, 1e5),))}}, 0.5)
    with contextlib.closing(cluster.scripted_metrics()) as server:
        server.script(script)
        first_end = time.time() + 2.0
        prometheus = PrometheusConnect(url=server.url)

        def later() -> float:
            newest = prometheus.custom_query(f'timestamp({RECEIVED}{{device="eth0"}})', params={"time": first_end + 60})
            if (moment := float(newest[0]["value"][1])) <= first_end:
                raise NotYet(f"the newest sample is {first_end - moment:.1f} s before the end of the first part")
            return moment

        moment = wait_for(later, DAEMON_READY, what="samples beyond the first part")
        counted = prometheus.custom_query(f'count_over_time({RECEIVED}{{device="eth0"}}[10s])', params={"time": moment})
        rate = prometheus.custom_query(RATE, params={"time": moment})
    assert float(counted[0]["value"][1]) == 20
    assert float(rate[0]["value"][1]) == pytest.approx(1e5, rel=1e-9)
