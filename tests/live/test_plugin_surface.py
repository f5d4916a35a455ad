"""Plugins are queried for their scores in process, with readings from the real PromQL engine; no cluster is needed."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from schedproof.binaries.resolve import resolve
from schedproof.candidate.descriptor.descriptor import Candidate, load_candidate
from schedproof.candidate.points import PartOfMetadata
from schedproof.candidate.surroundings import NodeSurroundings, PodSurroundings, WorldSpec
from schedproof.daemons.readings_server import ReadingsServer, Selector
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import Deadline
from schedproof.foundation.errors import CandidateError
from schedproof.foundation.processes.ports import listening_socket
from schedproof.foundation.progress import ConsoleProgress
from schedproof.foundation.waiting import NotYet, wait_for
from schedproof.normalization.surfaces.plugin import PROBE_ANSWER, PluginSurface
from schedproof.traffic.readings import node_labels

pytestmark = [pytest.mark.live, pytest.mark.slow]

KUBERNETES = "1.36"
D1 = "described/d1-network-traffic/"
EXAMPLE = (("node-a", 1e6), ("node-b", 1.2e6), ("node-c", 1.4e6))
NAN, INF = float("nan"), float("inf")
GONE = Deadline("processes gone", 60, "they end when a socket closes; a busy machine takes its time")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadingsServer]:
    binary = resolve(["readings-server"], progress=ConsoleProgress())["readings-server"].path
    running = ReadingsServer(binary, tmp_path_factory.mktemp("server"))
    yield running
    running.close()


@pytest.fixture
def surface(tmp_path: Path, server: ReadingsServer) -> Iterator[Callable[..., PluginSurface]]:
    """Make the surface of a shipped or given candidate, and end it with the test."""
    made: list[PluginSurface] = []

    def make(candidate: str | Candidate, **more: Any) -> PluginSurface:
        if isinstance(candidate, str):
            candidate = load_candidate(content("fixtures", "candidates", candidate))
        given = {"logs": tmp_path, "progress": ConsoleProgress(), **more}
        made.append(PluginSurface(candidate, KUBERNETES, given.pop("server", server), **given))
        return made[-1]

    yield make
    for entry in made:
        entry.close()


# -- the readings server


def answer(server: ReadingsServer, path: str, method: str = "GET", **parameters: str) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    form = urlencode(parameters)
    if method == "GET":
        connection.request("GET", f"{path}?{form}")
    else:
        connection.request("POST", path, form, {"Content-Type": "application/x-www-form-urlencoded"})
    response = connection.getresponse()
    document: dict[str, Any] = json.loads(response.read())
    connection.close()
    return response.status, document


def rates(server: ReadingsServer, query: str = 'sum by (node) (rate(received_total{device="eth0"}[2s]))') -> Any:
    status, document = answer(server, "/api/v1/query", "POST", query=query, time="1000.5")
    assert status == 200, document
    return {entry["metric"]["node"]: entry["value"][1] for entry in document["data"]["result"]}


def put(server: ReadingsServer, readings: Sequence[tuple[str, float | None]], window: float = 2.0) -> None:
    labels = {node: node_labels(node, f"198.18.0.{number}") for number, (node, _) in enumerate(readings, 1)}
    server.put("received_total", "eth0", window, labels, readings)


def test_a_rate_equals_the_reading_and_is_the_same_to_the_bit_each_time(server: ReadingsServer) -> None:
    readings = (("a", 1e6), ("b", 1.2345678901e-3), ("c", 0.0), ("d", 1e300), ("e", 3.3), ("f", 3.3), ("g", 6.6))
    found = []
    for _ in range(2):
        put(server, readings)
        found.append(rates(server))
    assert found[0] == found[1]
    assert {node: float(text) for node, text in found[0].items()} == pytest.approx(dict(readings), rel=1e-14)
    assert found[0]["e"] == found[0]["f"]
    assert float(found[0]["g"]) == 2 * float(found[0]["e"])


def test_a_put_replaces_all_readings_for_the_next_query(server: ReadingsServer) -> None:
    for number in range(50):
        put(server, ((f"node-{number}", float(number)),))
        assert list(rates(server)) == [f"node-{number}"]


def test_series_without_a_valid_rate_exist_too(server: ReadingsServer) -> None:
    put(server, (("a", NAN), ("b", INF), ("c", -INF), ("d", None), ("e", -8.0)))
    assert rates(server, 'received_total{device="eth0"}') == {"a": "NaN", "b": "+Inf", "c": "-Inf", "e": "0"}
    assert rates(server, "received_total offset 2s") == {"a": "NaN", "b": "+Inf", "c": "-Inf", "e": "16"}
    assert set(rates(server)) == {"a", "b", "c", "e"}


def test_a_node_without_a_reading_has_failed_scrapes(server: ReadingsServer) -> None:
    put(server, (("a", 1.0), ("b", None), ("c", 2.0)))
    assert rates(server, "up") == {"a": "1", "b": "0", "c": "1"}
    assert list(rates(server, "node_uname_info")) == ["a", "c"]


def test_recording_rules_are_evaluated_at_each_put_in_order(server: ReadingsServer) -> None:
    server.rules = (
        {"record": "node:received:rate", "expr": "sum by (node) (rate(received_total[2s]))"},
        {"record": "node:received:doubled", "expr": "node:received:rate * 2", "labels": {"by": "rule"}},
    )
    try:
        for put_again in (3.0, 4.0):
            put(server, (("a", 1.0), ("b", put_again)))
            assert rates(server, 'avg_over_time(node:received:doubled{by="rule"}[2s])') == {
                "a": "2",
                "b": f"{2 * put_again:g}",
            }
    finally:
        server.rules = ()


def test_series_can_be_joined_with_the_names_of_their_nodes(server: ReadingsServer) -> None:
    put(server, EXAMPLE)
    joined = 'sum_over_time(received_total[2s]) * on(instance) group_left(nodename) node_uname_info{nodename="node-b"}'
    # Eight samples of a counter that has counted for 9 s, a quarter of a second apart.
    expected = sum(1.2e6 * (9 - age / 4) for age in range(8))
    assert {node: float(text) for node, text in rates(server, joined).items()} == {"node-b": expected}


def test_series_of_other_collectors_grow_as_on_an_idle_machine(server: ReadingsServer) -> None:
    put(server, EXAMPLE)
    nodes = [node for node, _ in EXAMPLE]
    idle = rates(server, 'avg by (node) (rate(node_cpu_seconds_total{mode="idle"}[2s]))')
    assert {node: float(text) for node, text in idle.items()} == pytest.approx(dict.fromkeys(nodes, 1.0))
    late = rates(server, "abs(node_time_seconds - timestamp(node_time_seconds))")
    assert all(float(text) < 0.01 for text in late.values())
    assert rates(server, 'node_network_up{device="eth0"} == 1').keys() == set(nodes)


@pytest.mark.parametrize(
    ("query", "selectors"),
    [
        ('sum by (node) (rate(a{device="eth0"}[2s]))', [Selector("a", 2)]),
        ("max_over_time(rate(a[2s])[10s:1s] offset 1s) / on(node) b", [Selector("a", 13), Selector("b", 0)]),
        ('{__name__="a"} offset 3s or {__name__=~"b.*"}', [Selector("a", 3), Selector("", 0)]),
        ("a @ 3", [Selector("a", None)]),
        ("a[5s:1s] @ start()", [Selector("a", None)]),
        ("sum(", []),
        ("1 + 1", []),
    ],
)
def test_a_query_is_read_as_prometheus_reads_it(server: ReadingsServer, query: str, selectors: list[Selector]) -> None:
    assert server.selectors(query) == selectors


def test_a_range_query_ends_at_the_present_whatever_its_end(server: ReadingsServer) -> None:
    put(server, EXAMPLE)
    _, now = answer(server, "/api/v1/query", query="time()")
    status, document = answer(
        server, "/api/v1/query_range", query="sum(rate(received_total[2s]))", start="100", end="102", step="500ms"
    )
    assert status == 200
    assert document["data"]["resultType"] == "matrix"
    (series,) = document["data"]["result"]
    assert [float(value) for _, value in series["values"]] == pytest.approx([3.6e6] * 5)
    assert series["values"][-1][0] == now["data"]["result"][0]


@pytest.mark.parametrize("query", ["nothing", "rate(nothing[2s])", "max by (node) (rate(nothing[2s]))", "up > 5"])
def test_a_query_without_results_returns_an_empty_list(server: ReadingsServer, query: str) -> None:
    put(server, EXAMPLE)
    for path, more in (("query", {}), ("query_range", {"start": "100", "end": "102", "step": "1"})):
        status, document = answer(server, f"/api/v1/{path}", query=query, **more)
        assert (status, document["data"]["result"]) == (200, [])


@pytest.mark.parametrize(
    ("path", "parameters", "status", "kind", "message"),
    [
        ("query", {"query": "rate(up[2ss])"}, 400, "bad_data", 'unknown unit "ss" in duration'),
        ("query", {"query": "up", "time": "yesterday"}, 400, "bad_data", 'cannot parse "yesterday"'),
        ("query", {"query": "up * on(job) up"}, 422, "execution", "found duplicate series"),
        ("query_range", {"query": "up", "start": "2", "end": "1", "step": "1"}, 400, "bad_data", "before start time"),
        ("query_range", {"query": "up", "start": "1", "end": "2", "step": "0"}, 400, "bad_data", "zero or negative"),
        ("series", {}, 400, "bad_data", "no match[] parameter provided"),
    ],
)
def test_errors_are_those_of_prometheus(
    server: ReadingsServer, path: str, parameters: dict[str, str], status: int, kind: str, message: str
) -> None:
    put(server, EXAMPLE)
    got, document = answer(server, f"/api/v1/{path}", **parameters)
    assert (got, document["status"], document["errorType"]) == (status, "error", kind)
    assert message in document["error"]


def test_series_and_labels_can_be_looked_up(server: ReadingsServer) -> None:
    put(server, EXAMPLE)
    _, series = answer(server, "/api/v1/series", **{"match[]": 'up{node="node-a"}'})
    assert series["data"] == [
        {"__name__": "up", "instance": "198.18.0.1:9100", "job": "node-exporter", "kubernetes_node": "node-a",
         "node": "node-a"},
    ]  # fmt: skip
    assert answer(server, "/api/v1/label/node/values")[1]["data"] == ["node-a", "node-b", "node-c"]
    assert "device" in answer(server, "/api/v1/labels")[1]["data"]


# -- plugins


def test_the_reference_plugin_scores_as_its_documentation_says(surface: Any) -> None:
    plugin = surface("least-traffic-plugin")
    claims = load_candidate(content("fixtures", "candidates", "least-traffic-plugin")).claims
    for example in claims.examples:
        found = plugin.ask(tuple(example.readings.items()))
        assert dict(found.scores) == example.scores
        assert [score for _, score in found.raw] == [0, 1, 2]
    backwards = plugin.ask(EXAMPLE[::-1])
    assert backwards.scores == (("node-c", 0), ("node-b", 50), ("node-a", 100))


def test_a_plugin_that_skips_scoring_prefers_no_node(surface: Any) -> None:
    found = surface("least-traffic-plugin").ask((("a", None), ("b", None)))
    assert (found.scores, found.raw) == ((("a", 100), ("b", 100)), ())


def test_the_pod_and_the_nodes_have_the_labels_and_annotations_of_the_candidate_s_claims(surface: Any) -> None:
    """Without the pod's annotation it prefers nothing, and without the nodes' label there is nothing to prefer."""
    shipped = load_candidate(content("fixtures", "candidates", "unusual", "signs-pods"))
    network = load_candidate(content("fixtures", "candidates", "least-traffic-plugin")).claims.network
    asks = dataclasses.replace(
        shipped,
        plugin=dataclasses.replace(shipped.plugin, name="PrefersDisk"),
        claims=dataclasses.replace(shipped.claims, network=network),
    )
    disk = {"example.com/disk": "ssd"}
    for pod, nodes, score in (({}, disk, 0), (disk, {}, 0), (disk, disk, 100)):
        annotated = PodSurroundings(metadata=PartOfMetadata(annotations=pod))
        world = WorldSpec(NodeSurroundings(labels=nodes), annotated)
        found = surface(dataclasses.replace(asks, world=world)).ask(EXAMPLE)
        assert {its for _, its in found.scores} == {score}, (pod, nodes)


def test_nodes_that_a_plugin_filters_are_named(surface: Any) -> None:
    reference = load_candidate(content("fixtures", "candidates", "least-traffic-plugin"))
    args = {**reference.spec.args, "onMissing": "reject"}
    plugin = surface(dataclasses.replace(reference, plugin=dataclasses.replace(reference.plugin, args=args)))
    found = plugin.ask((("a", 2e6), ("b", None), ("c", 1e6), ("d", NAN)))
    assert found.filtered == ("b", "d")
    assert found.scores == (("a", 0), ("c", 100))


def test_a_division_by_zero_is_attributed_and_the_next_query_is_answered(surface: Any) -> None:
    plugin = surface(f"{D1}divides-by-zero")
    for _ in range(2):
        crashed = plugin.ask((("a", 0.0), ("b", 0.0)))
        assert crashed.scores == ()
        assert crashed.crash.splitlines()[0] == "panic: runtime error: integer divide by zero"
        assert "networktraffic.percentOf (networktraffic/defects.go:" in crashed.crash
        assert plugin.ask(EXAMPLE).scores == (("node-a", 29), ("node-b", 15), ("node-c", 0))
    both = plugin.normalize_many([(("a", 0),), (("a", 3), ("b", 0))])
    assert [bool(entry.crash) for entry in both] == [True, False]
    assert both[1].scores == (("a", 0), ("b", 100))


def test_scores_beyond_the_range_are_returned_unchanged(surface: Any) -> None:
    found = surface(f"{D1}overflows").ask((("a", 1e17), ("b", 1.2e17)))
    assert [score for _, score in found.scores if not 0 <= score <= 100]


def test_an_error_of_a_plugin_is_reported_as_a_refusal(surface: Any) -> None:
    plugin = surface(f"{D1}rejects-without-sample")
    found = plugin.ask((("a", 1.0), ("b", None)))
    assert "expected exactly one sample for node b" in found.refusal
    assert (found.scores, found.crash) == ((), "")
    assert plugin.ask(EXAMPLE).scores


def test_the_published_query_and_formula_of_d1_are_reproduced(surface: Any) -> None:
    """As it was published, except for args that it can read."""
    corrected = load_candidate(content("fixtures", "candidates", D1, "corrected"))
    spec = dataclasses.replace(corrected.spec, name="D1AsPublished")
    plugin = surface(dataclasses.replace(corrected, plugin=spec))
    found = plugin.ask(EXAMPLE)
    assert found.scores == (("node-a", 29), ("node-b", 15), ("node-c", 0))
    # It ranks by what it has added up: eight samples of counters that have counted for up to 9 s.
    assert [score for _, score in found.raw] == [65_000_000, 78_000_000, 91_000_000]
    assert "divide by zero" in plugin.ask((("a", 0.0),)).crash


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("d1-network-traffic/as-published", "timeRangeInMinutes"),
        ("d2-network-traffic-second/args-into-value", "pointer"),
    ],
)
def test_a_plugin_that_cannot_read_its_args_is_explained(surface: Any, name: str, message: str) -> None:
    with pytest.raises(CandidateError, match="its plugin cannot be created") as raised:
        surface(f"described/{name}")
    assert message in str(raised.value)
    assert raised.value.remedy


def test_an_unknown_plugin_name_is_an_error_as_in_kube_scheduler(surface: Any) -> None:
    corrected = load_candidate(content("fixtures", "candidates", D1, "corrected"))
    with pytest.raises(CandidateError, match="no plugin is registered under that name"):
        surface(dataclasses.replace(corrected, plugin=dataclasses.replace(corrected.plugin, name="Other")))


def test_args_for_another_plugin_name_leave_a_plugin_without_readings(surface: Any) -> None:
    """Its pluginConfig is for another name, and kube-scheduler ignores it."""
    found = surface("described/d2-network-traffic-second/registered-name").ask(EXAMPLE)
    assert {score for _, score in found.scores} == {100}


def test_a_plugin_that_hangs_is_ended(surface: Any, tmp_path: Path) -> None:
    class Silent:
        url = ""

        def put(self, *_: Any) -> None:
            pass

    with listening_socket() as listener:  # accepts, and never answers
        silent = Silent()
        silent.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        plugin = surface(f"{D1}no-deadline", server=silent, deadline=Deadline("answer", 1, "a test's"))
        assert plugin.ask(EXAMPLE).crash == "no answer within 1 s"
        plugin._deadline = PROBE_ANSWER
        assert plugin.normalize((("a", 0),)).scores == (("a", 100),)


def test_five_thousand_nodes_are_scored_in_a_single_query(surface: Any) -> None:
    plugin = surface(f"{D1}corrected")
    many = tuple((f"node-{number}", float(number)) for number in range(5000))
    for readings in (many, many[:3], many):
        found = plugin.ask(readings)
        assert [node for node, _ in found.scores] == [node for node, _ in readings]
        assert found.scores[0][1] == 100
        assert found.scores[-1][1] == 0


HOLDS = """\
import os, pathlib, signal, sys
from schedproof.binaries.resolve import resolve
from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.daemons.readings_server import ReadingsServer
from schedproof.foundation.progress import SilentProgress
from schedproof.normalization.surfaces.plugin import PluginSurface
binary = resolve(["readings-server"], progress=SilentProgress())["readings-server"].path
folder = pathlib.Path(sys.argv[1])
server = ReadingsServer(binary, folder)
plugin = PluginSurface(
    load_candidate(pathlib.Path(sys.argv[2])), "1.36", server, logs=folder, progress=SilentProgress()
)
print(server._process.pid, plugin._probe.pid, flush=True)
signal.pause()
"""


def test_processes_of_a_surface_end_with_a_harness_that_is_killed(surface: Any, tmp_path: Path) -> None:
    surface(f"{D1}corrected")  # has it built
    candidate = content("fixtures", "candidates", D1, "corrected")
    with subprocess.Popen(
        (sys.executable, "-c", HOLDS, str(tmp_path / "killed"), str(candidate)), stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        pids = [int(pid) for pid in harness.stdout.readline().split()]
        assert len(pids) == 2
        for pid in pids:
            os.kill(pid, 0)
        harness.send_signal(signal.SIGKILL)

    def probe() -> None:
        for pid in pids:
            with contextlib.suppress(FileNotFoundError):
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z":  # it has ended, and has not been reaped
                    raise NotYet(f"{pid} lives")

    wait_for(probe, GONE, what="the server and the probe to end")
