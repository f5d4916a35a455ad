"""The reference extender: its scores, its reading of Prometheus, its HTTP contract, its command line."""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import itertools
import json
import math
import os
import socket
import socketserver
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from schedproof.candidate.descriptor.descriptor import load_candidate
from schedproof.candidate.kinds import ExtenderSpec
from schedproof.candidate.placeholders import fill
from schedproof.foundation.content import content
from schedproof.foundation.deadlines import CANDIDATE_READY, CANDIDATE_STOP
from schedproof.foundation.waiting import NotYet, wait_for

FOLDER = content("fixtures", "candidates", "least-traffic-extender")
DEFECTS = content("fixtures", "candidates", "defects")

# They are programs to be copied, not a package: loaded the way that running extender.py finds them.
sys.path.insert(0, str(FOLDER))
import decisions  # noqa: E402
import extender  # noqa: E402
import readings  # noqa: E402
import scoring  # noqa: E402

sys.path.remove(str(FOLDER))

pure = settings(database=None, deadline=None)

RESOLUTION = 0.1
node_names = st.text(min_size=1, max_size=12)
rates = st.floats(min_value=0, max_value=2.0**64, allow_subnormal=True)
traffics = st.dictionaries(node_names, rates, max_size=30)
policies = st.sampled_from(["neutral", "avoid", "reject"])


class TestRank:
    def test_scores_follow_the_order_of_traffic(self) -> None:
        traffic = {"loud": 5000.0, "a": 100.0, "b": 108.0, "c": 111.0}
        assert scoring.rank(traffic, RESOLUTION) == {"a": 10, "b": 10, "c": 9, "loud": 8}

    def test_an_outlier_does_not_level_the_scores_of_other_nodes(self) -> None:
        assert scoring.rank({"a": 100.0, "b": 200.0, "outlier": 2.0**60}, RESOLUTION)["b"] == 9

    def test_nodes_of_an_idle_cluster_all_have_the_highest_score(self) -> None:
        assert scoring.rank({"a": 0.0, "b": 0.0}, RESOLUTION) == {"a": 10, "b": 10}

    def test_one_byte_per_second_is_busier_than_none(self) -> None:
        assert scoring.rank({"a": 1.0, "b": 0.0}, RESOLUTION) == {"a": 9, "b": 10}

    def test_from_the_eleventh_place_on_nodes_share_the_lowest_score(self) -> None:
        traffic = {f"n{power}": 2.0**power for power in range(14)}
        assert list(scoring.rank(traffic, RESOLUTION).values()) == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0]

    def test_without_nodes_there_are_no_scores(self) -> None:
        assert scoring.rank({}, RESOLUTION) == {}

    @pure
    @given(traffics)
    def test_scores_are_integers_in_range_one_for_each_node_and_the_best_is_ten(
        self, traffic: dict[str, float]
    ) -> None:
        scores = scoring.rank(traffic, RESOLUTION)
        assert scores.keys() == traffic.keys()
        assert all(type(score) is int and 0 <= score <= 10 for score in scores.values())
        if traffic:
            assert scores[min(traffic, key=traffic.__getitem__)] == 10

    @pure
    @given(traffics)
    def test_less_traffic_never_scores_lower_and_equal_traffic_scores_equal(self, traffic: dict[str, float]) -> None:
        scores = scoring.rank(traffic, RESOLUTION)
        ordered = sorted(traffic, key=traffic.__getitem__)
        for quieter, busier in itertools.pairwise(ordered):
            assert scores[quieter] >= scores[busier]
            assert traffic[quieter] < traffic[busier] or scores[quieter] == scores[busier]

    @pure
    @given(st.dictionaries(node_names, rates, max_size=11))
    def test_a_difference_beyond_the_resolution_changes_scores_of_up_to_eleven_nodes(
        self, traffic: dict[str, float]
    ) -> None:
        scores = scoring.rank(traffic, RESOLUTION)
        for quieter, less in traffic.items():
            for busier, more in traffic.items():
                assert more <= less * (1 + RESOLUTION) or scores[quieter] > scores[busier]

    @pure
    @given(traffics, st.randoms(use_true_random=False))
    def test_the_order_of_nodes_does_not_change_scores(self, traffic: dict[str, float], random: Any) -> None:
        shuffled = list(traffic.items())
        random.shuffle(shuffled)
        assert scoring.rank(dict(shuffled), RESOLUTION) == scoring.rank(traffic, RESOLUTION)

    @pure
    @given(
        st.dictionaries(node_names, st.floats(min_value=1e-9, max_value=2.0**62) | st.just(0.0)),
        st.integers(min_value=-20, max_value=20),
    )
    def test_the_unit_of_traffic_does_not_change_scores(self, traffic: dict[str, float], exponent: int) -> None:
        # Powers of two scale a float without rounding, so that even borderline pairs must agree.
        scaled = {node: rate * 2.0**exponent for node, rate in traffic.items()}
        assert scoring.rank(scaled, RESOLUTION) == scoring.rank(traffic, RESOLUTION)


