"""Scripted series: counters that are exact at every sample, in the remote-write format of Prometheus."""

from __future__ import annotations

import http.server
import itertools
import math
import struct
import threading
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedproof.foundation.errors import HostError
from schedproof.traffic.series import Bursts, Counter, Series, push

LABELS = {"__name__": "node_network_receive_bytes_total", "node": "node-1", "device": "eth0"}
NOW = 1_795_185_137.0

# -- counters


def exact(phases: Sequence[tuple[float, float]], moment: float, start: float) -> Fraction:
    """The counter's growth, computed phase by phase in exact numbers."""
    total = Fraction(start)
    for number, (begin, rate) in enumerate(phases):
        end = phases[number + 1][0] if number + 1 < len(phases) else math.inf
        if moment > begin:
            total += Fraction(rate) * (Fraction(min(moment, end)) - Fraction(begin))
    return total


@pytest.mark.parametrize(
    ("phases", "step", "expected"),
    [
        ([(0, 100)], 1, [0, 100, 200, 300, 400]),
        ([(0, 100)], 2, [0, 200, 400]),
        ([(0, 0)], 1, [0, 0, 0, 0, 0]),
        ([(0, 100), (2, 10)], 1, [0, 100, 200, 210, 220]),
        ([(0, 100), (1.5, 10)], 1, [0, 100, 155, 165, 175]),
        ([(0, 100), (2, 0), (3, 100)], 1, [0, 100, 200, 200, 300]),
        # Several phases may begin within one step.
        ([(0, 100), (1.25, 0), (1.5, 1000)], 1, [0, 100, 625, 1625, 2625]),
        ([(0, 100), (1, 10), (1, 1)], 1, [0, 100, 101, 102, 103]),
        ([(0, 100), (9, 10)], 1, [0, 100, 200, 300, 400]),
    ],
)
def test_a_counter_is_exact_at_every_sample(
    phases: list[tuple[float, float]], step: float, expected: list[float]
) -> None:
    assert [value for _, value in Counter(0, phases).samples(end=4, step=step)] == expected


def test_samples_begin_with_the_first_phase_at_the_start_value_and_reach_the_end() -> None:
    samples = Counter(1e9, [(NOW - 10, 5.0)]).samples(end=NOW, step=2.5)
    assert [moment - NOW for moment, _ in samples] == [-10, -7.5, -5, -2.5, 0]
    assert samples[0][1] == 1e9


def test_a_series_that_ends_between_two_samples_has_none_after_its_end() -> None:
    assert [moment for moment, _ in Counter(0, [(0, 1)]).samples(end=2.9, step=1)] == [0, 1, 2]


def test_rounding_errors_of_steps_do_not_accumulate() -> None:
    """0.1 has no exact binary value: the ten-thousandth sample is still at its time, to the last bit."""
    samples = Counter(0, [(NOW, 1e6)]).samples(end=NOW + 1000, step=0.1)
    assert [moment for moment, _ in samples[::1000]] == [NOW + n * 0.1 for n in range(0, 10_001, 1000)]
    assert samples[-1] == (NOW + 1000, 1e9)


@settings(deadline=None, database=None)
@given(
    st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 10**9)), max_size=6),
    st.integers(0, 10**9),
    st.sampled_from([0.25, 0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 1e9, 2.0**40]),
)
def test_samples_are_exact_for_any_phases(more: list[tuple[int, int]], rate: int, step: float, start: float) -> None:
    phases = [(NOW, rate), *sorted((NOW + ms / 256, rate) for ms, rate in more)]
    samples = Counter(start, phases).samples(end=NOW + 20, step=step)
    values = [value for _, value in samples]
    assert values == sorted(values)
    for moment, value in samples:
        assert value == pytest.approx(float(exact(phases, moment, start)), rel=1e-12)


@pytest.mark.parametrize(
    ("phases", "reset", "expected"),
    [
        ([(0, 100)], 2, [1000, 1100, 0, 100, 200]),
        ([(0, 100)], 1.5, [1000, 1100, 50, 150, 250]),
        # It resets with the series: earlier values were never sampled.
        ([(0, 100)], 0, [0, 100, 200, 300, 400]),
        ([(0, 100)], 4, [1000, 1100, 1200, 1300, 0]),
        ([(0, 100)], 4.5, [1000, 1100, 1200, 1300, 1400]),
        ([(0, 100)], math.inf, [1000, 1100, 1200, 1300, 1400]),
        ([(0, 100), (2, 10)], 1.5, [1000, 1100, 50, 60, 70]),
        ([(0, 100), (1, 10)], 2, [1000, 1100, 0, 10, 20]),
        ([(0, 100), (2, 10)], 2, [1000, 1100, 0, 10, 20]),
        ([(0, 0)], 2, [1000, 1000, 0, 0, 0]),
    ],
)
def test_a_counter_resets_to_zero_and_continues(
    phases: list[tuple[float, float]], reset: float, expected: list[float]
) -> None:
    assert [value for _, value in Counter(1000, phases, reset).samples(end=4, step=1)] == expected


def test_around_a_reset_prometheus_counts_the_bytes_since_the_reset() -> None:
    """rate() adds what a counter shows after it went down: 100 bytes a second, less those between sample and reset."""
    values = [value for _, value in Counter(1e12, [(NOW, 100)], NOW + 1.25).samples(end=NOW + 3, step=0.5)]
    grown = [after - before if after >= before else after for before, after in itertools.pairwise(values)]
    assert grown == [50, 50, 25, 50, 50, 50]


