"""Which node the reference controller prefers, and how it reads answers of Prometheus."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedproof.foundation.waiting import until

from .worlds import Manifest, modules, node, pod, world

Pod = modules.pods.Pod

RATES = st.dictionaries(st.sampled_from("abcdef"), st.floats(min_value=0, max_value=2.0**64), max_size=6)


def preference(resolution: float = 0.1, on_missing: str = "neutral", on_outage: str = "schedule") -> Any:
    return modules.preference.Preference(resolution, on_missing, on_outage)


def reading(traffic: dict[str, float], outage: str = "") -> Any:
    return modules.traffic.Reading(traffic, outage, 0.0)


class TestPreference:
    NAMES = ("quiet", "middle", "busy", "dark")
    TRAFFIC = {"quiet": 100.0, "middle": 200.0, "busy": 400.0}  # noqa: RUF012

    def test_nodes_within_the_resolution_of_the_least_traffic_are_preferred(self) -> None:
        assert preference().quietest("abc", {"a": 100.0, "b": 109.0, "c": 111.0}) == {"a", "b"}

    @given(RATES)
    def test_the_quietest_node_is_preferred_and_no_node_beyond_the_resolution(self, traffic: dict[str, float]) -> None:
        chosen = preference().quietest(list("abcdef"), traffic)
        if not traffic:
            assert chosen == set("abcdef")
        else:
            least = min(traffic.values())
            assert {name for name, rate in traffic.items() if rate == least} <= chosen
            assert all(traffic.get(name, least) <= least * 1.1 for name in chosen)

    def test_a_node_without_a_reading_is_preferred_according_to_on_missing(self) -> None:
        quiet = preference(on_missing="neutral").quietest(self.NAMES, self.TRAFFIC)
        assert quiet == {"quiet"}
        assert preference(on_missing="neutral").quietest(("busy", "dark"), self.TRAFFIC) == {"busy", "dark"}
        assert preference(on_missing="avoid").quietest(("busy", "dark"), self.TRAFFIC) == {"busy"}
        assert preference(on_missing="avoid").quietest(("dark",), self.TRAFFIC) == {"dark"}

    def test_with_on_missing_neutral_a_missing_reading_counts_as_the_median(self) -> None:
        names = ("a", "b", "c", "dark")
        assert preference().quietest(names, {"a": 100.0, "b": 101.0, "c": 500.0}) == {"a", "b", "dark"}

    def test_on_missing_reject_and_on_outage_wait_make_nodes_infeasible(self) -> None:
        nodes = [modules.nodes.Node(name) for name in self.NAMES]
        missing, outage = reading(self.TRAFFIC), reading({}, "down")
        assert preference(on_missing="reject").objections(nodes, missing).keys() == {"dark"}
        assert preference(on_missing="reject").objections(nodes, outage) == {}
        assert preference(on_outage="wait").objections(nodes, outage).keys() == set(self.NAMES)
        assert preference(on_outage="wait").objections(nodes, missing) == {}
        assert preference().objections(nodes, outage) == {}

    def test_readings_are_queried_only_if_they_can_change_the_decision(self) -> None:
        single, pair = [modules.nodes.Node("a")], [modules.nodes.Node("a"), modules.nodes.Node("b")]
        assert not preference().asks(single)
        assert preference().asks(pair)
        assert preference(on_missing="reject").asks(single)
        assert preference(on_outage="wait").asks(single)

    def test_among_the_quietest_a_random_one_of_the_least_allocated_nodes_is_chosen(self) -> None:
        there = world([node(name) for name in "abcd"], [pod("other", node="a", requests={"cpu": "1"})])
        traffic = reading({"a": 100.0, "b": 100.0, "c": 105.0, "d": 500.0})
        chosen = {
            preference().choose(Pod(pod(requests={"cpu": "1"})), list(there.nodes), traffic).name for _ in range(200)
        }
        assert chosen == {"b", "c"}

    def test_on_an_idle_cluster_any_node_is_chosen(self) -> None:
        there = world([node(name) for name in "abc"])
        for readings in (reading(dict.fromkeys("abc", 0.0)), reading({}, "down"), None):
            chosen = {preference().choose(Pod(pod()), list(there.nodes), readings).name for _ in range(200)}
            assert chosen == set("abc")


@contextlib.contextmanager
def serving(
    answer: bytes = b"", *, hangs: bool = True, drips: bool = False
) -> Iterator[tuple[str, list[socket.socket]]]:
    """A server that answers each connection with the same bytes, then hangs, sends further bytes one by one, or
    disconnects.
    """
    connections: list[socket.socket] = []
    over = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                connection.recv(65_536)
                connection.sendall(answer)
                while drips and not over.wait(0.05):
                    connection.sendall(b" ")
                if not hangs:
                    connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", connections
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in connections:
                connection.close()


class TestReading:
    def test_the_query_is_the_same_for_any_number_of_nodes_and_quotes_the_device(self) -> None:
        assert modules.traffic.traffic_query('e"0', "30s", "node") == (
            'max by (node) (rate(node_network_receive_bytes_total{device="e\\"0"}[30s]))'
        )

    def test_samples_that_are_not_rates_are_not_readings(self) -> None:
        values = {"a": "1.5", "b": "NaN", "c": "+Inf", "d": "-1", "e": "0"}
        series = [{"metric": {"node": name}, "value": [0, value]} for name, value in values.items()]
        assert modules.traffic.parse_vector(self.answer(series), "node") == {"a": 1.5, "e": 0.0}

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"no", b"{}", b'{"status":"error"}',
            b'{"status":"success","data":{"resultType":"matrix","result":[]}}',
            b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{}}]}}',
            b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"a"},"value":[0,"x"]}]}}',
        ],
    )  # fmt: skip
    def test_any_other_answer_is_refused_as_a_whole(self, body: bytes) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 - json's own is one
            modules.traffic.parse_vector(body, "node")

    def test_two_series_for_one_node_are_refused(self) -> None:
        series = list(itertools.repeat({"metric": {"node": "a"}, "value": [0, "1"]}, 2))
        with pytest.raises(ValueError, match="two for 'a'"):
            modules.traffic.parse_vector(self.answer(series), "node")

    def test_a_hanging_server_is_an_outage_and_not_queried_again_at_once(self) -> None:
        with serving() as (url, connections):
            prometheus = modules.traffic.Prometheus(url, "up", "node", seconds=0.5)
            first = prometheus.read()
            assert "Prometheus cannot be read" in first.outage
            assert 500 <= first.query_ms < 20_000
            again = prometheus.read()
            assert (again.outage, again.query_ms, len(connections)) == (first.outage, 0.0, 1)
            until(time.monotonic() + 2 * first.query_ms / 1000)
            assert prometheus.read().query_ms > 0

    def test_a_server_that_sends_byte_by_byte_is_an_outage_at_the_deadline(self) -> None:
        with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", drips=True) as (url, _):
            reading = modules.traffic.Prometheus(url, "up", "node", seconds=0.3).read()
        assert "the deadline passed" in reading.outage or "timed out" in reading.outage
        assert reading.query_ms < 20_000

    @pytest.mark.parametrize("answer", [b"", b"no HTTP", b"HTTP/1.1 503 no\r\nContent-Length: 2\r\n\r\n{}"])
    def test_a_server_that_fails_is_an_outage(self, answer: bytes) -> None:
        with serving(answer, hangs=False) as (url, _):
            assert "Prometheus cannot be read" in modules.traffic.Prometheus(url, "up", "node").read().outage

    def test_an_empty_answer_is_an_outage(self) -> None:
        body = self.answer([])
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with serving(head + body, hangs=False) as (url, _):
            assert (
                modules.traffic.Prometheus(url, "up", "node").read().outage == "Prometheus has no reading for any node"
            )

    @staticmethod
    def answer(series: list[Manifest]) -> bytes:
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": series}}).encode()