class TestMissing:
    KNOWN: ClassVar = {"quiet": 100.0, "middle": 200.0, "busy": 400.0}

    def score(self, policy: str, traffic: Mapping[str, float] = KNOWN) -> dict[str, int]:
        return scoring.score([*self.KNOWN, "dark"], traffic, resolution=RESOLUTION, on_missing=policy)

    def test_with_on_missing_neutral_a_missing_reading_counts_as_the_median(self) -> None:
        scores = self.score("neutral")
        assert scores == {"quiet": 10, "middle": 9, "dark": 9, "busy": 8}

    def test_with_on_missing_avoid_a_missing_reading_scores_below_all_known_nodes(self) -> None:
        assert self.score("avoid") == {"quiet": 10, "middle": 9, "busy": 8, "dark": 0}

    def test_with_on_missing_avoid_a_missing_reading_scores_below_known_nodes_that_share_the_lowest_score(self) -> None:
        known = {f"n{power}": 2.0**power for power in range(14)}
        scores = scoring.score([*known, "dark"], known, resolution=RESOLUTION, on_missing="avoid")
        assert scores["dark"] == 0
        assert min(scores[node] for node in known) == 1

    @pytest.mark.parametrize("policy", ["neutral", "avoid", "reject"])
    def test_without_any_reading_all_scores_are_equal(self, policy: str) -> None:
        assert set(self.score(policy, {}).values()) == {0}

    def test_readings_of_nodes_outside_of_the_request_are_ignored(self) -> None:
        scores = self.score("neutral", self.KNOWN | {"elsewhere": 0.0})
        assert scores["quiet"] == 10
        assert "elsewhere" not in scores

    @pure
    @given(st.lists(node_names, unique=True), traffics, policies)
    def test_each_node_has_a_score_in_range_whatever_is_missing(
        self, nodes: list[str], traffic: dict[str, float], policy: str
    ) -> None:
        scores = scoring.score(nodes, traffic, resolution=RESOLUTION, on_missing=policy)
        assert scores.keys() == set(nodes)
        assert all(type(score) is int and 0 <= score <= 10 for score in scores.values())

    @pure
    @given(st.lists(node_names, unique=True, min_size=1), traffics)
    def test_with_on_missing_avoid_missing_and_known_nodes_never_tie(
        self, nodes: list[str], traffic: dict[str, float]
    ) -> None:
        scores = scoring.score(nodes, traffic, resolution=RESOLUTION, on_missing="avoid")
        known = [scores[node] for node in nodes if node in traffic]
        missing = [scores[node] for node in nodes if node not in traffic]
        assert not known or not missing or min(known) > max(missing)


# --- the query and its answer ------------------------------------------------------------------


def unquote_promql(text: str) -> str:
    r"""Prometheus's strutil.Unquote for double quotes, as far as needed: a \u sequence is one rune."""
    simple = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
    assert text[0] == text[-1] == '"'
    result, rest = "", text[1:-1]
    while rest:
        assert rest[0] not in '"\n', "a quote or a newline that is not escaped ends the string"
        if rest[0] != "\\":
            result, rest = result + rest[0], rest[1:]
        elif rest[1] == "u":
            rune = chr(int(rest[2:6], 16))
            assert not 0xD800 <= ord(rune) < 0xE000, "Prometheus rejects surrogates"
            result, rest = result + rune, rest[6:]
        else:
            result, rest = result + simple[rest[1]], rest[2:]
    return result


class TestQuery:
    def test_one_query_reads_all_nodes_as_rates(self) -> None:
        assert readings.traffic_query("ens192", "2s", "node") == (
            'max by (node) (rate(node_network_receive_bytes_total{device="ens192"}[2s]))'
        )

    @pure
    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
    def test_any_device_name_is_quoted_for_promql(self, device: str) -> None:
        query = readings.traffic_query(device, "2s", "node")
        prefix, suffix = "max by (node) (rate(node_network_receive_bytes_total{device=", "}[2s]))"
        assert query.startswith(prefix)
        assert query.endswith(suffix)
        assert unquote_promql(query.removeprefix(prefix).removesuffix(suffix)) == device


def vector(traffic: Mapping[str, object], label: str = "node") -> dict[str, Any]:
    """The answer of Prometheus to an instant query."""
    result = [{"metric": {label: node}, "value": [1763650000.25, str(rate)]} for node, rate in traffic.items()]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def matrix() -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": []}}