@settings(deadline=None, database=None)
@given(
    st.lists(st.integers(0, 400), max_size=5).map(sorted),
    st.sampled_from([0.1, 0.25, 1.0, 3.0]),
    st.sampled_from([math.inf, 3.0, 12.5]),
)
def test_consecutive_parts_have_the_same_samples_as_the_whole(ends: list[int], step: float, gone: float) -> None:
    counter = Counter(7, [(NOW, 100), (NOW + 5, 10)], gone=NOW + gone)
    parts, after = [], -math.inf
    for end in [*(NOW + tenths / 10 for tenths in ends), NOW + 40]:
        parts += counter.samples(end=end, step=step, after=after)
        after = end
    # As text: the stale marker is not a number.
    assert repr(parts) == repr(counter.samples(end=NOW + 40, step=step))


# -- what is sent: a reader of protobuf that knows nothing of the writer


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: an int (wire type 0), 8 bytes (1) or bytes of any length (2)."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
            continue
        assert kind in (1, 2)
        length, at = (8, at) if kind == 1 else varint(data, at)
        assert at + length <= len(data)
        yield tag >> 3, data[at : at + length]
        at += length


def decode(body: bytes) -> list[tuple[list[tuple[str, str]], list[tuple[int, float]]]]:
    """A remote-write request as (labels in order, samples of (milliseconds, value)) of each series."""
    result = []
    for number, series in fields(body):
        assert number == 1
        labels, samples = [], []
        for kind, content in fields(series):
            inner = dict(fields(content))
            if kind == 1:
                labels.append((inner[1].decode(), inner[2].decode()))
            else:
                assert kind == 2
                samples.append((inner.get(2, 0), struct.unpack("<d", inner[1])[0]))
        result.append((labels, samples))
    return result


class Receiver(http.server.BaseHTTPRequestHandler):
    """Stands in for Prometheus: keeps the requests that it receives, and answers as the test sets."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, dict(self.headers), body))  # type: ignore[attr-defined]
        status, text = self.server.answer  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Any]:
    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.received, server.answer = [], (204, b"")  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_pushed_samples_are_a_remote_write_request(receiver: Any) -> None:
    url = f"http://127.0.0.1:{receiver.server_port}"
    push(url, [Series(LABELS, Counter(1e9, [(NOW, 100)]).samples(end=NOW + 1, step=0.5))])
    ((path, headers, body),) = receiver.received
    assert path == "/api/v1/write"
    assert headers["Content-Encoding"] == "snappy"
    assert headers["Content-Type"] == "application/x-protobuf"
    assert headers["X-Prometheus-Remote-Write-Version"] == "0.1.0"
    milliseconds = round(NOW * 1000)
    assert decode(bytes(cramjam.snappy.decompress_raw(body))) == [
        (
            sorted(LABELS.items()),  # the receiver insists on the order
            [(milliseconds, 1e9), (milliseconds + 500, 1e9 + 50), (milliseconds + 1000, 1e9 + 100)],
        )
    ]


VALUES = [0.0, -1.5, 2.0**60, 2.0**60 + 256, 1e-300, math.inf, -math.inf]


def test_values_and_times_arrive_to_the_last_bit(receiver: Any) -> None:
    series = Series({"node": "größer " * 40}, [(n / 1000, value) for n, value in enumerate(VALUES)])
    push(f"http://127.0.0.1:{receiver.server_port}", [series, Series({}, []), Series({"a": ""}, [(2.0**31, math.nan)])])
    first, empty, last = decode(bytes(cramjam.snappy.decompress_raw(receiver.received[0][2])))
    assert first == ([("node", "größer " * 40)], list(enumerate(VALUES)))
    assert empty == ([], [])
    assert last[0] == [("a", "")]
    ((moment, value),) = last[1]
    assert moment == 2**31 * 1000
    assert math.isnan(value)


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 16_383, 16_384])
def test_texts_of_any_length_arrive(receiver: Any, length: int) -> None:
    push(f"http://127.0.0.1:{receiver.server_port}", [Series({"node": "n" * length}, [])])
    assert decode(bytes(cramjam.snappy.decompress_raw(receiver.received[0][2]))) == [([("node", "n" * length)], [])]


def test_a_refusal_quotes_the_reason_of_prometheus(receiver: Any) -> None:
    receiver.answer = (400, b"out of order sample")
    with pytest.raises(HostError, match="refused the scripted samples: 400 out of order sample"):
        push(f"http://127.0.0.1:{receiver.server_port}", [Series(LABELS, [(NOW, 1.0)])])


def test_a_counter_resets_periodically() -> None:
    samples = Counter(1000, [(0, 10)], reset=2, every=3).samples(end=9, step=1)
    assert [value for _, value in samples] == [1000, 1010, 0, 10, 20, 0, 10, 20, 0, 10]


def test_every_burst_has_the_same_amount_with_nothing_in_between() -> None:
    """A mean of 100 per second: 400 in the first quarter of each period of 4 s, and nothing for the rest."""
    samples = Counter(1000, [(0, 100)], bursts=Bursts(8, 4, 0.0, 0.25)).samples(end=9, step=0.5)
    grown = [after - before for (_, before), (_, after) in itertools.pairwise(samples)]
    assert grown == [200, 200, *[0] * 6] * 2 + [200, 200]
    assert samples[0] == (0, 1000)


@pytest.mark.parametrize(("begin", "end"), [(0.0, 0.25), (0.25, 1.0), (0.0, 1.0), (0.5, 0.75)])
def test_over_any_whole_period_bursts_have_their_mean(begin: float, end: float) -> None:
    samples = dict(Counter(0, [(0, 100)], bursts=Bursts(30, 2, begin, end)).samples(end=20, step=0.125))
    for moment in range(18):
        assert samples[moment + 2] - samples[moment] == pytest.approx(200, rel=1e-12)
