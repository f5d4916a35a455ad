"""Durations as Go and Prometheus write them ("250ms", "1m30s"), as float seconds."""

from __future__ import annotations

import re

GO_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
"""What Go's `time.ParseDuration` knows, and with it every Kubernetes API."""

UNITS = {**GO_UNITS, "d": 86_400.0, "w": 604_800.0}
"""Go's units and those that Prometheus adds."""

_LONGEST = 2**63 / 1e9  # Go counts in int64 nanoseconds
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([a-zµ]+)")


def parse_duration(text: str, *, units: dict[str, float] = UNITS) -> float:
    """The seconds that `text` means. A `ValueError` says why it is not a duration."""
    text = text.strip().replace("\u03bc", "µ")  # Go accepts both code points for mu
    if text == "0":
        return 0.0
    if text.startswith("-"):
        raise ValueError("a duration cannot be negative")
    seconds, end = 0.0, 0
    while end < len(text):
        part = _PART.match(text, end)
        if part is None:
            raise ValueError("a duration is made of numbers with units")
        number, unit = part.groups()
        if unit not in units:
            raise ValueError(f"the unit {unit!r} is none of {', '.join(units)}")
        seconds += float(number) * units[unit]
        end = part.end()
    if not text:
        raise ValueError("a duration is made of numbers with units")
    if not seconds < _LONGEST:
        raise ValueError("it is longer than 292 years, the most that Go can count")
    return seconds


def format_duration(seconds: float) -> str:
    """The shortest text that Go, and down to milliseconds Prometheus, reads as `seconds`."""
    rest = round(seconds * 1e9)
    parts = []
    for unit, nanoseconds in (
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ):
        count, rest = divmod(rest, nanoseconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