class TestAnswer:
    def parse(self, document: object) -> dict[str, float]:
        return readings.parse_vector(json.dumps(document).encode(), "node")

    def test_rates_are_read_by_unchanged_node_names(self) -> None:
        traffic = {"node-1.ex.ample": 1.5, "n" * 253: 2.0**60, "n.*|[0-9]+": 0.0}
        assert self.parse(vector(traffic)) == traffic

    @pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "-1"])
    def test_a_value_that_is_not_a_rate_is_not_a_reading(self, value: str) -> None:
        assert self.parse(vector({"dark": value, "lit": "3"})) == {"lit": 3.0}

    def test_a_series_without_the_node_label_is_ignored(self) -> None:
        assert self.parse(vector({"a": 1}, label="instance")) == {}

    @pytest.mark.parametrize(
        "document",
        [
            None,
            [],
            "success",
            {"status": "error", "errorType": "bad_data", "error": "parse error"},
            {"status": "success"},
            matrix(),
            {"status": "success", "data": {"resultType": "vector", "result": {}}},
            {"status": "success", "data": {"resultType": "vector", "result": [7]}},
            {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}}]}},
            {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1]}]}},
            vector({"a": "many"}),
            {"status": "success", "data": {"resultType": "vector", "result": [
                {"metric": {"node": "a"}, "value": [1, 5]}]}},
            {"status": "success", "data": {"resultType": "vector", "result": [
                {"metric": {"node": "a"}, "value": [1, "5"]}, {"metric": {"node": "a"}, "value": [1, "6"]}]}},
        ],
    )  # fmt: skip
    def test_anything_but_a_well_formed_vector_is_refused(self, document: object) -> None:
        with pytest.raises(ValueError, match=r"expected|could not convert"):
            self.parse(document)

    @pytest.mark.parametrize("body", [b"", b"{", b"<html>", b"\xff\xfe", b"[" * 100_000])
    def test_an_answer_that_is_not_json_is_refused(self, body: bytes) -> None:
        with pytest.raises((ValueError, RecursionError)):
            readings.parse_vector(body, "node")


# --- a tiny Prometheus, and the extender in front of it ----------------------------------------


class FakePrometheus(socketserver.ThreadingTCPServer):
    """Answers every query with what `reply` writes to the connection, and records the queries."""

    request_queue_size = 128  # beyond it a connection waits a second for its second SYN

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _FakePrometheusHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.queries: list[dict[str, str]] = []
        self.reply: Callable[[Any], None] = lambda _out: None
        self.over = threading.Event()

    def say(self, document: object, status: str = "200 OK") -> None:
        self.say_bytes(json.dumps(document).encode(), status)

    def say_bytes(self, body: bytes, status: str = "200 OK") -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        self.reply = lambda out: out.write(head + body)

    def read(self, seconds: float = 30.0) -> readings.Reading:
        return readings.Prometheus(self.url, "up", "node", seconds).read()

    def handle_error(self, request: object, client_address: object) -> None:
        """The other side may disconnect; any other error fails the assertion that follows."""


class _FakePrometheusHandler(socketserver.StreamRequestHandler):
    server: FakePrometheus

    def handle(self) -> None:
        path = self.rfile.readline().decode().split(" ")[1]
        while self.rfile.readline().strip():
            pass
        self.server.queries.append(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query)))
        self.server.reply(self.wfile)


@contextlib.contextmanager
def serving(server: socketserver.ThreadingTCPServer) -> Iterator[None]:
    """Serve in a thread; join every thread at the end."""
    server.daemon_threads = False  # so that server_close() waits for them
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    server = FakePrometheus()
    with serving(server):
        try:
            yield server
        finally:
            server.over.set()


