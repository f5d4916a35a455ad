"""Scripted series: samples with chosen timestamps, pushed into a real Prometheus by remote write.

A timestamp cannot be rewritten in Prometheus, so each scenario pushes into a server of its own.
"""

from __future__ import annotations

import dataclasses
import http.client
import itertools
import math
import struct
from typing import TYPE_CHECKING

from schedproof.foundation.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Counter", "Series", "push"]


@dataclasses.dataclass(frozen=True)
class Series:
    """One series: its labels (with `__name__`), and samples of (seconds since the epoch, value)."""

    labels: Mapping[str, str]
    samples: Sequence[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Counter:
    """A counter that grows at changing rates.

    `phases`: (seconds since the epoch, bytes per second from then on), in order of time. `start_value` is what it
    shows at the start of the first phase. At `reset` it starts over at zero, as that of a node that reboots.
    """

    start_value: float
    phases: Sequence[tuple[float, float]]
    reset: float = math.inf

    def samples(self, *, end: float, step: float) -> list[tuple[float, float]]:
        """Samples every `step` seconds from the first phase to `end`; exact also where phases begin in between."""
        (begin, _), *_ = self.phases
        count = math.floor((end - begin) / step + 1e-9) + 1
        return [(moment, self._value(moment)) for moment in (begin + n * step for n in range(count))]

    def _value(self, moment: float) -> float:
        counted_from, value = (self.reset, 0.0) if moment >= self.reset else (-math.inf, self.start_value)
        for (start, rate), (stop, _) in itertools.pairwise((*self.phases, (math.inf, 0.0))):
            value += rate * max(0.0, min(moment, stop) - max(start, counted_from))
        return value


def push(port: int, series: Iterable[Series]) -> None:
    """Send samples to the remote-write receiver of a Prometheus on loopback. Queryable on return.

    Protocol: Prometheus remote write 1.0, snappy-compressed protobuf.

    Raises:
        HostError: Prometheus refused them; with its reason (a timestamp written twice, too old, too new).
    """
    import cramjam

    body = b"".join(_field(1, _time_series(one)) for one in series)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(
            "POST",
            "/api/v1/write",
            body=bytes(cramjam.snappy.compress_raw(body)),
            headers={
                "Content-Encoding": "snappy",
                "Content-Type": "application/x-protobuf",
                "X-Prometheus-Remote-Write-Version": "0.1.0",
            },
        )
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status >= http.client.MULTIPLE_CHOICES:
        raise HostError(
            f"Prometheus refused the scripted samples: {answer.status} {text.decode(errors='replace')}",
            remedy="each scenario needs series or a server of its own, and times within 10 minutes of now",
        )


# message WriteRequest { repeated TimeSeries timeseries = 1; }
# message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
# message Label { string name = 1; string value = 2; }   message Sample { double value = 1; int64 timestamp = 2; }


def _time_series(series: Series) -> bytes:
    # The receiver requires labels in order of their names.
    labels = b"".join(
        _field(1, _field(1, name.encode()) + _field(2, value.encode())) for name, value in sorted(series.labels.items())
    )
    samples = b"".join(
        _field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(round(moment * 1000)))
        for moment, value in series.samples
    )
    return labels + samples


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)
