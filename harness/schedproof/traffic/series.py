"""Scripted series: samples with chosen timestamps, pushed to a real Prometheus by remote write.

Prometheus does not accept a timestamp of a series twice, so each scenario pushes to a server of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import http.client
import itertools
import math
import struct
from collections.abc import Iterable, Mapping, Sequence

from schedproof.daemons.password import authorization
from schedproof.foundation.errors import HostError
from schedproof.foundation.http import connect, exchange

(_STALE,) = struct.unpack("<d", bytes.fromhex("020000000000f07f"))
"""The NaN that marks the end of a series in Prometheus (model/value.StaleNaN)."""


_ROUNDING = 1e-9
"""How far, in steps, a quotient may lie below the whole number that it stands for."""


@dataclasses.dataclass(frozen=True)
class Series:
    """One series: its labels (with `__name__`), and samples of (seconds since the epoch, value)."""

    labels: Mapping[str, str]
    samples: Sequence[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Bursts:
    """Traffic in bursts: in each period, from one share of the period to another one.

    `start` is a moment at which a period begins (seconds since the epoch); `period` is in seconds; `begin` and `end`
    are between 0 and 1.
    """

    start: float
    period: float
    begin: float
    end: float

    def evened_out(self, moment: float) -> float:
        """Return when steady traffic of the same mean would have sent as much as these bursts until `moment`."""
        periods, part = divmod((moment - self.start) / self.period, 1.0)
        flown = min(max(part - self.begin, 0.0) / (self.end - self.begin), 1.0)
        return self.start + (periods + flown) * self.period


@dataclasses.dataclass(frozen=True)
class Counter:
    """A counter that grows at changing rates.

    `phases`: (seconds since the epoch, bytes per second from then on), in order of time. `start_value` is the value
    at the start of the first phase. At `reset` it restarts from zero, as when a node reboots, and then again every
    `every` seconds. From `gone` on it has no samples: a stale marker ends the series, as after a failed scrape.
    """

    start_value: float
    phases: Sequence[tuple[float, float]]
    reset: float = math.inf
    every: float = math.inf
    gone: float = math.inf
    bursts: Bursts | None = None

    @property
    def begin(self) -> float:
        """When the first phase begins."""
        return self.phases[0][0]

    def after(self, earlier: Counter | None, moment: float) -> Counter:
        """Return the same counter with the value of an earlier one at a moment, if both grow until then, without a gap.

        It stays as it is if it would have to start below 0.
        """
        if earlier is None or moment >= min(earlier.gone, earlier.reset, self.gone, self.reset):
            return self
        start = self.start_value + earlier._value(moment) - self._value(moment)
        return dataclasses.replace(self, start_value=start) if start >= 0 else self

    def samples(self, *, end: float, step: float, after: float = -math.inf) -> list[tuple[float, float]]:
        """Return samples every `step` seconds from the first phase to `end`; exact also if phases begin in between.

        Samples up to and including `after` are left out: they were pushed before.
        """
        values = [(moment, self._value(moment)) for moment in moments(self.begin, min(end, self.gone), step, after)]
        if not after <= self.gone < end:
            return values
        return [*values, (self.begin + (math.floor((self.gone - self.begin) / step + _ROUNDING) + 1) * step, _STALE)]

    def _value(self, moment: float) -> float:
        if self.bursts is not None:
            moment = self.bursts.evened_out(moment)
        counted_from, value = (self._last_reset(moment), 0.0) if moment >= self.reset else (-math.inf, self.start_value)
        for (start, rate), (stop, _) in itertools.pairwise((*self.phases, (math.inf, 0.0))):
            value += rate * max(0.0, min(moment, stop) - max(start, counted_from))
        return value

    def _last_reset(self, moment: float) -> float:
        if math.isinf(self.every):
            return self.reset
        return self.reset + (moment - self.reset) // self.every * self.every


def moments(begin: float, end: float, step: float, after: float = -math.inf) -> list[float]:
    """Return every `step` seconds from `begin` to `end`, both included, that is later than `after`."""
    first = max(0, math.floor((after - begin) / step + _ROUNDING) + 1) if after > -math.inf else 0
    return [begin + n * step for n in range(first, math.floor((end - begin) / step + _ROUNDING) + 1)]


def push(url: str, series: Iterable[Series]) -> None:
    """Send samples to the remote-write receiver of a Prometheus at this base URL. They can be queried on return.

    Protocol: Prometheus remote write 1.0, snappy-compressed protobuf.

    Raises:
        HostError: Prometheus refused them; with its reason (a timestamp written twice, too old, too new).
    """
    import cramjam

    encoded: dict[int, bytes] = {}
    held = list(series)  # keeps the lists of samples alive, so their ids are distinct
    for item in held:
        if id(item.samples) not in encoded:
            encoded[id(item.samples)] = _samples(item.samples)
    # The receiver requires labels in order of their names.
    body = b"".join(_field(1, _labels(tuple(sorted(item.labels.items()))) + encoded[id(item.samples)]) for item in held)
    headers = {
        "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
        **authorization(url),
    }
    compressed = bytes(cramjam.snappy.compress_raw(body))
    status, text = exchange(connect(url, 30), "POST", "/api/v1/write", compressed, headers)
    if not http.client.OK <= status < http.client.MULTIPLE_CHOICES:
        raise HostError(
            f"Prometheus refused the scripted samples: {status} {text}",
            remedy="use other series or another server for each scenario, and times within 10 minutes of now",
        )


# message WriteRequest { repeated TimeSeries timeseries = 1; }
# message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
# message Label { string name = 1; string value = 2; }   message Sample { double value = 1; int64 timestamp = 2; }


@functools.lru_cache(maxsize=8192)  # the same series are pushed at every scrape interval
def _labels(labels: tuple[tuple[str, str], ...]) -> bytes:
    return b"".join(_field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in labels)


def _samples(samples: Sequence[tuple[float, float]]) -> bytes:
    return b"".join(
        _field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(round(moment * 1000)))
        for moment, value in samples
    )


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)