class Client:
    """Calls the extender as kube-scheduler does: one persistent connection, Go's field names."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._connection = http.client.HTTPConnection(*address)

    def post(self, path: str, body: bytes) -> tuple[int, Any]:
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        with self._connection.getresponse() as response:
            return response.status, json.loads(response.read())

    def get(self, path: str) -> tuple[int, Any]:
        self._connection.request("GET", path)
        with self._connection.getresponse() as response:
            return response.status, json.loads(response.read())

    def ask(self, verb: str, names: list[str] | None, uid: str = "u-1", **fields: object) -> Any:
        pod = {"metadata": {"namespace": "default", "name": "pod-1", "uid": uid}, "spec": {}}
        status, answer = self.post(
            f"/{verb}",
            json.dumps({"Pod": pod, "Nodes": None, "NodeNames": names} | fields).encode(),
        )
        assert status == 200, answer
        return answer

    def scores(self, names: list[str], uid: str = "u-1") -> dict[str, int]:
        answer = self.ask("prioritize", names, uid)
        assert len(answer) == len(names)
        return {entry["Host"]: entry["Score"] for entry in answer}

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def extending(
    url: str,
    on_missing: str = "neutral",
    on_outage: str = "schedule",
    policy: type[decisions.LeastTraffic] = decisions.LeastTraffic,
    seconds: float = 30.0,
) -> Iterator[extender.Server]:
    query = readings.traffic_query("ens192", "2s", "node")
    source = readings.Prometheus(url, query, "node", seconds)
    server = extender.Server(("127.0.0.1", 0), policy(source, RESOLUTION, on_missing, on_outage))
    with serving(server):
        yield server


@contextlib.contextmanager
def connected(server: extender.Server) -> Iterator[Client]:
    with contextlib.closing(Client(server.server_address)) as client:  # type: ignore[arg-type]
        yield client


@pytest.fixture
def client(prometheus: FakePrometheus) -> Iterator[Client]:
    """A client of the extender with its default policies."""
    prometheus.say(vector({"a": 300, "b": 100, "c": 200}))
    with extending(prometheus.url) as server, connected(server) as connection:
        yield connection


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """A port on which no process listens and that no other process is given, but which a server may still take.

    Linux lets several sockets with SO_REUSEADDR bind one port while none of them listens.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


class TestReading:
    def test_a_reading_has_rates_by_node(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector({"a": 1.5}))
        reading = prometheus.read()
        assert (dict(reading.traffic), reading.outage) == ({"a": 1.5}, "")
        assert prometheus.queries == [{"query": "up", "timeout": "30000ms"}]

    def test_a_path_before_the_api_is_kept(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector({"a": 1.5}))
        assert not readings.Prometheus(f"{prometheus.url}/prom/", "up", "node", 30).read().outage

    def test_a_chunked_answer_is_read(self, prometheus: FakePrometheus) -> None:
        body = json.dumps(vector({"a": 2})).encode()
        prometheus.reply = lambda out: out.write(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        )
        assert prometheus.read().traffic == {"a": 2.0}

    @pytest.mark.parametrize("status", ["503 Service Unavailable", "400 Bad Request", "302 Found"])
    def test_an_error_status_is_an_outage(self, prometheus: FakePrometheus, status: str) -> None:
        prometheus.say(vector({"a": 1}), status)
        reading = prometheus.read()
        assert not reading.traffic
        assert status[:3] in reading.outage

    @pytest.mark.parametrize("body", [b"", b"{}", b"not json", b"[" * 100_000])
    def test_a_malformed_answer_is_an_outage(self, prometheus: FakePrometheus, body: bytes) -> None:
        prometheus.say_bytes(body)
        assert "cannot be read" in prometheus.read().outage

    def test_a_truncated_answer_is_an_outage(self, prometheus: FakePrometheus) -> None:
        prometheus.reply = lambda out: out.write(b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"status"')
        assert "cannot be read" in prometheus.read().outage

    def test_an_answer_that_is_not_http_is_an_outage(self, prometheus: FakePrometheus) -> None:
        prometheus.reply = lambda out: out.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        assert "cannot be read" in prometheus.read().outage

    def test_a_closed_connection_is_an_outage(self, prometheus: FakePrometheus) -> None:
        assert "cannot be read" in prometheus.read().outage

    def test_an_endless_answer_is_an_outage(self, prometheus: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(readings, "MAX_ANSWER_BYTES", 10)
        prometheus.say(vector({"a": 1}))
        assert "expected at most 10 bytes" in prometheus.read().outage

    def test_a_refused_connection_is_an_outage(self) -> None:
        with reserved_port() as port:
            reading = readings.Prometheus(f"http://127.0.0.1:{port}", "up", "node", 30).read()
        assert "ConnectionRefusedError" in reading.outage

    @pytest.mark.parametrize("rates", [{}, {"a": "NaN", "b": "+Inf"}])
    def test_no_usable_reading_for_any_node_is_an_outage(
        self, prometheus: FakePrometheus, rates: dict[str, object]
    ) -> None:
        prometheus.say(vector(rates))
        assert prometheus.read().outage == "Prometheus has no reading for any node"

    def test_a_server_without_an_answer_is_an_outage_at_the_deadline(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector({"a": 1}))
        answer = prometheus.reply

        def answer_late(out: Any) -> None:
            prometheus.over.wait(3)  # a client that still waits then gets a valid answer, and fails the test
            answer(out)

        prometheus.reply = answer_late
        assert "TimeoutError" in prometheus.read(seconds=0.2).outage

    @pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"])
    def test_an_answer_byte_by_byte_is_an_outage_at_the_deadline(self, prometheus: FakePrometheus, head: bytes) -> None:
        # Each byte comes long before an ordinary timeout, which would start anew with it; all of
        # them take long after the deadline. Dripped from the status line on, or only in the body.
        body = json.dumps(vector({"a": 1})).encode()
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

        def drip(out: Any) -> None:
            start = whole.index(b"{") if head else 0
            out.write(whole[:start])
            for byte in whole[start:]:
                if prometheus.over.wait(0.05):
                    return
                out.write(bytes([byte]))

        prometheus.reply = drip
        assert "TimeoutError" in prometheus.read(seconds=0.3).outage


class TestPrioritize:
    def test_the_quietest_node_scores_highest(self, client: Client) -> None:
        assert client.scores(["a", "b", "c"]) == {"b": 10, "c": 9, "a": 8}

    def test_the_same_request_has_the_same_answer(self, client: Client) -> None:
        assert client.ask("prioritize", ["a", "b"]) == client.ask("prioritize", ["a", "b"])

    def test_nodes_are_scored_like_node_names(self, client: Client) -> None:
        items = [{"metadata": {"name": name}, "status": {}} for name in "abc"]
        answer = client.ask("prioritize", None, Nodes={"metadata": {}, "items": items})
        assert answer == client.ask("prioritize", ["a", "b", "c"])

    def test_a_single_node_is_scored(self, client: Client) -> None:
        assert client.scores(["a"]) == {"a": 10}

    def test_a_node_named_twice_is_scored_once(self, client: Client) -> None:
        assert client.ask("prioritize", ["a", "a"]) == [{"Host": "a", "Score": 10}]

    def test_each_decision_is_one_query_however_many_nodes(self, client: Client, prometheus: FakePrometheus) -> None:
        client.ask("filter", ["a", "b", "c"])
        client.ask("prioritize", ["a", "b", "c"])
        assert [query["query"] for query in prometheus.queries] == [readings.traffic_query("ens192", "2s", "node")]

    def test_every_decision_uses_current_readings(self, client: Client, prometheus: FakePrometheus) -> None:
        client.scores(["a", "b"])
        prometheus.say(vector({"a": 1, "b": 100}))
        assert client.scores(["a", "b"]) == {"a": 10, "b": 9}

    def test_without_nodes_there_are_no_scores_and_no_query(self, client: Client, prometheus: FakePrometheus) -> None:
        assert client.ask("prioritize", []) == []
        assert client.ask("prioritize", None, Nodes={"metadata": {}, "items": None}) == []
        assert prometheus.queries == []

    def test_five_thousand_nodes_are_scored_with_one_query(self, client: Client, prometheus: FakePrometheus) -> None:
        names = [f"node-{number}" for number in range(5000)]
        prometheus.say(vector({name: number + 1000 for number, name in enumerate(names)}))
        scores = client.scores(names)
        assert scores.keys() == set(names)
        assert scores["node-0"] == 10
        assert len(prometheus.queries) == 1

    def test_nan_counts_as_missing(self, client: Client, prometheus: FakePrometheus) -> None:
        prometheus.say(vector({"a": "NaN", "b": 100, "c": 300}))
        assert client.scores(["a", "b", "c"]) == {"b": 10, "a": 9, "c": 8}

    def test_in_an_outage_all_scores_are_equal(self, client: Client, prometheus: FakePrometheus) -> None:
        prometheus.say({}, "503 Service Unavailable")
        assert client.scores(["a", "b", "c"]) == {"a": 0, "b": 0, "c": 0}

    def test_scores_recover_at_the_first_answer_after_an_outage(
        self, client: Client, prometheus: FakePrometheus
    ) -> None:
        healthy = prometheus.reply
        prometheus.say_bytes(b"broken")
        client.scores(["a", "b"])
        prometheus.reply = healthy
        assert client.scores(["a", "b"]) == {"b": 10, "a": 9}

    def test_concurrent_requests_have_their_own_answers(self, prometheus: FakePrometheus) -> None:
        names = [f"n{number}" for number in range(20)]
        prometheus.say(vector({name: 2.0**number for number, name in enumerate(names)}))

        def ask(number: int) -> bool:
            mine = names[number : number + 2]
            with connected(server) as connection:
                return all(connection.scores(mine, uid=f"u-{number}") == dict(zip(mine, (10, 9), strict=True))
                           for _ in range(5))  # fmt: skip

        with extending(prometheus.url) as server, concurrent.futures.ThreadPoolExecutor(18) as pool:
            assert all(pool.map(ask, range(18)))

    def test_a_decision_is_logged_in_one_line(self, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
        client.ask("filter", ["a", "dark"])
        client.ask("prioritize", ["a", "dark"])
        captured = capsys.readouterr()
        (line,) = captured.err.splitlines()
        record = json.loads(line)
        assert captured.out == ""
        assert record["pod"] == "default/pod-1"
        assert record["readings"] == {"a": 300.0, "dark": None}
        assert record["scores"] == {"a": 10, "dark": 10}
        assert record["query_ms"] > 0


class TestFilter:
    def test_a_filter_request_with_node_names_is_answered_with_node_names(
        self, client: Client, prometheus: FakePrometheus
    ) -> None:
        result = client.ask("filter", ["a", "dark"])
        assert result["NodeNames"] == ["a", "dark"]
        assert result.get("Nodes") is None
        assert not result["Error"]
        assert prometheus.queries == []

    def test_a_filter_request_with_nodes_is_answered_with_the_same_nodes(self, client: Client) -> None:
        node = {
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "status": {"capacity": {"cpu": "4"}},
            "new": 1,
        }
        nodes = {"metadata": {"resourceVersion": "7"}, "items": [node]}
        result = client.ask("filter", None, Nodes=nodes)
        assert result["Nodes"] == nodes
        assert result.get("NodeNames") is None

    @pytest.mark.parametrize("empty", [[], None])
    def test_a_filter_request_without_nodes_is_answered_without_nodes(
        self, client: Client, empty: list[object] | None
    ) -> None:
        assert client.ask("filter", None, Nodes={"metadata": {}, "items": empty})["Nodes"]["items"] == []
        assert client.ask("filter", [])["NodeNames"] == []

    def test_with_on_missing_reject_filter_fails_each_node_without_a_reading(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector({"a": 1}))
        with extending(prometheus.url, on_missing="reject") as server, connected(server) as client:
            result = client.ask("filter", ["a", "dark"])
            assert result["NodeNames"] == ["a"]
            assert list(result["FailedAndUnresolvableNodes"]) == ["dark"]
            assert "no reading" in result["FailedAndUnresolvableNodes"]["dark"]
            items = [{"metadata": {"name": name}} for name in ("a", "dark")]
            whole = client.ask("filter", None, Nodes={"metadata": {}, "items": items})
            assert whole["Nodes"]["items"] == items[:1]
            assert list(whole["FailedAndUnresolvableNodes"]) == ["dark"]

    def test_with_on_missing_reject_filter_passes_all_nodes_in_an_outage(self, prometheus: FakePrometheus) -> None:
        prometheus.say({}, "503 Service Unavailable")
        with extending(prometheus.url, on_missing="reject") as server, connected(server) as client:
            result = client.ask("filter", ["a", "dark"])
        assert result["NodeNames"] == ["a", "dark"]
        assert not result["Error"]

    def test_with_on_outage_wait_filter_answers_an_error_until_the_outage_ends(
        self, prometheus: FakePrometheus
    ) -> None:
        with extending(prometheus.url, on_outage="wait") as server, connected(server) as client:
            prometheus.say({}, "503 Service Unavailable")
            assert "503" in client.ask("filter", ["a", "b"])["Error"]
            prometheus.say(vector({"a": 2, "b": 1}))
            assert client.ask("filter", ["a", "b"])["NodeNames"] == ["a", "b"]
            assert client.scores(["a", "b"]) == {"b": 10, "a": 9}


class TestSharedReading:
    """With `reject` or `wait` both calls of one decision need readings: the same ones."""

    def test_one_decision_is_one_query_and_sees_one_reading(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector({"a": 1, "b": 9}))
        with extending(prometheus.url, on_missing="reject") as server, connected(server) as client:
            client.ask("filter", ["a", "b"], uid="u-1")
            prometheus.say(vector({"a": 9, "b": 1}))
            assert client.scores(["a", "b"], uid="u-1") == {"a": 10, "b": 9}
            assert len(prometheus.queries) == 1

    def test_a_shared_reading_is_used_for_a_single_decision(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector({"a": 1, "b": 9}))
        with extending(prometheus.url, on_missing="reject") as server, connected(server) as client:
            client.ask("filter", ["a", "b"], uid="u-1")
            client.scores(["a", "b"], uid="u-1")
            prometheus.say(vector({"a": 9, "b": 1}))
            assert client.scores(["a", "b"], uid="u-1") == {"a": 9, "b": 10}

    @pytest.mark.parametrize("uids", [("u-1", "u-2"), ("", "")])
    def test_a_shared_reading_is_not_used_for_another_pod(
        self, prometheus: FakePrometheus, uids: tuple[str, str]
    ) -> None:
        prometheus.say(vector({"a": 1, "b": 9}))
        with extending(prometheus.url, on_missing="reject") as server, connected(server) as client:
            client.ask("filter", ["a", "b"], uid=uids[0])
            prometheus.say(vector({"a": 9, "b": 1}))
            assert client.scores(["a", "b"], uid=uids[1]) == {"a": 9, "b": 10}

    def test_a_shared_reading_expires(self, prometheus: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(decisions, "SHARE_SECONDS", -1.0)
        prometheus.say(vector({"a": 1, "b": 9}))
        with extending(prometheus.url, on_missing="reject") as server, connected(server) as client:
            client.ask("filter", ["a", "b"])
            assert server.policy._shared == {}
            client.scores(["a", "b"])
            assert len(prometheus.queries) == 2


class TestHTTP:
    POD: ClassVar = {"metadata": {"name": "p", "namespace": "d", "uid": "u"}}

    @pytest.mark.parametrize("verb", ["filter", "prioritize"])
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"{",
            b"null",
            b"[]",
            b"7",
            b"\xff",
            b"[" * 100_000,
            b"{}",
            json.dumps({"Pod": POD}).encode(),
            json.dumps({"Pod": POD, "Nodes": None, "NodeNames": None}).encode(),
            json.dumps({"NodeNames": ["a"]}).encode(),
            json.dumps({"Pod": None, "NodeNames": ["a"]}).encode(),
            json.dumps({"Pod": {}, "NodeNames": ["a"]}).encode(),
            json.dumps({"Pod": POD, "NodeNames": "a"}).encode(),
            json.dumps({"Pod": POD, "NodeNames": [7]}).encode(),
            json.dumps({"Pod": POD, "NodeNames": [""]}).encode(),
            json.dumps({"Pod": POD, "Nodes": {"items": [{}]}}).encode(),
            json.dumps({"Pod": POD, "Nodes": {"items": "a"}}).encode(),
            json.dumps({"Pod": POD, "Nodes": []}).encode(),
        ],
    )
    def test_malformed_input_is_an_error_and_the_server_continues(self, client: Client, verb: str, body: bytes) -> None:
        status, answer = client.post(f"/{verb}", body)
        assert status == 400
        assert answer["Error"].startswith("expected")
        assert client.scores(["a", "b"]) == {"b": 10, "a": 9}

    def test_keys_in_any_case_and_unknown_fields_are_accepted(self, client: Client) -> None:
        body = {"pod": {**self.POD, "new": 1}, "nodenames": ["a", "b"], "nodes": None, "future": {"x": []}}
        status, answer = client.post("/prioritize", json.dumps(body).encode())
        assert status == 200
        assert [entry["Host"] for entry in answer] == ["a", "b"]

    def test_an_unknown_path_is_not_found(self, client: Client) -> None:
        assert client.post("/priority", b"{}")[0] == 404
        assert client.get("/filter")[0] == 404

    def test_health_does_not_depend_on_prometheus(self) -> None:
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(reserved_port())
            server = stack.enter_context(extending(f"http://127.0.0.1:{port}"))
            client = stack.enter_context(connected(server))
            assert client.get("/healthz") == (200, {"status": "ok"})

    @pytest.mark.parametrize(
        ("length", "status"),
        [
            (None, 400),
            ("-1", 400),
            ("many", 400),
            ("9" * 30, 400),
            (str(extender.MAX_REQUEST_BYTES + 1), 413),
        ],
    )
    def test_a_body_of_unknown_or_excessive_length_is_refused_unread(
        self, client: Client, length: str | None, status: int
    ) -> None:
        connection = client._connection
        connection.putrequest("POST", "/filter")
        if length is not None:
            connection.putheader("Content-Length", length)
        connection.endheaders()
        with connection.getresponse() as response:
            assert response.status == status
            assert "Error" in json.loads(response.read())

    def test_a_connection_is_kept_alive(self, client: Client) -> None:
        client.scores(["a", "b"])
        before = client._connection.sock
        client.scores(["a", "b"])
        assert client._connection.sock is before

    def test_a_client_that_disconnects_is_logged_in_one_line(
        self, prometheus: FakePrometheus, capsys: pytest.CaptureFixture[str]
    ) -> None:
        class Broken(decisions.LeastTraffic):
            def filter(self, asked: decisions.Asked) -> dict[str, Any]:
                raise BrokenPipeError(asked.pod)

        with extending(prometheus.url, policy=Broken) as server, connected(server) as client:
            with pytest.raises(http.client.RemoteDisconnected):
                client.ask("filter", ["a"])
            assert client.ask("prioritize", []) == []
        (line,) = capsys.readouterr().err.splitlines()
        assert "BrokenPipeError" in json.loads(line)["error"]


# --- as a program ------------------------------------------------------------------------------

ARGUMENTS = {"--prometheus": "http://127.0.0.1:9", "--device": "ens192", "--listen": "127.0.0.1:0"}


class TestCommandLine:
    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--listen", "8888"),
            ("--listen", "127.0.0.1:99999"),
            ("--listen", "127.0.0.1:http"),
            ("--prometheus", "127.0.0.1:9090"),
            ("--prometheus", "https://prometheus"),
            ("--prometheus", "http://"),
            ("--prometheus", "http://prometheus:many"),
            ("--device", ""),
            ("--device", "two words"),
            ("--window", "2"),
            ("--window", "0s"),
            ("--window", "1m0ss"),
            ("--resolution", "10"),
            ("--resolution", "101%"),
            ("--resolution", "-1%"),
            ("--on-missing", "guess"),
            ("--on-outage", "panic"),
            ("--node-label", "node-name"),
            ("--dev", "ens192"),
        ],
    )
    def test_a_wrong_argument_is_named_and_exits_with_2(
        self, option: str, value: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        given_arguments = [f"{key}={text}" for key, text in (ARGUMENTS | {option: value}).items()]
        with pytest.raises(SystemExit) as exit_:
            extender.main(given_arguments)
        assert exit_.value.code == 2
        assert option in capsys.readouterr().err

    def test_an_address_in_use_is_named_and_exits_with_2(self, capsys: pytest.CaptureFixture[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listen = f"127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(SystemExit) as exit_:
                extender.main([f"{key}={text}" for key, text in (ARGUMENTS | {"--listen": listen}).items()])
        assert exit_.value.code == 2
        assert f"cannot listen on {listen}" in capsys.readouterr().err


@contextlib.contextmanager
def program(name: str, prometheus_url: str) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """Run the command of a candidate.yaml, placeholders filled in, until it serves."""
    candidate = load_candidate(FOLDER if name == "least-traffic-extender" else DEFECTS / name)
    spec = candidate.spec
    assert isinstance(spec, ExtenderSpec)
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(reserved_port())
        values = {
            **candidate.own_values(),
            "port": str(port),
            "address": "127.0.0.1",
            "prometheus": prometheus_url,
            "device": "ens192",
        }
        command, environment = fill(spec.command, values), os.environ | fill(dict(spec.env), values)
        process = stack.enter_context(
            subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=spec.workdir, env=environment)
        )
        stack.callback(process.kill)

        def ready() -> Client:
            client = Client(("127.0.0.1", port))
            try:
                assert client.get(spec.ready or "/")[0] == 200
            except OSError as error:
                client.close()
                assert process.poll() is None, process.communicate()[1]
                raise NotYet(repr(error)) from error
            return client

        client = wait_for(ready, CANDIDATE_READY, what=f"{name} to serve")
        yield process, stack.enter_context(contextlib.closing(client))


class TestProgram:
    TRAFFIC: ClassVar = {"a": 300, "b": 100, "c": 200}

    def test_the_reference_serves_and_ends_at_once_on_sigterm(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector(self.TRAFFIC))
        with program("least-traffic-extender", prometheus.url) as (process, client):
            assert client.ask("filter", ["a", "b", "c"])["NodeNames"] == ["a", "b", "c"]
            assert client.scores(["a", "b", "c"]) == {"b": 10, "c": 9, "a": 8}
            process.terminate()
            assert process.wait(CANDIDATE_STOP.seconds) == 0

    def test_inverted_preference_prefers_the_busiest(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector(self.TRAFFIC))
        with program("inverted-preference", prometheus.url) as (_, client):
            scores = client.scores(["a", "b", "c"])
            assert scores["a"] > scores["c"] > scores["b"]
            assert client.ask("filter", ["a", "b"])["NodeNames"] == ["a", "b"]

    def test_constant_scores_prefers_no_node(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector(self.TRAFFIC))
        with program("constant-scores", prometheus.url) as (_, client):
            assert client.scores(["a", "b", "c"]) == {"a": 10, "b": 10, "c": 10}
            assert client.ask("filter", ["a", "b"])["NodeNames"] == ["a", "b"]

    def test_invented_node_answers_a_node_that_is_not_in_the_request(self, prometheus: FakePrometheus) -> None:
        prometheus.say(vector(self.TRAFFIC))
        with program("invented-node", prometheus.url) as (_, client):
            items = [{"metadata": {"name": name}} for name in "abc"]
            answer = client.ask("filter", None, Nodes={"metadata": {}, "items": items})
            assert [node["metadata"]["name"] for node in answer["Nodes"]["items"]] == ["ghost-node"]
            assert client.scores(["a", "b", "c"]) == {"b": 10, "c": 9, "a": 8}


def test_one_score_step_outweighs_the_default_plugins() -> None:
    descriptor = yaml.safe_load((FOLDER / "candidate.yaml").read_text())
    default_plugin_weights = 3 + 2 + 2 + 2 + 2 + 1 + 1 + 1 + 1  # as candidate.yaml lists them
    one_step = descriptor["spec"]["extender"]["config"]["weight"] * 100 // scoring.MAX_SCORE
    assert one_step > 100 * default_plugin_weights
    assert math.log2(10 * one_step) < 63  # kube-scheduler adds in int64
